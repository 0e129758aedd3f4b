# Measures round trips on the idle network, then under TCP load in several classes at once: POSIX sh; no root.
# Run as `sh rrul.sh RAMP IDLE CLASS PINGER LOAD PROBE [CLASS PINGER LOAD PROBE]...`. Each command is one word of the line. A PROBE
# times both phases by itself, after IDLE seconds the loaded one; it may be empty. Each line of output begins with its class, or *.
set -uf
ramp=$1 idle=$2
shift 2

phase() { # name: with the seconds since this host started
    read -r uptime _ </proc/uptime
    printf '* phase %s %s\n' "$1" "$uptime"
}
run() { # class, command
    # shellcheck disable=SC2086 # the command is words
    $2 2>&1 | while IFS= read -r line; do printf '%s %s\n' "$1" "$line"; done
}
start() { # which of the three commands of each class, classes
    which=$1
    shift
    while [ $# -ge 4 ]; do
        case $which in
        ping) run "$1" "$2" & ;;
        load) run "$1" "$3" & ;;
        probe) [ -z "$4" ] || run "UDP-$1" "$4" & ;;
        esac
        started="$started $!"
        shift 4
    done
}

phase idle
started=
start probe "$@"
sleep "$idle" &
started=$!
start ping "$@"
# shellcheck disable=SC2086 # process ids
wait $started
phase ramp
start load "$@"
sleep "$ramp"
phase loaded
start ping "$@"
wait

# Measures round trips on the idle network, then under TCP load in several classes at once: POSIX sh; no root.
# Run as `sh rrul.sh RAMP IDLE PROBE CLASS PINGER LOAD [CLASS PINGER LOAD]...`. Each command is one word of the line; the PROBE
# times both phases by itself, after IDLE seconds the loaded one. Each line of output begins with its class, or *.
set -uf
ramp=$1 idle=$2 probe=$3
shift 3

phase() { # name: with the seconds since this host started
    read -r uptime _ </proc/uptime
    printf '* phase %s %s\n' "$1" "$uptime"
}
run() { # class, command
    # shellcheck disable=SC2086 # the command is words
    $2 2>&1 | while IFS= read -r line; do printf '%s %s\n' "$1" "$line"; done
}
start() { # which of the two commands of each class, classes
    which=$1
    shift
    while [ $# -ge 3 ]; do
        command=$3
        [ "$which" = load ] || command=$2
        run "$1" "$command" &
        started="$started $!"
        shift 3
    done
}

phase idle
run UDP "$probe" &
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

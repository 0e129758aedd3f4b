# Measures round-trip times on the idle, then on the loaded network: POSIX sh; no root.
# Run as `sh under-load.sh RAMP IDLE PINGER LOADED LOAD...`. PINGER measures the idle network; LOADED measures the loaded
# one, RAMP seconds after the start of LOAD. If LOADED is empty, PINGER measures both: LOAD starts after IDLE seconds.
set -uf
ramp=$1 idle=$2 pinger=$3 loaded=$4
shift 4
status=0

phase() { # name: with the seconds since this host started
    read -r uptime _ </proc/uptime
    printf 'phase %s %s\n' "$1" "$uptime"
}
note() { [ "$status" -ne 0 ] || status=$1; }

phase idle
if [ -n "$loaded" ]; then
    # shellcheck disable=SC2086 # the pinger is words
    $pinger || note $?
    [ "$status" -eq 0 ] || exit "$status"
    phase ramp
    "$@" &
    load=$!
    sleep "$ramp"
    phase loaded
    # shellcheck disable=SC2086
    $loaded || note $?
else
    # shellcheck disable=SC2086
    $pinger &
    probe=$!
    sleep "$idle"
    phase ramp
    "$@" &
    load=$!
    wait "$probe" || note $?
fi
wait "$load" || note $?
exit "$status"

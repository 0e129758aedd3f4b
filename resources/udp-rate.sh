# Searches for the highest UDP rate within a limit of loss: POSIX sh; no root.
# Run as `sh udp-rate.sh LOSS iperf3 -c HOST ...`: the client's words without a rate. Its server accepts several tests.
# TCP is measured first; UDP begins at 90 % of it, in kbit/s, and ends where the bracket is 2 % wide or after 10 rates.
set -uf
limit=$1
shift
low=0 high=0 rates=0 streams=1 previous=
for word; do
    [ "$previous" != -P ] || streams=$word
    previous=$word
done

measure() { # title, words: sets `received` and `sent` in kbit/s, `good` and `few`
    read -r uptime _ </proc/uptime
    printf 'search %s %s\n' "$uptime" "$1"
    shift
    # The server takes a moment to be ready again. iperf3 sends the first datagram of a stream once: it may be lost.
    for attempt in 1 2 3; do
        "$@" >iperf3.out 2>&1 && status=0 || status=$?
        grep -q -e 'server is busy' -e 'unable to read from' iperf3.out || break
        printf 'repeated\n'
        sleep "$attempt"
    done
    cat iperf3.out
    [ "$status" -eq 0 ] || exit "$status"
    # The last rows of both ends are those of all streams.
    # shellcheck disable=SC2046 # four words
    set -- $(awk -v limit="$limit" '
        function rate() { match($0, /[0-9.]+ Kbits\/sec/); return int(substr($0, RSTART)) }
        /sender *$/ { sent = rate() }
        /receiver *$/ {
            received = rate()
            if (match($0, /-?[0-9]+\/ *[0-9]+ \(/)) {
                split(substr($0, RSTART, RLENGTH - 2), count, "/")
                good = count[2] > 0 && count[1] * 100 <= limit * count[2]
                few = count[2] < (limit > 0 ? 100 / limit : 1000)
            }
        }
        END { print received + 0, sent + 0, good + 0, few + 0 }' iperf3.out)
    received=$1 sent=$2 good=$3 few=$4
}

measure tcp "$@"
offered=$((received * 9 / 10))
while [ "$offered" -gt 0 ] && [ "$rates" -lt 10 ]; do
    rates=$((rates + 1))
    measure "$offered" "$@" -u -b "$((offered / streams))k"
    if [ "$good$few" = 11 ] && [ "$low" = 0 ] && [ "$high" != 0 ]; then
        break # all faster rates lost datagrams; these are too few to lose any
    elif [ "$good" = 1 ]; then
        low=$offered
        [ $((sent * 20)) -ge $((offered * 19)) ] || break # the sender is at its limit
    else
        high=$offered
    fi
    if [ "$high" = 0 ]; then
        offered=$((offered * 5 / 4))
    elif [ $(((high - low) * 50)) -le "$high" ]; then
        break
    else
        offered=$(((low + high) / 2))
    fi
done
printf 'search found %s\n' "$low"

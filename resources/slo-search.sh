# Searches the highest rate whose latency stays within a limit: POSIX sh with coreutils or busybox, and awk.
# Run as `sh slo-search.sh --limit=SECONDS --percentile=P --start=RATE --most=RATE --runtime=SECONDS --confirm=N
# COMMAND...`.
# The rates are START times powers of 2^(1/32). Each window runs COMMAND, with its words @RATE@, @SECONDS@, @SENDERS@ and
# @EACH@ replaced (SENDERS, at most 256 or so, times EACH is RATE); then `sh percentiles.sh SECONDS` prints "REQUESTS
# SECONDS MEAN P50 P95 P99 P99.9 MAX" of it, in us. The rate is doubled until two windows miss the limit or the rate, and
# the last two rates are bisected. A window misses its rate if it is 2 % and three standard errors of a Poisson process
# below it. N fresh windows confirm the rate: if most of them miss, it is lowered by 2^(1/32), 2^(2/32), 2^(4/32) and so on,
# and once such a rate is confirmed, those between it and the last that was not are bisected in the same way.
set -uf
LC_ALL=C
export LC_ALL
limit="" percentile="" start="" most="" seconds="" confirm=""
while :; do
    case ${1-} in
    --limit=*) limit=${1#*=} ;;
    --percentile=*) percentile=${1#*=} ;;
    --start=*) start=${1#*=} ;;
    --most=*) most=${1#*=} ;;
    --runtime=*) seconds=${1#*=} ;;
    --confirm=*) confirm=${1#*=} ;;
    *) break ;;
    esac
    shift
done
number=0 lowest=-320 steps=32

# busybox may lack the mathematical functions of awk: no power, no root.

# Prints the rate of level $1, its number of senders, and the rate of each of them.
level() {
    awk -v start="$start" -v level="$1" -v steps="$steps" 'BEGIN {
        rate = start + 0
        for (; level >= steps; level -= steps) rate *= 2
        for (; level <= -steps; level += steps) rate /= 2
        for (; level > 0; level--) rate *= 1.0218971486541166
        for (; level < 0; level++) rate /= 1.0218971486541166
        rate = rate < 10 ? sprintf("%.2f", rate) : sprintf("%.0f", rate)
        each = int((rate + 255) / 256)
        senders = int(rate / each + 0.5)
        print rate, (senders < 1 ? 1 : senders), each }'
}

# Runs a window at level $1, of the phase $2; succeeds if the limit and the rate are kept.
window() {
    # shellcheck disable=SC2046 # three words
    set -- "$1" "$2" $(level "$1") "$@"
    phase=$2 rate=$3 senders=$4 each=$5
    shift 7
    number=$((number + 1))
    read -r uptime _ </proc/uptime
    printf 'benchwright: window %d to %s, at %s s\n' "$number" "$phase" "$uptime"
    line=$(printf '%s' "$command" | sed "s/@RATE@/$rate/g; s/@SECONDS@/$seconds/g; s/@SENDERS@/$senders/g; s/@EACH@/$each/g")
    printf '+ %s\n' "$line"
    status=0
    # shellcheck disable=SC2086 # the command is words
    $line >window.out 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        tail -n 20 window.out
        exit "$status"
    fi
    found=$(sh percentiles.sh "$seconds" <window.out) || found=""
    said=$(printf '%s\n' "$found" | awk -v rate="$rate" -v limit="$limit" -v percentile="$percentile" '
        NF != 8 || $1 < 1 || $2 <= 0 { exit 65 }
        {
            tail = percentile == 50 ? $4 : percentile == 95 ? $5 : percentile == 99 ? $6 : $7
            kept = tail <= limit * 1e6
            lacks = 0.98 * rate - $1 / $2
            behind = lacks > 0 && lacks * lacks > 9 * rate / $2
            printf "%d requests in %.3f s of %s/s: mean %.1f, p50 %.1f, p95 %.1f, p99 %.1f, p99.9 %.1f, max %.1f us: %s\n",
                $1, $2, rate, $3, $4, $5, $6, $7, $8, behind ? "behind" : kept ? "kept" : "missed"
        }') || {
        tail -n 20 window.out
        echo "benchwright: no latencies of window $number" >&2
        exit 65
    }
    printf 'benchwright: window %d: %s\n' "$number" "$said"
    case $said in *": kept") return 0 ;; *) return 1 ;; esac
}

# Succeeds if one of two windows at level $1 keeps the limit: a single unlucky one must not end the search too low, and a
# lucky one does not pass the fresh windows.
holds() { window "$@" || window "$@"; }

# Succeeds if at most half of the fresh windows at level $1 miss.
confirmed() {
    kept=0 missed=0
    while [ $((kept + missed)) -lt "$confirm" ]; do
        if window "$1" confirm; then kept=$((kept + 1)); else missed=$((missed + 1)); fi
        [ $((2 * missed)) -le "$confirm" ] || return 1
    done
}

command=$*
high="" low="" at=0
# shellcheck disable=SC2086
while set -- $(level $at); [ -n "$(awk -v rate="$1" -v most="$most" 'BEGIN { if (rate <= most) print 1 }')" ]; do
    if holds "$at" bracket; then low=$at; else high=$at; fi
    [ -n "$low" ] && [ -n "$high" ] && break
    if [ -n "$low" ]; then at=$((at + steps)); else at=$((at - steps)); fi
    [ "$at" -ge "$lowest" ] || break
done
if [ -z "$low" ]; then
    echo "benchwright: ended: no rate kept the limit"
    exit 0
fi
if [ -z "$high" ]; then
    echo "benchwright: ended: every rate kept the limit"
    exit 0
fi
while [ $((high - low)) -gt 1 ]; do
    at=$(((low + high) / 2))
    if holds "$at" bisect; then low=$at; else high=$at; fi
done
at=$low low="" step=1
while [ "$at" -ge "$lowest" ]; do
    if confirmed "$at"; then low=$at; else high=$at; fi
    if [ -z "$low" ]; then
        at=$((high - step)) step=$((2 * step))
    elif [ $((high - low)) -gt 1 ]; then
        at=$(((low + high) / 2))
    else
        break
    fi
done
# shellcheck disable=SC2086
if [ -n "$low" ]; then
    set -- $(level "$low")
    echo "benchwright: ended: confirmed $1/s"
else
    echo "benchwright: ended: no rate kept the limit"
fi

# Runs fio in rounds until a metric reaches steady state: POSIX sh with coreutils or busybox, and awk.
# Run as `sh steady-rounds.sh UNTIL ROUNDS TRACKED OPERATION FIGURE COMMAND...`. Each COMMAND is a fio command line; a round
# runs all of them, at most ROUNDS times. FIGURE (iops, bw_bytes, lat_ns) of OPERATION of command number TRACKED is
# tested. UNTIL is "pts" (SNIA PTS: in the last five rounds the range is at most 20 % and the slope excursion at most 10 %
# of the mean), "both" (in addition, the five rounds before agree within 5 %), or "bytes:N" (N bytes are written). Works
# in the current directory.
set -uf
LC_ALL=C
export LC_ALL
until=$1 most=$2 tracked=$3 operation=$4 figure=$5
shift 5
round=0 ended="not steady"
trap 'rm -f rounds tracked.json ended' EXIT
: >rounds

# Prints the figure and the bytes written of fio's last JSON document, which is cumulative.
figures() {
    awk -v operation="\"$operation\"" -v figure="\"$figure\"" '
        /^\{/ { where = ""; inside = ""; value = ""; written = 0 }
        $2 == ":" && $3 == "{" {
            inside = $1
            if ($1 == "\"read\"" || $1 == "\"write\"" || $1 == "\"trim\"" || $1 == "\"sync\"") where = $1
        }
        $2 == ":" && where == "\"write\"" && $1 == "\"io_bytes\"" { written = $3 + 0 }
        $2 == ":" && where == operation {
            if (figure ~ /lat_ns/ ? inside == figure && $1 == "\"mean\"" : $1 == figure) value = $3 + 0
        }
        END { if (value != "" && value > 0) printf "%.6f %.0f\n", value, written }' "$1"
}

# Prints the state of the rounds as text, which ends with "enough" if no more are needed.
judged() {
    awk -v until="$until" '
        { value[NR] = $1; written += $2 }
        function mean_of(first, last, i, sum) {
            for (i = first; i <= last; i++) sum += value[i]
            return sum / (last - first + 1)
        }
        function share(part) { return sprintf("%.2f %%", 100 * part) }
        END {
            if (until ~ /^bytes:/) {
                sub(/^bytes:/, "", until)
                enough = until + 0 > 0 && written >= until + 0
                printf "%.0f bytes written%s\n", written, (enough ? ": enough" : "")
                exit
            }
            if (NR < 5) { print "fewer than five rounds"; exit }
            mean = mean_of(NR - 4, NR)
            low = high = value[NR]
            for (i = 0; i < 5; i++) {
                v = value[NR - 4 + i]
                if (v < low) low = v
                if (v > high) high = v
                slope += (i - 2) * (v - mean) / 10
            }
            range = (high - low) / mean
            change = (slope < 0 ? -slope : slope) * 4 / mean
            said = "range " share(range) ", change " share(change)
            steady = range <= 0.2 + 1e-9 && change <= 0.1 + 1e-9
            if (NR >= 10) {
                before = mean_of(NR - 9, NR - 5)
                apart = mean / before - 1
                if (apart < 0) apart = -apart
                said = said ", windows " share(apart) " apart"
            }
            if (until == "both") steady = steady && NR >= 10 && apart <= 0.05 + 1e-9
            print said (steady ? ": enough" : "")
        }' rounds
}

while [ "$round" -lt "$most" ]; do
    round=$((round + 1)) number=0
    for command in "$@"; do
        number=$((number + 1)) status=0
        read -r uptime _ </proc/uptime
        printf 'benchwright: round %d of %d, command %d of %d, at %s s\n' "$round" "$most" "$number" "$#" "$uptime"
        printf '+ %s\n' "$command"
        if [ "$number" -eq "$tracked" ]; then
            # shellcheck disable=SC2086 # the command is words
            {
                $command
                echo "$?" >ended
            } | tee tracked.json
            read -r status <ended
        else
            # shellcheck disable=SC2086
            $command || status=$?
        fi
        [ "$status" -eq 0 ] || exit "$status"
        if [ "$number" -eq "$tracked" ]; then
            found=$(figures tracked.json)
            if [ -z "$found" ]; then
                echo "benchwright: command $number reported no $figure of $operation" >&2
                exit 65
            fi
            printf '%s\n' "$found" >>rounds
        fi
    done
    said=$(judged) || exit 65
    printf 'benchwright: round %d: %s %s; %s\n' "$round" "$figure" "${found% *}" "$said"
    case $said in *": enough")
        ended=steady
        break
        ;;
    esac
done
case $until in bytes:*) ended="$([ "$ended" = steady ] && echo "written" || echo "time is up")" ;; esac
printf 'benchwright: ended after round %d: %s\n' "$round" "$ended"

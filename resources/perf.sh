# Tries perf, or prints counters and folded stacks of a profiled trial: POSIX sh and awk, in the step's directory.
# Run as `sh -c SCRIPT perf.sh probe COMMAND...`, which prints lines "key value", or `sh -c SCRIPT perf.sh fold NUMBER`,
# which prints "c LINE" for each line of the counters and "s FRAME;FRAME COUNT" for each stack of NUMBER commands.
set -u
LC_ALL=C
export LC_ALL
unset DEBUGINFOD_URLS # symbols are those on the host
PATH=$PATH:/usr/sbin:/sbin

probe() {
    command -v perf >/dev/null 2>&1 || return 0
    echo "user $(id -u)"
    [ ! -r /proc/sys/kernel/perf_event_paranoid ] || echo "paranoid $(head -c 20 /proc/sys/kernel/perf_event_paranoid)"
    error=$("$@" 2>&1 >/dev/null </dev/null)
    echo "status $?"
    echo "error $(printf %s "$error" | tr '\n\t' '  ' | head -c 1000)"
}

# A sample is the name of its task, then a frame a line, the innermost first, then an empty line. Names of frames may
# contain blanks and parentheses; the last parentheses are the object. Stacks beyond a bound are counted as one.
fold() {
    number=0
    while [ "$number" -lt "$1" ]; do
        head -c 65536 "perf-$number.csv" 2>/dev/null | sed 's/^/c /'
        number=$((number + 1))
    done
    number=0
    while [ "$number" -lt "$1" ]; do
        [ ! -f "perf-$number.data" ] || perf script --no-inline -i "perf-$number.data" -F comm,ip,sym,dso 2>/dev/null </dev/null
        echo
        number=$((number + 1))
    done | awk '
        function add(key) {
            if (!(key in count)) {
                if (size > 3000000 || known >= 50000) key = "[other stacks]"
                else { size += length(key); known++ }
            }
            count[key]++
        }
        /^[ \t]*$/ { if (task != "") add(task stack); task = stack = last = ""; depth = 0; next }
        { gsub(/;/, ":"); gsub(/[\001-\037\177]/, " ") }
        task == "" { sub(/^ +/, ""); sub(/ +$/, ""); task = substr($0, 1, 100); next }
        ++depth <= 250 {
            sub(/^[ \t]*[0-9a-f]+ /, "")
            object = ""
            if (match($0, / \([^()]*\)$/)) { object = substr($0, RSTART + 2, RLENGTH - 3); $0 = substr($0, 1, RSTART - 1) }
            sub(/^.*\//, "", object)
            if (($0 == "" || $0 == "[unknown]") && object != "" && object != "[unknown]")
                $0 = object ~ /^\[/ ? object : "[" object "]"
            if ($0 == "[unknown]" && last == $0) next # a program without frame pointers
            last = $0
            stack = ";" substr($0, 1, 200) stack
        }
        END { for (key in count) print "s " key, count[key] }'
}

case $1 in
probe) shift && probe "$@" ;;
fold) fold "$2" ;;
esac

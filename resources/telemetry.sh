# Prints once an interval what a host is doing: POSIX sh, grep, date, sleep; no root; ends when nobody reads.
# Fed to `sh -s MARK SECONDS [LEASE]`. Lines "@@MARK word ..." frame each tick; between "tick" and "end" stand the lines of
# /proc that matter, each behind its file's name, and at last the processor time this script has used (`times`).
# The directory LEASE says to others that this host is being measured; it counts while it is touched (lease.sh).
set -u
LC_ALL=C
export LC_ALL
mark=$1 interval=$2 lease=${3:-}
trap 'exit 0' HUP INT TERM PIPE

# cpu of stat; meminfo; vmstat; pressure; loadavg; net/dev; diskstats without loop and ram
wanted='^cpu |^(MemAvailable|Cached|Dirty):|^pswp(in|out) |^some |^[0-9.]+ [0-9.]+ [0-9.]+ '
wanted=$wanted'|^ *[^ :|]+: *[0-9]+ +[0-9]+ |^ +[0-9]+ +[0-9]+ ([^lr]|rbd)'

main() {
    printf '@@%s page %s\n' "$mark" "$(grep -sm 1 KernelPageSize: /proc/self/smaps)"
    read -r boot </proc/sys/kernel/random/boot_id
    printf '@@%s boot %s\n' "$mark" "$boot"
    printf '@@%s disks %s\n' "$mark" "$(ls /sys/block 2>/dev/null | tr '\n' ' ')"
    number=0
    while :; do
        epoch=$(date +%s.%N)
        read -r uptime _ </proc/uptime
        printf '@@%s tick %s %s %s\n' "$mark" "$number" "$uptime" "$epoch" || exit 0
        grep -sE "$wanted" /proc/stat /proc/meminfo /proc/vmstat /proc/pressure/cpu /proc/pressure/memory \
            /proc/pressure/io /proc/loadavg /proc/net/dev /proc/diskstats
        times
        printf '@@%s end\n' "$mark" || exit 0
        [ -z "$lease" ] || [ ! -O "$lease" ] || true >"$lease/touched"
        number=$((number + 1))
        sleep "$interval"
    done
}
main </dev/null

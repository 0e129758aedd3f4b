# Prints a host's counters once per interval: POSIX sh, grep, date, sleep; no root; ends when its output is closed.
# Run as `sh -s MARK SECONDS [LEASE [LOOPS [RARELY [SIZE]]]]` on stdin. Lines "@@MARK key ..." frame each tick; between
# "tick" and "end" are lines of /proc and /sys, each prefixed with its file name, and the CPU time of this script. Slow or
# expensive values are read every RARELY ticks or less often only: processes, frequencies, sensors, allowances.
# LEASE is the directory of the lease, which is in force while it is touched (lease.sh). LOOPS are the loop devices to
# read, as loop0|loop1. With SIZE, the function `unpack`, sent before this script, prints a program of SIZE bytes that
# continues in place of this script (probes/shipped/telemetry.c) where the host can run it.
set -u
LC_ALL=C
export LC_ALL
mark=$1 interval=$2 lease=${3:-} loops=${4:-} rarely=${5:-5} size=${6:-} copy=
trap 'discard; exit 0' HUP INT TERM PIPE

# stat; meminfo; vmstat; pressure; loadavg; net/dev; net/snmp; diskstats without loop and ram; cpu.stat; /sys; PID/stat
wanted='^cpu[0-9]* |^procs_|^(MemAvailable|Cached|Dirty):|^(pswp(in|out)|pgmajfault|oom_kill) |^some '
wanted=$wanted'|^[0-9.]+ [0-9.]+ [0-9.]+ |^ *[^ :|]+: *[0-9]+ +[0-9]+ |^(Tcp|Udp): |^ +[0-9]+ +[0-9]+ ([^lr]|rbd)'
wanted=$wanted'|^(nr_periods|nr_throttled|throttled_(time|usec)|usage_usec) |^[0-9]+$|^[0-9]+ \('
[ -z "$loops" ] || wanted=$wanted"|^ +7 +[0-9]+ ($loops) "
[ ! -d /sys/devices/system/cpu/cpu128 ] || wanted=${wanted#'^cpu[0-9]* |'}'|^cpu  '

# /proc/PID/stat of a process with 1 s of CPU time or more: utime or stime (fields 14, 15) has three digits
grown='^[0-9]+ \(.*\) [A-Za-z] ([-0-9]+ ){10}([0-9]{3,} [0-9]+|[0-9]+ [0-9]{3,}) '

readable() { # files: prints the readable ones
    for file in "$@"; do
        case $file in *' '*) ;; *) [ ! -r "$file" ] || printf '%s ' "$file" ;; esac
    done
}

groups() { # cpu.stat of this script's cgroup and its parents
    while IFS=: read -r _ controllers path; do
        case ",$controllers," in
        *,cpu,*) roots='/sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct' ;;
        ,,) roots='/sys/fs/cgroup /sys/fs/cgroup/unified' ;;
        *) continue ;;
        esac
        for root in $roots; do
            within=${path%/}
            while :; do
                readable "$root$within/cpu.stat"
                [ -n "$within" ] || break
                within=${within%/*}
            done
        done
    done </proc/self/cgroup 2>/dev/null
}

container() { # the files with the CPU time of this container; the root cgroup, which counts the host, is none
    for root in /sys/fs/cgroup /sys/fs/cgroup/unified; do
        [ ! -e "$root/cgroup.events" ] || readable "$root/cpu.stat"
    done
    for root in /sys/fs/cgroup/cpuacct /sys/fs/cgroup/cpu,cpuacct; do
        [ -e "$root/release_agent" ] || readable "$root/cpuacct.usage"
    done
}

sensors() { # CPU temperatures that have a limit; prints the limit
    for chip in /sys/class/hwmon/hwmon*; do
        read -r name 2>/dev/null <"$chip/name" || continue
        case $name in coretemp | k10temp | zenpower | cpu_thermal | soc_thermal) ;; *) continue ;; esac
        for file in "$chip"/temp[1-4]_input; do
            for limit in "${file%_input}_crit" "${file%_input}_max"; do
                read -r most 2>/dev/null <"$limit" || continue
                printf '@@%s limit %s %s\n' "$mark" "$file" "$most" >&3
                readable "$file"
                break
            done
        done
    done
}

domains() { # energy counters (RAPL), readable by root only since CVE-2020-8694; prints their range and name
    for zone in /sys/class/powercap/intel-rapl:*; do
        { read -r most <"$zone/max_energy_range_uj" && read -r name <"$zone/name"; } 2>/dev/null || continue
        printf '@@%s energy %s %s %s\n' "$mark" "$zone/energy_uj" "$most" "$name" >&3
        readable "$zone/energy_uj"
    done
}

meters() { # power of the whole host in uW: ACPI, which asks the BMC by IPMI, or OPAL; prints the ms it is averaged over
    for file in /sys/class/hwmon/hwmon*/power*_average /sys/class/hwmon/hwmon*/device/power*_average \
        /sys/class/hwmon/hwmon*/power*_input; do
        label='' averaged=0
        read -r name 2>/dev/null <"${file%/*}/name" || continue
        { read -r label <"${file%_*}_label"; } 2>/dev/null
        case $name:$label in power_meter:* | ibmpowernv:System) ;; *) continue ;; esac
        { read -r averaged <"${file}_interval"; } 2>/dev/null
        printf '@@%s meter %s %s\n' "$mark" "$file" "$averaged" >&3
        readable "$file"
    done
}

allowances() { # interfaces whose driver counts packets over the cloud allowance
    command -v ethtool >/dev/null 2>&1 || return 0
    for link in /sys/class/net/*; do
        [ ! -e "$link/device" ] || ! ethtool -S "${link##*/}" 2>/dev/null | grep -q allowance_exceeded || echo "${link##*/}"
    done
}

volumes() { # EBS volumes, which count the time over their allowance; needs root
    command -v nvme >/dev/null 2>&1 && [ -w /dev/nvme0 ] || return 0
    for disk in /sys/block/nvme*; do
        read -r model 2>/dev/null <"$disk/device/model" || continue
        case $model in 'Amazon Elastic Block Store'*) echo "${disk##*/}" ;; esac
    done
}

in_session() { # /proc/PID/stat ($2 ...) of the processes in the session of the job: the lines, or with -l the names
    how=$1
    shift
    grep "$how" -sE "^[0-9]+ \(.*\) [A-Za-z] [0-9]+ [0-9]+ $leader " "$@"
}

processes() { # processes with CPU time, and those of the jobs of this lease's run
    set -- /proc/[0-9]*/stat
    scan=$((number + rarely + $# / 50))
    busy=$(grep -lsE "$grown" "$@")
    if [ "$busy" != "$known" ]; then # read environments only if the set of processes changed: that is expensive
        known=$busy environments=
        for file in $busy; do
            environments="$environments ${file%stat}environ"
        done
        own=BENCHWRIGHT_JOB=
        for run in "$lease"/run=*; do
            [ ! -e "$run" ] || own=BENCHWRIGHT_RUN=${run##*/run=}
        done
        # A process may have erased its environment, as stress-ng does: the session of the job shows it, too.
        # shellcheck disable=SC2046,SC2086 # several names
        set -- $(grep -lsF -- "$own" /dev/null $environments) $(in_session -l /dev/null $busy)
        ours=$*
    fi
    printf '@@%s ours %s\n' "$mark" "$ours"
}

# Run by sh -c, too: with $mark, $links and $disks in the environment. A volume prints a magic number and ten 64-bit
# numbers (EBS detailed performance statistics).
# shellcheck disable=SC2016 # expanded when it runs
held='
for link in $links; do
    printf "@@%s allowance %s %s\n" "$mark" "$link" \
        "$(ethtool -S "$link" 2>/dev/null | grep allowance_exceeded | tr -s " \n" " ")"
done
for disk in $disks; do
    printf "@@%s volume %s %s\n" "$mark" "$disk" \
        "$(nvme get-log "/dev/$disk" --log-id=0xd0 --log-len=96 --raw-binary 2>/dev/null | od -An -v -tu8 | tr -s " \n" " ")"
done'

# The lease is removed with the run; a directory with the name of one is removed by the next run (lease.sh). /dev/shm is
# often mounted with noexec, and so are /tmp and /var/tmp of hardened hosts. The program removes its file when it starts.
launch() {
    for directory in ${lease:+"$lease"} /tmp /var/tmp "${HOME:-/tmp}"; do
        if [ "$directory" = "$lease" ]; then
            [ -d "$lease" ] && [ ! -L "$lease" ] && [ -O "$lease" ] || continue
        else
            directory=$directory/benchwright-lease-$mark
            mkdir -m 700 -- "$directory" 2>/dev/null || continue
        fi
        copy=$directory/telemetry-$mark
        (umask 077 && set -C && unpack >"$copy" && chmod 700 -- "$copy") 2>/dev/null
        if [ "$(wc -c <"$copy")" = "$size" ] && [ "$("$copy" check 2>/dev/null)" = telemetry ]; then
            export mark links disks
            # shellcheck disable=SC2086 # several names
            exec "$copy" "$mark" "$interval" "$lease" "$loops" "$rarely" $quotas -- $slow -- ${links:+"$held"} \
                ${disks:+"$held"}
        fi
        discard
    done 2>/dev/null
}

discard() { # the program's file, and its directory if that was made for it
    [ -n "$copy" ] || return 0
    rm -f -- "$copy"
    [ "${copy%/*}" = "$lease" ] || rmdir -- "${copy%/*}"
    copy=
}

# The CPU time of the session of the job that the lease names: utime, stime and those of waited children (fields 14 to 17
# of /proc/PID/stat). Not on a host with many processes, where reading them every tick is expensive. No here-document:
# it may be a file in /tmp, which may be full.
tree() {
    leader=
    for job in "$lease"/job=*-*-*; do
        job=${job##*/job=} pid=${job%%-*} job=${job#*-} began=${job%%-*}
        case $pid$began in *[!0-9]* | '') continue ;; esac
        { read -r stat <"/proc/$pid/stat"; } 2>/dev/null || continue
        # shellcheck disable=SC2086 # split into fields on purpose
        set -- ${stat##*) }
        [ "${20}" != "$began" ] || leader=$pid started=$began
    done
    [ -n "$leader" ] || return 0
    set -- /proc/[0-9]*/stat
    [ $# -le 500 ] || return 0
    in_session -h "$@" | {
        user=0 system=0 seen=
        while read -r stat; do
            # shellcheck disable=SC2086 # split into fields on purpose
            set -- ${stat##*) }
            [ $# -lt 20 ] || user=$((user + ${12} + ${14})) system=$((system + ${13} + ${15}))
            [ "${20-}" != "$started" ] || seen=yes
        done
        [ -z "$seen" ] || # the leader may have ended meanwhile, and the time of its children with it
            printf '@@%s tree %s-%s user %s system %s\n' "$mark" "$leader" "$started" "$user" "$system"
    }
}

main() {
    printf '@@%s page %s\n' "$mark" "$(grep -sm 1 KernelPageSize: /proc/self/smaps)"
    read -r boot </proc/sys/kernel/random/boot_id
    printf '@@%s boot %s\n' "$mark" "$boot"
    printf '@@%s disks %s\n' "$mark" "$(ls /sys/block 2>/dev/null | tr '\n' ' ')"
    above=$(grep -s '^PPid:' "/proc/$PPID/status")
    printf '@@%s own %s %s %s\n' "$mark" "$$" "$PPID" "${above#PPid:?}"
    quotas=$(groups)
    # shellcheck disable=SC2086 # several names
    [ -z "$quotas" ] || quotas=$(grep -ls '^nr_throttled ' $quotas)
    inside=$(container) inside=${inside%% *}
    printf '@@%s inside %s\n' "$mark" "$inside"
    printf '%s\n' "$quotas" | grep -qFx -- "$inside" || quotas="$quotas $inside"
    energy=$(domains) 3>&1
    quotas="$quotas $energy" # read every tick
    slow=$(
        readable /sys/devices/system/cpu/cpu[0-3]/cpufreq/scaling_cur_freq \
            /sys/devices/system/cpu/cpu[0-7]/thermal_throttle/core_throttle_count \
            /sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count \
            /sys/class/net/*/carrier_changes /sys/fs/ext4/*/errors_count
        sensors
        meters
    ) 3>&1
    links=$(allowances) disks=$(volumes)
    namespace=$(readlink /proc/self/ns/pid 2>/dev/null)
    printf '@@%s namespace %s\n' "$mark" "$namespace"
    [ -r /proc/2/stat ] || printf '@@%s hidden\n' "$mark" # kthreadd, hidden by the mount option hidepid
    [ -z "$size" ] || launch
    number=0 scan=0 known='' ours='' leader=''
    while :; do
        epoch=$(date +%s.%N)
        read -r uptime _ </proc/uptime
        printf '@@%s tick %s %s %s\n' "$mark" "$number" "$uptime" "$epoch" || exit 0
        busy=
        [ -z "$lease" ] || tree
        [ "$number" -lt "$scan" ] || processes
        [ $((number % rarely)) -eq 0 ] && files=$slow || files=
        [ $((number % (2 * rarely))) -ne 0 ] || eval "$held"
        # shellcheck disable=SC2086 # several names
        grep -sE "$wanted" /proc/stat /proc/meminfo /proc/vmstat /proc/pressure/cpu /proc/pressure/memory \
            /proc/pressure/io /proc/loadavg /proc/net/dev /proc/net/snmp /proc/diskstats $quotas $files $busy
        times
        printf '@@%s end\n' "$mark" || exit 0
        [ -z "$lease" ] || [ -L "$lease" ] || [ ! -O "$lease" ] || true >"$lease/touched"
        number=$((number + 1))
        sleep "$interval"
    done
}
main </dev/null

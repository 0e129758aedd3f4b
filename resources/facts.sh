# Reads the facts of a host: POSIX sh with coreutils or busybox; no root; leaves no files.
# Run as `sh -s MARK WATCH [NAME SIGN SEARCH VERSION ENGINES TIMED]... -- [DIRECTORY]...` on stdin: for each program the
# fields of suites/programs.py; "-" is empty. WATCH is the least time in which background load is counted, in centiseconds,
# from the start of the script. Prints items "@@MARK name length", a line break, that many bytes, a line break;
# "@@MARK -name length" is the reason of a missing item. The output is parsed in remote/facts.
# Without more arguments it prints only the background load and the block devices.
# Slow items are read concurrently by stages of a pipeline; each stage prints its own and copies its input.
set -u
LC_ALL=C
export LC_ALL
# include guard.sh
mark=$1 watch=$2
shift 2

LONGEST=65536
item() { # name text: truncated if it is too long
    [ "${#2}" -le "$LONGEST" ] || set -- "$1" "$(printf '%s' "$2" | head -c "$LONGEST")"
    printf '@@%s %s %d\n%s\n' "$mark" "$1" "${#2}" "$2"
}
no() { item "-$1" "$2"; }
have() { command -v "$1" >/dev/null 2>&1; }

within() { # seconds command: killed if it hangs, such as on a network file system
    if have timeout; then timeout -s KILL "$@"; else
        shift
        "$@"
    fi
}

text() { # name path [bytes]
    if [ -r "$2" ] && found=$(head -c "${3:-$LONGEST}" "$2" 2>/dev/null); then
        item "$1" "$found"
    elif [ -e "$2" ]; then
        no "$1" "permission denied"
    else
        no "$1" "there is no $2"
    fi
}

line() { # path -> $found, without a subprocess
    found=
    [ -r "$1" ] && { read -r found <"$1"; } 2>/dev/null
}

short() { # name path: the only line of a file, without a subprocess
    if { { read -r found || :; } <"$2"; } 2>/dev/null; then
        item "$1" "$found"
    elif [ -e "$2" ]; then
        no "$1" "permission denied"
    else
        no "$1" "there is no $2"
    fi
}

system() {
    names=$(uname -n -r -m) architecture=${names##* }
    item uname "$names"
    item id "$(id)"
    item client "${SSH_CONNECTION:-}"
    if [ -e /etc/os-release ]; then text os_release /etc/os-release; else text os_release /usr/lib/os-release; fi
    short boot_id /proc/sys/kernel/random/boot_id
    short io_uring_disabled /proc/sys/kernel/io_uring_disabled
    short uptime /proc/uptime
    short load /proc/loadavg
    short command_line /proc/cmdline
    short clock_source /sys/devices/system/clocksource/clocksource0/current_clocksource
    for name in sys_vendor product_name bios_version chassis_asset_tag; do
        short "dmi.$name" "$dmi/$name"
    done
    if have systemd-detect-virt; then
        item virtualisation "$(systemd-detect-virt --vm 2>/dev/null)"
        item container "$(systemd-detect-virt --container 2>/dev/null)"
    fi
    short hypervisor /sys/hypervisor/type
    for sign in /.dockerenv /run/.containerenv /run/systemd/container; do
        [ ! -e "$sign" ] || item container_sign "$sign"
    done
}

cpu() {
    text cpuinfo /proc/cpuinfo 16384
    text status /proc/self/status
    short cpu.online /sys/devices/system/cpu/online
    short cpu.offline /sys/devices/system/cpu/offline
    short cpu.smt /sys/devices/system/cpu/smt/control
    short cpu.boost /sys/devices/system/cpu/cpufreq/boost
    short cpu.no_turbo /sys/devices/system/cpu/intel_pstate/no_turbo
    short cpu.numa_balancing /proc/sys/kernel/numa_balancing
    cd /sys/devices/system/cpu 2>/dev/null || return
    # not with `line`: sysfs cpumap lists return nothing to a shell that reads byte by byte
    item cpu.vulnerabilities "$(cd vulnerabilities 2>/dev/null && grep -s . /dev/null ./*)"
    item cpu.packages "$(grep -hs . cpu[0-9]*/topology/physical_package_id | sort -u)"
    item cpu.cores "$(grep -hs . cpu[0-9]*/topology/thread_siblings_list | sort -u)"
    item cpu.package_lists "$(grep -hs . cpu[0-9]*/topology/core_siblings_list | sort -u)"
    item cpu.node_lists "$(grep -hs . /sys/devices/system/node/node[0-9]*/cpulist)"
    item cpu.caches "$(for index in cpu[0-9]*/cache/index[0-9]*; do
        line "$index/level" && level=$found && line "$index/type" && kind=$found &&
            line "$index/shared_cpu_list" && shared=$found && line "$index/size"
        echo "${level:-} ${kind:-} ${shared:-} $found"
    done | sort -u)"
    item cpu.governors "$(for cpu in cpu[0-9]*; do
        line "$cpu/cpufreq/scaling_governor" && governor=$found &&
            line "$cpu/cpufreq/cpuinfo_max_freq" && echo "$governor $found"
    done | sort -u)"
    item cpu.energy "$(for zone in /sys/class/powercap/intel-rapl:*; do
        line "$zone/name" && { [ -r "$zone/energy_uj" ] && echo "readable $found" || echo "refused $found"; }
    done)"
    item cpu.preferences "$(grep -hs . cpu[0-9]*/cpufreq/energy_performance_preference | sort -u)"
    set -- /sys/devices/system/node/node[0-9]*
    [ ! -e "$1" ] || item cpu.nodes "$#"
    case $architecture in
    x86_64 | i?86) ;;
    *) ! have lscpu || item lscpu "$(within 1 lscpu 2>/dev/null)" ;; # it has the names of ARM cores
    esac
}

climb() { # name mount path file...: the files of the cgroup at path and of its parents
    name=$1 mount=$2 group=${3%/}
    shift 3
    [ -d "$mount$group" ] || group= # in a container the path is outside the mount, which is the cgroup itself
    while :; do
        for file in "$@"; do
            line "$mount$group/$file" && item "$name.$file" "$found"
        done
        [ -n "$group" ] || break
        group=${group%/*}
    done
}

control_groups() {
    while IFS=: read -r _ controllers path; do
        case ,$controllers, in
        ,,)
            for mount in /sys/fs/cgroup /sys/fs/cgroup/unified; do
                [ ! -e "$mount/cgroup.controllers" ] || climb cgroup "$mount" "$path" cpu.max memory.max
            done
            ;;
        *,cpu,*)
            for mount in /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct; do
                [ ! -d "$mount" ] || {
                    climb cgroup "$mount" "$path" cpu.cfs_quota_us cpu.cfs_period_us
                    break
                }
            done
            ;;
        *,memory,*) climb cgroup /sys/fs/cgroup/memory "$path" memory.limit_in_bytes ;;
        esac
    done </proc/self/cgroup
}

memory() {
    text meminfo /proc/meminfo
    short huge_pages /sys/kernel/mm/transparent_hugepage/enabled
    if found=$(getconf PAGESIZE 2>/dev/null); then item page_size "$found"; else no page_size "there is no getconf"; fi
}

block() {
    cd /sys/class/block 2>/dev/null || {
        no block "there is no /sys/class/block"
        return
    }
    set --
    for device in *; do
        case $device in ram*) continue ;; esac
        line "$device/size" && [ "$found" != 0 ] || continue
        set -- "$@" "$device/dev" "$device/size" "$device/partition" "$device/removable" "$device/dm/name" \
            "$device/dm/uuid" "$device/md/level" "$device/device/model" "$device/device/serial" "$device/serial" \
            "$device/device/queue_depth" "$device/queue/rotational" "$device/queue/scheduler" \
            "$device/queue/read_ahead_kb" "$device/queue/nr_requests" "$device/queue/logical_block_size" "$device/queue/iosched/low_latency" \
            "$device/loop/backing_file"
    done
    item block "$(grep -s . /dev/null "$@")"
    item block.links "$(ls -l . 2>/dev/null)"
    item block.slaves "$(ls -d -- */slaves/* 2>/dev/null)"
}

file_systems() {
    # without the lower directories of overlays, which are long and many on hosts with containers
    if found=$(sed 's/,lowerdir+\{0,1\}=[^, ]*//g' /proc/self/mountinfo 2>/dev/null); then item mounts "$found"; else
        text mounts /proc/self/mountinfo
    fi
    item df "$(within 1 df -Pk 2>/dev/null)"
}

directory() { # name path
    item "$1.path" "$2"
    if ! [ -d "$2" ]; then
        [ ! -f "$2" ] || item "$1.file" "$(within 1 du -k -- "$2" 2>/dev/null)"
        case $(ls -d -- "$2/" 2>&1) in
        *"Permission denied"*) no "$1.df" "permission denied" ;;
        *"Not a directory"*) no "$1.df" "it is not a directory" ;;
        *) no "$1.df" "there is no such directory" ;;
        esac
        return
    fi
    item "$1.df" "$(within 1 df -Pk -- "$2" 2>/dev/null)"
    found=$(cd -- "$2" 2>/dev/null && pwd -P) && {
        guarded "$found" && item "$1.guard" safe || item "$1.guard" "$unsafe"
    }
    if have lsattr; then item "$1.attributes" "$(within 1 lsattr -d -- "$2" 2>/dev/null)"; else
        no "$1.attributes" "lsattr is not installed"
    fi
    probe=${2%/}/.benchwright-$mark
    if complaint=$( (set -C && : >"$probe") 2>&1); then
        item "$1.write" yes
        complaint=$(dd if=/dev/zero of="$probe" bs=4096 count=1 oflag=direct conv=notrunc 2>&1) &&
            item "$1.direct" yes || no "$1.direct" "$complaint"
        rm -f -- "$probe"
    else
        no "$1.write" "$complaint"
    fi
}

directories() {
    probe=
    trap '[ -z "$probe" ] || rm -f -- "$probe"' EXIT
    trap 'exit 1' HUP INT TERM PIPE
    number=0
    for path in "$@"; do
        directory "directory.$number" "$path"
        number=$((number + 1))
    done
    for path in "${HOME:-}" /var/tmp /tmp; do
        [ ! -d "$path" ] || directory "directory.$number" "$path"
        number=$((number + 1))
    done
}

network() {
    cd /sys/class/net 2>/dev/null || {
        no net "there is no /sys/class/net"
        return
    }
    item net "$(grep -s . /dev/null -- */mtu */speed */operstate)"
    item net.drivers "$(ls -ld -- */device/driver 2>/dev/null)"
    if have ip; then item net.addresses "$(ip -o addr 2>/dev/null)"; else
        no net.addresses "ip is not installed"
    fi
}

# pid, parent, CPU time (own user and system, that of waited children), start time and name of each process (proc(5))
process='s/^([0-9]+) \((.*)\) [A-Za-z] ([0-9]+) ([-0-9]+ ){9}([0-9]+ [0-9]+ [0-9]+ [0-9]+) ([-0-9]+ ){4}([0-9]+) .*/\1 \3 \5 \7 \2/p'
# kernel threads that used no CPU time are left out: a large host has thousands
process="/^[0-9]+ \(.*\) [A-Za-z] 2 ([-0-9]+ ){9}0 0 0 0 /d;$process"

load() { # moment: counters of CPUs, disks and processes; what this script and its client used is among them
    short "load.$1.uptime" /proc/uptime
    item "load.$1.own" "$$ $PPID"
    item "load.$1.io" "$(grep -sE '^(read|write)_bytes' "/proc/$$/io")"
    LONGEST=262144
    item "load.$1.processes" "$(sed -nE "$process" /proc/[0-9]*/stat 2>/dev/null)"
    LONGEST=65536
    item "load.$1.disks" "$(grep -sE '^ *[0-9]+ +[0-9]+ ([^lr]|rbd)' /proc/diskstats)"
}

ticks() { # moment: those of the CPUs, while no program of load runs
    line /proc/stat && item "load.$1.processors" "$found"
}

uptime_now() { # $now: hundredths of a second since boot, empty if unknown; a number that begins with 0 would be octal
    now=
    line /proc/uptime && now=${found%% *} && now=$((${now%.*} * 100 + 1${now#*.} - 100))
}

rest() { # sleep until the load was watched long enough
    uptime_now
    left=$((watch - (${now:-0} - ${began:-0})))
    [ -n "$now" ] && [ -n "$began" ] || left=$watch
    [ "$left" -gt 0 ] || return 0
    seconds=$((left / 100)) parts=$((left % 100 + 100))
    sleep "$seconds.${parts#1}" 2>/dev/null || sleep $((seconds + 1))
}

started() { # program...: version and start time of each timed program, run in sequence, and the end of the last
    while [ "$1" != -- ]; do
        [ "$6" = - ] || ! have "$1" || {
            item "started.$1" "$(date +%s.%N)"
            version "$1" "$4"
        }
        shift 6
    done
    item started.end "$(date +%s.%N)"
}

measured() { # program...
    rest
    ticks after
    load after
    started "$@"
    item urandom "$(dd if=/dev/urandom of=/dev/null bs=1048576 count=4 2>&1)"
}

newest() { # sign pattern...: $found is the directory with the file SIGN and the highest version in its name
    sign=$1 found=
    shift
    set +f
    IFS= # do not split names at blanks
    for pattern in "$@"; do
        case $pattern in
        "~/"*) above=${HOME:-/root}/ pattern=${pattern#"~/"} ;;
        *) above= ;;
        esac
        cd -- "${above:-/}" 2>/dev/null || continue
        for each in $pattern/$sign; do
            [ ! -f "$each" ] || found="${found:+$found$newline}$above${each%/*}"
        done
    done
    case $found in
    *"$newline"*) found=$(printf '%s\n' "$found" | { sort -V 2>/dev/null || sort; } | tail -n 1) ;; # busybox has no -V
    esac
}

where() { # name sign search: prints the path of a program, or of the directory with the file SIGN
    name=$1 sign=$2
    [ "$sign" != - ] || sign=$name
    newline='
'
    set -f
    IFS=:
    for patterns in $3; do
        if [ "$patterns" = PATH ]; then
            command -v "$name" && return
            continue
        fi
        set -f
        IFS=' '
        # shellcheck disable=SC2086 # several patterns
        newest "$sign" $patterns
        [ -n "$found" ] || continue
        [ ! -x "$found/$name" ] || found=$found/$name
        printf '%s\n' "$found"
        return
    done
}

version() { # name arguments
    # shellcheck disable=SC2086 # several words
    item "tool.$1" "$(within 2 "$1" $2 2>&1 </dev/null | head -c 1024)"
}

program() { # name sign search version engines timed: the version of a timed program is read when it is timed
    path=$(where "$1" "$2" "$3")
    [ -n "$path" ] || {
        no "tool.$1" "not installed"
        return
    }
    item "tool.$1.path" "$path"
    [ "$6" = - ] || ! have "$1" || set -- "$1" "$2" "$3" - "$5"
    PATH=${path%/*}:$PATH
    [ "$4" = - ] || version "$1" "$4"
    # shellcheck disable=SC2086 # several words
    [ "$5" = - ] || item "engines.$1" "$(within 2 "$1" $5 2>/dev/null </dev/null | head -c 2048)"
}

programs() { # concurrent: items are shorter than PIPE_BUF, so that writes are atomic
    while [ "$1" != -- ]; do
        program "$@" &
        shift 6
    done
    wait
}

# Metadata services: one request each for type, id and region; never user data or credentials.
curl_lines() { curl -sf --fail-early --noproxy '*' -m 0.3 -w '\n' "$@"; }
wget_lines() { # header url...
    header=$1
    shift
    for url in "$@"; do
        timeout 0.3 wget -q -O - --header "$header" "$url" || return
        echo
    done
}
fetch() { # header url...
    if have curl; then
        header=$1
        shift
        curl_lines -H "$header" "$@"
    else
        wget_lines "$@"
    fi
}

aws() {
    base=${BENCHWRIGHT_METADATA:-http://169.254.169.254}
    token=
    if have curl; then
        token=$(curl_lines -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' "$base/latest/api/token")
    else
        token=$(timeout 0.3 wget -q -O - --method=PUT --header 'X-aws-ec2-metadata-token-ttl-seconds: 60' \
            "$base/latest/api/token" 2>/dev/null)
    fi
    case $? in 28 | 124 | 143) return ;; esac # timeout; for any other error try IMDSv1
    set -- instance-type instance-id placement/region
    fetch "X-aws-ec2-metadata-token: $token" "$base/latest/meta-data/$1" "$base/latest/meta-data/$2" \
        "$base/latest/meta-data/$3"
}

gcp() {
    base=${BENCHWRIGHT_METADATA:-http://169.254.169.254}/computeMetadata/v1/instance
    fetch 'Metadata-Flavor: Google' "$base/machine-type" "$base/id" "$base/zone"
}

azure() {
    base=${BENCHWRIGHT_METADATA:-http://169.254.169.254}/metadata/instance/compute
    version='api-version=2021-02-01&format=text'
    fetch 'Metadata: true' "$base/vmSize?$version" "$base/vmId?$version" "$base/location?$version"
}

alibaba() {
    base=${BENCHWRIGHT_METADATA:-http://100.100.100.200}/latest
    token=
    ! have curl || token=$(curl_lines -X PUT -H 'X-aliyun-ecs-metadata-token-ttl-seconds: 60' "$base/api/token")
    case $? in 28) return ;; esac # timeout
    base=$base/meta-data
    fetch "X-aliyun-ecs-metadata-token: $token" "$base/instance/instance-type" "$base/instance-id" "$base/region-id"
}

oracle() {
    base=${BENCHWRIGHT_METADATA:-http://169.254.169.254}/opc/v2/instance
    fetch 'Authorization: Bearer Oracle' "$base/shape" "$base/id" "$base/canonicalRegionName" \
        "$base/shapeConfig/baselineOcpuUtilization"
}

metadata() {
    no_proxy='*'
    export no_proxy
    cloud=
    line "$dmi/sys_vendor" && vendor=$found || vendor=
    line "$dmi/bios_version" && bios=$found || bios=
    line "$dmi/chassis_asset_tag" && asset=$found || asset=
    case $vendor/$bios/$asset in
    Amazon* | */*amazon*/*) cloud=aws ;;
    Google*) cloud=gcp ;;
    Alibaba*) cloud=alibaba ;;
    */OracleCloud*) cloud=oracle ;;
    Microsoft*/7783-7084-3265-9085-8269-3286-77) cloud=azure ;;
    *) return ;;
    esac
    item cloud "$cloud"
    if have curl || { have wget && have timeout; }; then
        item metadata "$("$cloud" 2>/dev/null | head -c 4096)"
    else
        no metadata "neither curl nor wget is installed"
    fi
}

readings() {
    PATH=$PATH:/usr/sbin:/sbin # ip may not be in a user's PATH
    system
    cpu
    control_groups
    memory
    block
    file_systems
    network
    cd -- "${HOME:-/}" 2>/dev/null || cd /
    while [ "$1" != -- ]; do shift 6; done
    shift
    directories "$@"
}

main() {
    dmi=${BENCHWRIGHT_DMI:-/sys/class/dmi/id}
    uptime_now
    began=$now
    load before
    ticks before
    [ $# -gt 0 ] || {
        block
        rest
        ticks after
        load after
        return
    }
    metadata </dev/null | { programs "$@" && cat; } | { readings "$@" </dev/null && cat; }
    measured "$@"
    item end .
}
main "$@" </dev/null

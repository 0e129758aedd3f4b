# Reads what a host is: POSIX sh with coreutils or busybox, no root, nothing left behind.
# Fed to `sh -s MARK [DIRECTORY]...`. Prints items "@@MARK name length", a line break, that many bytes, a line break;
# "@@MARK -name length" carries why an item could not be read. Everything is read here and understood elsewhere.
# Slow answers are fetched by earlier stages of a pipeline; each stage prints its own and hands on the rest.
set -u
LC_ALL=C
export LC_ALL
# include guard.sh
mark=$1
shift

LONGEST=65536
item() { printf '@@%s %s %d\n%s\n' "$mark" "$1" "${#2}" "$2"; }
no() { item "-$1" "$2"; }
have() { command -v "$1" >/dev/null 2>&1; }

within() { # seconds command: killed when it hangs, such as on a dead network file system
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

line() { # path -> $found, without another process
    found=
    [ -r "$1" ] && { read -r found <"$1"; } 2>/dev/null
}

moment() {
    item "$1.epoch" "$(date +%s.%N)"
}

system() {
    item uname "$(uname -n -r -m)"
    item id "$(id)"
    item client "${SSH_CONNECTION:-}"
    if [ -e /etc/os-release ]; then text os_release /etc/os-release; else text os_release /usr/lib/os-release; fi
    text boot_id /proc/sys/kernel/random/boot_id
    text io_uring_disabled /proc/sys/kernel/io_uring_disabled
    text uptime /proc/uptime
    text load /proc/loadavg
    text clock_source /sys/devices/system/clocksource/clocksource0/current_clocksource
    for name in sys_vendor product_name bios_version chassis_asset_tag; do
        text "dmi.$name" "$dmi/$name"
    done
    if have systemd-detect-virt; then
        item virtualisation "$(systemd-detect-virt --vm 2>/dev/null)"
        item container "$(systemd-detect-virt --container 2>/dev/null)"
    fi
    text hypervisor /sys/hypervisor/type
    for sign in /.dockerenv /run/.containerenv /run/systemd/container; do
        [ ! -e "$sign" ] || item container_sign "$sign"
    done
}

cpu() {
    text cpuinfo /proc/cpuinfo 16384
    text status /proc/self/status
    text cpu.online /sys/devices/system/cpu/online
    text cpu.offline /sys/devices/system/cpu/offline
    text cpu.smt /sys/devices/system/cpu/smt/control
    text cpu.boost /sys/devices/system/cpu/cpufreq/boost
    text cpu.no_turbo /sys/devices/system/cpu/intel_pstate/no_turbo
    text cpu.numa_balancing /proc/sys/kernel/numa_balancing
    cd /sys/devices/system/cpu 2>/dev/null || return
    # not by `line`: lists of threads are files that give nothing to a shell reading them byte by byte
    item cpu.packages "$(grep -hs . cpu[0-9]*/topology/physical_package_id | sort -u | head -c "$LONGEST")"
    item cpu.cores "$(grep -hs . cpu[0-9]*/topology/thread_siblings_list | sort -u | head -c "$LONGEST")"
    item cpu.caches "$(for index in cpu[0-9]*/cache/index[0-9]*; do
        line "$index/level" && level=$found && line "$index/type" && kind=$found &&
            line "$index/shared_cpu_list" && shared=$found && line "$index/size"
        echo "${level:-} ${kind:-} ${shared:-} $found"
    done | sort -u | head -c "$LONGEST")"
    item cpu.governors "$(for cpu in cpu[0-9]*; do
        line "$cpu/cpufreq/scaling_governor" && governor=$found &&
            line "$cpu/cpufreq/cpuinfo_max_freq" && echo "$governor $found"
    done | sort -u | head -c "$LONGEST")"
    item cpu.preferences "$(grep -hs . cpu[0-9]*/cpufreq/energy_performance_preference | sort -u | head -c "$LONGEST")"
    set -- /sys/devices/system/node/node[0-9]*
    [ ! -e "$1" ] || item cpu.nodes "$#"
    case $(uname -m) in
    x86_64 | i?86) ;;
    *) ! have lscpu || item lscpu "$(within 1 lscpu 2>/dev/null | head -c "$LONGEST")" ;; # knows the names of ARM cores
    esac
}

climb() { # name mount path file...: the files of the group at path and of all groups above it
    name=$1 mount=$2 group=${3%/}
    shift 3
    [ -d "$mount$group" ] || group= # in a container the path is another's, and the mount is the group
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
    text huge_pages /sys/kernel/mm/transparent_hugepage/enabled
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
            "$device/dm/uuid" "$device/md/level" "$device/device/model" "$device/device/queue_depth" \
            "$device/queue/rotational" "$device/queue/scheduler" "$device/queue/read_ahead_kb" \
            "$device/queue/nr_requests" "$device/queue/logical_block_size" "$device/queue/iosched/low_latency"
    done
    item block "$(grep -s . /dev/null "$@" | head -c "$LONGEST")"
    item block.links "$(ls -l . 2>/dev/null | head -c "$LONGEST")"
    item block.slaves "$(ls -d -- */slaves/* 2>/dev/null | head -c "$LONGEST")"
}

file_systems() {
    text mounts /proc/self/mountinfo
    item df "$(within 1 df -Pk 2>/dev/null | head -c "$LONGEST")"
}

directory() { # name path
    item "$1.path" "$2"
    if ! [ -d "$2" ]; then
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
    item net "$(grep -s . /dev/null -- */mtu */speed */operstate | head -c "$LONGEST")"
    item net.drivers "$(ls -ld -- */device/driver 2>/dev/null | head -c "$LONGEST")"
    if have ip; then item net.addresses "$(ip -o addr 2>/dev/null | head -c "$LONGEST")"; else
        no net.addresses "ip is not installed"
    fi
}

processors() { # name: what all CPUs together have done so far, in ticks, and what of it whoever asks: Benchwright, or sshd
    line /proc/stat && item "$1" "$found"
    line "/proc/$PPID/stat" && item "$1.own" "$found"
}

started() { # tool...: when each began to print its version, one after the other, and when the last had ended
    for tool in "$@"; do
        ! have "$tool" || {
            item "started.$tool" "$(date +%s.%N)"
            within 1 "$tool" --version </dev/null >/dev/null 2>&1
        }
    done
    item started.end "$(date +%s.%N)"
}

measured() {
    processors idle.before
    sleep 0.3 2>/dev/null || sleep 1 # while nothing of ours runs
    processors idle.after
    started fio sysbench iperf3 dd cp ioping stress-ng
    item urandom "$(dd if=/dev/urandom of=/dev/null bs=1048576 count=4 2>&1)"
}

tool() { # name
    path=$(command -v "$1") || {
        no "tool.$1" "not installed"
        return
    }
    item "tool.$1.path" "$path"
    case $1 in
    hpcc) ;; # it knows no options: asked for its version, it would begin to measure
    *) item "tool.$1" "$(within 2 "$1" --version 2>&1 </dev/null | head -c 1024)" ;;
    esac
    [ "$1" != fio ] || item engines.fio "$(within 2 fio --enghelp 2>/dev/null </dev/null | head -c 2048)"
}

placed() { # name folder/file...: the folder of the first file that is there; these tools lie where their users put them
    name=$1
    shift
    for path in "$@"; do
        [ ! -f "$path" ] || {
            item "tool.$name.path" "${path%/*}"
            return
        }
    done
    no "tool.$name" "not installed"
}

servers() { # database servers, which a user's own path does not name; the newest PostgreSQL
    for folder in $(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* /usr/lib/postgresql*/bin \
        2>/dev/null | sort -V); do
        [ ! -x "$folder/initdb" ] || PATH=$folder:$PATH
    done
    PATH=$PATH:/usr/sbin:/usr/libexec:/usr/local/sbin
    tool postgres &
    tool mariadbd &
    wait
}

tools() { # at once; each item is short enough for the pipe to keep it in one piece (PIPE_BUF)
    home=${HOME:-/root}
    placed unixbench "$home"/UnixBench/Run "$home"/*/UnixBench/Run /opt/UnixBench/Run /opt/*/UnixBench/Run \
        /usr/local/*/UnixBench/Run
    placed geekbench "$home"/[Gg]eekbench*/geekbench[1-9] /opt/[Gg]eekbench*/geekbench[1-9] \
        /usr/local/[Gg]eekbench*/geekbench[1-9]
    placed speccpu "$home"/cpu20*/shrc /opt/cpu20*/shrc /usr/cpu20*/shrc /spec/cpu20*/shrc /opt/spec/cpu20*/shrc
    for tool in fio sysbench pgbench iperf3 dd cp stress-ng ioping hpcc mpirun cc gcc make perl python3; do
        tool "$tool" &
    done
    servers &
    wait
}

# Metadata services: one short question each for type, id and region; never user data, never credentials.
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
    case $? in 28 | 124 | 143) return ;; esac # nobody answered in time; an answer that is none leaves version 1 to try
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
    PATH=$PATH:/usr/sbin:/sbin # where ip is, which a user's own path may not name
    system
    cpu
    control_groups
    memory
    block
    file_systems
    network
    cd -- "${HOME:-/}" 2>/dev/null || cd /
    directories "$@"
}

main() {
    dmi=${BENCHWRIGHT_DMI:-/sys/class/dmi/id}
    moment first
    metadata </dev/null | { tools && cat; } | { readings "$@" </dev/null && cat; }
    measured
    moment last
    item end .
}
main "$@" </dev/null

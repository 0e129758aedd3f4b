# Reads a block device and its users: POSIX sh with coreutils or busybox; root reads more. Changes nothing.
#   sh -s look MARK PATH...                       prints items as facts.sh does: device.N.path, .state, .access, .blank
#   sh -c SCRIPT sh guard N STATE PATH... COMMAND...   execs COMMAND if each of the N PATHs has its STATE and is not in use
# STATE is lines "key value" that are stable while the device is unchanged. The guard opens the devices with O_EXCL and
# keeps them open while the command runs, if python3 is installed.
set -u
LC_ALL=C
export LC_ALL

own_path=$PATH
PATH=$PATH:/usr/sbin:/sbin # wipefs and blkid may not be in a user's PATH

have() { command -v "$1" >/dev/null 2>&1; }

plain() { # a value as one line without special characters
    printf %s "$1" | head -c 512 | tr -c ' -~' '?'
}

tell() { # key value: prints a line of the state if the value is not empty
    value=$(plain "$2")
    [ -z "$value" ] || printf '%s %s\n' "$1" "$value"
}

line() { # path -> $found
    found=
    { [ -r "$1" ] && read -r found <"$1"; } 2>/dev/null
    [ -n "$found" ]
}

udev() { # name property -> $found, from the udev database
    found=
    line "/sys/class/block/$1/dev" || return
    found=$(sed -n "s/^E:$2=//p" "/run/udev/data/b$found" 2>/dev/null | head -n 1)
}

identity() { # name
    tell node "/dev/$1"
    line "/sys/class/block/$1/dev" && tell number "$found"
    # diskseq increases with every disk that appears: another disk with the same name has another number.
    line "/sys/class/block/$1/diskseq" && tell diskseq "$found"
    line "/sys/class/block/$1/size" && tell size "$((found * 512))"
    line "/sys/class/block/$1/ro" && tell read-only "$found"
    tell kind "$(kind "$1")"
    udev "$1" ID_MODEL
    [ -n "$found" ] || line "/sys/class/block/$1/device/model"
    tell model "$found"
    tell serial "$(serial "$1")"
    for link in /dev/disk/by-id/*; do
        [ "$(readlink -f -- "$link" 2>/dev/null)" != "/dev/$1" ] || tell by-id "${link##*/}"
    done
    if line "/sys/class/block/$1/loop/backing_file"; then
        file=$found
        tell backing "$file"
        tell inode "$(stat -L -c %d:%i -- "$file" 2>/dev/null)"
    fi
}

kind() {
    [ -e "/sys/class/block/$1/partition" ] && echo part && return
    [ -d "/sys/class/block/$1/dm" ] && echo dm && return
    [ -d "/sys/class/block/$1/md" ] && echo md && return
    case $1 in
    loop[0-9]*) echo loop ;;
    zram[0-9]* | ram[0-9]*) echo memory ;;
    nbd[0-9]* | rbd[0-9]* | drbd[0-9]*) echo network ;;
    sr[0-9]* | fd[0-9]*) echo removable ;;
    *) echo disk ;;
    esac
}

serial() {
    udev "$1" ID_SERIAL_SHORT
    [ -n "$found" ] || udev "$1" ID_SCSI_SERIAL
    [ -n "$found" ] || line "/sys/class/block/$1/serial"
    [ -n "$found" ] || line "/sys/class/block/$1/device/serial"
    # SCSI's page 0x80: four bytes before the number itself
    [ -n "$found" ] || found=$(tail -c +5 "/sys/class/block/$1/device/vpd_pg80" 2>/dev/null | tr -cd ' -~')
    printf %s "$found" | sed 's/^ *//; s/ *$//'
}

parts() { # name: itself and its partitions
    echo "$1"
    for part in "/sys/class/block/$1"/*/partition; do
        [ -e "$part" ] || continue
        part=${part%/partition}
        echo "${part##*/}"
    done
}

uses() { # name of the device or of a partition
    for holder in "/sys/class/block/$1"/holders/*; do
        [ -e "$holder" ] || continue
        line "$holder/dm/uuid" || found=
        tell holder "$1 ${holder##*/} $found"
    done
    line "/sys/class/block/$1/dev" && number=$found || number=none
    # In all visible mount namespaces. btrfs has anonymous device numbers, so its source is compared, too.
    cat /proc/[0-9]*/mountinfo 2>/dev/null | sort -u | while IFS=' ' read -r _ _ mounted _ point rest; do
        case "$mounted ${rest#* - }" in
        "$number "* | *" /dev/$1 "*) tell mount "$1 $point" ;;
        esac
    done | sort -u
    while read -r swap _; do
        [ "$(readlink -f -- "$swap" 2>/dev/null)" != "/dev/$1" ] || tell swap "$1"
    done </proc/swaps 2>/dev/null
    for loop in /sys/block/loop*/loop/backing_file; do
        line "$loop" || continue
        loop=${loop%/loop/backing_file}
        [ "$(readlink -f -- "$found" 2>/dev/null)" != "/dev/$1" ] || tell loop "$1 ${loop##*/}"
    done
    for open in $(opened_by "$1"); do
        line "/proc/$open/comm" || continue
        # udev opens every device after it is closed; that does not count as use.
        case $found in *udev*) ;; *) tell open "$1 $open $found" ;; esac
    done
    signatures "$1"
}

opened_by() { # name: PIDs; `ls` prints the directory of a process, then its files
    ls -l /proc/[0-9]*/fd 2>/dev/null | sed -n "/^\\/proc\\//h; / -> \\/dev\\/$1\$/{x;p;x;}" | cut -d/ -f3 | sort -un
}

signatures() { # file systems, partition tables, members of LVM, RAID, swap and so on
    if [ ! -r "/dev/$1" ]; then
        for property in ID_FS_TYPE ID_PART_TABLE_TYPE; do
            udev "$1" $property
            [ -z "$found" ] || tell signature "$1 $found"
        done
        tell unread "only root may read it"
    elif have wipefs; then
        listed=$(wipefs -n -p "/dev/$1" 2>/dev/null) || tell unread "wipefs failed"
        printf '%s\n' "$listed" | sed -n 's/^0x[0-9a-f]*,[^,]*,[^,]*,//p' | sort -u | while read -r mark; do
            tell signature "$1 $mark"
        done
    elif listed=$(blkid -p -o value -s TYPE -s PTTYPE "/dev/$1" 2>/dev/null) || [ $? -eq 2 ]; then # 2: nothing found
        printf '%s\n' "$listed" | sort -u | while read -r mark; do
            [ -z "$mark" ] || tell signature "$1 $mark"
        done
    else
        tell unread "neither wipefs nor blkid is installed (util-linux)"
    fi
}

OPEN='import os, sys
try:
    os.close(os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL))
except OSError as error:
    print("busy" if error.errno == 16 else "unknown " + error.strerror)
else:
    print("free")'

exclusive() { # name: whether O_EXCL succeeds; the kernel refuses it for mounts, holders, swap and so on
    if [ ! -r "/dev/$1" ]; then
        echo "unknown permission denied"
    elif have python3; then
        python3 -c "$OPEN" "/dev/$1" 2>/dev/null
    elif have wipefs; then
        # wipefs opens the device with O_EXCL before it writes; -n does not write.
        if complaint=$(wipefs -n -a "/dev/$1" 2>&1 >/dev/null); then echo free; else
            case $complaint in *busy*) echo busy ;; *) echo "unknown $complaint" ;; esac
        fi
    else
        echo "unknown neither python3 nor wipefs is installed"
    fi
}

state() { # path
    real=$(readlink -f -- "$1" 2>/dev/null) && [ -n "$real" ] || real=$1
    if [ ! -b "$real" ]; then
        if [ -e "$real" ]; then tell missing "it is no block device"; else tell missing "there is no such device"; fi
        return
    fi
    name=${real##*/}
    # Names below /dev are arbitrary: the kernel's name is found by the device number.
    numbers=$(stat -c '%t %T' -- "$real" 2>/dev/null)
    sys=$(readlink -f -- "/sys/dev/block/$((0x${numbers% *})):$((0x${numbers#* }))" 2>/dev/null) && name=${sys##*/}
    if [ ! -b "/dev/$name" ] || [ ! -d "/sys/class/block/$name" ]; then
        tell missing "the kernel knows no such device"
        return
    fi
    identity "$name"
    for part in $(parts "$name"); do
        [ "$part" = "$name" ] || tell part "$part"
        uses "$part"
    done
    tell exclusive "$(exclusive "$name")"
}

item() { # name value
    printf '@@%s %s %d\n%s\n' "$mark" "$1" "${#2}" "$2"
}

blank() { # node bytes: whether the first and last MiB are all zeros
    for skip in 0 $((($2 - 1048576) / 512)); do
        [ "$skip" -ge 0 ] || continue
        dd "if=$1" bs=512 count=2048 "skip=$skip" 2>/dev/null | tr -d '\000' | head -c 1
    done | head -c 1 | wc -c
}

smart() { # node: SMART data, as root only; a drive in standby is not woken
    if have smartctl; then
        smartctl -n standby -j -a -- "$1" 2>/dev/null | tr -c ' -~\n' '?' | head -c 60000
    else
        echo missing
    fi
}

look() { # mark path...
    mark=$1
    shift
    number=0
    for path in "$@"; do
        said=$(state "$path" | head -c 32768)
        item "device.$number.path" "$path"
        item "device.$number.state" "$said"
        node=$(printf '%s\n' "$said" | sed -n 's/^node //p')
        size=$(printf '%s\n' "$said" | sed -n 's/^size //p')
        if [ -n "$node" ]; then
            access=
            [ ! -r "$node" ] || access=r
            [ ! -w "$node" ] || access=${access}w
            item "device.$number.access" "$access."
            [ ! -r "$node" ] || [ -z "$size" ] || item "device.$number.written" "$(blank "$node" "$size")"
            [ "$(id -u)" -ne 0 ] || item "device.$number.smart" "$(smart "$node")"
        fi
        number=$((number + 1))
    done
    item end .
}

HOLD='import os, sys
end = 2 + 2 * int(sys.argv[1])
for path in sys.argv[3:end:2]:
    try:
        os.set_inheritable(os.open(path, os.O_RDONLY | os.O_EXCL), True)
    except OSError as error:
        sys.exit("benchwright: " + path + " was not written to: it cannot be claimed: " + error.strerror)
try:
    os.execvp(sys.argv[end], sys.argv[end:])
except OSError as error:
    print(sys.argv[end] + ": " + error.strerror, file=sys.stderr)
    sys.exit(127)'

unchanged() { # state path: exits if the device has changed
    expected=$1 path=$2
    now=$(state "$path")
    if [ "$now" != "$expected" ]; then
        echo "benchwright: $path was not written to: it is not as it was when its loss was confirmed." >&2
        printf '%s\n' "$expected" | while IFS= read -r was; do
            case "
$now
" in *"
$was
"*) ;; *) echo "benchwright: before: $was" >&2 ;; esac
        done
        printf '%s\n' "$now" | while IFS= read -r is; do
            case "
$expected
" in *"
$is
"*) ;; *) echo "benchwright: now: $is" >&2 ;; esac
        done
        exit 77
    fi
}

guard() { # number of devices, state and path of each, command...
    at=0
    for word in "$@"; do
        at=$((at + 1))
        [ "$at" -gt 1 ] && [ "$at" -le $((1 + 2 * $1)) ] || continue
        if [ $((at % 2)) -eq 0 ]; then of=$word; else unchanged "$of" "$word"; fi
    done
    PATH=$own_path
    if have python3; then exec python3 -c "$HOLD" "$@"; fi
    shift "$((2 * $1 + 1))"
    exec "$@"
}

case $1 in
look)
    shift
    look "$@" </dev/null
    ;;
guard)
    shift
    guard "$@" </dev/null
    ;;
esac

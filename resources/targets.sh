# Checks every path that a command will open, then execs the command: POSIX sh with coreutils or busybox. Changes only the
# cgroup of the command.
#   sh -c SCRIPT benchwright VERSIONS DEVICE NUMBER [USE MATCH SIZE PATH]... COMMAND...
# runs in the step's private directory. suites/targets.py documents USE and MATCH. A path is checked by its file type and
# device number after resolving all links, at this time. If one must not be opened, the exit status is 77.
# Of the cgroup VERSIONS the first is used that can limit writing to the block devices DEVICE (MAJOR:MINOR, of several with
# spaces between, or none). With such a cgroup, or if the account cannot write to any block device, paths that cannot be
# checked are not refused.

# include device-cgroup.sh

refuse() { # sentence
    printf 'benchwright: %s\n' "$1" | tr -c ' -~\n\200-\377' '?' >&2
    refused=$((refused + 1))
    [ "$refused" -lt 20 ] || exit 77
}

# A path that does not exist yet is created by the step, which may overwrite it later. One with a prefix covers all paths
# with that prefix.
note() { # path
    case $1 in
    *"
"*) ;;
    /* | *../*) printf '%s\n' "$1" >>"$workspace/.benchwright-made" ;;
    esac
}

noted() { # path
    [ ! -L "$1" ] && grep -qxF -- "$1" "$workspace/.benchwright-made" 2>/dev/null
}

device_name() { # path -> $name: the kernel's name
    number=$(stat -L -c '%t %T' -- "$1" 2>/dev/null)
    number=$((0x${number% *})):$((0x${number#* }))
    name=$(sed -n 's/^DEVNAME=//p' "/sys/dev/$2/$number/uevent" 2>/dev/null)
    name="/dev/${name:-?} ($number)"
}

block() { # path
    case $use:$closed in read:* | name:?*) return ;; esac
    device_name "$1" block
    [ "$use" != name ] ||
        refuse "$1 is the block device $name, and what the command does with it cannot be judged. To read it, give it as standard input (< $1)."
    [ "$use" = name ] || refuse "$1 is the block device $name, whose loss was not confirmed for this step. Use the suite fio with \"filename (raw device)\"."
}

# null, zero, full, random and urandom; terminals only for paths that the user typed.
character() { # path
    number=$(stat -L -c '%t:%T' -- "$1" 2>/dev/null)
    case $use:$number in
    name:* | *:1:3 | *:1:5 | *:1:7 | *:1:8 | *:1:9 | overwrite:5:* | overwrite:4:* | overwrite:8[89a-f]:*) return ;;
    esac
    device_name "$1" char
    refuse "$1 is the character device $name, and only the suite fio with \"filename (raw device)\" writes to devices. Use a file."
}

same_file() { # path path
    [ "$1" = "$2" ] || [ "$1" -ef "$2" ] 2>/dev/null
}

in_use() { # real path: whether it is swap or the backing file of a loop device, under any name
    while read -r file _; do
        ! same_file "$file" "$1" || return 0
    done </proc/swaps
    for file in /sys/block/loop*/loop/backing_file; do
        { [ -r "$file" ] && read -r file <"$file"; } 2>/dev/null || continue
        ! same_file "$file" "$1" || return 0
    done
    return 1
}

remedy='Use another name, or set "Existing files" to "Overwrite or remove".'

regular() { # path real-path
    case $use in
    name) return ;;
    read)
        length=$(stat -L -c %s -- "$1" 2>/dev/null)
        [ "${length:-0}" -lt "$size" ] || return 0
        ;;
    esac
    case $2 in "$workspace"/*) return ;; esac
    if [ "$use" = overwrite ]; then
        ! in_use "$2" || refuse "$1 is in use as swap or by a loop device. Use another file."
    elif noted "$1"; then
        return
    elif [ "$use" = read ]; then
        refuse "$1 exists and has $length bytes, fewer than the size: fio would replace it. $remedy"
    else
        refuse "$1 exists and would be overwritten or removed. $remedy"
    fi
}

# /proc/self/fd/N differs between this shell and the command, except for 0, 1 and 2.
descriptor() { # path: whether it resolves through /proc/PID/fd
    at=$1 hops=0
    while [ "$hops" -lt 40 ]; do
        hops=$((hops + 1))
        last=${at##*/}
        case $at in */*) folder=$(cd -P -- "${at%/*}/" 2>/dev/null && pwd) ;; *) folder=$workspace ;; esac
        case $folder:$last in /proc/*/fd:[012]) return 1 ;; /proc/*/fd:*) return 0 ;; esac
        [ -L "$at" ] || return 1
        to=$(readlink -- "$at")
        case $to in /*) at=$to ;; *) at=$folder/$to ;; esac
    done
}

# A program that creates directories, such as fio, would resolve ".." differently afterwards. A directory that this account
# cannot read may be writable through sudo.
missing() { # path
    at=$1
    while [ ! -e "${at:-/}" ] && [ ! -L "${at:-/}" ]; do
        case $at in
        */*) at=${at%/*} ;;
        *) at=. ;;
        esac
    done
    if [ -z "$closed" ] && [ -d "${at:-/}" ] && [ ! -x "${at:-/}" ]; then
        refuse "$1 cannot be judged: this account may not look into ${at:-/}."
    fi
    [ "$use" != name ] || return 0
    case /${1#"$at"}/ in
    */../*) refuse "$1 leads through a directory that does not exist. Write it without \"..\"." ;;
    *) note "$1" ;;
    esac
}

# A dangling link is checked by its target path.
led() { # path
    at=$1 hops=0
    while [ -L "$at" ] && [ "$hops" -lt 40 ]; do
        hops=$((hops + 1))
        to=$(readlink -- "$at")
        case $at:$to in
        *:/*) at=$to ;;
        */*:*) at=${at%/*}/$to ;;
        *) at=$to ;;
        esac
    done
    missing "$at"
}

has_devices() { # directory: whether it contains a block device
    for entry in "$1"/*; do
        [ ! -b "$entry" ] || return 0
    done
    return 1
}

directory() { # path
    case $use:$closed in name:) ;; *) return ;; esac
    ! has_devices "$1" || refuse "$1 is a directory with block devices, and what is done with them cannot be judged."
}

judge() { # path
    case $1 in
    */*) link=yes ;;
    *) link=$([ ! -L "$1" ] || echo yes) ;;
    esac
    if [ -n "$link" ] && [ "$use" != name ] && descriptor "$1"; then
        refuse "$1 is an open file of a process, and which one cannot be judged. Use its path."
        return
    fi
    if [ ! -e "$1" ]; then
        if [ -L "$1" ]; then led "$1"; else missing "$1"; fi
    elif [ -b "$1" ]; then
        block "$1"
    elif [ -c "$1" ]; then
        character "$1"
    elif [ -f "$1" ]; then
        real=$(readlink -f -- "$1" 2>/dev/null)
        regular "$1" "$real"
    elif [ -d "$1" ]; then
        directory "$1"
    elif [ "$use" != name ] && [ "$use" != overwrite ]; then
        refuse "$1 is a pipe or a socket. Use a file."
    fi
}

expand() { # pattern -> $expanded, with the variables of this host
    expanded='' rest=$1
    while :; do
        case $rest in *'${'*) ;; *) break ;; esac
        expanded=$expanded${rest%%'${'*}
        rest=${rest#*'${'}
        name=${rest%%\}*}
        rest=${rest#*\}}
        case $name in '' | *[!A-Z0-9_]* | [0-9]*) continue ;; esac
        eval "expanded=\$expanded\${$name-}"
    done
    expanded=$expanded$rest
}

# A variable may expand to several words or contain a path.
judge_pattern() { # pattern
    expand "$1"
    IFS=
    # shellcheck disable=SC2086 # a pattern
    for path in $expanded; do
        [ -z "$path" ] || judge_one "$path"
    done
    [ "$expanded" != "$1" ] || return 0
    IFS=' =,:
	'
    # shellcheck disable=SC2086
    for path in $expanded; do
        judge_one "$path"
    done
}

judge_one() { # path
    IFS=$blanks
    case $match in
    below) below "$1" ;;
    *) judge "$1" ;;
    esac
}

below() { # directory: each device and link in it
    [ -d "$1" ] || return 0
    entries=$(timeout 20 find -H "$1/." \( -type b -o -type l \) -print 2>/dev/null)
    case $? in
    124 | 143) refuse "$1 has too many files to look for devices among them. Name the files." ;;
    esac
    IFS='
'
    set -f
    for entry in $entries; do
        IFS=$blanks
        if [ -b "$entry" ]; then
            block "$entry"
        elif [ -d "$entry" ]; then
            set +f
            directory "$entry"
            set -f
        fi
    done
    set +f
}

judge_all() { # prefix
    found=
    ! noted "$1*" || return 0
    for path in "$1"*; do
        [ -e "$path" ] || continue
        if [ "$match" = numbered ]; then
            rest=${path#"$1"}
            rest=${rest%.fz}
            rest=${rest%log}
            case $rest in *[!0-9.]*) continue ;; esac
        fi
        found=yes
        judge "$path"
    done
    [ -n "$found" ] || note "$1*"
}

# Whether this account cannot write to any block device: not root, no capabilities, no writable node in /dev.
powerless() {
    [ "$(id -u)" != 0 ] && grep -q '^CapPrm:[[:space:]]*0*$' /proc/self/status || return
    nodes=$(find /dev -type b 2>/dev/null)
    IFS='
'
    for node in $nodes; do
        [ ! -w "$node" ] || return
    done
}

# Prints the uses that apply to the whole command.
said_of_all() { # number, then the targets
    left=$1
    shift
    while [ "$left" -gt 0 ]; do
        case $1 in opens | leaves | raises) echo "$1" ;; esac
        shift 4
        left=$((left - 1))
    done
}

main() { # number, then the targets
    LC_ALL=C
    refused=0 left=$1
    blanks=$IFS
    workspace=$(pwd -P)
    shift
    while [ "$left" -gt 0 ]; do
        use=$1 match=$2 size=$3 path=$4 IFS=$blanks
        shift 4
        left=$((left - 1))
        case $use:$match in
        opens:* | leaves:* | raises:*) ;;
        unsure:*) [ -n "$closed" ] || refuse "$path" ;;
        refuse:*) refuse "$path" ;;
        *:exact) [ -z "$path" ] || judge "$path" ;;
        *:pattern | *:below) judge_pattern "$path" ;;
        *) judge_all "$path" ;;
        esac
    done
    [ "$refused" = 0 ]
}

# Prints why no block device can be written to: cgroup "v1" or "v2", or "account"; empty if one can.
closed() { # versions, device, number, then the targets
    versions=$1 device=$2
    shift 2
    whole=$(said_of_all "$@")
    case $whole in *opens*) versions= ;; esac
    version=$(enter_group "$versions" "$device")
    [ -n "$version$whole" ] || [ "$1" = 0 ] || ! powerless || version=account
    case $whole in *leaves*) version= ;; esac
    echo "$version"
}

# In subshells, so that their variables do not leak into the command's environment.
benchwright_closed=$(closed "$@")
(closed=$benchwright_closed && shift 2 && main "$@") || exit 77
shift "$((4 * $3 + 3))"
exec "$@"

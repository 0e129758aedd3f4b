# A control group of a job's own, in which the kernel opens no block device for writing: POSIX sh, root; else nothing.
# The group is a child of the one that the job is in, so that the limits of that one go on. job.sh removes it.

# Sets $at to the directory of the group that this process is in. Of version 1, only a hierarchy that has no other
# controller: a group of its own there has its own share of what the others count.
own_group() { # v1 or v2
    at='' path=
    while IFS=: read -r hierarchy controllers group; do
        case $1:$hierarchy:$controllers in v1:*:devices | v2:0:) path=$group ;; esac
    done </proc/self/cgroup
    case $path/ in */../* | /) return 1 ;; esac # outside of what this namespace shows, or none
    while read -r _ _ _ root point _ rest; do
        case "$1 $rest" in
        "v1 "*"- cgroup "*) case ,${rest##* }, in *,devices,*) ;; *) continue ;; esac ;;
        "v2 "*"- cgroup2 "*) ;;
        *) continue ;;
        esac
        root=${root%/}
        case $path/ in "$root"/*) at=$point${path#"$root"} at=${at%/} ;; *) continue ;; esac
        ! grep -qx "$$" "$at/cgroup.procs" || return 0
    done </proc/self/mountinfo
    return 1
}

# Where everything is allowed that is not denied, no single device can be allowed against a pattern that denies it.
deny_v1() { # group, number of the device that may be written to, or nothing
    read -r first <"$1/devices.list" || first=
    if [ "$first" != 'a *:* rwm' ]; then
        while read -r type device access; do
            case $type:$access:$device in b:*w*:"$2") ;; b:*w*) echo "b $device w" >"$1/devices.deny" || return ;; esac
        done <<LIST
$(cat "$1/devices.list")
LIST
        [ -z "$2" ] || echo "b $2 rwm" >"$1/devices.allow" || return
    elif [ -z "$2" ]; then
        echo 'b *:* w' >"$1/devices.deny"
    else
        echo a >"$1/devices.deny" && echo 'c *:* rwm' >"$1/devices.allow" && echo 'b *:* rm' >"$1/devices.allow" &&
            echo "b $2 rwm" >"$1/devices.allow"
    fi
}

# A group with controllers of its own gets its own share of the CPU.
deny_v2() { # group, number
    [ -z "$(cat "$at/cgroup.subtree_control")" ] && ./device_cgroup "$1" ${2:+"$2"}
}

# Goes into the group and opens a device that does not exist: where the kernel looks for it, the group denies nothing.
denies() { # group
    echo 0 >"$1/cgroup.procs" || return
    mknod "$job/node" b 4095 1 || return 0 # an account that may make none
    answer=$( (true <>"$job/node") 2>&1)
    rm -f "$job/node"
    case $answer in *"No such device"*) return 1 ;; esac
}

# Prints which version denies writing; nothing where none does. Only in a job, whose end removes the group.
enter_group() { # versions to try, number of the device that may be written to
    LC_ALL=C
    job=${BENCHWRIGHT_JOB#*/}
    [ -n "${BENCHWRIGHT_JOB:-}" ] && [ -d "$job" ] && [ "$(id -u)" = 0 ] || return 0
    for version in $1; do
        own_group "$version" || continue
        group=$at/benchwright-${BENCHWRIGHT_JOB%%/*}-${job#.job-}
        echo "$group" >"$job/cgroup" || return 0
        if mkdir "$group" && "deny_$version" "$group" "$2" && denies "$group" && echo "$$" >"$group/cgroup.procs"; then
            echo "$version"
            return
        fi
        echo 0 >"$at/cgroup.procs"
        rmdir "$group"
        rm -f "$job/cgroup"
    done
} 2>/dev/null

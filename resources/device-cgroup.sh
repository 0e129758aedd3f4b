# Puts a job into its own cgroup, in which the kernel opens no block device for writing: POSIX sh; no effect without root.
# The cgroup is a child of the current one, whose limits still apply. job.sh removes it.

# Sets $at to the directory of this process's cgroup. For v1, only a hierarchy with the devices controller alone: in any
# other, a separate cgroup would get its own share of CPU or memory.
own_group() { # v1 or v2
    at='' path=
    while IFS=: read -r hierarchy controllers group; do
        case $1:$hierarchy:$controllers in v1:*:devices | v2:0:) path=$group ;; esac
    done </proc/self/cgroup
    case $path/ in */../* | /) return 1 ;; esac # outside of this cgroup namespace, or none
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

# By default all is allowed ("a *:* rwm"), and devices.allow cannot except one device from a denied pattern: deny all first.
deny_v1() { # cgroup, MAJOR:MINOR of the writable device or empty
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

# Enabled controllers would give the cgroup its own share of the CPU.
deny_v2() { # group, number
    [ -z "$(cat "$at/cgroup.subtree_control")" ] && ./device_cgroup "$1" ${2:+"$2"}
}

# Enters the cgroup and opens a device that does not exist: ENXIO instead of EPERM means that nothing is denied.
denies() { # group
    echo 0 >"$1/cgroup.procs" || return
    mknod "$job/node" b 4095 1 || return 0 # mknod not permitted
    answer=$( (true <>"$job/node") 2>&1)
    rm -f "$job/node"
    case $answer in *"No such device"*) return 1 ;; esac
}

# Prints the version that denies writing, if any. Only in a job, whose end removes the cgroup.
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

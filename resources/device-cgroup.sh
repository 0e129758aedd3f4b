# Puts a job into its own cgroup, in which the kernel opens no block device for writing: POSIX sh; no effect without root.
# The cgroup is a child of the current one, whose limits still apply. job.sh removes it.

# include own-group.sh

# By default all is allowed ("a *:* rwm"), and devices.allow cannot except one device from a denied pattern: deny all first.
deny_v1() { # cgroup, MAJOR:MINOR of each writable device
    read -r first <"$1/devices.list" || first=
    if [ "$first" != 'a *:* rwm' ]; then
        cat "$1/devices.list" | while read -r type device access; do
            case "$type:$access: $2 " in b:*w*:*" $device "*) ;; b:*w*) echo "b $device w" >"$1/devices.deny" || exit 1 ;; esac
        done || return
    elif [ -z "$2" ]; then
        echo 'b *:* w' >"$1/devices.deny"
    else
        echo a >"$1/devices.deny" && echo 'c *:* rwm' >"$1/devices.allow" && echo 'b *:* rm' >"$1/devices.allow" || return
    fi
    for number in $2; do
        echo "b $number rwm" >"$1/devices.allow" || return
    done
}

# Enabled controllers would give the cgroup its own share of the CPU.
deny_v2() { # group, numbers
    # shellcheck disable=SC2086 (the numbers are words)
    [ -z "$(cat "$at/cgroup.subtree_control")" ] && ./device_cgroup "$1" $2
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
enter_group() { # versions to try, numbers of the devices that may be written to
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

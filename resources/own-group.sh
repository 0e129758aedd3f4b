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

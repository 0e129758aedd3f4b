# Checks whether other accounts may replace files in a directory. Included by job.sh, which checks before it runs a
# command there, and by facts.sh, which checks before a run.
uid=$(id -u)

own() { # uid: of this account, or of the account that ran sudo
    [ -n "$1" ] && { [ "$1" = "$uid" ] || { [ "$uid" = 0 ] && [ "$1" = "${SUDO_UID:-0}" ]; }; }
}

private() { # gid: a group without other members than root or this account, and no ACL
    case $(ls -ld -- "$parent") in ??????????+*) return 1 ;; esac
    account=$(id -un)
    [ "$uid" != 0 ] || account=${SUDO_USER:-root}
    for name in root "$account"; do
        [ "$(id -g -- "$name" 2>/dev/null) $(id -gn -- "$name" 2>/dev/null)" = "$1 $name" ] || continue
        group=$(getent group "$1" 2>/dev/null || grep "^[^:]*:[^:]*:$1:" /etc/group)
        case ${group##*:} in "" | "$name") ;; *) continue ;; esac
        [ "$name" = root ] || [ "$(grep -c "^[^:]*:[^:]*:[^:]*:$1:" /etc/passwd)" -le 1 ] || continue
        return 0
    done
    return 1
}

above() { # uid: of root, of this account, or unmapped in this user namespace (root of the host of a container)
    own "$1" || [ "$1" = 0 ] ||
        { [ "$1" = 65534 ] && read -r _ _ size </proc/self/uid_map && [ "$size" != 4294967295 ]; }
}

# A directory is safe if it and all its parents belong to root or this account, and those that others may write to have
# the sticky bit, so that others cannot rename or replace entries.
guarded() { # real path of a directory; sets $unsafe to the reason if it is not safe
    parent=$1
    while [ "$parent" != / ]; do
        parent=${parent%/*}
        parent=${parent:-/}
        set -- "$@" "$parent"
    done
    states=$(stat -c '%u %g %a' -- "$@" 2>/dev/null) || states=
    for parent in "$@"; do
        # shellcheck disable=SC2086 # split into fields on purpose
        set -- $states
        unsafe=
        if [ $# -lt 3 ]; then
            unsafe="unsafe unknown - $parent"
        elif ! above "$1"; then
            unsafe="unsafe owner $(stat -c %U -- "$parent") $parent"
        else
            case $3 in
            [1357]???) ;;
            *[2367]) unsafe="unsafe others - $parent" ;;
            *[2367]?) private "$2" || unsafe="unsafe group $(stat -c %G -- "$parent") $parent" ;;
            esac
        fi
        [ -z "$unsafe" ] || return 1
        shift 3
        states=$*
    done
}

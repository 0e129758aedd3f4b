# Whether other accounts of the host may replace what is in a directory: job.sh asks before it runs anything there,
# facts.sh before a run is begun. Both include it.
uid=$(id -u)

own() { # uid: this account's, or that of the account for which sudo made this one root
    [ -n "$1" ] && { [ "$1" = "$uid" ] || { [ "$uid" = 0 ] && [ "$1" = "${SUDO_UID:-0}" ]; }; }
}

private() { # gid: the group of root alone or of this account alone, and no ACL names others
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

above() { # uid: root's, ours, or that of somebody outside of this user namespace, as the root of a container may be
    own "$1" || [ "$1" = 0 ] ||
        { [ "$1" = 65534 ] && read -r _ _ size </proc/self/uid_map && [ "$size" != 4294967295 ]; }
}

# Nobody else may rename or replace what is in a directory: it and all above it belong to root or this account, and
# where others may write there, the sticky bit keeps them from what is not theirs.
guarded() { # real path of a directory; else $unsafe says why not
    parent=$1
    while :; do
        # shellcheck disable=SC2046 # split into fields on purpose
        set -- $(stat -c '%u %g %a' -- "$parent" 2>/dev/null)
        unsafe=
        if [ $# -ne 3 ]; then
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
        [ "$parent" != / ] || return 0
        parent=${parent%/*}
        parent=${parent:-/}
    done
}


# Finds workspaces and cgroups that Benchwright left on a host: POSIX sh, find, stat, du; no root; changes nothing.
# Run as `sh -s MARK NONCES [DIRECTORY]...` on stdin; $HOME is searched, too. Cgroups are found by NONCES only. Prints
# lines "@@MARK key value".
set -u
LC_ALL=C
export LC_ALL
mark=$1 nonces=$2
shift 2

MOST=64

say() { printf '@@%s %s\n' "$mark" "$*"; }
within() { # seconds command: a directory may be on a hanging network file system
    if command -v timeout >/dev/null 2>&1; then timeout "$@"; else
        shift
        "$@"
    fi
}

# Prints distinct real paths. A line break in a name only yields two names that do not exist.
real() { # directories
    for directory in "$@"; do
        (cd -- "$directory" 2>/dev/null && pwd -P)
    done | sort -u
}

candidates() { # conditions of find
    printf '%s\n' "$directories" | while IFS= read -r directory; do
        within 3 find "${directory%/}/" -maxdepth 1 -type d -name 'benchwright-????????????????' "$@" 2>/dev/null
    done
}

# Reports a directory as this account's own only if the account made it and its nonce is in it.
tell() { # path number
    nonce=${1##*/benchwright-} kind=other size=- jobs=0 found=
    seen=$(stat -c '%U %Y' -- "$1" 2>/dev/null) || return
    # Enter it first: then another account cannot replace it between the checks.
    if [ ! -L "$1" ] && cd -P -- "$1" 2>/dev/null && [ -O . ] && [ -f .benchwright ] && [ ! -L .benchwright ] &&
        read -r found <.benchwright && [ "$found" = "$nonce" ]; then
        kind=own
        seen="${seen% *} $(stat -c %Y .benchwright)"
        size=$(within 3 du -sk . 2>/dev/null | cut -f1)
        # A process may have changed its environment: its cgroup identifies it, too.
        jobs=$({
            grep -ls -- "BENCHWRIGHT_JOB=$nonce/" /proc/[0-9]*/environ
            grep -ls -- "/benchwright-$nonce-" /proc/[0-9]*/cgroup
        } 2>/dev/null | cut -d/ -f3 | sort -u | grep -c .)
    fi
    say "left$2" "$nonce $kind $seen ${size:--} $jobs $1"
}

# Cgroups of this account: a job whose directory was removed leaves its cgroup behind.
cgroups() {
    while read -r _ _ _ _ point _ rest; do
        case "$rest " in *"- cgroup "* | *"- cgroup2 "*) ;; *) continue ;; esac
        within 3 find "$point" -type d -name 'benchwright-????????????????-*' -user "$uid" -prune 2>/dev/null
    done </proc/self/mountinfo
}

tell_cgroup() { # path number
    nonce=${1##*/benchwright-}
    nonce=${nonce%%-*}
    case " $nonces " in *" $nonce "*) ;; *) return ;; esac
    seen=$(stat -c '%U %Y' -- "$1" 2>/dev/null) || return
    jobs=$(grep -ls -- "/benchwright-$nonce-" /proc/[0-9]*/cgroup 2>/dev/null | grep -c .)
    say "left$2" "$nonce group $seen - $jobs $1"
}

main() {
    number=0
    uid=$(id -u) directories=$(real "${HOME:-/}" "$@")
    # This account's own first: others may have made any number of directories.
    {
        candidates -user "$uid"
        candidates ! -user "$uid"
    } | head -n "$MOST" | {
        while IFS= read -r path; do
            number=$((number + 1))
            tell "$path" "$number"
        done
    }
    number=$MOST
    [ -z "$nonces" ] || cgroups | {
        while IFS= read -r path; do
            number=$((number + 1))
            tell_cgroup "$path" "$number"
        done
    }
    say now "$(date +%s)"
}
main "$@" </dev/null

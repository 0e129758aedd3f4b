# Finds private directories of Benchwright that were left on a host: POSIX sh, find, stat, du; no root; changes nothing.
# Fed to `sh -s MARK [DIRECTORY]...`; $HOME is looked at, too. Answers are lines "@@MARK word value".
set -u
LC_ALL=C
export LC_ALL
mark=$1
shift

MOST=64

say() { printf '@@%s %s\n' "$mark" "$*"; }
within() { # seconds command: a directory may lie on a dead network file system
    if command -v timeout >/dev/null 2>&1; then timeout "$@"; else
        shift
        "$@"
    fi
}

# Real paths, each once. A line break in a name would only look like two names that do not exist.
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

# Only a directory that this account made, and that carries its nonce inside, is told as one of this account's.
tell() { # path number
    nonce=${1##*/benchwright-} kind=other size=- jobs=0 found=
    seen=$(stat -c '%U %Y' -- "$1" 2>/dev/null) || return
    # Once it is entered, nobody can put another in its place.
    if [ ! -L "$1" ] && cd -P -- "$1" 2>/dev/null && [ -O . ] && [ -f .benchwright ] && [ ! -L .benchwright ] &&
        read -r found <.benchwright && [ "$found" = "$nonce" ]; then
        kind=own
        seen="${seen% *} $(stat -c %Y .benchwright)"
        size=$(within 3 du -sk . 2>/dev/null | cut -f1)
        jobs=$(grep -ls -- "BENCHWRIGHT_JOB=$nonce/" /proc/[0-9]*/environ 2>/dev/null | grep -c .)
    fi
    say "left$2" "$nonce $kind $seen ${size:--} $jobs $1"
}

main() {
    number=0
    uid=$(id -u) directories=$(real "${HOME:-/}" "$@")
    # This account's own come first: others may have made theirs without number.
    {
        candidates -user "$uid"
        candidates ! -user "$uid"
    } | head -n "$MOST" | {
        while IFS= read -r path; do
            number=$((number + 1))
            tell "$path" "$number"
        done
    }
    say now "$(date +%s)"
}
main "$@" </dev/null

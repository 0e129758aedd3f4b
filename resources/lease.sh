# Leases of runs that measure this host: POSIX sh, find, stat; no root. Run as `sh -s MODE MARK NONCE [RUN FROM]` on stdin.
#   claim    create the lease NONCE of RUN, and list those of others   look    list those of others
#   withdraw remove the lease NONCE                                    settle  record that NONCE is not withdrawn
#   leave    record that no Benchwright watches the lease NONCE; a job may keep it
#   kept     list this user's leases of RUN, except those that were left
#   own      list all leases of this user with their paths
#   release  remove the leases of RUN                                  sweep   remove this user's expired leases
# A lease is a directory in a world-writable sticky directory. Only its owner can write to it or remove it, its name is
# unpredictable, and its data are names of empty files, so that no file of another user is ever opened. It is in force
# while "touched" is fresh (telemetry.sh), or while the process "job=PID-START-BOOT" runs (job.sh). Prints lines
# "@@MARK key value".
set -u
LC_ALL=C
export LC_ALL
mode=$1 mark=$2 nonce=$3 run=${4:-} from=${5:-}
umask 022
uid=$(id -u)
read -r boot_now </proc/sys/kernel/random/boot_id

MOST=64      # leases listed
ENOUGH=20000 # files of leases read
FRESH=20     # seconds after its last touch for which a lease is listed
PATIENCE=12  # seconds after which no further lease is read

say() { printf '@@%s %s\n' "$mark" "$*"; }
within() { # seconds command: a directory of another user may be arbitrarily large
    if command -v timeout >/dev/null 2>&1; then timeout "$@"; else
        shift
        "$@"
    fi
}

places() { # containers on one machine can be configured to share one
    [ -z "${BENCHWRIGHT_LEASES:-}" ] || {
        echo "$BENCHWRIGHT_LEASES"
        return
    }
    echo /dev/shm
    echo /tmp
}

leases() { # paths of this account's leases
    places | while read -r place; do
        within 2 find "$place" -maxdepth 1 -type d -name 'benchwright-lease-????????????????' -user "$uid" 2>/dev/null
    done
}

# Prints "SECONDS NONCE/FILE" of files touched within a minute or with a process of this boot; "cut" if incomplete.
signs() {
    job='job=[0-9]*-[0-9]*-[0-9a-f-]*'
    places | while read -r place; do
        (
            cd -- "$place" 2>/dev/null || exit 0
            within 3 find . -mindepth 1 -maxdepth 2 ! -path './benchwright-lease-*' -prune -o \
                \( -name touched -mmin -1 -o -name "job=*-*-$boot_now" \) -exec stat -c '%Y %n' {} + 2>/dev/null
            [ $? -lt 124 ] || echo cut # exit status of timeout, or of the command it killed
        )
    done | sed -n "s|^\([0-9]*\) \./benchwright-lease-\([0-9a-f]\{16\}/touched\)\$|\1 \2|p
        s|^\([0-9]*\) \./benchwright-lease-\([0-9a-f]\{16\}/$job\)\$|\1 \2|p
        /^cut\$/p"
}

# Prints nonces of leases that are fresh or whose process runs, newest first. Another account may make any number of
# leases: expired ones are skipped before counting, and "cut" is printed if not all were read.
counting() {
    now=$(date +%s) number=0
    signs | while read -r touched sign; do
        number=$((number + 1))
        case $touched:$sign in
        cut:*) echo cut ;;
        *:*/touched) [ $((now - touched)) -gt "$FRESH" ] || [ $((touched - now)) -gt "$FRESH" ] || echo "$touched $sign" ;;
        *) ! runs "${sign#*/}" || echo "$touched $sign" ;;
        esac
        [ "$number" -lt "$ENOUGH" ] || { echo cut && break; }
    done | sort -rn | {
        seen=' ' number=0
        while read -r touched sign; do
            case "$touched:$seen" in
            cut:*) echo cut ;;
            *" ${sign%%/*} "*) ;;
            *)
                number=$((number + 1))
                [ "$number" -le "$MOST" ] || { echo cut && break; }
                seen="$seen${sign%%/*} "
                echo "${sign%%/*}"
                ;;
            esac
        done
    }
}

names() { # data of a lease, without special characters
    within 2 find "$1" -maxdepth 1 -name '?*=?*' 2>/dev/null | head -n 8 | while IFS= read -r path; do
        printf '%s ' "${path##*/}"
    done | tr -c 'A-Za-z0-9=._@: -' '?'
}

runs() { # names of a lease: whether its process runs
    for name in $1; do
        case $name in job=*-*-*) ;; *) continue ;; esac
        name=${name#job=} pid= started=
        pid=${name%%-*} name=${name#*-}
        started=${name%%-*} boot=${name#*-}
        [ "$boot" = "$boot_now" ] || continue
        case $pid in *[!0-9]* | "") continue ;; esac
        { read -r stat <"/proc/$pid/stat"; } 2>/dev/null || continue
        # shellcheck disable=SC2086 # split into fields on purpose
        set -- ${stat##*) }
        state=$1
        shift 19
        [ "$1" = "$started" ] && [ "$state" != Z ] && return
    done
    return 1
}

tell() { # path of a lease
    [ -d "$1" ] && [ ! -L "$1" ] || return 0
    # The owner of the directory, not of a file in it, which could be a hard link.
    seen=$(stat -c '%u %U %Y' -- "$1" "$1/touched" 2>/dev/null) || return 0
    found=$(names "$1")
    alive=0
    runs "$found" && alive=1
    number=$((number + 1))
    # shellcheck disable=SC2086 # split into fields on purpose
    set -- "$1" $seen
    say "lease$number" "${1##*-} $3 $7 $alive $found"
}

look() {
    began=$(date +%s) number=0
    counting | while read -r other; do
        [ $(($(date +%s) - began)) -lt "$PATIENCE" ] || other=cut
        case $other in
        "$nonce") ;;
        cut)
            say cut
            break
            ;;
        *) for place in $(places); do tell "$place/benchwright-lease-$other"; done ;;
        esac
    done
    say now "$(date +%s)"
}

ours() { # path: whether it is a lease of this user
    [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]
}

steady() { # directory: whether other users cannot rename its entries (sticky bit)
    case $(stat -c %a -- "$1" 2>/dev/null) in [1357]???) ;; *[2367] | *[2367]? | "") return 1 ;; esac
}

claim() {
    say architecture "$(uname -m)"
    say boot "$boot_now"
    sweep
    for place in $(places); do
        steady "$place" || continue
        lease=$place/benchwright-lease-$nonce
        ours "$lease" || mkdir -m 755 -- "$lease" 2>/dev/null || continue
        for since in "$lease"/since=*; do
            [ -e "$since" ] || since=$lease/since=$(date +%s)
        done
        rm -f -- "$lease/left=yes"
        true >"$lease/run=$run" && true >"$lease/from=$from" && true >"$since" && true >"$lease/touched" &&
            say taken "$lease" && break
        rm -rf -- "$lease"
    done
    look
}

leave() {
    for place in $(places); do
        lease=$place/benchwright-lease-$nonce
        ! ours "$lease" || true >"$lease/left=yes"
    done
    say left
}

kept() {
    number=0
    leases | {
        while IFS= read -r lease; do
            ours "$lease" || continue
            seen=$(stat -c '%U %Y' -- "$lease/touched" 2>/dev/null) || continue
            found=$(names "$lease")
            case " $found" in *" left=yes "*) continue ;; *" run=$run "*) ;; *) continue ;; esac
            number=$((number + 1))
            say "lease$number" "${lease##*-} $seen 0 $found"
        done
    }
    say now "$(date +%s)"
}

own() {
    number=0
    leases | head -n "$MOST" | {
        while IFS= read -r lease; do
            ours "$lease" || continue
            tell "$lease"
            say "path$number" "$lease"
        done
    }
    say now "$(date +%s)"
}

sweep() { # remove this user's leases that expired a minute ago
    leases | while IFS= read -r lease; do
        ours "$lease" || continue
        runs "$(names "$lease")" && continue
        # One without "touched" is being created, or its creation was aborted: use the age of the directory.
        touched=$(stat -c %Y -- "$lease/touched" 2>/dev/null || stat -c %Y -- "$lease" 2>/dev/null) || continue
        [ $(($(date +%s) - touched)) -lt 60 ] || rm -rf -- "$lease"
    done
}

settle() {
    for place in $(places); do
        lease=$place/benchwright-lease-$nonce
        ! ours "$lease" || true >"$lease/settled=yes"
    done
    say settled
}

withdraw() {
    for place in $(places); do
        lease=$place/benchwright-lease-$nonce
        ! ours "$lease" || rm -rf -- "$lease"
    done
    say withdrawn
}

release() {
    leases | while IFS= read -r lease; do
        ours "$lease" || continue
        case " $(names "$lease") " in *" run=$run "*) rm -rf -- "$lease" ;; esac
    done
    say released
}

main() { "$mode"; }
main </dev/null

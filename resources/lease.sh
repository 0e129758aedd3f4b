# Who measures this host now: POSIX sh, find, stat; no root. Fed to `sh -s MODE MARK NONCE [RUN FROM]`.
#   claim   make the lease NONCE of RUN, and name those of others      look   name those of others only
#   withdraw take the lease NONCE away                             settle note that the lease NONCE does not give way
#   leave   note that nobody watches the lease NONCE any more; a job may keep it
#   kept    name the leases of RUN that this user made, but for those that were left
#   own     name all leases that this user made, each with its path
#   release take the leases of RUN away      sweep  take away what runs of this user left that were broken off
# A lease is a directory in a place that everybody on the host may write in. Only its owner can write in it or remove
# it, nobody can know its name beforehand, and what it says stands in the names of empty files: nothing that another
# user made is ever opened. It counts while "touched" is fresh, which telemetry.sh sees to, or the process
# "job=PID-START-BOOT" runs, which job.sh writes. Answers are lines "@@MARK word value".
set -u
LC_ALL=C
export LC_ALL
mode=$1 mark=$2 nonce=$3 run=${4:-} from=${5:-}
umask 022
uid=$(id -u)
read -r boot_now </proc/sys/kernel/random/boot_id

MOST=64      # leases that are named
ENOUGH=20000 # files of leases that are looked at
FRESH=20     # seconds for which one without a sign of life is named
PATIENCE=12  # seconds after which no further one is looked at

say() { printf '@@%s %s\n' "$mark" "$*"; }
within() { # seconds command: another user may have made a directory that takes hours to list
    if command -v timeout >/dev/null 2>&1; then timeout "$@"; else
        shift
        "$@"
    fi
}

places() { # hosts that share one machine, such as containers, can be given one place for all
    [ -z "${BENCHWRIGHT_LEASES:-}" ] || {
        echo "$BENCHWRIGHT_LEASES"
        return
    }
    echo /dev/shm
    echo /tmp
}

leases() { # paths of those that this account made
    places | while read -r place; do
        within 2 find "$place" -maxdepth 1 -type d -name 'benchwright-lease-????????????????' -user "$uid" 2>/dev/null
    done
}

# "SECONDS NONCE/FILE" of what was touched within a minute, or names a process of this boot; "cut" where that is not all.
signs() {
    job='job=[0-9]*-[0-9]*-[0-9a-f-]*'
    places | while read -r place; do
        (
            cd -- "$place" 2>/dev/null || exit 0
            within 3 find . -mindepth 1 -maxdepth 2 ! -path './benchwright-lease-*' -prune -o \
                \( -name touched -mmin -1 -o -name "job=*-*-$boot_now" \) -exec stat -c '%Y %n' {} + 2>/dev/null
            [ $? -lt 124 ] || echo cut # the status of timeout, or of what it ended
        )
    done | sed -n "s|^\([0-9]*\) \./benchwright-lease-\([0-9a-f]\{16\}/touched\)\$|\1 \2|p
        s|^\([0-9]*\) \./benchwright-lease-\([0-9a-f]\{16\}/$job\)\$|\1 \2|p
        /^cut\$/p"
}

# Nonces of leases that are fresh or whose process runs, the newest first. Another account may make any number of them:
# what is old or has ended is passed over before anything is counted, and "cut" is said where not all were looked at.
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

names() { # what a lease says, in characters that stand for nothing else
    within 2 find "$1" -maxdepth 1 -name '?*=?*' 2>/dev/null | head -n 8 | while IFS= read -r path; do
        printf '%s ' "${path##*/}"
    done | tr -c 'A-Za-z0-9=._@: -' '?'
}

runs() { # names of a lease: whether the process that keeps it runs
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
    # The directory's owner cannot be forged, that of a file in it could.
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

ours() { # path of a lease that this user made
    [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]
}

steady() { # place in which nobody renames what is not theirs
    case $(stat -c %a -- "$1" 2>/dev/null) in [1357]???) ;; *[2367] | *[2367]? | "") return 1 ;; esac
}

claim() {
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

sweep() { # those of this user that have not counted for a minute
    leases | while IFS= read -r lease; do
        ours "$lease" || continue
        runs "$(names "$lease")" && continue
        # One without "touched" is being made at this moment, or was broken off while it was: its own age decides.
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

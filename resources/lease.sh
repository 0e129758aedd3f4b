# Who measures this host now: POSIX sh, find, stat; no root. Fed to `sh -s MODE MARK NONCE [RUN FROM]`.
#   claim   make the lease NONCE of RUN, and name those of others      look   name those of others only
#   withdraw take the lease NONCE away
#   leave   note that nobody watches the lease NONCE any more; a job may keep it
#   kept    name the leases of RUN that this user made, but for those that were left
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

MOST=64

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

leases() { # paths of at most MOST directories with the right sort of name
    places | while read -r place; do
        within 2 find "$place" -maxdepth 1 -type d -name 'benchwright-lease-????????????????' 2>/dev/null
    done | head -n "$MOST"
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
        read -r boot_now </proc/sys/kernel/random/boot_id
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

look() {
    number=0
    leases | {
        while IFS= read -r lease; do
            [ "$lease" != "${lease%"-$nonce"}" ] && continue
            # The directory's owner cannot be forged, that of a file in it could.
            seen=$(stat -c '%u %U %Y' -- "$lease" "$lease/touched" 2>/dev/null) || continue
            found=$(names "$lease")
            alive=0
            runs "$found" && alive=1
            number=$((number + 1))
            # shellcheck disable=SC2086 # split into fields on purpose
            set -- $seen
            say "lease$number" "${lease##*-} $2 $6 $alive $found"
        done
    }
    say now "$(date +%s)"
}

ours() { # path of a lease that this user made
    [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]
}

claim() {
    sweep
    for place in $(places); do
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

sweep() { # those of this user that have not counted for a minute
    leases | while IFS= read -r lease; do
        ours "$lease" || continue
        runs "$(names "$lease")" && continue
        touched=$(stat -c %Y -- "$lease/touched" 2>/dev/null) || touched=0
        [ $(($(date +%s) - touched)) -lt 60 ] || rm -rf -- "$lease"
    done
}

withdraw() {
    leases | while IFS= read -r lease; do
        case $lease in */"benchwright-lease-$nonce") ours "$lease" && rm -rf -- "$lease" ;; esac
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

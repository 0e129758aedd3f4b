# Runs one command as a job that needs no connection: POSIX sh and coreutils or busybox, no root.
# Fed to `sh -s MODE MARK WORKSPACE NONCE IDENTITY [JOB] ...`. Answers are lines "@@MARK word value"; whatever else a
# host prints, such as a greeting of its shell, is noise. Every process of a job carries BENCHWRIGHT_JOB in its
# environment, so that even those that leave its process group are found again.
# Other accounts of the host are not trusted: every mode goes into the workspace, looks at where it is, and then names
# files within it only, so that what somebody renames or puts in its place is never run, read or removed.
set -u
LC_ALL=C
export LC_ALL
# include guard.sh

say() { printf '@@%s %s\n' "$mark" "$*"; }
fail() {
    say error "$*"
    exit 1
}
doze() { sleep 0.03 2>/dev/null || sleep 1; }

# Goes into the workspace and stays there. Owner, mode, nonce and, within one boot, device and inode are those of the
# directory that was made; else $complaint says what is there. "-" is an identity that nobody wrote down.
enter() {
    complaint=gone
    [ -e "$workspace" ] || [ -L "$workspace" ] || return 1
    complaint="foreign $(stat -c %U -- "$workspace" 2>/dev/null)"
    case $workspace in */"benchwright-$nonce") ;; *) return 1 ;; esac
    [ ! -L "$workspace" ] && cd -P -- "$workspace" 2>/dev/null || return 1
    # shellcheck disable=SC2046 # split into fields on purpose
    set -- $(stat -c '%u %a %d:%i' .)
    found='' here=${3:-}
    own "${1:-}" || return 1
    case $2 in *[2367]? | *[2367])
        complaint=open
        return 1
        ;;
    esac
    [ -f .benchwright ] && [ ! -L .benchwright ] && read -r found <.benchwright
    [ "$found" = "$nonce" ] || return 1
    read -r boot_now </proc/sys/kernel/random/boot_id
    case $identity in "$boot_now":*) [ "$identity" = "$boot_now:$here" ] ;; esac
}

# /proc/PID/stat names the command in parentheses; after it come state, parent, group and, 17 fields on, the start.
identify() { # pid -> $state $group_of $started_at
    stat=
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
    # shellcheck disable=SC2086 # split into fields on purpose
    set -- ${stat##*) }
    state=$1 group_of=$3
    shift 19
    started_at=$1
}

forget() { group=0 started=0 boot=unknown rest=; }

recall() { # what the job wrote down when it began
    forget
    { read -r pid group started boot rest <"$job/begun"; } 2>/dev/null
}

alive() { # the job's leader still runs, and is no other process with its number
    read -r boot_now </proc/sys/kernel/random/boot_id
    [ "$boot" = "$boot_now" ] && identify "$group" && [ "$started_at" = "$started" ] && [ "$state" != Z ]
}

marked() { # pids of all running processes that carry $1
    grep -ls -- "BENCHWRIGHT_JOB=$1" /proc/[0-9]*/environ 2>/dev/null | while IFS=/ read -r _ _ pid _; do echo "$pid"; done
}

in_group() { # pids that run in group $1; zombies nobody collects do not count
    kill -s 0 -- "-$1" 2>/dev/null || return 0
    for directory in /proc/[0-9]*; do
        identify "${directory#/proc/}" && [ "$group_of" = "$1" ] && [ "$state" != Z ] && echo "${directory#/proc/}"
    done
}

in_cgroups() { # pids of what runs in control groups of the workspace, whatever became of its environment; no zombies
    grep -ls -- "/benchwright-$nonce-" /proc/[0-9]*/cgroup 2>/dev/null | while IFS=/ read -r _ _ pid _; do
        identify "$pid" && [ "$state" != Z ] && echo "$pid"
    done
}

# Each is noted down in the directory of its job, by device-cgroup.sh; only an empty one goes.
leave_cgroups() { # job or a pattern of jobs
    for note in $1/cgroup; do
        { read -r cgroup <"$note"; } 2>/dev/null || continue
        case ${cgroup##*/} in
        "benchwright-$nonce-"*) [ ! -d "$cgroup" ] || rmdir -- "$cgroup" 2>/dev/null || { doze && rmdir -- "$cgroup"; } ;;
        esac
    done 2>/dev/null
}

clock() { # $now: hundredths of a second since boot
    read -r now _ </proc/uptime
    now=${now%.*}${now#*.}
}

end() { # marker, group or "", hundredths of grace: TERM, later KILL; 1 and $left where something stays
    clock
    patience=$((now + $3)) give_up=$((now + $3 + 300)) signal=TERM sent=
    while :; do
        left=$(marked "$1")
        [ -n "$left" ] || [ "$1" != "$nonce/" ] || left=$(in_cgroups)
        [ -n "$left" ] || [ -z "$2" ] || left=$(in_group "$2")
        [ -n "$left" ] || return 0
        clock
        [ "$now" -lt "$give_up" ] || return 1
        [ "$now" -lt "$patience" ] || signal=KILL
        if [ "$signal" = KILL ] || [ -z "$sent" ]; then
            [ -z "$2" ] || kill -s "$signal" -- "-$2" 2>/dev/null
            for pid in $left; do
                [ -n "$2" ] && identify "$pid" && [ "$group_of" = "$2" ] || kill -s "$signal" "$pid" 2>/dev/null
            done
            sent=yes
        fi
        doze
    done
}

# Asked again, because the answer was lost with its connection, make and start answer as they did before.
make() { # directory
    [ -e "$1" ] || fail missing
    [ -d "$1" ] || fail no directory
    path=$(cd -- "$1" && pwd -P) || fail denied
    guarded "$path" || fail "$unsafe"
    workspace=${path%/}/benchwright-$nonce identity=-
    if ! enter; then
        complaint=$(mkdir -m 700 -- "$workspace" 2>&1) || fail "$complaint"
        cd -P -- "$workspace" || fail denied
        { echo "$nonce" >.benchwright; } 2>/dev/null
        if ! enter; then
            [ -s .benchwright ] || complaint=full
            rm -f .benchwright
            cd .. && rmdir -- "$workspace"
            fail "$complaint"
        fi
    fi
    say identity "$boot_now:$here"
    say path "$workspace"
}

remove() {
    end "$nonce/" "" 0 || fail "left" $left
    if ! enter; then
        [ "$complaint" = gone ] || fail "$complaint"
        say removed
        return
    fi
    leave_cgroups ".job-*"
    for entry in ./* ./.[!.]* ./..?*; do
        [ "$entry" = ./.benchwright ] || rm -rf -- "$entry"
    done
    complaint=$(rm -f .benchwright 2>&1 && cd .. && [ "$(stat -c %d:%i "benchwright-$nonce")" = "$here" ] &&
        rmdir -- "benchwright-$nonce" 2>&1) || fail "${complaint:-foreign}"
    say removed
}

inside() { # command: it takes this process over, in the workspace, with its input
    enter || fail "$complaint"
    exec "$@"
}

# The leader of the job's group outlives TERM, so that the command's exit status is kept. It alone holds `life` open,
# which ends with it, however it ends. `rc` is filled with blanks beforehand: a full disk cannot keep it back.
# The output files are its descriptors 6 and 7, not its own streams: some shells report a signal to the stream of the
# command they waited for. The command shares their offsets, which are the bytes it wrote, whatever became of the files.
# The clock is read last before the command takes the process over.
leader='
job=$1 begin=$2
shift 2
trap : HUP INT TERM
[ ! -p "$job/life" ] || exec 5<>"$job/life"
exec 6>"$job/out" 7>"$job/err"
read -r stat </proc/$$/stat
started=$(set -- ${stat##*) }; shift 19; echo "$1")
read -r boot </proc/sys/kernel/random/boot_id
sh -c "$begin" benchwright "$job" "$$ $started $boot" "$@"
status=$?
read -r clock rest </proc/uptime
wrote="$(while read -r word bytes; do [ "$word" != pos: ] || echo "$bytes"; done <"/proc/$$/fdinfo/6")"
wrote="$wrote $(while read -r word bytes; do [ "$word" != pos: ] || echo "$bytes"; done <"/proc/$$/fdinfo/7")"
printf "%-100s\n" "$status $clock $wrote ." 1<>"$job/rc.new" && mv -- "$job/rc.new" "$job/rc"
[ ! -s "$job/cgroup" ] || { read -r group <"$job/cgroup" && rmdir -- "$group"; }
'
begin='
job=$1 leader=$2
shift 2
exec >&6 2>&7 5>&- 6>&- 7>&-
epoch=$(date +%s.%N)
read -r clock rest </proc/uptime
[ ! -e "$job/never" ] || exit 1
echo "$$ $leader $clock $epoch ." >"$job/begun"
exec "$@"
'

start() { # lease or "", command
    lease=$1
    shift
    enter || fail "$complaint"
    parent=${workspace%/*}
    guarded "${parent:-/}" || fail "$unsafe"
    [ -d "$job" ] || launch "$@"
    clock
    give_up=$((now + 1000)) line=
    until case $line in *" .") ;; *) false ;; esac; do
        clock
        [ "$now" -lt "$give_up" ] || fail "full"
        doze
        [ ! -e "$job/never" ] || [ -s "$job/begun" ] || fail never
        [ ! -s "$job/begun" ] || read -r line <"$job/begun"
    done
    recall
    # The name of a file says to everybody which process keeps the lease; see lease.sh.
    ! holds || true >"$lease/job=$group-$started-$boot"
    say begun "$line"
}

holds() { # the lease is a directory of ours
    [ -n "$lease" ] && [ -d "$lease" ] && [ ! -L "$lease" ] && own "$(stat -c %u -- "$lease")"
}

starved() { # processes that the kernel has ended since boot for want of memory; none where it does not count them
    sed -n 's/^oom_kill //p' /proc/vmstat 2>/dev/null
}

launch() { # command
    command -v setsid >/dev/null 2>&1 || fail no setsid
    ! holds || rm -f -- "$lease"/job=*
    complaint=$( (umask 077 && mkdir -- "$job") 2>&1) || {
        [ -d "$job" ] && return # asked twice at once: the other one starts it
        fail "$complaint"
    }
    { printf '%-100s\n' . >"$job/rc.new" && : >"$job/out" && : >"$job/err"; } 2>/dev/null || fail full
    starved >"$job/starved"
    mkfifo -- "$job/life" 2>/dev/null # without it the end is noticed by asking
    # Run by sudo, the command is root's; its output belongs to whose account it is, who will read and remove it.
    [ -z "${SUDO_UID:-}" ] || chown -R -- "$SUDO_UID:${SUDO_GID:-0}" "$job"
    BENCHWRIGHT_JOB=$nonce/$job
    export BENCHWRIGHT_JOB
    if setsid -f true 2>/dev/null; then
        setsid -f sh -c "$leader" benchwright "$job" "$begin" "$@" </dev/null >/dev/null 2>&1
    else
        setsid sh -c "$leader" benchwright "$job" "$begin" "$@" </dev/null >/dev/null 2>&1 &
    fi
}

follow() { # bytes of out and of err that were read before
    enter && cd -P -- "$job" 2>/dev/null || fail gone
    job=.
    recall
    say follow
    say follow >&2
    [ ! -p life ] || exec 3<>life # so that opening it below does not wait
    if ! alive; then
        tail -c "+$(($1 + 1))" out 2>/dev/null
        tail -c "+$(($2 + 1))" err >&2 2>/dev/null
    elif [ -p life ] && tail -c 0 --pid=$$ /dev/null 2>/dev/null; then
        wait_for_writes "$@"
    else
        ask_for_writes "$@"
    fi
}

# GNU tail is told of every write; ten times a second it looks whether the watcher has ended. What it has to say itself,
# such as that the kernel tells it of no more files, must not be taken for the job's.
wait_for_writes() {
    exec 4<life 3>&-
    read -r _ <&4 >/dev/null 2>&1 &
    watcher=$!
    exec 4<&-
    tail -c "+$(($1 + 1))" -s 0.1 -f --pid="$watcher" out 2>/dev/null &
    tail -c "+$(($2 + 1))" -s 0.1 -f --pid="$watcher" err >&2 2>/dev/null &
    wait
}

ask_for_writes() { # the two files stay open, so that every cat goes on where the last one ended
    exec 3<out 4<err
    dd bs=1 count=0 skip="$1" <&3 2>/dev/null
    dd bs=1 count=0 skip="$2" <&4 2>/dev/null
    while alive; do
        cat <&3 && cat <&4 >&2 || return
        sleep 0.2 2>/dev/null || sleep 1
    done
    cat <&3
    cat <&4 >&2
}

status() {
    read -r boot_now </proc/sys/kernel/random/boot_id
    read -r up _ </proc/uptime
    say boot "$boot_now"
    say up "$up"
    if ! enter || ! { complaint=gone && [ -d "$job" ]; }; then
        # shellcheck disable=SC2086 # a word and its value
        say $complaint
        [ -z "$(marked "$nonce/$job")" ] || say astray
        return
    fi
    recall
    [ -z "$rest" ] || say begun "$pid $group $started $boot $rest"
    if alive; then
        say alive
    else
        [ -z "$(marked "$nonce/$job")" ] || say astray
        leave_cgroups "$job"
        [ ! -e "$job/cgroup" ] || say closed
        if [ -e "$job/rc" ]; then
            ended=
            read -r ended <"$job/rc"
            say rc "$ended"
        fi
        before=
        { read -r before <"$job/starved"; } 2>/dev/null
        [ -z "$before" ] || say starved $(($(starved) - before))
        df -Pk . 2>/dev/null | { read -r _ && read -r _ _ _ free _ && say free "$free"; }
    fi
    say out "$(wc -c <"$job/out")"
    say err "$(wc -c <"$job/err")"
}

# A file that was emptied while the command wrote to it begins with a hole, up to where the command went on writing.
byte() { # out or err, number of a byte from 1: whether it is NUL or gone now
    enter || fail "$complaint"
    [ "$(tail -c "+$2" "$job/$1" 2>/dev/null | head -c 1 | tr -d '\000' | wc -c)" -gt 0 ] || say blank
}

# A start that is still on its way must find that it came too late: it makes the directory, or looks for `never`
# behind every process that `end` finds.
forestall() {
    complaint=$( (umask 077 && mkdir -- "$job") 2>&1) || [ -d "$job" ] || fail "$complaint"
    [ -z "${SUDO_UID:-}" ] || chown -- "$SUDO_UID:${SUDO_GID:-0}" "$job"
    { : >"$job/never"; } 2>/dev/null || fail "$job/never cannot be written"
}

stop() { # hundredths of grace
    forget
    if enter; then
        recall
        [ -n "$rest" ] || forestall
        recall
    fi
    alive || group=
    end "$nonce/$job" "$group" "$1" || fail "left" $left
    ! enter || leave_cgroups "$job"
    say stopped
}

jobs() { # the jobs of the workspace of which a process runs
    found=$(cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' |
        sed -n "s|^BENCHWRIGHT_JOB=$nonce/\.job-||p" | sort -u | tr '\n' ' ')
    say jobs "$found"
}

main() {
    mode=$1 mark=$2 workspace=$3 nonce=$4 identity=$5
    shift 5
    case $mode in
    make) make "$workspace" ;;
    remove) remove ;;
    inside) inside "$@" ;;
    jobs) jobs ;;
    start | follow | status | byte | stop)
        case $1 in *[!A-Za-z0-9-]* | "") fail foreign ;; esac
        job=.job-$1
        shift
        "$mode" "$@"
        ;;
    esac
}
case $1 in inside) main "$@" ;; *) main "$@" </dev/null ;; esac

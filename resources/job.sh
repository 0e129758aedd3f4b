# Runs one command as a job that needs no connection: POSIX sh and coreutils or busybox, no root.
# Fed to `sh -s MODE MARK WORKSPACE NONCE [JOB] ...`. Answers are lines "@@MARK word value"; whatever else a
# host prints, such as a greeting of its shell, is noise. Every process of a job carries BENCHWRIGHT_JOB in its
# environment, so that even those that leave its process group are found again.
set -u
LC_ALL=C
export LC_ALL

say() { printf '@@%s %s\n' "$mark" "$*"; }
fail() {
    say error "$*"
    exit 1
}
doze() { sleep 0.03 2>/dev/null || sleep 1; }

# The workspace is ours only if its name and the file in it carry the nonce.
owned() {
    case $workspace in */"benchwright-$nonce") ;; *) return 1 ;; esac
    [ -d "$workspace" ] && [ ! -L "$workspace" ] && [ -f "$workspace/.benchwright" ] &&
        read -r found <"$workspace/.benchwright" && [ "$found" = "$nonce" ]
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

recall() { # what the job wrote down when it began
    group=0 started=0 boot=unknown rest=
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

clock() { # $now: hundredths of a second since boot
    read -r now _ </proc/uptime
    now=${now%.*}${now#*.}
}

end() { # marker, group or "", hundredths of grace: TERM, later KILL; 1 and $left where something stays
    clock
    patience=$((now + $3)) give_up=$((now + $3 + 300)) signal=TERM sent=
    while :; do
        left=$(marked "$1")
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
    workspace=${path%/}/benchwright-$nonce
    if ! owned; then
        complaint=$(mkdir -m 700 -- "$workspace" 2>&1) || fail "$complaint"
        { echo "$nonce" >"$workspace/.benchwright"; } 2>/dev/null
    fi
    if ! owned; then
        rm -f -- "$workspace/.benchwright"
        rmdir -- "$workspace"
        fail full
    fi
    say path "$workspace"
}

remove() {
    [ -e "$workspace" ] || [ -L "$workspace" ] || {
        end "$nonce/" "" 0 || fail "left $left"
        say removed
        return
    }
    owned || fail foreign
    end "$nonce/" "" 0 || fail "left" $left
    for entry in "$workspace"/* "$workspace"/.[!.]* "$workspace"/..?*; do
        [ "$entry" = "$workspace/.benchwright" ] || rm -rf -- "$entry"
    done
    complaint=$(rm -f -- "$workspace/.benchwright" 2>&1 && rmdir -- "$workspace" 2>&1) || fail "$complaint"
    say removed
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
'
begin='
job=$1 leader=$2
shift 2
exec >&6 2>&7 5>&- 6>&- 7>&-
epoch=$(date +%s.%N)
read -r clock rest </proc/uptime
echo "$$ $leader $clock $epoch ." >"$job/begun"
exec "$@"
'

start() { # lease or "", command
    lease=$1
    shift
    owned || fail foreign
    [ -d "$job" ] || launch "$@"
    clock
    give_up=$((now + 1000)) line=
    until case $line in *" .") ;; *) false ;; esac; do
        clock
        [ "$now" -lt "$give_up" ] || fail "full"
        doze
        [ ! -s "$job/begun" ] || read -r line <"$job/begun"
    done
    recall
    # The name of a file says to everybody which process keeps the lease; see lease.sh.
    [ -z "$lease" ] || [ ! -O "$lease" ] || true >"$lease/job=$group-$started-$boot"
    say begun "$line"
}

starved() { # processes that the kernel has ended since boot for want of memory; none where it does not count them
    sed -n 's/^oom_kill //p' /proc/vmstat 2>/dev/null
}

launch() { # command
    command -v setsid >/dev/null 2>&1 || fail no setsid
    [ -z "$lease" ] || rm -f -- "$lease"/job=*
    complaint=$( (umask 077 && mkdir -- "$job") 2>&1) || fail "$complaint"
    { printf '%-100s\n' . >"$job/rc.new" && : >"$job/out" && : >"$job/err"; } 2>/dev/null || fail full
    starved >"$job/starved"
    mkfifo -- "$job/life" 2>/dev/null # without it the end is noticed by asking
    # Run by sudo, the command is root's; its output belongs to whose account it is, who will read and remove it.
    [ -z "${SUDO_UID:-}" ] || chown -R -- "$SUDO_UID:${SUDO_GID:-0}" "$job"
    cd -- "$workspace" || fail foreign
    BENCHWRIGHT_JOB=$nonce/${job##*/}
    export BENCHWRIGHT_JOB
    if setsid -f true 2>/dev/null; then
        setsid -f sh -c "$leader" benchwright "$job" "$begin" "$@" </dev/null >/dev/null 2>&1
    else
        setsid sh -c "$leader" benchwright "$job" "$begin" "$@" </dev/null >/dev/null 2>&1 &
    fi
}

follow() { # bytes of out and of err that were read before
    cd -- "$job" 2>/dev/null || fail gone
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
    if ! [ -d "$job" ]; then
        say gone
        return
    fi
    recall
    [ -z "$rest" ] || say begun "$pid $group $started $boot $rest"
    if alive; then
        say alive
    else
        [ -z "$(marked "$nonce/${job##*/}")" ] || say astray
        if [ -e "$job/rc" ]; then
            ended=
            read -r ended <"$job/rc"
            say rc "$ended"
        fi
        before=
        { read -r before <"$job/starved"; } 2>/dev/null
        [ -z "$before" ] || say starved $(($(starved) - before))
        df -Pk "$workspace" 2>/dev/null | { read -r _ && read -r _ _ _ free _ && say free "$free"; }
    fi
    say out "$(wc -c <"$job/out")"
    say err "$(wc -c <"$job/err")"
}

# A file that was emptied while the command wrote to it begins with a hole, up to where the command went on writing.
byte() { # out or err, number of a byte from 1: whether it is NUL or gone now
    [ "$(tail -c "+$2" "$job/$1" 2>/dev/null | head -c 1 | tr -d '\000' | wc -c)" -gt 0 ] || say blank
}

stop() { # hundredths of grace
    recall
    alive || group=
    end "$nonce/${job##*/}" "$group" "$1" || fail "left" $left
    say stopped
}

main() {
    mode=$1 mark=$2 workspace=$3 nonce=$4
    shift 4
    case $mode in
    make) make "$workspace" ;;
    remove) remove ;;
    start | follow | status | byte | stop)
        job=$workspace/.job-$1
        shift
        "$mode" "$@"
        ;;
    esac
}
main "$@" </dev/null

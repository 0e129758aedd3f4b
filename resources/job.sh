# Runs a command as a job that is independent of the connection: POSIX sh and coreutils or busybox, no root.
# Run as `sh -s MODE MARK WORKSPACE NONCE IDENTITY [JOB] ...` on stdin. Prints lines "@@MARK key value"; other output, such
# as a greeting of the shell, is ignored. All processes of a job have BENCHWRIGHT_JOB in their environment, so that those
# that leave its process group are found, too, and BENCHWRIGHT_RUN, the run of the lease: the jobs of another are others.
# Other accounts of the host are not trusted: every mode enters the workspace, verifies it, and then uses relative names
# only, so that a directory renamed or replaced by another account is never run, read or removed.
set -u
LC_ALL=C
export LC_ALL
# include guard.sh
# include own-group.sh

say() { printf '@@%s %s\n' "$mark" "$*"; }
fail() {
    say error "$*"
    exit 1
}
doze() { sleep "${1:-0.03}" 2>/dev/null || sleep 1; }

# Enters the workspace and verifies owner, mode, nonce and, within one boot, device and inode; sets $complaint on failure.
# "-" is an unknown identity.
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

# /proc/PID/stat: the command in parentheses may contain blanks; state, parent, group and start time follow (proc(5)).
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

recall() { # the job's start record
    forget
    { read -r pid group started boot rest <"$job/begun"; } 2>/dev/null
}

alive() { # the job's leader runs, and its PID was not reused
    read -r boot_now </proc/sys/kernel/random/boot_id
    [ "$boot" = "$boot_now" ] && identify "$group" && [ "$started_at" = "$started" ] && [ "$state" != Z ]
}

marked() { # PIDs of all processes with $1 in their environment
    grep -ls -- "BENCHWRIGHT_JOB=$1" /proc/[0-9]*/environ 2>/dev/null | while IFS=/ read -r _ _ pid _; do echo "$pid"; done
}

in_group() { # PIDs in process group $1, without zombies
    kill -s 0 -- "-$1" 2>/dev/null || return 0
    for directory in /proc/[0-9]*; do
        identify "${directory#/proc/}" && [ "$group_of" = "$1" ] && [ "$state" != Z ] && echo "${directory#/proc/}"
    done
}

in_cgroups() { # PIDs in cgroups of the workspace, which a changed environment does not hide; no zombies
    grep -ls -- "/benchwright-$nonce-" /proc/[0-9]*/cgroup 2>/dev/null | while IFS=/ read -r _ _ pid _; do
        identify "$pid" && [ "$state" != Z ] && echo "$pid"
    done
}

# Prints the cgroups with the workspace's nonce in their names, under all mounts: a temporary file cleaner may have
# removed the records. Not those of other accounts, which may have a delegated part of the hierarchy.
named_cgroups() {
    uid=$(id -u)
    while read -r _ _ _ _ point _ rest; do
        case "$rest " in *"- cgroup "* | *"- cgroup2 "*) ;; *) continue ;; esac
        find "$point" -type d -name "benchwright-$nonce-*" -user "$uid" -prune 2>/dev/null
    done </proc/self/mountinfo
}

# The directory of a job records its cgroups: `group` (count_apart) and `cgroup` (device-cgroup.sh), which may be below
# it. A command may have created child cgroups; only empty ones can be removed. The kernel reports EBUSY for a moment
# after the last process has ended, hence the retries.
leave_cgroups() { # job, or a pattern of jobs and "named_cgroups" -> $kept: a cgroup that cannot be removed
    kept=
    # shellcheck disable=SC2086 # a pattern
    found=$(
        cat $1/cgroup $1/group 2>/dev/null
        ${2:-:}
    )
    IFS='
'
    # shellcheck disable=SC2086 # a line each
    set -- $found
    unset IFS
    for cgroup in "$@"; do
        case ${cgroup##*/} in "benchwright-$nonce-"*) ;; *) continue ;; esac
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            [ -d "$cgroup" ] || continue 2
            find "$cgroup" -depth -type d -exec rmdir -- {} \; 2>/dev/null
            [ ! -d "$cgroup" ] || doze
        done
        [ ! -d "$cgroup" ] || kept=$cgroup
    done
}

# A mount below the workspace is foreign data, into which rm would descend.
mounted() { # prints the first mount point in the workspace, in the kernel's escaped form
    while read -r _ _ _ _ point _; do
        case $point in */"benchwright-$nonce" | */"benchwright-$nonce"/*) printf '%s\n' "$point" && return ;; esac
    done </proc/self/mountinfo
}

clock() { # $now: hundredths of a second since boot
    read -r now _ </proc/uptime
    now=$((${now%.*} * 100 + 1${now#*.} - 100)) # a number that begins with 0 would be octal
}

end() { # marker, group or "", grace in 10 ms: SIGTERM, later SIGKILL; 1 and $left if processes remain
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

# make and start are idempotent: repeated after a lost answer, they print the same answer.
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
        leave_cgroups /nowhere named_cgroups
        [ -z "$kept" ] || fail cgroup "$kept"
        say removed
        return
    fi
    point=$(mounted)
    [ -z "$point" ] || fail mounted "$point"
    leave_cgroups ".job-*" named_cgroups
    [ -z "$kept" ] || fail cgroup "$kept"
    for entry in ./* ./.[!.]* ./..?*; do
        [ "$entry" = ./.benchwright ] || rm -rf -- "$entry"
    done
    # Without its nonce the directory could not be identified: write it again if the directory cannot be removed.
    complaint=$(rm -f .benchwright 2>&1 && cd .. && [ "$(stat -c %d:%i "benchwright-$nonce")" = "$here" ] &&
        rmdir -- "benchwright-$nonce" 2>&1) || {
        { [ -e .benchwright ] || echo "$nonce" >.benchwright; } 2>/dev/null
        fail "${complaint:-foreign}"
    }
    say removed
}

inside() { # command: executed in the workspace with the script's stdin
    enter || fail "$complaint"
    exec "$@"
}

# The leader of the job's process group ignores SIGTERM, so that it can record the command's exit status. Only it has the
# FIFO `life` open, so that readers see EOF however it ends. `rc` is preallocated with blanks: a full disk cannot
# prevent it from being written. The output files are descriptors 6 and 7, not stdout and stderr: some shells print a
# signal's name to the stream of the command they waited for. The command shares their file offsets, which count the
# bytes written even if the files are truncated. The clock is read immediately before exec. Only root can remove a cgroup
# that root made: the leader waits a second for processes that outlive the command.
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
for file in cgroup group; do
    [ -s "$job/$file" ] && read -r group <"$job/$file" || continue
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        rmdir -- "$group" || [ ! -d "$group" ] && break
        sleep 0.1 || sleep 1
    done
done
'
begin='
job=$1 leader=$2
shift 2
exec >&6 2>&7 5>&- 6>&- 7>&-
[ ! -s "$job/group" ] || { read -r group <"$job/group" && echo "$$" >"$group/cgroup.procs"; } 2>/dev/null
epoch=$(date +%s.%N)
read -r clock rest </proc/uptime
[ ! -e "$job/never" ] || exit 1
echo "$$ $leader $clock $epoch ." >"$job/begun"
exec "$@"
'

start() { # lease or "", after + of a job beside the one that the lease names; command
    lease=${1#+} beside=
    [ "$lease" = "$1" ] || beside=yes
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
        doze 0.01
        [ ! -e "$job/never" ] || [ -s "$job/begun" ] || fail never
        [ ! -s "$job/begun" ] || read -r line <"$job/begun"
    done
    recall
    # The name of this file is the process that keeps the lease; see lease.sh.
    ! names || true >"$lease/job=$group-$started-$boot"
    say begun "$line"
}

holds() { # the lease is a directory of this account
    [ -n "$lease" ] && [ -d "$lease" ] && [ ! -L "$lease" ] && own "$(stat -c %u -- "$lease")"
}

names() { # the lease names this job
    [ -z "$beside" ] && holds
}

starved() { # OOM kills since boot (/proc/vmstat); empty if not counted
    sed -n 's/^oom_kill //p' /proc/vmstat 2>/dev/null
}

# Makes a cgroup in which the kernel counts the CPU time of all of the job's processes, also of those that no parent waits
# for (telemetry.c). Enabled controllers would give it its own share of CPU or memory: then there is none.
count_apart() {
    own_group v2 && [ -z "$(cat "$at/cgroup.subtree_control")" ] || return 0
    group=$at/benchwright-$nonce-${job#.job-}
    echo "$group" >"$job/group" && mkdir -- "$group" || rm -f "$job/group"
} 2>/dev/null

launch() { # command
    command -v setsid >/dev/null 2>&1 || fail no setsid
    ! names || rm -f -- "$lease"/job=*
    complaint=$( (umask 077 && mkdir -- "$job") 2>&1) || {
        [ -d "$job" ] && return # concurrent request: the other one starts it
        fail "$complaint"
    }
    { printf '%-100s\n' . >"$job/rc.new" && : >"$job/out" && : >"$job/err"; } 2>/dev/null || fail full
    starved >"$job/starved"
    count_apart
    mkfifo -- "$job/life" 2>/dev/null # without a FIFO the end is detected by polling
    # Under sudo the command runs as root, but its output belongs to the account that reads and removes it.
    [ -z "${SUDO_UID:-}" ] || chown -R -- "$SUDO_UID:${SUDO_GID:-0}" "$job"
    BENCHWRIGHT_JOB=$nonce/$job
    export BENCHWRIGHT_JOB
    for run in "$lease"/run=*; do
        ! holds || [ ! -e "$run" ] || export "BENCHWRIGHT_RUN=${run##*/run=}"
    done
    if setsid -f true 2>/dev/null; then
        setsid -f sh -c "$leader" benchwright "$job" "$begin" "$@" </dev/null >/dev/null 2>&1
    else
        setsid sh -c "$leader" benchwright "$job" "$begin" "$@" </dev/null >/dev/null 2>&1 &
    fi
}

follow() { # offsets of out and err
    enter && cd -P -- "$job" 2>/dev/null || fail gone
    job=.
    recall
    say follow
    say follow >&2
    [ ! -p life ] || exec 3<>life # otherwise opening the FIFO for reading would block
    if ! alive; then
        tail -c "+$(($1 + 1))" out 2>/dev/null
        tail -c "+$(($2 + 1))" err >&2 2>/dev/null
    elif [ -p life ] && tail -c 0 --pid=$$ /dev/null 2>/dev/null; then
        wait_for_writes "$@"
    else
        ask_for_writes "$@"
    fi
}

# GNU tail uses inotify; it checks ten times a second whether the watcher has ended, and after a change of the file: a
# block allocated within its size, if there is one, is a change without a write. Its own messages, such as exhausted
# inotify watches, are dropped so that they do not appear in the job's output.
wait_for_writes() {
    exec 4<life 3>&-
    read -r _ <&4 >/dev/null 2>&1 &
    watcher=$!
    exec 4<&-
    tail -c "+$(($1 + 1))" -s 0.1 -f --pid="$watcher" out 2>/dev/null &
    tail -c "+$(($2 + 1))" -s 0.1 -f --pid="$watcher" err >&2 2>/dev/null &
    wait "$watcher"
    for file in out err; do
        fallocate -n -l 1 "$file" 2>/dev/null
    done
    wait
}

ask_for_writes() { # polling; the files stay open, so that each cat continues at the offset of the previous one
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

# A file truncated while the command writes to it begins with a hole up to the command's offset.
byte() { # out or err, offset: whether the byte is NUL or missing
    enter || fail "$complaint"
    [ "$(tail -c "+$2" "$job/$1" 2>/dev/null | head -c 1 | tr -d '\000' | wc -c)" -gt 0 ] || say blank
}

# A start request that is still in transit must not start the job: it fails to create the directory, or checks for `never`
# after every process that `end` could have found.
forestall() {
    complaint=$( (umask 077 && mkdir -- "$job") 2>&1) || [ -d "$job" ] || fail "$complaint"
    [ -z "${SUDO_UID:-}" ] || chown -- "$SUDO_UID:${SUDO_GID:-0}" "$job"
    { : >"$job/never"; } 2>/dev/null || fail "$job/never cannot be written"
}

stop() { # grace in 10 ms
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

jobs() { # jobs of the workspace with running processes
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

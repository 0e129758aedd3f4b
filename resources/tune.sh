# Changes settings of this host and restores them: POSIX sh; root, except `list`. Run as `sh -s MODE MARK ...` on stdin.
#   set RUN FROM [KIND DEVICE VALUE]...   save the value, then change it; DEVICE is "-" for the governor
#   restore RUN                           restore the values saved by RUN, or all if RUN is "-"
#   list                                  list the saved values
# Each saved value is a file on a tmpfs that only root can write to: a reboot removes it, as it resets the setting. The
# value before the first change is kept until it is restored. Prints lines "@@MARK key value".
set -u
LC_ALL=C
export LC_ALL
mode=$1 mark=$2
shift 2
umask 022

say() { printf '@@%s %s\n' "$mark" "$*"; }

notes=/run/benchwright-changes
[ -d /run ] || notes=/var/run/benchwright-changes

clean() { # a value as one word
    printf %s "$1" | head -c 64 | tr -c 'A-Za-z0-9_.@-' '?'
}

trusted() { # only root may write here: saved values are written to the kernel later
    [ -d "$notes" ] && [ ! -L "$notes" ] && [ -O "$notes" ]
}

current() { # path -> $value; of a scheduler list the one in brackets
    value=
    { read -r value <"$1"; } 2>/dev/null || [ -n "$value" ] || return 1
    case $value in *"["*"]"*)
        value=${value#*"["}
        value=${value%%"]"*}
        ;;
    esac
    value=$(clean "$value")
}

write() { # value path: written, then read back
    if ! said=$( (printf '%s\n' "$1" >"$2") 2>&1); then
        case $said in
        *[Pp]ermission*) complaint="permission denied" ;;
        *[Rr]ead-only*) complaint="it is read-only here" ;;
        *) complaint="the kernel does not take $(clean "$1")" ;;
        esac
        return 1
    fi
    current "$2"
    complaint="it became $value"
    [ "$value" = "$1" ]
}

queue() { # device -> $queue: its settings directory; for a partition that of its disk
    real=$(readlink -f -- "$1") && [ -b "$real" ] || return 1
    queue=/sys/class/block/${real##*/}/queue
    [ -d "$queue" ] || queue=$(cd -P -- "/sys/class/block/${real##*/}/.." && pwd)/queue
    [ -d "$queue" ] && disk=$(cd -P -- "$queue/.." && pwd) && queue=/sys/block/${disk##*/}/queue
}

paths() { # kind device: one path per line
    case $1 in
    governor)
        set -- /sys/devices/system/cpu/cpufreq/policy[0-9]*/scaling_governor
        [ -e "$1" ] || set -- /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor
        ;;
    scheduler) queue "$2" && set -- "$queue/scheduler" ;;
    readahead) queue "$2" && set -- "$queue/read_ahead_kb" ;;
    esac
    for path in "$@"; do
        case $path in /sys/*) [ ! -e "$path" ] || echo "$path" ;; esac
    done
}

note_of() { # path -> $note
    note=$notes/$(printf %s "$1" | tr / !)
}

recall() { # note -> its fields
    { read -r before during noted_by noted_from since noted_path <"$1"; } 2>/dev/null
}

change() { # run from value path: an existing note keeps the value before the first change, of any run
    current "$4" || {
        complaint="it cannot be read"
        return 1
    }
    was=$value fresh=yes
    note_of "$4"
    ! recall "$note" || was=$before fresh=
    if [ "$value" = "$3" ] && [ -n "$fresh" ]; then
        say "same$number" "$4 $value"
        return
    fi
    mkdir -p -- "$notes" 2>/dev/null
    if ! trusted || ! { echo "$was $3 $1 $2 $(date +%s) $4" >"$notes/new" && mv -- "$notes/new" "$note"; } 2>/dev/null; then
        complaint="it could not be noted down in $notes"
        return 1
    fi
    if ! write "$3" "$4"; then
        why=$complaint
        ! write "$was" "$4" || rm -f -- "$note"
        complaint=$why
        return 1
    fi
    say "set$number" "$4 $was $3"
}

set_all() { # run from, then kind device value ...
    run=$1 from=$2
    shift 2
    number=0 settings=0
    while [ $# -ge 3 ]; do
        found=$(paths "$1" "$2")
        settings=$((settings + 1))
        [ -n "$found" ] || say "failed$settings" "this host has none"
        for path in $found; do
            number=$((number + 1))
            change "$run" "$from" "$3" "$path" || say "failed$settings" "$complaint"
        done
        shift 3
    done
    say ended
}

each_note() { # command: called with every note, $number counts them
    number=0
    for note in "$notes"/!sys!*; do
        if ! { [ -f "$note" ] && recall "$note"; }; then continue; fi
        number=$((number + 1))
        "$1"
    done
}

tell() {
    say "note$number" "$(clean "$before") $(clean "$during") $(clean "$noted_by") $(clean "$noted_from")" \
        "$(clean "$since") $noted_path"
}

put_back() { # one note; a value that was changed since is not restored
    [ "$wanted" = - ] || [ "$noted_by" = "$wanted" ] || return 0
    if ! current "$noted_path"; then
        outcome=gone
    elif [ "$value" != "$during" ] && [ "$value" != "$before" ]; then
        outcome="other $value"
    elif write "$before" "$noted_path"; then
        outcome=restored
    else
        say "failed$number" "$(clean "$noted_by") $noted_path $complaint"
        return 0
    fi
    rm -f -- "$note"
    say "back$number" "$(clean "$noted_by") $noted_path $(clean "$before") $outcome"
}

main() {
    case $mode in
    set) set_all "$@" ;;
    restore)
        wanted=$1
        ! trusted || each_note put_back
        say ended
        ;;
    list)
        each_note tell
        say now "$(date +%s)"
        ;;
    esac
}
main "$@" </dev/null

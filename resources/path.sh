# Prints the route to an address, or the ports in use: POSIX sh; no root; changes nothing.
# Run as `sh -s MODE MARK [ADDRESS]` on stdin. Prints lines "@@MARK key value"; unknown values are omitted.
set -u
LC_ALL=C
export LC_ALL
PATH=$PATH:/usr/sbin:/sbin
mode=$1 mark=$2

say() { printf '@@%s %s\n' "$mark" "$*"; }

path() { # address or name
    case $1 in
    *[!0-9.]*) case $1 in *:*) number=$1 ;; *) number=$(getent ahosts "$1" 2>/dev/null | sed -n '1s/[[:space:]].*//p') ;; esac ;;
    *) number=$1 ;;
    esac
    [ -n "$number" ] || return 0
    say address "$number"
    route=$(ip route get "${number%%\%*}" 2>/dev/null | head -n 1)
    [ -n "$route" ] || return 0
    say route "$(printf %s "$route" | tr -s ' ' | head -c 400)"
    interface=$(printf %s "$route" | sed -n 's/.* dev \([^ ]*\).*/\1/p')
    case $interface in */* | '' | .*) return 0 ;; esac
    mtu=$(head -c 16 "/sys/class/net/$interface/mtu" 2>/dev/null)
    say mtu "$mtu"
    case $interface:$mtu in lo:* | *:*[!0-9]* | *:) return 0 ;; esac
    [ "$mtu" -le 1500 ] || carried "${number%%\%*}" "$mtu"
}

carried() { # address mtu: whether a packet as large as the MTU arrives, if a small one does
    case $1 in *:*) headers=48 ;; *) headers=28 ;; esac
    for size in 84 "$2" 1500; do
        ping -n -q -M do -c 2 -i 0.2 -W 1 -s $((size - headers)) "$1" >/dev/null 2>&1 || {
            [ "$size" != 84 ] && continue || return 0
        }
        [ "$size" = 84 ] || {
            say carried "$size"
            return 0
        }
    done
}

ports() {
    say ports "$(cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6 2>/dev/null |
        sed -n 's/^ *[0-9]*: [0-9A-F]*:\([0-9A-F]*\) .*/\1/p' | sort -u | head -n 20000 | tr '\n' ' ')"
}

case $mode in
path) path "$3" ;;
ports) ports ;;
esac

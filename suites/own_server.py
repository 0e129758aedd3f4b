"""A server started for the commands of a step, in its private directory, and stopped with each of them."""

from suites.host_files import HostFile

# The traps end the server also where the step is stopped. Its output is kept for the reason of a failed start.
_TEXT = r"""# sh @NAME@ COMMAND...: a server in this directory, for one command.
set -u
PATH=$PATH:/usr/sbin:/usr/local/sbin
export PATH
fail() {
    echo "$*" >&2
    exit 1
}
serve() { # file that shows that it listens, command
    listens=$1 tries=0
    shift
    rm -f "$listens"
    "$@" >server.log 2>&1 &
    pid=$!
    until [ -e "$listens" ]; do
        tries=$((tries + 1))
        kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 600 ] || return 1
        sleep 0.1
    done
}
stop() { kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; }
@START@
trap 'stop; exit 143' HUP INT TERM
echo "benchwright-server $(@VERSION@ 2>&1)" >&2
"$@"
status=$?
stop
exit "$status"
"""

NOT_STARTED = "The server did not start: "
"""Beginning of the message of a server that did not start; its own follow."""

FAILED = 'fail "The server did not start: $(tail -n 5 server.log | tr "\\n" " ")"'


def server_script(name: str, start: str, version: str) -> HostFile:
    """Return the script `name` that runs its arguments beside a server.

    `start` is shell text that calls ``serve``, and may change the arguments; `version` prints the server's version.
    """
    return HostFile(name, text=_TEXT.replace("@NAME@", name).replace("@START@", start).replace("@VERSION@", version))

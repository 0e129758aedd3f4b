"""Write a file to a workspace on a host atomically."""

from remote.errors import JobError
from remote.jobs.workspace import SCRIPT, Workspace, explain
from remote.script import answers, new_mark, script
from remote.session import Session
from suites.host_files import NAME

LARGEST = 64 * 2**20
"""Largest file in bytes; a built probe has about 130 kB."""

SLOWEST = 100_000.0
"""Slowest connection in bytes/s, for the timeout of a transfer."""

# Written to a temporary name, its size checked, then renamed: a lost connection or a full disk leaves no partial file.
_PUT = """
umask 077
cat >"$1.new" && [ "$(wc -c <"$1.new")" -eq "$2" ] && chmod "$3" "$1.new" && mv -f -- "$1.new" "$1" && exit
rm -f -- "$1.new"
exit 1
"""


def put_file(session: Session, workspace: Workspace, name: str, content: bytes, *, executable: bool = False) -> None:
    """Write `content` to the file `name` in `workspace`, replacing an existing one.

    Raises JobError if it cannot be written or is too large, and what `Session.run` raises.
    """
    if NAME.fullmatch(name) is None:
        raise JobError(f"Invalid file name “{name[:60]}”.", host=session.host)
    if len(content) > LARGEST:
        raise JobError(
            f"{name} is too large to copy to {session.host}: {len(content)} bytes, limit {LARGEST}.",
            "Copy it to the host by hand and set its path.",
            host=session.host,
        )
    mark = new_mark()
    argv = ["sh", "-c", script(SCRIPT).decode(), "benchwright", "inside", mark, *workspace.words]
    argv += ["sh", "-c", _PUT, "benchwright", name, str(len(content)), "700" if executable else "600"]
    done = session.run(argv, stdin=content, timeout=30.0 + len(content) / SLOWEST)
    if done.exit_status != 0:
        complaint = answers(done, mark).get("error") or done.stderr.decode("utf-8", "replace")[-500:]
        reason, remedy = explain(complaint)
        raise JobError(
            f"{name} was not copied to {workspace.path} on {session.host}: {reason}.", remedy, host=session.host
        )

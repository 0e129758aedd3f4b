"""Puts a file into a workspace on a host: whole or not at all."""

from remote.errors import JobError
from remote.jobs.workspace import SCRIPT, Workspace, explain
from remote.script import answers, new_mark, script
from remote.session import Session
from suites.host_files import NAME

LARGEST = 64 * 2**20
"""Bytes of the largest file that is sent: an archive of sources has one, a built probe two thousandths of it."""

SLOWEST = 100_000.0
"""Bytes a second that even a poor connection carries; the time a file may take follows from it."""

# Written beside its place, counted, then moved there: what a lost connection or a full disk cut off is never taken for
# whole, and does not stay.
_PUT = """
umask 077
cat >"$1.new" && [ "$(wc -c <"$1.new")" -eq "$2" ] && chmod "$3" "$1.new" && mv -f -- "$1.new" "$1" && exit
rm -f -- "$1.new"
exit 1
"""


def put_file(session: Session, workspace: Workspace, name: str, content: bytes, *, executable: bool = False) -> None:
    """Write `content` to the file `name` in `workspace`; one that is there is replaced.

    Raises JobError where it cannot be written or is too large, and what `Session.run` raises.
    """
    if NAME.fullmatch(name) is None:
        raise JobError(f"“{name[:60]}” is no name for a file in {workspace.path}.", host=session.host)
    if len(content) > LARGEST:
        raise JobError(
            f"{name} has {len(content)} bytes; at most {LARGEST} are copied to {session.host}.",
            "Put it on the host by hand and name where it is.",
            host=session.host,
        )
    mark = new_mark()
    words = ["sh", "-c", script(SCRIPT).decode(), "benchwright", "inside", mark, *workspace.words]
    words += ["sh", "-c", _PUT, "benchwright", name, str(len(content)), "700" if executable else "600"]
    done = session.run(words, stdin=content, timeout=30.0 + len(content) / SLOWEST)
    if done.exit_status != 0:
        complaint = answers(done, mark).get("error") or done.stderr.decode("utf-8", "replace")[-500:]
        why, remedy = explain(complaint)
        raise JobError(
            f"{name} was not copied to {workspace.path} on {session.host}: {why}.", remedy, host=session.host
        )

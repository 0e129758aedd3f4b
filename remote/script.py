"""Our own shell scripts on a host: sent over standard input, answering in marked lines that noise cannot forge."""

import secrets
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from remote.session import Completed, Session

MARK_BYTES = 8
"""Random bytes in a mark: nobody on the host can know it before the script runs."""


@cache
def script(name: str) -> bytes:
    """Return the script `name` of resources/."""
    return files("resources").joinpath(name).read_bytes()


def new_mark() -> str:
    """Return a mark for one run of a script, or the nonce of a workspace."""
    return secrets.token_hex(MARK_BYTES)


def answers(completed: Completed, mark: str) -> Mapping[str, str]:
    """Return the answers ``@@mark word value`` in what a script printed; of a word said twice, the first."""
    start = f"@@{mark} "
    found: dict[str, str] = {}
    for line in completed.stdout.decode("utf-8", "replace").split("\n"):
        if line.startswith(start):
            word, _, value = line[len(start) :].partition(" ")
            found.setdefault(word, value)
    return found


class AfterMark:
    """Lets bytes through that follow a mark, and drops what came before it, such as a shell's greeting."""

    def __init__(self, mark: bytes) -> None:
        self._mark = mark
        self._before: bytes | None = b""

    def feed(self, data: bytes) -> bytes:
        """Return what of `data` follows the mark."""
        if self._before is None:
            return data
        before, found, after = (self._before + data).partition(self._mark)
        self._before = None if found else before[-len(self._mark) :]
        return after


def ask(session: Session, name: str, mode: str, *arguments: str, timeout: float = 30.0) -> Mapping[str, str]:
    """Run the script `name` in `mode` with `arguments` and return its answers; none where the script never got to run.

    Raises what `Session.run` raises.
    """
    mark = new_mark()
    completed = session.run(["sh", "-s", mode, mark, *arguments], stdin=script(name), timeout=timeout)
    return answers(completed, mark)

"""Benchwright's shell scripts on a host: sent over stdin, answering in lines marked with a nonce."""

import re
import secrets
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

from remote.errors import StartUpFileError
from remote.session import LIMIT, Channel, Completed, Session

MARK_BYTES = 8
"""Random bytes in a mark: unpredictable on the host, so that other output cannot imitate an answer."""


_BOOTSTRAP = 'IFS= read -r first; [ "$first" = "# $0" ] && exec "$@"; echo "@@$0 unread ${SHELL:-}"'
"""Execs the shell that reads the script from stdin, unless a start-up file has consumed the script's first line: a
truncated script must never run. Without backslash, exclamation mark and line break: see command_line.
"""

_GUARD = "case $- in *i*) ;; *) return ;; esac"
_START_UP_FILES: Mapping[str, tuple[str, str]] = {
    "bash": ("~/.bashrc", _GUARD),
    "zsh": ("~/.zshenv", _GUARD),
    "fish": ("~/.config/fish/config.fish", "status is-interactive; or exit"),
    "csh": ("~/.cshrc", "if (! $?prompt) exit"),
    "tcsh": ("~/.tcshrc", "if (! $?prompt) exit"),
}
"""The file each login shell reads before a command over SSH, and a line that ends it for non-interactive shells."""


_INCLUDE = re.compile(rb"^# include ([\w-]+\.sh)\n", re.MULTILINE)


@cache
def script(name: str) -> bytes:
    """Return the script `name` of resources/, with its ``# include NAME`` lines expanded."""
    return _INCLUDE.sub(lambda line: script(line[1].decode()), files("resources").joinpath(name).read_bytes())


def run_script(
    session: Session, name: str, mark: str, *arguments: str, timeout: float = 30.0, limit: int = LIMIT
) -> Completed:
    """Run the script `name` with `arguments` and return what it printed.

    Raises StartUpFileError if a start-up file consumed the script, and what `Session.run` raises.
    """
    completed = session.run(_argv(mark, arguments), stdin=_input(name, mark), timeout=timeout, limit=limit)
    _refuse_unread(session.host, answers(completed, mark))
    return completed


def open_script(session: Session, name: str, mark: str, *arguments: str, before: bytes = b"") -> Channel:
    """Start the script `name` with `arguments` and return its channel; `before` is shell code that precedes it."""
    return session.open(_argv(mark, arguments), stdin=_input(name, mark, before))


def _argv(mark: str, arguments: tuple[str, ...]) -> list[str]:
    return ["sh", "-c", _BOOTSTRAP, mark, "sh", "-s", *arguments]


def _input(name: str, mark: str, before: bytes = b"") -> bytes:
    return f"# {mark}\n".encode() + before + script(name)


def _refuse_unread(host: str, found: Mapping[str, str]) -> None:
    """Raise StartUpFileError if `found` reports that a start-up file consumed the script."""
    if "unread" not in found:
        return
    file, line = _START_UP_FILES.get(PurePosixPath(found["unread"]).name, ("~/.bashrc or the like", _GUARD))
    raise StartUpFileError(
        f"A shell start-up file on {host} ({file}) consumes standard input, so Benchwright's scripts cannot run.",
        f"Add this line at the beginning of {file}: {line}",
        host=host,
    )


def new_mark() -> str:
    """Return a random mark for one run of a script, or the nonce of a workspace."""
    return secrets.token_hex(MARK_BYTES)


def answers(completed: Completed, mark: str) -> Mapping[str, str]:
    """Return the answers ``@@mark key value`` of a script's output; the first of a repeated key."""
    start = f"@@{mark} "
    found: dict[str, str] = {}
    for line in completed.stdout.decode("utf-8", "replace").split("\n"):
        if line.startswith(start):
            key, _, value = line[len(start) :].partition(" ")
            found.setdefault(key, value)
    return found


class MarkFilter:
    """Filter that drops a stream up to and including a mark, such as a shell's greeting."""

    def __init__(self, mark: bytes) -> None:
        self._mark = mark
        self._before: bytes | None = b""

    def feed(self, data: bytes) -> bytes:
        """Return the part of `data` that follows the mark."""
        if self._before is None:
            return data
        before, found, after = (self._before + data).partition(self._mark)
        self._before = None if found else before[-len(self._mark) :]
        return after


def query_script(session: Session, name: str, mode: str, *arguments: str, timeout: float = 30.0) -> Mapping[str, str]:
    """Run the script `name` in `mode` with `arguments` and return its answers; empty if the script did not run.

    Raises what `run_script` raises.
    """
    mark = new_mark()
    argv = _argv(mark, (mode, mark, *arguments))
    found = answers(session.run(argv, stdin=_input(name, mark), timeout=timeout), mark)
    _refuse_unread(session.host, found)
    return found

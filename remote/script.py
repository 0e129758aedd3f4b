"""Our own shell scripts on a host: sent over standard input, answering in marked lines that noise cannot forge."""

import re
import secrets
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

from remote.errors import StartUpFileError
from remote.session import LIMIT, Channel, Completed, Session

MARK_BYTES = 8
"""Random bytes in a mark: nobody on the host can know it before the script runs."""


_WHOLE = 'IFS= read -r first; [ "$first" = "# $0" ] && exec "$@"; echo "@@$0 unread ${SHELL:-}"'
"""Becomes the shell that reads the script, unless a start-up file has read the script's first line: the rest of a
script that is cut off must never run. Without a backslash, an exclamation mark or a line break: see command_line.
"""

_GUARD = "case $- in *i*) ;; *) return ;; esac"
_START_UP_FILES: Mapping[str, tuple[str, str]] = {
    "bash": ("~/.bashrc", _GUARD),
    "zsh": ("~/.zshenv", _GUARD),
    "fish": ("~/.config/fish/config.fish", "status is-interactive; or exit"),
    "csh": ("~/.cshrc", "if (! $?prompt) exit"),
    "tcsh": ("~/.tcshrc", "if (! $?prompt) exit"),
}
"""What each login shell reads before a command over SSH, and the line that ends it there."""


_INCLUDE = re.compile(rb"^# include ([\w-]+\.sh)\n", re.MULTILINE)


@cache
def script(name: str) -> bytes:
    """Return the script `name` of resources/, with those that its lines ``# include NAME`` name in their place."""
    return _INCLUDE.sub(lambda line: script(line[1].decode()), files("resources").joinpath(name).read_bytes())


def run_script(
    session: Session, name: str, mark: str, *words: str, timeout: float = 30.0, limit: int = LIMIT
) -> Completed:
    """Run the script `name` with `words` as its arguments, and return what it printed.

    Raises StartUpFileError where the host's shell read the script away, and what `Session.run` raises.
    """
    completed = session.run(_words(mark, words), stdin=_input(name, mark), timeout=timeout, limit=limit)
    shell = answers(completed, mark).get("unread")
    if shell is not None:
        raise _read_away(session.host, shell)
    return completed


def open_script(session: Session, name: str, mark: str, *words: str) -> Channel:
    """Start the script `name` with `words` as its arguments, and return it under way."""
    return session.open(_words(mark, words), stdin=_input(name, mark))


def _words(mark: str, words: tuple[str, ...]) -> list[str]:
    return ["sh", "-c", _WHOLE, mark, "sh", "-s", *words]


def _input(name: str, mark: str) -> bytes:
    return f"# {mark}\n".encode() + script(name)


def _read_away(host: str, shell: str) -> StartUpFileError:
    file, line = _START_UP_FILES.get(PurePosixPath(shell).name, ("~/.bashrc or the like", _GUARD))
    return StartUpFileError(
        f"A start-up file of the account's shell on {host} ({file}) reads standard input, so no script of Benchwright "
        "arrives there.",
        f"Put this line at the beginning of {file}: {line}",
        host=host,
    )


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

    Raises what `run_script` raises.
    """
    mark = new_mark()
    return answers(run_script(session, name, mark, mode, mark, *arguments, timeout=timeout), mark)

"""Command lines that work in any login shell, and a filter that drops what the shell prints before the command."""

import re
import shlex
from collections.abc import Sequence

from remote.errors import RemoteError

# Characters that some login shells interpret even between single quotes: fish the backslash, csh the other two.
_SPECIAL = {"\\": r"\0134", "!": r"\0041", "\n": r"\0012"}


def command_line(argv: Sequence[str], marker: str) -> str:
    """Return a command line that makes any login shell exec `argv`.

    The shell needs only `exec` and single quotes, as in sh, bash, zsh, fish and csh: it execs /bin/sh, which prints
    `marker` on both streams and then execs the command. Output before the marker comes from the login shell (a
    ~/.bashrc that prints), output after it from the command; the exit status is the command's. On stdout the marker is
    followed by the PID and a colon: sshd makes the shell a process group leader, so the PID is also the PGID.
    Raises RemoteError for a NUL character in `argv`.
    """
    if any("\0" in word for word in argv):
        raise RemoteError("The command contains a NUL character.", "Remove it.")
    script = f"printf %s {marker}$$:; printf %s {marker} >&2; exec {shlex.join(argv)}"
    if not any(character in script for character in _SPECIAL):
        return f"exec /bin/sh -c {shlex.quote(script)}"
    encoded = "".join(_SPECIAL.get(character, character) for character in script)
    return f"""exec /bin/sh -c 'eval "$(printf %b "$1")"' sh {shlex.quote(encoded)}"""


LONGEST_MARK = 128
"""Upper bound of a marker's length in bytes: as many are kept in case a marker arrives in two pieces."""


class Gate:
    """Filter that drops a stream up to the marker `pattern`; `found` is the pattern's first group, if any."""

    def __init__(self, pattern: bytes) -> None:
        self._pattern = re.compile(pattern)
        self._buffer = b""
        self.open = False
        self.found = b""
        self.noise = b""  # the first KiB of the dropped output

    def feed(self, data: bytes) -> bytes:
        """Return the part of `data` that the command printed."""
        if self.open:
            return data
        self._buffer += data
        match = self._pattern.search(self._buffer)
        if match is None:
            self.noise = (self.noise + data)[:1024]
            self._buffer = self._buffer[-LONGEST_MARK:]
            return b""
        rest = self._buffer[match.end() :]
        self.open, self._buffer = True, b""
        self.found = match[1] if self._pattern.groups else b""
        return rest


def gates(marker: str) -> dict[str, Gate]:
    """Return the gates of both streams of a command started by `command_line`; that of stdout finds the PID."""
    return {"stdout": Gate(rb"%b(\d{1,10}):" % marker.encode()), "stderr": Gate(marker.encode())}

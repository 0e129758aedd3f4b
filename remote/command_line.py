"""A command for a host whose login shell is not known, its output told from the noise that the shell makes."""

import re
import shlex
from collections.abc import Sequence

from remote.errors import RemoteError

# What some login shell understands even between single quotes: fish the backslash, csh the other two.
_AWKWARD = {"\\": r"\0134", "!": r"\0041", "\n": r"\0012"}


def command_line(argv: Sequence[str], marker: str) -> str:
    """Return the line that makes any login shell run `argv` in place of itself.

    The shell only has to know `exec` and single quotes, as sh, bash, zsh, fish and csh do: it hands over to /bin/sh,
    which prints `marker` on both streams and then becomes the command. What comes before the marker is the login
    shell's (a ~/.bashrc that prints), what comes after it the command's; its exit status is the session's. On stdout
    the marker is followed by the process's number and a colon: sshd makes it the number of its process group, too.
    Raises RemoteError for a word that no command line can carry.
    """
    if any("\0" in word for word in argv):
        raise RemoteError("A command must not contain a NUL character.", "Leave it out.")
    script = f"printf %s {marker}$$:; printf %s {marker} >&2; exec {shlex.join(argv)}"
    if not any(character in script for character in _AWKWARD):
        return f"exec /bin/sh -c {shlex.quote(script)}"
    encoded = "".join(_AWKWARD.get(character, character) for character in script)
    return f"""exec /bin/sh -c 'eval "$(printf %b "$1")"' sh {shlex.quote(encoded)}"""


LONGEST_MARK = 128
"""Bytes from the beginning of a marker to its end, generously."""


class Gate:
    """Holds back what arrives up to the marker, which `pattern` matches. Its first group, if any, is `found`."""

    def __init__(self, pattern: bytes) -> None:
        self._pattern = re.compile(pattern)
        self._held = b""
        self.open = False
        self.found = b""
        self.noise = b""  # the beginning of what was held back

    def feed(self, data: bytes) -> bytes:
        """Return what of `data` is the command's."""
        if self.open:
            return data
        self._held += data
        match = self._pattern.search(self._held)
        if match is None:
            self.noise = (self.noise + data)[:1024]
            self._held = self._held[-LONGEST_MARK:]
            return b""
        rest = self._held[match.end() :]
        self.open, self._held = True, b""
        self.found = match[1] if self._pattern.groups else b""
        return rest


def gates(marker: str) -> dict[str, Gate]:
    """Return the gates of both streams of a command that was started by `command_line`; stdout's finds the process."""
    return {"stdout": Gate(rb"%b(\d{1,10}):" % marker.encode()), "stderr": Gate(marker.encode())}

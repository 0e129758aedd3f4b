"""A command for a host whose login shell is not known, its output told from the noise that the shell makes."""

import shlex
from collections.abc import Sequence

from remote.errors import RemoteError

# What some login shell understands even between single quotes: fish the backslash, csh the other two.
_AWKWARD = {"\\": r"\0134", "!": r"\0041", "\n": r"\0012"}


def command_line(argv: Sequence[str], marker: str) -> str:
    """Return the line that makes any login shell run `argv` in place of itself.

    The shell only has to know `exec` and single quotes, as sh, bash, zsh, fish and csh do: it hands over to /bin/sh,
    which prints `marker` on both streams and then becomes the command. What comes before the marker is the login
    shell's (a ~/.bashrc that prints), what comes after it the command's; its exit status is the session's.
    Raises RemoteError for a word that no command line can carry.
    """
    if any("\0" in word for word in argv):
        raise RemoteError("A command must not contain a NUL character.", "Leave it out.")
    script = f"printf %s {marker}; printf %s {marker} >&2; exec {shlex.join(argv)}"
    if not any(character in script for character in _AWKWARD):
        return f"exec /bin/sh -c {shlex.quote(script)}"
    encoded = "".join(_AWKWARD.get(character, character) for character in script)
    return f"""exec /bin/sh -c 'eval "$(printf %b "$1")"' sh {shlex.quote(encoded)}"""


class Gate:
    """Holds back what arrives before the marker."""

    def __init__(self, marker: bytes) -> None:
        self._marker = marker
        self._held = b""
        self.open = False
        self.noise = b""  # the beginning of what was held back

    def feed(self, data: bytes) -> bytes:
        """Return what of `data` is the command's."""
        if self.open:
            return data
        self._held += data
        _, found, rest = self._held.partition(self._marker)
        if found:
            self.open = True
            self._held = b""
            return rest
        self.noise = (self.noise + data)[:1024]
        self._held = self._held[-len(self._marker) :]
        return b""

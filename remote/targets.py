"""Has a host judge the paths that a command opens in the moment in which it starts."""

from collections.abc import Sequence

from remote.script import script
from suites.targets import Target, bounded

SCRIPT = "targets.sh"

REFUSED = 77
"""The exit status where a path must not be opened; standard error says which, and what it is."""


def judged(targets: Sequence[Target], argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words that become `argv` where the host finds nothing against any of `targets`."""
    if not targets:
        return tuple(argv)
    found = bounded(targets)
    words = (word for target in found for word in target.words)
    return ("sh", "-c", script(SCRIPT).decode(), "benchwright", str(len(found)), *words, *argv)

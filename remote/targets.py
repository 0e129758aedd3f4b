"""Has a host judge the paths that a command opens in the moment in which it starts."""

from collections.abc import Sequence

from remote.plain import plain
from remote.script import script
from suites.targets import Target, bounded

SCRIPT = "targets.sh"

_START = "benchwright: "

REFUSED = 77
"""The exit status where a path must not be opened; standard error says which, and what it is."""

MOST_SENTENCES = 5
LONGEST_SENTENCE = 5000
"""Characters; a path has 4096 at most."""


def refusal(exit_status: int | None, stderr: bytes) -> str:
    """Return why the host did not start a command, as sentences; empty where it started it."""
    if exit_status != REFUSED:
        return ""
    lines = stderr.decode("utf-8", "replace").split("\n")
    said = [plain(line.removeprefix(_START), LONGEST_SENTENCE) for line in lines if line.startswith(_START)]
    return " ".join(said[:MOST_SENTENCES])


def judged(targets: Sequence[Target], argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words that become `argv` where the host finds nothing against any of `targets`."""
    if not targets:
        return tuple(argv)
    found = bounded(targets)
    words = (word for target in found for word in target.words)
    return ("sh", "-c", script(SCRIPT).decode(), "benchwright", str(len(found)), *words, *argv)

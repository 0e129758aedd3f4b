"""Has a host judge the paths that a command opens in the moment in which it starts."""

from collections.abc import Sequence

from remote.plain import plain
from remote.script import script
from suites.targets import Target, bounded

SCRIPT = "targets.sh"

_START = "benchwright: "

CGROUPS = ("v1", "v2")
"""Versions of control groups; version 2 needs CGROUP_PROGRAM beside the command."""

CGROUP_PROGRAM = "device_cgroup"

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


def denied(host: str, stderr: bytes, *, closed: bool) -> str:
    """Return that the kernel may have kept a command that failed from a block device; empty where it did not.

    `closed` is the job's; `host` is in words.
    """
    if not closed or b"Operation not permitted" not in stderr:
        return ""
    return (
        f" Writing to block devices was closed for this step on {host}, which may be why: to write to a device on "
        "purpose, use the suite fio with “Raw device”."
    )


def judged(
    targets: Sequence[Target], argv: Sequence[str], *, device: str = "", versions: Sequence[str] = CGROUPS
) -> tuple[str, ...]:
    """Return the words that become `argv` where the host finds nothing against any of `targets`.

    In a job, root's command gets a control group of its own, of the first of `versions` that the host offers, in which
    the kernel opens no block device for writing but `device` (``MAJOR:MINOR``).
    """
    found = bounded(targets)
    words = (word for target in found for word in target.words)
    return (
        "sh",
        "-c",
        script(SCRIPT).decode(),
        "benchwright",
        " ".join(versions),
        device,
        str(len(found)),
        *words,
        *argv,
    )

"""Guard that checks, on the host and at the start of a command, the paths that the command will open."""

from collections.abc import Sequence

from remote.questions import plain
from remote.script import script
from suites.targets import Target, bounded

SCRIPT = "targets.sh"

_START = "benchwright: "

CGROUPS = ("v1", "v2")
"""cgroup versions; v2 needs CGROUP_PROGRAM in the workspace."""

CGROUP_PROGRAM = "device_cgroup"

REFUSED = 77
"""The guard's exit status if a path must not be opened; stderr names the path and the reason."""

MOST_SENTENCES = 5
LONGEST_SENTENCE = 5000
"""Characters; PATH_MAX is 4096."""


def refusal(exit_status: int | None, stderr: bytes) -> str:
    """Return the guard's reasons for not starting a command, as sentences; empty if it was started."""
    if exit_status != REFUSED:
        return ""
    lines = stderr.decode("utf-8", "replace").split("\n")
    reasons = [plain(line.removeprefix(_START), LONGEST_SENTENCE) for line in lines if line.startswith(_START)]
    return " ".join(reasons[:MOST_SENTENCES])


def denied(host: str, stderr: bytes, *, closed: bool) -> str:
    """Return a hint that the device cgroup may have caused a command's EPERM; empty if it did not.

    `closed` is the job's: whether block devices were closed for writing. `host` is a display name.
    """
    if not closed or b"Operation not permitted" not in stderr:
        return ""
    return (
        f" Possible cause: this step cannot write to block devices on {host}. To write to a device, use the suite fio "
        "with “filename (raw device)”."
    )


def target_guard(
    targets: Sequence[Target], argv: Sequence[str], *, device: str = "", versions: Sequence[str] = CGROUPS
) -> tuple[str, ...]:
    """Return an argv that execs `argv` only if the host allows all `targets`.

    In a job, root's command runs in its own cgroup, of the first of `versions` that the host offers, in which the
    kernel opens no block device for writing except those of `device` (``MAJOR:MINOR``, with spaces between).
    """
    found = bounded(targets)
    arguments = (word for target in found for word in target.words)
    return (
        "sh",
        "-c",
        script(SCRIPT).decode(),
        "benchwright",
        " ".join(versions),
        device,
        str(len(found)),
        *arguments,
        *argv,
    )

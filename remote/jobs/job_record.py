"""What a job writes down on its host, read: how it began, and how it ended."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

FULL_BELOW = 64
"""KiB free below which a file system is called full: output no longer fits."""


@dataclass(frozen=True, slots=True)
class Began:
    """What a job wrote down when its command began: enough to find it again, and no other in its place.

    `clock` is the host's monotonic clock (seconds since boot), `epoch` its wall clock, both read just before
    the command took over the process `pid`. `group` is the process group, whose leader began at `leader_started`
    (clock ticks since boot).
    """

    pid: int
    group: int
    leader_started: int
    boot_id: str
    clock: float
    epoch: float

    @classmethod
    def parse(cls, line: str) -> "Began":
        """Read the line that job.sh writes; raise ValueError for any other."""
        pid, group, leader_started, boot_id, clock, epoch, dot = line.split()
        if dot != ".":
            raise ValueError(line)
        seconds = epoch.split("%")[0].rstrip(".")  # where date knows no fraction it prints "%N"
        return cls(int(pid), int(group), int(leader_started), boot_id, float(clock), float(seconds))


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ended. `clock` is the host's monotonic clock at that moment.

    `exit_status` is None where none was written; `reason` then says why. `wrote` is the number of bytes that the
    command wrote to standard output and to standard error, None where the host does not report it.
    """

    exit_status: int | None = None
    clock: float | None = None
    reason: str = ""
    wrote: tuple[int, int] | None = None

    @classmethod
    def parse(cls, said: Mapping[str, str], *, stopped: bool, boot_id: str) -> "Ending":
        """Read the answers of job.sh to "status"; `stopped` tells that we asked the job to end, `boot_id` is that
        of the boot during which it began.
        """
        try:
            written, _, _ = said.get("rc", "").rpartition(" .")
            status_text, clock_text, *wrote = written.split()
            status, clock = int(status_text), float(clock_text)
            counts = (int(wrote[0]), int(wrote[1])) if len(wrote) == 2 else None
        except ValueError:
            return cls(reason=_join(_lost(said, boot_id, stopped=stopped), _starved(said), _full(said)))
        why = (_signalled(status, stopped=stopped), _starved(said), _full(said)) if status else ()
        return cls(status, clock, _join(*why), counts)


def restarted(said: Mapping[str, str], boot_id: str) -> bool:
    """Return whether the host that gave these answers has restarted since the boot `boot_id`."""
    return said.get("boot", boot_id) != boot_id


def booted(said: Mapping[str, str]) -> str:
    """Return since when the host runs, in words: by its own uptime and this computer's clock."""
    try:
        began = datetime.now(UTC) - timedelta(seconds=float(said["up"]))
    except (KeyError, ValueError, OverflowError):
        return "at a time it does not tell"
    return f"at {began:%H:%M:%S} UTC"


def _join(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)


def _lost(said: Mapping[str, str], boot_id: str, *, stopped: bool) -> str:
    if restarted(said, boot_id):
        return "the host restarted"
    if "gone" in said:
        return "its directory on the host was removed"
    if "foreign" in said or "open" in said:
        return "its directory on the host was replaced, or opened to other accounts"
    if stopped:
        return "stopped: it did not end when asked to and was killed"
    if "rc" in said:
        return "the file with its exit status was changed on the host"
    return "killed on the host: it left no exit status"


def _signalled(status: int, *, stopped: bool) -> str:
    if stopped:
        return "stopped"
    try:
        return f"ended by {signal.Signals(status - 128).name}"  # a shell reports a signal as 128 and its number
    except ValueError:
        return ""


def _starved(said: Mapping[str, str]) -> str:
    """Say that the kernel ended processes for want of memory while the command ran: /proc/vmstat, oom_kill."""
    count = said.get("starved", "")
    if not count.isdecimal() or int(count) == 0:
        return ""
    return f"the host ran out of memory, and its kernel ended {count} process{'' if count == '1' else 'es'} (OOM)"


def _full(said: Mapping[str, str]) -> str:
    free = said.get("free", "")
    return "the file system that holds its output is full" if free.isdecimal() and int(free) < FULL_BELOW else ""

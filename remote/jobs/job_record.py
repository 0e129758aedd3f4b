"""Records of a job on its host: start and exit."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

FULL_BELOW = 64
"""Free KiB below which a file system counts as full."""


@dataclass(frozen=True, slots=True)
class JobStart:
    """Start of a job, with what identifies its processes after PIDs were reused.

    `clock` is the host's monotonic clock (seconds since boot), `epoch` its wall clock, both read just before the
    process `pid` executed the command. `group` is the process group, whose leader started at `leader_started` (clock
    ticks since boot).
    """

    pid: int
    group: int
    leader_started: int
    boot_id: str
    clock: float
    epoch: float

    @classmethod
    def parse(cls, line: str) -> "JobStart":
        """Read the line that job.sh writes; raise ValueError for any other."""
        pid, group, leader_started, boot_id, clock, epoch, dot = line.split()
        if dot != ".":
            raise ValueError(line)
        seconds = epoch.split("%")[0].rstrip(".")  # a date without fractions (BusyBox) prints "%N"
        return cls(int(pid), int(group), int(leader_started), boot_id, float(clock), float(seconds))


@dataclass(frozen=True, slots=True)
class JobExit:
    """Exit of a job. `clock` is the host's monotonic clock at the exit.

    `exit_status` is None if none was written, with the cause in `reason`. `wrote` is the number of bytes that the
    command wrote to stdout and to stderr, None if the host does not report it.
    """

    exit_status: int | None = None
    clock: float | None = None
    reason: str = ""
    wrote: tuple[int, int] | None = None

    @classmethod
    def parse(cls, reply: Mapping[str, str], *, stopped: bool, boot_id: str) -> "JobExit":
        """Parse the reply of job.sh to "status"; `stopped` is whether the job was stopped on request, `boot_id` that
        of the boot in which it was started.
        """
        try:
            written, _, _ = reply.get("rc", "").rpartition(" .")
            status_text, clock_text, *wrote = written.split()
            status, clock = int(status_text), float(clock_text)
            counts = (int(wrote[0]), int(wrote[1])) if len(wrote) == 2 else None
        except ValueError:
            return cls(reason=_join(_lost(reply, boot_id, stopped=stopped), _out_of_memory(reply), _full(reply)))
        reasons = (_signalled(status, stopped=stopped), _out_of_memory(reply), _full(reply)) if status else ()
        return cls(status, clock, _join(*reasons), counts)


def restarted(reply: Mapping[str, str], boot_id: str) -> bool:
    """Return whether the host that sent `reply` has restarted since the boot `boot_id`."""
    return reply.get("boot", boot_id) != boot_id


def booted(reply: Mapping[str, str]) -> str:
    """Return the host's boot time as text, from its uptime and this computer's clock."""
    try:
        began = datetime.now(UTC) - timedelta(seconds=float(reply["up"]))
    except (KeyError, ValueError, OverflowError):
        return "at an unknown time"
    return f"at {began:%H:%M:%S} UTC"


def _join(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)


def _lost(reply: Mapping[str, str], boot_id: str, *, stopped: bool) -> str:
    if restarted(reply, boot_id):
        return "the host restarted"
    if "gone" in reply:
        return "its directory on the host was removed"
    if "foreign" in reply or "open" in reply:
        return "its directory on the host was replaced, or opened to other accounts"
    if stopped:
        return "stopped: ignored SIGTERM and was killed"
    if "rc" in reply:
        return "the file with its exit status was changed on the host"
    return "killed on the host: no exit status"


def _signalled(status: int, *, stopped: bool) -> str:
    if stopped:
        return "stopped"
    try:
        return f"ended by {signal.Signals(status - 128).name}"  # a shell reports a signal as 128 and its number
    except ValueError:
        return ""


def _out_of_memory(reply: Mapping[str, str]) -> str:
    """Return the count of OOM kills on the host while the command ran (/proc/vmstat, oom_kill), as a reason."""
    count = reply.get("starved", "")
    if not count.isdecimal() or int(count) == 0:
        return ""
    return f"out of memory: the host's kernel killed {count} process{'' if count == '1' else 'es'} (OOM)"


def _full(reply: Mapping[str, str]) -> str:
    free = reply.get("free", "")
    return "the file system that holds its output is full" if free.isdecimal() and int(free) < FULL_BELOW else ""

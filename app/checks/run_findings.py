"""Findings that the run raises itself (app/runs/findings.py), declared as checks for the catalogue."""

from dataclasses import dataclass
from functools import partial

from suites.checks import Check, CheckOutcome, CheckPhase, NotChecked
from suites.vocab import Finding, Severity


@dataclass(frozen=True, slots=True)
class FindingScope:
    """The subject of a finding: a host, and optionally one of its steps."""

    host: str
    name: str | None = None


def finding_of(
    check: Check[FindingScope], host: str, measured: str, *, step: str | None = None, remedy: str | None = None
) -> Finding:
    """Return the finding of `check` on `host`; `remedy` replaces the check's own."""
    return check.finding_for(CheckOutcome(measured, remedy=remedy), FindingScope(host, step))


def _by_the_run(_scope: FindingScope) -> NotChecked:
    return NotChecked("Reported during a run.")


_raised = partial(Check, when=CheckPhase.DURING, evaluate=_by_the_run)

HOST_IN_USE = _raised(
    id="host-in-use",
    severity=Severity.WARNING,
    title="Another measurement uses this host",
    why="Concurrent measurements lower both figures by an unknown amount.",
    remedy="Run it again when the host is free.",
    source="The lease on the host.",
    needs="A directory in memory on the host, /dev/shm or /tmp, for the leases.",
)

STREAMS_HERE = _raised(
    id="streams-here",
    severity=Severity.INFO,
    title="Other runs stream through this computer",
    why="Receiving their results uses CPU and network of the measured host.",
    remedy="Measure this computer while no other run is under way.",
    source="The queue of runs on this computer.",
    needs="The queue of runs on this computer.",
)

NOT_PROFILED = _raised(
    id="not-profiled",
    severity=Severity.INFO,
    title="No profile",
    why="The figures are unaffected: the profiled trial never counts.",
    remedy="Install perf of the running kernel, and allow it: as root, sysctl kernel.perf_event_paranoid=2.",
    source="perf-record(1), perf_event_open(2).",
    needs="perf on the host, and access to perf_event_open(2).",
)

NO_LEASE = _raised(
    id="no-lease",
    severity=Severity.INFO,
    title="No lease on this host",
    why="Other users get no warning that a run is active, and may disturb it.",
    remedy="Make /dev/shm or /tmp writable for every account on the host.",
    source="mkdir(2) on the host.",
    needs="A directory in memory on the host that every account may write to.",
)

TELEMETRY_REPLACED = _raised(
    id="telemetry-replaced",
    severity=Severity.WARNING,
    title="Telemetry by the script",
    why="The script that replaces it does not count the test’s I/O, page faults and waits, nor the CPU time of others.",
    remedy="Find what ended it on the host (dmesg, security software), then run it again.",
    source="The start and the end of the telemetry program on the host.",
    needs="An architecture that the program is built for: x86-64 or aarch64.",
)

CLOCK_STEPPED = _raised(
    id="clock-stepped",
    severity=Severity.WARNING,
    title="Host clock was stepped",
    why="Samples follow the monotonic clock and keep their order. A tool that reads the wall clock counts the step as "
    "elapsed time, and timestamps of this run do not match.",
    remedy="Let chrony or systemd-timesyncd synchronise the clock before measuring, and run it again.",
    source="Wall clock against /proc/uptime on the host; round-trip midpoint at the start and at the end.",
    needs="Both clocks of the host, once a second.",
)

CONNECTION_LOST = _raised(
    id="connection-lost",
    severity=Severity.INFO,
    title="Connection was interrupted",
    why="The test continued on the host and none of its output is missing. Telemetry has a gap.",
    remedy="If it happens again, check the network between this computer and the host.",
    source="The connection.",
    needs="The connection to the host.",
)

NOT_ATTACHED = _raised(
    id="not-attached",
    severity=Severity.INFO,
    title="Trial ran while detached",
    why="The test continued on the host and none of its output is missing. Telemetry has a gap.",
    remedy="To have the telemetry of a whole trial, stay attached until it ends.",
    source="The attach.",
    needs="A run that is attached again.",
)

INTERRUPTIONS = {
    CONNECTION_LOST.id: "the connection was lost",
    NOT_ATTACHED.id: "Benchwright was not attached",
}
"""Why telemetry of a trial may have a gap, by the finding raised during it."""

PATH_USED = _raised(
    id="path-used",
    severity=Severity.INFO,
    title="Network path of this test",
    why="Another interface, router or packet size gives another figure.",
    remedy="Compare only with figures of the same path.",
    source="ip route get on the host; the boot ids of both ends.",
    needs="The host's route to the other end.",
)

MTU_NOT_CARRIED = _raised(
    id="mtu-not-carried",
    severity=Severity.WARNING,
    title="Path drops packets of the MTU",
    why="Large packets are dropped on the way: TCP stalls until it finds a smaller size, and datagrams are lost.",
    remedy="Set the MTU that the path carries (ip link set dev eth0 mtu 1500), or allow larger frames on every switch.",
    source="ping -M do with packets as large as the interface's MTU; RFC 4821.",
    needs="An MTU beyond 1500 B, ping of iputils, and an answer of the other end to a small packet.",
)

NOT_TUNED = _raised(
    id="not-tuned",
    severity=Severity.WARNING,
    title="Requested tuning was not applied",
    why="The plan continues without tuning that cannot be applied. The figures are those of the untuned host and "
    "compare badly with those of a tuned one.",
    remedy="Sign in as root or let the account use sudo, or remove the tuning from the plan.",
    source="The host’s reply.",
    needs="The tuning in the plan.",
)

HOST_TUNED = _raised(
    id="host-tuned",
    severity=Severity.INFO,
    title="Host was tuned for the run",
    why="The figures are those of the tuned host, not of its normal settings.",
    remedy="Compare only with runs that used the same tuning.",
    source="The plan; the kernel’s own files, read before and after.",
    needs="The tuning in the plan.",
)

HOST_CHANGED = _raised(
    id="host-changed",
    severity=Severity.WARNING,
    title="Earlier tuning was not restored",
    why="The figures are not those of the host’s normal settings.",
    remedy="Restore them with: benchwright hosts restore HOST",
    source="/run/benchwright-changes on the host.",
    needs="The record that earlier runs left on the host.",
)

NOT_SETTLED = _raised(
    id="not-settled",
    severity=Severity.INFO,
    title="Stopping criterion not reached",
    why="The most trials that the plan allows did not reach its goal: a precision, or a verdict against the baseline.",
    remedy="Allow more trials, relax the criterion, or find what makes the trials vary.",
    source="N ≈ (z·s/d)²: the trials needed grow with the square of their CoV.",
    needs="The repetition, and the figures so far.",
)

CHECK_FAILED = _raised(
    id="check-failed",
    when=CheckPhase.AFTER,
    severity=Severity.INFO,
    title="A check could not be made",
    why="A defect in Benchwright ended the check: the verdict rests on the other checks.",
    remedy="Report it with benchwright.log.",
    source="Benchwright.",
    needs="Nothing.",
)

READ_OTHERWISE = _raised(
    id="read-otherwise",
    when=CheckPhase.AFTER,
    severity=Severity.ERROR,
    title="Imported file is read otherwise now",
    why="A later version reads other figures in the same file: the stored ones may be wrong.",
    remedy="Import the file again, and delete this run.",
    source="The file as it was imported.",
    needs="The imported file, which a redacted export lacks.",
)

RAISED_CHECKS = (
    HOST_IN_USE,
    STREAMS_HERE,
    NOT_PROFILED,
    TELEMETRY_REPLACED,
    NO_LEASE,
    CLOCK_STEPPED,
    CONNECTION_LOST,
    NOT_ATTACHED,
    PATH_USED,
    MTU_NOT_CARRIED,
    HOST_CHANGED,
    HOST_TUNED,
    NOT_TUNED,
    CHECK_FAILED,
    NOT_SETTLED,
    READ_OTHERWISE,
)

"""What the run itself finds while it goes on: the words of these findings. Who raises them is app/runs/findings.py."""

from dataclasses import dataclass

from suites.checks import CannotTell, Check, Outcome, When
from suites.vocab import Finding, Level


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was found: on a host, and of one step or of none."""

    host: str
    name: str | None = None


def finding_of(check: Check[Place], place: Place, measured: str, remedy: str | None = None) -> Finding:
    """Return the finding of `check` at `place`; `remedy` stands in for its own."""
    return check.worded(Outcome(measured, remedy=remedy), place)


def _by_the_run(_place: Place) -> CannotTell:
    return CannotTell("Reported by the run itself, when it happens.")


HOST_IN_USE = Check(
    id="host-in-use",
    level=Level.WARNING,
    title="Another measurement uses this host",
    why="Two measurements on one host disturb each other: both figures are lower, and neither says by how much.",
    remedy="Run it again when the host is free.",
    source="The lease on the host.",
    needs="A directory in memory on the host, /dev/shm or /tmp, for the leases.",
    when=When.DURING,
    evaluate=_by_the_run,
)

NO_LEASE = Check(
    id="no-lease",
    level=Level.INFO,
    title="Other users cannot see this run",
    why="A second measurement there gets no warning and disturbs this one.",
    remedy="Make /dev/shm or /tmp writable for every account on the host.",
    source="mkdir(2) on the host.",
    needs="A directory in memory on the host that every account may write to.",
    when=When.DURING,
    evaluate=_by_the_run,
)

CLOCK_STEPPED = Check(
    id="clock-stepped",
    level=Level.WARNING,
    title="The host’s clock was set",
    why="The samples are in the order of its monotonic clock, which cannot be set. A tool that reads the wall clock "
    "takes the step for time that passed, and times of day in this run do not fit together.",
    remedy="Let chrony or systemd-timesyncd settle before measuring, and run it again.",
    source="Wall clock against /proc/uptime on the host; the middle of the round trip, at the start and at the end.",
    needs="Both clocks of the host, once a second.",
    when=When.DURING,
    evaluate=_by_the_run,
)

CONNECTION_LOST = Check(
    id="connection-lost",
    level=Level.INFO,
    title="The connection was lost for a while",
    why="The test ran on there and none of its output is missing. What else the host did in this time is not known: "
    "its curves have a gap.",
    remedy="Nothing needs to be done.",
    source="The connection itself.",
    needs="The connection to the host.",
    when=When.DURING,
    evaluate=_by_the_run,
)

PATH_USED = Check(
    id="path-used",
    level=Level.INFO,
    title="The path of this test",
    why="The figure is this path's: by another interface, router or packet size it would be another.",
    remedy="Compare it with figures of the same path.",
    source="ip route get on the host; the boot ids of both ends.",
    needs="The routes of the host to the other end.",
    when=When.DURING,
    evaluate=_by_the_run,
)

NOT_TUNED = Check(
    id="not-tuned",
    level=Level.WARNING,
    title="The host is not as the plan asks",
    why="The plan asks for another state of the host, and to go on without it where it cannot be had. The figures are "
    "those of the host as it is, and compare badly with those of one that was changed.",
    remedy="Sign in as root or let the account use sudo; or take the change out of the plan.",
    source="The host’s own answer.",
    needs="The changes of the host that the plan asks for.",
    when=When.DURING,
    evaluate=_by_the_run,
)

HOST_TUNED = Check(
    id="host-tuned",
    level=Level.INFO,
    title="The host was changed for the run",
    why="The figures are those of the host as it was changed, not as its owner keeps it.",
    remedy="Compare only with runs for which it was changed alike.",
    source="The plan; the kernel’s own files, read before and after.",
    needs="The changes of the host that the plan asks for.",
    when=When.DURING,
    evaluate=_by_the_run,
)

HOST_CHANGED = Check(
    id="host-changed",
    level=Level.WARNING,
    title="An earlier run left the host changed",
    why="The figures are not those of the host as its owner keeps it.",
    remedy="Put it back with: benchwright hosts restore HOST",
    source="/run/benchwright-changes on the host.",
    needs="What earlier runs noted down on the host.",
    when=When.DURING,
    evaluate=_by_the_run,
)

NOT_SETTLED = Check(
    id="not-settled",
    level=Level.INFO,
    title="Ended unsettled",
    why="The trials that the plan allows were not enough for the answer it asks for.",
    remedy="Allow more trials, ask for less, or find what makes the trials differ.",
    source="N ≈ (z·s/d)²: the trials needed grow with the square of their spread.",
    needs="The repetition, and the figures so far.",
    when=When.DURING,
    evaluate=_by_the_run,
)

UNSTEADY_START = Check(
    id="unsteady-start",
    level=Level.INFO,
    title="The start differs from the rest",
    why="Caches, clocks or credits were still settling, and the figure holds that time, too.",
    remedy="Let the tool ramp up that long, or run longer. Nothing was left out.",
    source="MSER-5 (White 1997) and least-squares change points.",
    needs="The samples of the leading figure.",
    when=When.DURING,
    evaluate=_by_the_run,
)

RAISED_CHECKS = (
    HOST_IN_USE,
    NO_LEASE,
    CLOCK_STEPPED,
    CONNECTION_LOST,
    PATH_USED,
    HOST_CHANGED,
    HOST_TUNED,
    NOT_TUNED,
    UNSTEADY_START,
    NOT_SETTLED,
)

"""What is found out while a run is under way, as findings: about its hosts, not about what was measured."""

from app.ages import age_text
from app.left import seconds_since
from app.plan import LOCAL
from remote.clock_watch import SLEWING, STEP, ClockStep
from remote.lease import Holder
from suites.facts import Facts, known
from suites.network_path import NetworkPath
from suites.vocab import Finding, Level

HOST_IN_USE = "host-in-use"
NO_LEASE = "no-lease"
CLOCK_STEPPED = "clock-stepped"
CONNECTION_LOST = "connection-lost"
PATH_USED = "path-used"

APART = 1.0
"""Seconds by which two offsets may differ: what measuring them over a slow connection is uncertain by."""


def host_in_use(host: str, holder: Holder) -> Finding:
    """Return the finding that somebody else measures `host`, too."""
    return Finding(
        id=HOST_IN_USE,
        level=Level.WARNING,
        title="Somebody else measures this host",
        measured=f"{holder_text(holder, host)}.",
        why="Two measurements on one host disturb each other: both figures are lower, and neither says by how much.",
        remedy="Run it again when the host is free.",
        source="The lease on the host.",
        host=host,
    )


def no_lease(host: str) -> Finding:
    """Return the finding that others on `host` cannot be told of this run."""
    return Finding(
        id=NO_LEASE,
        level=Level.INFO,
        title="Others are not told of this run",
        measured=f"On {host}, neither /dev/shm nor /tmp takes a lease.",
        why="Somebody who measures there at the same time is not warned, and their test disturbs this one.",
        remedy="Make /dev/shm or /tmp writable for everybody on the host.",
        source="mkdir(2) on the host.",
        host=host,
    )


def clock_stepped(host: str, step: ClockStep) -> Finding:
    """Return the finding that the wall clock of `host` was set."""
    way, size = "forward" if step.seconds > 0 else "back", abs(step.seconds)
    return Finding(
        id=CLOCK_STEPPED,
        level=Level.WARNING,
        title="The host’s clock was set",
        measured=f"The wall clock of {host} was set {way} by {size:.{1 if size >= 10 else 2}f} s.",
        why="The samples are in the order of its monotonic clock, which cannot be set. A tool that reads the wall "
        "clock takes the step for time that passed.",
        remedy="Let chrony or systemd-timesyncd settle before measuring, and run it again.",
        source=f"Wall clock against /proc/uptime on the host; a step is {STEP} s or more.",
        host=host,
    )


def clocks_apart(host: str, before: Facts, after: Facts) -> list[Finding]:
    """Return the finding that the clocks of `host` and the workstation moved apart, if they did."""
    first, last = known(before.system.clock_offset), known(after.system.clock_offset)
    if first is None or last is None or abs(last - first) < APART + SLEWING * seconds_since(before.read_at):
        return []
    return [_clocks_apart(host, first, last)]


def _clocks_apart(host: str, before: float, after: float) -> Finding:
    return Finding(
        id=CLOCK_STEPPED,
        level=Level.WARNING,
        title="A clock was set",
        measured=f"The clock of {host} was {before:+.2f} s off this computer’s at first, {after:+.2f} s at the end.",
        why="The samples are in the order of the host’s monotonic clock, which cannot be set. Times of day in this "
        "run do not fit together.",
        remedy="Keep both clocks synchronised, with chrony or systemd-timesyncd.",
        source="The middle of the round trip, at the start and at the end.",
        host=host,
    )


def connection_lost(host: str, seconds: float, detail: str) -> Finding:
    """Return the finding that there was no connection to `host` for some time."""
    return Finding(
        id=CONNECTION_LOST,
        level=Level.INFO,
        title="The connection was lost for a while",
        measured=f"Nothing was heard of {host} for {seconds:.0f} s. {detail}".strip(),
        why="The test ran on there and none of its output is missing. What else the host did in this time is not "
        "known: its curves have a gap.",
        remedy="Nothing needs to be done.",
        source="The connection itself.",
        host=host,
    )


def path_used(step: str, host: str, peer: str, path: NetworkPath) -> Finding:
    """Return the finding that tells which way the data of a network test go."""
    return Finding(
        id=PATH_USED,
        level=Level.INFO,
        title="The path of this test",
        measured=path.words(_named(host), _named(peer)),
        why="The figure is this path's: by another interface, router or packet size it would be another.",
        remedy="Compare it with figures of the same path.",
        source="ip route get on the host; the boot ids of both ends.",
        step=step,
        host=host,
    )


def _named(host: str) -> str:
    return "this computer" if host == LOCAL else host


def holder_text(holder: Holder, host: str) -> str:
    """Return who measures a host, since when and how fresh that is: ``ann@desk measures on web-1 (account …``."""
    who = holder.workstation or f"the account {holder.account}"
    parts = [f"account {holder.account}"] if holder.workstation else []
    if holder.run:
        parts.append(f"run {holder.run}")
    if holder.held is not None and holder.held >= 0:
        parts.append(f"for {age_text(holder.held)}")
    parts.append("its test runs now" if holder.working else f"last sign of life {age_text(holder.silent)} ago")
    return f"{who} measures on {'this computer' if host == LOCAL else host} ({', '.join(parts)})"

"""What is found out while a run is under way, as findings: about its hosts, not about what was measured."""

from app.checks import raised
from app.checks.raised import Place, finding_of
from app.moments import age_text
from app.plans.plan import LOCAL, host_words
from app.runs.left import seconds_since
from remote.jobs.lease import Claim, Holder
from remote.telemetry.clock_watch import SLEWING, ClockStep
from suites.facts import Facts, known
from suites.network_path import NetworkPath
from suites.vocab import Finding

HOST_IN_USE = raised.HOST_IN_USE.id
NO_LEASE = raised.NO_LEASE.id
CLOCK_STEPPED = raised.CLOCK_STEPPED.id
CONNECTION_LOST = raised.CONNECTION_LOST.id
PATH_USED = raised.PATH_USED.id

APART = 1.0
"""Seconds by which two offsets may differ: what measuring them over a slow connection is uncertain by."""


def host_in_use(host: str, claimed: Claim) -> Finding:
    """Return the finding that somebody else measures `host`, too, or that this is not known."""
    return finding_of(raised.HOST_IN_USE, Place(host), f"{holders_text(claimed, host)}.")


def holders_text(claimed: Claim, host: str) -> str:
    """Return who measures a host besides this run; that it is not known, where not all leases could be read."""
    if claimed.holders:
        return holder_text(claimed.holders[0], host)
    where = "this computer" if host == LOCAL else host
    return f"Not checked: other measurements on {where}, whose list of leases is too long"


def no_lease(host: str) -> Finding:
    """Return the finding that others on `host` cannot be told of this run."""
    return finding_of(raised.NO_LEASE, Place(host), f"On {host}, neither /dev/shm nor /tmp takes a lease.")


def clock_stepped(host: str, step: ClockStep) -> Finding:
    """Return the finding that the wall clock of `host` was set."""
    way, size = "forward" if step.seconds > 0 else "back", abs(step.seconds)
    return finding_of(
        raised.CLOCK_STEPPED,
        Place(host),
        f"The wall clock of {host_words(host)} was set {way} by {size:.{1 if size >= 10 else 2}f} s.",
    )


def clocks_apart(host: str, before: Facts, after: Facts) -> list[Finding]:
    """Return the finding that the clocks of `host` and the workstation moved apart, if they did."""
    first, last = known(before.system.clock_offset), known(after.system.clock_offset)
    if first is None or last is None or abs(last - first) < APART + SLEWING * seconds_since(before.read_at):
        return []
    return [_clocks_apart(host, first, last)]


def _clocks_apart(host: str, before: float, after: float) -> Finding:
    return finding_of(
        raised.CLOCK_STEPPED,
        Place(host),
        f"The clock of {host_words(host)} was {before:+.2f} s off this computer’s at first, {after:+.2f} s at the end.",
    )


def connection_lost(host: str, seconds: float, detail: str) -> Finding:
    """Return the finding that there was no connection to `host` for some time."""
    return finding_of(
        raised.CONNECTION_LOST,
        Place(host),
        f"Nothing was heard of {host_words(host)} for {seconds:.0f} s. {detail}".strip(),
    )


def path_used(step: str, host: str, peer: str, path: NetworkPath) -> Finding:
    """Return the finding that tells which way the data of a network test go."""
    return finding_of(raised.PATH_USED, Place(host, step), path.words(host_words(host), host_words(peer)))


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

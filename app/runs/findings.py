"""Findings about the hosts of a run, raised while it runs."""

import shlex
from collections.abc import Sequence

from app.checks import run_findings
from app.checks.run_findings import finding_of
from app.events import HostChange
from app.plans.plan import LOCAL, host_label
from app.plans.tuning import path_title
from app.timestamps import seconds_since
from remote.jobs.lease import Claim, Holder
from remote.telemetry.telemetry import SLEWING, STEP, ClockStep
from remote.tuning import SettingNote
from suites.facts import Facts, known
from suites.network_path import NetworkPath
from suites.quantities import age_text, count_text, duration_text, listed, offset_text
from suites.vocab import Finding

HOST_IN_USE = run_findings.HOST_IN_USE.id
CLOCK_STEPPED = run_findings.CLOCK_STEPPED.id
CONNECTION_LOST = run_findings.CONNECTION_LOST.id
PATH_USED = run_findings.PATH_USED.id

MOST_NAMED = 4
"""Settings listed by name; the rest are counted."""


def host_in_use(host: str, in_use: str) -> Finding:
    """Return the finding that another run measures `host`, or that this was not checked."""
    measured = f"{in_use[:1].upper()}{in_use[1:]}." if in_use.startswith("the run ") else f"{in_use}."
    return finding_of(run_findings.HOST_IN_USE, host, measured)


def streams_here(hosts: Sequence[str]) -> Finding:
    """Return the finding that runs on other `hosts` stream their results through this computer, which is measured."""
    measured = f"{count_text(len(hosts), 'other host')} measured from this computer: {listed(hosts, MOST_NAMED)}."
    return finding_of(run_findings.STREAMS_HERE, LOCAL, measured)


def not_profiled(step: str, host: str, reason: str) -> Finding:
    """Return the finding that the profiled trial of `step` on `host` has no profile."""
    return finding_of(run_findings.NOT_PROFILED, host, f"{host_label(host)}: {reason}.", step=step)


def holders_text(claimed: Claim, host: str) -> str:
    """Return who else measures a host, or that this was not checked because not all leases could be read."""
    if claimed.holders:
        return holder_text(claimed.holders[0], host)
    return f"Not checked: other measurements on {host_label(host)} (list of leases too long)"


def no_lease(host: str) -> Finding:
    """Return the finding that no lease could be created on `host`."""
    measured = f"No lease on {host_label(host)}: /dev/shm and /tmp are not usable."
    return finding_of(run_findings.NO_LEASE, host, measured)


def telemetry_replaced(host: str) -> Finding:
    """Return the finding that the telemetry program of `host` ended and the script continued."""
    measured = f"The telemetry program on {host_label(host)} ended; the script continues."
    return finding_of(run_findings.TELEMETRY_REPLACED, host, measured)


def telemetry_refused(host: str) -> Finding:
    """Return the finding that `host` did not run the telemetry program."""
    measured = f"{host_label(host)} does not run the telemetry program; the script runs instead."
    remedy = "Mount /tmp, /var/tmp or the home directory on the host without noexec, or free space there."
    return finding_of(run_findings.TELEMETRY_REPLACED, host, measured, remedy=remedy)


def clock_stepped(host: str, step: ClockStep) -> Finding:
    """Return the finding that the wall clock of `host` was stepped."""
    way, size = "forward" if step.seconds > 0 else "back", abs(step.seconds)
    measured = f"Wall clock of {host_label(host)} stepped {way} by {size:.{1 if size >= 10 else 2}f} s."
    return finding_of(run_findings.CLOCK_STEPPED, host, measured)


def clock_offset_changed(host: str, before: Facts, after: Facts) -> list[Finding]:
    """Return the finding that the clock offset between `host` and the workstation changed, if it did.

    A change counts beyond the uncertainty of both offsets and what time synchronisation slews, from STEP on.
    """
    first, last = known(before.system.clock_offset), known(after.system.clock_offset)
    if first is None or last is None:
        return []
    blurs = [known(facts.system.clock_offset_uncertainty) or 0.0 for facts in (before, after)]
    if abs(last - first) < STEP + sum(blurs) + SLEWING * seconds_since(before.read_at):
        return []
    measured = (
        f"Clock offset of {host_label(host)} to this computer: {offset_text(first, blurs[0])} before, "
        f"{offset_text(last, blurs[1])} after the run."
    )
    return [finding_of(run_findings.CLOCK_STEPPED, host, measured)]


def connection_lost(host: str, seconds: float, detail: str) -> Finding:
    """Return the finding that the connection to `host` was lost for `seconds`."""
    measured = f"No data from {host_label(host)} for {seconds:.0f} s. {detail}".strip()
    return finding_of(run_findings.CONNECTION_LOST, host, measured)


def not_attached(host: str, step: str, seconds: float) -> Finding:
    """Return the finding that a trial ran while no Benchwright was attached; `seconds` since it began."""
    began = duration_text(seconds)
    return finding_of(run_findings.NOT_ATTACHED, host, f"Attached again {began} after the trial began.", step=step)


def path_used(step: str, host: str, peer: str, path: NetworkPath) -> Finding:
    """Return the finding that names the network path of a test."""
    return finding_of(run_findings.PATH_USED, host, path.words(host_label(host), host_label(peer)), step=step)


def mtu_not_carried(step: str, host: str, path: NetworkPath) -> list[Finding]:
    """Return the finding that packets as large as the MTU do not arrive at the other end, if they do not."""
    if path.carried is None or path.mtu is None or path.carried >= path.mtu:
        return []
    measured = (
        f"Packets of {path.mtu} B from {path.interface} do not arrive at {path.address}; those of {path.carried} B do."
    )
    return [finding_of(run_findings.MTU_NOT_CARRIED, host, measured, step=step)]


def holder_text(holder: Holder, host: str) -> str:
    """Return who measures a host and for how long: ``ann@desk measures on web-1 (account …``."""
    who = holder.workstation or f"the account {holder.account}"
    parts = [f"account {holder.account}"] if holder.workstation else []
    if holder.run:
        parts.append(f"run {holder.run}")
    if holder.age is not None and holder.age >= 0:
        parts.append(f"for {age_text(holder.age)}")
    parts.append("test running" if holder.working else f"last heartbeat {age_text(holder.silent)} ago")
    return f"{who} measures on {host_label(host)} ({', '.join(parts)})"


def not_tuned(host: str, reason: str) -> Finding:
    """Return the finding that a setting of `host` was not changed and the run continued without it."""
    return finding_of(run_findings.NOT_TUNED, host, reason)


def host_tuned(host: str, changes: Sequence[HostChange], *, drops_caches: bool) -> Finding:
    """Return the finding that settings of `host` were changed for the run."""
    changed = [f"{change.what}: {change.during} (was {change.before})" for change in changes[:MOST_NAMED]]
    if len(changes) > MOST_NAMED:
        changed.append(f"{len(changes) - MOST_NAMED} more")
    if drops_caches:
        changed.append("page cache dropped before each trial")
    measured = f"{'; '.join(changed)}." if changed else "No change: every setting had its planned value."
    return finding_of(run_findings.HOST_TUNED, host, measured)


def host_changed(host: str, notes: Sequence[SettingNote]) -> Finding:
    """Return the finding that an earlier run left settings of `host` changed."""
    changed = [f"{path_title(note.path)} is {note.during} instead of {note.before}" for note in notes[:MOST_NAMED]]
    more = f", and {len(notes) - MOST_NAMED} more" if len(notes) > MOST_NAMED else ""
    first = notes[0]
    age = "" if first.age is None else f", {age_text(first.age)} ago"
    measured = f"{'; '.join(changed)}{more} (run {first.run} of {first.workstation}{age})."
    remedy = f"Run: benchwright hosts restore {shlex.quote(host)}"
    return finding_of(run_findings.HOST_CHANGED, host, measured, remedy=remedy)

"""Messages about repetition decisions and detached runs."""

from app.detached_runs import DetachedRun
from app.events import Decision, LinkChanged, LinkState, Trial
from app.plans.plan import host_label
from suites.quantities import age_text, count_text, duration_text, figure_text, metric_text
from suites.vocab import Labels, Metric

NOT_HEARD = frozenset({LinkState.STALLED, LinkState.LOST, LinkState.RECONNECTING})
"""States of a link over which nothing is heard, though its host may still measure."""


def decision_text(metric: Metric | None, labels: Labels, decision: Decision) -> str:
    """Return the decision with its figure: ``IOPS, read: 412k IOPS, ±3.1 % after 7 trials, wanted ±2 %``."""
    if metric is None:
        return decision.reason
    shown = decision.value is not None and not decision.of_ratio
    value = f"{figure_text(metric, decision.value, _half(decision))}, " if shown and decision.value is not None else ""
    return f"{metric_text(metric, labels)}: {value}{decision.reason}"


def forecast_text(decision: Decision) -> str:
    """Return the forecast: ``at least 5 more trials, 2 min``, without a goal ``about``; empty if no trials remain.

    If the plan may end before the goal: ``the goal may not be reached within the plan, 5 more trials, 2 min``.
    """
    if decision.stop:
        return ""
    if decision.more is None:
        return "number of remaining trials unknown"
    plural = "" if decision.more == 1 else "s"
    time = "" if decision.seconds is None else f", {duration_text(decision.seconds)}"
    if decision.beyond:
        return f"the goal may not be reached within the plan, {decision.more} more trial{plural}{time}"
    amount = "about" if decision.wanted is None else "at least"
    return f"{amount} {decision.more} more trial{plural}{time}"


def _half(decision: Decision) -> float | None:
    """Return half the width of the interval, which sets the number of digits; None if there is no interval."""
    if decision.low is None or decision.high is None:
        return None
    return (decision.high - decision.low) / 2 or None


def detached_text(run: DetachedRun) -> str:
    """Return hosts and age: ``Detached run on web-1, last recorded 12 min ago``."""
    hosts = " and ".join(map(host_label, run.hosts))
    return f"Detached run on {hosts}, last recorded {age_text(run.age)} ago"


def detached_detail(run: DetachedRun) -> str:
    """Return its plan, the number of ended trials, and those that were running."""
    record = run.record
    done = sum(trial.state != "running" for trial in record.trials)
    ended = f"{count_text(done, 'trial')} ended"
    if not run.under_way:
        return f"{record.summary.name}: {ended}, none running. Attach to finish the run."
    trials = " and ".join(_trial_text(trial.trial) for trial in run.under_way)
    were = "was" if len(run.under_way) == 1 else "were"
    return f"{record.summary.name}: {ended}, {trials} {were} running. Attach to finish the run."


def _trial_text(trial: Trial) -> str:
    """Return number, step and host: ``trial 2 of random read on web-1``."""
    return f"{trial.title} of {trial.step} on {host_label(trial.host)}"


def lost_text(event: LinkChanged, now: float, *, job: bool) -> tuple[str, str]:
    """Return what is known of a broken connection at `now`: a title and details; empty while it is not broken.

    `job`: a command of the run was started there and its end is not known. It does not need the connection; whether
    the host still runs is not known.
    """
    if event.state not in NOT_HEARD:
        return "", ""
    host, age = host_label(event.host), age_text(now - event.since)
    if event.state is LinkState.STALLED:
        return f"No data from {host} for {age}.", "The connection is open."
    runs = "the job runs on its own if the host does" if job else "no job is known to run there"
    retry = f"; retry {event.attempt}" if event.state is LinkState.RECONNECTING else ""
    return f"Connection to {host} lost.", f"Last heard {age} ago; {runs}{retry}. Remaining time unknown."


def link_text(event: LinkChanged, now: float) -> str:
    """Return the connection state at `now` (local monotonic clock) as text; empty when connected."""
    last = f"last data {age_text(now - event.since)} ago"
    match event.state:
        case LinkState.STALLED:
            return f"stalled, {last}"
        case LinkState.LOST:
            return f"connection lost, {last}"
        case LinkState.RECONNECTING:
            return f"connection lost, {last}; retry {event.attempt}"
        case LinkState.NOT_REACHED:
            return "not measured"
        case LinkState.GIVEN_UP:
            return "connection lost, given up"
    return f"the host restarted {event.restarted}" if event.restarted else ""

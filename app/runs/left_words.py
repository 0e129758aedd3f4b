"""Detached runs, in words."""

from app.events import Trial
from app.moments import age_text
from app.plans.plan import host_words
from app.runs.left import LeftRun


def left_text(left: LeftRun) -> str:
    """Return what was left where and when: ``Detached run on web-1, last recorded 12 min ago``."""
    hosts = " and ".join(map(host_words, left.hosts))
    return f"Detached run on {hosts}, last recorded {age_text(left.age)} ago"


def left_detail(left: LeftRun) -> str:
    """Return what is known of it: its plan, how far it was, and what waits."""
    record = left.record
    done = sum(trial.state != "running" for trial in record.trials)
    ended = f"{done} trial{'' if done == 1 else 's'} ended"
    if not left.under_way:
        return f"{record.summary.name}: {ended}, none under way. Attach to run the rest."
    trials = " and ".join(_trial_text(trial.trial) for trial in left.under_way)
    were = "was" if len(left.under_way) == 1 else "were"
    return f"{record.summary.name}: {ended}, {trials} {were} under way. Attach to read and run the rest."


def _trial_text(trial: Trial) -> str:
    """Return which trial it is, and where: ``trial 2 of random read on web-1``."""
    kind = "warm-up" if trial.warm_up else "trial"
    return f"{kind} {trial.number} of {trial.step} on {host_words(trial.host)}"

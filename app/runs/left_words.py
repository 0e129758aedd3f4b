"""Runs that were left to themselves, in words."""

from app.events import Trial
from app.moments import age_text
from app.plans.plan import host_words
from app.runs.left import LeftRun


def left_text(left: LeftRun) -> str:
    """Return what was left where and when: ``A run was left on web-1 12 min ago``."""
    hosts = " and ".join(map(host_words, left.hosts))
    return f"A run was left on {hosts} {age_text(left.age)} ago"


def left_detail(left: LeftRun) -> str:
    """Return what is known of it: its plan, how far it was, and what waits."""
    record = left.record
    done = sum(trial.state != "running" for trial in record.trials)
    ended = f"{done} trial{'' if done == 1 else 's'} had ended"
    if not left.under_way:
        return f"{record.summary.name}: {ended}; nothing was measuring. The rest waits until it is attached."
    trials = " and ".join(_trial_text(trial.trial) for trial in left.under_way)
    goes = "goes on there by itself" if len(left.under_way) == 1 else "go on there by themselves"
    return f"{record.summary.name}: {ended}; {trials} {goes}. The other trials wait until the run is attached."


def _trial_text(trial: Trial) -> str:
    """Return which trial it is, and where: ``random read on web-1, trial 2``."""
    kind = "warm-up" if trial.warm_up else "trial"
    return f"{trial.step} on {host_words(trial.host)}, {kind} {trial.number},"

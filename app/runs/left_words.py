"""Runs that were left to themselves, in words."""

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
    under_way = left.under_way
    if under_way is None:
        return f"{record.summary.name}: {ended}; nothing was measuring. The rest waits until it is attached."
    trial = under_way.trial
    kind = "warm-up" if trial.warm_up else "trial"
    return (
        f"{record.summary.name}: {ended}; {trial.step}, {kind} {trial.number}, goes on there by itself. "
        "The trials after it wait until the run is attached."
    )

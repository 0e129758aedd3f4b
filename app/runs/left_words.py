"""Runs that were left to themselves, in words."""

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
    under_way = left.under_way
    if under_way is None:
        return f"{record.summary.name}: {ended}, none under way. Attach to run the rest."
    trial = under_way.trial
    kind = "warm-up" if trial.warm_up else "trial"
    return (
        f"{record.summary.name}: {ended}, {kind} {trial.number} of {trial.step} was under way. "
        "Attach to read it and run the rest."
    )

"""Which step on which host of one side answers to which of another, and what of a run does not count."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from app.comparing.sides import Place, Side, paired_steps
from app.events import State
from app.plans.plan import Step
from app.records import RunRecord


class Planned(Protocol):
    """What has steps and hosts: a side, or a plan before it runs."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in order."""
        ...

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts, in order."""
        ...


def places(side: Side) -> list[Place]:
    """Return the places of a side in the order of its plan."""
    return [Place(step, (host,)) for step in side.steps for host in side.hosts]


def paired(baseline: Planned, other: Planned) -> dict[Place, Place]:
    """Return the places of `other` by the baseline's they answer to.

    Steps answer to each other by suite and name, else by suite and fingerprint; two that are the only ones, in any
    case. Hosts by name; those left over on both sides answer to each other together.
    """
    steps = answering_steps(baseline, other)
    return {
        Place(step, ours): Place(steps[step.name], theirs)
        for step in baseline.steps
        if step.name in steps
        for ours, theirs in _paired_hosts(baseline.hosts, other.hosts)
    }


def answering_steps(baseline: Planned, other: Planned) -> dict[str, Step]:
    """Return the steps of `other` by the names of the baseline's they answer to."""
    if len(baseline.steps) == len(other.steps) == 1:
        return {baseline.steps[0].name: other.steps[0]}
    return paired_steps(baseline.steps, other.steps)


def _paired_hosts(baseline: Sequence[str], other: Sequence[str]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    shared: list[tuple[tuple[str, ...], tuple[str, ...]]] = [((host,), (host,)) for host in baseline if host in other]
    left = tuple(host for host in baseline if host not in other), tuple(host for host in other if host not in baseline)
    return [*shared, left] if all(left) else shared


def left_out(record: RunRecord) -> Iterator[str]:
    """Yield the trials of a run that do not count, with the reason. Warm-ups are not meant to."""
    for trial in record.trials:
        if trial.state is not State.DONE and not trial.trial.warm_up:
            where = f"trial {trial.trial.number} of {trial.trial.step} on {trial.trial.host}"
            yield f"{record.summary.id}: {where} is left out, {trial.state}: {trial.reason or 'no reason is known'}"

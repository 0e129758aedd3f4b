"""What the checks of during share: how long a trial is, and what of it is certain before it has ended."""

from collections.abc import Callable

from suites.checks import CannotTell, Outcome
from suites.evidence import DONE, HostWatch, TrialEvidence

Said = Outcome | CannotTell | None

RUNNING = "running"
"""The state of a trial that is under way."""

AT_LEAST = 60.0
"""Seconds that a trial is taken to last of which nobody knows how long it will take."""


def watched(find: Callable[[TrialEvidence, HostWatch], Said]) -> Callable[[TrialEvidence], Said]:
    """Let `find` look at the telemetry of a trial that runs or was done; any other has no figure to speak of."""

    def evaluate(trial: TrialEvidence) -> Said:
        if trial.state not in {DONE, RUNNING}:
            return None
        if trial.watch is None:
            return CannotTell("The host was not watched while it ran.")
        return find(trial, trial.watch)

    return evaluate


def host_watched(find: Callable[[HostWatch], Said]) -> Callable[[TrialEvidence], Said]:
    """Let `find` look at the telemetry alone, whatever is tested."""
    return watched(lambda _trial, watch: find(watch))


def length(trial: TrialEvidence, watch: HostWatch) -> float:
    """Return the seconds that a trial is measured, in all.

    While it runs, what was estimated: a share of that which is exceeded now will still be at the end.
    """
    if trial.state != RUNNING:
        return watch.seconds
    return max(watch.seconds, trial.expected or AT_LEAST)


def part(trial: TrialEvidence, watch: HostWatch) -> float:
    """Return the share of a trial that is over, from 0 to 1: 1 of one that was done."""
    return watch.seconds / length(trial, watch) if watch.seconds else 0.0


def counted(watch: HostWatch, metric: str) -> float | None:
    """Return what a counter of events counted in the measured time, under all labels; None where nobody counted."""
    found = [value for at in watch.labels_of(metric) for _, value in watch.points_at(metric, at)]
    return sum(found) if watch.labels_of(metric) else None


def total(watch: HostWatch, metric: str) -> float | None:
    """Return what a rate adds up to over the measured time, under all labels together; None where it was not read."""
    found = [watch.total(metric, **dict(at)) for at in watch.labels_of(metric)]
    given = [value for value in found if value is not None]
    return sum(given) if given else None


def times_text(count: float) -> str:
    """Return how often something happened: ``once``, ``4 times``."""
    return "once" if round(count) == 1 else f"{count:.0f} times"

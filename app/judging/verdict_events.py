"""Judges a run as it goes: what the checks of after say of each step once its trials are made, then of the run."""

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

from app.checks.after import Judgement, judge_run, untold
from app.events import Event, FindingRaised, RunEnded, StepEnded, VerdictReached
from app.judging.judging import Telemetry, judgements, places_of, trials_and_window
from app.records import RunRecord, SampleSeries
from app.runs.policies import missed_starts
from app.runs.schedule import PlaceKey

log = logging.getLogger(__name__)


class Stored(Protocol):
    """What gives what is stored of the run so far."""

    def stored(self) -> RunRecord:
        """Return the record."""
        ...

    def stored_samples(
        self, trials: Sequence[int], host: str, window: tuple[float, float]
    ) -> tuple[SampleSeries, Telemetry]:
        """Return the samples of `trials`, and the telemetry of `host` in a window on its monotonic clock."""
        ...


def with_verdicts(events: Iterator[Event], stored: Stored, *, resumed: bool = False) -> Iterator[Event]:
    """Yield `events`, and behind the end of each step what its result is worth; before the run's end, what it is.

    What is judged is what is stored, so that a stored run gives the same verdict whenever it is judged again. A step
    that the run never ended in order is judged at the run's end. Of a run that was `resumed`, what was found of its
    trials and was not stored any more is found again first.
    """
    judged: set[PlaceKey] = set()
    for event in events:
        if isinstance(event, RunEnded):
            if resumed:
                yield from _heeded(lambda: _missed(stored, None))
            yield from _heeded(lambda: _at_the_end(stored, judged))
        yield event
        if isinstance(event, StepEnded):
            place = (event.step, event.host)
            judged.add(place)
            if resumed:
                yield from _heeded(partial(_missed, stored, place))
            yield from _heeded(partial(_of_place, stored, place))


def _heeded(judge: Callable[[], Iterator[Event]]) -> tuple[Event, ...]:
    """Return what `judge` says, or nothing where it cannot."""
    try:
        return tuple(judge())
    except Exception:  # a defect of a check or a full disk must not cost what was measured: judge later
        log.exception("the run cannot be judged now")
        return ()


def _missed(stored: Stored, only: PlaceKey | None) -> Iterator[Event]:
    """Yield what was found of the trials of a place, or of all that have no verdict, and is not stored."""
    record = stored.stored()
    known = {(one.step, one.host) for one in record.verdicts}
    for place in places_of(record.plan):
        if place == only or (only is None and place not in known):
            trials, window = trials_and_window(record, place)
            samples, _telemetry = stored.stored_samples(trials, place[1], window)
            yield from missed_starts(record, samples, place)


def _of_place(stored: Stored, place: PlaceKey) -> Iterator[Event]:
    record = stored.stored()
    return _said(_judged(stored, record, place), record)


def _judged(stored: Stored, record: RunRecord, place: PlaceKey) -> Iterator[Judgement]:
    """Judge one place, with no more of the run in memory than belongs to it."""
    trials, window = trials_and_window(record, place)
    samples, telemetry = stored.stored_samples(trials, place[1], window)
    return judgements(record, samples, telemetry, (place,))


def _at_the_end(stored: Stored, judged: set[PlaceKey]) -> Iterator[Event]:
    """Judge all steps anew, for more may be known by now; raise the findings of those alone that were not judged."""
    record = stored.stored()
    begun = {(one.trial.step, one.trial.host) for one in record.trials}
    places = tuple(place for place in places_of(record.plan) if place in begun)
    known = {(one.step, one.host) for one in record.verdicts} | judged
    verdicts = []
    for place in places:
        for judgement in _judged(stored, record, place):
            verdicts.append(judgement.verdict)
            yield from _said(iter([judgement]), record) if place not in known else (VerdictReached(judgement.verdict),)
    whole = judge_run(verdicts)
    if whole is not None:
        yield VerdictReached(whole)


def _said(found: Iterator[Judgement], record: RunRecord) -> Iterator[Event]:
    """Yield what was found and not told while it ran, then the verdict."""
    for judgement in found:
        for one in untold(judgement, record.findings):
            yield FindingRaised(one.finding, one.trial)
        yield VerdictReached(judgement.verdict)

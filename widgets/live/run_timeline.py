"""The time axis of a step on a host: its trials on the host's clock, with gaps, other steps and events. No Qt."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from app.checks.starts import start_of, start_text
from app.events import State
from app.plans.plan import Order
from app.verdict.steps import verdict_text
from suites.quantities import duration_text
from suites.vocab import Metric
from widgets.live.model import RunModel, StepKey, TrialView
from widgets.plots.time_window import FIRST
from widgets.plots.timeline import MarkKind, PhaseKind, PlotMark, TimeMap, TimePhase, spans_of

KEPT, SHORTENED = 0.5, 0.2
"""A gap between trials longer than the first share of a trial is cut to the second."""

LEAST_KEPT = 2.0
"""Seconds up to which a gap is never cut."""


@dataclass(frozen=True, slots=True)
class TrialPlace:
    """A trial with its time 0 and its end on the clock of the axis."""

    view: TrialView
    zero: float
    end: float


@dataclass(frozen=True, slots=True)
class RunTimeline:
    """The time axis of a step on a host. `by_clock` is false if the host's clock is unknown: telemetry has no place."""

    places: tuple[TrialPlace, ...]
    time_map: TimeMap
    phases: tuple[TimePhase, ...]
    by_clock: bool

    @property
    def end(self) -> float:
        """The end of the last trial on the axis."""
        return self.time_map.to_axis(self.places[-1].end)

    def shown_zero(self, place: TrialPlace) -> float:
        """Return time 0 of a trial on the axis."""
        return self.time_map.to_axis(place.zero)


def timeline_of(model: RunModel, step_key: StepKey) -> RunTimeline | None:
    """Return the time axis of a step so far; None before its first trial."""
    views = [view for view in model.trials_at(step_key) if not view.never_began]
    if not views:
        return None
    by_clock = all(view.zero is not None for view in views)
    places = tuple(sorted((_place(view, by_clock=by_clock) for view in views), key=lambda place: place.zero))
    length = median(place.end - place.zero for place in places)
    spans = spans_of(
        [(place.zero, place.end) for place in places], max(LEAST_KEPT, KEPT * length), max(1.0, SHORTENED * length)
    )
    others = [_place(view, by_clock=by_clock) for view in _others(model, step_key, by_clock=by_clock)]
    time_map = TimeMap(spans, min(place.zero for place in (*places, *others)))
    between = [] if model.plan.order is Order.DUET else others  # those of the other side run at the same time
    phases = (*_cuts(time_map, between), *_other_phases(time_map, between), *_phases(time_map, places))
    return RunTimeline(places, time_map, phases, by_clock)


def overlay_phases(view: TrialView) -> tuple[TimePhase, ...]:
    """Return the phases of a trial on its own time axis."""
    end = view.latest() if view.trial.warm_up else view.warm_up_until()
    return (
        (TimePhase(0.0, end, PhaseKind.WARM_UP, view.trial.kind if view.trial.warm_up else "warm-up"),) if end else ()
    )


def trial_marks(view: TrialView, metric: Metric | None, zero: float = 0.0) -> Iterator[PlotMark]:
    """Yield the end of the start-up phase of a trial; `zero` is its time 0 on the axis."""
    for series in view.series.values():
        if view.counts and metric is not None and series.metric.name == metric.name:
            start = start_of(*series.counted_pairs())
            if start is not None:
                yield PlotMark(zero + start.until, f"{series.metric.title}: {start_text(start)}")


def overlay_marks(model: RunModel, view: TrialView) -> Iterator[PlotMark]:
    """Yield the findings and lost connections during a trial on its own time axis."""
    if (zero := view.zero) is None:
        return
    for mark in model.marks.get(view.trial.host, ()):
        if 0.0 <= mark.time - zero <= view.latest():
            yield replace(mark, time=mark.time - zero)


def run_marks(model: RunModel, step_key: StepKey, timeline: RunTimeline) -> Iterator[PlotMark]:
    """Yield the events on the axis: findings, lost connections, decisions of the stopping rule, the verdict."""
    time_map = timeline.time_map
    to_axis = time_map.to_axis
    for mark in model.marks.get(step_key[1], ()) if timeline.by_clock else ():
        if mark.kind is MarkKind.LINK or time_map.shows(mark.time):
            yield replace(mark, time=to_axis(mark.time))
    counted = [place for place in timeline.places if place.view.counts]
    for decided in model.decisions.get(step_key, ()):
        decision = decided.decision
        if 0 < decision.trials <= len(counted):
            yield PlotMark(to_axis(counted[decision.trials - 1].end), decision.reason, MarkKind.DECISION)
    verdict = model.verdicts.get(step_key)
    if verdict is not None:
        yield PlotMark(timeline.end, f"verdict: {verdict_text(verdict)}", MarkKind.VERDICT)


def _place(view: TrialView, *, by_clock: bool) -> TrialPlace:
    zero = (view.zero if by_clock else view.began) or 0.0
    length = view.latest()
    if view.ended is None:
        return TrialPlace(view, zero, zero + max(length, FIRST if view.expected is None else view.expected))
    if not length and view.ended.ended_clock is not None and by_clock:
        length = view.ended.ended_clock - zero
    return TrialPlace(view, zero, zero + max(length or view.seconds or 0.0, 1e-3))


def _others(model: RunModel, step_key: StepKey, *, by_clock: bool) -> list[TrialView]:
    """Return the trials of other steps on the same host."""
    found = [view for view in model.trials.values() if view.trial.host == step_key[1] and view.step_key != step_key]
    return [view for view in found if view.zero is not None] if by_clock else found


def _phases(time_map: TimeMap, places: Sequence[TrialPlace]) -> Iterator[TimePhase]:
    for place in places:
        view, start, end = place.view, time_map.to_axis(place.zero), time_map.to_axis(place.end)
        kind = PhaseKind.WARM_UP if view.trial.warm_up else PhaseKind.TRIAL
        state = f"{view.trial.kind}, not counted" if view.trial.warm_up else "running" if view.ended is None else "done"
        if view.ended is not None and view.ended.state is not State.DONE:
            kind, state = PhaseKind.EXCLUDED, "failed" if view.ended.state is State.FAILED else "ended early"
        name = view.trial.title
        reason = f": {view.ended.reason}" if view.ended is not None and view.ended.reason else ""
        yield TimePhase(start, end, kind, name, f"{name}, {state}, {duration_text(end - start)}{reason}", view.trial.id)
        ramp = None if view.trial.warm_up else view.warm_up_until()
        if ramp:
            yield TimePhase(start, start + ramp, PhaseKind.WARM_UP, "ramp", f"ramp of {name}, not counted")


def _other_phases(time_map: TimeMap, others: Sequence[TrialPlace]) -> Iterator[TimePhase]:
    for place in others:
        start, end = time_map.to_axis(place.zero), time_map.to_axis(place.end)
        if end > start and end > 0 and place.end > time_map.spans[0].start:
            yield TimePhase(start, end, PhaseKind.OTHER, place.view.trial.step, _other_text(place))


def _cuts(time_map: TimeMap, others: Sequence[TrialPlace]) -> Iterator[TimePhase]:
    for one, following in pairwise(time_map.spans):
        within = [_other_text(place) for place in others if one.end <= place.end and place.zero <= following.start]
        length = duration_text(following.start - one.end)
        text = "; ".join([f"{length} not shown", *within])
        yield TimePhase(one.shown_end, following.shown, PhaseKind.CUT, length, text)


def _other_text(place: TrialPlace) -> str:
    trial = place.view.trial
    return f"{trial.step}, {trial.title}"

"""Pictures of a run whose trials decide how many there are: under way, settled, and given up."""

import math
from collections.abc import Iterator

from PySide6.QtWidgets import QWidget

from app.events import (
    Event,
    FactsRead,
    Moment,
    Progress,
    RunEnded,
    RunStarted,
    SampleRead,
    State,
    TrialEnded,
    TrialStarted,
)
from app.plans.plan import Plan, Policy, Repetition, make_step
from app.runs.policies import decided
from app.runs.schedule import Schedule
from suites.fio.metrics import IOPS
from suites.outputs import ParsedTrial
from suites.vocab import Figure, Sample, labels
from tests.app.run_events import facts, trial
from tests.shot_stage import Shot, Stage
from widgets.live.model import RunModel
from widgets.live.step_view import StepView

READ = labels(operation="read")


def _events(repetition: Repetition, spread: float, stop_after: int) -> Iterator[Event]:
    plan = _plan(repetition)
    schedule = Schedule(plan, {("disk", "web-1"): 30.0})
    yield RunStarted("run-1", plan, "2026-11-20T14:15:30+00:00")
    yield FactsRead("web-1", Moment.BEFORE, facts("web-1"))
    for number, slot in enumerate(schedule.slots(), 1):
        ahead = schedule.forecast()
        yield Progress(ahead.done, ahead.total, ahead.seconds, ahead.exact)
        value = 41_000 * (1 + spread * math.sin(2.7 * number))
        yield TrialStarted(trial(number, step="disk"), 30.0)
        for second in range(30):
            slow = 0.5 + 0.05 * second if second < 10 else 1.0
            yield SampleRead(
                number, Sample(float(second + 1), IOPS, value * slow * (1 + 0.01 * math.sin(second)), READ)
            )
        if number > stop_after:
            return
        figures = (Figure(IOPS, value, READ),)
        yield TrialEnded(number, State.DONE, 0, ParsedTrial(figures))
        yield from decided(schedule.record_trial(slot, figures, 30.0, 30.0))
    yield RunEnded("run-1", State.DONE)


def _shown(stage: Stage, repetition: Repetition, spread: float, stop_after: int = 99) -> QWidget:
    events = list(_events(repetition, spread, stop_after))
    model = RunModel(_plan(repetition))
    for now, event in enumerate(events):
        model.fold(event, float(now) / 31)
    view = stage.keep(StepView())
    view.resize(min(1000, stage.variant.size[0]), stage.variant.size[1])
    view.show_step_key(model, ("disk", "web-1"), ())
    view.show()
    stage.settle()
    return view


def _plan(repetition: Repetition) -> Plan:
    return Plan("Until precise", ("web-1",), (make_step("fio", {}, name="disk"),), repetition=repetition)


def _under_way(stage: Stage) -> QWidget:
    return _shown(stage, Repetition(policy=Policy.UNTIL_INTERVAL, precision=0.01), 0.03, stop_after=9)


def _settled(stage: Stage) -> QWidget:
    return _shown(stage, Repetition(policy=Policy.UNTIL_INTERVAL, precision=0.02), 0.02)


def _given_up(stage: Stage) -> QWidget:
    return _shown(stage, Repetition(policy=Policy.UNTIL_INTERVAL, precision=0.005, cap=14), 0.06)


SHOTS: list[Shot] = [
    ("live-until-under-way", _under_way),
    ("live-until-settled", _settled),
    ("live-until-given-up", _given_up),
]

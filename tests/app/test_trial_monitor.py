"""A run watched as it goes: what comes true is told at once, once, and again only where it gets graver."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from app.events import (
    Event,
    FactsRead,
    FindingRaised,
    LimitSeen,
    Moment,
    RunStarted,
    SampleRead,
    State,
    TelemetryRead,
    Trial,
    TrialAttached,
    TrialEnded,
    TrialStarted,
    apply_stages,
)
from app.plans.plan import Plan, make_step
from app.runs.findings import connection_lost
from app.verdict.listing import current_findings
from app.verdict.stages import TrialMonitor
from app.verdict.steps import common_limiter
from suites.checks import Check, CheckOutcome, CheckPhase
from suites.evidence import TrialCheck, TrialEvidence
from suites.outputs import ParsedTrial
from suites.registry import suite
from suites.units import Unit
from suites.verdict import Limiter
from suites.vocab import Better, Figure, Metric, MetricKind, Sample, Severity
from tests.app.trial_evidence import CLOCK, facts
from tests.messages import messages

MESSAGES = messages("app", "test_trial_monitor")

STEAL = Metric("cpu_steal", "CPU, stolen", Unit.PERCENT, Better.LOWER, MetricKind.SHARE)
PLAN = Plan("watched", ("web-1",), (make_step("sysbench-cpu", {"time": 60}),))


def begun(expected: float | None = 60.0, *, warm_up: bool = False) -> list[Event]:
    trial = Trial(1, "web-1", "sysbench-cpu", 1, warm_up, (), "2026-11-20T14:15:30+00:00", CLOCK)
    return [
        RunStarted("run-1", PLAN, "2026-11-20T14:15:30+00:00"),
        FactsRead("web-1", Moment.BEFORE, facts()),
        TelemetryRead("web-1", (Sample(CLOCK - 0.5, STEAL, 0.0),)),
        TrialStarted(trial, expected),
    ]


def stolen(shares: list[float], since: int = 1, host: str = "web-1") -> list[Event]:
    return [TelemetryRead(host, (Sample(CLOCK + second, STEAL, share),)) for second, share in enumerate(shares, since)]


def found(events: list[Event], watching: TrialMonitor | None = None) -> list[tuple[int, FindingRaised]]:
    """Return what was raised, each with how many of the events had been told by then."""
    reported, raised = 0, []
    for event in apply_stages(events, watching or TrialMonitor()):
        if isinstance(event, FindingRaised):
            raised.append((reported, event))
        else:
            reported += 1
    assert reported == len(events)
    return raised


def test_stolen_time_is_told_when_the_trial_cannot_be_without_it_any_more() -> None:
    raised = found([*begun(), *stolen([5.0] * 60)])
    ((reported, event),) = raised
    assert event.trial == 1
    assert event.finding.id == "cpu-stolen"
    assert event.finding.severity is Severity.WARNING
    assert event.finding.step == "sysbench-cpu"
    assert MESSAGES["5_of_the_processor_time_of"] in event.finding.measured  # 0.75 s of 60 s
    assert reported == len(begun()) + 15
    assert event.clock == CLOCK + 15


def test_a_finding_of_the_run_about_a_trial_has_the_time_of_its_host() -> None:
    lost = FindingRaised(connection_lost("web-1", 5.0, ""))
    events = apply_stages([*begun(), *stolen([0.0] * 4), replace(lost, trial=1), lost], TrialMonitor())
    assert [one.clock for one in events if isinstance(one, FindingRaised)] == [CLOCK + 4, None]


def test_the_limit_of_the_trials_so_far_follows_each_trial() -> None:
    levels = {"tool_cpu_user": 99.0, "tool_cpu_system": 0.0, "other_cpu": 0.5, "cpu_idle": 0.5, "cpu_steal": 0.0}
    metrics = {name: replace(STEAL, name=name) for name in levels}
    used = [
        TelemetryRead("web-1", tuple(Sample(CLOCK + at, metrics[name], level) for name, level in levels.items()))
        for at in range(1, 11)
    ]
    figure = Figure(suite("sysbench-cpu").metrics[0], 1000.0)
    ended = TrialEnded(1, State.DONE, 0, ParsedTrial((figure,)), ended_clock=CLOCK + 10)

    def seen(start: list[Event], end: TrialEnded) -> list[Limiter]:
        events = apply_stages([*start, *used, end], TrialMonitor())
        return [one.limiter for one in events if isinstance(one, LimitSeen)]

    *before, started = begun()
    assert isinstance(started, TrialStarted)
    assert seen([*before, started], ended) == [Limiter.CPU]
    assert seen([*before, started], replace(ended, state=State.FAILED)) == []
    assert seen([*before, TrialAttached(started.trial, 60.0, ())], ended) == [], "its first telemetry is missing"


@pytest.mark.parametrize(
    ("device", "cpu", "common"), [(2, 1, Limiter.DEVICE), (1, 1, None), (0, 1, Limiter.CPU), (5, 4, None)]
)
def test_a_common_limit_is_that_of_two_thirds_of_the_trials(device: int, cpu: int, common: Limiter | None) -> None:
    assert common_limiter(Counter({Limiter.DEVICE: device, Limiter.CPU: cpu})) is common


def test_it_is_told_again_where_it_gets_graver_and_only_then() -> None:
    raised = found([*begun(), *stolen([20.0] * 60)])
    assert [event.finding.severity for _, event in raised] == [Severity.WARNING, Severity.ERROR]


def test_a_cause_without_a_name_is_named_once_and_replaced_as_soon_as_it_is_known() -> None:
    levels = {"tool_cpu_user": 25.0, "tool_cpu_system": 0.0, "tool_waiting": 1.0, "other_cpu": 75.0, "cpu_idle": 0.0}
    metrics = {name: replace(STEAL, name=name) for name in levels}
    spent = Metric("process_time", "CPU time of other processes", Unit.SECOND, Better.LOWER, MetricKind.TIME)

    def second(number: int) -> Event:
        samples = [Sample(CLOCK + number, metrics[name], level) for name, level in levels.items()]
        if not number % 7:
            samples.append(Sample(CLOCK + number, spent, 7.0, (("process", "backup"),)))
        return TelemetryRead("web-1", tuple(samples))

    raised = [event.finding for _, event in found([*begun(), *map(second, range(1, 61))])]
    unnamed, named = (one for one in raised if one.id == "other-process")
    assert "backup" not in unnamed.measured
    assert "backup" in named.measured
    assert [one for one in current_findings(raised) if one.id == "other-process"] == [named]


def test_of_a_run_that_goes_on_nothing_is_told_again() -> None:
    events = [*begun(), *stolen([5.0] * 60)]
    ((_, first),) = found(events)
    assert found(events, TrialMonitor(raised=(first,))) == []
    other = FindingRaised(first.finding, 2)
    assert len(found(events, TrialMonitor(raised=(other,)))) == 1


def test_a_quiet_host_and_a_warm_up_and_another_host_draw_nothing() -> None:
    assert found([*begun(), *stolen([0.2] * 60)]) == []
    assert found([*begun(warm_up=True), *stolen([50.0] * 60)]) == []
    assert found([*begun(), *stolen([50.0] * 60, host="web-2")]) == []


def test_after_its_end_nothing_more_is_told_of_a_trial() -> None:
    ended = TrialEnded(1, State.DONE, 0, ParsedTrial(()))
    assert found([*begun(), *stolen([0.0] * 4), ended, *stolen([90.0] * 60, since=5)]) == []


def test_the_time_of_an_attached_trial_which_may_have_ended_is_unknown() -> None:
    *before, started = begun(3.0)
    assert isinstance(started, TrialStarted)
    quiet = stolen([0.0] * 60)
    assert [each.finding.id for _, each in found([*before, started, *quiet])] == ["took-too-long"]
    assert found([*before, TrialAttached(started.trial, 3.0, ()), *quiet]) == []


def counting(seen: list[TrialEvidence]) -> TrialMonitor:
    def evaluate(trial: TrialEvidence) -> None:
        seen.append(trial)

    check: TrialCheck = Check(
        id="counted",
        severity=Severity.INFO,
        title="",
        why="",
        remedy="",
        source="",
        evaluate=evaluate,
        when=CheckPhase.DURING,
    )
    return TrialMonitor(checks=(check,))


def test_an_hour_is_looked_at_seldom_enough_to_cost_next_to_nothing() -> None:
    seen: list[TrialEvidence] = []
    found([*begun(3600.0), *stolen([0.0] * 3600)], counting(seen))
    assert 60 <= len(seen) <= 140
    looks = [one.duration or 0.0 for one in seen]
    gaps = [after - before for before, after in pairwise(looks)]
    assert gaps[0] == 5.0
    assert gaps[-1] <= 125.0


def test_what_a_check_sees_is_the_trial_so_far() -> None:
    seen: list[TrialEvidence] = []
    metric = suite("sysbench-cpu").metrics[0]
    samples = [SampleRead(1, Sample(float(second), metric, 100.0)) for second in range(1, 5)]
    found([*begun(), *samples, *stolen([1.0] * 6)], counting(seen))
    (first,) = seen
    assert [sample.time for sample in first.samples] == [1.0, 2.0, 3.0, 4.0]
    assert first.state == "running"
    assert first.watch is not None
    assert (first.watch.start, first.watch.end) == (CLOCK, CLOCK + 5)
    assert first.watch.series["cpu_steal", ()][0] == (CLOCK - 0.5, 0.0)
    assert first.context.facts == facts()


@pytest.mark.failing_check
def test_a_check_that_fails_costs_nothing_but_itself(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_trial: TrialEvidence) -> CheckOutcome:
        raise ZeroDivisionError

    check: TrialCheck = Check(
        id="broken",
        severity=Severity.INFO,
        title="",
        why="",
        remedy="",
        source="",
        evaluate=broken,
        when=CheckPhase.DURING,
    )
    assert found([*begun(), *stolen([1.0] * 6)], TrialMonitor(checks=(check,))) == []
    assert MESSAGES["broken_cannot_be_made_now"] in caplog.text

"""The model behind the live view: events folded into what is shown, without a screen."""

from collections.abc import Collection, Iterable
from dataclasses import replace

import pytest

from app.events import Activity, FactsRead, FindingRaised, Moment, OutputRead, Progress, RunEnded, State, TelemetryRead
from app.records import RunRecord, RunSummary, TrialRecord
from app.verdict.listing import current_findings
from suites.facts import Facts
from suites.fio.metrics import IOPS
from suites.verdict import Verdict
from suites.vocab import Figure, Finding, Sample, Severity
from tests.widgets.live_events import CLOCK, CPU_USER, PLACE, READ, WRITE, begin, end, folded, plan, sample, trial
from widgets.live.model import LivePhase, RunModel
from widgets.live.replay import stored
from widgets.plots.timeline import PlotMark

FINDING = Finding(
    id="stolen",
    severity=Severity.WARNING,
    title="CPU stolen",
    measured="4.2 %",
    why="",
    remedy="",
    source="",
    step="disk",
)


def test_a_run_passes_through_its_phases() -> None:
    model = RunModel(plan())
    assert model.phase is LivePhase.STARTING
    model = folded([Activity("measuring disk on web-1")])
    assert (model.phase, model.run_id, model.activity) == (LivePhase.RUNNING, "run-1", "measuring disk on web-1")
    model.stopping()
    phases = [model.phase]
    model.fold(RunEnded("run-1", State.PARTIAL, "Stopped by you."), 9.0)
    phases.append(model.phase)
    model.stopping()
    phases.append(model.phase)
    assert phases == [LivePhase.STOPPING, LivePhase.PARTIAL, LivePhase.PARTIAL]
    assert (model.reason, model.phase.over) == ("Stopped by you.", True)


def test_a_run_that_breaks_off_fails_once_and_with_its_reason() -> None:
    model = folded([])
    model.fail("The store is full.", 7.0)
    model.fail("Another reason.", 8.0)
    assert (model.phase, model.reason, model.elapsed(100.0)) == (LivePhase.FAILED, "The store is full.", 7.0)


def test_samples_go_to_their_trial_and_series_and_warm_ups_do_not_count() -> None:
    model = folded([
        begin(),
        sample(10.0, 1.0, warm_up=True),
        sample(41.0, 2.0),
        sample(12.0, 2.0, labelled=WRITE),
        sample(43.0, 3.0),
        sample(1.0, 1.0, id_=99),
        OutputRead(1, "stdout", b"..."),
    ])  # fmt: skip
    view = model.trials[1]
    series = view.series[("iops", READ)]
    assert series.buffer.values().tolist() == [10.0, 41.0, 43.0]
    assert series.counted().tolist() == [41.0, 43.0]
    assert view.warm_up_until() == 1.0
    assert view.latest() == 3.0
    assert list(view.series) == [("iops", READ), ("iops", WRITE)]


def test_trials_belong_to_places_and_only_done_ones_count() -> None:
    model = folded([
        begin(1, warm_up=True), end(1.0, 1),
        begin(2), end(2.0, 2),
        begin(3, 2), end(None, 3, State.FAILED, "no space"),
        begin(4, 3),
    ])  # fmt: skip
    assert model.step_keys() == (("disk", "web-1"), ("cpu", "web-1"))
    assert [view.counts for view in model.trials_at(PLACE)] == [False, True, False, False]
    assert model.trials_at(("cpu", "web-1")) == []
    running = model.running_at(PLACE)
    assert running is model.trials[4]
    assert model.running_at(("cpu", "web-1")) is None


def test_telemetry_is_kept_by_host_on_the_hosts_clock() -> None:
    samples = tuple(Sample(CLOCK + second, CPU_USER, 50.0) for second in range(3))
    model = folded([TelemetryRead("web-1", samples), TelemetryRead("web-2", samples[:1])])
    assert model.telemetry["web-1"][("cpu_user", ())].buffer.times().tolist() == [CLOCK, CLOCK + 1, CLOCK + 2]
    assert len(model.telemetry["web-2"][("cpu_user", ())].buffer) == 1


def test_a_finding_is_marked_at_its_time_and_not_without_one() -> None:
    during = FindingRaised(replace(FINDING, host="web-1"), 1, CLOCK + 4.0)
    model = folded([FindingRaised(FINDING), begin(), during, end(1.0), FindingRaised(FINDING, 1)])
    assert model.marks == {"web-1": [PlotMark(CLOCK + 4.0, "CPU stolen: 4.2 %")]}
    assert len(model.findings) == 3


def test_time_left_runs_down_and_is_unknown_where_the_run_does_not_know() -> None:
    model = folded([])
    assert model.remaining(5.0) is None
    model.fold(Progress(0, 3, 60.0), 10.0)
    assert model.remaining(15.0) == 55.0
    assert model.remaining(80.0) == -10.0
    model.fold(Progress(1, 3, None), 80.0)
    assert model.remaining(80.0) is None
    assert model.elapsed(25.0) == 25.0


def test_only_the_facts_of_before_are_shown() -> None:
    before, after = Facts(host="web-1", read_at="1"), Facts(host="web-1", read_at="2")
    model = folded([FactsRead("web-1", Moment.BEFORE, before), FactsRead("web-1", Moment.AFTER, after)])
    assert model.facts == {"web-1": before}


def _record(*trials: TrialRecord, state: State = State.DONE) -> RunRecord:
    summary = RunSummary(
        id="run-7", name="Quick", question="", hosts=("web-1",), steps=("disk", "cpu"), state=state,
        started="2026-01-01T00:00:00+00:00", ended="2026-01-01T00:02:10+00:00", trials=1,
    )  # fmt: skip
    return RunRecord(
        summary=summary, plan=plan(), plan_hash="x", program_version="1", trials=trials, findings=(FINDING,),
        facts_before={"web-1": Facts(host="web-1", read_at="1")}, telemetry_cost={"web-1": 0.002},
    )  # fmt: skip


def test_a_stored_run_is_folded_from_the_same_events() -> None:
    done = TrialRecord(trial(1), State.DONE, "2026-01-01T00:01:00+00:00", 0, (Figure(IOPS, 41.0, READ),))
    failed = TrialRecord(trial(2, 2), State.FAILED, None, 1, (), (), "no space")
    samples = {1: (Sample(1.0, IOPS, 40.0, READ), Sample(2.0, IOPS, 42.0, READ))}
    model = stored(_record(done, failed), samples, {"web-1": (Sample(CLOCK, CPU_USER, 5.0),)})
    assert (model.phase, model.run_id, model.elapsed(0.0)) == (LivePhase.DONE, "run-7", 130.0)
    assert model.trials[1].seconds == 60.0
    assert model.trials[1].figures == (Figure(IOPS, 41.0, READ),)
    assert model.trials[1].series[("iops", READ)].buffer.values().tolist() == [40.0, 42.0]
    ended = model.trials[2].ended
    assert ended is not None
    assert ended.reason == "no space"
    assert model.findings == (FINDING,)
    assert model.telemetry_cost == {"web-1": 0.002}


@pytest.mark.parametrize("moment", ["", "yesterday", "2026-13-77"])
def test_a_stored_run_with_an_odd_moment_is_shown_all_the_same(moment: str) -> None:
    odd = TrialRecord(replace(trial(1), started=moment), State.DONE, moment, 0)
    assert stored(_record(odd), {}, {}).trials[1].counts


def test_a_run_that_was_interrupted_has_no_end() -> None:
    running = TrialRecord(trial(1), State.RUNNING, None, None)
    model = stored(_record(running, state=State.RUNNING), {}, {})
    assert not model.phase.over
    assert model.trials[1].ended is None


def test_findings_are_computed_once_between_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(raised: Iterable[Finding], verdicts: Collection[Verdict] = ()) -> tuple[Finding, ...]:
        calls.append(len(list(raised)))
        return current_findings(raised, verdicts)

    monkeypatch.setattr("widgets.live.model.current_findings", counted)
    model = folded([FindingRaised(FINDING)])
    assert [model.findings for _ in range(3)] == [(FINDING,)] * 3
    model.fold(Activity("measuring"), 1.0)
    assert model.findings == (FINDING,)
    assert calls == [1]
    model.fold(FindingRaised(replace(FINDING, step="other")), 2.0)
    assert len(model.findings) == 2
    assert calls == [1, 2]

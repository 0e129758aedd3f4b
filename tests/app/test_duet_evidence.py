"""Evidence of a duet: the counters of the process tree are those of the second half, CPUs are those of a half."""

from collections.abc import Sequence

from app.events import FactsRead, Moment, RunStarted, SampleRead, TelemetryRead, TrialStarted
from app.records import RunRecord
from app.verdict.stages import TrialMonitor
from app.verdict.steps import step_verdict
from app.verdict.stored import evidence_of
from suites.checks import CheckOutcome, during_check
from suites.evidence import StepOutcomeEvidence, TrialCheck, TrialEvidence
from suites.sysbench.cpu import EVENTS_PER_SECOND
from suites.units import Unit
from suites.verdict import Limiter
from suites.vocab import Better, Metric, MetricKind, Sample, Severity
from tests.app.test_duet_comparison import NOISE, duet_run

USER, SYSTEM, OTHERS, IDLE = (
    Metric(name, name, Unit.PERCENT, Better.LOWER, MetricKind.SHARE)
    for name in ("tool_cpu_user", "tool_cpu_system", "other_cpu", "cpu_idle")
)


def telemetry(run: RunRecord) -> tuple[Sample, ...]:
    """Return a second's samples over the trials of `run`: the tree that is followed uses a whole CPU of eight."""
    found = []
    for number in range(1, 9):
        for second in range(12):
            shares = ((USER, 12.5), (SYSTEM, 0.0), (OTHERS, 0.5), (IDLE, 75.0))
            found += [Sample(100.0 * number + second, metric, value) for metric, value in shares]
    return tuple(found)


def evidence(run: RunRecord, step: str) -> StepOutcomeEvidence:
    return evidence_of(run, {}, {"web-1": telemetry(run)}, run.plan.step(step), "web-1")


def counted(trials: Sequence[TrialEvidence]) -> list[bool]:
    return [bool(trial.watch and trial.watch.labels_of("tool_cpu_user")) for trial in trials]


def test_each_step_has_its_process_tree_in_every_other_trial() -> None:
    run = duet_run("r1", NOISE, NOISE)
    first, second = evidence(run, "a").trials, evidence(run, "b").trials
    assert counted(first) == [False, True] * 4
    assert counted(second) == [True, False] * 4
    assert [trial.uncounted for trial in first] == [True, False] * 4
    assert all(trial.watch and trial.watch.labels_of("other_cpu") for trial in first)


def test_the_cpus_of_a_trial_are_those_of_a_half() -> None:
    found = evidence(duet_run("r1", NOISE, NOISE), "a")
    assert found.context.facts is not None
    assert found.context.facts.cpu.usable == 2


def test_the_limit_is_judged_by_the_trials_that_were_counted() -> None:
    verdict = step_verdict(evidence(duet_run("r1", NOISE, NOISE), "a")).verdict
    assert verdict.limited_by is not Limiter.OTHERS
    assert not [one for one in verdict.findings if one.id == "other-process"]


def test_a_running_trial_on_the_first_half_does_not_see_the_tree_of_the_other() -> None:
    run = duet_run("r1", NOISE, NOISE)
    seen: dict[str, bool] = {}

    def look(trial: TrialEvidence) -> CheckOutcome | None:
        assert trial.watch is not None
        seen[trial.name] = bool(trial.watch.labels_of("tool_cpu_user"))
        return None

    check: TrialCheck = during_check(
        id="look", severity=Severity.INFO, title="", why="", remedy="", source="", evaluate=look
    )
    monitor = TrialMonitor(checks=(check,))
    events = [RunStarted("r1", run.plan, ""), FactsRead("web-1", Moment.BEFORE, run.facts_before["web-1"])]
    events += [TrialStarted(one.trial, 10.0) for one in run.trials[:2]]
    events += [SampleRead(one.trial.id, Sample(1.0, EVENTS_PER_SECOND, 1.0)) for one in run.trials[:2]]
    for event in (*events, TelemetryRead("web-1", tuple(one for one in telemetry(run) if one.time <= 108.0))):
        list(monitor(event))
    assert seen == {"a": False, "b": True}

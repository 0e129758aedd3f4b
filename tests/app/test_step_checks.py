"""The checks of after over the trials of a step, what limited it, and the verdict that all of them make."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from app.checks.catalogue import OUTCOME_CHECKS
from app.checks.limits import LIMITED_BY
from app.verdict.steps import run_verdict, step_verdict, verdict_text
from suites.checks import CheckOutcome
from suites.evidence import STOPPED, StepOutcomeEvidence, TrialEvidence
from suites.verdict import Goal, Limiter, Trust, Verdict
from suites.vocab import Finding, Severity
from tests.app.trial_evidence import READ, repeated, step, trial
from tests.messages import messages

MESSAGES = messages("app", "test_step_checks")

CHECKS = {check.id: check for check in OUTCOME_CHECKS}

DEEP: dict[str, Any] = {
    "rw": "randread",
    "block_size": 4096,
    "iodepth": 32,
    "ioengine": "libaio",
    "direct": True,
    "runtime": 10,
}
ONE: dict[str, Any] = {**DEEP, "iodepth": 1}
DISK = {"disk_read_rate:vda": 40_960_000.0, "disk_read_ios:vda": 10_000.0, "disk_write_rate:vda": 0.0}
FULL = {"iops": 10_000.0, "bandwidth": 40_960_000.0, "latency_mean": 3_200_000.0, "latency_p99": 9e6}


def disk(values: Mapping[str, Any] = DEEP, busy: float = 99.0, **host: float) -> TrialEvidence:
    """Return a random read that used the disk up."""
    return trial("fio", FULL, at=READ, host={**DISK, "disk_busy:vda": busy, **host}, **values)


def outcome(check: str, evidence: StepOutcomeEvidence) -> CheckOutcome | None:
    """Return what a check of steps says, which always can tell."""
    found = CHECKS[check].evaluate(evidence)
    assert found is None or isinstance(found, CheckOutcome)
    return found


STEADY = (10_000.0, 10_050.0, 9_980.0, 10_020.0, 9_990.0, 10_010.0)

CASES: dict[str, tuple[tuple[float, ...], str]] = {
    "trials-disagree": ((10_000.0, 12_000.0, 9_000.0), "9000 IOPS to 12.0k IOPS"),
    "few-trials-done": ((10_000.0, 10_100.0, 9_900.0), "3 trials: no verdict of a comparison"),
    "drifted": ((10_000.0, 10_200.0, 10_400.0, 10_600.0, 10_800.0, 11_000.0), "rose"),
    "trials-correlated": (
        tuple(10_000.0 + 400 * (place // 6 % 2) + place % 3 for place in range(24)),
        "autocorrelated",
    ),
    "two-levels": ((10_000.0, 10_010.0, 9_990.0, 12_000.0, 12_010.0, 11_990.0), "two levels"),
    "outliers": ((10_000.0, 10_050.0, 9_980.0, 10_020.0, 9_990.0, 14_000.0), "trial 6 (14.0k IOPS)"),
}


@pytest.mark.parametrize("check", CASES)
def test_it_speaks_of_its_case_and_not_of_steady_trials(check: str) -> None:
    values, words = CASES[check]
    found = outcome(check, repeated(disk(), values))
    assert found is not None
    assert words in found.measured
    assert outcome(check, repeated(disk(), STEADY * (2 if check == "trials-correlated" else 1))) is None


def duet_of(values: Sequence[float]) -> StepOutcomeEvidence:
    """Return the evidence of a step of a duet whose trials had `values`, in turn on the first and the second half."""
    found = repeated(disk(), values)
    return replace(
        found, trials=tuple(replace(trial, uncounted=not place % 2) for place, trial in enumerate(found.trials))
    )


def test_the_halves_of_a_duet_are_no_spread_levels_or_outliers() -> None:
    swapped = [value * (1.4 if place % 2 else 1.0) for place, value in enumerate(STEADY * 2)]
    for check in ("trials-disagree", "two-levels", "outliers", "drifted", "trials-correlated"):
        assert outcome(check, duet_of(swapped)) is None
    assert outcome("trials-disagree", repeated(disk(), swapped)) is not None
    assert outcome("trials-disagree", duet_of([10_000.0, 14_000.0])) is None
    wide = [10_000.0 * (1.4 if place % 2 else 1.0) * (1.0945 if place % 4 < 2 else 0.9055) for place in range(12)]
    assert outcome("trials-disagree", duet_of(wide)) is not None  # 9.9 % of 11, 10.3 % of 10 degrees of freedom
    found = outcome("outliers", duet_of([*swapped[:-1], 1.5 * swapped[-1]]))
    assert found is not None
    assert "trial 12 " in found.measured
    assert MESSAGES["without_halves"] in found.measured


def test_every_check_of_a_step_has_a_case() -> None:
    assert set(CHECKS) == set(CASES) | {
        "trials-failed",
        "goal",
        "conditions-changed",
        "energy",
        "cache-unknown",
        "measured-elsewhere",
    }


FEW: dict[str, tuple[str, tuple[float, ...], str]] = {
    "two apart": ("trials-disagree", (10_000.0, 13_700.0), "10.0k IOPS to 13.7k IOPS over 2 trials, 37 % apart"),
    "five drift": (
        "drifted",
        (100.0, 98.0, 96.0, 94.0, 92.0),
        "98.0 IOPS, 96.0 IOPS, 94.0 IOPS, 92.0 IOPS (8 %)",
    ),
    "one of five": ("outliers", (100.0, 100.5, 99.0, 60.0, 100.0), "trial 4 (60.0 IOPS); the median is 100 IOPS"),
    "one of equals": ("outliers", (100.0, 100.0, 100.0, 60.0, 100.0, 100.0), "trial 4 (60.0 IOPS)"),
}


@pytest.mark.parametrize("case", FEW)
def test_few_trials_are_judged_with_figures(case: str) -> None:
    check, values, words = FEW[case]
    found = outcome(check, repeated(disk(), values))
    assert found is not None
    assert words in found.measured


@pytest.mark.parametrize("values", [(100.0, 101.0), (100.0, 99.5, 101.0), (100.0, 99.0, 98.5, 97.0, 96.5)])
def test_few_steady_trials_are_not(values: tuple[float, ...]) -> None:
    assert [outcome(check, repeated(disk(), values)) for check in ("trials-disagree", "drifted", "outliers")] == [
        None
    ] * 3


def test_a_change_of_quota_governor_or_clock_between_the_trials_is_told() -> None:
    def with_clock(clock: float, throttled: float = 0.0) -> TrialEvidence:
        return disk(core_busiest=99.0, clock_frequency=clock, cgroup_throttled=throttled)

    def changed(*trials: TrialEvidence) -> str:
        found = outcome("conditions-changed", step(*trials))
        return "" if found is None else found.measured

    clocked = changed(with_clock(3.6e9), with_clock(2.4e9))
    assert clocked == MESSAGES["changed_clock"]
    assert MESSAGES["changed_throttling"] in changed(with_clock(3e9), with_clock(3e9, 48.0))
    one = with_clock(3e9)
    assert changed(one, with_clock(2.9e9)) == ""
    assert one.watch is not None
    assert one.watch.before is not None
    slower = replace(one.watch.before, cpu=replace(one.watch.before.cpu, quota=0.5, governor="powersave"))
    faster = replace(one.watch.before, cpu=replace(one.watch.before.cpu, governor="performance"))
    seen = replace(one, watch=replace(one.watch, before=faster, after=slower))
    assert MESSAGES["changed_settings"] in changed(seen, seen)
    tuned = replace(step(seen, seen), findings=(finding("host-tuned", Severity.INFO),))
    assert outcome("conditions-changed", tuned) is None


def test_a_tool_that_varies_by_itself_is_given_twice_that() -> None:
    mutex = trial("sysbench-mutex", {"total_time": 1.0})
    assert outcome("trials-disagree", repeated(mutex, (1.0, 1.12, 1.05))) is None
    assert outcome("trials-disagree", repeated(mutex, (1.0, 1.5, 1.05))) is not None


def test_of_many_trials_the_range_alone_accuses_nobody() -> None:
    values = [10_000.0 + 300 * ((place * 7) % 11 - 5) / 2.5 for place in range(30)]
    assert max(values) / min(values) > 1.1
    assert outcome("trials-disagree", repeated(disk(), values)) is None


def test_failed_trials_make_a_caveat_and_no_trial_no_result() -> None:
    lost = replace(disk(), id=2, state="failed", reason="fio on web-1: no space left.")
    some, none = outcome("trials-failed", step(disk(), lost)), outcome("trials-failed", step(lost))
    assert some is not None
    assert none is not None
    assert (some.severity, some.trust) == (Severity.WARNING, Trust.CAVEATS)
    assert "no space left" in none.measured
    assert step_verdict(step(lost)).verdict.trust is Trust.INVALID
    assert outcome("trials-failed", step(disk())) is None


def test_trials_that_were_not_begun_are_reported_where_their_number_was_planned() -> None:
    ended = outcome("trials-failed", replace(step(disk(), disk()), planned=6))
    assert ended is not None
    assert (ended.severity, ended.trust) == (Severity.INFO, Trust.CAVEATS)
    assert ended.measured.startswith("2 of 6 ")
    assert outcome("trials-failed", replace(step(disk(), disk()), planned=2)) is None


def test_a_stopped_run_is_no_failure_and_reports_how_far_it_came() -> None:
    ended = replace(disk(), id=2, state="partial", reason=STOPPED)
    some, none = (outcome("trials-failed", replace(one, planned=6)) for one in (step(disk(), ended), step(ended)))
    assert some is not None
    assert none is not None
    assert (some.severity, some.trust) == (Severity.INFO, Trust.CAVEATS)
    assert some.measured.startswith("1 of 6 ")
    assert none.measured.startswith("0 of 6 ")
    assert step_verdict(step(ended)).verdict.trust is Trust.INVALID


@pytest.mark.parametrize(
    ("goal", "level", "words"),
    [
        (Goal("iops", at_least=9_000), Severity.INFO, "goal at least 9000 IOPS: met (95 % CI "),
        (Goal("iops", at_least=10_000), Severity.INFO, "goal at least 10.000k IOPS: not sure (95 % CI "),
        (Goal("iops", at_least=10_040), Severity.WARNING, "goal at least 10.040k IOPS: missed (95 % CI "),
        (Goal("latency_p99", at_most=5e6), Severity.WARNING, "goal at most 5.00 ms: missed (95 % CI "),
    ],
)
def test_a_goal_is_met_or_missed_by_the_interval_and_changes_no_trust(goal: Goal, level: Severity, words: str) -> None:
    evidence = replace(repeated(disk(), STEADY), goals=(goal,))
    found = outcome("goal", evidence)
    assert found is not None
    assert words in found.measured
    assert found.severity is level
    assert step_verdict(evidence).verdict.trust is Trust.VALID


def test_a_goal_is_not_decided_by_few_trials() -> None:
    for bound in (1.0, 1e9):
        found = outcome("goal", replace(repeated(disk(), STEADY[:5]), goals=(Goal("iops", at_least=bound),)))
        assert found is not None
        assert found.severity is Severity.INFO
        assert found.measured.endswith(MESSAGES["goal_not_decided"])


@pytest.mark.parametrize(("counts", "words"), [((0,) * 6, "met"), ((0, 0, 0, 0, 0, 9), "not sure")])
def test_a_goal_for_a_count_of_zero_is_decided(counts: tuple[float, ...], words: str) -> None:
    found = outcome("goal", replace(repeated(disk(), counts), goals=(Goal("iops", at_most=0.5),)))
    assert found is not None
    assert f": {words} (95 % CI" in found.measured


@pytest.mark.parametrize(
    ("host", "found", "trust", "words"),
    [
        ({}, (), Trust.VALID, ""),
        ({}, (Severity.ERROR,), Trust.DOUBTFUL, "is doubtful."),
        ({"disk_read_rate:vda": 0.0, "disk_busy:vda": 0.0}, (), Trust.INVALID, "decides nothing"),
    ],
)
def test_a_goal_on_a_result_that_is_not_trusted_carries_its_verdict(
    host: dict[str, float], found: tuple[Severity, ...], trust: Trust, words: str
) -> None:
    one = trial("fio", {**FULL, "latency_mean": 1e5}, at=READ, host=host, **ONE) if host else disk()
    earlier = tuple(finding("earlier", level) for level in found)
    evidence = replace(repeated(one, STEADY), goals=(Goal("iops", at_least=1.0),), findings=earlier)
    made = step_verdict(evidence).verdict
    (goal,) = [one for one in made.findings if one.id == "goal"]
    assert made.trust is trust
    assert ("The result is" in goal.measured) is bool(words)
    assert words in goal.measured


def test_a_goal_on_a_latency_means_that_of_whole_requests() -> None:
    waited = trial("fio", {**FULL, "total_latency_p99": 4e6}, at=READ, host={**DISK, "disk_busy:vda": 99.0}, **DEEP)
    evidence = replace(repeated(waited, STEADY), goals=(Goal("latency_p99", at_most=5e6),))
    found = outcome("goal", evidence)
    assert found is not None
    assert found.severity is Severity.INFO
    assert "4.00 ms, goal at most 5.00 ms: met" in found.measured


def test_a_sound_step_is_valid_and_says_so_in_a_sentence_to_quote() -> None:
    made = step_verdict(repeated(disk(), STEADY))
    assert made.verdict.trust is Trust.VALID
    assert made.verdict.summary == (
        "Valid: I/Os per second, read 10.008k IOPS at 3.20 ms on average, p99 9.00 ms (geometric mean of 6 "
        "trials), "
        "limited by the device."
    )
    assert [finding.id for finding in made.verdict.findings] == ["limited-by"]
    assert verdict_text(made.verdict) == MESSAGES["valid_limited_by_the_device"]


def test_of_trials_with_different_limits_each_has_its_evidence() -> None:
    busy, idle = disk(), replace(disk(), watch=None)
    whole = repeated(busy, STEADY)
    mixed = replace(whole, trials=tuple(
        replace(one, watch=idle.watch) if number % 2 else one for number, one in enumerate(whole.trials)
    ))  # fmt: skip
    found = next(one for one in step_verdict(mixed).verdict.findings if one.id == "limited-by")
    outcomes = [LIMITED_BY.outcome(one) for one in mixed.trials[:2]]
    evidence = [one.measured.partition(": ")[2] for one in outcomes if isinstance(one, CheckOutcome)]
    assert found.measured.endswith(f" The device (3 of 6): {evidence[0]} Not identified (3 of 6): {evidence[1]}")
    assert found.remedy not in {one.remedy for one in outcomes if isinstance(one, CheckOutcome)}


def test_what_the_trials_agree_in_is_said_once_and_the_worst_decides() -> None:
    cached = trial(
        "fio", {**FULL, "latency_mean": 1e5}, at=READ, host={"disk_read_rate:vda": 0.0, "disk_busy:vda": 0.0}, **ONE
    )
    made = step_verdict(repeated(cached, STEADY[:3]))
    assert made.verdict.trust is Trust.INVALID
    assert made.verdict.summary.endswith(MESSAGES["memory_answered_for_the_disk"])
    reported = [finding for finding in made.verdict.findings if finding.id == "not-from-the-device"]
    assert [one.measured.rpartition(". ")[2] for one in reported] == ["In all 3 trials."]
    assert reported[0].step == "step"


def finding(name: str, level: Severity) -> Finding:
    """Return a finding of before."""
    return Finding(name, level, f"{name} was found", "1", "it matters", "mend it", "a source", "step", "web-1")


@pytest.mark.parametrize("foretelling", ["page-cache", "host-busy", "disk-in-use"])
def test_findings_of_before_weigh_unless_a_check_of_after_has_seen_how_it_came(foretelling: str) -> None:
    sound = repeated(disk(other_cpu=0.0), STEADY)
    foretold = replace(sound, findings=(finding(foretelling, Severity.WARNING),))
    assert step_verdict(foretold).verdict.trust is Trust.VALID
    blind = replace(foretold, trials=tuple(replace(one, watch=None) for one in foretold.trials))
    assert step_verdict(blind).verdict.trust is Trust.CAVEATS
    stolen = step_verdict(replace(sound, findings=(finding("stolen-cpu", Severity.ERROR),))).verdict
    assert (stolen.trust, stolen.findings[0].id) == (Trust.DOUBTFUL, "stolen-cpu")
    assert "stolen-cpu was found." in stolen.summary
    assert step_verdict(replace(sound, findings=(finding("few-trials", Severity.INFO),))).verdict.trust is Trust.VALID


@pytest.mark.parametrize("level", [Severity.WARNING, Severity.ERROR])  # an error in runs of earlier versions
@pytest.mark.parametrize("check", ["command-secret", "job-file-secret", "geekbench-uploads"])
def test_what_concerns_the_start_only_is_no_caveat_and_comes_last(check: str, level: Severity) -> None:
    leaked = finding(check, level)
    sound = step_verdict(replace(repeated(disk(), STEADY), findings=(leaked,))).verdict
    assert (sound.trust, sound.findings[-1]) == (Trust.VALID, leaked)
    assert leaked.title not in sound.summary
    cached = finding("stolen-cpu", Severity.WARNING)
    reduced = step_verdict(replace(repeated(disk(), STEADY), findings=(leaked, cached))).verdict
    assert (reduced.trust, reduced.findings[0], reduced.findings[-1]) == (Trust.CAVEATS, cached, leaked)


@pytest.mark.parametrize("check", ["command-shell-signs", "low-space", "one-host-after-another", "pgbench-log-large"])
def test_what_changes_the_figure_is_a_caveat_also_where_it_is_known_before_the_start(check: str) -> None:
    seen = replace(repeated(disk(), STEADY), findings=(finding(check, Severity.WARNING),))
    assert step_verdict(seen).verdict.trust is Trust.CAVEATS


def test_a_run_is_as_good_as_the_worst_of_its_steps() -> None:
    good = step_verdict(repeated(disk(), STEADY)).verdict
    bad = Verdict(Trust.DOUBTFUL, Limiter.TOOL, "Doubtful.", (finding("x", Severity.ERROR),), "copy", "web-1")
    whole = run_verdict([good, bad])
    assert whole is not None
    assert (whole.trust, whole.limited_by, whole.step, whole.host) == (Trust.DOUBTFUL, None, None, None)
    assert whole.summary == "Doubtful: of 2 results, 1 valid, 1 doubtful (copy on web-1)."
    assert whole.findings == bad.findings
    alone = run_verdict([good])
    assert alone == replace(good, step=None, host=None)
    assert run_verdict([]) is None


def test_a_quick_look_is_labelled_in_its_verdict_and_nowhere_else() -> None:
    once = repeated(disk(), STEADY[:1])
    quick = step_verdict(replace(once, planned=1))
    assert MESSAGES["quick_look"] in quick.verdict.summary
    assert "few-trials-done" not in {one.finding.id for one in quick.found}
    interrupted = step_verdict(replace(once, planned=6))
    assert "(1 trial)" in interrupted.verdict.summary
    assert "few-trials-done" in {one.finding.id for one in interrupted.found}

"""The checks of after over the trials of a step, what limited it, and the verdict that all of them make."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from app.checks.catalogue import OUTCOME_CHECKS
from app.checks.limiter import LIMITED_BY
from app.verdict.steps import run_verdict, step_verdict, verdict_text
from suites.checks import CheckOutcome
from suites.evidence import StepOutcomeEvidence, TrialEvidence
from suites.facts import BlockDevice
from suites.verdict import Goal, Limiter, Trust, Verdict
from suites.vocab import Finding, Severity, labels
from tests.app.trial_evidence import READ, facts, repeated, step, trial
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
    "few-trials-done": ((10_000.0, 10_100.0, 9_900.0), "3 trials: no 95 % interval"),
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


def test_every_check_of_a_step_has_a_case() -> None:
    assert set(CHECKS) == set(CASES) | {"trials-failed", "goal"}


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


@pytest.mark.parametrize(
    ("goal", "level", "words"),
    [
        (Goal("iops", at_least=9_000), Severity.INFO, "met (6 of 6 trials)"),
        (Goal("iops", at_least=10_040), Severity.WARNING, "missed (1 of 6 trials)"),
        (Goal("latency_p99", at_most=5e6), Severity.WARNING, "goal at most 5.00 ms: missed"),
    ],
)
def test_a_goal_is_met_or_missed_and_changes_no_trust(goal: Goal, level: Severity, words: str) -> None:
    evidence = replace(repeated(disk(), STEADY), goals=(goal,))
    found = outcome("goal", evidence)
    assert found is not None
    assert words in found.measured
    assert found.severity is level
    assert step_verdict(evidence).verdict.trust is Trust.VALID


def by_threads(suite: str, metric: str, curve: Mapping[int, float]) -> TrialEvidence:
    """Return a trial that swept the threads."""
    one = trial(suite, {metric: 1.0}, host={"cpu_user": 60.0})
    figure = one.figures[0]
    swept = (replace(figure, value=value, labels=labels(threads=str(count))) for count, value in curve.items())
    return replace(one, figures=tuple(swept))


LIMITS: dict[str, tuple[TrialEvidence, Limiter]] = {
    "device": (disk(), Limiter.DEVICE),
    "depth 1": (
        trial("fio", {**FULL, "latency_mean": 1e5}, at=READ, host={**DISK, "disk_busy:vda": 97.0}, **ONE),
        Limiter.QUEUE_DEPTH,
    ),
    "from memory": (
        trial("fio", FULL, at=READ, host={**DISK, "disk_busy:vda": 1.0, "cpu_system": 20.0}, **{**ONE, "numjobs": 1}),
        Limiter.ONE_THREAD,
    ),
    "flat": (
        replace(disk(), samples=trial("fio", FULL, at=READ, samples=[10_000.0, 10_010.0] * 10).samples),
        Limiter.PROVISIONED,
    ),
    "on the way": (
        trial("fio", FULL, at=READ, samples=[10_000.0, 10_300.0] * 10, host={**DISK, "disk_busy:vda": 20.0}, **DEEP),
        Limiter.PROVISIONED,
    ),
    "on the way, unevenly": (
        trial("fio", FULL, at=READ, samples=[8_000.0, 12_000.0] * 10, host={**DISK, "disk_busy:vda": 20.0}, **DEEP),
        Limiter.UNKNOWN,
    ),
    "on the way, in slices": (
        trial("fio", {**FULL, "latency_p50": FULL["latency_mean"] / 20}, at=READ,
              samples=[4025.0, 4107.0, 3981.0, 3993.0, 4017.0, 4135.0, 3826.0, 4152.0, 4134.0, 3902.0, 3677.0],
              host={**DISK, "disk_busy:vda": 6.0}, **DEEP),
        Limiter.PROVISIONED,
    ),
    "on the way, as unevenly without slices": (
        trial("fio", {**FULL, "latency_p50": FULL["latency_mean"]}, at=READ,
              samples=[4025.0, 4107.0, 3981.0, 3993.0, 4017.0, 4135.0, 3826.0, 4152.0, 4134.0, 3902.0, 3677.0],
              host={**DISK, "disk_busy:vda": 6.0}, **DEEP),
        Limiter.UNKNOWN,
    ),
    "device, beside others": (
        trial("fio", {**FULL, "cpu_user": 2.0, "cpu_system": 3.0}, at=READ,
              host={**DISK, "disk_busy:vda": 99.0, "cpu_user": 98.0}, **DEEP),
        Limiter.DEVICE,
    ),
    "on the way, beside others": (
        trial("fio", {**FULL, "cpu_user": 2.0, "cpu_system": 3.0}, at=READ, samples=[10_000.0, 10_300.0] * 10,
              host={**DISK, "disk_busy:vda": 20.0, "cpu_user": 98.0}, **DEEP),
        Limiter.PROVISIONED,
    ),
    "encrypted on the way": (
        trial("fio", {**FULL, "cpu_user": 2.0, "cpu_system": 3.0}, at=READ, samples=[10_000.0, 10_300.0] * 10,
              host={**DISK, "disk_busy:vda": 20.0, "cpu_system": 98.0}, **DEEP,
              known=replace(facts(), block_devices=(BlockDevice(name="dm-0", kind="crypt"),))),
        Limiter.UNKNOWN,
    ),
    "others have the processors": (
        trial("fio", {**FULL, "cpu_user": 2.0, "cpu_system": 3.0}, at=READ, samples=[8_000.0, 12_000.0] * 10,
              host={**DISK, "disk_busy:vda": 20.0, "cpu_user": 98.0}, **DEEP),
        Limiter.UNKNOWN,
    ),
    "requested rate": (disk({**DEEP, "rate_iops": 10_000}), Limiter.RATE),
    "requested rate, half reached": (disk({**DEEP, "numjobs": 2, "rate_iops": 10_000}), Limiter.DEVICE),
    "requested rate of each job": (disk({**DEEP, "numjobs": 4, "rate_iops": 2_500}), Limiter.RATE),
    "requested rate of reads and writes": (disk({**DEEP, "rw": "randrw", "rate_iops": 5_000}), Limiter.RATE),
    "busy fio": (
        trial("fio", {**FULL, "cpu_user": 20.0, "cpu_system": 78.0}, at=READ, host={**DISK, "disk_busy:vda": 99.0},
              **DEEP),
        Limiter.TOOL,
    ),
    "all processors": (
        trial("sysbench-cpu", {"events_per_second": 900.0}, host={"cpu_user": 94.0}, threads=4), Limiter.CPU,
    ),
    "one thread": (
        trial("sysbench-cpu", {"events_per_second": 230.0}, host={"cpu_user": 20.0}, threads=1), Limiter.ONE_THREAD,
    ),
    "quota": (
        trial("sysbench-cpu", {"events_per_second": 230.0}, host={"cpu_user": 25.0}, known=facts(quota=1.0), threads=4),
        Limiter.QUOTA,
    ),
    "throttled": (
        trial("sysbench-cpu", {"events_per_second": 230.0}, host={"cpu_user": 10.0, "cgroup_throttled": 60.0}),
        Limiter.QUOTA,
    ),
    "beyond the allowance": (disk(DEEP, 50.0, allowance_exceeded=3.0), Limiter.PROVISIONED),
    "one lock": (
        trial("sysbench-threads", {"events_per_second": 230.0}, host={"cpu_user": 15.0, "core_busiest": 97.0},
              threads=8),
        Limiter.ONE_THREAD,
    ),
    "memory": (
        trial("stream", {"bandwidth": 20e3}, host={"cpu_user": 95.0}, array_size=80_000_000), Limiter.MEMORY_BANDWIDTH,
    ),
    "memory, by a sweep": (by_threads("stream", "triad", {1: 12e3, 2: 20e3, 4: 20.5e3}), Limiter.MEMORY_BANDWIDTH),
    "processors, by a sweep": (
        by_threads("compute", "floating_point_rate_by_threads", {1: 1e9, 2: 2e9, 4: 3.9e9}), Limiter.CPU,
    ),
    "a sweep that tells nothing": (by_threads("stream", "triad", {1: 12e3, 2: 20e3, 4: 26e3}), Limiter.UNKNOWN),
    "caches": (trial("stream", {"bandwidth": 90e3}, host={"cpu_user": 95.0}, array_size=1_048_576), Limiter.CPU),
    "caches, by three arrays of bytes": (
        trial("stream", {"bandwidth": 90e3}, host={"cpu_user": 95.0}, array_size=8 * 2**20), Limiter.CPU,
    ),
    "small blocks": (
        trial("sysbench-memory", {"throughput": 6000.0}, host={"cpu_user": 20.0}, block_size=1024), Limiter.TOOL,
    ),
    "link": (
        trial("iperf3", {"throughput": 941e6}, at=labels(direction="send", end="receiver"),
              host={"network_sent:eth0": 1.2e8, "network_received:eth0": 1e5}, time=10),
        Limiter.LINK,
    ),
    "shaped": (
        trial("iperf3", {"throughput": 50e6}, at=labels(direction="send", end="receiver"),
              samples=[50e6, 50.1e6] * 5, host={"network_sent:eth0": 6.4e6, "network_received:eth0": 1e5}, time=10),
        Limiter.LINK,
    ),
    "nothing": (
        trial("iperf3", {"throughput": 300e6}, at=labels(direction="send", end="receiver"), host={}, time=10),
        Limiter.UNKNOWN,
    ),
    "shaped, by the kernel": (
        trial("iperf3", {"throughput": 50e6}, at=labels(direction="send", end="receiver"),
              samples=[47e6, 53e6] * 5, host={"network_sent:eth0": 6.4e6, "network_received:eth0": 1e5}, time=10),
        Limiter.LINK,
    ),
    "lost on the way": (
        trial("iperf3", {"throughput": 48.5e6, "lost": 3.0}, at=labels(direction="send", end="receiver"), host={},
              protocol="udp", bitrate=50, time=10),
        Limiter.LINK,
    ),
    "requested rate of two streams": (
        trial("iperf3", {"throughput": 99.9e6}, at=labels(direction="send", end="receiver"), host={},
              protocol="udp", bitrate=50, streams=2, time=10),
        Limiter.RATE,
    ),
    "requested rate of two streams, half reached": (
        trial("iperf3", {"throughput": 50e6}, at=labels(direction="send", end="receiver"), host={},
              protocol="udp", bitrate=50, streams=2, time=10),
        Limiter.UNKNOWN,
    ),
    "not watched": (trial("sysbench-cpu", {"events_per_second": 900.0}), Limiter.UNKNOWN),
}  # fmt: skip


@pytest.mark.parametrize("case", LIMITS)
def test_the_limiter_is_named_from_what_was_used_up(case: str) -> None:
    one, limiter = LIMITS[case]
    found = LIMITED_BY.evaluate(one)
    assert isinstance(found, CheckOutcome)
    assert found.limiter is limiter, found.measured
    assert found.remedy, "the next test stands in it"


def test_an_idle_and_a_full_link_are_no_sweep() -> None:
    found = LIMITED_BY.evaluate(trial("latency-under-load", {"round_trip": 0.3}))
    assert isinstance(found, CheckOutcome)
    assert found.limiter is Limiter.UNKNOWN
    assert found.remedy is not None
    assert "curve" not in found.remedy
    assert "iperf3" in found.remedy


def test_a_sound_step_is_valid_and_says_so_in_a_sentence_to_quote() -> None:
    made = step_verdict(repeated(disk(), STEADY))
    assert made.verdict.trust is Trust.VALID
    assert made.verdict.summary == (
        "Valid: I/Os per second, read 10.0k IOPS at 3.20 ms on average, p99 9.00 ms (median of 6 trials), "
        "limited by the device."
    )
    assert [finding.id for finding in made.verdict.findings] == ["limited-by"]
    assert verdict_text(made.verdict) == MESSAGES["valid_limited_by_the_device"]


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


def test_findings_of_before_weigh_unless_a_check_of_after_has_seen_how_it_came() -> None:
    sound = repeated(disk(), STEADY)
    foretold = replace(sound, findings=(finding("page-cache", Severity.WARNING),))
    assert step_verdict(foretold).verdict.trust is Trust.VALID
    blind = replace(foretold, trials=tuple(replace(one, watch=None) for one in foretold.trials))
    assert step_verdict(blind).verdict.trust is Trust.CAVEATS
    stolen = step_verdict(replace(sound, findings=(finding("stolen-cpu", Severity.ERROR),))).verdict
    assert (stolen.trust, stolen.findings[0].id) == (Trust.DOUBTFUL, "stolen-cpu")
    assert "stolen-cpu was found." in stolen.summary
    assert step_verdict(replace(sound, findings=(finding("few-trials", Severity.INFO),))).verdict.trust is Trust.VALID


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
    assert "(quick look: 1 trial, no interval)" in quick.verdict.summary
    assert "few-trials-done" not in {one.finding.id for one in quick.found}
    interrupted = step_verdict(replace(once, planned=6))
    assert "(1 trial)" in interrupted.verdict.summary
    assert "few-trials-done" in {one.finding.id for one in interrupted.found}

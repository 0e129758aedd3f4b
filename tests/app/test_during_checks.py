"""The checks of during on made-up telemetry: each with what it must say, and its clean twin that must draw nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from app.checks.after import judge_step, untold
from app.checks.during import DURING_CHECKS, OF_THE_WHOLE
from app.checks.during_words import RUNNING
from suites.checks import CannotTell, Outcome, When
from suites.evidence import DONE, HostWatch, Point, TrialEvidence
from suites.verdict import Trust
from suites.vocab import Labels, Level, labels
from tests.app.after_evidence import CLOCK, READ, facts, said, step, trial

CHECKS = {check.id: check for check in DURING_CHECKS}
SECONDS = 60
Series = Mapping[tuple[str, Labels], Sequence[Point]]

LABELS = {
    "process_time": "process", "allowance_exceeded_time": "device", "filesystem_errors": "device",
    "link_changes": "interface", "network_sent": "interface", "network_drops": "interface",
}  # fmt: skip


def level(value: float, every: int = 1) -> tuple[Point, ...]:
    return tuple((CLOCK + second, value) for second in range(every - every, SECONDS + 1, every))


def once(value: float, at: float = 30.0) -> tuple[Point, ...]:
    return tuple((CLOCK + second, value if second == at else 0.0) for second in range(0, SECONDS + 1, 5))


def of(suite: str = "sysbench-cpu", **series: Sequence[Point]) -> TrialEvidence:
    """Return a trial of 60 seconds with telemetry; ``network_sent__eth0`` is that of the interface eth0."""
    found: dict[tuple[str, Labels], tuple[Point, ...]] = {("cpu_idle", ()): level(50.0)}
    for name, points in series.items():
        metric, _, named = name.partition("__")
        at = labels(**{LABELS[metric]: named}) if named else ()
        found[metric, at] = tuple(points)
    made = trial(suite, {}, seconds=SECONDS)
    return replace(made, watch=HostWatch("web-1", CLOCK, CLOCK + SECONDS, found, facts()))


def fell(before: float, after: float) -> tuple[Point, ...]:
    return tuple((CLOCK + second, before if second < 30 else after) for second in range(0, SECONDS + 1, 5))


PACKETS = {"network_sent__eth0": level(1e6)}

CASES: dict[str, tuple[TrialEvidence, TrialEvidence, str, Level]] = {
    "cpu-stolen": (
        of(cpu_steal=level(3.0)), of(cpu_steal=level(0.5)),
        "3 % of the processor time of 1 min was stolen, up to 3 % in one second.", Level.WARNING,
    ),
    "cpu-too-hot": (
        of(throttle_events=once(4.0), temperature_of_limit=level(99.0, 5)), of(throttle_events=once(0.0)),
        "Processors were slowed down 4 times in 1 min, at up to 99 % of the temperature they bear.", Level.WARNING,
    ),
    "clock-fell": (
        of(clock_frequency=fell(3.6e9, 2.4e9), core_busiest=level(99.0)),
        of(clock_frequency=fell(3.6e9, 3.5e9), core_busiest=level(99.0)),
        "The processors’ clock fell from 3.60 GHz to 2.40 GHz while they were at work.", Level.WARNING,
    ),
    "quota-throttled": (
        of(cgroup_throttled=level(48.0), cgroup_throttled_periods=level(97.0)),
        of(cgroup_throttled=level(1.0), cgroup_throttled_periods=level(3.0)),
        "A quota was used up in 97 % of its periods, and kept tasks from a processor for 48 % of 1 min.", Level.WARNING,
    ),
    "swapped": (
        of(swap_in=level(2**20), swap_out=level(0.0)), of(swap_in=level(0.0), swap_out=once(2**20)),
        "60 MiB were read back from swap and 0 B written to it in 1 min.", Level.WARNING,
    ),
    "killed-for-memory": (
        of(out_of_memory_kills=once(1.0)), of(out_of_memory_kills=level(0.0)),
        "The kernel killed 1 process because memory had run out.", Level.ERROR,
    ),
    "memory-short": (
        of(pressure_memory=level(12.0), memory_available=level(2**20)), of(pressure_memory=level(1.0)),
        "Some task waited for memory for 12 % of 1 min; 1.00 MiB were left at the least.", Level.WARNING,
    ),
    "near-heat-limit": (
        of(temperature_of_limit=level(96.0, 5)), of(temperature_of_limit=level(70.0, 5)),
        "The processors reached 96 % of the temperature they bear.", Level.INFO,
    ),
    "other-process": (
        of(process_time__backup=level(4.5, 5)), of(process_time__backup=level(0.2, 5)),
        "Beside the test, backup took 90 % of a processor over 1 min.", Level.WARNING,
    ),
    "volume-limit-reached": (
        of("fio", allowance_exceeded_time__nvme1n1=once(2.5)), of("fio", allowance_exceeded_time__nvme1n1=once(0.0)),
        "The volume asked for more than was provisioned for 2.5 s of 1 min.", Level.WARNING,
    ),
    "link-went-down": (
        of("iperf3", link_changes__eth0=once(2.0), **PACKETS), of("iperf3", link_changes__veth0=once(2.0), **PACKETS),
        "Links went up or down: eth0 2 times.", Level.ERROR,
    ),
    "filesystem-errors": (
        of(filesystem_errors__vda=once(3.0)), of(filesystem_errors__vda=once(0.0)),
        "The file system met errors: 3 on vda.", Level.ERROR,
    ),
    "segments-sent-again": (
        of("iperf3", network_segments=level(1000.0), network_retransmits=level(60.0)),
        of("iperf3", network_segments=level(1000.0), network_retransmits=level(0.1)),
        "3600 of 60000 segments were sent again (6 %).", Level.WARNING,
    ),
    "packets-dropped": (
        of("iperf3", network_datagrams_dropped=level(50.0), network_drops__eth0=level(1.0)),
        of("iperf3", network_datagrams_dropped=level(0.5), network_drops__eth0=level(0.0)),
        "Counted on the host: 3000 datagrams that no program fetched in time.", Level.WARNING,
    ),
}  # fmt: skip


@pytest.mark.parametrize("check", CASES)
def test_it_says_what_it_saw_and_nothing_of_the_clean_twin(check: str) -> None:
    staged, clean, words, gravity = CASES[check]
    outcome = CHECKS[check].evaluate(staged)
    assert isinstance(outcome, Outcome)
    assert outcome.measured == words
    assert CHECKS[check].worded(outcome, staged).level is gravity
    assert CHECKS[check].evaluate(clean) is None


@pytest.mark.parametrize("check", CASES)
def test_without_telemetry_it_cannot_tell_and_of_a_failed_trial_it_says_nothing(check: str) -> None:
    staged = CASES[check][0]
    assert isinstance(CHECKS[check].evaluate(replace(staged, watch=None)), CannotTell)
    assert CHECKS[check].evaluate(replace(staged, state="failed")) is None


def test_every_check_of_during_says_what_it_is_and_has_a_case() -> None:
    elsewhere = {"token-bucket", "still-on-its-way", "allowance-exceeded"}
    assert set(CHECKS) == set(CASES) | elsewhere
    for check in DURING_CHECKS:
        assert check.when is When.DURING
        assert all((check.title, check.why, check.remedy, check.source, check.needs))
        assert "!" not in check.title + check.why + check.remedy


def test_a_quiet_host_draws_no_finding() -> None:
    assert {name: said(check, of()) for name, check in CHECKS.items() if said(check, of())} == {
        name: "cannot tell"
        for name in CHECKS
        if name
        not in {
            "other-process", "link-went-down", "filesystem-errors", "segments-sent-again", "packets-dropped",
            "token-bucket", "still-on-its-way",
        }
    }  # fmt: skip


def test_what_is_stolen_makes_a_result_doubtful_from_a_tenth_on() -> None:
    check = CHECKS["cpu-stolen"]
    much = check.evaluate(of(cpu_steal=level(11.0)))
    assert isinstance(much, Outcome)
    assert check.leaves(much) is Trust.DOUBTFUL


def test_of_a_trial_under_way_only_what_stays_true_is_told() -> None:
    half = replace(of(cpu_steal=level(3.0)), state=RUNNING, expected=600.0)
    assert CHECKS["cpu-stolen"].evaluate(half) is None  # 1.8 s of 600 s, if no more is stolen
    assert isinstance(CHECKS["cpu-stolen"].evaluate(replace(half, expected=120.0)), Outcome)


def test_a_clock_that_falls_at_rest_is_no_finding() -> None:
    resting = of(clock_frequency=fell(3.6e9, 0.8e9), core_busiest=fell(99.0, 2.0))
    assert CHECKS["clock-fell"].evaluate(resting) is None


def test_packets_that_a_cloud_held_back_spoil_a_network_test_and_are_told_beside_others() -> None:
    at = labels(interface="eth0", allowance="bw_out")
    for suite, gravity in (("iperf3", Level.ERROR), ("sysbench-cpu", Level.INFO)):
        made = of(suite)
        assert made.watch is not None
        held = {**made.watch.series, ("allowance_exceeded", at): once(250.0)}
        outcome = CHECKS["allowance-exceeded"].evaluate(replace(made, watch=replace(made.watch, series=held)))
        assert isinstance(outcome, Outcome)
        assert outcome.measured == "Held back beyond the instance’s allowance: 250 packets (eth0 bw_out)."
        assert outcome.level is gravity


@pytest.mark.parametrize(
    ("suite", "idle", "gravity"),
    [("sysbench-cpu", 50.0, Level.WARNING), ("fio", 50.0, Level.INFO), ("fio", 3.0, Level.WARNING)],
)
def test_another_process_is_a_warning_where_the_test_needs_the_processors(
    suite: str, idle: float, gravity: Level
) -> None:
    outcome = CHECKS["other-process"].evaluate(of(suite, process_time__backup=level(4.5, 5), cpu_idle=level(idle)))
    assert isinstance(outcome, Outcome)
    assert outcome.level is gravity


def test_the_server_of_a_database_test_is_nobody_else() -> None:
    assert isinstance(CHECKS["other-process"].evaluate(of("pgbench", process_time__postgres=level(4.5, 5))), CannotTell)


# The course of a rate


def course(values: Sequence[float], expected: float = 600.0, state: str = RUNNING) -> TrialEvidence:
    made = trial("fio", {"iops": values[0]}, at=READ, samples=[float(value) for value in values], seconds=len(values))
    return replace(made, figures=() if state == RUNNING else made.figures, state=state, expected=expected)


def noisy(means: Sequence[tuple[float, int]], spread: float = 0.03) -> list[float]:
    rng = np.random.default_rng(7)
    return [mean * (1 + spread * rng.standard_normal()) for mean, seconds in means for _ in range(seconds)]


def test_a_bucket_that_runs_empty_is_told_while_it_runs_with_its_size() -> None:
    whole = noisy([(4000.0, 310), (1500.0, 60)])
    told = next(seconds for seconds in range(300, 370) if said(CHECKS["token-bucket"], course(whole[:seconds])))
    assert 320 <= told <= 350
    words = said(CHECKS["token-bucket"], course(whole)) or ""
    assert words.startswith("4 k/s until 5 min 10 s, then 1.5 k/s.") or "until 5 min 10 s" in words
    assert "about 7" in words  # (4000 - 1500) x 310 s = 775,000


def test_a_steady_rate_a_dip_and_a_slope_are_no_bucket() -> None:
    steady, dip = noisy([(4000.0, 300)]), noisy([(4000.0, 300), (1500.0, 8)])
    slope = [4000.0 - 8 * second for second in range(300)]
    for values in (steady, dip, slope):
        assert said(CHECKS["token-bucket"], course(values)) is None


@pytest.mark.parametrize(("state", "words"), [(RUNNING, True), (DONE, True), ("failed", False)])
def test_a_rate_that_still_climbs_late_is_told(state: str, words: bool) -> None:  # noqa: FBT001 (a case)
    climbing = noisy([(1000.0 + 10 * second, 1) for second in range(90)], 0.01)
    told = said(CHECKS["still-on-its-way"], course(climbing, 120.0, state)) or ""
    assert told.startswith("After 1 min 30 s the rate still climbs: ") is words


def test_a_rate_that_climbs_early_or_has_settled_is_not() -> None:
    climbing = noisy([(1000.0 + 10 * second, 1) for second in range(60)], 0.01)
    assert said(CHECKS["still-on-its-way"], course(climbing, 600.0)) is None
    assert said(CHECKS["still-on-its-way"], course(noisy([(1000.0, 5), (2000.0, 85)]), 120.0)) is None


# What becomes of it in the verdict


def test_the_verdict_counts_what_was_found_over_all_trials_and_tells_nothing_twice() -> None:
    stolen, quiet = of(cpu_steal=level(3.0)), of(cpu_steal=level(0.1))
    judgement = judge_step(step(replace(stolen, id=1), replace(quiet, id=2)))
    (found,) = [one for one in judgement.found if one.finding.id == "cpu-stolen"]
    assert found.finding.measured.endswith("So in 1 of 2 trials.")
    assert found.trust is Trust.CAVEATS
    assert found.finding in judgement.verdict.findings
    outcome = CHECKS["cpu-stolen"].evaluate(stolen)
    assert isinstance(outcome, Outcome)
    live = CHECKS["cpu-stolen"].worded(outcome, stolen)
    assert found not in untold(judgement, [live])
    assert found in untold(judgement, [])


def test_the_bucket_is_asked_once_of_the_whole() -> None:
    assert {check.id for check in DURING_CHECKS} - {check.id for check in OF_THE_WHOLE} == {"token-bucket"}

"""The shape of a rate: nine of them named with their times, flat ones silent. Seeds are fixed."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from app.checks.evidence import RUNNING
from app.checks.shapes import ShapeKind, shape_of
from app.checks.timing import SHAPE_CHECKS
from app.parse import parse_output
from suites.evidence import DONE, TrialEvidence
from suites.vocab import Finding, Severity
from tests.app.trial_evidence import READ, shown, trial
from tests.simulation import rates
from tests.simulation.noise import Numbers


def kind_of(values: Numbers) -> str:
    found = shape_of(np.arange(1.0, len(values) + 1).tolist(), values.tolist())
    return "flat" if found is None else found.kind.value


def named(kind: ShapeKind, seconds: int, effect: float, cov: float, seeds: range) -> Counter[str]:
    return Counter(kind_of(rates.course(kind, seconds, effect, cov, seed)) for seed in seeds)


@pytest.mark.parametrize("seconds", [30, 60, 120])
@pytest.mark.parametrize("kind", ShapeKind)
def test_each_shape_is_named(kind: ShapeKind, seconds: int) -> None:
    for effect, cov in ((0.15, 0.01), (0.4, 0.02), (0.4 if kind is ShapeKind.STALL else 0.9, 0.005)):
        assert named(kind, seconds, effect, cov, range(1000, 1005)) == {kind.value: 5}


def test_flat_rates_are_silent() -> None:
    found = Counter(kind_of(rates.flat(np.random.default_rng([1, one]))) for one in range(500))
    assert found == {"flat": 500}


def test_the_rates_that_a_search_tries_have_no_shape() -> None:
    """They double, and narrow down: levels that are the search's, not the server's."""
    tried = [100.0 * 2 ** (second // 8) for second in range(48)]
    found = {
        suite: [check.evaluate(trial(suite, {name: 500.0}, samples=tried)) for check in SHAPE_CHECKS]
        for suite, name in (("fio", "iops"), ("fio-slo", "slo_rate"), ("iperf3-udp", "udp_rate"))
    }
    assert [suite for suite, outcomes in found.items() if any(outcomes)] == ["fio"]


@pytest.mark.slow
@pytest.mark.parametrize("noise", rates.NOISES)
def test_flat_rates_with_any_noise_are_silent(noise: str) -> None:
    assert Counter(kind_of(rates.flat_with(noise, seed)) for seed in range(200, 325)) == {"flat": 125}


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [30, 60, 120])
@pytest.mark.parametrize("kind", [ShapeKind.STEP_UP, ShapeKind.STEP_DOWN, ShapeKind.DECAY, ShapeKind.RISE])
def test_odd_seconds_and_a_transition_do_not_change_the_name(kind: ShapeKind, seconds: int) -> None:
    found = Counter(kind_of(rates.on_a_busy_host(kind, seconds, 0.4, seed)) for seed in range(50))
    assert found[kind.value] >= 47, found


@pytest.mark.slow
def test_the_shape_table_holds_for_other_seeds_too() -> None:
    flat = Counter(kind_of(rates.flat(np.random.default_rng([7, one]))) for one in range(10_000))
    assert flat["flat"] >= 9_980
    for noise in rates.NOISES:
        found = Counter(kind_of(rates.flat_with(noise, seed)) for seed in range(2000))
        assert found["flat"] >= 1_990, (noise, found)
    for kind in ShapeKind:
        for seconds, least in ((30, 60), (60, 95), (120, 98)):
            found = named(kind, seconds, 0.15, 0.02, range(7000, 7100))
            assert found[kind.value] >= least, (kind, seconds, found)
            assert sum(found.values()) - found[kind.value] - found["flat"] <= 3, (kind, seconds, found)


def test_an_hour_of_samples_takes_milliseconds() -> None:
    hour = np.random.default_rng(1).normal(1, 0.03, 3600).tolist()
    times = [float(second) for second in range(1, 3601)]
    began = time.process_time()
    shape_of(times, hour)
    assert time.process_time() - began < 0.3


BLOCKS = ([0.0] * 13 + [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]) * 5


@pytest.mark.parametrize(
    ("times", "values"),
    [
        (range(1, 101), BLOCKS),  # regular drops of a rate that is mostly 0
        ([5.0] * 60, [1.0, 1.0, 1.0, 5.0, 5.0, 5.0] * 10),
        ([0.0] * 30 + [1.0] * 30 + [2.0] * 4, [1.0] * 30 + [5.0] * 30 + [1.0] * 4),
        ([30.0, *range(1, 60)], [1000.0] * 30 + [700.0] * 30),
    ],
)
def test_a_series_of_zeros_or_of_equal_times_is_no_error(times: Iterable[float], values: list[float]) -> None:
    found = shape_of([float(one) for one in times], values)
    assert found is None or found.kind is not ShapeKind.STALL


# The words


def course(*parts: tuple[float, float]) -> TrialEvidence:
    """Return a read whose IOPS are at each level for some seconds, with a noise of 1 %."""
    rng = np.random.default_rng(5)
    values = [level * (1 + 0.01 * rng.standard_normal()) for level, seconds in parts for _ in range(int(seconds))]
    return trial("fio", {"iops": values[0]}, at=READ, samples=values, seconds=len(values))


def stalls(count: int, period: int = 5) -> TrialEvidence:
    rng = np.random.default_rng(5)
    values = [
        (600.0 if second % period == 3 else 1000.0) * (1 + 0.01 * rng.standard_normal()) for second in range(count)
    ]
    return trial("fio", {"iops": values[0]}, at=READ, samples=values, seconds=count)


WORDS: dict[str, tuple[TrialEvidence, str, str]] = {
    "decay": (
        course(*((4000.0 - 40 * s, 1) for s in range(30))),
        "still-on-its-way",
        "IOPS at 30 s and has not levelled off. Worst second",
    ),
    "rise": (course(*((1000.0 + 40 * s, 1) for s in range(60))), "still-on-its-way", "and has not levelled off."),
    "warm-up": (course(*((1000.0 + 40 * s, 1) for s in range(12)), (1480, 48)), "still-on-its-way", "then it is level"),
    "dip": (course((1000, 12), (700, 3), (1000, 15)), "rate-dips", "between 12 s and 15 s; 997 IOPS otherwise"),
    "two dips": (course((1000, 12), (700, 3), (1000, 9), (700, 4), (1000, 30)), "rate-dips", "Rate dips 2 times to"),
    "stop": (course((1000, 12), (0, 2), (1000, 46)), "rate-dips", "between 12 s and 14 s"),
    "peak": (course((1000, 12), (1300, 4), (1000, 44)), "rate-dips", "Rate peaks at 1297 IOPS between 12 s and 16 s"),
    "telegraph": (course(*((1000, 5), (700, 5)) * 6), "rate-alternates", "about every 10 s, 6 times low for 5"),
    "stall": (stalls(30), "rate-stalls", "Rate stalls every 5.0 s for 0.4 s"),
    "step down": (course((1000, 20), (700, 10)), "changed-late", "at 20 s; the last level lasts 10 s. A token bucket"),
    "step up": (course((1000, 20), (1300, 40)), "changed-late", "Rate steps up from "),
    "burst": (course((1000, 8), (500, 22)), "token-bucket", "until 8 s, then "),
}


@pytest.mark.parametrize("shape", WORDS)
def test_a_trial_of_thirty_seconds_is_told_by_one_check_with_its_times(shape: str) -> None:
    evidence, check, words = WORDS[shape]
    texts = {one.id: text for one in SHAPE_CHECKS if (text := shown(one, evidence))}
    assert list(texts) == [check]
    assert words in texts[check]


@pytest.mark.parametrize(("seconds", "state", "named"), [(21, DONE, 1), (21, RUNNING, 0), (28, RUNNING, 1)])
def test_three_stalls_of_a_running_trial_may_be_chance(seconds: int, state: str, named: int) -> None:
    one = replace(stalls(seconds, 7), state=state, figures=(), expected=60.0)
    assert [check.id for check in SHAPE_CHECKS if shown(check, one)] == ["rate-stalls"] * named


@pytest.mark.parametrize(
    ("suite", "figure", "word"),
    [("fio", "iops", "Precondition"), ("sysbench-cpu", "events_per_second", "clock"), ("iperf3", "throughput", "TCP")],
)
def test_the_remedy_of_a_rise_is_that_of_the_resource(suite: str, figure: str, word: str) -> None:
    rising = trial(suite, {figure: 2000.0}, samples=[1000.0 + 40 * second for second in range(30)], seconds=30)
    (found,) = (one for check in SHAPE_CHECKS if isinstance(one := check.finding(rising), Finding))
    assert word in found.remedy


BLOCKS = [12237.19, 16389.8, 14335.91, 16384.12, 14336.36, 14335.42, 16384.23, 14336.02, 16383.94, 16384.06, 12287.99,
          16384.1, 16382.78, 14336.98, 16383.78, 12288.26, 16383.67, 16384.0, 14336.27, 14310.43, 16413.38, 14335.94,
          16384.04, 12288.05, 16384.05, 12266.92, 16412.05, 16384.08, 14335.97, 14336.04]  # fmt: skip
"""MiB/s of sysbench memory on an idle host: 6, 7 or 8 blocks of 2 GiB a second."""


@pytest.mark.parametrize("block", [2 * 2**30, 2**20])
def test_one_block_more_or_less_in_a_second_is_no_shape(block: int) -> None:
    one = trial("sysbench-memory", {"throughput": 14.7e3}, samples=BLOCKS, seconds=30, block_size=block)
    assert [check.id for check in SHAPE_CHECKS if shown(check, one)] == ["rate-alternates"] * (block == 2**20)


@pytest.mark.parametrize("rate", [2.75, 3.9, 4.6])
def test_a_flat_rate_of_few_events_is_silent(rate: float) -> None:
    counts = np.diff(np.floor(rate * np.arange(121))).tolist()
    times = np.arange(1.0, 121).tolist()
    assert shape_of(times, counts) is not None, "taken for stalls if each sample counts"
    assert shape_of(times, counts, event=1.0) is None


@pytest.mark.parametrize("rate", [7.18, 16.5])
def test_a_change_of_a_rate_of_few_events_is_named(rate: float) -> None:
    done = np.cumsum([0.0, *[rate] * 60, *[rate / 2] * 60])
    found = shape_of(np.arange(1.0, 121).tolist(), np.diff(np.floor(done)).tolist(), event=1.0)
    assert found is not None
    assert found.kind is ShapeKind.STEP_DOWN
    assert found.spans[0].until == pytest.approx(60, abs=6)


def test_the_points_of_a_sweep_are_no_levels_of_its_rate() -> None:
    head, tail = "# benchwright-compute 1", "result kind float threads {0} rate {1} best {1} worst {1}"
    live = "live time {0}.002 kind float threads {1} rate {2}"
    parts = [[live.format(20 * (n - 1) + second, n, 119 * n) for second in range(1, 21)] for n in (1, 2)]
    ends = [tail.format(n, 119 * n) for n in (1, 2)]
    parsed = parse_output("compute", "\n".join([head, *parts[0], ends[0], *parts[1], ends[1], ""]).encode())
    one = replace(trial("compute", {"floating_point_rate": 238e9}), figures=parsed.figures, samples=parsed.samples)
    assert len(one.headline_series()) == 20
    assert not [check.id for check in SHAPE_CHECKS if shown(check, one)]


def test_the_worst_second_is_given() -> None:
    text = {one.id: shown(one, course((1000, 12), (300, 3), (1000, 45))) for one in SHAPE_CHECKS}["rate-dips"] or ""
    assert "Worst second: 29" in text
    assert "at 13 s." in text or "at 14 s." in text or "at 15 s." in text


def test_a_short_dip_of_a_long_trial_is_a_note() -> None:
    check = next(one for one in SHAPE_CHECKS if one.id == "rate-dips")
    long, short = course((1000, 60), (800, 3), (1000, 237)), course((1000, 12), (800, 3), (1000, 15))
    findings = [check.finding(one) for one in (long, short)]
    assert [getattr(one, "severity", None) for one in findings] == [Severity.INFO, Severity.WARNING]
    assert long.state == DONE

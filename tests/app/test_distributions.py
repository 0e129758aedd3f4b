"""Percentiles, shifts, shapes and worst moments of trials whose values are known."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.distributions.analyses import Analyses, SampleReader
from app.distributions.charts import ecdf_chart, pooled_text, worst_text
from app.distributions.distribution import (
    Distribution,
    DistributionKey,
    SideValues,
    distribution,
    distributions_to_json,
    ecdf,
    edges_of,
    histogram,
)
from app.distributions.percentiles import (
    TimedValue,
    TrialValues,
    ValueLevel,
    counted_values,
    harrell_davis,
    percentiles,
    shifts,
    supports_quantile,
    trial_values,
)
from app.services import Workstation
from app.store.store import Store
from app.summary import MetricSummary
from suites.errors import BenchwrightError
from suites.fio.metrics import latency_bins
from suites.units import Unit
from suites.vocab import Better, Metric, MetricKind, Sample, labels
from tests.messages import messages
from tests.widgets.library_runs import Made, record

MESSAGES = messages("app", "test_distributions")

DELAY = Metric("delay", "Delay", Unit.MICROSECOND, Better.LOWER, MetricKind.TIME)
FIO = Path(__file__).parents[1] / "data" / "fio"


def trials(*values: Sequence[float]) -> list[TrialValues]:
    """Return trials with these samples."""
    made = (
        trial_values("run", number, "web-1", one, TimedValue(max(one), 2.0)) for number, one in enumerate(values, 1)
    )
    return [replace(one, number=one.trial) for one in made]


def noisy(seed: int, count: int = 5, factor: float = 1.0) -> list[TrialValues]:
    """Return trials of 60 samples each."""
    rng = np.random.default_rng(seed)
    own = factor * (1 + 0.02 * rng.normal(size=count))
    return trials(*(list(100 * one * np.exp(0.1 * rng.normal(size=60))) for one in own))


def described(
    *sides: Sequence[TrialValues], source: ValueLevel = ValueLevel.SAMPLES, refused: str = ""
) -> Distribution:
    what = DistributionKey("step", "web-1", DELAY, (), source)
    return distribution(what, [SideValues(f"run {n}", side, refused if n else "") for n, side in enumerate(sides)])


def test_harrell_and_davis_agree_with_scipy() -> None:
    from scipy.stats import mstats

    values = np.sort(np.random.default_rng(1).lognormal(size=41))
    for share in (0.1, 0.5, 0.95):
        assert harrell_davis(values, share) == pytest.approx(float(mstats.hdquantiles(values, [share])[0]), rel=1e-9)


def test_percentiles_are_of_trials_and_need_enough_values_in_each() -> None:
    found = {each.percentile: each for each in percentiles(noisy(2), ValueLevel.SAMPLES)}
    assert sorted(found) == [5, 10, 25, 50, 75, 90, 95]  # p99 of 60 samples would be their largest
    middle = found[50]
    assert middle.low is not None
    assert middle.high is not None
    assert middle.low < middle.value < middle.high
    assert middle.value == pytest.approx(100, rel=0.05)


def test_one_trial_has_percentiles_and_no_interval() -> None:
    assert all(each.low is None and each.high is None for each in percentiles(noisy(3, 1), ValueLevel.SAMPLES))


def test_figures_of_trials_have_order_statistics() -> None:
    few = percentiles(trials([1.0], [2.0], [3.0], [4.0], [5.0]), ValueLevel.TRIALS)
    assert [(each.percentile, each.low, each.high) for each in few if each.percentile == 50] == [(50, None, None)]
    many = percentiles(trials(*([float(value)] for value in range(1, 21))), ValueLevel.TRIALS)
    middle = next(each for each in many if each.percentile == 50)
    assert (middle.low, middle.high) == (6.0, 15.0)
    assert middle.value == pytest.approx(10.5)


def test_a_known_shift_is_found_at_every_decile_and_a_tail_only_at_its_end() -> None:
    for each in shifts(noisy(4, 8, 1.2), noisy(5, 8), ValueLevel.SAMPLES):
        assert each.ratio_low is not None
        assert each.ratio_high is not None
        assert each.ratio_low < 1.2 < each.ratio_high
        assert each.low is not None
        assert each.low > 0
    base = noisy(6, 8)
    tail = [
        trial_values("b", t.trial, t.host, list(np.where(np.arange(60) < 51, t.values, t.values * 3))) for t in base
    ]
    found = {each.percentile: each for each in shifts(tail, base, ValueLevel.SAMPLES)}
    assert found[20].ratio == pytest.approx(1.0, abs=0.02)
    assert found[90].ratio is not None
    assert found[90].ratio > 1.5


def test_a_shift_of_trials_is_resampled_and_always_the_same() -> None:
    ours, base = (trials(*([v] for v in np.random.default_rng(s).normal(m, 1, 12))) for s, m in ((7, 60), (8, 50)))
    first, again = (shifts(ours, base, ValueLevel.TRIALS) for _ in range(2))
    assert first == again
    middle = next(each for each in first if each.percentile == 50)
    assert middle.low is not None
    assert middle.high is not None
    assert middle.low < 10 < middle.high
    assert middle.low > 7
    few = shifts(ours[:5], base, ValueLevel.TRIALS)
    assert all(each.low is None for each in few)


def test_swapping_the_sides_mirrors_the_shift() -> None:
    one, other = noisy(9, 6, 1.1), noisy(10, 7)
    for there, back in zip(shifts(one, other, ValueLevel.SAMPLES), shifts(other, one, ValueLevel.SAMPLES), strict=True):
        assert there.difference == pytest.approx(-back.difference)
        assert there.ratio is not None
        assert back.ratio is not None
        assert there.ratio * back.ratio == pytest.approx(1)
        assert there.low == pytest.approx(-(back.high or 0))


@given(st.lists(st.lists(st.floats(0.001, 1e9), min_size=1, max_size=40), min_size=1, max_size=5))
def test_an_ecdf_rises_to_one_and_a_histogram_holds_everything(values: list[list[float]]) -> None:
    side = trials(*values)
    steps = ecdf(side)
    shares = [step.share for step in steps]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    assert all(step.low <= step.share + 1e-9 and step.share <= step.high + 1e-9 for step in steps)
    bins = histogram(side, edges_of([side]))
    assert sum(each.share for each in bins) == pytest.approx(1)


@given(st.dictionaries(st.integers(1, 10**9), st.integers(1, 10**6), min_size=1, max_size=60), st.floats(0.01, 0.999))
def test_a_quantile_of_counted_values_is_one_of_them_and_enough_lie_below(bins: dict[int, int], share: float) -> None:
    found = counted_values("run", 1, "web-1", {float(key): float(count) for key, count in bins.items()}).quantile(share)
    assert int(found) in bins
    below = sum(count for value, count in bins.items() if value <= found)
    assert below >= share * sum(bins.values()) * (1 - 1e-12)


def test_what_cannot_be_compared_has_no_shift_and_says_why() -> None:
    found = described(noisy(11), noisy(12), refused="another block size")
    assert found.sides[1].shift == ()
    assert found.sides[1].reason == "another block size"
    assert found.sides[1].percentiles
    assert described(noisy(11), []).sides[1].reason == "not measured"


def test_the_worst_sample_of_each_trial_is_told_the_worst_first() -> None:
    found = described(trials([1.0, 9.0], [1.0, 20.0], [2.0, 3.0])).sides[0].worst
    assert [(each.trial, each.value, each.time) for each in found] == [(2, 20.0, 2.0), (1, 9.0, 2.0), (3, 3.0, 2.0)]


def test_the_worst_of_all_is_told_in_words() -> None:
    found = described(trials([1.0, 9.0], [1.0, 20.0]), trials([3.0, 4.0]))
    assert worst_text(found) == MESSAGES["worst_sample_a_20_0_s_in"]
    assert "Worst sample" in ecdf_chart(found).note
    assert worst_text(described([trial_values("run", 1, "h", [1.0])])) == ""


def test_a_percentile_needs_a_value_beyond_it() -> None:
    assert supports_quantile(0.99, 100)
    assert not supports_quantile(0.99, 99)
    assert supports_quantile(0.1, 10)
    assert supports_quantile(0.9, 10)


def test_trials_without_samples_make_one_shape_together() -> None:
    found = described(trials([1.0], [2.0], [3.0], [4.0]), source=ValueLevel.TRIALS)
    assert [step.low for step in found.sides[0].ecdf] == [0.25, 0.5, 0.75, 1.0]


def test_bins_of_fio_are_those_of_its_last_whole_document() -> None:
    output = (FIO / "2.21" / "jsonplus_status1.stdout").read_bytes()
    bins = latency_bins(output)
    assert sum(bins["latency", labels(operation="read")].values()) == 22420
    cut = output[: output.rfind(b"\n{\n") + 200]
    earlier = latency_bins(cut)["latency", labels(operation="read")]
    assert 0 < sum(earlier.values()) < 22420
    assert latency_bins(b"") == {}
    assert latency_bins(b"{\nno json\n}\n") == {}


class OutputOfFio:
    """A store whose only trial has the output of fio with two histograms, of the completion and of all."""

    def output(self, *_key: object) -> dict[str, bytes]:
        return {"stdout": (FIO / "3.33" / "buffered_libaio.stdout").read_bytes()}

    def samples(self, _run: str) -> dict[int, list[Sample]]:
        return {}


def test_each_latency_has_the_histogram_of_its_own_family() -> None:
    reader = SampleReader(cast("Store", OutputOfFio()))
    found = {}
    for name in ("latency_p50", "latency_mean", "total_latency_p50", "total_latency_p99", "submission_latency_mean"):
        metric = Metric(name, name, Unit.NANOSECOND, Better.LOWER, MetricKind.TIME)
        side = MetricSummary("step", "web-1", metric, labels(operation="read"), (1.0,), ("web-1",), (("run", 1),))
        level, ((trial,),) = reader.best("fio", [side])
        found[name] = (level, trial.quantile(0.5))
    assert {name for name, (level, _) in found.items() if level is ValueLevel.REQUESTS} == {
        "latency_p50", "latency_mean", "total_latency_p50", "total_latency_p99"
    }  # fmt: skip
    assert found["latency_p50"][1] == 448_512
    assert found["total_latency_p50"][1] == found["total_latency_p99"][1] == 514_048


def test_runs_of_the_library_are_described(tmp_path: Path) -> None:
    workstation = Workstation(tmp_path / "runs.db", tmp_path / "hosts.toml")
    try:
        first, second = record(
            workstation, Made("20260112-081502-a1b2"), Made("20260113-081502-c3d4", [5e5, 5.1e5, 5.2e5])
        )
        (found,) = workstation.analyses.distributions([first, second], "iops")
        assert found.source is ValueLevel.SAMPLES
        assert [side.n for side in found.sides] == [8, 3]
        assert found.sides[1].shift
        assert sorted(worst.number for worst in found.sides[1].worst) == [1, 2, 3]
        assert [one.metric.name for one in workstation.analyses.distributions([first])] == ["iops"]
        document = distributions_to_json([found])
        assert document["format"] == "benchwright-distribution/1"
        with pytest.raises(BenchwrightError, match="Metrics: iops"):
            workstation.analyses.distributions([first], "nothing")
        assert isinstance(workstation.analyses, Analyses)
    finally:
        workstation.close()


def test_the_interval_of_a_percentile_holds_its_estimate_though_the_trials_fall_on_two_levels() -> None:
    two = [100.0, 100.1] * 5 + [200.0, 200.1] * 5
    trials = [trial_values("a", number, "h", [value]) for number, value in enumerate(two)]
    found = percentiles(trials, ValueLevel.TRIALS)
    assert len(found) == 7
    for each in found:
        assert each.low is None or each.low <= each.value
        assert each.high is None or each.value <= each.high


def test_the_pooled_percentile_is_that_of_all_requests_together() -> None:
    quick = counted_values("run", 1, "h", {100.0: 990.0, 1000.0: 10.0})
    slow = counted_values("run", 2, "h", {100.0: 900.0, 1000.0: 2100.0})
    (middle,) = (one for one in percentiles([quick, slow], ValueLevel.REQUESTS) if one.percentile == 50)
    assert middle.pooled == 1000.0  # 1890 of the 4000 requests took 100
    assert middle.value == pytest.approx((100.0 * 1000.0) ** 0.5)
    assert all(one.pooled is None for one in percentiles([quick], ValueLevel.REQUESTS))
    tail = replace(DELAY, percentile=99.5)
    key = DistributionKey("s", "h", tail, (), ValueLevel.REQUESTS)
    sides = [SideValues(run, [quick, slow]) for run in ("a", "b")]
    assert pooled_text(distribution(key, sides)) == MESSAGES["pooled_tail"]
    assert not pooled_text(distribution(replace(key, metric=replace(tail, percentile=None)), sides))

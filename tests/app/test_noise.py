"""Noise as a result: spreads whose size is known, ranks that are shared where they cannot be told apart."""

import json
import statistics
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from app.chart import chart_table
from app.cli.main import benchwright
from app.cli.tables import spread_cells
from app.distributions.studies import StudyKind, missing_for
from app.noise import MetricTrials, NoiseLevel, noise_charts, noise_of
from app.plans.plan import LOCAL
from app.services import Workstation
from app.spreads import Spread, deviation_score, pooled_spread, ranks_of, sample_score, spread_of, spread_within_trials
from suites.fio.metrics import IOPS
from tests.app.run_events import run_record
from tests.widgets.library_runs import Made, record

QUIET, LOUD = (
    [100.0, 100.5, 99.5, 100.2, 99.8, 100.1, 99.9, 100.0],
    [100.0, 140.0, 60.0, 120.0, 80.0, 110.0, 90.0, 100.0],
)


def drawn(rng: np.random.Generator, spread: float, count: int) -> list[float]:
    return list(map(float, np.exp(spread * rng.normal(size=count))))


def measured(values: list[float], *, step: str = "read", host: str = "web-1", run: str = "one") -> MetricTrials:
    return MetricTrials(run, step, "fio", host, IOPS, (), tuple(values), ((1.0, 2.0, 3.0), (2.0, 2.5, 3.0)))


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Return a library of two runs: one steady, one that is not."""
    path = tmp_path / "runs.db"
    workstation = Workstation(path, tmp_path / "hosts.toml")
    loud = [value * 4e3 for value in LOUD]
    record(workstation, Made("20260112-081502-a1b2"), Made("20260113-081502-c3d4", loud))
    workstation.close()
    return path


def test_a_spread_is_the_deviation_by_the_mean_with_an_interval_around_it() -> None:
    found = spread_of(LOUD)
    assert found is not None
    assert found.cov == pytest.approx(statistics.stdev(LOUD) / 100)
    assert found.range == pytest.approx(0.8)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.cov < found.high


def test_what_does_not_spread_has_no_interval_and_one_value_no_spread() -> None:
    assert spread_of([1.0]) is None
    assert spread_of([0.0, 0.0]) is None
    assert spread_of([5.0, 5.0, 5.0]) == Spread(3, 0.0, range=0.0)
    negative = spread_of([-1.0, 2.0, 3.0])
    assert negative is not None
    assert negative.low is None


@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=30), st.floats(0.01, 100))
def test_a_spread_does_not_depend_on_the_unit(values: list[float], factor: float) -> None:
    one, other = spread_of(values), spread_of([value * factor for value in values])
    assert one is not None
    assert other is not None
    assert one.cov == pytest.approx(other.cov, rel=1e-6, abs=1e-12)
    assert one.range == pytest.approx(other.range, rel=1e-6, abs=1e-12)


def test_fewer_than_six_values_have_no_interval_and_no_rank() -> None:
    five, six = spread_of(LOUD[:5]), spread_of(LOUD[:6])
    assert five is not None
    assert six is not None
    assert (five.low, five.high, spread_cells(five)[2]) == (None, None, "")
    assert six.low is not None
    assert (deviation_score([LOUD[:5]]), deviation_score([[*LOUD, -1.0]])) == (None, None)
    assert sample_score([LOUD] * 5) is None
    assert ranks_of([None, deviation_score([LOUD]), None]) == [None, 1, None]


def test_the_interval_is_bonetts() -> None:
    # Bonett (2006), equation 5, by hand for these eight values.
    logs = np.log(LOUD)
    middle = stats.trim_mean(logs, 1 / (2 * 4**0.5))
    kurtosis = 8 * ((logs - middle) ** 4).sum() / (((logs - logs.mean()) ** 2).sum()) ** 2
    z = stats.norm.ppf(0.975)
    factor = 8 / (8 - z)
    reach = z * factor * ((kurtosis - 5 / 8) / 7) ** 0.5
    found = spread_of(LOUD)
    assert found is not None
    assert found.low == pytest.approx(np.expm1(factor * logs.var(ddof=1) * np.exp(-reach)) ** 0.5)
    assert found.high == pytest.approx(np.expm1(factor * logs.var(ddof=1) * np.exp(reach)) ** 0.5)


@pytest.mark.parametrize("counts", [(10, 10), (9, 14), (30, 7)])
def test_two_results_are_ranked_by_the_statistic_of_scipys_levene(counts: tuple[int, int]) -> None:
    rng = np.random.default_rng(4)
    freedom = sum(counts) - 4
    outcomes = set()
    for scale in np.linspace(1, 8, 60):
        one, other = drawn(rng, 0.01, counts[0]), drawn(rng, 0.01 * scale, counts[1])
        ranks = ranks_of([deviation_score([one]), deviation_score([other])], equal_variances=True)
        statistic = stats.levene(np.log(one), np.log(other), center="median").statistic * freedom / (freedom + 2)
        assert (ranks != [1, 1]) == (stats.f.sf(statistic, 1, freedom) < 0.05)
        outcomes.add(tuple(ranks))
    assert {(1, 1), (1, 2)} <= outcomes


def test_a_rank_counts_those_that_are_significantly_more_repeatable() -> None:
    rng = np.random.default_rng(1)
    spreads = (0.001, 0.001, 0.1, 0.01)
    results = [deviation_score([drawn(rng, spread, 20)]) for spread in spreads]
    assert ranks_of([*results, None], equal_variances=True) == [1, 1, 4, 3, None]
    same = deviation_score([[5.0] * 8])
    assert ranks_of([same, results[0], same], equal_variances=True) == [1, 3, 1]


def test_few_trials_on_two_levels_are_not_ranked() -> None:
    assert deviation_score([[1.0, 1.001, 1.0, 2.0, 2.001, 2.0]]) is None
    assert deviation_score([[1.0, 1.001, 1.0, 2.0, 2.001, 2.0] * 2]) is not None


def test_hosts_of_a_group_are_compared_by_their_values() -> None:
    ones = [replace(measured(QUIET, host=host), value=value) for host, value in (("h", 100.0), ("i", 200.0))]
    (found,) = [one for one in noise_of(ones).entries if one.level is NoiseLevel.HOST]
    assert found.spread.cov == pytest.approx(statistics.stdev([100.0, 200.0]) / 150.0)


def test_a_pool_weighs_its_tests_equally_whatever_their_numbers_of_trials() -> None:
    rng = np.random.default_rng(2)
    groups = [drawn(rng, 0.001, 30), drawn(rng, 0.1, 6)]
    one, other, both = (deviation_score(own) for own in (groups[:1], groups[1:], groups))
    assert one is not None
    assert other is not None
    assert both is not None
    assert both.mean == pytest.approx((one.mean + other.mean) / 2)
    assert both.error == pytest.approx((one.error + other.error) / 4)
    assert both.freedom == pytest.approx(other.freedom, rel=0.01)  # the error is that of the second
    assert deviation_score([*groups, LOUD[:5]]) == both


def test_two_hundred_results_are_ranked_at_once() -> None:
    rng = np.random.default_rng(3)
    results = [deviation_score([drawn(rng, 0.01, 10)]) for _ in range(200)]
    started = time.perf_counter()
    ranks_of(results, equal_variances=True)
    assert time.perf_counter() - started < 2  # about 0.1 s


def test_samples_within_trials_count_as_trials() -> None:
    rng = np.random.default_rng(3)
    trials = [tuple(100 * (1 + 0.05 * rng.normal(size=200))) for _ in range(4)]
    found = spread_within_trials(trials)
    assert found is not None
    assert found.n == 4
    assert found.cov == pytest.approx(0.05, rel=0.1)


def test_everything_is_ranked_on_its_level_and_taken_together() -> None:
    quiet, loud = QUIET * 2, LOUD * 2
    study = noise_of(
        [measured(loud, step="write"), measured(quiet), measured(quiet, host="web-2"), measured(loud, run="two")]
    )
    trial = study.at(NoiseLevel.TRIAL)
    assert [(entry.step, entry.host, entry.run, entry.rank) for entry in trial] == [
        ("read", "web-1", "one", 1), ("read", "web-2", "one", 1), ("write", "web-1", "one", 3),
        ("read", "web-1", "two", 3),
    ]  # fmt: skip
    assert [(entry.host, entry.spread.n, entry.rank) for entry in study.at(NoiseLevel.HOST)] == [("2 hosts", 2, None)]
    assert [entry.rank for entry in study.at(NoiseLevel.SAMPLE)] == [None] * 4  # of two trials each
    assert [one.name for one in study.hosts] == ["web-2", "web-1"]
    assert {one.name for one in study.runs} == {"one", "two"}
    pooled = pooled_spread([QUIET, LOUD])
    assert pooled is not None
    assert pooled.n == 16


def test_the_chart_has_a_row_for_each_entry() -> None:
    charts = noise_charts(noise_of([measured(LOUD, step="write"), measured(QUIET)]))
    assert charts[0].y.names == ("1  read", "2  write")
    assert [row[2] for row in chart_table(charts[0])[1:]] == ["1  read", "2  write"]


def test_the_command_line_ranks_runs_and_writes_table_and_picture(library: Path, tmp_path: Path) -> None:
    table, picture = tmp_path / "noise.csv", tmp_path / "noise.png"
    words = ["--store", str(library), "noise", "20260112", "20260113", "--csv", str(table), "--png", str(picture)]
    reported = CliRunner().invoke(benchwright, [*words, "--json"])
    assert reported.exit_code == 0
    document = json.loads(reported.stdout)
    assert document["format"] == "benchwright-noise/2"
    trials = [entry for entry in document["entries"] if entry["level"] == "trial"]
    assert [(entry["run"][:8], entry["rank"]) for entry in trials] == [("20260112", 1), ("20260113", 2)]
    assert set(trials[0]) == {
        "level", "rank", "run", "step", "suite", "host", "metric", "labels", "n", "cov", "low", "high", "range",
        "trust",
    }  # fmt: skip
    assert table.read_text().startswith("level,rank,run,")
    assert picture.read_bytes().startswith(b"\x89PNG")
    people = CliRunner().invoke(benchwright, words[:5])
    assert "Trials on a host" in people.stdout


def test_a_preset_is_written_as_a_plan_and_may_be_changed(tmp_path: Path) -> None:
    def made(*words: str) -> str:
        reported = CliRunner().invoke(benchwright, ["--store", str(tmp_path / "s.db"), "plan", "new", *words])
        assert reported.exit_code == 0, reported.output
        return reported.stdout

    plan = made("--preset", "noise-study", "--set", "processor.time=3s")
    assert 'order = "randomised"' in plan
    assert "trials = 14" in plan
    assert 'time = "3 s"' in plan
    assert f'hosts = ["{LOCAL}"]' in plan
    assert "trials = 2\n" in made("--preset", "noise-study", "--trials", "2").replace(" #", "\n")
    neither = CliRunner().invoke(benchwright, ["plan", "new"])
    assert neither.exit_code == 2


def test_what_is_pooled_of_one_test_is_that_test_and_of_several_between_them() -> None:
    wide, narrow = (100.0, 150.0, 300.0), (100.0, 101.0, 99.0)
    alone, own = pooled_spread([wide]), spread_of(wide)
    assert alone == own
    both, least = pooled_spread([wide, narrow]), spread_of(narrow)
    assert own is not None
    assert both is not None
    assert least is not None
    assert both.cov == pytest.approx(((own.cov**2 + least.cov**2) / 2) ** 0.5)
    assert own.range == pytest.approx(200 / 150)
    assert both.range == pytest.approx((((200 / 150) ** 2 + 0.02**2) / 2) ** 0.5)
    weighted = pooled_spread([wide, [100.0, 102.0]])
    assert weighted is not None
    assert weighted.range == pytest.approx(((2 * (200 / 150) ** 2 + (2 / 101) ** 2) / 3) ** 0.5)


def test_the_row_of_a_run_agrees_with_itself_where_most_results_are_equal() -> None:
    found = pooled_spread([LOUD, [5.0] * 8, [7.0] * 8])
    alone = spread_of(LOUD)
    assert found is not None
    assert alone is not None
    assert alone.range is not None
    assert (found.cov, found.range) == pytest.approx((alone.cov / 3**0.5, alone.range / 3**0.5))


def test_samples_within_trials_have_geometric_means_of_both() -> None:
    found = spread_within_trials([[100.0, 101.0], [100.0, 104.0], [100.0, 100.0]])
    assert found is not None
    middle = statistics.geometric_mean([1 / 100.5, 4 / 102])
    assert (found.range, found.cov) == pytest.approx((middle, middle / 2**0.5))


def test_results_that_are_not_pooled_are_named_and_not_counted() -> None:
    kinds = {"rate": LOUD, "errors": [0.0] * 6, "once": [3.0]}
    given_ = [
        MetricTrials("r", "s", "fio", "h", replace(IOPS, title=name), (), tuple(values))
        for name, values in kinds.items()
    ]
    found = noise_of(given_)
    assert [run.n for run in found.runs] == [1]
    zero, few = found.excluded
    assert "errors (r: s on h)" in zero
    assert "once" not in zero
    assert few.startswith("1 result ")
    assert few.endswith("once (r: s on h)")
    assert not noise_of(given_[:1]).excluded


def test_a_run_is_not_counted_twice(library: Path) -> None:
    found = CliRunner().invoke(benchwright, ["--store", str(library), "noise", "20260112", "20260112"])
    assert (found.exit_code, "itself" in found.output) == (2, True)


def test_noise_needs_a_repeated_trial() -> None:
    assert StudyKind.NOISE in missing_for([run_record("a", (1000.0,))])
    assert StudyKind.NOISE not in missing_for([run_record("a", (1000.0, 1010.0))])

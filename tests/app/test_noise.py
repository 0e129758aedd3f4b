"""Noise as a result: spreads whose size is known, ranks that are shared where they cannot be told apart."""

import json
import statistics
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from app.chart import chart_table
from app.cli.main import benchwright
from app.cli.tables import spread_cells
from app.noise import (
    MetricTrials,
    NoiseLevel,
    Spread,
    noise_charts,
    noise_of,
    pooled_spread,
    shared_ranks,
    spread_of,
    spread_within_trials,
)
from app.plans.plan import LOCAL
from app.services import Workstation
from suites.fio.metrics import IOPS
from tests.widgets.library_runs import Made, record

QUIET, LOUD = (
    [100.0, 100.5, 99.5, 100.2, 99.8, 100.1, 99.9, 100.0],
    [100.0, 140.0, 60.0, 120.0, 80.0, 110.0, 90.0, 100.0],
)


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


def test_an_interval_of_two_values_far_apart_has_no_upper_end() -> None:
    found = spread_of([100.0, 130.0])
    assert found is not None
    assert found.low is not None
    assert (found.low < found.cov, found.high) == (True, None)
    assert spread_cells(found)[2] == "8.3 % or more"
    steady = spread_of([100.0, 101.0])
    assert steady is not None
    assert shared_ranks([steady, found]) == [1, 1]


def test_ranks_are_shared_where_intervals_overlap() -> None:
    clear, near, far = Spread(9, 0.01, 0.008, 0.012), Spread(9, 0.011, 0.009, 0.014), Spread(9, 0.1, 0.08, 0.2)
    assert shared_ranks([far, clear, near]) == [3, 1, 1]
    assert shared_ranks([Spread(2, 0.5), clear]) == [1, 1]  # without an interval nothing can be told apart


def test_samples_within_trials_count_as_trials() -> None:
    rng = np.random.default_rng(3)
    trials = [tuple(100 * (1 + 0.05 * rng.normal(size=200))) for _ in range(4)]
    found = spread_within_trials(trials)
    assert found is not None
    assert found.n == 4
    assert found.cov == pytest.approx(0.05, rel=0.1)


def test_everything_is_ranked_on_its_level_and_taken_together() -> None:
    study = noise_of(
        [measured(LOUD, step="write"), measured(QUIET), measured(QUIET, host="web-2"), measured(LOUD, run="two")]
    )
    trial = study.at(NoiseLevel.TRIAL)
    assert [(entry.step, entry.host, entry.run, entry.rank) for entry in trial] == [
        ("read", "web-1", "one", 1), ("read", "web-2", "one", 1), ("write", "web-1", "one", 3),
        ("read", "web-1", "two", 3),
    ]  # fmt: skip
    assert [(entry.host, entry.spread.n) for entry in study.at(NoiseLevel.HOST)] == [("2 hosts", 2)]
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
    assert document["format"] == "benchwright-noise/1"
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

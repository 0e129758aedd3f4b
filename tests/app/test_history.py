"""A metric over time: changes are found where they are, seldom elsewhere, and with what changed beside them."""

import itertools
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from app import history
from app.change_points import FEWEST_RESULTS, LEAST_CHANGE, change_points
from app.cli.main import benchwright
from app.events import RunEnded, RunStarted, State
from app.history import HistoryError, HistoryPoint, HistoryQuery, history_of, history_to_json, notes_of, read_history
from app.records import HistoryRow
from app.store import Store
from suites.fio.metrics import BANDWIDTH
from suites.units import Unit
from suites.vocab import Figure
from tests.app import run_events
from tests.simulation.history import false_alarms, power, results, store_of_history

WANTED = HistoryQuery(("web-1",), "iops")


def test_a_step_and_a_dip_are_found_where_they_are() -> None:
    values = results(np.random.default_rng(1), 200, 0.02)
    values[60:] *= 1.12
    values[120:140] *= 0.8
    found = change_points(list(values))
    assert [change.index for change in found.changes] == [60, 120, 140]
    assert found.claimed
    assert found.changes[0].ratio == pytest.approx(1.12, abs=0.02)


def test_results_that_drift_are_no_evidence_of_changes() -> None:
    found = change_points([1000 * 1.01**number for number in range(60)])
    assert found.changes
    assert not found.claimed


@given(st.lists(st.floats(1.0, 1e6), max_size=40), st.floats(1e-3, 1e3))
def test_the_unit_changes_nothing_and_every_change_is_one(values: list[float], factor: float) -> None:
    found = change_points(values)
    scaled = change_points([factor * value for value in values])
    assert [change.index for change in found.changes] == [change.index for change in scaled.changes]
    places = [0, *(change.index for change in found.changes), len(values)]
    if found.changes:
        assert all(later - earlier >= FEWEST_RESULTS for earlier, later in itertools.pairwise(places))
    for change in found.changes:
        assert max(change.ratio, 1 / change.ratio) >= 1 + LEAST_CHANGE - 1e-9


def test_time_turned_round_finds_the_same_levels() -> None:
    values = [*results(np.random.default_rng(2), 30, 0.01), *(1.2 * results(np.random.default_rng(3), 20, 0.01))]
    (change,) = change_points(values).changes
    (turned,) = change_points(values[::-1]).changes
    assert change.index == len(values) - turned.index == 30
    assert change.ratio == pytest.approx(1 / turned.ratio)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with forty runs, slower by a tenth since the kernel of the 21st."""
    path = tmp_path_factory.mktemp("history") / "runs.sqlite3"
    values = results(np.random.default_rng(4), 40, 0.01)
    values[20:] *= 0.9
    store_of_history(path, values, {20: "6.5.0"}, trials=2).close()
    return path


def test_a_change_tells_which_fact_changed_beside_it(stored: Path) -> None:
    store = Store(stored)
    found = read_history(store, WANTED)
    (marked,) = found.marked
    assert (marked.after.run, marked.before.run) == ("2026-000020-h", "2026-000019-h")
    assert [(each.what, each.ours, each.baseline) for each in marked.differences] == [("kernel", "6.5.0", "6.1.0")]
    assert marked.text.startswith("fell by ")
    assert marked.text.endswith(": kernel 6.5.0 against 6.1.0")
    assert len(found.points) == 40
    assert found.points[0].low is not None
    assert not found.points[0].interval


def test_runs_of_other_parameters_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    store_of_history(path, np.full(5, 1000.0), {}).close()
    store = Store(path)
    other = replace(run_events.STEP, values={**run_events.STEP.values, "block_size": 8192})
    with store.recorder("2025-other") as recorder:
        recorder.record(RunStarted("2025-other", run_events.plan(other), "2025-01-01T00:00:00+00:00"))
        for event in run_events.trial_events(run_events.trial(1), [Figure(run_events.IOPS, 1.0, run_events.READ)]):
            recorder.record(event)
        recorder.record(RunEnded("2025-other", State.DONE))
    found = read_history(store, WANTED)
    assert len(found.points) == 5
    assert len(found.left_out) == 1
    assert found.left_out[0].startswith("1 run of block_size")
    with pytest.raises(HistoryError, match="no metric “nothing”"):
        read_history(store, HistoryQuery(("web-1",), "nothing"))


def test_the_command_line_prints_what_changed(stored: Path) -> None:
    result = CliRunner().invoke(benchwright, ["--store", str(stored), "history", "web-1", "--metric", "iops"])
    assert result.exit_code == 0, result.output
    assert "kernel 6.5.0 against" in result.output
    words = ["--store", str(stored), "history", "web-1", "--metric", "iops", "--label", "operation=read", "--json"]
    found = json.loads(CliRunner().invoke(benchwright, words).output)
    assert (found["format"], len(found["points"]), len(found["changes"])) == ("benchwright-history/1", 40, 1)
    assert found["changes"][0]["differences"][0]["what"] == "kernel"


@pytest.mark.slow
def test_false_alarms_and_power_are_what_the_help_says() -> None:
    assert max(false_alarms(spread, 0.0, 400) for spread in (0.01, 0.03, 0.05, 0.1)) <= 0.03
    assert max(false_alarms(spread, 0.3, 400) for spread in (0.05, 0.1)) <= 0.20
    assert max(false_alarms(spread, 0.6, 400) for spread in (0.05, 0.1)) <= 0.28
    assert power(0.10, 4, 400) >= 0.95
    assert 0.3 <= power(0.05, 8, 400) <= 0.7  # at the very edge of what matters every second one is below it


@pytest.mark.slow
def test_a_thousand_runs_are_ready_within_a_second(tmp_path: Path) -> None:
    values = results(np.random.default_rng(5), 1000, 0.02)
    values[500:] *= 1.1
    store_of_history(tmp_path / "runs.sqlite3", values, {500: "6.5.0"}, trials=3).close()
    store = Store(tmp_path / "runs.sqlite3")
    began = time.perf_counter()
    found = read_history(store, WANTED)
    assert time.perf_counter() - began < 1.0
    assert [marked.after.run for marked in found.marked] == ["2026-000500-h"]


def points(values: Sequence[float], hosts: Sequence[str] = ("web-1",)) -> list[HistoryPoint]:
    """Return the points of one run whose trials gave `values`, on each host in turn."""
    rows = [
        HistoryRow("r", "2026-11-01T00:00:00+00:00", "p", host, run_events.STEP.name, None, run_events.IOPS, (), value)
        for value, host in zip(values, itertools.cycle(hosts), strict=False)
    ]
    wanted = HistoryQuery(tuple(hosts), "iops")
    return list(history_of(wanted, rows, {"p": run_events.plan()}, lambda _run, _hosts: ()).points)


def test_the_interval_of_a_point_holds_the_point_though_the_trials_fall_on_two_levels() -> None:
    two = [100.0 + 0.01 * number for number in range(14)] + [130.0 + 0.01 * number for number in range(16)]
    (found,) = points(two)
    assert found.interval
    assert found.low is not None
    assert found.high is not None
    assert (found.value, found.low, found.high) == pytest.approx((130.005, 100.09, 130.06))
    (few,) = points(two[:5])
    assert (few.interval, few.low, few.high) == (False, 100.0, 100.04)


def test_of_several_hosts_the_interval_is_that_of_their_geometric_mean() -> None:
    hosts = [f"web-{number}" for number in range(4)]
    levels = [100.0, 110.0, 105.0, 120.0]
    (found,) = points([level * turn for turn in (1.0, 1.01, 0.99) for level in levels], hosts)
    expected = stats.t.interval(0.95, 3, np.log(levels).mean(), stats.sem(np.log(levels)))
    assert (found.n, found.interval) == (4, True)
    assert found.value == pytest.approx(statistics.geometric_mean(levels))
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(expected)))
    (two,) = points([100.0, 110.0], hosts[:2])
    assert (two.interval, two.low, two.high) == (False, 100.0, 110.0)


def test_figures_of_before_are_told_in_the_unit_of_now_and_those_of_another_kind_are_left_out() -> None:
    plans = {"p": run_events.plan()}
    units = (("a", Unit.BYTES_PER_SECOND, 5e6), ("b", Unit.SECOND, 5.0), ("c", Unit.MB_PER_SECOND, 6.0))
    rows = [
        HistoryRow(run, f"2026-11-0{number}", "p", "web-1", run_events.STEP.name, None, metric, (), value)
        for number, (run, unit, value) in enumerate(units, 1)
        for metric in [replace(run_events.IOPS, unit=unit)]
    ]
    found = history_of(WANTED, rows, plans, lambda _run, _hosts: ())
    assert [(point.run, point.value) for point in found.points] == [("a", 5.0), ("c", 6.0)]
    assert found.left_out == ("1 run of unit s",)


def test_runs_without_a_verdict_are_judged_or_left_out_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.sqlite3"
    store_of_history(path, np.full(15, 1000.0), {}, trust=None).close()
    store = Store(path)
    figures = [Figure(run_events.IOPS, 9e9, run_events.READ), Figure(BANDWIDTH, 1e6, run_events.READ)]
    with store.recorder("2026-wrong") as recorder:  # IOPS x block size is not the bandwidth
        recorder.record(RunStarted("2026-wrong", run_events.plan(), "2026-01-01T00:30:00+00:00"))
        for event in run_events.trial_events(run_events.trial(1), figures):
            recorder.record(event)
        recorder.record(RunEnded("2026-wrong", State.DONE))
    found = read_history(store, WANTED)
    assert (len(found.points), found.left_out) == (15, ("invalid: 2026-wrong (random read on web-1)",))
    assert all(point.trust is not None for point in found.points)
    monkeypatch.setattr(history, "MOST_COMPUTED", 10)
    store = Store(path)
    found = read_history(store, WANTED)
    assert [point.run for point in found.points] == [f"2026-{number:06d}-h" for number in range(5, 15)]
    (excluded,) = history_to_json(found)["left_out"]
    assert excluded.startswith("6 older runs")
    assert f"Excluded: {excluded}." in notes_of(found)
    assert len(store.computed) == 10

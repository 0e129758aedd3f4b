"""A metric over time: changes are found where they are, seldom elsewhere, and with what changed beside them."""

import itertools
import json
import statistics
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
from app.change_points import FEWEST_RESULTS, MOST_RESULTS, change_points
from app.cli.main import benchwright
from app.events import RunEnded, RunStarted, State
from app.history import (
    SHOWN,
    HistoryError,
    HistoryPoint,
    HistoryQuery,
    history_of,
    history_to_json,
    notes_of,
    read_history,
    summary_of,
)
from app.margins import Margins
from app.plans.plan import make_step
from app.records import HistoryRow
from app.store.store import Store
from suites.fio.metrics import BANDWIDTH
from suites.units import Unit
from suites.vocab import Figure
from tests.app import run_events
from tests.messages import messages
from tests.simulation.history import (
    DOWN_AND_UP,
    FIVE_STEPS,
    LATE,
    LATE_WITH_OUTLIERS,
    PERMANENT,
    STEP_AGAINST_TREND,
    STEP_ON_TREND,
    TREND,
    Course,
    claims,
    false_claims,
    results,
    store_of_history,
)

MESSAGES = messages("app", "test_history")

WANTED = HistoryQuery(("web-1",), "iops")


def test_a_step_and_a_dip_are_found_where_they_are() -> None:
    values = results(np.random.default_rng(1), 200, 0.02)
    values[60:] *= 1.12
    values[120:140] *= 0.8
    found = change_points(list(values))
    assert [change.index for change in found.changes] == [60, 120, 140]
    assert not found.drifts
    assert found.changes[0].ratio == pytest.approx(1.12, abs=0.02)
    assert found.changes[0].low < 1.12 < found.changes[0].high
    assert all(change.first <= change.index <= change.last for change in found.changes)
    assert [level[:2] for level in found.levels] == [(0, 60), (60, 120), (120, 140), (140, 200)]


@pytest.mark.parametrize(
    ("course", "spread"),
    [(DOWN_AND_UP, 0.01), (FIVE_STEPS, 0.01), (STEP_ON_TREND, 0.01), (STEP_AGAINST_TREND, 0.02), (PERMANENT, 0.02)],
)
def test_small_and_successive_steps_are_claimed(course: Course, spread: float) -> None:
    found = claims(course, spread, 20)
    assert found.all.value >= 0.9
    assert found.extra.value <= 0.1
    assert (found.drifting.value > 0.5) == bool(course.slope)


def test_a_trend_is_a_drift_and_no_staircase() -> None:
    found = change_points(list(TREND.values(np.random.default_rng(1), 0.01)))
    assert not found.changes
    (drift,) = found.drifts
    assert (drift.start, drift.end) == (0, 60)
    assert drift.low < -0.003 < drift.high < 0
    assert drift.ratio == pytest.approx(0.997**59, abs=0.02)


def test_a_drift_that_begins_later_is_a_line_of_its_own() -> None:
    values = results(np.random.default_rng(1), 100, 0.01)
    values[50:] *= 0.997 ** np.arange(50)
    (drift,) = change_points(list(values)).drifts
    assert 40 <= drift.start <= 60
    assert drift.end == 100


@pytest.mark.parametrize("where", [[20], [59], [0], [20, 21]])
def test_single_outliers_are_no_change(where: list[int]) -> None:
    values = results(np.random.default_rng(3), 60, 0.02)
    values[where] *= 0.5
    found = change_points(list(values))
    assert not found.changes
    assert not found.drifts


def with_outliers() -> list[float]:
    """Return 24 quiet results, and seven that alternate around a level 12 % above the last twelve."""
    quiet = [100.0 + 0.5 * (-1) ** number for number in range(24)]
    return [*quiet[:12], *(0.93 * value for value in quiet[12:]), 99.6, 112.0, 99.5, 110.0, 98.3, 113.0, 101.0]


def test_levels_and_ratio_are_those_of_the_results_as_measured() -> None:
    values = with_outliers()
    found = change_points(values)
    assert [change.index for change in found.changes] == [12, 24]
    assert {25, 27, 29} <= set(found.outliers) <= set(range(24, 31))
    before, after = values[12:24], values[24:]
    last = found.changes[-1]
    assert (last.before, last.after) == pytest.approx((stats.gmean(before), stats.gmean(after)))
    assert [level[2] for level in found.levels] == pytest.approx(
        [stats.gmean(part) for part in (values[:12], before, after)]
    )


def test_segments_with_outliers_have_a_variance_of_their_own() -> None:
    values = with_outliers()
    last = change_points(values).changes[-1]
    before, after = np.log(values[12:24]), np.log(values[24:])
    # The other two segments have a common variance: 24 results, 2 levels. 1.3 / 0.7: the autocorrelation.
    common = (11 * np.log(values[:12]).var(ddof=1) + 11 * before.var(ddof=1)) / 22
    parts = np.array([common / 12, after.var(ddof=1) / 7]) * 1.3 / 0.7
    freedom = parts.sum() ** 2 / (parts**2 / (22, 6)).sum()
    reach = stats.t.ppf(0.975, freedom) * parts.sum() ** 0.5
    middle = after.mean() - before.mean()
    assert (last.low, last.high) == pytest.approx((np.exp(middle - reach), np.exp(middle + reach)), rel=1e-6)


@pytest.mark.parametrize("where", [[20], [20, 21], [7, 8, 9], [0, 40, 59]])
def test_outliers_are_named_without_a_change(where: list[int]) -> None:
    values = np.full(60, 1000.0) + 5.0 * np.cos(2.4 * np.arange(60))
    values[where] *= 0.5
    found = change_points(list(values))
    assert (found.changes, found.outliers) == ((), tuple(where))
    assert not change_points([1000.0] * 20).outliers


def test_a_step_that_its_outliers_make_uncertain_is_marked(tmp_path: Path) -> None:
    values = np.array([100.0, 101.0, 99.0, 100.5] * 3 + [115.0, 100.0, 115.0, 115.5, 99.7, 116.0])
    store_of_history(tmp_path / "runs", values, {}).close()
    found = read_history(Store(tmp_path / "runs"), WANTED)
    marked = next(each for each in found.marked if each.change.low < 1 < each.change.high)
    assert not marked.change.significant
    assert "not significant" in marked.text
    assert "not significant" in summary_of(found)
    claimed = sum(each.change.significant for each in found.marked)
    assert summary_of(found).startswith(f"{claimed} step" if claimed else "No change")
    assert any(not each["significant"] for each in history_to_json(found)["changes"])


@pytest.mark.slow
def test_the_runs_that_are_outliers_are_named(tmp_path: Path) -> None:
    store_of_history(tmp_path / "runs", np.array(with_outliers()), {}).close()
    words = ["--store", str(tmp_path / "runs"), "history", "web-1", "--metric", "iops"]
    found = json.loads(CliRunner().invoke(benchwright, [*words, "--json"]).output)
    assert {f"2026-0000{number}-h" for number in (25, 27, 29)} <= set(found["outliers"])
    output = CliRunner().invoke(benchwright, words).output
    note = next(line for line in output.splitlines() if "outliers" in line)
    assert all(run in note for run in found["outliers"])
    assert note.startswith(f"Note: {len(found['outliers'])} ")


def test_of_a_long_history_outliers_are_counted_from_its_start() -> None:
    values = np.full(MOST_RESULTS + 50, 1000.0) + 5.0 * np.cos(2.4 * np.arange(MOST_RESULTS + 50))
    values[[10, 500]] *= 0.5
    assert change_points(list(values)).outliers == (500,)


def test_equal_results_have_no_change_and_a_step_between_them_is_one() -> None:
    assert not change_points([1000.0] * 20).changes
    (change,) = change_points([1000.0] * 10 + [900.0] * 10).changes
    assert change.index == 10
    assert change.ratio == pytest.approx(0.9)


@given(st.lists(st.floats(1.0, 1e6), max_size=40), st.floats(1e-3, 1e3))
def test_the_unit_changes_nothing_and_every_change_is_one(values: list[float], factor: float) -> None:
    found = change_points(values)
    scaled = change_points([factor * value for value in values])
    assert [change.index for change in found.changes] == [change.index for change in scaled.changes]
    places = [0, *(change.index for change in found.changes), len(values)]
    if found.changes:
        assert all(later - earlier >= FEWEST_RESULTS for earlier, later in itertools.pairwise(places))
    for change in found.changes:
        assert change.low <= change.ratio <= change.high
        assert change.low > 1 or change.high < 1


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


@pytest.mark.slow
def test_a_change_tells_which_fact_changed_beside_it(stored: Path) -> None:
    store = Store(stored)
    found = read_history(store, WANTED)
    (marked,) = found.marked
    assert (marked.after.run, marked.before.run) == ("2026-000020-h", "2026-000019-h")
    assert [(each.what, each.ours, each.baseline) for each in marked.differences] == [("kernel", "6.5.0", "6.1.0")]
    assert marked.text.startswith("−10")
    assert not marked.within
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
    assert found.left_out[0].startswith("1 run of bs")
    with pytest.raises(HistoryError, match="no metric “nothing”"):
        read_history(store, HistoryQuery(("web-1",), "nothing"))


@pytest.mark.slow
def test_the_margin_filters_the_display_and_not_the_search(stored: Path) -> None:
    found = read_history(Store(stored), replace(WANTED, margins=Margins(every=0.2)))
    (marked,) = found.marked
    assert marked.within
    assert "within the margin" in marked.text
    assert "20 %" in summary_of(found)
    assert "20 %" not in summary_of(read_history(Store(stored), WANTED))
    assert history_to_json(found)["changes"][0]["within_margin"]


def test_the_command_line_prints_what_changed_first(stored: Path) -> None:
    words = ["--store", str(stored), "history", "web-1", "--metric", "iops"]
    result = CliRunner().invoke(benchwright, words)
    assert result.exit_code == 0, result.output
    assert result.output.index("kernel") < result.output.index("2026-000039-h")
    assert "2026-000029-h" not in result.output
    assert f"The newest {SHOWN} of 40 runs" in result.output
    assert "2026-000000-h" in CliRunner().invoke(benchwright, [*words, "--all"]).output
    assert "(within" in CliRunner().invoke(benchwright, [*words, "--margin", "20"]).output
    found = json.loads(CliRunner().invoke(benchwright, [*words, "--label", "operation=read", "--json"]).output)
    assert (found["format"], len(found["points"]), len(found["changes"])) == ("benchwright-history/2", 40, 1)
    assert found["changes"][0]["differences"][0]["what"] == "kernel"


@pytest.mark.slow
def test_the_command_line_prints_a_drift(tmp_path: Path) -> None:
    store_of_history(tmp_path / "runs", TREND.values(np.random.default_rng(1), 0.01), {}).close()
    words = ["--store", str(tmp_path / "runs"), "history", "web-1", "--metric", "iops"]
    output = CliRunner().invoke(benchwright, words).output
    assert "1 drift in 60 runs" in output
    assert "per run" in output
    (drift,) = json.loads(CliRunner().invoke(benchwright, [*words, "--json"]).output)["drifts"]
    assert drift["rate"] == pytest.approx(-0.003, abs=0.001)
    assert (drift["run"], drift["last"]) == ("2026-000000-h", "2026-000059-h")


def test_of_a_long_history_the_newest_are_searched() -> None:
    values = results(np.random.default_rng(1), MOST_RESULTS + 50, 0.01)
    values[-20:] *= 0.9
    values[:25] *= 0.5
    (change,) = change_points(list(values)).changes
    assert change.index == len(values) - 20


@pytest.mark.slow
@pytest.mark.parametrize("count", [20, 100])
def test_false_claims_are_what_the_help_says(count: int) -> None:
    assert false_claims(count, 0.01, 0.0, 300).interval[0] <= 0.01
    assert false_claims(count, 0.10, 0.3, 300).interval[0] <= 0.05
    assert false_claims(count, 0.03, 0.0, 300, heavy=True).interval[0] <= 0.02
    assert false_claims(count, 0.05, 0.6, 300).interval[0] <= 0.25


@pytest.mark.slow
def test_power_and_coverage_are_what_the_help_says() -> None:
    assert claims(LATE, 0.02, 200).all.value >= 0.95
    for course in (DOWN_AND_UP, FIVE_STEPS, STEP_ON_TREND, PERMANENT):
        found = claims(course, 0.01, 150)
        assert found.all.value >= 0.95
        assert found.covered.value >= 0.93
        assert found.placed.value >= 0.93


@pytest.mark.slow
def test_intervals_cover_the_ratio_where_some_runs_are_outliers() -> None:
    assert claims(LATE_WITH_OUTLIERS, 0.01, 300).covered.value >= 0.93
    assert claims(replace(DOWN_AND_UP, outliers=0.1), 0.01, 150).extra.value <= 0.1


def points(values: Sequence[float], hosts: Sequence[str] = ("web-1",)) -> list[HistoryPoint]:
    """Return the points of one run whose trials gave `values`, on each host in turn."""
    rows = [
        HistoryRow("r", "2026-11-01T00:00:00+00:00", "p", host, run_events.STEP.name, None, run_events.IOPS, (), value)
        for value, host in zip(values, itertools.cycle(hosts), strict=False)
    ]
    wanted = HistoryQuery(tuple(hosts), "iops")
    return list(history_of(wanted, rows, {"p": run_events.plan()}, lambda _run, _hosts: ()).points)


def test_a_point_is_the_geometric_mean_of_its_trials_with_its_interval() -> None:
    two = [100.0 + 0.01 * number for number in range(14)] + [130.0 + 0.01 * number for number in range(16)]
    (found,) = points(two)
    expected = stats.t.interval(0.95, 29, np.log(two).mean(), stats.sem(np.log(two)))
    assert found.interval
    assert (found.value, found.low, found.high) == pytest.approx((stats.gmean(two), *np.exp(expected)))
    (few,) = points(two[:5])
    assert (few.interval, few.low, few.high) == (False, 100.0, 100.04)


def test_of_several_hosts_the_interval_is_that_of_their_geometric_mean() -> None:
    hosts = [f"web-{number}" for number in range(4)]
    levels = [100.0, 110.0, 105.0, 120.0]
    (found,) = points([level * turn for turn in (1.0, 1.01, 1 / 1.01) for level in levels], hosts)
    expected = stats.t.interval(0.95, 3, np.log(levels).mean(), stats.sem(np.log(levels)))
    assert (found.n, found.interval) == (4, True)
    assert found.value == pytest.approx(statistics.geometric_mean(levels))
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(expected)))
    (two,) = points([100.0, 110.0], hosts[:2])
    assert (two.interval, two.low, two.high) == (False, 100.0, 110.0)


def test_of_several_hosts_runs_without_one_of_them_are_excluded() -> None:
    both, alone = ("web-1", "web-2"), {"only": ("web-1",), "other": ("web-2",)}
    rows = [
        HistoryRow(run, f"2026-11-0{number}", "p", host, run_events.STEP.name, None, run_events.IOPS, (), value)
        for number, (run, hosts) in enumerate(({"first": both, **alone, "last": both}).items(), 1)
        for host, value in zip(hosts, (100.0, 400.0), strict=False)
    ]
    found = history_of(HistoryQuery(both, "iops"), rows, {"p": run_events.plan()}, lambda _run, _hosts: ())
    assert {point.run: round(point.value, 6) for point in found.points} == {"first": 200.0, "last": 200.0}
    assert found.left_out == (MESSAGES["without_web_2"], MESSAGES["without_web_1"])
    other = replace(run_events.plan(), steps=(make_step("fio", {"rw": "write"}, name=run_events.STEP.name),))
    newer = HistoryRow("new", "2026-11-09", "q", "web-1", run_events.STEP.name, None, run_events.IOPS, (), 1.0)
    plans = {"p": run_events.plan(), "q": other}
    partial = history_of(HistoryQuery(both, "iops"), [*rows, newer], plans, lambda _run, _hosts: ())
    assert [point.run for point in partial.points] == ["first", "last"]
    rows = [row for row in rows if row.run in alone]
    none = history_of(HistoryQuery(both, "iops"), rows, {"p": run_events.plan()}, lambda _run, _hosts: ())
    assert summary_of(none) == MESSAGES["no_run_of_all_hosts"]


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

"""Latency heat maps: every I/O has its field, and what is drawn is what was counted."""

from pathlib import Path

import pytest

from app.chart import ChartMark, chart_table
from app.distributions.charts import MOST_COLUMNS, heat_chart, heat_charts, last_heats
from app.plans.plan import Step
from app.report_image.plots import write_charts
from app.report_image.report import draw_report
from suites.vocab import LatencySlice
from tests.app import run_events
from tests.messages import messages
from tests.suites.captured_outputs import capture

MESSAGES = messages("app", "test_heat")

READ = (("operation", "read"),)
SWEEP = capture("fio/3.33/sweep").stdout
RANDRW = capture("fio/3.39/jsonplus_status1_randrw").stdout


def test_there_is_a_map_for_each_operation() -> None:
    charts = heat_charts(RANDRW, "fio", "disk on web-1, trial 1")
    assert [chart.title for chart in charts] == [
        MESSAGES["latency_read_disk_on_web_1"], MESSAGES["latency_write_disk_on_web_1"],
    ]  # fmt: skip
    assert heat_charts(RANDRW, "iperf3", "x") == []
    assert heat_charts(b"", "fio", "x") == []


def test_every_request_is_in_one_field() -> None:
    slices = [LatencySlice(0.0, 1.0, READ, {999: 5, 1000: 7, 1_000_000: 1}), LatencySlice(1.0, 2.0, READ, {1000: 100})]
    chart = heat_chart(slices, "t")
    (series,) = chart.series
    assert series.mark is ChartMark.HEAT
    assert sum(cell.count for cell in series.cells) == 113
    heaviest = max(series.cells, key=lambda cell: cell.weight)
    assert (heaviest.count, heaviest.weight, heaviest.left, heaviest.right) == (100, 1.0, 1.0, 2.0)
    assert heaviest.low <= 1000 < heaviest.high
    assert all(0 < cell.weight <= 1 for cell in series.cells)
    low, high = chart.span(chart.x)
    assert low < 0
    assert high > 2
    assert chart.note.startswith("113 I/Os, at most 100 in one cell.")


def test_long_runs_have_no_more_columns_than_can_be_seen() -> None:
    slices = [LatencySlice(float(place), place + 1.0, READ, {1000: 1}) for place in range(10 * MOST_COLUMNS + 3)]
    cells = heat_chart(slices, "t").series[0].cells
    assert len(cells) <= MOST_COLUMNS
    assert sum(cell.count for cell in cells) == len(slices)
    assert cells[-1].right == len(slices)


def test_it_is_drawn_and_copied(tmp_path: Path) -> None:
    charts = heat_charts(SWEEP, "fio-sweep", "depth")
    assert write_charts(charts, tmp_path / "heat.png").read_bytes().startswith(b"\x89PNG")
    rows = chart_table(charts[0])
    assert len(rows) == 1 + len(charts[0].series[0].cells)
    assert float(rows[1][4]) == pytest.approx(float(rows[1][3]) * 10 ** (1 / 8))


def test_a_report_has_the_maps_of_the_last_trial_that_counts() -> None:
    step = Step("disk", "fio", {"rw": "randrw"})
    run = run_events.run_record("a", [1.0, 2.0], step=step)
    asked: list[int] = []

    def output(trial: int) -> dict[str, bytes]:
        asked.append(trial)
        return {"stdout": RANDRW}

    heats = last_heats(run, output)
    assert asked == [run.trials[-1].trial.id]
    assert [chart.title for chart in heats["disk"]] == [
        MESSAGES["latency_read_web_1_trial_2"],
        MESSAGES["latency_write_web_1_trial_2"],
    ]
    sheet = draw_report([run], {}, {}, [], charts=heats)
    assert MESSAGES["latency_read_web_1_trial_2"] in " ".join(words.text for words in sheet._texts)
    assert last_heats(run_events.run_record("a", [1.0], step=Step("cpu", "sysbench-cpu", {})), output) == {}

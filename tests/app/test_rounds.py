"""Charts of rounds: the window and its line, in a report, in a window of their own, on the command line."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.chart import MOST_OF_A_STEP, Chart, in_report, rounds_chart, rounds_charts
from app.cli.main import benchwright
from app.events import RunEnded, RunStarted, State
from app.plans.plan import Step
from app.records import RunRecord, SampleSeries
from app.report_image.report import draw_report
from app.scaling.sweeps import curves_of
from app.store.store import Store
from suites.base import complete_values
from suites.snia.suite import FioSnia
from suites.vocab import Figure, Sample, labels
from tests.app import run_events
from tests.messages import messages
from tests.suites.captured_outputs import capture
from tests.suites.test_snia_output import GIVEN

MESSAGES = messages("app", "test_rounds")

SNIA = FioSnia()
PARSED = capture("fio-snia/3.33/iops").parse(SNIA.parser(complete_values(SNIA, GIVEN)))
STEP = Step("IOPS", "fio-snia", complete_values(SNIA, GIVEN))


def run_of() -> tuple[RunRecord, SampleSeries]:
    run = run_events.run_record("a", [1.0], step=STEP)
    trials = tuple(replace(trial, figures=PARSED.figures) for trial in run.trials)
    return replace(run, trials=trials), {trial.trial.id: PARSED.samples for trial in trials}


def test_a_chart_has_every_round_and_the_last_five_with_their_line() -> None:
    run, samples = run_of()
    (chart,) = rounds_charts(run, samples)["IOPS"]
    whole, mean, line = chart.series
    tracked = [sample.value for sample in PARSED.samples if sample.metric.name == "window_iops"]
    assert whole.ys == tuple(tracked)
    assert whole.xs == (1, 2, 3, 4, 5, 6)
    assert mean.xs == line.xs == (2, 3, 4, 5, 6)
    assert mean.ys[0] == pytest.approx(sum(tracked[1:]) / 5)
    assert (mean.low[0], mean.high[0]) == pytest.approx((0.9 * mean.ys[0], 1.1 * mean.ys[0]))
    assert sum(line.ys) == pytest.approx(sum(tracked[1:]))
    assert chart.note.startswith(MESSAGES["the_last_5_rounds_range_over"])
    assert chart.title == "Rounds: trial 1"


def test_with_ten_rounds_the_five_before_are_drawn_and_with_three_no_window() -> None:
    metric = PARSED.figures[0].metric
    ten = rounds_chart([Sample(float(place), metric, 100.0 - place) for place in range(10)], "trial 1")
    assert [series.name for series in ten.series][-1] == "mean of the five before"
    assert ten.series[-1].xs == (1, 2, 3, 4, 5)
    assert ten.series[-1].ys[0] == pytest.approx(98)
    three = rounds_chart([Sample(float(place), metric, 100.0) for place in range(3)], "trial 1")
    assert len(three.series) == 1


def test_trials_without_rounds_have_no_chart() -> None:
    run, samples = run_of()
    assert rounds_charts(run_events.run_record("b", [1.0]), samples) == {}
    assert rounds_charts(run, {}) == {}


def test_a_report_has_the_rounds_before_the_heat_maps() -> None:
    run, samples = run_of()
    charts = in_report(rounds_charts(run, samples), {"IOPS": [heat := _chart("heat")], "other": [heat]})
    assert [chart.title for chart in charts["IOPS"]] == ["Rounds: trial 1", "heat"]
    assert len(in_report({"s": [heat] * 9}, {})["s"]) == MOST_OF_A_STEP
    sheet = draw_report([run], {run.summary.id: samples}, {}, [], charts=charts)
    assert "Rounds: trial 1" in " ".join(words.text for words in sheet._texts)


def _chart(title: str) -> Chart:
    return replace(rounds_chart([Sample(0.0, PARSED.figures[0].metric, 1.0)], ""), title=title)


def test_a_rate_over_block_sizes_falls_and_has_no_knee() -> None:
    by_point = next(figure.metric for figure in PARSED.figures if figure.metric.name == "iops_by_point")
    figures = [
        Figure(by_point, 1e6 / size, labels(block=f"{size} KiB", reads=reads))
        for size in (4, 8, 64)
        for reads in ("0", "100")
    ]
    found = [curve for curve in curves_of(figures) if curve.label == "block"]
    assert len(found) == 2
    assert [curve.knee for curve in found] == [None, None]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Return a library with a run of six rounds, and a run of no rounds after it."""
    path = tmp_path / "runs.sqlite3"
    store = Store(path)
    whole = run_events.plan(STEP)
    events = [
        RunStarted("20261120-141530-aaaa", whole, "2026-11-20T14:15:30+00:00"),
        *run_events.trial_events(run_events.trial(1, step="IOPS"), PARSED.figures, PARSED.samples),
        RunEnded("20261120-141530-aaaa", State.DONE, "", {}),
    ]
    for run, found in (("20261120-141530-aaaa", events), ("20261120-151530-bbbb", None)):
        with store.recorder(run) as recorder:
            for event in found or run_events.run_events(run, started="2026-11-20T15:15:30+00:00"):
                recorder.record(event)
    store.close()
    return path


def test_the_rounds_of_a_stored_run_are_drawn_on_the_command_line(library: Path, tmp_path: Path) -> None:
    picture = tmp_path / "rounds.png"

    def shown(run: str) -> Result:
        return CliRunner().invoke(benchwright, ["--store", str(library), "rounds", run, "--png", str(picture)])

    none = shown("last")
    assert (none.exit_code, none.stdout) == (0, "")
    assert "has rounds" in none.stderr
    assert not picture.exists()
    drawn = shown("20261120-141530-aaaa")
    assert drawn.exit_code == 0, drawn.output
    assert drawn.stdout.startswith("Rounds: trial 1: The last 5 rounds range over 115.7 %")
    assert picture.read_bytes().startswith(b"\x89PNG")

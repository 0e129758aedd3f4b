"""Curves of a compared row: the samples of the trials that are drawn, read when the row is selected."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import numpy as np
import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.comparison.comparison import ComparisonRow
from app.questions import RefusingAsker
from app.services import Workstation
from suites.vocab import Sample
from tests.widgets.library_runs import copied_library
from tests.widgets.test_compare_page import AFTER, AGAIN, BEFORE
from widgets import jobs
from widgets.compare.compare_page import ComparePage
from widgets.compare.compare_rows import Compared, read_runs
from widgets.compare.curves import FAINT_LIMIT, RowCurves, read_curves
from widgets.compare.row_plots import Overlay
from widgets.live.replay import stored

pytestmark = pytest.mark.usefixtures("idle")

Keep = Callable[[QWidget], QWidget]


@pytest.fixture
def library(workstation: Workstation) -> Workstation:
    """Return a workstation with a library of every kind of run."""
    copied_library(workstation)
    return workstation


@pytest.fixture
def page(qtbot: QtBot, keep: Keep, library: Workstation) -> Iterator[ComparePage]:
    """Return a page that compares two runs."""
    made = ComparePage(library, RefusingAsker())
    keep(made)
    made.show()
    made.compare([BEFORE, AFTER])
    qtbot.waitUntil(lambda: not jobs.running())
    yield made
    qtbot.waitUntil(lambda: not jobs.running())


def row_of(compared: Compared, name: str) -> ComparisonRow:
    """Return the row of a metric."""
    return next(row for row in compared.comparison.rows if row.metric.name == name)


def curves_of(workstation: Workstation, compared: Compared, row: ComparisonRow) -> RowCurves:
    """Return the curves of a row that has some."""
    found = read_curves(workstation, compared, row)
    assert found is not None
    return found


def test_each_trial_of_a_run_has_the_curve_that_its_replay_has(library: Workstation) -> None:
    compared = read_runs(library, [BEFORE, AFTER])
    row = row_of(compared, "iops")
    found = curves_of(library, compared, row)
    for number, run in enumerate((BEFORE, AFTER)):
        model = stored(library.load(run), library.samples(run), {})
        views = [view for view in model.trials_at((row.step, row.host)) if view.counts]
        replayed = [view.series[row.metric.name, row.labels] for view in views]
        drawn = [curve.series for curve in found.curves if curve.number == number]
        assert len(drawn) == len(replayed) == 8
        for one in replayed:
            same = [each for each in drawn if np.array_equal(each.buffer.values(), one.buffer.values())]
            assert [each.warm_up_until for each in same] == [one.warm_up_until]
            assert np.array_equal(same[0].buffer.times(), one.buffer.times())
        (front,) = [curve.series for curve in found.curves if curve.number == number and curve.front]
        side = row.sides[number]
        assert side is not None
        at = min(range(8), key=lambda index: abs(side.values[index] - side.median))
        assert np.array_equal(front.buffer.values(), replayed[at].buffer.values())


def test_of_many_trials_only_those_that_are_drawn_are_read(
    library: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = read_runs(library, [f"{BEFORE},{AGAIN}", AFTER])
    row = row_of(compared, "iops")
    asked: list[tuple[str, int]] = []
    read = library.trial_samples

    def spied(
        trials: Iterable[tuple[str, int]], metrics: Collection[str]
    ) -> Mapping[tuple[str, int], tuple[Sample, ...]]:
        asked.extend(trials)
        samples = read(trials, metrics)
        assert {sample.metric.name for of in samples.values() for sample in of} == {"iops"}
        return samples

    monkeypatch.setattr(library, "trial_samples", spied)
    found = curves_of(library, compared, row)
    side = row.sides[0]
    assert side is not None
    assert side.n == 16
    assert [sum(curve.number == number for curve in found.curves) for number in (0, 1)] == [1 + FAINT_LIMIT, 8]
    assert len(asked) == 1 + FAINT_LIMIT + 8
    assert set(side.trials[-FAINT_LIMIT:]) <= set(asked)
    assert [curve.front for curve in found.curves] == [*[False] * FAINT_LIMIT, True, *[False] * 7, True]


def test_a_metric_without_samples_has_the_curves_of_the_headline_metric(library: Workstation) -> None:
    compared = read_runs(library, [BEFORE, AFTER])
    found = curves_of(library, compared, row_of(compared, "latency_p99"))
    assert found.metric.name == "iops"


def test_curves_of_a_row_that_is_no_longer_selected_are_not_drawn(page: ComparePage) -> None:
    assert page.plots is not None
    assert page.compared is not None
    overlay: Overlay = page.plots.overlay
    shown, other = row_of(page.compared, "iops"), row_of(page.compared, "latency_p99")
    assert overlay.plot is not None
    overlay.show_curves(other, None)
    assert overlay.plot is not None
    overlay.show_curves(shown, None)
    assert overlay.plot is None
    assert overlay._text.text() == "No samples over time."


def test_curves_that_cannot_be_read_say_why(qtbot: QtBot, page: ComparePage) -> None:
    assert page.plots is not None
    assert page.plots.overlay.plot is not None
    page.workstation.delete(AFTER)
    page.table.selectRow(page.table.currentIndex().row() + 2)
    qtbot.waitUntil(lambda: not jobs.running())
    assert page.plots.overlay.plot is None
    assert "There is no run" in page.plots.overlay._text.text()

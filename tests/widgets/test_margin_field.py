"""The margin of a comparison: that of the selected metric until the user types one, kept for a metric, forgotten."""

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.margins import Margins
from app.questions import RefusingAsker
from app.services import Workstation
from tests.widgets.library_runs import copied_library
from widgets import jobs
from widgets.compare.compare_page import ComparePage

pytestmark = pytest.mark.usefixtures("idle")

RUNS = ("20260112-081502-a1b2", "20260113-141230-e5f6")


@pytest.fixture
def page(qtbot: QtBot, keep: Callable[[QWidget], QWidget], workstation: Workstation) -> ComparePage:
    copied_library(workstation)
    page = ComparePage(workstation, RefusingAsker())
    keep(page)
    keep(page.explanation)
    page.compare(RUNS)
    qtbot.waitUntil(lambda: page.compared is not None and not jobs.running())
    return page


def choose(page: ComparePage, metric: str) -> None:
    lines = page.table.content.shown
    page.table.selectRow(
        next(n for n, one in enumerate(lines) if one.row is not None and one.row.metric.name == metric)
    )


def entries(page: ComparePage) -> dict[str, bool]:
    page.margin.menu.aboutToShow.emit()
    return {action.text(): action.isEnabled() for action in page.margin.menu.actions()}


def trigger(page: ComparePage, text: str) -> None:
    page.margin.menu.aboutToShow.emit()
    next(action for action in page.margin.menu.actions() if action.text() == text).trigger()


def test_the_field_shows_the_margin_of_the_selected_metric(page: ComparePage) -> None:
    choose(page, "latency_p99")
    assert (page.margin.value.value(), page.margin.origin.text()) == (10, "latency_p99, default")
    choose(page, "iops")
    assert (page.margin.value.value(), page.margin.origin.text()) == (5, "iops, default")
    assert page.margin.margins() == Margins()


def test_a_typed_margin_holds_for_all_metrics_until_it_is_taken_back(qtbot: QtBot, page: ComparePage) -> None:
    page.margin.value.setValue(2)
    assert page.margin.origin.text() == "all metrics"
    qtbot.waitUntil(lambda: page.compared is not None and page.compared.comparison.margin == 0.02)
    choose(page, "latency_p99")
    assert page.margin.value.value() == 2
    trigger(page, "Use each metric’s margin")
    qtbot.waitUntil(lambda: page.compared is not None and page.compared.comparison.margin == 0.10)
    assert page.margin.origin.text() == "latency_p99, default"
    qtbot.waitUntil(lambda: not jobs.running())


def test_a_margin_is_kept_for_a_metric_and_forgotten(qtbot: QtBot, page: ComparePage, workstation: Workstation) -> None:
    choose(page, "iops")
    page.margin.value.setValue(20)
    assert entries(page) == {
        "Keep 20 % for iops": True, "Forget my margin of iops": False, "Use each metric’s margin": True,
    }  # fmt: skip
    trigger(page, "Keep 20 % for iops")
    qtbot.waitUntil(lambda: workstation.saved_margins.read() == {"iops": 0.2} and not jobs.running())
    trigger(page, "Use each metric’s margin")
    qtbot.waitUntil(lambda: page.margin.origin.text() == "iops, yours" and not jobs.running())
    assert page.margin.value.value() == 20
    trigger(page, "Forget my margin of iops")
    qtbot.waitUntil(lambda: page.margin.origin.text() == "iops, default" and not jobs.running())
    assert workstation.saved_margins.read() == {}

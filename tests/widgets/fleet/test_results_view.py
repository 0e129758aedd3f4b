"""The results of a study on the page Fleet: lemons, strips, variance, ranking, tickets and changes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.comparison.variance import GROUP, RUN
from app.fleet.changes import NOT_COMMON
from app.fleet.levels import fleet_levels
from app.fleet.planner import FleetGoal
from app.fleet.results import PAIRED
from app.fleet.sameness import sameness_of
from app.fleet_study import FleetStudy
from app.questions import RefusingAsker
from app.services import Workstation
from tests.app.fleet.test_lemon_facts import fleet_facts
from tests.simulation.fleets import SimulatedFleet, fleet_of
from tests.widgets.fleet_studies import BROKEN, SLOW, begin, copied_study, fleet_plan
from widgets import jobs
from widgets.fleet.changes_pane import CHOOSE, NONE_EARLIER, ChangesPane
from widgets.fleet.fleet_page import FleetPage
from widgets.fleet.hosts_question import HostsQuestion
from widgets.fleet.next_study_pane import NO_DESIGN
from widgets.fleet.results_tables import departures_of
from widgets.fleet.study_dialog import StudyDialog
from widgets.library.library_page import LibraryPage
from widgets.main_window import MainWindow
from widgets.page import PageName

pytestmark = pytest.mark.usefixtures("idle")


@pytest.fixture
def study(workstation: Workstation) -> FleetStudy:
    return copied_study(workstation)


@pytest.fixture
def page(qtbot: QtBot, workstation: Workstation, study: FleetStudy) -> Iterator[FleetPage]:
    yield from opened_page(qtbot, workstation)


def opened_page(qtbot: QtBot, workstation: Workstation) -> Iterator[FleetPage]:
    """Yield a page that shows the results of the newest study."""
    made = FleetPage(workstation, RefusingAsker())
    qtbot.addWidget(made)
    made.resize(1100, 700)
    with qtbot.waitExposed(made):
        made.show()
    with qtbot.waitSignal(made.feed.read):
        made.activated()
    made.views.show_results()
    qtbot.waitUntil(lambda: made.results.results is not None)
    qtbot.waitUntil(lambda: not jobs.running())
    yield made
    made.feed.pause()
    made.runs.stop_all()
    qtbot.waitUntil(lambda: not jobs.running())


def brought(qtbot: QtBot, page: FleetPage, pane: QWidget) -> None:
    """Bring a tab to the front, and wait until it is read."""
    page.results.tabs.setCurrentWidget(pane)
    qtbot.waitUntil(lambda: not jobs.running())


def test_lemons_strips_and_outliers_are_shown(page: FleetPage, qtmodeltester: ModelTester) -> None:
    view = page.results
    assert view.lemons.text() == f"1 lemon: {SLOW} (c7i)"
    charts = [one.chart for one in view.charts]
    assert [chart.title for chart in charts if chart is not None] == ["Instances by type", "c7i, 12 instances"]
    assert view.outliers.table.content.shown[0].host == SLOW
    texts = view.outliers.table.as_text().splitlines()
    assert SLOW in texts[1]
    assert "−21 %" in texts[1]
    qtmodeltester.check(view.outliers.table.content)


def test_the_ticket_of_a_lemon_is_shown_and_copied(qtbot: QtBot, page: FleetPage) -> None:
    pane = page.results.outliers
    assert pane.details.toPlainText().startswith(f"Instance {SLOW} is slow")
    with qtbot.waitSignal(pane.status):
        pane.copy_ticket.trigger()
    assert QGuiApplication.clipboard().text() == pane.details.toPlainText()
    with qtbot.waitSignal(pane.status):
        pane.copy_markdown.trigger()
    assert QGuiApplication.clipboard().text().startswith("### Instance c7i")


def test_the_runs_of_a_lemon_are_a_filter_of_the_library(
    qtbot: QtBot, page: FleetPage, workstation: Workstation, study: FleetStudy
) -> None:
    with qtbot.waitSignal(page.filter_requested) as asked:
        page.results.outliers.show_runs.trigger()
    runs = [one.run for one in workstation.host_runs(study.id) if one.host == SLOW and one.run]
    assert asked.args == [f"id={','.join(runs)}"]
    assert runs


def test_the_window_shows_the_runs_of_a_lemon_in_the_library(
    qtbot: QtBot, workstation: Workstation, study: FleetStudy
) -> None:
    window = MainWindow(workstation)
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    page = window.show_page(PageName.FLEET)
    assert isinstance(page, FleetPage)
    page.views.show_results()
    qtbot.waitUntil(page.results.outliers.show_runs.isEnabled)
    page.results.outliers.show_runs.trigger()
    qtbot.waitUntil(lambda: not page.isVisible())
    library = window.show_page(PageName.LIBRARY)
    assert isinstance(library, LibraryPage)
    runs = [one.run for one in workstation.host_runs(study.id) if one.host == SLOW and one.run]
    qtbot.waitUntil(lambda: [getattr(row, "id", "") for row in library.table.content.shown] == runs)
    page.feed.pause()


def test_replacing_a_lemon_asks_on_the_board(qtbot: QtBot, page: FleetPage) -> None:
    page.board.filter.setText("m7g")
    page.results.outliers.replace.trigger()
    assert page.views.tabs.currentIndex() == 0
    assert [row.title for row in page.board.table.chosen()] == [SLOW]
    question = next(found for found in page.findChildren(HostsQuestion) if found.isVisible())
    question.reject()
    qtbot.waitUntil(lambda: not jobs.running())


def test_variance_by_level_has_intervals_or_the_reason_without_them(
    page: FleetPage, qtmodeltester: ModelTester
) -> None:
    view = page.results
    assert [row.share is not None for row in view.levels.content.shown] == [True] * 4
    assert " to " in view.levels.as_text()
    qtmodeltester.check(view.levels.content)
    view._show_levels(fleet_levels(fleet_of(np.random.default_rng(1), SimulatedFleet(sessions=1))))
    rows = view.levels.content.shown
    assert [row.name for row in rows if row.share is None] == [RUN, GROUP]
    notes = [str(view.levels.content.at(at, "Note").data()).lower() for at in range(len(rows))]
    assert notes == [row.reason.lower() for row in rows]
    assert [bool(note) for note in notes] == [False, True, False, True]
    view._show_levels(None)  # a network test between two hosts
    assert view.levels.isHidden()
    assert view.moments.text() == PAIRED


def test_a_moment_that_all_hosts_share_is_below_the_variance(page: FleetPage) -> None:
    one = fleet_of(np.random.default_rng(1), SimulatedFleet(sessions=4))
    slow = {group: {host: {name: [value * (0.9 if name == "2" else 1.0) for value in trials]
                           for name, trials in sessions.items()} for host, sessions in hosts.items()}
            for group, hosts in one.groups.items()}  # fmt: skip
    found = fleet_levels(replace(one, groups=slow))
    page.results._show_levels(found)
    assert "2" in {moment.session for moment in found.shared_moments}
    wanted = [text.lower() for text in found.moment_lines]
    assert page.results.moments.text().lower().splitlines() == wanted


def test_another_figure_has_its_own_strips(page: FleetPage) -> None:
    view = page.results
    found = view.results
    assert found is not None
    assert view.figure.isHidden()
    other = replace(found.metrics[0], step="log writes")
    view._show(replace(found, metrics=(*found.metrics, other), levels=(*found.levels, None)), [])
    assert not view.figure.isHidden()
    assert view.figure.itemText(1).endswith("of log writes")
    view.figure.setCurrentIndex(1)
    view.figure.activated.emit(1)
    (chart,) = [one.chart for one in view.charts]
    assert chart is not None
    assert "of log writes" in chart.x.title
    assert view.moments.text() == PAIRED


def test_groups_are_ranked_by_value_and_by_price(qtbot: QtBot, page: FleetPage) -> None:
    ranking = page.results.ranking
    brought(qtbot, page, ranking)
    assert ranking.ranking is not None
    order = [row[0].candidate.name for row in ranking.table.content.shown]
    assert order == ["c7a (12 hosts)", "c7i (12 hosts)", "m7g (12 hosts)"]
    ranking.goal.setCurrentIndex(1)
    ranking.goal.activated.emit(1)
    qtbot.waitUntil(lambda: not jobs.running())
    assert "Per price" in ranking.table.as_text().splitlines()[0]


def test_facts_that_differ_are_listed_by_group(qtbot: QtBot, page: FleetPage) -> None:
    brought(qtbot, page, page.results.departures)
    heads = [row.heading for row in page.results.departures.table.content.shown if row.heading]
    assert [head.partition(":")[0] for head in heads] == ["c7i", "c7a", "m7g"]


def test_a_first_study_has_no_earlier_one(qtbot: QtBot, page: FleetPage) -> None:
    brought(qtbot, page, page.results.changes)
    assert page.results.changes.earlier.currentText() == NONE_EARLIER
    assert not page.results.changes.earlier.isEnabled()


def test_a_study_without_results_says_what_they_need(qtbot: QtBot, workstation: Workstation) -> None:
    begin(workstation, fleet_plan(9))
    page = next(pages := opened_page(qtbot, workstation))
    assert page.results.empty.isVisible()
    text = page.results.empty.text.text()
    assert text.startswith("0 of 36 host-runs done.")
    assert "36 host-runs waiting" in text
    assert next(pages, None) is None


def test_changes_since_an_earlier_study_are_lines(qtbot: QtBot, workstation: Workstation, study: FleetStudy) -> None:
    later = begin(workstation, fleet_plan(9))
    pane = ChangesPane(workstation)
    qtbot.addWidget(pane)
    pane.show()
    pane.show_study(later.id)
    qtbot.waitUntil(lambda: not jobs.running())
    assert [pane.earlier.itemData(at) for at in range(pane.earlier.count())] == ["", study.id]
    assert pane.earlier.currentText() == CHOOSE
    pane.earlier.setCurrentIndex(1)
    pane.earlier.activated.emit(1)
    qtbot.waitUntil(lambda: not jobs.running())
    assert pane.lines.toPlainText() == NOT_COMMON


def test_results_are_read_again_when_a_host_run_is_over(
    qtbot: QtBot, page: FleetPage, workstation: Workstation, study: FleetStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page.results, "_next", 0.0)
    before = page.results.results
    workstation.skip_host_runs(study.id, ["m7g-02"])
    page.feed.refresh()
    qtbot.waitUntil(lambda: page.results.results is not before)
    assert page.results.results is not None
    assert any("skipped" in note for note in page.results.results.notes)
    shown = page.results.results
    with qtbot.waitSignal(page.feed.read):
        page.feed.refresh()
    qtbot.waitUntil(lambda: not jobs.running())
    assert page.results.results is shown


def test_notes_are_folded(qtbot: QtBot, page: FleetPage) -> None:
    view = page.results
    assert view.notes_button.text().startswith("Notes (")
    assert not view.notes.isVisible()
    qtbot.mouseClick(view.notes_button, Qt.MouseButton.LeftButton)
    assert view.notes.isVisible()
    assert BROKEN in view.notes.text()


def test_the_odd_host_of_a_group_is_the_first_with_its_values() -> None:
    rows = list(departures_of(sameness_of({"c5": fleet_facts()})))
    assert rows[0].heading.endswith("The odd host is h0-2.")
    assert (rows[1].host, rows[1].count) == ("h0-2", "2")
    assert "CPU quota: 0.5 (most hosts: 2)" in rows[1].values
    assert rows[2].host == "h0-3"


def test_the_next_study_has_the_sessions_and_trials_of_a_design(qtbot: QtBot, page: FleetPage) -> None:
    pane = page.results.next_study
    pane.wanted.setValue(10.0)
    brought(qtbot, page, pane)
    shown = pane.table.content.shown
    assert [one.cost for one in shown] == sorted(one.cost or 0.0 for one in shown)
    assert all(one.shown <= 0.1 for one in shown)
    chosen = shown[1].design
    pane.table.selectRow(1)
    pane.begin.trigger()
    dialog = next(found for found in page.findChildren(StudyDialog) if found.isVisible())
    draft = dialog.form.draft(dialog.draft)
    assert draft.plan is not None
    assert (draft.sessions, draft.plan.repetition.trials) == (chosen.sessions, chosen.trials)
    assert draft.words.split()[0] == f"c7i:={','.join(f'c7i-{at:02}' for at in range(1, chosen.hosts + 1))}"
    dialog.reject()
    qtbot.waitUntil(lambda: not jobs.running())


def test_the_designs_of_another_goal_are_not_offered(qtbot: QtBot, page: FleetPage) -> None:
    pane = page.results.next_study
    pane.wanted.setValue(10.0)
    brought(qtbot, page, pane)
    qtbot.waitUntil(pane.begin.isEnabled)
    pane.goal.setCurrentIndex(1)
    pane.goal.activated.emit(1)
    assert not pane.begin.isEnabled()
    assert pane.table.isHidden()
    assert pane.none.isVisible()
    qtbot.waitUntil(pane.begin.isEnabled)
    assert pane.proposals is not None
    assert pane.proposals.request.goal is FleetGoal.DIFFERENCE


def test_groups_with_fewer_hosts_than_a_design_are_named(qtbot: QtBot, page: FleetPage) -> None:
    pane = page.results.next_study
    brought(qtbot, page, pane)
    pane.most.setValue(100)
    pane.wanted.setValue(1.0)
    qtbot.waitUntil(pane.begin.isEnabled)
    row = next(at for at, one in enumerate(pane.table.content.shown) if one.design.hosts > 12)
    pane.table.selectRow(row)
    assert pane.short.text().startswith("c7i has 12 hosts")
    pane.wanted.setValue(10.0)
    assert not pane.short.text()
    qtbot.waitUntil(lambda: not jobs.running())


def test_a_goal_out_of_reach_says_so_and_offers_nothing(qtbot: QtBot, page: FleetPage) -> None:
    pane = page.results.next_study
    brought(qtbot, page, pane)
    pane.wanted.setValue(0.01)
    pane.most.setValue(3)
    qtbot.waitUntil(lambda: pane.none.text().startswith(NO_DESIGN.format(3)))
    assert pane.table.isHidden()
    assert not pane.begin.isEnabled()


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("ending", "start"), [(".html", "<!doctype html>"), (".md", "# volume check"), (".csv", "study,group,host,type")]
)
def test_the_results_are_exported(qtbot: QtBot, page: FleetPage, tmp_path: Path, ending: str, start: str) -> None:
    path = tmp_path / f"report{ending}"
    page.results.write(path)
    qtbot.waitUntil(lambda: not jobs.running() and page.results.report_button.isEnabled())
    text = path.read_text()
    assert text.lower().startswith(start)
    assert SLOW in text


def test_a_report_that_cannot_be_written_is_a_message(qtbot: QtBot, page: FleetPage, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.mkdir()
    page.results.write(path)
    qtbot.waitUntil(page.results.notice.isVisible)
    qtbot.waitUntil(page.results.report_button.isEnabled)

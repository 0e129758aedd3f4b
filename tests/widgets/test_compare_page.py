"""The comparison on a real store: two runs and five, another baseline, another margin, what cannot be compared."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QPointF, QSize, Qt
from PySide6.QtGui import QGuiApplication, QHelpEvent
from PySide6.QtWidgets import QStyleOptionViewItem, QToolTip, QWidget
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.comparison.comparability import Weight
from app.comparison.compare import compare
from app.comparison.criteria import ComparisonCriteria
from app.comparison.family import DESCRIPTIVE
from app.comparison.verdicts import ComparisonVerdict
from app.events import State
from app.margins import Margins
from app.questions import RefusingAsker
from app.records import RunSummary
from app.services import Workstation
from suites.quantities import metric_text
from suites.verdict import Trust
from tests.app.test_invalid_results import BASE, judged
from tests.messages import messages
from tests.widgets.library_runs import STEADY, Made, copied_library, record
from widgets import jobs
from widgets.compare.compare_page import ComparePage
from widgets.compare.compare_rows import Compared, CompareLine, Grouping, LineKind, lines_of
from widgets.compare.compare_table import INTERVAL, METRIC, MOST_MEASURED, RATIO, RUN, VALUE, VERDICT, CompareTable, N
from widgets.compare.explanation_panel import OverruleQuestion
from widgets.compare.pickers import RunPicker
from widgets.compare.run_chips import MOST_CHIPS, RunChips
from widgets.parts.table import RowDelegate
from widgets.parts.table_model import HEADING
from widgets.parts.text import Text
from widgets.plots.studies import StudyPane

MESSAGES = messages("widgets-compare", "test_compare_page")

DECORATION = Qt.ItemDataRole.DecorationRole

pytestmark = pytest.mark.usefixtures("idle")

Keep = Callable[[QWidget], QWidget]

BEFORE, AGAIN, AFTER, OTHER, BLOCKS = (
    "20260112-081502-a1b2", "20260112-093010-c3d4", "20260113-141230-e5f6", "20260113-160544-g7h8",
    "20260114-090120-i9j0",
)  # fmt: skip


def _settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not jobs.running())


@pytest.fixture
def page(qtbot: QtBot, keep: Keep, workstation: Workstation) -> Iterator[ComparePage]:
    """Return the page over a library of every kind of run, comparing nothing yet."""
    copied_library(workstation)
    made = ComparePage(workstation, RefusingAsker())
    keep(made)
    made.resize(1000, 700)
    made.show()
    made.activateWindow()
    yield made
    _settle(qtbot)


def _compare(qtbot: QtBot, page: ComparePage, *runs: str) -> None:
    page.compare(runs)
    _settle(qtbot)


def _texts(page: ComparePage, column: int) -> list[str]:
    return [row[column] for row in page.table.content.texts()[1:]]


def _lines(page: ComparePage) -> Sequence[CompareLine]:
    return page.table.content.shown


def _verdicts(page: ComparePage, title: str) -> list[ComparisonVerdict]:
    return [
        line.against.verdict
        for line in _lines(page)
        if line.against is not None and line.row is not None and line.row.metric.title == title
    ]


def _choose(page: ComparePage, title: str, number: int = 1) -> None:
    for row, line in enumerate(_lines(page)):
        if line.row is not None and line.row.metric.title == title and line.number == number:
            page.table.selectRow(row)
            return
    raise AssertionError(title)


def test_without_runs_it_says_what_it_is_for_and_leads_to_the_library(qtbot: QtBot, page: ComparePage) -> None:
    assert page.empty.isVisible()
    assert page.empty.button is not None
    with qtbot.waitSignal(page.library_requested):
        qtbot.mouseClick(page.empty.button, Qt.MouseButton.LeftButton)
    assert page.export() is False


def test_two_runs_stand_under_their_metric_with_the_verdict_in_words(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    titles = ["disk random read · web-1", "I/Os per second, read", "", "Completion latency, p99, read"]
    assert _texts(page, METRIC)[:4] == titles
    row = page.table.content.texts()[3]
    assert row[1:] == ["B", "374.9k IOPS", "± 1.5k", "8", "0.91x", "0.905 to 0.915", MESSAGES["differs"]]
    assert _texts(page, VERDICT)[1] == "↑ higher is better"
    assert _texts(page, VERDICT)[3] == "↓ lower is better"
    assert _verdicts(page, "Events per second") == [ComparisonVerdict.AGREES]


def test_the_table_is_a_sound_model_whose_metrics_reach_over_their_runs(
    qtbot: QtBot, qtmodeltester: ModelTester, page: ComparePage
) -> None:
    _compare(qtbot, page, BEFORE, AFTER, AGAIN)
    qtmodeltester.check(page.table.content)
    assert page.table.rowSpan(1, METRIC) == 3
    assert page.table.columnSpan(0, METRIC) == INTERVAL
    assert page.table.content.index(0, 0).data(HEADING) == INTERVAL
    assert not page.table.content.flags(page.table.content.index(0, 0)) & Qt.ItemFlag.ItemIsSelectable


def test_only_what_leads_is_shown_until_everything_is_wanted(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    assert page.everything.text() == MESSAGES["show_all_metrics_3_more"]
    few = len(_lines(page))
    page.everything.trigger()
    assert len(_lines(page)) == few + 3 * 2
    assert "Bandwidth, read" in _texts(page, METRIC)


def test_the_chosen_line_is_explained_with_both_commands(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    _choose(page, "I/Os per second")
    side = page.explanation
    assert "differs, −9 %" in side.verdict.text()
    assert "A, baseline: 412.0k IOPS" in side.compared.text.text()
    assert "B: 374.9k IOPS" in side.compared.text.text()
    assert "beyond the margin" in side.why.text.text()
    assert "More sessions" in side.change.text.text()
    assert "kernel" in side.gate.lists[Weight.EXPLAINS].text()
    assert [view.text().split()[0] for view in side.commands] == ["fio", "fio"]


def test_a_metric_is_included_in_the_verdicts_and_left_out_again(
    qtbot: QtBot, page: ComparePage, workstation: Workstation
) -> None:
    # Too few trials to see that all metrics of these runs are one number.
    runs = [Made(f"20260201-10000{number}-few", STEADY[:2]) for number in range(2)]
    _compare(qtbot, page, *record(workstation, *runs))
    page.everything.setChecked(True)
    at = next(
        number for number, line in enumerate(_lines(page))
        if line.number and line.row is not None and line.against is not None and line.against.ground == DESCRIPTIVE
    )  # fmt: skip
    page.table.selectRow(at)
    page.tabs.setCurrentWidget(page.explanation)
    title = _lines(page)[at].row.metric.title  # type: ignore[union-attr]
    assert page.explanation.include_button.isVisible()
    page.table.setFocus()
    qtbot.keyClick(page.table, Qt.Key.Key_I, Qt.KeyboardModifier.ControlModifier)
    _settle(qtbot)
    assert ComparisonVerdict.NOT_TESTED not in _verdicts(page, title)
    assert page.include_action.text() == MESSAGES["withdraw"]
    qtbot.mouseClick(page.explanation.include_button, Qt.MouseButton.LeftButton)
    _settle(qtbot)
    assert set(_verdicts(page, title)) == {ComparisonVerdict.NOT_TESTED}


def test_a_wider_margin_changes_the_verdict(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    page.margin.value.setValue(20)
    qtbot.waitUntil(lambda: _verdicts(page, "I/Os per second") == [ComparisonVerdict.AGREES])
    assert _texts(page, VERDICT)[2] == MESSAGES["no_difference_larger_than_20"]
    with qtbot.waitSignal(page.export_requested) as asked:
        page.export()
    assert asked.args == [[BEFORE, AFTER], f"comparison-{BEFORE}", ComparisonCriteria(Margins(0.2))]


def test_another_run_can_be_the_baseline(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    page.chips.chips[1].baseline_action.trigger()
    _settle(qtbot)
    assert page.compared is not None
    assert [run.id for run in page.compared.comparison.runs] == [AFTER, BEFORE]
    assert _verdicts(page, "I/Os per second") == [ComparisonVerdict.DIFFERS]


def test_runs_are_added_from_the_library_and_taken_out(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    assert not page.chips.chips[1].remove_button.isEnabled()
    qtbot.mouseClick(page.add_button, Qt.MouseButton.LeftButton)
    _settle(qtbot)
    picker = next(found for found in page.findChildren(RunPicker) if found.isVisible())
    offered = {line.id for line in picker.table.lines.matched}
    assert not {BEFORE, AFTER} & offered
    qtbot.keyClicks(picker.search, "09:30")
    qtbot.keyClicks(picker.search, " volume")
    picker.search.clear()
    picker.table.select(AGAIN)
    qtbot.mouseClick(picker.add_button, Qt.MouseButton.LeftButton)
    _settle(qtbot)
    assert page.compared is not None
    assert [run.id for run in page.compared.comparison.runs] == [BEFORE, AFTER, AGAIN]
    page.chips.chips[1].setFocus()
    qtbot.keyClick(page.chips.chips[1], Qt.Key.Key_Delete)
    _settle(qtbot)
    assert [run.id for run in page.compared.comparison.runs] == [BEFORE, AGAIN]


def test_what_cannot_be_compared_stays_with_its_reason(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, BLOCKS)
    found = [line for line in _lines(page) if line.kind is LineKind.RUN]
    assert {line.against.verdict for line in found if line.against is not None} == {ComparisonVerdict.NOT_COMPARABLE}
    row = _lines(page).index(found[0])
    index = page.table.content.index(row, VERDICT)
    assert index.data() == "not comparable"
    assert MESSAGES["block_size_16_kib_against_4"] in page.verdict.text.text()
    assert page.conditions.text.text() == "1 difference"
    assert index.data(Qt.ItemDataRole.ForegroundRole) is not None
    assert _texts(page, VALUE)[row] == "412.0k IOPS"
    side = page.explanation
    assert MESSAGES["block_size_16_kib_against_4"] in side.gate.lists[Weight.FATAL].text()
    assert side.sentence.isHidden()  # the list has the reason
    assert side.why.isHidden()


def test_a_metric_that_only_another_run_has_is_shown_too(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BLOCKS, BEFORE)
    assert _verdicts(page, "Events per second") == [ComparisonVerdict.NOT_COMPARABLE]


def test_every_trial_is_a_dot_and_every_run_a_curve(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    assert page.plots is not None
    lanes = page.plots.dots._lanes
    assert [len(lane.dots) for lane in lanes] == [8, 8]
    page.plots.dots.copy_data()
    assert len(QGuiApplication.clipboard().text().splitlines()) == 17
    assert page.plots.dots.plot_description().startswith("A: ")
    plot = page.plots.overlay.plot
    assert plot is not None
    named = [line.title for line in plot.lines.values() if not line.faint]
    assert named == ["A", "B"]
    assert len(plot.lines) == 16


def test_dots_that_would_lie_on_each_other_stand_apart_and_tell_their_trial(
    qtbot: QtBot, page: ComparePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    assert page.plots is not None
    dots = page.plots.dots
    axis = dots._axis()
    assert axis is not None
    lanes = enumerate(dots._lanes)
    placed = [point for place, lane in lanes for _, point in dots._placed(axis, lane, dots._y(axis, place))]
    gaps = [(one - two).manhattanLength() for place, one in enumerate(placed) for two in placed[:place]]
    assert min(gaps) > 5
    reported: list[str] = []
    monkeypatch.setattr(QToolTip, "showText", lambda _place, text, _widget: reported.append(text))
    where = placed[0].toPoint()
    dots.event(QHelpEvent(QEvent.Type.ToolTip, where, dots.mapToGlobal(where)))
    assert "A, trial " in reported[0]
    assert dots.dot_at(QPointF(0, 0)) is None


def test_a_metric_without_samples_shows_those_of_the_metric_that_leads(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    _choose(page, "Completion latency, p99")
    _settle(qtbot)
    assert page.plots is not None
    assert page.plots.dots._metric is not None
    assert page.plots.dots._metric.title == "Completion latency, p99"
    assert page.plots.overlay.plot is not None
    assert page.plots.overlay.plot.title == "I/Os per second, read"


def test_the_table_is_copied_whole_as_text(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    page.table.setFocus()
    qtbot.keyClick(page.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    head, *rows = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    found = [dict(zip(head, row, strict=True)) for row in rows]
    assert len(found) == 12
    ours = next(row for row in found if row["run"] == "B" and row["metric"].startswith("I/Os"))
    assert (ours["median"], ours["unit"], ours["n"], ours["run id"]) == ("374920", "1/s", "8", AFTER)
    assert float(ours["ratio"]) == pytest.approx(0.91, abs=1e-3)
    assert float(ours["interval low"]) < 0.91 < float(ours["interval high"])
    assert ours["verdict"] == "differs between sessions"


def test_the_table_is_copied_as_a_picture(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER, BLOCKS)
    page.table.setFocus()
    keys = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(page.table, Qt.Key.Key_C, keys)
    image = QGuiApplication.clipboard().image()
    assert image.width() == 2400
    assert image.height() > 600


@pytest.mark.parametrize("width", [480, 760, 1400])
def test_it_fits_every_width(qtbot: QtBot, page: ComparePage, width: int) -> None:
    page.resize(width, 640)
    _compare(qtbot, page, BEFORE, AGAIN, AFTER, OTHER, BLOCKS)
    qtbot.waitUntil(lambda: bool(page.table.viewport().width() > 0))
    table = page.table
    shown = [column for column in range(8) if not table.isColumnHidden(column)]
    assert {METRIC, RUN, VALUE, N, RATIO, INTERVAL, VERDICT} <= set(shown)
    assert sum(table.columnWidth(column) for column in shown) <= table.viewport().width()
    assert page.width() == width


def test_a_run_that_is_gone_is_told(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, "20990101-000000-none")
    assert "20990101-000000-none" in page.notice.text()
    assert not page.table.isVisible()
    assert page.export() is False
    with qtbot.waitSignal(page.library_requested):
        qtbot.mouseClick(page.back_button, Qt.MouseButton.LeftButton)
    _compare(qtbot, page, BEFORE, AFTER)
    assert page.table.isVisible()
    assert not page.back_button.isVisible()
    assert not page.notice.isVisible()


def test_names_of_runs_and_hosts_are_shown_literally(qtbot: QtBot, page: ComparePage, workstation: Workstation) -> None:
    markup = "<img src=file:///etc/passwd>"
    runs = [Made(f"20260115-0{hour}0000-host", STEADY, name=markup, host=markup) for hour in (1, 2)]
    record(workstation, *runs)
    _compare(qtbot, page, *(run.run_id for run in runs))
    assert markup in _texts(page, METRIC)[0]
    assert markup in page.chips.chips[0].label.text()
    assert "<img" not in page.chips.chips[0].toolTip()
    tips = [page.table.content.index(0, column).data(Qt.ItemDataRole.ToolTipRole) for column in range(8)]
    assert not any("<img" in tip for tip in tips)


def test_what_is_compared_can_be_shown_in_the_library(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    with qtbot.waitSignal(page.show_run_requested) as asked:
        page.chips.chips[1].menu.actions()[1].trigger()
    assert asked.args == [AFTER]


# The gate


def _overrule(qtbot: QtBot, page: ComparePage, reason: str) -> OverruleQuestion:
    qtbot.mouseClick(page.explanation.gate.overrule_button, Qt.MouseButton.LeftButton)
    question = next(found for found in page.explanation.gate.findChildren(OverruleQuestion) if found.isVisible())
    qtbot.keyClicks(question.reason, reason)
    return question


def test_what_differs_is_listed_by_what_it_means(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    page.tabs.setCurrentWidget(page.explanation)
    gate = page.explanation.gate
    assert gate.isVisible()
    assert gate.lists[Weight.EXPLAINS].text().startswith(MESSAGES["may_explain_a_difference"])
    assert not gate.lists[Weight.FATAL].isVisible()
    assert not gate.overrule_button.isVisible()
    _compare(qtbot, page, BEFORE, BLOCKS)
    assert MESSAGES["block_size_16_kib_against_4"] in gate.lists[Weight.FATAL].text()
    assert gate.overrule_button.isVisible()


def test_the_gate_is_passed_with_a_reason_that_stands_everywhere_and_held_to_again(
    qtbot: QtBot, page: ComparePage
) -> None:
    _compare(qtbot, page, BEFORE, BLOCKS)
    question = _overrule(qtbot, page, "")
    assert not question.accept_button.isEnabled()
    qtbot.keyClicks(question.reason, "the block size is the question")
    qtbot.keyClick(question.reason, Qt.Key.Key_Return)
    _settle(qtbot)
    assert page.compared is not None
    assert page.compared.comparison.overruled == MESSAGES["the_block_size_is_the"]
    assert ComparisonVerdict.NOT_COMPARABLE not in _verdicts(page, "I/Os per second")
    gate = page.explanation.gate
    assert gate.overruled.text() == "Overruled: the block size is the question"
    assert MESSAGES["overruled_the_block_size_is"] in page.explanation.sentence.text()
    with qtbot.waitSignal(page.export_requested) as asked:
        page.export()
    assert asked.args[2].overruled == MESSAGES["the_block_size_is_the"]
    qtbot.mouseClick(gate.restore_button, Qt.MouseButton.LeftButton)
    _settle(qtbot)
    assert _verdicts(page, "I/Os per second") == [ComparisonVerdict.NOT_COMPARABLE]


def test_other_runs_have_a_gate_of_their_own(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, BLOCKS)
    question = _overrule(qtbot, page, "why not")
    question.accept_button.click()
    _settle(qtbot)
    _compare(qtbot, page, BLOCKS, BEFORE)
    assert page.compared is not None
    assert page.compared.comparison.overruled == ""


# Groups


def test_runs_stand_together_and_apart_again(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AGAIN, AFTER)
    assert not page.chips.chips[0].join_action.isEnabled()
    assert page.chips.chips[1].join_action.text() == "Join with A"
    page.chips.chips[1].join_action.trigger()
    _settle(qtbot)
    assert page.compared is not None
    assert [run.id for run in page.compared.comparison.runs] == [f"{BEFORE},{AGAIN}", AFTER]
    row = next(line.row for line in _lines(page) if line.row is not None)
    assert [side.n for side in row.sides if side is not None] == [16, 8]
    assert page.plots is not None
    assert [len(lane.dots) for lane in page.plots.dots._lanes] == [16, 8]
    assert page.chips.chips[0].join_action.text() == "Split group"
    page.chips.chips[0].join_action.trigger()
    _settle(qtbot)
    assert [run.id for run in page.compared.comparison.runs] == [BEFORE, AGAIN, AFTER]


def test_runs_without_counted_trials_have_one_sentence(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    assert page.compared is not None
    empty = [replace(run, trials=()) for run in page.compared.records]
    page._show(Compared(compare(empty), tuple(empty)))
    assert page.notice.isVisible()
    assert MESSAGES["nothing"] in page.notice.text()
    assert not page.explanation._inner.isVisible()
    assert not page.table.isVisible()
    assert not page.margin.isVisible()
    _compare(qtbot, page, BEFORE, AFTER)
    assert not page.notice.isVisible()
    assert page.table.isVisible()


def test_a_side_tells_on_which_level_it_spreads(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    _choose(page, "I/Os per second")
    reported = page.explanation.compared.text.text()
    assert "A: CoV " in reported
    assert MESSAGES["between_trials_8_trials"] in reported
    assert "within a trial (" in reported


def test_studies_are_tabs_and_say_what_they_need(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    offered = {page.tabs.tabText(index): page.tabs.isTabEnabled(index) for index in range(page.tabs.count())}
    assert offered == {
        "Plots": True, "Explanation": True, "Noise": True, "Scaling": False, "Heat map": True, "Rounds": False,
        "Burst": True, "Sample size": True, "Rank": True, "Profile": False,
    }  # fmt: skip
    assert "Needs a sweep" in page.tabs.tabToolTip(3)
    page.tabs.setCurrentIndex(2)
    _settle(qtbot)
    (noise, *_) = page.studies.panes
    assert isinstance(noise, StudyPane)
    assert noise.views
    page.tabs.setCurrentWidget(page.rank)
    qtbot.waitUntil(lambda: page.rank.ranking is not None)


def test_rows_are_grouped_and_the_largest_effect_comes_first(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    page.everything.setChecked(True)
    page.by_effect.setChecked(True)
    ratios = [line.against.ratio for line in _lines(page) if line.against is not None and line.against.ratio]
    effects = [abs(math.log(ratio)) for ratio in ratios]
    assert effects == sorted(effects, reverse=True)
    next(one for one in page.grouping.actions() if one.data() == Grouping.METRIC.value).trigger()
    headings = [line.heading for line in page.table.content.shown if line.heading]
    titles = {metric_text(line.row.metric, line.row.labels) for line in _lines(page) if line.row is not None}
    assert set(headings) == titles


def test_a_cell_leads_to_its_trials(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    with qtbot.waitSignal(page.trials_requested) as asked:
        qtbot.keyClick(page.table, Qt.Key.Key_Return)
    assert asked.args is not None
    assert asked.args[0] == AFTER


def test_differences_and_verdict_are_shown_with_the_table(qtbot: QtBot, page: ComparePage) -> None:
    _compare(qtbot, page, BEFORE, AFTER)
    assert "kernel" in page.conditions.text.text()
    assert page.conditions.isVisible()
    page.conditions.more.click()
    assert page.tabs.currentWidget() is page.explanation
    _choose(page, "I/Os per second")
    assert page.verdict.text.text() == page.explanation.sentence.text()


@pytest.mark.parametrize("larger", [1.0, 1.5])
def test_no_value_is_cut_beside_its_mark(qtbot: QtBot, larger: float) -> None:
    runs = tuple(judged(trust, [412_345.6 * value for value in BASE], trust) for trust in Trust)
    table = CompareTable()
    qtbot.addWidget(table)
    font = table.font()
    font.setPointSizeF(larger * font.pointSizeF())
    table.setFont(font)
    table.resize(1200, 400)
    table.show_lines(lines_of(Compared(compare(runs), runs), everything=True), 0.05)
    marks = [row for row in range(table.content.rowCount()) if table.content.index(row, VALUE).data(DECORATION)]
    assert len(marks) >= len(Trust) - 1
    for row in range(table.content.rowCount()):
        option = QStyleOptionViewItem()
        table.initViewItemOption(option)
        delegate, index = table.itemDelegate(), table.content.index(row, VALUE)
        assert delegate.sizeHint(option, index).width() <= table.columnWidth(VALUE)


def test_a_long_table_measures_few_cells_of_it(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = tuple(judged(f"run {number}", BASE, Trust.VALID) for number in range(60))
    table = CompareTable()
    qtbot.addWidget(table)
    lines = lines_of(Compared(compare(runs), runs), everything=True)
    assert len(lines) > MOST_MEASURED
    measured: list[int] = []
    original = RowDelegate.sizeHint

    def counted(self: RowDelegate, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        measured.append(index.row())
        return original(self, option, index)

    monkeypatch.setattr(RowDelegate, "sizeHint", counted)
    table.show_lines(lines, 0.05)
    assert 0 < len(measured) <= 5 * MOST_MEASURED


def test_chips_of_many_runs_are_counted(qtbot: QtBot) -> None:
    chips = RunChips()
    qtbot.addWidget(chips.area)  # which owns the chips
    run = RunSummary("one", "r.txt", "", ("elsewhere",), ("cpu",), State.DONE, "2026-01-12T08:00:00+00:00", None, 1)
    chips.show_runs([replace(run, id=f"run-{number}") for number in range(300)])
    assert len(chips.chips) == MOST_CHIPS
    assert [text.text() for text in chips.findChildren(Text)] == [f"and {300 - MOST_CHIPS} more"]


@pytest.mark.slow
def test_thirty_runs_are_compared_in_three_seconds(qtbot: QtBot, page: ComparePage, workstation: Workstation) -> None:
    """Of the CPU time of this process: others may keep the processors busy."""
    runs = [Made(f"202603{day:02d}-080000-many", STEADY) for day in range(1, 31)]
    record(workstation, *runs)
    began = time.process_time()
    _compare(qtbot, page, *(run.run_id for run in runs))
    assert len(page.chips.chips) == 30
    assert time.process_time() - began < 3

"""The parameters' rows are drawn from the suite alone: a suite nobody has heard of needs no widget edited."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox
from pytestqt.qtbot import QtBot

from suites import registry
from suites.base import Command, Context, Estimate, Suite
from suites.outputs import ParsedTrial
from suites.parameters import Choice, Parameter, Tuned, Type, Values
from suites.programs import Program
from suites.vocab import Resource, Sample
from tests.messages import messages
from tests.widgets.measure_stage import made_page, settle, type_into, with_tests
from widgets import jobs
from widgets.wizard.draft import place_of
from widgets.wizard.measure_page import MeasurePage
from widgets.wizard.parameter_row import ParameterRow

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("widgets-measure", "test_measure_parameters")


class _Parser:
    def feed(self, data: bytes, stream: str = "stdout") -> tuple[Sample, ...]:
        return ()

    def finish(self, exit_status: int | None = None) -> ParsedTrial:
        return ParsedTrial()


class Everything(Suite):
    """A suite with a parameter of every type."""

    id = "everything"
    title = "Everything & more"
    summary = "A made-up test."
    resource = Resource.NETWORK
    program = Program("dd", ("dd",))
    needs_peer = True
    parameters = (
        Parameter(name="count", title="Count", type=Type.INTEGER, default=1, minimum=1, maximum=9, help="C.", unit="x"),
        Parameter(name="rate", title="Rate", type=Type.NUMBER, default=0.5, minimum=0, help="R.", option="--rate"),
        Parameter(name="size", title="Size", type=Type.SIZE, default=4096, minimum=1, help="S.", option="--size"),
        Parameter(name="time", title="Time", type=Type.DURATION, default=30.0, minimum=1, help="T."),
        Parameter(
            name="mode",
            title="Mode",
            type=Type.CHOICE,
            default="a",
            choices=(Choice("a", "First"), Choice("b", "Second")),
            help="M.",
        ),
        Parameter(name="flag", title="Flag", type=Type.FLAG, default=False, help="F."),
        Parameter(
            name="note",
            title="Note",
            type=Type.TEXT,
            default="",
            help="Letters only.",
            pattern="[a-z]*",
            applies=lambda values: values["flag"] is True,
        ),
    )

    def tune(self, context: Context) -> Mapping[str, Tuned]:
        cpus = 0 if context.facts is None else 1
        return {"count": Tuned(7, "Seven is enough."), "size": Tuned(8192, "Two pages.")} if cpus else {}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        return (Command(("everything", *(f"--{name}={value}" for name, value in values.items()))),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        return Estimate(None, None, 0, None)

    def parser(self, values: Values) -> _Parser:
        return _Parser()


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MeasurePage]:
    monkeypatch.setattr(registry, "SUITES", (Everything(),))
    made = made_page(qtbot, tmp_path)
    with_tests(qtbot, made, "everything")
    made.forward()
    made.parameters.all.setChecked(True)
    yield made
    qtbot.waitUntil(lambda: not jobs.running())  # a check that comes later would look for the suite that has gone


def test_tab_goes_through_the_rows_to_the_command(qtbot: QtBot, page: MeasurePage) -> None:
    rows, command = page.parameters, page.parameters.command
    page.activateWindow()
    rows.defaults_button.setFocus()
    wanted = [row.editor.field for row in rows.rows if row.editor.field.isVisible() and row.editor.field.isEnabled()]
    for field in (*wanted, command.copy_button, command.edit):
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        reached = QApplication.focusWidget()
        assert reached is not None
        assert reached is field or field.isAncestorOf(reached), field


def test_every_type_has_a_field_and_its_value_arrives(qtbot: QtBot, page: MeasurePage) -> None:
    rows = page.parameters
    for name, text in (("count", "3"), ("rate", "2.25"), ("size", "1.5 GiB"), ("time", "2 min")):
        type_into(qtbot, rows.row(name), text)
    combo = rows.row("mode").editor.field
    assert isinstance(combo, QComboBox)
    combo.setFocus()
    qtbot.keyClick(combo, Qt.Key.Key_Down)
    box = rows.row("flag").editor.field
    assert isinstance(box, QCheckBox)
    qtbot.mouseClick(box, Qt.MouseButton.LeftButton, pos=box.rect().center() / 8)
    type_into(qtbot, rows.row("note"), "abc")
    settle(qtbot, page)
    expected = {"count": 3, "rate": 2.25, "size": 3 * 2**29, "time": 120.0, "mode": "b", "flag": True, "note": "abc"}
    assert page.draft.plan().steps[0].values == expected
    assert "--size=1610612736" in page.parameters.command.text()


def test_tuned_value_and_default_are_hints_and_a_key_away(qtbot: QtBot, page: MeasurePage) -> None:
    row = page.parameters.row("count")
    assert page.draft.steps[0].form.text("count") == "7"
    assert row.hint.text() == "tuned · default 1 x"
    type_into(qtbot, row, "3")
    assert row.hint.text() == "tuned 7 x · default 1 x"
    back = (row.editor.field, Qt.Key.Key_Backspace, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(*back)
    assert row.editor.field.property("text") == "7"
    qtbot.keyClick(*back)
    assert row.editor.field.property("text") == "1"
    assert page.parameters.row("rate").hint.text() == "default"


def test_the_main_parameters_are_first_and_a_filter_finds_the_others(qtbot: QtBot, page: MeasurePage) -> None:
    def shown() -> list[str]:
        return [row.parameter.name for row in page.parameters.rows if row.isVisible()]

    names = [parameter.name for parameter in Everything.parameters]
    assert page.parameters.all.text() == "All 7"
    assert shown() == names
    page.parameters.all.click()
    assert shown() == names[:6]
    qtbot.keyClick(page.parameters.rows[0].editor.field, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert page.parameters.filter.hasFocus()
    for text, found in (("letters", ["note"]), ("--SIZE", ["size"]), ("30 s", ["time"]), ("no such", [])):
        page.parameters.filter.setText(text)
        assert shown() == found


def test_a_row_is_one_tab_stop_of_fixed_height_and_arrows_lead_to_the_next(qtbot: QtBot, page: MeasurePage) -> None:
    rows = page.parameters.rows
    assert {row.height() for row in rows} == {rows[0].height()}
    rows[0].editor.field.setFocus()
    for row in rows[1:-1]:  # the last one is disabled
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        assert QApplication.focusWidget() is row.editor.field
    rows[1].editor.field.setFocus()
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Down)
    assert rows[2].editor.field.hasFocus()
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Up)
    assert rows[1].editor.field.hasFocus()


def test_the_row_of_one_host_is_told_by_the_host(qtbot: QtBot) -> None:
    device = next(one for one in registry.suite("fio").parameters if one.name == "device")
    short, long = (
        ParameterRow(place_of(device, host)) for host in ("web-1", "ubuntu@ec2-198-51-100-7.compute.example")
    )
    for row in (short, long):
        qtbot.addWidget(row)
    assert short.title.text() == "  on web-1"
    assert re.fullmatch(r"  on ubuntu@.*….*\.example", long.title.text())
    assert long.title.accessibleName() == long.parameter.title


def test_all_defaults_and_all_tuned_values(qtbot: QtBot, page: MeasurePage) -> None:
    qtbot.mouseClick(page.parameters.defaults_button, Qt.MouseButton.LeftButton)
    assert page.parameters.row("size").editor.field.property("text") == "4 KiB"
    qtbot.mouseClick(page.parameters.tuned_button, Qt.MouseButton.LeftButton)
    assert page.parameters.row("size").editor.field.property("text") == "8 KiB"


def test_a_value_is_written_out_when_its_field_is_left(qtbot: QtBot, page: MeasurePage) -> None:
    row = page.parameters.row("size")
    type_into(qtbot, row, "4096k")
    qtbot.keyClick(row.editor.field, Qt.Key.Key_Tab)
    assert row.editor.field.property("text") == "4 MiB"


def test_help_and_bounds_are_those_of_the_row_with_the_focus(page: MeasurePage) -> None:
    page.parameters.row("count").editor.setFocus()
    assert page.parameters.help.text() == MESSAGES["help_of_count"]
    page.parameters.row("rate").editor.setFocus()
    assert page.parameters.help.text() == "--rate: R. At least 0."


def test_what_has_no_effect_is_disabled_and_says_so(qtbot: QtBot, page: MeasurePage) -> None:
    row = page.parameters.row("note")
    assert not row.editor.isEnabled()
    assert row.hint.text() == MESSAGES["not_used_with_these"]
    box = page.parameters.row("flag").editor.field
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Space)
    assert row.editor.isEnabled()
    assert row.hint.text() == "default"


def test_a_whole_number_steps_with_the_arrow_keys_within_its_bounds(qtbot: QtBot, page: MeasurePage) -> None:
    row = page.parameters.row("count")
    row.editor.setFocus()
    for _ in range(4):
        qtbot.keyClick(row.editor.field, Qt.Key.Key_Up)
    assert page.draft.steps[0].form.text("count") == "9"
    qtbot.keyClick(row.editor.field, Qt.Key.Key_Down)
    assert page.draft.steps[0].form.text("count") == "8"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("count", "12"),
        ("rate", "fast"),
        pytest.param("size", "4 Q", marks=pytest.mark.slow),
        pytest.param("time", "soon", marks=pytest.mark.slow),
    ],
)
def test_what_is_not_accepted_is_marked_in_words_and_kept(
    qtbot: QtBot, page: MeasurePage, name: str, text: str
) -> None:
    row = page.parameters.row(name)
    type_into(qtbot, row, text)
    assert f"{text}' is not accepted" in row.hint.text()
    assert row.editor.field.accessibleDescription()
    qtbot.keyClick(row.editor.field, Qt.Key.Key_Tab)
    assert row.editor.field.property("text") == text
    assert f"--{name}={text} " not in page.parameters.command.text()


def test_the_wheel_scrolls_past_a_list_without_turning_it(page: MeasurePage) -> None:
    from PySide6.QtCore import QPoint, QPointF
    from PySide6.QtGui import QWheelEvent

    combo = page.parameters.row("mode").editor.field
    assert isinstance(combo, QComboBox)
    page.parameters.row("count").editor.setFocus()
    middle = QPointF(combo.rect().center())
    turned = QWheelEvent(
        middle, middle, QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    combo.wheelEvent(turned)
    assert combo.currentIndex() == 0


def test_a_network_suite_asks_for_the_other_end(page: MeasurePage) -> None:
    page.back()
    line = page.plan_step.tests.lines[0]
    assert line.peer.currentText() == "This computer"


def test_what_cannot_be_known_is_said_on_the_review(qtbot: QtBot, page: MeasurePage) -> None:
    settle(qtbot, page)
    page.forward()
    assert "Total: unknown" in page.review.totals.text()
    assert "network: unknown" in page.review.totals.text()

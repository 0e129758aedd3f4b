"""The parameters' rows are drawn from the suite alone: a suite nobody has heard of needs no widget edited."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QComboBox
from pytestqt.qtbot import QtBot

from suites import registry
from suites.base import Command, Context, Estimate, ParsedTrial, Suite
from suites.parameters import Choice, Parameter, Tuned, Type, Values
from suites.programs import Program
from suites.vocab import Resource, Sample
from tests.messages import messages
from tests.widgets.measure_stage import made_page, settle, type_into, with_tests
from widgets.wizard.measure_page import MeasurePage

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
def page(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MeasurePage:
    monkeypatch.setattr(registry, "SUITES", (Everything(),))
    made = made_page(qtbot, tmp_path)
    with_tests(qtbot, made, "everything")
    made.forward()
    return made


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
    assert "--size=1610612736" in page.panel.command.text()


def test_default_and_tuned_value_are_had_with_one_click(qtbot: QtBot, page: MeasurePage) -> None:
    row = page.parameters.row("count")
    assert page.draft.steps[0].form.text("count") == "7"
    assert row.tuned_chip.text() == "✓ tuned 7 x"
    assert row.why.text() == "Seven is enough."
    qtbot.mouseClick(row.default_chip, Qt.MouseButton.LeftButton)
    assert page.draft.steps[0].form.text("count") == "1"
    qtbot.waitUntil(lambda: row.default_chip.text() == "✓ default 1 x")
    qtbot.mouseClick(row.tuned_chip, Qt.MouseButton.LeftButton)
    assert row.editor.field.property("text") == "7"
    assert page.parameters.row("rate").tuned_chip.isHidden()


def test_all_defaults_and_all_tuned_values(qtbot: QtBot, page: MeasurePage) -> None:
    qtbot.mouseClick(page.parameters.defaults_button, Qt.MouseButton.LeftButton)
    assert page.parameters.row("size").editor.field.property("text") == "4 KiB"
    qtbot.mouseClick(page.parameters.tuned_button, Qt.MouseButton.LeftButton)
    assert page.parameters.row("size").editor.field.property("text") == "8 KiB"


def test_a_reading_is_shown_while_typing_and_written_out_on_leaving(qtbot: QtBot, page: MeasurePage) -> None:
    row = page.parameters.row("size")
    type_into(qtbot, row, "4096k")
    assert row.message.text().startswith("= 4 MiB")
    qtbot.keyClick(row.editor.field, Qt.Key.Key_Tab)
    assert row.editor.field.property("text") == "4 MiB"


def test_help_and_bounds_stand_under_the_field_that_has_the_focus(page: MeasurePage) -> None:
    row = page.parameters.row("count")
    row.editor.setFocus()
    assert row.message.text() == "C. 1 to 9."
    page.parameters.row("rate").editor.setFocus()
    assert row.message.isHidden()


def test_what_has_no_effect_is_disabled_and_says_so(qtbot: QtBot, page: MeasurePage) -> None:
    row = page.parameters.row("note")
    assert not row.editor.isEnabled()
    assert row.message.text() == MESSAGES["not_used_with_these"]
    box = page.parameters.row("flag").editor.field
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Space)
    assert row.editor.isEnabled()
    assert row.message.isHidden()


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
    assert f"{text}' is not accepted" in row.message.text()
    assert row.editor.field.accessibleDescription()
    qtbot.keyClick(row.editor.field, Qt.Key.Key_Tab)
    assert row.editor.field.property("text") == text
    assert page.panel.command.text() == ""


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
    line = page.tests.cards["everything"].lines[0]
    assert line.peer.currentText() == "This computer"


def test_what_cannot_be_known_is_said_on_the_review(qtbot: QtBot, page: MeasurePage) -> None:
    settle(qtbot, page)
    page.forward()
    page.forward()
    assert "Total: unknown" in page.review.totals.text()
    assert "network: unknown" in page.review.totals.text()


def test_the_name_of_a_step_has_the_room_beside_the_buttons(page: MeasurePage) -> None:
    page.resize(700, 600)
    page.show()
    head = page.parameters.name_field
    head.setText("primes up to twenty")
    assert head.width() == min(240, head.maximumWidth())

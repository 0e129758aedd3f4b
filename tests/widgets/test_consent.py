"""The question before a plan of somebody else's runs, in the window: read to its end, and asked only where it must."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.plans.plan_file import write_plan
from app.questions import ConsentItem, ConsentQuestion
from app.services import Workstation
from tests.widgets.measure_stage import settle
from widgets import jobs
from widgets.jobs import BackgroundJob
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.parts.text import JOINER
from widgets.question_dialogs import ConsentDialog
from widgets.questions import WindowAsker
from widgets.wizard.measure_page import REVIEW, MeasurePage

pytestmark = pytest.mark.usefixtures("few_programs")

SHORT = ConsentQuestion(
    "nightly build",
    (
        ConsentItem("Executes on this computer", "build: Command", "make -j8 && ./bench"),
        ConsentItem("Changes web-1", "CPU governor", "echo performance | tee governor"),
    ),
)


def dialog_of(qtbot: QtBot, question: ConsentQuestion) -> ConsentDialog:
    made = ConsentDialog(question)
    qtbot.addWidget(made)
    with qtbot.waitExposed(made):
        made.open()
    return made


def test_all_of_it_is_shown_and_enter_declines(qtbot: QtBot) -> None:
    dialog = dialog_of(qtbot, SHORT)
    shown_text = dialog.list.toPlainText()
    for item in SHORT.items:
        assert item.action in shown_text
        assert item.text in shown_text
    qtbot.waitUntil(dialog.accept_button.isEnabled)
    assert dialog.message.label.text() == ""
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    assert dialog.result() == ConsentDialog.DialogCode.Rejected


def test_only_who_has_scrolled_to_the_end_can_agree(qtbot: QtBot) -> None:
    hidden = f"echo {'x' * 20_000}; rm -rf ~"
    dialog = dialog_of(qtbot, ConsentQuestion("long", (ConsentItem("Executes on web-1", "Command", hidden),)))
    qtbot.waitUntil(lambda: "Scroll to the end" in dialog.message.label.text())
    assert not dialog.accept_button.isEnabled()
    assert dialog.list.horizontalScrollBar().maximum() == 0  # nothing is beyond the edge
    bar = dialog.list.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    assert not dialog.accept_button.isEnabled()
    bar.setValue(bar.maximum())
    assert dialog.accept_button.isEnabled()
    assert dialog.list.toPlainText().endswith("; rm -rf ~")
    bar.setValue(0)
    assert dialog.accept_button.isEnabled()


def test_no_line_ends_within_an_option_and_what_is_copied_is_the_command(qtbot: QtBot) -> None:
    command = " ".join(f"--{'a' * length}-b" for length in range(1, 40))
    dialog = dialog_of(qtbot, ConsentQuestion("build", (ConsentItem("Executes on web-1", "Command", command),)))
    block = dialog.list.document().lastBlock()
    layout, text = block.layout(), block.text()
    lines = [layout.lineAt(index) for index in range(layout.lineCount())]
    assert len(lines) > 3
    assert not [shown for line in lines if (shown := text[: line.textStart()]).rstrip(JOINER).endswith("-")]
    dialog.list.selectAll()
    assert command in dialog.list.createMimeDataFromSelection().text()
    assert command in dialog.list.toPlainText()


def test_markup_in_a_command_is_text(qtbot: QtBot) -> None:
    text = "<b>echo</b> <img src='x'> &amp;"
    dialog = dialog_of(qtbot, ConsentQuestion("p", (ConsentItem("Executes on web-1", "<i>step</i>", text),)))
    assert text in dialog.list.toPlainText()
    assert "<i>step</i>" in dialog.list.toPlainText()


@pytest.mark.parametrize("agrees", [True, False])
def test_the_answer_goes_to_the_run_that_asked(qtbot: QtBot, *, agrees: bool) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    asker = WindowAsker(window)
    answers: list[object] = []
    job = BackgroundJob(lambda: asker.consent(SHORT))
    job.returned.connect(answers.append)
    with qtbot.waitSignal(asker.asked) as opened:
        job.start()
    dialog = opened.args[0]
    assert isinstance(dialog, ConsentDialog)
    qtbot.waitUntil(dialog.accept_button.isEnabled)
    qtbot.mouseClick(dialog.accept_button if agrees else dialog.decline_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(answers))
    assert answers == [agrees]
    asker.close()


# From the plan to the run


@pytest.fixture
def window(qtbot: QtBot, workstation: Workstation, keep: Callable[[MainWindow], MainWindow]) -> Iterator[MainWindow]:
    made = keep(MainWindow(workstation))
    with qtbot.waitExposed(made):
        made.show()
    qtbot.waitUntil(lambda: not jobs.running())
    yield made
    made.close()
    qtbot.waitUntil(lambda: not jobs.running())


def measure_page(window: MainWindow) -> MeasurePage:
    page = window.show_page(PageName.MEASURE)
    assert isinstance(page, MeasurePage)
    return page


def marking(folder: Path, name: str = "marker") -> Plan:
    step = make_step("command", {"command": f"touch {folder}/{name}"})
    return Plan("strange", (LOCAL,), (step,), repetition=Repetition(trials=1))


def opened(qtbot: QtBot, window: MainWindow, path: Path) -> MeasurePage:
    page = measure_page(window)
    settle(qtbot, page)
    page.open_from(path)
    qtbot.waitUntil(lambda: page.current == REVIEW and bool(page.draft.steps))
    settle(qtbot, page)
    return page


def start(qtbot: QtBot, page: MeasurePage) -> None:
    qtbot.waitUntil(page.footer.next.isEnabled)
    qtbot.mouseClick(page.footer.next, Qt.MouseButton.LeftButton)


def ended(qtbot: QtBot, window: MainWindow) -> None:
    live = window.pages.live
    assert live is not None
    qtbot.waitUntil(lambda: not live.running)


@pytest.mark.lab
def test_a_plan_from_a_file_asks_when_it_is_started_and_a_no_runs_nothing(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    write_plan(marking(tmp_path), tmp_path / "plan.toml")
    page = opened(qtbot, window, tmp_path / "plan.toml")
    page.draft.name = "renamed here"
    with qtbot.waitSignal(window.asker.asked) as asked:
        start(qtbot, page)
    dialog = asked.args[0]
    assert isinstance(dialog, ConsentDialog)
    assert f"touch {tmp_path}/marker" in dialog.list.toPlainText()
    dialog.reject()
    ended(qtbot, window)
    assert not (tmp_path / "marker").exists()
    assert window.workstation.runs() == []

    with qtbot.waitSignal(window.asker.asked) as asked:
        start(qtbot, measure_page(window))
    dialog = asked.args[0]
    qtbot.waitUntil(dialog.accept_button.isEnabled)
    qtbot.mouseClick(dialog.accept_button, Qt.MouseButton.LeftButton)
    ended(qtbot, window)
    assert (tmp_path / "marker").exists()

    with qtbot.assertNotEmitted(window.asker.asked):
        start(qtbot, measure_page(window))
        ended(qtbot, window)
    assert len(window.workstation.runs()) == 2


@pytest.mark.lab
@pytest.mark.slow
def test_a_plan_made_in_the_window_does_not_ask(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    page = measure_page(window)
    page.begin([LOCAL])
    settle(qtbot, page)
    step = page.plan_step.tests.add("command")
    step.form.set_text("command", f"touch {tmp_path}/marker")
    page.draft.repetition.set_text("trials", "1")
    page.plan_step.changed.emit()
    settle(qtbot, page)
    page.go(REVIEW)
    page.save_to(tmp_path / "mine.toml")
    settle(qtbot, page)
    with qtbot.assertNotEmitted(window.asker.asked):
        start(qtbot, page)
        ended(qtbot, window)
    assert (tmp_path / "marker").exists()
    with qtbot.assertNotEmitted(window.asker.asked):
        start(qtbot, opened(qtbot, window, tmp_path / "mine.toml"))
        ended(qtbot, window)


@pytest.mark.lab
def test_a_run_of_somebody_elses_library_asks_when_it_is_run_again(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    """What a library holds is a plan like any other: the page is given it, and knows nothing of who ran it."""
    window.pages.open_plan(marking(tmp_path))
    page = measure_page(window)
    settle(qtbot, page)
    with qtbot.waitSignal(window.asker.asked) as asked:
        start(qtbot, page)
    asked.args[0].reject()
    ended(qtbot, window)
    assert not (tmp_path / "marker").exists()


@pytest.mark.lab
def test_saving_a_strangers_plan_anew_agrees_to_nothing(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    write_plan(marking(tmp_path), tmp_path / "plan.toml")
    page = opened(qtbot, window, tmp_path / "plan.toml")
    page.save_to(tmp_path / "copy.toml")
    settle(qtbot, page)
    page = opened(qtbot, window, tmp_path / "copy.toml")
    with qtbot.waitSignal(window.asker.asked) as asked:
        start(qtbot, page)
    asked.args[0].reject()
    ended(qtbot, window)
    assert not (tmp_path / "marker").exists()

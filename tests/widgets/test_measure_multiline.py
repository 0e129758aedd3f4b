"""A parameter of several lines in the wizard: typed or taken from a file; and steps copied as job files."""

from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from tests.widgets.measure_stage import made_page, settle, with_tests
from widgets.wizard.measure_page import PARAMETERS, REVIEW, MeasurePage
from widgets.wizard.multiline_editor import LinesEditor

pytestmark = pytest.mark.usefixtures("few_programs")

TEXT = "[one]\nrw=randread\nsize=1m\n"


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path) -> MeasurePage:
    made = made_page(qtbot, tmp_path)
    with_tests(qtbot, made, "fio-job", "sysbench-cpu")
    return made


def editor(page: MeasurePage) -> LinesEditor:
    names = [step.suite.id for step in page.draft.steps]
    page.go(PARAMETERS)
    page.parameters.tabs.setCurrentIndex(names.index("fio-job"))
    found = page.parameters.row("job").editor
    assert isinstance(found, LinesEditor)
    return found


def test_a_file_is_imported_and_its_text_belongs_to_the_plan(qtbot: QtBot, page: MeasurePage, tmp_path: Path) -> None:
    path = tmp_path / "mine.fio"
    path.write_text(TEXT)
    field = editor(page)
    field.import_from(path)
    settle(qtbot, page)
    assert field.text.toPlainText() == TEXT
    (step,) = (step for step in page.draft.steps if step.suite.id == "fio-job")
    assert step.form.values()["job"] == TEXT
    assert "mine.fio" in field._status.text()


def test_what_cannot_be_read_is_said_beside_the_button(qtbot: QtBot, page: MeasurePage, tmp_path: Path) -> None:
    field = editor(page)
    field.import_from(tmp_path / "nothing")
    settle(qtbot, page)
    assert "cannot be read" in field._status.text()
    assert field.text.toPlainText() == ""


def test_a_step_is_copied_as_the_job_file_it_would_be(qtbot: QtBot, page: MeasurePage) -> None:
    editor(page).text.setPlainText(TEXT)
    settle(qtbot, page)
    page.go(REVIEW)
    settle(qtbot, page)
    names = [step.suite.id for step in page.draft.steps]
    page.review.table.selectRow(names.index("fio-job"))
    assert not page.review.job_file_button.isHidden()
    page.review.job_file_button.click()
    assert QGuiApplication.clipboard().text() == TEXT
    page.review.table.selectRow(names.index("sysbench-cpu"))
    assert page.review.job_file_button.isHidden()

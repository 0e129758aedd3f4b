"""What the wizard's tests share: a page on a real workstation, and a way to wait until nothing is under way."""

from pathlib import Path

from pytestqt.qtbot import QtBot

from app.plans.plan import LOCAL
from app.questions import RefusingAsker
from app.services import Workstation
from widgets import jobs
from widgets.wizard.measure_page import MeasurePage
from widgets.wizard.parameter_row import ParameterRow

PATIENCE = 20_000
"""Milliseconds a probe of this computer may take on a busy machine."""


def made_page(qtbot: QtBot, folder: Path) -> MeasurePage:
    """Return a shown page on a workstation of its own."""
    page = MeasurePage(Workstation(folder / "runs.sqlite3", folder / "hosts.toml"), RefusingAsker())
    qtbot.addWidget(page)
    page.resize(1000, 760)
    with qtbot.waitExposed(page):
        page.show()
    page.activateWindow()
    page.activated()
    settle(qtbot, page)
    return page


def settle(qtbot: QtBot, page: MeasurePage) -> None:
    """Wait until no job is under way and the plan, where there is one, has been assessed."""
    qtbot.waitUntil(lambda: not jobs.running() and not page.assessor.busy and not page.reader.waiting, timeout=PATIENCE)


def with_tests(qtbot: QtBot, page: MeasurePage, *suites: str) -> None:
    """Plan `suites` on this computer, with its facts read, on the first page."""
    page.begin([LOCAL])
    settle(qtbot, page)
    for suite in suites:
        page.plan_step.tests.add(suite)
    settle(qtbot, page)


def type_into(qtbot: QtBot, row: ParameterRow, text: str) -> None:
    """Replace what is written in the field of `row`, key by key."""
    row.editor.field.setFocus()
    row.editor.field.selectAll()  # type: ignore[attr-defined]  # every row typed into has a line
    qtbot.keyClicks(row.editor.field, text)

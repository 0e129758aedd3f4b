"""The whole way through the window: add a host, trust its key, plan, run, pin, run again, compare, export.

Real sshd, real sysbench, the real window; every step by the button or key that a user presses.
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QAbstractButton, QWidget
from pytestqt.qtbot import QtBot

from app.plans.plan import Plan
from app.services import Workstation
from tests.lab_sshd import LabHost
from tests.processes import processes_with
from tests.widgets.measure_stage import type_into
from widgets import jobs
from widgets.compare.compare_page import ComparePage
from widgets.export_dialog import ExportDialog
from widgets.hosts.add_host_dialog import AddHostDialog
from widgets.hosts.hosts_page import HostsPage
from widgets.library.library_page import LibraryPage
from widgets.live.live_page import LivePage
from widgets.live.model import RunModel, TrialView
from widgets.live.run_bars import OutcomeBar
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.plots.time_plot import TimePlot
from widgets.question_dialogs import HostKeyDialog
from widgets.wizard.measure_page import PARAMETERS, REVIEW, MeasurePage

PATIENCE = 30_000
SECONDS = 4

P = TypeVar("P", bound=QWidget)


class Walk:
    """One walk through the window; each method is a step of it."""

    def __init__(self, qtbot: QtBot, window: MainWindow, host: LabHost, folder: Path) -> None:
        self.qtbot, self.window, self.host, self.folder = qtbot, window, host, folder

    def front(self, kind: type[P]) -> P:
        """Return the page in front."""
        page = self.window.front
        assert isinstance(page, kind)
        return page

    def press(self, button: QAbstractButton) -> None:
        """Click a button that can be seen and used."""
        assert button.isVisible()
        assert button.isEnabled()
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    def settle(self) -> None:
        """Wait until nothing is under way."""
        self.qtbot.waitUntil(lambda: not jobs.running(), timeout=PATIENCE)

    def add_host(self) -> None:
        """Type the host in, save it, compare its key with the one known from elsewhere, and accept it."""
        page = self.front(HostsPage)
        self.press(page.add_button)
        dialog = page.findChild(AddHostDialog)
        assert dialog is not None
        texts = {
            "name": "lab", "host_name": "127.0.0.1", "port": str(self.host.port), "user": self.host.user,
            "identity_file": str(self.host.keys.client),
        }  # fmt: skip
        for field, text in texts.items():
            self.qtbot.keyClicks(dialog.fields[field].edit, text)
        with self.qtbot.waitSignal(self.window.asker.asked, timeout=PATIENCE) as asked:
            self.press(dialog.save_button)
        question = asked.args[0]
        assert isinstance(question, HostKeyDialog)
        question.expected.setText(self.host.fingerprint)
        self.press(question.accept_button)
        self.settle()
        assert page.facts_view.facts is not None
        assert page.facts_view.facts.host == "lab"

    def plan(self) -> MeasurePage:
        """Walk the wizard: the host is chosen already; one test, its time, one trial."""
        self.press(self.front(HostsPage).card.new_test_button)
        page = self.front(MeasurePage)
        self._ready(page)
        page.plan_step.tests.field.setFocus()
        self.qtbot.keyClicks(page.plan_step.tests.field, "sysbench cpu")
        self.qtbot.keyClick(page.plan_step.tests.field, Qt.Key.Key_Return)
        self._ready(page)
        self.press(page.footer.next)
        assert page.current == PARAMETERS
        type_into(self.qtbot, page.parameters.row("time"), str(SECONDS))
        self._ready(page)
        assert page.assessment is not None
        assert "short-runtime" in {finding.id for finding in page.assessment.findings}
        self.press(page.footer.next)
        assert page.current == REVIEW
        assert page.draft.hosts == ["lab"]
        trials = page.review.repetition.fields["trials"].editor.field
        trials.setFocus()
        self.qtbot.keyClick(trials, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        self.qtbot.keyClicks(trials, "1")
        self._ready(page)
        return page

    def _ready(self, page: MeasurePage) -> None:
        self.qtbot.waitUntil(
            lambda: not jobs.running() and not page.assessor.busy and not page.reader.waiting, timeout=PATIENCE
        )

    def watch(self, live: LivePage) -> TrialView:
        """Wait for the first samples, see that the tool still runs on the host, then wait for the end."""
        self.qtbot.waitUntil(lambda: bool(self._samples(live)), timeout=PATIENCE)
        assert processes_with("sysbench\0cpu", "cmdline")
        assert live.running
        assert self.window.status_line.stop_button.isVisible()
        (view,) = _model(live).trials.values()
        assert view.ended is None
        self.qtbot.waitUntil(lambda: not live.running, timeout=PATIENCE)
        self.settle()
        return view

    def _samples(self, live: LivePage) -> int:
        return sum(len(line.buffer) for line in _leading(live).lines.values())

    def pin(self, live: LivePage, name: str) -> None:
        """Pin the run that has ended as a baseline."""
        bar = _outcome(live)
        self.press(bar.pin_button)
        bar.name.selectAll()
        self.qtbot.keyClicks(bar.name, name)
        self.qtbot.keyClick(bar.name, Qt.Key.Key_Return)
        self.settle()
        assert name in bar.detail.text()

    def export(self) -> list[Path]:
        """Export what the page in front shows, by key, and return the files."""
        self.window.export()
        dialog = self.window.findChild(ExportDialog)
        assert dialog is not None
        dialog.path.setText(str(self.folder / "report"))
        self.press(dialog.export_button)
        self.settle()
        assert dialog.outcome.isVisible()
        dialog.reject()
        return sorted(self.folder.glob("report*"))


def _model(live: LivePage) -> RunModel:
    assert live.model is not None
    return live.model


def _outcome(live: LivePage) -> OutcomeBar:
    bar = live.findChild(OutcomeBar)
    assert bar is not None
    return bar


def _leading(live: LivePage) -> TimePlot:
    """Return the plot on top: the test's own figure."""
    assert live.view is not None
    return next(iter(live.view.plots.plots.values()))


@pytest.fixture
def walk(qtbot: QtBot, lab_host: LabHost, tmp_path: Path) -> Iterator[Walk]:
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    window = MainWindow(workstation)
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    made = Walk(qtbot, window, lab_host, tmp_path)
    made.settle()
    yield made
    window.close()
    made.settle()
    workstation.close()


@pytest.mark.slow
def test_from_the_first_host_to_the_report(qtbot: QtBot, walk: Walk) -> None:
    walk.add_host()
    measure = walk.plan()
    with qtbot.waitSignal(measure.run_requested, timeout=PATIENCE) as asked:
        walk.press(measure.footer.next)
    assert isinstance(asked.args[0], Plan)
    live = walk.front(LivePage)
    first = walk.watch(live)
    assert first.ended is not None
    assert first.ended.state == "done"
    assert first.series
    walk.pin(live, "before")

    walk.press(_outcome(live).rerun_button)
    qtbot.waitUntil(lambda: bool(_leading(live).bands()), timeout=PATIENCE)
    walk.watch(live)
    assert live.view is not None
    assert "before" in live.view.bar.ratio.note.text()
    assert re.match(r"\d+\.\d+x", live.view.bar.ratio.value.text())
    one, two = sorted(run.id for run in walk.window.workstation.runs())

    walk.press(_outcome(live).show_button)
    walk.settle()
    library = walk.front(LibraryPage)
    assert [row.id for row in library.table.runs()] == [two]
    assert {row.summary.baseline for row in library.library.rows} == {"before", None}
    library.table.select(one, two)
    library.actions_of_runs.compare.trigger()
    walk.settle()
    compare = walk.front(ComparePage)
    assert compare.compared is not None
    assert [run.id for run in compare.compared.comparison.runs] == [one, two]
    assert any(line.against is not None and line.against.ratio for line in compare.table.content.shown)

    files = walk.export()
    assert [path.name for path in files] == ["report-samples.csv", "report.csv", "report.png"]
    _check_report(files, {one, two})


def _check_report(files: list[Path], runs: set[str]) -> None:
    samples, summary, picture = files
    for path in (samples, summary):
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert {row["run"] for row in rows} == runs
        assert all(row["unit"] for row in rows)
    assert QImage(str(picture)).width() >= 1200


def test_every_room_opens_on_an_empty_library(walk: Walk) -> None:
    for room in PageName:
        assert walk.window.show_page(room) is not None
        walk.settle()

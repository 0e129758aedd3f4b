"""The window follows what another process writes to the library, and leaves the table as its user has arranged it."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app.hosts.hosts import ConnectReport, HostEntry, SavedHosts
from app.library_digest import ALL, BIN
from app.questions import ConnectOutcome
from app.services import Workstation
from app.store.library_version import LibraryVersion
from tests.program import DONE, benchwright
from tests.widgets.library_runs import Made, record
from widgets import jobs, library_digests
from widgets.compare.compare_page import ComparePage
from widgets.hosts.hosts_page import HostsPage
from widgets.library.library_page import LibraryPage
from widgets.library.run_columns import GroupLine
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.sidebar.items import SideKind
from widgets.wizard.measure_page import MeasurePage

pytestmark = pytest.mark.usefixtures("few_programs")

Keep = Callable[[QWidget], QWidget]

FIRST = Made("20260101-000000-0000", iops=(1000.0, 1010.0), samples=2)
RUNS = [replace(FIRST, run_id=f"202601{day:02}-000000-00{day:02}", host=f"web-{day}") for day in range(1, 29)]
FIRST_RUN, LAST, MIDDLE, NEXT = (RUNS[at].run_id for at in (0, -1, 9, 8))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library with all runs, for each test to copy."""
    path: Path = tmp_path_factory.mktemp("library") / "runs.sqlite3"
    with closing(Workstation(path, path.with_name("hosts.toml"))) as made:
        record(made, *RUNS)
    return path


@pytest.fixture
def workstation(library: Path, tmp_path: Path) -> Iterator[Workstation]:
    shutil.copyfile(library, tmp_path / library.name)
    with closing(Workstation(tmp_path / library.name, tmp_path / "hosts.toml")) as made:
        yield made


@pytest.fixture
def window(qtbot: QtBot, keep: Keep, workstation: Workstation, monkeypatch: pytest.MonkeyPatch) -> Iterator[MainWindow]:
    monkeypatch.setattr(library_digests, "INTERVAL", 0.05)
    made = MainWindow(workstation)
    keep(made)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(lambda: not jobs.running())
    yield made
    made.close()
    qtbot.waitUntil(lambda: not jobs.running())


@pytest.fixture
def page(qtbot: QtBot, window: MainWindow) -> LibraryPage:
    found = window.show_page(PageName.LIBRARY)
    assert isinstance(found, LibraryPage)
    qtbot.waitUntil(lambda: found.table.run is not None)
    return found


def elsewhere(window: MainWindow, *words: str) -> None:
    """Run the command line on the library of the window, in a process of its own."""
    assert benchwright("--store", window.workstation.library_path, *words).status == DONE


def counts(window: MainWindow) -> dict[str, str]:
    """Return the numbers beside the filters in the sidebar."""
    every = (item for section in window.sidebar.state.sections() for item in section.items)
    return {item.key: item.detail for item in every if item.kind is SideKind.FILTER}


def listed(page: LibraryPage) -> list[str]:
    return [row.id for row in page.table.lines.matched]


def at_the_top(page: LibraryPage) -> str:
    line = page.table.lines.shown[page.table.rowAt(0)]
    return "" if isinstance(line, GroupLine) else line.id


@pytest.mark.slow
def test_tags_and_deletions_of_another_process_are_shown_in_place(
    qtbot: QtBot, window: MainWindow, page: LibraryPage
) -> None:
    table = page.table
    table.sortByColumn(table.lines.names.index("host"), Qt.SortOrder.AscendingOrder)
    table.select(MIDDLE, NEXT)
    table.verticalScrollBar().setValue(100)
    top = at_the_top(page)
    chosen = {row.id for row in table.runs()}
    elsewhere(window, "annotate", MIDDLE, "--tag", "cold")
    qtbot.waitUntil(lambda: table.run is not None and table.run.annotation.tags == ("cold",))
    elsewhere(window, "delete", RUNS[0].run_id)  # the first row: those below move up, and the view with them
    qtbot.waitUntil(lambda: RUNS[0].run_id not in listed(page))
    assert at_the_top(page) == top
    assert {row.id for row in table.runs()} == chosen
    assert listed(page) == [made.run_id for made in RUNS[1:]]  # web-2 before web-10
    qtbot.waitUntil(lambda: counts(window).get(BIN) == "1")
    assert counts(window)[ALL] == str(len(RUNS) - 1)


@pytest.mark.slow
def test_compare_follows_names_and_deletions_of_another_process(qtbot: QtBot, window: MainWindow) -> None:
    page = window.show_page(PageName.COMPARE)
    assert isinstance(page, ComparePage)
    page.compare([FIRST_RUN, NEXT, MIDDLE])
    qtbot.waitUntil(lambda: page.compared is not None and not jobs.running())
    elsewhere(window, "annotate", MIDDLE, "--name", "with the new kernel")
    qtbot.waitUntil(lambda: "with the new kernel" in page.chips.chips[2].label.text())
    elsewhere(window, "delete", FIRST_RUN, "--for-good", "--yes")
    qtbot.waitUntil(lambda: len(page.chips.chips) == 2)
    assert FIRST_RUN in page.notice.text()
    assert f"The baseline is {NEXT} now." in page.notice.text()


@pytest.mark.slow
def test_a_run_of_another_process_comes_after_the_edit_in_place(
    qtbot: QtBot, window: MainWindow, page: LibraryPage
) -> None:
    page.table.select(LAST)
    page.table.edit_cell()
    editor = page.table.viewport().findChild(QLineEdit)
    assert editor is not None
    qtbot.keyClicks(editor, "kept")
    new = replace(FIRST, run_id="20260201-000000-0201")
    other = Workstation(window.workstation.library_path)
    record(other, new)
    other.close()
    qtbot.waitUntil(lambda: counts(window)[ALL] == str(len(RUNS) + 1))
    qtbot.waitUntil(lambda: not jobs.running())
    assert page.table.editing
    assert editor.text() == "kept"
    assert new.run_id not in listed(page)
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: listed(page)[:2] == [new.run_id, LAST])
    qtbot.waitUntil(lambda: page.table.lines.matched[1].summary.name == "kept")


def test_hosts_of_another_process_are_listed_and_chosen(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    saved = SavedHosts(tmp_path / "hosts.toml")  # as another process has it
    hosts = window.show_page(PageName.HOSTS)
    assert isinstance(hosts, HostsPage)
    measure = window.show_page(PageName.MEASURE)
    assert isinstance(measure, MeasurePage)
    saved.save(HostEntry("web-90", host_name="192.0.2.9"))
    qtbot.waitUntil(lambda: "web-90" in [entry.name for entry in hosts.table.content.rows])
    qtbot.waitUntil(lambda: "web-90" in measure.plan_step.hosts.list.visible_keys())
    hosts.connections.of("web-90").report = ConnectReport("web-90", ConnectOutcome.CONNECTED, "", "", 0.1)
    saved.save(HostEntry("web-90", host_name="192.0.2.10"))
    qtbot.waitUntil(lambda: hosts.connections.of("web-90").report is None)
    saved.remove("web-90")
    qtbot.waitUntil(lambda: "web-90" not in [entry.name for entry in hosts.table.content.rows])


def test_a_hidden_window_does_not_look(qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[LibraryVersion | None] = []
    known = window.workstation.library_version

    def counted(version: LibraryVersion | None) -> LibraryVersion:
        looks.append(version)
        return known(version)

    monkeypatch.setattr(window.workstation, "library_version", counted)
    qtbot.waitUntil(lambda: bool(looks))
    window.hide()
    qtbot.waitUntil(lambda: not jobs.running())
    looks.clear()
    qtbot.wait(200)
    assert not looks


def test_samples_and_heartbeats_of_a_run_leave_the_version(workstation: Workstation) -> None:
    record(workstation, FIRST)
    before = workstation.library_version()
    assert workstation.library_version(before) is before  # nothing was written
    with workstation._store.database.writing() as connection:
        connection.exec_driver_sql("UPDATE runs SET touched = 'now'")
    after = workstation.library_version(before)
    assert after is not before
    assert after.content == before.content
    workstation.save_search("slow", "iops<1k")
    assert workstation.library_version(after).content != after.content

"""After an upgrade the window judges the library again, says what changed, and goes on where it stopped."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.checks.version import CHECKS_VERSION
from app.questions import RefusingAsker
from app.services import Workstation
from suites.verdict import Trust
from tests.app.test_rejudge import NETWORK, VALID, with_check
from tests.checks_digest import captured
from tests.messages import messages
from tests.small_disk import fill, small_disk
from tests.widgets.library_runs import Made, recalled, record
from widgets import jobs, rejudging
from widgets.library.library_page import LibraryPage
from widgets.live.replay import stored
from widgets.live.verdict_panel import VerdictPanel
from widgets.main_window import MainWindow
from widgets.page import PageName

__all__ = ["small_disk"]

pytestmark = pytest.mark.usefixtures("few_programs")

Keep = Callable[[QWidget], QWidget]
MESSAGES = messages("widgets-library", "test_rejudging")
MAY = tuple(f"202605{day:02d}-081502-a1b{day % 10}" for day in range(1, 10))
JUNE = "20260601-081502-a1b2"


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workstation]:
    """A library that an earlier version wrote, and a program whose checks object to more."""
    captured(tmp_path).close()
    made = Workstation(tmp_path / "captured.sqlite3", tmp_path / "hosts.toml")
    made.pin(NETWORK, "nightly")
    with_check(monkeypatch)
    monkeypatch.setattr(rejudging, "DELAY", 0.01)
    monkeypatch.setattr(rejudging, "AGAIN", 0.2)
    yield made
    made.close()


def _settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not jobs.running())


def _shown(qtbot: QtBot, keep: Keep, workstation: Workstation) -> MainWindow:
    window = MainWindow(workstation)
    keep(window)
    window.show()
    return window


def _library(window: MainWindow) -> LibraryPage:
    page = window.show_page(PageName.LIBRARY)
    assert isinstance(page, LibraryPage)
    return page


@pytest.mark.slow
def test_a_library_of_an_earlier_version_is_judged_while_the_window_is_shown(
    qtbot: QtBot, keep: Keep, old: Workstation
) -> None:
    window = _shown(qtbot, keep, old)
    page = _library(window)
    qtbot.waitUntil(lambda: not old.outdated_runs() and not page.recall_bar.isHidden())
    _settle(qtbot)
    assert page.recall_bar.text().startswith(MESSAGES["two_are_doubtful"])
    assert MESSAGES["baseline"] in page.recall_bar.text()
    page.recall_bar.menu.actions()[0].trigger()
    _settle(qtbot)
    assert {row.id for row in page.table.lines.matched} == {VALID, NETWORK}
    page.table.select(VALID)
    page.preview.open_current()
    qtbot.waitUntil(lambda: page.panel.opened is not None and page.panel.opened.record.summary.id == VALID)
    assert page.panel.head.recall.text().startswith(MESSAGES["was_valid"])
    window.close()
    _settle(qtbot)


def test_the_notice_is_dismissed_for_good(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    record(workstation, *(Made(run, trust=Trust.VALID) for run in (*MAY, JUNE)))
    recalled(workstation, (*MAY[:3], JUNE), Trust.DOUBTFUL, "Page cache served part of the I/O")

    def page() -> LibraryPage:
        made = LibraryPage(workstation, RefusingAsker())
        keep(made)
        made.show()
        made.activated()
        _settle(qtbot)
        return made

    first = page()
    assert not first.recall_bar.isHidden()
    assert first.recall_bar.text() == (MESSAGES["may"])
    first.recall_bar.menu.actions()[-1].trigger()
    _settle(qtbot)
    assert len(first.table.lines.matched) == 4
    first.recall_bar.close_button.click()
    assert first.recall_bar.isHidden()
    _settle(qtbot)
    assert page().recall_bar.isHidden()
    recalled(workstation, MAY[3:4], Trust.INVALID, "Another objection")
    again = page()
    assert again.recall_bar.text() == MESSAGES["one_is_invalid"]
    again.recall_bar.show_button.click()
    _settle(qtbot)
    assert [row.id for row in again.table.lines.matched] == [MAY[3]]


@pytest.mark.slow
def test_it_rests_while_a_run_is_recorded_and_then_goes_on(
    qtbot: QtBot, keep: Keep, old: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = [frozenset({"a run"})]
    monkeypatch.setattr(Workstation, "recorded_runs", lambda _self: recorded[0])
    owner = keep(QWidget())
    judging = rejudging.Rejudging(old, owner)
    waiting = old.outdated_runs()
    judging.start()
    qtbot.wait(600)
    assert old.outdated_runs() == waiting
    recorded[0] = frozenset()
    with qtbot.waitSignal(judging.changed):
        pass
    assert old.outdated_runs() == []


@pytest.mark.slow
def test_a_closed_window_stops_it_and_the_next_one_goes_on(qtbot: QtBot, keep: Keep, old: Workstation) -> None:
    waiting = old.outdated_runs()
    window = _shown(qtbot, keep, old)
    qtbot.waitUntil(lambda: window.rejudging.running)
    window.close()
    _settle(qtbot)
    assert old.outdated_runs() == waiting[len(waiting) - len(old.outdated_runs()) :]
    other = _shown(qtbot, keep, old)
    qtbot.waitUntil(lambda: not old.outdated_runs())
    _settle(qtbot)
    other.close()
    _settle(qtbot)


def test_the_window_answers_while_it_judges(qtbot: QtBot, keep: Keep, old: Workstation) -> None:
    window = _shown(qtbot, keep, old)
    gaps, last = list[float](), [time.monotonic()]

    def tick() -> None:
        now = time.monotonic()
        gaps.append(now - last[0])
        last[0] = now

    qtbot.waitUntil(lambda: window.rejudging.running)
    last[0] = time.monotonic()
    timer = QTimer(window, interval=10)
    timer.timeout.connect(tick)
    timer.start()
    qtbot.waitUntil(lambda: not window.rejudging.running)
    assert gaps
    assert sorted(gaps)[len(gaps) // 2] < 0.1
    window.close()
    _settle(qtbot)


def test_a_verdict_of_other_checks_says_so(qtbot: QtBot, keep: Keep, old: Workstation) -> None:
    panel = VerdictPanel()
    keep(panel)
    found = old.load(VALID)
    model = stored(found, {}, {})
    (key,) = model.step_keys()
    panel.show_step(model, key)
    assert not panel.version.isHidden()
    assert panel.version.text() == f"Judged by checks of an unknown version, present version {CHECKS_VERSION}."
    model.verdicts[key] = replace(model.verdicts[key], checks=CHECKS_VERSION)
    panel.show_step(model, key)
    assert panel.version.isHidden()


@pytest.mark.slow
@pytest.mark.parametrize("small_disk", ["24m"], indirect=True)
def test_a_full_disk_is_shown_once_and_the_rest_is_judged_when_there_is_room(
    qtbot: QtBot, keep: Keep, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    captured(small_disk).close()
    with_check(monkeypatch)
    monkeypatch.setattr(rejudging, "DELAY", 0.01)
    monkeypatch.setattr(rejudging, "AGAIN", 0.2)
    with closing(Workstation(small_disk / "captured.sqlite3", small_disk.parent / "hosts.toml")) as workstation:
        waiting = workstation.outdated_runs()
        ballast = fill(small_disk)
        window = _shown(qtbot, keep, workstation)
        shown = list[object]()
        window.rejudging.blocked.connect(shown.append)
        qtbot.waitUntil(lambda: bool(shown) and not window.library_bar.isHidden())
        assert window.library_bar.text().startswith(MESSAGES["full"])
        qtbot.wait(700)
        assert len(shown) == 1
        assert workstation.outdated_runs() == waiting
        ballast.unlink()
        qtbot.waitUntil(lambda: not workstation.outdated_runs() and window.library_bar.isHidden())
        _settle(qtbot)
        window.close()
        _settle(qtbot)

"""Stop, pressed in the window, ends the run soon whatever its host does; the window stays quick meanwhile."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.events import State
from app.plans.plan import Plan, Repetition, make_step
from app.services import Workstation
from remote import answer_deadline
from suites import registry
from tests.lab.counting import Counting, counting_plan
from tests.lab.slow_server import DrippingWire
from tests.lab.survival import assert_no_leftovers, kill_jobs
from tests.lab_sshd import LabHost
from tests.messages import messages
from tests.widgets.heartbeat import beating
from widgets import jobs
from widgets.live.live_page import LivePage
from widgets.main_window import MainWindow
from widgets.page import PageName

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("widgets", "test_stop_window")

PATIENCE = 60_000
SOON = 20.0
"""Seconds after which a run that was stopped is seen to have ended, whatever its host does: the last of its times is
15 s."""

Start = Callable[..., LabHost]


@pytest.fixture
def page(qtbot: QtBot, workstation: Workstation, monkeypatch: pytest.MonkeyPatch) -> Iterator[LivePage]:
    """Return the live page of a window."""
    monkeypatch.setattr(registry, "SUITES", (*registry.SUITES, Counting()))
    window = MainWindow(workstation)
    with qtbot.waitExposed(window):
        window.show()
    found = window.show_page(PageName.LIVE)
    assert isinstance(found, LivePage)
    yield found
    window.closing.stop_and_close()
    qtbot.waitUntil(window.isHidden, timeout=PATIENCE)
    qtbot.waitUntil(lambda: not jobs.running(), timeout=PATIENCE)
    window.deleteLater()


@pytest.fixture(
    params=[pytest.param("drips", marks=pytest.mark.slow), "hangs", pytest.param("is gone", marks=pytest.mark.slow)]
)
def turn_bad(request: pytest.FixtureRequest, start_lab_host: Start) -> Iterator[Callable[[], None]]:
    """A sound host, the alias "lab"; return what makes it answer no more."""
    host = start_lab_host()
    wire = DrippingWire(host.port) if request.param == "drips" else None
    stopped: list[int] = []
    folder = Path.home() / ".ssh"
    folder.mkdir(mode=0o700)
    port = host.port if wire is None else wire.port
    (folder / "config").write_text(host.config().replace(f"Port {host.port}", f"Port {port}"))
    (folder / "known_hosts").write_text(host.known_hosts_line.replace(f":{host.port} ", f":{port} "))

    def act() -> None:
        if wire is not None:
            wire.drip()
        elif request.param == "is gone":
            host.stop()
        else:
            stopped.extend([host.pid, *host.connections()])
            host.cut(signal.SIGSTOP)
            os.kill(host.pid, signal.SIGSTOP)

    yield act
    for pid in stopped:
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.kill(pid, signal.SIGCONT)
    if wire is not None:
        wire.close()
    kill_jobs(host.home)


def counted(page: LivePage) -> bool:
    model = page.model
    return model is not None and model.current is not None and bool(model.current.series)


def stop_on(qtbot: QtBot, page: LivePage, turn_bad: Callable[[], None]) -> float:
    """Run, turn the host bad, press Stop; return the seconds until the window says that the run has ended."""
    page.workstation.consents.remember_made(plan := counting_plan(3000))
    page.start_run(plan)
    qtbot.waitUntil(lambda: counted(page), timeout=PATIENCE)
    turn_bad()
    began = time.monotonic()
    with beating(page), qtbot.waitSignal(page.run_finished, timeout=PATIENCE):
        qtbot.mouseClick(page._stop_button, Qt.MouseButton.LeftButton)
    return time.monotonic() - began


def assert_reported(page: LivePage) -> None:
    assert page.model is not None
    record = page.workstation.load("last")
    assert record.summary.state is State.PARTIAL
    assert "may still run" in record.reason
    assert "may remain on" in record.reason
    assert not page._stop_button.isVisible()


@pytest.mark.alone
@pytest.mark.slow
def test_stop_ends_a_run_on_a_host_that_answers_no_more(
    qtbot: QtBot, page: LivePage, turn_bad: Callable[[], None]
) -> None:
    assert stop_on(qtbot, page, turn_bad) < SOON
    assert_reported(page)


@pytest.mark.slow
def test_stop_ends_a_run_in_the_window(
    qtbot: QtBot, page: LivePage, turn_bad: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_deadline, "ANSWER_TIME", 1.0)
    assert stop_on(qtbot, page, turn_bad) < SOON
    assert_reported(page)


@pytest.fixture
def sound(start_lab_host: Start) -> Iterator[LabHost]:
    """A sound host, the alias "lab"."""
    host = start_lab_host()
    host.add_to_home()
    yield host
    kill_jobs(host.home)


@pytest.mark.slow
def test_a_window_that_is_closed_while_a_clean_up_hangs_is_gone_soon(
    qtbot: QtBot, page: LivePage, sound: LabHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.runs.host_step.CLEAN_UP_TIME", 3.0)
    hangs = "sh -c 'trap : INT TERM HUP; sleep 73; sleep 73'"
    step = make_step("command", {"command": "sleep 60", "clean_up": hangs})
    page.workstation.consents.remember_made(plan := Plan("own", ("lab",), (step,), repetition=Repetition(trials=1)))
    page.start_run(plan)
    qtbot.waitUntil(lambda: page.model is not None and page.model.current is not None, timeout=PATIENCE)
    window = page.window()
    assert isinstance(window, MainWindow)
    began = time.monotonic()
    with beating(page):
        window.closing.stop_and_close()
        qtbot.waitUntil(window.isHidden, timeout=PATIENCE)
    assert time.monotonic() - began < SOON
    record = page.workstation.load("last")
    assert record.summary.state is State.PARTIAL
    assert MESSAGES["could_not_clean_up_on_lab_sh"] in record.reason
    assert_no_leftovers(sound.home)

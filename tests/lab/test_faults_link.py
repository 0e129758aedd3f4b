"""A way to the host that fails in its own ways: packets are lost, this computer sleeps, each request breaks once."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.events import State
from app.questions import RefusingAsker
from app.services import Workstation
from remote.errors import ConnectionLostError
from remote.ssh.ssh_session import SshChannel, SshSession
from tests.lab.counting import counting_plan
from tests.lab.lossy_link import LossyLink, lossy
from tests.lab.survival import ALIVE, assert_no_leftovers, assert_whole, end, jobs_on, lab, run, workstation
from tests.lab_sshd import LabHost
from tests.processes import ends
from tests.widgets.heartbeat import beating
from widgets import jobs
from widgets.live.live_page import LivePage

__all__ = ["lab", "lossy", "workstation"]


@pytest.mark.slow
def test_half_of_all_packets_may_be_lost_and_the_window_stays_quick(
    qtbot: QtBot, workstation: Workstation, lossy: tuple[LabHost, LossyLink]
) -> None:
    host, link = lossy
    host.add_to_home(more=f"{ALIVE}  ConnectTimeout 5\n")
    page = LivePage(workstation, RefusingAsker())
    qtbot.addWidget(page)
    page.show()
    ended: list[str] = []
    page.run_finished.connect(ended.append)
    page.start_run(counting_plan(150))
    qtbot.waitUntil(lambda: bool(jobs_on(host.home)))
    with beating(page):
        link.loss = 0.5
        qtbot.waitUntil(lambda: link.lost >= 20)
        link.loss = 0.0
    qtbot.waitUntil(lambda: bool(ended) and not jobs.running())
    assert_whole(workstation, 1, 150)
    assert_no_leftovers(host.home)


@pytest.mark.slow
def test_a_computer_that_sleeps_misses_nothing_of_the_test(
    workstation: Workstation, lab: LabHost, tmp_path: Path
) -> None:
    words = [sys.executable, "-m", "tests.lab.counting", str(tmp_path / "runs.sqlite3"), "lab", "120", "1", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as asleep:
        assert asleep.stdout is not None
        for line in asleep.stdout:
            if float(line) >= 10:
                break
        asleep.send_signal(signal.SIGSTOP)
        assert all(ends(pid, 20.0) for pid in jobs_on(lab.home))
        asleep.send_signal(signal.SIGCONT)
        asleep.communicate(timeout=30)
    assert asleep.returncode == 0
    assert_whole(workstation, 1, 120)
    assert_no_leftovers(lab.home)


# Every request to the host fails once


FEW = (7,)
MOST = 30
"""More requests than a short run makes of its host."""

Break = Callable[[int, str], Callable[[], int]]


@pytest.fixture
def break_request(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Return a function that lets the connection break at the request of a number, before or after its answer.

    It returns one that tells how many requests there were.
    """
    seen = [0]
    originals: dict[str, Callable[..., Any]] = {"run": SshSession.run, "open": SshSession.open}

    def breaking(method: Callable[..., Any], number: int, when: str) -> Callable[..., Any]:
        def call(session: SshSession, *words: Any, **options: Any) -> Any:
            seen[0] += 1
            if seen[0] != number:
                return method(session, *words, **options)
            if when == "after":
                answer = method(session, *words, **options)
                if isinstance(answer, SshChannel):
                    answer.close()
            session.close()
            raise ConnectionLostError("The connection to lab broke: cut by the test.", host="lab")

        return call

    def start(number: int, when: str) -> Callable[[], int]:
        for name, method in originals.items():
            monkeypatch.setattr(SshSession, name, breaking(method, number, when))
        return lambda: seen[0]

    return start


@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.slow), "after"])
@pytest.mark.parametrize(
    "number", [pytest.param(number, marks=() if number in FEW else pytest.mark.slow) for number in range(2, MOST)]
)
def test_each_request_to_the_host_may_fail_once(
    workstation: Workstation, lab: LabHost, break_request: Break, number: int, when: str
) -> None:
    requests = break_request(number, when)
    events = run(workstation, counting_plan(15))
    assert end(events).state is State.DONE, end(events).reason
    assert requests() < MOST
    assert_whole(workstation, 1, 15)
    assert_no_leftovers(lab.home)

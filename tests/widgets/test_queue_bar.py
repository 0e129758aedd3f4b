"""The queue in the window: what an earlier Benchwright left, and the runs of another process."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.events import State
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.services import Workstation
from tests.messages import messages
from widgets import jobs
from widgets.main_window import MainWindow
from widgets.run_strip import LineState

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("widgets", "test_queue_bar")

OTHER = """
import sys
from pathlib import Path
from app.events import Progress
from app.queue.run_queue import RunQueue
from app.runs.control import BusyPolicy
from tests.app.test_queue import by_name, plan_on
queue, plan = RunQueue(Path(sys.argv[1]), by_name), plan_on("web-1")
with queue.under_way(plan, Path("/other.sqlite3"), BusyPolicy.REFUSE) as mark:
    list(mark.noted(each for each in [Progress(2, 6, 240.0)]))
    print("under way", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def window(qtbot: QtBot, workstation: Workstation) -> Iterator[MainWindow]:
    made = MainWindow(workstation)
    yield made
    made.closing.stop_and_close()
    qtbot.waitUntil(lambda: made.isHidden() and not jobs.running())
    made.deleteLater()


@pytest.mark.slow
def test_what_was_left_in_the_queue_starts_only_by_a_click(
    qtbot: QtBot, workstation: Workstation, window: MainWindow
) -> None:
    step = make_step("sysbench-cpu", {"time": 1, "threads": 1})
    plan = Plan("left", (LOCAL,), (step,), repetition=Repetition(trials=1))
    paused = workstation.queue.add(plan, workstation.library_path, owned=False)
    workstation.queue.add(plan, workstation.library_path, owned=False)
    workstation.queue.pause(paused.id)
    with qtbot.waitExposed(window):
        window.show()
    qtbot.waitUntil(lambda: window.queue_bar.isVisible() and not jobs.running())
    assert window.queue_bar.message.text() == MESSAGES["left"]
    assert workstation.runs() == []
    qtbot.mouseClick(window.queue_bar.start_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: [run.state for run in workstation.runs()] == [State.DONE] and not jobs.running())
    assert not window.queue_bar.isVisible()
    assert [card.line.state for card in window.strip.cards] == [LineState.PAUSED, LineState.DONE]
    qtbot.mouseClick(window.strip.cards[0].stop_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: workstation.queue.places() == () and not jobs.running())


@pytest.mark.slow
def test_the_run_of_another_process_is_shown_and_its_end(
    qtbot: QtBot, workstation: Workstation, window: MainWindow
) -> None:
    with qtbot.waitExposed(window):
        window.show()
    qtbot.waitUntil(lambda: not jobs.running())
    words = [sys.executable, "-c", OTHER, str(workstation.queue.path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "under way\n"
        qtbot.waitUntil(window.strip.isVisible)
        (card,) = window.strip.cards
        assert card.line.state is LineState.ELSEWHERE
        assert card.line.detail.startswith("2/6 trials")
        assert card.line.detail.endswith("another Benchwright")
        other.communicate("")
    qtbot.waitUntil(lambda: not window.strip.isVisible())


FLEET = """
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from app.queue.run_queue import RunQueue
from app.runs.control import BusyPolicy
from tests.app.test_queue import by_name, plan_on
queue = RunQueue(Path(sys.argv[1]), by_name)
with ExitStack() as runs:
    for number in range(1, 9):
        plan = replace(plan_on(f"web-{number}"), name="disk check")
        runs.enter_context(queue.under_way(plan, Path("/other.sqlite3"), BusyPolicy.REFUSE))
    print("under way", flush=True)
    sys.stdin.read()
"""


def test_the_fleet_study_of_another_process_is_one_card(
    qtbot: QtBot, workstation: Workstation, window: MainWindow
) -> None:
    with qtbot.waitExposed(window):
        window.show()
    qtbot.waitUntil(lambda: not jobs.running())
    words = [sys.executable, "-c", FLEET, str(workstation.queue.path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "under way\n"
        qtbot.waitUntil(lambda: [len(card.line.hosts) for card in window.strip.cards] == [8])
        assert window.strip.cards[0].line.title == "web-1 +7 · disk check"
        other.communicate("")
    qtbot.waitUntil(lambda: not window.strip.isVisible())


KILLED = """
import sys
from pathlib import Path
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.questions import RefusingAsker
from app.runs.control import Control
from app.services import Workstation
workstation = Workstation(Path(sys.argv[1]), Path(sys.argv[2]))
step = make_step("sysbench-cpu", {"time": 600, "threads": 1})
plan = Plan("long", (LOCAL,), (step,), repetition=Repetition(trials=2))
for event in workstation.run(plan, RefusingAsker(), Control()):
    if type(event).__name__ == "JobBegan":
        print("under way", flush=True)
"""


@pytest.mark.slow
@pytest.mark.lab
def test_a_killed_run_of_another_process_can_be_attached(
    qtbot: QtBot, workstation: Workstation, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("widgets.live.run_set.RETRY", 300)
    with qtbot.waitExposed(window):
        window.show()
    qtbot.waitUntil(lambda: not jobs.running())
    words = [sys.executable, "-c", KILLED, str(workstation.library_path), str(tmp_path / "hosts.toml")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "under way\n"
        qtbot.waitUntil(window.strip.isVisible)
        other.kill()
    qtbot.waitUntil(lambda: window.detached_bar.isVisible() and not window.strip.isVisible())
    assert window.detached_bar.message.text().startswith("Detached run")
    window.sidebar.show_now()
    item = next(one for section in window.sidebar.state.sections() for one in section.items if one.key == "detached:0")
    window.links.follow(item)
    assert window.detached_bar.attach_button.hasFocus()
    qtbot.mouseClick(window.detached_bar.stop_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: [run.state for run in workstation.runs()] == [State.PARTIAL] and not jobs.running())
    assert not [one for section in window.sidebar.state.sections() for one in section.items if "detached" in one.key]

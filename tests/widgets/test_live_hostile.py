"""A tool gone wild: whatever it prints, the window answers within a tenth of a second and shows plain words."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.questions import RefusingAsker
from app.services import Workstation
from tests.widgets.heartbeat import beating
from widgets.live.live_page import LivePage

pytestmark = pytest.mark.usefixtures("few_programs")

Keep = Callable[[QWidget], QWidget]

SCRIPTS = {
    "a megabyte without a line break": "head -c 1000000 /dev/zero | tr '\\0' x; sleep 1",
    "empty lines without end": "yes '' | head -c 1000000; sleep 1",
    "escape sequences and markup": (
        "yes \"$(printf '\\033[31m\\033]0;x\\007<img src=file:///etc/passwd><b>x</b>')\" | head -c 9000000; sleep 1"
    ),
    "noise": "head -c 3000000 /dev/urandom; sleep 1",
    "thousands of samples": (
        "i=0; while [ $i -lt 20000 ]; do i=$((i+1));"
        ' echo "[ ${i}s ] thds: 1 eps: $i.5 lat (ms,95%): 1.5"; done; sleep 1'
    ),
    "samples out of order": (
        "i=3000; while [ $i -gt 0 ]; do i=$((i-1));"
        ' echo "[ ${i}s ] thds: 1 eps: 99999999999999999999.5 lat (ms,95%): 0.00"; done; sleep 1'
    ),
}


@pytest.fixture
def page(qtbot: QtBot, keep: Keep, workstation: Workstation, idle: None) -> LivePage:
    made = LivePage(workstation, RefusingAsker())
    keep(made)
    made.resize(1000, 700)
    with qtbot.waitExposed(made):
        made.show()
    return made


@pytest.fixture
def wild_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a sysbench on this computer's path that prints what a script says."""

    def install(script: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        tool = folder / "sysbench"
        tool.write_text(f'#!/bin/sh\ncase "$1" in --version) echo "sysbench 1.0.20"; exit 0;; esac\n{script}\n')
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    return install


@pytest.mark.slow
@pytest.mark.parametrize("script", list(SCRIPTS.values()), ids=list(SCRIPTS))
def test_the_window_stays_quick_and_shows_plain_words(
    qtbot: QtBot, page: LivePage, wild_tool: Callable[[str], None], script: str
) -> None:
    wild_tool(script)
    name = "<b>wild</b>\x1b[31m"
    step = make_step("sysbench-cpu", {"time": 2, "threads": 1}, name=name)
    page.start_run(Plan(name, (LOCAL,), (step,), repetition=Repetition(trials=1)))
    assert page.view is not None
    page.view.tabs.open_tab(page.view.log)
    with beating(page):
        qtbot.waitSignal(page.run_finished, timeout=120_000).wait()
    assert "<b>wild</b>" in page._step_label.text()
    assert "\x1b" not in page._step_label.text() + page.view.log.toPlainText()
    assert page.view.log.blockCount() <= page.view.log.maximumBlockCount()

"""Tools that lie or break off, run for real before a real live page: no false figure, no freeze."""

import os
import shlex
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.events import State
from app.plans.plan import LOCAL, Plan, Repetition, Step, make_step
from app.questions import RefusingAsker
from app.records import RunRecord
from app.services import Workstation
from tests.widgets.heartbeat import beating
from widgets.live.live_page import LivePage

pytestmark = pytest.mark.usefixtures("few_programs")

Keep = Callable[[QWidget], QWidget]

CAPTURE = Path(__file__).parent.parent / "data" / "fio" / "3.39" / "jsonplus_status1_randrw.stdout"
PATIENCE = 60_000


@pytest.fixture
def page(qtbot: QtBot, keep: Keep, workstation: Workstation, idle: None) -> LivePage:
    for name in ("app.runs.run", "app.store", "app.checks.before", "widgets.live.step_view"):
        import_module(name)  # what the first run of a program loads is not the tool's doing
    made = LivePage(workstation, RefusingAsker())
    keep(made)
    made.resize(1000, 700)
    with qtbot.waitExposed(made):
        made.show()
    return made


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    """Return what puts a tool on this computer's path: its name, what it says of its version, and a script."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def install(name: str, version: str, script: str) -> None:
        path = folder / name
        path.write_text(f'#!/bin/sh\ncase "$1" in --version) echo "{version}"; exit 0;; esac\n{script}\n')
        path.chmod(0o755)

    return install


def run(qtbot: QtBot, page: LivePage, step: Step) -> RunRecord:
    """Run one trial of `step` with a hand on the window's pulse, and return what was stored."""
    page.start_run(Plan("hostile", (LOCAL,), (step,), repetition=Repetition(trials=1)))
    assert page.view is not None
    page.view.tabs.open_tab(page.view.log)
    with beating(page):
        qtbot.waitSignal(page.run_finished, timeout=PATIENCE).wait()
    return page.workstation.load("last")


def disk(folder: Path) -> Step:
    folder.mkdir(exist_ok=True)
    return make_step("fio", {"directory": str(folder), "size": "16 MiB", "runtime": 2, "rw": "randrw"})


def cpu() -> Step:
    return make_step("sysbench-cpu", {"time": 2, "threads": 1})


DOCUMENTS: dict[str, tuple[Callable[[str], str], str]] = {
    "a document without end": (lambda _: "{\n" + '"x": 1,\n' * 2_000_000, "printed more than"),
    "a document on one endless line": (lambda _: "{" + '"x": 1,' * 2_000_000, "printed more than"),
    "a document nested too deep": (lambda _: '{\n  "jobs" : ' + "[" * 100_000 + "]" * 100_000 + "\n}\n", "too deep"),
    "NaN": (lambda text: text.replace('"iops" : ', '"iops" : NaN, "was" : '), "NaN is not a number"),
    "an infinite number": (lambda text: text.replace('"iops" : ', '"iops" : 1e999, "was" : '), "1e999 is not a number"),
    "a number of a hundred thousand digits": (
        lambda text: text.replace('"iops" : ', f'"iops" : {"9" * 100_000}, "was" : '),
        "100000 digits",
    ),
    "two values of one name": (lambda text: text.replace('"iops" : ', '"iops" : 1e9, "iops" : '), "“iops” twice"),
}


FEW = ("NaN",)
"""The parser alone is asked the others, too, in tests/suites/test_fio_output.py."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FEW else pytest.mark.slow) for name in DOCUMENTS]
)
def test_a_document_that_cannot_be_is_no_figure(
    qtbot: QtBot, page: LivePage, tool: Callable[..., None], tmp_path: Path, name: str
) -> None:
    bend, shown = DOCUMENTS[name]
    printed = tmp_path / "printed"
    printed.write_text(bend(CAPTURE.read_text()))
    tool("fio", "fio-3.33", f"cat {printed}")
    (trial,) = run(qtbot, page, disk(tmp_path / "disk")).trials
    assert trial.state is State.FAILED
    assert trial.figures == ()
    assert shown in " ".join(trial.notes)


@pytest.mark.slow
def test_a_negative_figure_stays_missing(
    qtbot: QtBot, page: LivePage, tool: Callable[..., None], tmp_path: Path
) -> None:
    printed = tmp_path / "printed"
    printed.write_text(CAPTURE.read_text().replace('"iops" : ', '"iops" : -'))
    tool("fio", "fio-3.33", f"cat {printed}")
    (trial,) = run(qtbot, page, disk(tmp_path / "disk")).trials
    names = {figure.metric.name for figure in trial.figures}
    assert "bandwidth" in names
    assert "iops" not in names


NOISE = b"\xff\xfe[ 1s ] thds: 1 eps: 5.5 lat (ms,95%): 1.5\n\xc3(\x80\xed\xa0\x80\n"


@pytest.mark.slow
def test_bytes_that_are_no_text_are_kept_as_they_are(
    qtbot: QtBot, page: LivePage, tool: Callable[..., None], tmp_path: Path
) -> None:
    (tmp_path / "printed").write_bytes(NOISE)
    tool("sysbench", "sysbench 1.0.20", f"cat {tmp_path / 'printed'}")
    record = run(qtbot, page, cpu())
    assert page.workstation.output(record.summary.id, record.trials[0].trial.id)["stdout"] == NOISE
    assert page.view is not None
    assert "\ufffd" in page.view.log.toPlainText()


@pytest.mark.slow
def test_a_tool_killed_after_it_printed_done_is_no_success(
    qtbot: QtBot, page: LivePage, tool: Callable[..., None]
) -> None:
    good = "[ 1s ] thds: 1 eps: 5.5 lat (ms,95%): 1.5\\n\\nCPU speed:\\n    events per second:   100.00\\n"
    tool("sysbench", "sysbench 1.0.20", f"printf '{good}done\\n'; kill -9 $$")
    (trial,) = run(qtbot, page, cpu()).trials
    assert trial.state is State.FAILED
    assert trial.exit_status != 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["$(touch HERE)", "-rf", 'it\'s "quoted"', "a; touch HERE", "--", "<b>&amp;", "`touch HERE`"]
)
def test_a_directory_of_any_name_is_only_a_directory(qtbot: QtBot, page: LivePage, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "names"
    folder.mkdir()
    (folder / name).mkdir()
    step = make_step("dd", {"directory": str(folder / name), "count": 4})
    (trial,) = run(qtbot, page, step).trials
    assert [entry.name for entry in folder.iterdir()] == [name]
    assert not any((folder / name).iterdir())
    assert trial.state is State.DONE
    for command in trial.trial.commands:
        assert tuple(shlex.split(shlex.join(command.argv))) == command.argv

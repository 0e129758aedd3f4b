"""Pictures of the page Judge: empty, results of several tools, a result that cannot be judged."""

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from tests.shot_stage import Shot, Stage, opened
from tests.suites.captured_outputs import DATA
from widgets.main_window import MainWindow
from widgets.outputs.judge_page import JudgePage

FILES = (
    "iperf3/3.12/tcp_P4_text.stdout", "fio/2.21/json_final.stdout", "sysbench/1.0.20/fileio_rndrd.stdout",
    "sysbench/1.0.20/cpu_default.stdout", "sysbench/1.0.20/cpu_bad_value.stdout", "fio-text/3.33/psync.stdout",
    "dd/9.1/zero_fdatasync.stderr", "iperf3/3.12/udp_text.stdout",
)  # fmt: skip


def _opened(stage: Stage) -> tuple[MainWindow, JudgePage]:
    window = stage.window()
    page = opened(window, JudgePage)
    stage.settle()
    return window, page


def _empty(stage: Stage) -> QWidget:
    return _opened(stage)[0]


def several(stage: Stage) -> MainWindow:
    """Return the window with the results of captured outputs, of which one cannot be judged."""
    window, page = _opened(stage)
    page.judge([DATA / name for name in FILES])
    stage.settle()
    page.table.selectRow(2)
    stage.settle()
    return window


def _undecided(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    text = (DATA / "fio-text/3.33/psync.stdout").read_text()
    QGuiApplication.clipboard().setText(text)
    page.paste()
    stage.settle()
    page.issues.set_folded(folded=False)
    stage.settle()
    return window


SHOTS: list[Shot] = [
    ("judge-1-empty", _empty),
    ("judge-2-several", several),
    ("judge-3-undecided", _undecided),
]

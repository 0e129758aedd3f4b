"""Pictures of the page Judge: empty, results of several tools, a result that cannot be judged."""

from pathlib import Path
from tempfile import TemporaryDirectory

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.outputs.files import OutputText
from suites.read_only.table_mapping import Decimal, TableMapping
from tests.shot_stage import Shot, Stage, opened
from tests.suites.captured_outputs import DATA
from widgets.main_window import MainWindow
from widgets.outputs.judge_page import JudgePage
from widgets.outputs.mapping_dialog import MappingDialog
from widgets.page import PageName

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


VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    + " 2  0      0 1 1 1    0    0  0 0  882 2861 60 5 5  0  30\n"
    * 12
)


def _with_host_data(stage: Stage) -> QWidget:
    window = several(stage)
    page = window.pages.existing(PageName.JUDGE)
    assert isinstance(page, JudgePage)
    with TemporaryDirectory() as folder:
        (Path(folder) / "vmstat.txt").write_text(VMSTAT)
        page.give_host_data([Path(folder) / "vmstat.txt"])
        stage.settle()
    stage.settle()
    return window


def _refused(stage: Stage) -> QWidget:
    """Return the window with a very long name, an output that was not read, and a file that is no host data."""
    window, page = _opened(stage)
    with TemporaryDirectory() as folder:
        long = Path(folder) / f"{'results-of-the-nightly-benchmark-' * 6}.txt"
        long.write_text("sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nNumber of threads: 2\n")
        page.judge([long, DATA / FILES[0]])
        stage.settle()
        page.table.selectRow(0)
        page.give_host_data([long])
        stage.settle()
    return window


TABLE = (
    "Host;Date;bs;IOPS;p99 (ms);CPU;Note\n"
    "web-1;2026-11-01 10:00;4k;1.234,5;0,81;41;first\nweb-1;2026-11-01 10:00;4k;1.250,0;0,79;40;\n"
    "web-1;2026-11-01 10:00;8k;1.190,2;0,92;44;\nweb-2;2026-11-02 10:00;4k;980,0;1,20;52;slow disk\n"
    "web-2;2026-11-02 10:00;4k;inf;1,24;53;\nweb-2;2026-11-02 10:00;8k;941,7;1,31;51;\n"
)


def _mapping(stage: Stage) -> tuple[MainWindow, MappingDialog]:
    window, page = _opened(stage)
    page.judge([OutputText("results.csv", TABLE.encode())])
    stage.settle()
    dialog = page.findChild(MappingDialog)
    assert dialog is not None
    return window, dialog


def _columns(stage: Stage) -> QWidget:
    """Return the dialog for a table without a mapping: what was proposed, and a column to complete."""
    _, dialog = _mapping(stage)
    dialog.columns.select((False, "CPU"))
    stage.settle()
    return dialog


def _rows_with_errors(stage: Stage) -> QWidget:
    """Return the dialog with all columns mapped, and a row that cannot be read."""
    _, dialog = _mapping(stage)
    dialog.columns.select((False, "bs"))
    dialog.role.setCurrentIndex(dialog.role.findData("config"))
    dialog.role.activated.emit(dialog.role.currentIndex())
    dialog.ignore_button.click()
    dialog.decimal.setCurrentIndex(2)
    dialog.decimal.activated.emit(2)
    stage.settle()
    dialog.columns.select((False, "p99 (ms)"))
    stage.settle()
    return dialog


def _mapped(stage: Stage) -> QWidget:
    """Return the window with the results of a table that was read with its mapping, which it names."""
    window, page = _opened(stage)
    columns = {
        "Host": "host", "Date": "date", "bs": "config", "IOPS": "IOPS:IOPS:higher", "p99 (ms)": "p99:ms:lower",
        "CPU": "ignore", "Note": "ignore",
    }  # fmt: skip
    stage.workstation.saved_mappings.keep(TableMapping(frozenset(columns), columns, Decimal.COMMA, "nightly fio"))
    page.judge([OutputText("results.csv", TABLE.replace("inf", "972,1").encode())])
    stage.settle()
    for mapping in stage.workstation.saved_mappings.read():  # the other pictures are of tables without one
        stage.workstation.saved_mappings.forget(mapping.name)
    page.table.selectRow(0)
    stage.settle()
    return window


def _names_in_rows(stage: Stage) -> QWidget:
    """Return the dialog for a table of one figure a row, whose metrics are named in a column."""
    _, page = _opened(stage)
    text = "host,metric,value,unit\nweb-1,IOPS,12400,IOPS\nweb-1,p99,0.82,ms\nweb-2,IOPS,11900,IOPS\nweb-2,p99,0.9,ms\n"
    page.judge([OutputText("tidy.csv", text.encode())])
    stage.settle()
    dialog = page.findChild(MappingDialog)
    assert dialog is not None
    dialog.columns.select((True, "p99"))
    stage.settle()
    return dialog


def _unmapped(stage: Stage) -> QWidget:
    """Return the window after the dialog was closed without a mapping."""
    window, dialog = _mapping(stage)
    dialog.reject()
    stage.settle()
    return window


SHOTS: list[Shot] = [
    ("judge-1-empty", _empty),
    ("judge-2-several", several),
    ("judge-3-undecided", _undecided),
    ("judge-4-host-data", _with_host_data),
    ("judge-5-refused", _refused),
    ("judge-6-columns", _columns),
    ("judge-7-rows-with-errors", _rows_with_errors),
    ("judge-8-unmapped", _unmapped),
    ("judge-9-mapped", _mapped),
    ("judge-10-names-in-rows", _names_in_rows),
]

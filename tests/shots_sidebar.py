"""Pictures of the sidebar: hosts measured, refused and asking, a queue, many hosts and searches, folded."""

from dataclasses import replace
from functools import partial

from PySide6.QtWidgets import QWidget

from app.hosts.hosts import ConnectReport, HostEntry
from app.questions import ConnectOutcome
from tests.shot_stage import Shot, Stage
from tests.widgets.library_runs import copied_library
from widgets.command_palette import CommandPalette
from widgets.hosts.hosts_page import HostsPage
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.run_strip import LineState, StripLine, with_questions

RUN = StripLine(
    "a", "web-1 · fio randread", "trial 2 of 6 · 4:10 left · 412k IOPS", LineState.RUNNING, figure="412k IOPS",
    left="4:10 left", hosts=("web-1",), plan="fio randread",
)  # fmt: skip
LINES = [
    RUN,
    replace(RUN, key="b", title="db-primary · sysbench", detail="trial 1 of 3", hosts=("db-primary",)),
    replace(RUN, key="c", title="web-1 · stream", detail="waits for web-1: run k3f1, about 4 min left",
            state=LineState.WAITING, hosts=("web-1",)),
    replace(RUN, key="d", title="db-replica · fio", detail="ended early", state=LineState.EARLY, hosts=("db-replica",)),
    replace(RUN, key="e", title="web-1 · stream", detail="finished", state=LineState.DONE, hosts=("web-1",)),
]  # fmt: skip


def _busy(stage: Stage) -> MainWindow:
    copied_library(stage.workstation)
    stage.workstation.save_search("slow disks", "suite:fio iops<10k")
    window = stage.window()
    page = window.pages.page(PageName.HOSTS)
    assert isinstance(page, HostsPage)
    page.connections.of("db-replica").report = ConnectReport("db-replica", ConnectOutcome.TIMED_OUT, "No answer.")
    page.connections.of("bastion").report = ConnectReport("bastion", ConnectOutcome.CONNECTED, "", seconds=0.12)
    page.connections.changed.emit("bastion")
    window.show_lines(with_questions(LINES, {"db-primary"}), "a")
    window.queue_bar.show_entries([("q3k7m", "disk on db-replica")])
    stage.settle()
    return window


def _folded(stage: Stage) -> QWidget:
    window = _busy(stage)
    window.frame.set_folded(folded=True)
    stage.settle()
    return window


def _open(stage: Stage) -> QWidget:
    window = _busy(stage)
    window.frame.set_folded(folded=False)
    stage.settle()
    return window


def _many(stage: Stage) -> QWidget:
    hosts = [f"prod-eu-west-1-fleet-node-{number:02}.internal.example.org" for number in range(20)]
    stage.workstation.save_hosts(*(HostEntry(host, host_name="192.0.2.9") for host in hosts))
    for number in range(30):
        stage.workstation.save_search(f"search {number:02} of randread with iodepth 32", f"rw=randread trials>{number}")
    window = stage.window()
    window.frame.set_folded(folded=False)
    window.sidebar.view.setFocus()
    window.sidebar.view.setCurrentIndex(window.sidebar.view.content.index(2, 0))
    stage.settle()
    for host in hosts:
        stage.workstation.remove_host(host)
    return window


def _palette(text: str, stage: Stage) -> QWidget:
    window = _busy(stage)
    window.open_palette()
    palette = window.findChildren(CommandPalette)[0]
    palette.field.setText(text)
    stage.settle()
    return window


def _undo(stage: Stage) -> QWidget:
    window = stage.window()
    page = window.pages.page(PageName.HOSTS)
    assert isinstance(page, HostsPage)
    page.table.select("web-1")
    page.actions_of_hosts.remove.trigger()
    stage.settle()
    return window


SHOTS: list[Shot] = [
    ("sidebar-busy", _busy),
    ("sidebar-folded", _folded),
    ("sidebar-open", _open),
    ("sidebar-many", _many),
    ("sidebar-undo", _undo),
    ("palette-few", partial(_palette, "host")),
    ("palette-none", partial(_palette, "no such thing")),
]

"""Pictures of the wizard: every page, with bad input, with issues, with a tool to install."""

import shlex
from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from app.plans.plan import LOCAL
from app.plans.presets import fill, preset
from app.plans.recent import RecentPlan
from suites.registry import suite
from tests.shot_stage import Shot, Stage, opened
from widgets import jobs
from widgets.main_window import MainWindow
from widgets.wizard.editors import Editor
from widgets.wizard.install_dialog import InstallDialog
from widgets.wizard.measure_page import PARAMETERS, PLAN, REVIEW, MeasurePage
from widgets.wizard.plan_start import AnswersDialog


def _opened(stage: Stage) -> tuple[MainWindow, MeasurePage]:
    window = stage.window()
    page = opened(window, MeasurePage)
    _settle(stage, page)
    return window, page


def _settle(stage: Stage, page: MeasurePage) -> None:
    stage.settle(lambda: not jobs.running() and not page.assessor.busy and not page.reader.waiting)


def _planned(stage: Stage, step: int, *hosts: str) -> tuple[MainWindow, MeasurePage]:
    window, page = _opened(stage)
    page.begin([LOCAL, *hosts])
    _settle(stage, page)
    for name in ("sysbench-cpu", "fio", "iperf3"):
        page.draft.add_step(suite(name))
    page.draft.add_step(suite("fio")).name = "fio in sequence"
    page.plan_step.changed.emit()
    _settle(stage, page)
    page.go(step)
    return window, page


def _start(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.begin([])
    recent = (
        RecentPlan("fio randread 4k on web-1", ("web-1",), ("fio",), "2026-11-26T10:00:00Z", run="1"),
        RecentPlan(
            "nightly", ("web-1", "web-2", LOCAL), ("fio", "sysbench-cpu"), "2026-11-20T10:00:00Z", path="/n.toml"
        ),
    )
    page.plan_step.tests.set_recent(recent)
    return window


def _searched(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.begin([LOCAL])
    _settle(stage, page)
    page.plan_step.tests.field.setText("disk")
    return window


def _plan(stage: Stage) -> QWidget:
    return _planned(stage, PLAN, "bastion")[0]


def _parameters(stage: Stage) -> QWidget:
    window, page = _planned(stage, PARAMETERS)
    page.parameters.tabs.setCurrentIndex(1)
    page.parameters.row("rw").editor.field.setFocus()
    _settle(stage, page)
    return window


def _one(stage: Stage) -> tuple[MainWindow, MeasurePage]:
    window, page = _opened(stage)
    page.begin([LOCAL])
    _settle(stage, page)
    page.plan_step.tests.add("fio")
    _settle(stage, page)
    page.go(PARAMETERS)
    return window, page


def _all_parameters(stage: Stage) -> QWidget:
    window, page = _one(stage)
    page.parameters.all.setChecked(True)
    return window


def _by_host(stage: Stage) -> QWidget:
    """Show a directory of its own for each host."""
    window, page = _opened(stage)
    page.begin(["web-1", "db-primary"])
    page.plan_step.tests.add("fio")
    page.go(PARAMETERS)
    _settle(stage, page)
    page.parameters.row("directory").edited.emit("directory", "/srv/data")
    page.parameters.row("directory@db-primary").edited.emit("directory@db-primary", "/var/lib/postgresql")
    _settle(stage, page)
    return window


def _filtered(stage: Stage) -> QWidget:
    window, page = _one(stage)
    page.parameters.filter.setText("steady")
    return window


def _pasted(stage: Stage) -> QWidget:
    window, page = _one(stage)
    page.parameters.command.edit.setPlainText("fio --name=x --rw=randwrite --bs=16k --zonemode=zbd --iodepth=8")
    _settle(stage, page)
    return window


def _job_file(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.begin([LOCAL])
    _settle(stage, page)
    step = page.plan_step.tests.add("fio-job")
    step.form.set_text("job", "[global]\nsize=256m\ndirect=1\nruntime=${TIME}\n\n[random]\nrw=randread\nbs=4k\n")
    page.plan_step.changed.emit()
    _settle(stage, page)
    page.go(PARAMETERS)
    return window


def _parameters_refused(stage: Stage) -> QWidget:
    window, page = _one(stage)
    for name, text in (("block_size", "4 potatoes"), ("iodepth", "100000")):
        editor = page.parameters.row(name).editor
        editor.set_text(text)
        editor.edited.emit(text)
    page.parameters.row("block_size").editor.field.setFocus()
    _settle(stage, page)
    return window


def _with_issues(stage: Stage, step: int) -> tuple[MainWindow, MeasurePage]:
    window, page = _planned(stage, PARAMETERS)
    for each in page.draft.steps:
        each.form.use_defaults()
    page.draft.repetition.set_text("trials", "3")
    page.plan_step.changed.emit()
    _settle(stage, page)
    page.go(step)
    page.issues.set_folded(folded=False)
    return window, page


def _issues(stage: Stage) -> QWidget:
    return _with_issues(stage, PARAMETERS)[0]


def _issues_fixed(stage: Stage) -> QWidget:
    window, page = _with_issues(stage, REVIEW)
    page.issues.fix_all.click()
    _settle(stage, page)
    return window


def _review(stage: Stage) -> QWidget:
    window, page = _planned(stage, REVIEW, "bastion")
    page.review.table.selectRow(1)
    return window


def _review_one(stage: Stage) -> QWidget:
    window, page = _one(stage)
    page.go(REVIEW)
    return window


def _repeated(stage: Stage, **texts: str) -> QWidget:
    window, page = _planned(stage, REVIEW)
    for name, text in texts.items():
        field = page.review.repetition.fields[name]
        field.editor.set_text(text)
        field.editor.edited.emit(text)
    stage.settle()
    _settle(stage, page)
    return window


def _asked(name: str, **given: str) -> Callable[[Stage], QWidget]:
    def asked(stage: Stage) -> QWidget:
        _window, page = _opened(stage)
        dialog = stage.keep(AnswersDialog(preset(name), [LOCAL, "web-1"], parent=page))
        for field, text in given.items():
            editor = dialog.fields[field]
            if isinstance(editor, Editor):
                editor.set_text(text)
                editor.edited.emit(text)
        dialog.show()
        return dialog

    return asked


def _filled(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.begin([LOCAL])
    _settle(stage, page)
    page.plan_start.filled.emit(fill(preset("healthy-instance"), [LOCAL], {}), "Network not tested: no peer.")
    _settle(stage, page)
    return window


def _install(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    script = "apt-get update; DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends fio"
    command = shlex.join(["sudo", "sh", "-c", script])
    dialog = stage.keep(InstallDialog(stage.workstation, window.asker, "web-1", command, page))
    dialog.show()
    return dialog


SHOTS: list[Shot] = [
    ("measure-1-start", _start),
    ("measure-1-searched", _searched),
    ("measure-1-plan", _plan),
    ("measure-1-asked", _asked("provisioned-iops")),
    ("measure-1-asked-wrong", _asked("provisioned-iops", iops="4000", throughput="fast")),
    ("measure-1-asked-peer", _asked("healthy-instance")),
    ("measure-2-parameters", _parameters),
    ("measure-2-all", _all_parameters),
    ("measure-2-by-host", _by_host),
    ("measure-2-filtered", _filtered),
    ("measure-2-pasted", _pasted),
    ("measure-2-refused", _parameters_refused),
    ("measure-2-job-file", _job_file),
    ("measure-2-issues", _issues),
    ("measure-3-review", _review),
    ("measure-3-one", _review_one),
    ("measure-3-fixed", _issues_fixed),
    ("measure-3-filled", _filled),
    ("measure-3-until", lambda stage: _repeated(stage, policy="until-interval", order="abba")),
    ("measure-3-until-verdict", lambda stage: _repeated(stage, policy="until-verdict", baseline="weekly")),
    ("measure-install", _install),
]

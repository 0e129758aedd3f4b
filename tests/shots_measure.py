"""Pictures of the wizard: every step, with bad input, with findings, with a tool to install."""

import shlex
from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from app.plans.plan import LOCAL
from app.plans.presets import fill, preset
from suites.vocab import Severity
from tests.shot_stage import Shot, Stage
from widgets import jobs
from widgets.main_window import MainWindow
from widgets.page import PageName
from widgets.wizard.editors import Editor
from widgets.wizard.install_dialog import InstallDialog
from widgets.wizard.measure_page import FINDINGS, PARAMETERS, REVIEW, TESTS, MeasurePage
from widgets.wizard.plan_start import AnswersDialog


def _opened(stage: Stage) -> tuple[MainWindow, MeasurePage]:
    window = stage.window()
    page = window.show_page(PageName.MEASURE)
    if not isinstance(page, MeasurePage):
        raise TypeError("the wizard could not be opened")
    _settle(stage, page)
    return window, page


def _settle(stage: Stage, page: MeasurePage) -> None:
    stage.settle(lambda: not jobs.running() and not page.assessor.busy and not page.reader.waiting)


def _planned(stage: Stage, step: int, *hosts: str) -> tuple[MainWindow, MeasurePage]:
    window, page = _opened(stage)
    page.begin([LOCAL, *hosts])
    _settle(stage, page)
    for suite in ("sysbench-cpu", "fio", "iperf3"):
        page.draft.add_step(page.tests.cards[suite].suite)
    page.draft.add_step(page.tests.cards["fio"].suite).name = "fio in sequence"
    page.tests.changed.emit()
    _settle(stage, page)
    page.go(step)
    return window, page


def _hosts(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.begin([LOCAL, "bastion"])
    _settle(stage, page)
    return window


def _tests(stage: Stage) -> QWidget:
    return _planned(stage, TESTS)[0]


def _parameters(stage: Stage) -> QWidget:
    window, page = _planned(stage, PARAMETERS)
    page.parameters.tabs.setCurrentIndex(1)
    page.parameters.row("rw").editor.setFocus()
    return window


def _job_file(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.begin([LOCAL])
    _settle(stage, page)
    step = page.draft.add_step(page.tests.cards["fio-job"].suite)
    step.form.set_text("job", "[global]\nsize=256m\ndirect=1\nruntime=${TIME}\n\n[random]\nrw=randread\nbs=4k\n")
    page.tests.changed.emit()
    _settle(stage, page)
    page.go(PARAMETERS)
    return window


def _parameters_refused(stage: Stage) -> QWidget:
    window, page = _planned(stage, PARAMETERS)
    page.parameters.tabs.setCurrentIndex(1)
    for name, text in (("block_size", "4 potatoes"), ("iodepth", "100000")):
        editor = page.parameters.row(name).editor
        editor.set_text(text)
        editor.edited.emit(text)
    page.parameters.row("block_size").editor.setFocus()
    _settle(stage, page)
    return window


def _findings(stage: Stage) -> QWidget:
    return _with_findings(stage)[0]


def _with_findings(stage: Stage) -> tuple[MainWindow, MeasurePage]:
    window, page = _planned(stage, PARAMETERS)
    for step in page.draft.steps:
        step.form.use_defaults()
    page.draft.repetition.set_text("trials", "3")
    page.tests.changed.emit()
    _settle(stage, page)
    page.go(FINDINGS)
    return window, page


def _findings_applied(stage: Stage) -> QWidget:
    window, page = _with_findings(stage)
    card = next(card for card in page.findings.list.cards() if card.finding.changes)
    card.buttons[0].click()
    _settle(stage, page)
    return window


def _findings_acknowledged(stage: Stage) -> QWidget:
    window, page = _with_findings(stage)
    for card in page.findings.list.cards()[1:3]:
        if card.finding.severity is not Severity.ERROR:
            card.acknowledge_requested.emit(card.group, "The default is what is asked for: it stands in our contract.")
    _settle(stage, page)
    asked = next(card for card in page.findings.list.cards() if card.finding.severity is not Severity.ERROR)
    asked.acknowledge.click()
    asked.reason_field.setText("A first look")
    return window


def _acknowledged(stage: Stage) -> QWidget:
    window, page = _with_findings(stage)
    for card in page.findings.list.cards():
        if card.finding.severity is not Severity.ERROR:
            card.acknowledge_requested.emit(card.group, "The default is what is asked for: it stands in our contract.")
    _settle(stage, page)
    return window


def _review_changed(stage: Stage) -> QWidget:
    window, page = _with_findings(stage)
    card = next(card for card in page.findings.list.cards() if card.finding.changes)
    card.buttons[0].click()
    _settle(stage, page)
    noted = next(card for card in page.findings.list.cards() if card.finding.id == "few-trials")
    noted.acknowledge_requested.emit(noted.group, "A first look")
    _settle(stage, page)
    page.go(REVIEW)
    return window


def _no_findings(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.begin([LOCAL])
    _settle(stage, page)
    page.draft.add_step(page.tests.cards["sysbench-cpu"].suite)
    page.tests.changed.emit()
    _settle(stage, page)
    page.go(FINDINGS)
    return window


def _review(stage: Stage) -> QWidget:
    window, page = _planned(stage, REVIEW)
    page.review.table.selectRow(1)
    return window


def _until(stage: Stage) -> QWidget:
    window, page = _planned(stage, REVIEW)
    _repeat(page, policy="until-interval", order="abba")
    stage.settle()
    _settle(stage, page)
    return window


def _until_verdict(stage: Stage) -> QWidget:
    window, page = _planned(stage, REVIEW)
    _repeat(page, policy="until-verdict", baseline="weekly")
    stage.settle()
    _settle(stage, page)
    return window


def _repeat(page: MeasurePage, **texts: str) -> None:
    for name, text in texts.items():
        field = page.review.repetition.fields[name]
        field.editor.set_text(text)
        field.editor.edited.emit(text)


def _start(stage: Stage) -> QWidget:
    return _opened(stage)[0]


def _tests_none(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.begin([LOCAL])
    _settle(stage, page)
    page.go(TESTS)
    return window


def _questions(stage: Stage) -> QWidget:
    window, page = _opened(stage)
    page.plan_start.show_questions()
    return window


def _asked(name: str, **given: str) -> Callable[[Stage], QWidget]:
    def asked(stage: Stage) -> QWidget:
        _window, page = _opened(stage)
        dialog = stage.keep(AnswersDialog(preset(name), [LOCAL, "web-1"], ask_host=True, parent=page))
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
    chosen = preset("healthy-instance")
    page.plan_start.filled.emit(fill(chosen, [LOCAL], {}), "Network not tested: no peer.")
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
    ("measure-0-start", _start),
    ("measure-0-questions", _questions),
    ("measure-0-asked", _asked("provisioned-iops")),
    ("measure-0-asked-wrong", _asked("provisioned-iops", iops="4000", throughput="fast")),
    ("measure-0-asked-peer", _asked("healthy-instance")),
    ("measure-0-filled", _filled),
    ("measure-1-hosts", _hosts),
    ("measure-2-tests-none", _tests_none),
    ("measure-2-tests", _tests),
    ("measure-3-parameters", _parameters),
    ("measure-3-parameters-refused", _parameters_refused),
    ("measure-3-job-file", _job_file),
    ("measure-4-findings", _findings),
    ("measure-4-findings-applied", _findings_applied),
    ("measure-4-findings-acknowledged", _findings_acknowledged),
    ("measure-4-all-acknowledged", _acknowledged),
    ("measure-4-no-findings", _no_findings),
    ("measure-5-review", _review),
    ("measure-5-review-changed", _review_changed),
    ("measure-5-until", _until),
    ("measure-5-until-verdict", _until_verdict),
    ("measure-install", _install),
]

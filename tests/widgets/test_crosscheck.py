"""Another tool is proposed with what it takes over, its plan is handed on, and what came of it stands on the run."""

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.calibration.calibrate import CalibrationDone, CalibrationError
from app.calibration.sessions import SessionNoise
from app.crosscheck.report import UNEXPLAINED
from app.events import Activity, Progress
from app.plans.plan import LOCAL, Plan
from app.questions import RefusingAsker
from app.services import Workstation
from tests.app import run_events
from tests.app.run_events import IOPS, READ
from tests.app.test_calibration import calibration
from tests.app.test_crosscheck import of_disk
from tests.messages import messages
from widgets.crosscheck import AgreementPanel, CrossCheckDialog
from widgets.hosts.calibrate_dialog import CalibrateDialog

MESSAGES = messages("widgets", "test_crosscheck")

RUN = "20261120-141530-k3f9"


@pytest.fixture
def workstation(tmp_path: Path) -> Workstation:
    """Return one with a run of fio in its library."""
    made = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    with made._store.recorder(RUN) as recorder:
        for event in run_events.run_events(RUN):
            recorder.record(event)
    return made


def test_a_tool_is_proposed_and_its_plan_handed_over(qtbot: QtBot, workstation: Workstation) -> None:
    dialog = CrossCheckDialog(workstation, RUN)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: dialog.proposal is not None)
    assert dialog.tool.count() == 4  # the nearest, and three by name
    dialog.tool.setCurrentIndex(dialog.tool.findData("ioping"))
    dialog.tool.activated.emit(dialog.tool.currentIndex())
    qtbot.waitUntil(lambda: "ioping checks fio" in dialog.lines.text())
    with qtbot.waitSignal(dialog.plan_chosen) as chosen:
        dialog.open_button.click()
    (plan,) = chosen.args
    assert isinstance(plan, Plan)
    assert [step.suite_id for step in plan.steps] == ["fio", "ioping"]


def test_a_run_that_cannot_be_read_is_said(qtbot: QtBot, workstation: Workstation) -> None:
    dialog = CrossCheckDialog(workstation, "none")
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: "There is no run" in dialog.notice.text())
    assert not dialog.open_button.isEnabled()


def test_the_panel_says_whether_they_agree_and_why(qtbot: QtBot) -> None:
    from app.crosscheck.agreement import agreements

    panel = AgreementPanel()
    qtbot.addWidget(panel)
    panel.show_agreements(agreements(of_disk(1.0)))
    assert "They agree within ±5 %" in panel.lines[0]
    panel.show_agreements(agreements(of_disk(3.0)))
    assert MESSAGES["they_differ_by_more_than_5"] in panel.lines[0]
    assert panel.lines[-1] == UNEXPLAINED


def test_the_newest_calibration_is_shown_and_another_can_be_made(
    qtbot: QtBot, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = calibration(LOCAL)
    noise = SessionNoise(IOPS, READ, 4, 40, 0.012, 0.013)
    monkeypatch.setattr(workstation, "session_noise", lambda _made: (noise,))
    events = [Activity("connecting"), Progress(1, 21, 20.0, exact=True), CalibrationDone(made)]
    monkeypatch.setattr(workstation, "calibrate", lambda *_given: iter(events))
    dialog = CalibrateDialog(workstation, RefusingAsker(), LOCAL)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: "not calibrated" in dialog._when.text())
    dialog.start_button.click()
    assert not dialog.start_button.isEnabled()
    qtbot.waitUntil(lambda: dialog.shown == made and dialog.start_button.isEnabled())
    assert dialog.lines.text().startswith("I/O operations, to show 5 %: 3 sessions")
    assert "4 sessions is rough" in dialog.lines.text()
    assert dialog.instrument.content.index(0, 1).data() == "tsc"
    assert [dialog.noise.content.at(0, name).data() for name in ("CoV within", "CoV between")] == ["1.2 %", "1.3 %"]


def test_a_calibration_is_stopped_with_its_window(
    qtbot: QtBot, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def calibrate(_host: str, _wanted: object, _asker: object, control: object) -> object:
        yield Activity("connecting")
        control.wait(10)  # type: ignore[attr-defined] # the workstation's own, which ends when it is stopped
        seen.append(control)
        raise CalibrationError("It was stopped.", "")

    monkeypatch.setattr(workstation, "calibrate", calibrate)
    dialog = CalibrateDialog(workstation, RefusingAsker(), LOCAL)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.calibrate()
    qtbot.waitUntil(lambda: "Connecting" in dialog.working._label.text())
    dialog.reject()
    qtbot.waitUntil(lambda: bool(seen))
    qtbot.waitUntil(dialog.start_button.isEnabled)

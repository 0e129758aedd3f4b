"""A host is calibrated for real: its clock is read, its telemetry stopped and begun again, its A/A test kept."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from app.calibration.calibrate import CalibrationDone, CalibrationError, CalibrationRequest
from app.calibration.calibration import DISTURBED, counted_calibration
from app.events import TelemetryRead, TrialEnded, TrialStarted
from app.plans.plan import LOCAL
from app.runs.control import Control
from app.services import Workstation
from remote.questions import RefusingAsker
from tests.lab_sshd import LabHost

pytestmark = pytest.mark.alone


def calibrated(workstation: Workstation, wanted: CalibrationRequest, control: Control) -> list[object]:
    return list(workstation.calibrate(LOCAL, wanted, RefusingAsker(), control))


@pytest.mark.slow
def test_this_computer_is_calibrated_and_its_trials_are_an_ordinary_run(tmp_path: Path) -> None:
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    events = calibrated(workstation, CalibrationRequest("sysbench-cpu", 6, (("time", "1 s"),)), Control())
    last = events[-1]
    assert isinstance(last, CalibrationDone)
    found = last.calibration
    assert found.instrument.absent == {}
    instrument = found.instrument
    assert 1e-9 <= (instrument.clock_resolution or 0) < 0.01
    assert 0 < (instrument.clock_cost or 0) < (instrument.sleep_late_worst or 0) < 20
    assert 0 < (instrument.telemetry_cost or 0) < 0.5
    assert (found.suite, found.noise[0].n) == ("sysbench-cpu", 6)
    assert found.telemetry is not None
    record = workstation.load(found.run)
    assert [len(record.trials_of(step.name)) for step in record.plan.steps] == [6, 6]
    assert workstation.calibrations(LOCAL) == (found,)
    noise = workstation.session_noise(found)
    assert [(one.sessions, one.n, one.session) for one in noise] == [(1, 6, None)] * len(noise)
    assert noise[0].metric.name == found.noise[0].metric
    assert noise[0].trial == pytest.approx(found.noise[0].cov, rel=0.3)
    watched = _watched(events)
    assert watched["sysbench-cpu"]
    assert not watched["sysbench-cpu, not watched"]
    workstation.close()


def _watched(events: list[object]) -> dict[str, bool]:
    """Return for each step whether telemetry came in the second half of any of its trials."""
    seen: dict[str, bool] = {}
    clock, step = 0.0, ""
    for event in events:
        if isinstance(event, TrialStarted):
            step, clock = event.trial.step, event.trial.clock or 0.0
            seen.setdefault(step, False)
        elif isinstance(event, TrialEnded):
            step = ""
        elif isinstance(event, TelemetryRead) and step:
            seen[step] = seen[step] or any(sample.time > clock + 0.5 for sample in event.samples)
    return seen


@pytest.mark.slow
def test_one_that_is_stopped_calibrates_nothing_and_keeps_its_run(tmp_path: Path) -> None:
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    control = Control()
    events = workstation.calibrate(
        LOCAL, CalibrationRequest("sysbench-cpu", 6, (("time", "1 s"),)), RefusingAsker(), control
    )
    with pytest.raises(CalibrationError, match=r"Calibration of .* stopped"):
        _until_stopped(events, control)
    assert workstation.calibrations() == ()
    assert len(workstation.runs()) == 1
    workstation.close()


@pytest.mark.slow
def test_a_host_over_ssh_is_calibrated_with_our_own_probe(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    wanted = CalibrationRequest(
        "compute", 6, (("time", "1 s"), ("operation", "integer"), ("threads", "1"), ("sweep", "single"))
    )
    events = list(workstation.calibrate("lab", wanted, RefusingAsker(), Control()))
    last = events[-1]
    assert isinstance(last, CalibrationDone)
    instrument = last.calibration.instrument
    assert 0 < (instrument.round_trip or 0) <= (instrument.round_trip_worst or 0)
    assert instrument.clock_resolution is not None
    assert last.calibration.host == "lab"
    run = workstation.load(last.calibration.run)
    assert run.calibrations == (last.calibration,)
    counted = last.calibration if last.calibration.cov < DISTURBED else None
    assert counted_calibration(run, "lab", last.calibration.suite) == counted
    workstation.close()


def _until_stopped(events: Iterable[object], control: Control) -> None:
    for event in events:
        if isinstance(event, TrialStarted):
            control.stop()


@pytest.mark.parametrize("wanted", [CalibrationRequest(trials=3), CalibrationRequest("iperf3")])
def test_what_cannot_be_calibrated_with_is_refused_before_anything_runs(
    tmp_path: Path, wanted: CalibrationRequest
) -> None:
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    with pytest.raises(CalibrationError):
        calibrated(workstation, wanted, Control())
    assert workstation.runs() == []
    workstation.close()

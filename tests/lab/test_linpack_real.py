"""HPL out of hpcc, run for real over SSH: the sizes asked for, their residuals checked."""

import shutil
from pathlib import Path

import pytest

from app.events import State
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import LabHost
from tests.messages import messages
from tests.suites.captured_outputs import figures

MESSAGES = messages("lab", "test_linpack_real")

pytestmark = pytest.mark.skipif(
    shutil.which("hpcc") is None or shutil.which("mpirun") is None, reason="hpcc or mpirun is not installed"
)


@pytest.mark.slow
def test_the_sizes_asked_for_are_solved(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "linpack", "lab", sizes="200, 400", threads=2)
        record = workstation.load("last")
        shown = workstation.output(record.summary.id, 1)["stdout"].decode()
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert {name for name in figures(ended.parsed) if name.startswith("linpack")} == {
        "linpack",
        "linpack_by_size 200",
        "linpack_by_size 400",
    }
    assert "residual checks" in shown
    assert ended.parsed.tool_version is not None
    assert "HPLinpack" in ended.parsed.tool_version


@pytest.mark.slow
def test_a_program_of_the_users_that_is_missing_is_named(tmp_path: Path) -> None:
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "linpack", "local", program="intel", path="/nowhere/xlinpack", threads=1)
    assert ended.state is State.FAILED
    assert MESSAGES["no_such_file_or_directory"] in ended.reason

"""UnixBench's commands on a host: a stand-in for Run prints a captured report, in a folder and out of an archive."""

import shutil
import subprocess
from pathlib import Path

import pytest

from app.events import State
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import LabHost
from tests.messages import messages
from tests.suites.captured_outputs import figures

MESSAGES = messages("lab", "test_unixbench_stand_in")

REPORT = Path(__file__).parent.parent / "data/unixbench/6.0.0/index_c1.stdout"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder like UnixBench's, whose Run leaves its words and its directories beside the results."""
    made = tmp_path / "byte-unixbench" / "UnixBench"
    made.mkdir(parents=True)
    (made / "report").write_bytes(REPORT.read_bytes())
    (made / "Makefile").write_text("all:\n\ttouch built\n")
    run = made / "Run"
    run.write_text('#!/bin/sh\necho "$@" >"$UB_RESULTDIR/words" && test -d "$UB_TMPDIR" && cat report\n')
    run.chmod(0o755)
    return made


@pytest.mark.slow
def test_it_runs_where_the_user_has_it(lab_host: LabHost, folder: Path, tmp_path: Path) -> None:
    lab_host.add_to_home()
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "unixbench", "lab", folder=str(folder), iterations=1, copies="single")
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert figures(ended.parsed)["index 1"] == 1036.8
    assert sorted(path.name for path in folder.iterdir()) == ["Makefile", "Run", "report"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_an_archive_is_copied_unpacked_built_and_run(lab_host: LabHost, folder: Path, tmp_path: Path) -> None:
    lab_host.add_to_home()
    archive = tmp_path / "unixbench.tar.gz"
    subprocess.run(["tar", "-czf", archive, "-C", tmp_path, "byte-unixbench"], check=True)
    shutil.rmtree(folder)
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "unixbench", "lab", archive=str(archive), iterations=1, copies="single")
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert [path.name for path in lab_host.home.iterdir() if path.name.startswith("benchwright")] == []


@pytest.mark.slow
def test_an_archive_of_something_else_is_said(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    archive = tmp_path / "other.tar.gz"
    subprocess.run(["tar", "-czf", archive, "-C", tmp_path, "other"], check=True)
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "unixbench", "local", archive=str(archive))
    assert ended.state is State.FAILED
    assert MESSAGES["no_unixbench_in_this_archive"] in ended.reason


@pytest.mark.slow
def test_an_archive_that_is_missing_is_named(tmp_path: Path) -> None:
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "unixbench", "local", archive="/nowhere/ub.tgz")
    assert "/nowhere/ub.tgz on this computer cannot be read" in ended.reason

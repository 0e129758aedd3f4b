"""stress-ng, run for real over SSH: its rates stand in the same order of size as those of our own kernels."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from app.events import State
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import LabHost
from tests.suites.captured_outputs import figures

pytestmark = pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed")


@pytest.mark.slow
def test_memrate_over_ssh(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    given: dict[str, Any] = {"method": "memrate", "memrate_bytes": "16 MiB", "time": 2, "threads": 1}
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "stress-ng", "lab", **given)
        ours, _ = run_once(
            workstation, "memory-blocks", "local", operations="write", patterns="sequential", blocks="1 MiB",
            memory="16 MiB", largest_set=0, time=1,
        )  # fmt: skip
    assert (ended.state, ended.reason) == (State.DONE, "")
    written = figures(ended.parsed)["write_bandwidth"] * 2**20 / 1e6
    assert 0.1 < ours.parsed.figures[0].value / written < 10


@pytest.mark.slow
def test_a_run_too_short_gives_no_figure(tmp_path: Path) -> None:
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "stress-ng", "local", method="stream", time=1, threads=1)
    assert ended.state is State.FAILED
    assert ended.parsed.figures == ()
    assert "too short for a" in ended.reason

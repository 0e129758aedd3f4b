"""The STREAM kernels, run for real: built on the host or here, and in agreement with others' measurements."""

import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.events import SampleRead, State
from suites.vocab import labels
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import LabHost
from tests.messages import messages

MESSAGES = messages("lab", "test_stream_real")

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

ARRAY = 64 * 2**20


@pytest.mark.slow
@pytest.mark.parametrize("build", ["shipped", *(pytest.param(one, marks=pytest.mark.slow) for one in ("host", "here"))])
def test_a_run_over_ssh_sweeps_and_leaves_nothing(lab_host: LabHost, tmp_path: Path, build: str) -> None:
    lab_host.add_to_home()
    with workstation_in(tmp_path) as workstation:
        given: dict[str, Any] = {"array_size": "16 MiB", "times": 3, "threads": 2, "build": build}
        ended, events = run_once(workstation, "stream", "lab", **given)
        record = workstation.load("last")
    assert (ended.state, ended.reason) == (State.DONE, "")
    triads = [figure for figure in ended.parsed.figures if figure.metric.name == "triad"]
    assert {figure.labels for figure in triads} == {labels(threads="1"), labels(threads="2")}
    assert any(isinstance(event, SampleRead) for event in events)
    version = record.trials[0].trial.tool_version
    assert version is not None
    assert version.startswith("2, zig cc " if build == "shipped" else "2, gcc ")
    assert ("-static" in version, "-march=native" in version) == (build != "host", build == "host")
    assert ("shipped, sha256 " in version) == (build == "shipped")
    assert [path for path in lab_host.home.iterdir() if path.name.startswith("benchwright")] == []


@pytest.mark.alone
@pytest.mark.slow
def test_copy_agrees_with_numpy(tmp_path: Path) -> None:
    """Both copy arrays that no cache holds, with one thread; numpy counts each byte read and written."""
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "stream", "local", array_size=ARRAY * 2, times=10, threads=1, sweep="single")
    (ours,) = (figure.value for figure in ended.parsed.figures if figure.metric.name == "copy")
    source, target = np.ones(ARRAY // 4), np.zeros(ARRAY // 4)
    best = min(_seconds(source, target) for _ in range(10))
    numpys = 2 * source.nbytes / best / 1e6
    assert 0.4 < ours / numpys < 2.5


def _seconds(source: np.ndarray, target: np.ndarray) -> float:
    began = time.perf_counter()
    np.copyto(target, source)
    return time.perf_counter() - began


@pytest.mark.slow
def test_a_program_of_the_users_that_is_missing_is_named(tmp_path: Path) -> None:
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "stream", "local", program="/nowhere/stream", threads=1)
    assert ended.state is State.FAILED
    assert MESSAGES["no_such_file_or_directory"] in ended.reason


@pytest.mark.slow
def test_a_program_of_the_users_runs_once_for_each_thread_count(tmp_path: Path) -> None:
    """A stand-in prints a captured output with the thread count it was told, as the original does."""
    captured = Path(__file__).parent.parent / "data/stream/5.10/one_thread.stdout"
    program = tmp_path / "stream"
    program.write_text(f'#!/bin/sh\nsed "s/counted = 1/counted = $OMP_NUM_THREADS/" {captured}\n')
    program.chmod(0o755)
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "stream", "local", program=str(program), threads=4, sweep="doubling")
    assert ended.state is State.DONE
    found = {dict(figure.labels).get("threads") for figure in ended.parsed.figures}
    assert found == {None, "1", "2", "4"}


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
def test_writing_agrees_with_sysbench(tmp_path: Path) -> None:
    """Both write to memory that no cache holds: scale writes half of the bytes it counts, sysbench all of them."""
    with workstation_in(tmp_path) as workstation:
        ours, _ = run_once(workstation, "stream", "local", array_size="128 MiB", times=10, threads=1, sweep="single")
        words: dict[str, Any] = {"block_size": "128 MiB", "total_size": "100 TiB", "time": 1}
        theirs, _ = run_once(workstation, "sysbench-memory", "local", **words)
    (scale,) = (figure.value for figure in ours.parsed.figures if figure.metric.name == "scale")
    written = theirs.parsed.figures[0].value * 2**20 / 1e6
    assert 0.2 < scale / 2 / written < 5


@pytest.mark.slow
def test_the_compiler_is_that_of_the_host(tmp_path: Path) -> None:
    reported = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "stream", "local", array_size="1 MiB", times=2, threads=1, build="host")
    assert ended.parsed.tool_version is not None
    assert f"gcc {reported}" in ended.parsed.tool_version

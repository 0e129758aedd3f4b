"""The block probe, run for real: over SSH, and in agreement with numpy and with what caches do."""

import shutil
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.events import State
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import LabHost
from tests.suites.captured_outputs import figures

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

SHORT: dict[str, Any] = {"time": 0.1, "memory": "16 MiB", "largest_set": "64 KiB"}


@pytest.mark.slow
@pytest.mark.parametrize("build", ["shipped", "host", "here"])
def test_a_run_over_ssh_tries_every_combination(lab_host: LabHost, tmp_path: Path, build: str) -> None:
    lab_host.add_to_home()
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "memory-blocks", "lab", build=build, **SHORT)
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert sum(figure.metric.name == "throughput" for figure in ended.parsed.figures) == 3 * 2 * 4
    assert sum(figure.metric.name == "memory_latency" for figure in ended.parsed.figures) == 9


@pytest.mark.slow
@pytest.mark.alone
def test_copying_agrees_with_numpy(tmp_path: Path) -> None:
    """Both copy through memory with one thread, and count a copied byte once."""
    given: dict[str, Any] = {
        "operations": "copy",
        "patterns": "sequential",
        "blocks": "1 MiB",
        "memory": "64 MiB",
        "time": 1,
    }
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "memory-blocks", "local", largest_set=0, **given)
    source, target = np.ones(8 * 2**20), np.zeros(8 * 2**20)
    copied = []
    for _ in range(10):
        began = time.perf_counter()
        np.copyto(target, source)
        copied.append(source.nbytes / (time.perf_counter() - began) / 1e6)
    assert 0.2 < ended.parsed.figures[0].value / statistics.median(copied) < 5


@pytest.mark.alone
@pytest.mark.slow
def test_memory_is_slower_than_the_nearest_cache(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "operations": "read",
        "patterns": "random",
        "blocks": "64 KiB",
        "memory": "1 MiB",
        "time": 0.1,
    }
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "memory-blocks", "local", largest_set="128 MiB", **given)
    found = figures(ended.parsed)
    assert found["memory_latency 128 MiB"] > 5 * found["memory_latency 4 KiB"]

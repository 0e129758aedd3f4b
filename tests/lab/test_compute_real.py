"""The compute probe, run for real: over SSH, for many samples, and in agreement with a matrix product."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.events import State
from suites.compute import ComputeReader
from suites.probe import ProbeParser
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import LabHost
from tests.suites.captured_outputs import figures, series
from tests.suites.test_probe_sources import built

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

MATRIX_PRODUCT = """
import time
import numpy as np
one, two = np.random.rand(800, 800), np.random.rand(800, 800)
best = min(-time.perf_counter() + (one @ two, time.perf_counter())[1] for _ in range(8))
print(2 * 800**3 / best / 1e9)
"""


@pytest.mark.slow
@pytest.mark.parametrize("build", ["shipped", *(pytest.param(one, marks=pytest.mark.slow) for one in ("host", "here"))])
def test_a_run_over_ssh_gives_a_sample_a_second(lab_host: LabHost, tmp_path: Path, build: str) -> None:
    lab_host.add_to_home()
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "compute", "lab", time=1, threads=2, operation="both", build=build)
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert {
        "floating_point_rate",
        "integer_rate",
        "floating_point_rate_by_threads 1",
        "integer_rate_by_threads 2",
    } <= set(figures(ended.parsed))
    assert len(series(ended.parsed.samples, "floating_point_rate")) == 2


@pytest.mark.alone
@pytest.mark.slow
def test_six_hundred_samples_arrive(tmp_path: Path) -> None:
    """A hundred a second instead of one, so that six seconds do."""
    words = ["--time", "6", "--interval", "0.01", "--threads", "1", "--sweep", "single", "--kind", "float"]
    done = subprocess.run([built("compute", tmp_path, "-O2"), *words], capture_output=True, check=True)
    parser = ProbeParser("compute", ComputeReader())
    parser.feed(done.stdout)
    found = parser.finish(0)
    assert found.complete
    assert len(series(found.samples, "floating_point_rate")) == pytest.approx(600, abs=20)


@pytest.mark.slow
@pytest.mark.alone
def test_a_matrix_product_reaches_a_good_part_of_it(tmp_path: Path) -> None:
    """Numpy's BLAS on one thread stays below the peak that the probe measures, and comes near it."""
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "compute", "local", time=2, threads=1, operation="float", build="host")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    product = subprocess.run(
        [sys.executable, "-c", MATRIX_PRODUCT], capture_output=True, text=True, check=True, env=environment
    )
    assert 0.1 < 1e9 * float(product.stdout) / figures(ended.parsed)["floating_point_rate"] < 1.5

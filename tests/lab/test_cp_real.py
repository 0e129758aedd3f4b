"""A timed copy for real: the suite's own commands, run by hand, against what the clock prints."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from suites.base import Context, complete_values
from suites.cp import Cp

MIB = 2**20

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@pytest.mark.parametrize("read", ["cold", "cached"])
def test_the_rate_is_the_files_bytes_by_the_clock(read: str, tmp_path: Path) -> None:
    values = complete_values(Cp(), {"size": 64 * MIB, "read": read, "flush": "sync", "reflink": "never"})
    prepare, measure = Cp().commands(values, Context())
    environment = {**os.environ, "LC_ALL": "C"}
    subprocess.run(prepare.argv, cwd=tmp_path, check=True, capture_output=True, env=environment, timeout=60)
    for _again in range(2):
        done = subprocess.run(
            measure.argv,
            cwd=tmp_path,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            timeout=60,
        )
        screen = done.stdout
        parser = Cp().parser(values)
        parser.feed(screen)
        parsed = parser.finish(done.returncode)
        assert parsed.complete, screen
        found = {figure.metric.name: figure.value for figure in parsed.figures}
        (seconds,) = re.findall(rb"real ([0-9.]+)", screen)
        assert found["elapsed"] == float(seconds)
        assert found["bandwidth"] == 64 * MIB / float(seconds) / 1e6
    assert (tmp_path / "benchwright.copy").read_bytes() == (tmp_path / "benchwright.dat").read_bytes()

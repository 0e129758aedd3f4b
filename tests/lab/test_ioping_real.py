"""ioping for real: the suite's own command, run by hand, against the statistics that it prints."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from suites.base import Context, complete_values
from suites.ioping import Ioping

pytestmark = pytest.mark.skipif(shutil.which("ioping") is None, reason="ioping is not installed")


@pytest.mark.parametrize("operation", ["read", pytest.param("write", marks=pytest.mark.slow)])
def test_the_figure_is_the_one_on_the_screen_and_arrives_while_it_runs(operation: str, tmp_path: Path) -> None:
    values = complete_values(Ioping(), {"operation": operation, "count": 11, "interval": 0.3})
    (command,) = Ioping().commands(values, Context())
    parser, screen, live = Ioping().parser(values), b"", 0
    with subprocess.Popen(command.argv, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            screen += line
            found = list(parser.feed(line))
            live += len(found) if process.poll() is None else 0
        parsed = parser.finish(process.wait(timeout=30))
    assert parsed.complete, screen
    assert live >= 1
    assert len(parsed.samples) == 11
    number, unit = re.findall(rb"min/avg/max/mdev = \S+ \S+ / (\S+) (\S+) /", screen)[0]
    factor = {b"ns": 1e-3, b"us": 1, b"ms": 1e3}[unit]
    assert parsed.figures[0].value == pytest.approx(float(number) * factor)
    assert list(tmp_path.iterdir()) == []


def test_exact_figures_are_those_that_it_prints(tmp_path: Path) -> None:
    values = complete_values(Ioping(), {"count": 4, "interval": 0.1, "batch": True})
    (command,) = Ioping().commands(values, Context())
    done = subprocess.run(command.argv, cwd=tmp_path, capture_output=True, check=True, timeout=30)
    parser = Ioping().parser(values)
    parser.feed(done.stdout)
    parsed = parser.finish(0)
    assert parsed.complete
    assert parsed.figures[0].value == int(done.stdout.split()[5]) / 1000

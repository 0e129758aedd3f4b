"""The commands of sysbench's file test, run for real, give the figures a person would read off the screen."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from suites.base import Context, Purpose, complete_values
from suites.outputs import ParsedTrial
from suites.sysbench.fileio import SysbenchFileio
from tests.messages import messages

MESSAGES = messages("lab", "test_sysbench_fileio_real")

pytestmark = pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")

SUITE = SysbenchFileio()
SMALL = {"total_size": "16 MiB", "file_num": 4, "time": 2, "threads": 1}


def run(directory: Path, *, prepare: bool = True, **given: object) -> tuple[ParsedTrial, str]:
    """Run a step's commands by hand; return what is read of the last one, and its screen."""
    values = complete_values(SUITE, {**SMALL, **given})
    parser, screen = SUITE.parser(values), b""
    for command in SUITE.commands(values, Context()):
        if command.purpose is Purpose.PREPARE and not prepare:
            continue
        done = subprocess.run(
            command.argv, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=60
        )
        if command.purpose is Purpose.MEASURE:
            screen = done.stdout
            parser.feed(screen)
            return parser.finish(done.returncode), screen.decode()
    raise AssertionError("The suite measures nothing.")


@pytest.mark.parametrize(
    ("mode", "operation", "line"),
    [("rndrw", "read", r"reads/s: +([\d.]+)"), ("seqwr", "write", r"writes/s: +([\d.]+)")],
)
def test_the_figure_is_the_one_on_the_screen(mode: str, operation: str, line: str, tmp_path: Path) -> None:
    found, screen = run(tmp_path, mode=mode)
    (on_screen,) = re.findall(line, screen)
    (figure,) = [
        figure for figure in found.figures if figure.metric.name == "iops" and figure.labels[0][1] == operation
    ]
    assert found.complete
    assert figure.value == float(on_screen)
    assert found.samples
    assert len(list(tmp_path.iterdir())) == SMALL["file_num"]


def test_files_that_were_not_prepared_are_named(tmp_path: Path) -> None:
    found, _screen = run(tmp_path, prepare=False)
    assert not found.complete
    assert MESSAGES["cannot_open_file_test_file_0"] in found.notes[0]
    assert any(MESSAGES["the_preparation_did_not_run"] in note for note in found.notes)


@pytest.mark.quick(1)
@pytest.mark.parametrize("mode", ["async", "mmap"])
def test_requests_may_be_queued_or_mapped(mode: str, tmp_path: Path) -> None:
    parsed, printed = run(tmp_path, mode="rndrd", io_mode=mode, async_backlog=16)
    assert parsed.complete
    reported = re.search(r"reads/s: +([0-9.]+)", printed)
    assert reported is not None
    assert {f.value for f in parsed.figures if f.metric.name == "iops"} == {float(reported[1])}

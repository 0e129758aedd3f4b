"""pg_test_fsync over SSH, compared with the same command by hand."""

import subprocess
from pathlib import Path

import pytest

from app.events import State
from suites.pg_test_fsync import PgTestFsyncParser
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import LabHost
from tests.suites.captured_outputs import figures

PROGRAM = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_test_fsync"))), None)

pytestmark = [pytest.mark.skipif(PROGRAM is None, reason="pg_test_fsync is not installed"), pytest.mark.slow]


def test_the_figures_are_those_of_the_tool_by_hand(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    place = tmp_path / "place"
    place.mkdir()
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "pg-test-fsync", "lab", peer=None, seconds=1, directory=str(place))
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert list(place.iterdir()) == []
    done = subprocess.run(
        [str(PROGRAM), "-f", "by_hand.out", "-s", "1"], cwd=tmp_path, capture_output=True, check=True, timeout=60
    )
    parser = PgTestFsyncParser()
    parser.feed(done.stdout)
    by_hand, found = figures(parser.finish(0)), figures(ended.parsed)
    assert found.keys() == by_hand.keys()
    assert 1 / 20 < found["fdatasync_rate"] / by_hand["fdatasync_rate"] < 20  # others use this machine and its disk

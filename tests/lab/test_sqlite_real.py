"""SQLite over SSH, compared with the same script by hand."""

import shutil
import subprocess
from pathlib import Path

import pytest

from app.events import State
from suites.base import Context, complete_values
from suites.sqlite import Sqlite, SqliteParser
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import LabHost
from tests.suites.captured_outputs import figures

pytestmark = [
    pytest.mark.skipif(shutil.which("sqlite3") is None, reason="sqlite3 is not installed"),
    pytest.mark.slow,
]

SMALL = {"transactions": 1000, "rows": 200_000}
SUITE = Sqlite()


def test_the_shell_gives_what_it_gives_by_hand(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    place = tmp_path / "place"
    place.mkdir()
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "sqlite", "lab", peer=None, **SMALL, directory=str(place))
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert list(place.iterdir()) == []
    (command,) = SUITE.commands(complete_values(SUITE, SMALL), Context())
    (tmp_path / command.files[0].name).write_text(command.files[0].text)
    done = subprocess.run(command.argv, cwd=tmp_path, capture_output=True, check=True, timeout=60)
    parser = SqliteParser()
    parser.feed(done.stdout)
    by_hand = figures(parser.finish(0))
    found = figures(ended.parsed)
    assert found.keys() == by_hand.keys()
    for name, rate in found.items():
        assert 1 / 4 < rate / by_hand[name] < 4, name  # others use this machine and its disk

"""HTTP over SSH: nginx started for the test, and a URL without a server."""

import shutil
import subprocess
from pathlib import Path

import pytest

from app.events import State
from suites.base import Context, complete_values
from suites.http import Http, WrkParser
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import LabHost
from tests.messages import messages
from tests.suites.captured_outputs import figures

MESSAGES = messages("lab", "test_http_real")

pytestmark = [
    pytest.mark.skipif(
        shutil.which("wrk") is None or shutil.which("nginx", path="/usr/sbin:/usr/bin") is None,
        reason="wrk or nginx is not installed",
    ),
    pytest.mark.slow,
]

SMALL = {"time": 3, "size": "2 KiB"}
SUITE = Http()


def by_hand(folder: Path) -> float:
    """Return the rate of the same command, typed in `folder`."""
    (command,) = SUITE.commands(complete_values(SUITE, SMALL), Context())
    for file in command.files:
        (folder / file.name).write_text(file.text)
    done = subprocess.run(command.argv, cwd=folder, capture_output=True, check=True, timeout=60)
    parser = WrkParser()
    parser.feed(done.stdout)
    return figures(parser.finish(0))["requests_per_second"]


def test_nginx_of_its_own_gives_what_it_gives_by_hand(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "http", "lab", peer=None, **SMALL)
    assert (ended.state, ended.reason) == (State.DONE, "")
    found = figures(ended.parsed)
    assert found["requests_per_second"] == pytest.approx(by_hand(tmp_path), rel=0.7)  # others use this machine
    assert 0 < found["latency_p50"] <= found["latency_p90"] <= found["latency_p99"] <= found["latency_max"]
    assert found["transfer_rate"] == pytest.approx(found["requests_per_second"] * (2048 + 240), rel=0.05)  # and header
    assert (found["failed_responses"], str(ended.parsed.tool_version)[:6]) == (0, "nginx ")


def test_a_url_without_a_server_is_named(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "http", "lab", peer=None, server="named", url="http://127.0.0.1:1/", time=1)
    assert ended.state is State.FAILED
    assert MESSAGES["no_server"] in ended.reason

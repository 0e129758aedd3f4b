"""Redis over SSH: on a server started for it, and on one that runs already."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from app.events import State
from suites.base import Context, complete_values
from suites.redis import Redis
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab.test_pgbench_real import running_in
from tests.lab_sshd import LabHost
from tests.messages import messages
from tests.suites.captured_outputs import figures

MESSAGES = messages("lab", "test_redis_real")

pytestmark = [
    pytest.mark.skipif(
        not all(map(shutil.which, ("redis-benchmark", "redis-server"))), reason="Redis is not installed"
    ),
    pytest.mark.slow,
]

SMALL = {"requests": 200_000, "keyspace": 1000}
SUITE = Redis()


def by_hand(folder: Path) -> float:
    """Return the rate of the same command, typed in `folder`."""
    (command,) = SUITE.commands(complete_values(SUITE, SMALL), Context())
    for file in command.files:
        (folder / file.name).write_text(file.text)
    done = subprocess.run(command.argv, cwd=folder, capture_output=True, check=True, timeout=60)
    parser = SUITE.parser(complete_values(SUITE, SMALL))
    parser.feed(done.stdout)
    return figures(parser.finish(0))["requests_per_second"]


def test_a_server_of_its_own_gives_what_it_gives_by_hand_and_goes(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "redis", "lab", peer=None, **SMALL)
    assert (ended.state, ended.reason) == (State.DONE, "")
    found = figures(ended.parsed)
    assert found["requests_per_second"] == pytest.approx(by_hand(tmp_path), rel=0.7)  # others use this machine
    assert 0 < found["latency_p50"] <= found["latency_p95"] <= found["latency_p99"] <= found["latency_max"]
    assert str(ended.parsed.tool_version).startswith("Redis ")
    assert running_in(Path("redis-server *:0")) == []


def test_a_server_that_runs_already_keeps_running(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    socket = tmp_path / "own.sock"
    argv = ("redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "60 1", "--dir", str(tmp_path))
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as server:
        try:
            while not socket.exists():
                time.sleep(0.05)
            given = {**SMALL, "server": "named", "address": str(socket), "test": "get"}
            with workstation_in(tmp_path) as workstation:
                ended, _ = run_once(workstation, "redis", "lab", peer=None, **given)
            assert (ended.state, ended.reason) == (State.DONE, "")
            assert server.poll() is None
        finally:
            server.terminate()
    assert MESSAGES["writes_to_disk"] in " ".join(ended.parsed.notes)


def test_a_server_that_is_not_there_is_named(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "redis", "lab", server="named", address="/nowhere/redis.sock")
    assert ended.state is State.FAILED
    assert MESSAGES["no_server"] in ended.reason

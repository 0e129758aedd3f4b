"""net-blocks, run for real: over SSH, in agreement with the same commands by hand; what goes wrong is named."""

import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from app.events import JobBegan, State, TrialEnded
from app.plans.plan import Plan, Repetition, make_step
from app.questions import RefusingAsker
from app.runs.control import Control
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import LabHost, free_port
from tests.messages import messages
from tests.suites.captured_outputs import figures
from tests.suites.test_probe_sources import built, ran

MESSAGES = messages("lab", "test_net_blocks_real")

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

SHORT = {"buffers": "3000", "time": 0.2, "threads": 2}
NONCE = "0123456789abcdef0123456789abcdef"


def listening(program: Path, folder: Path, port: int) -> subprocess.Popen[str]:
    """Return a server end that listens."""
    (folder / "nonce").write_text(NONCE)
    words = [str(program), "--serve", "--port", str(port), "--nonce-file", str(folder / "nonce")]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert any("listening" in line for line in server.stdout)
    return server


@pytest.mark.slow
@pytest.mark.parametrize(
    "build", ["shipped", *(pytest.param(build, marks=pytest.mark.slow) for build in ("host", "here"))]
)
def test_a_run_over_ssh_tries_every_combination(lab_host: LabHost, tmp_path: Path, build: str) -> None:
    lab_host.add_to_home()
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "net-blocks", "lab", peer="local", build=build, **SHORT)
    assert (ended.state, ended.reason) == (State.DONE, "")
    found = figures(ended.parsed)
    assert sum(name.startswith("throughput") for name in found) == 2 * 2
    assert sum(name.startswith("round_trip_p50") for name in found) == 2
    assert any("loopback" in note for note in ended.parsed.notes)


@pytest.mark.slow
def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, workstation_in(tmp_path) as workstation:
        port = taken.getsockname()[1]
        ended, _ = run_once(workstation, "net-blocks", "local", peer="local", port=port, **SHORT)
    assert ended.state is State.FAILED
    assert f"port {port} cannot be listened on: Address in use" in ended.reason  # as musl says it


def test_the_server_end_serves_nobody_without_its_nonce(tmp_path: Path) -> None:
    program, port = built("netblocks", tmp_path, "-O1"), free_port()
    (tmp_path / "other").write_text("f" * 32)
    with listening(program, tmp_path, port) as server:
        with socket.create_connection(("127.0.0.1", port)) as stranger:
            stranger.sendall(b"GET / HTTP/1.0\r\n\r\n" + bytes(142))  # as long as a greeting
            assert stranger.recv(100) == b""  # closed without a word
        words = ("--connect", "127.0.0.1", "--port", str(port), "--time", "0.1", "--blocks", "1", "--tests", "latency")
        refused = ran(program, *words, "--nonce-file", str(tmp_path / "other"))
        served = ran(program, *words, "--nonce-file", str(tmp_path / "nonce"))
        shown, _ = server.communicate(timeout=60)
    assert (refused.returncode, served.returncode, server.returncode) == (1, 0, 0)
    assert "did not let us in" in refused.stderr
    assert shown.splitlines()[:2] == ["refused 127.0.0.1"] * 2


def test_the_server_end_is_gone_with_its_client(tmp_path: Path) -> None:
    program, port = built("netblocks", tmp_path, "-O1"), free_port()
    words = ["--connect", "127.0.0.1", "--port", str(port), "--nonce-file", str(tmp_path / "nonce"), "--time", "60"]
    with listening(program, tmp_path, port) as server:
        with subprocess.Popen([program, *words], stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout is not None
            assert any(line.startswith("live") for line in client.stdout)
            client.kill()
        _, errors = server.communicate(timeout=60)
    assert errors == MESSAGES["error_the_other_end_ended_or"]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


@pytest.mark.slow
def test_another_version_is_named(tmp_path: Path) -> None:
    program, port = built("netblocks", tmp_path, "-O1"), free_port()
    (tmp_path / "newer").mkdir()
    source = Path(str(tmp_path / "newer"))
    for name in ("netblocks.c", "flows.h", "sockets.h", "probe.h"):
        text = (Path(__file__).parents[2] / "resources" / "probes" / name).read_text()
        (source / name).write_text(text.replace("#define VERSION 1", "#define VERSION 2"))
    newer = source / "netblocks"
    subprocess.run(["gcc", "-std=gnu11", "-pthread", "-o", newer, source / "netblocks.c"], check=True)
    with listening(program, tmp_path, port) as server:
        done = ran(newer, "--connect", "127.0.0.1", "--port", str(port), "--nonce-file", str(tmp_path / "nonce"))
        _, errors = server.communicate(timeout=60)
    assert done.stderr == MESSAGES["error_the_server_end_is_of"]
    assert errors == MESSAGES["error_the_client_is_of"]


@pytest.mark.alone
@pytest.mark.slow
def test_the_two_ends_by_hand_give_the_same_figure(tmp_path: Path) -> None:
    """UDP held to a rate: what arrives over the loopback is what was sent, whoever starts it."""
    given = {"protocol": "udp", "tests": "upload", "buffers": "1000", "rate": 40, "time": 1}
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "net-blocks", "local", peer="local", **given)
    program, port = built("netblocks", tmp_path, "-O3"), free_port()
    words = ("--protocols", "udp", "--tests", "upload", "--blocks", "1000", "--rate", "40", "--time", "1")
    with listening(program, tmp_path, port):
        meeting = ("--connect", "127.0.0.1", "--port", str(port), "--nonce-file", str(tmp_path / "nonce"))
        shown = ran(program, *meeting, *words).stdout
    (rate,) = (line.split()[line.split().index("rate") + 1] for line in shown.splitlines() if line.startswith("result"))
    assert ended.parsed.figures[0].value == pytest.approx(float(rate), rel=0.03)
    assert float(rate) == pytest.approx(40e6, rel=0.03)


@pytest.mark.slow
def test_a_server_end_that_is_killed_is_named(tmp_path: Path) -> None:
    step = make_step("net-blocks", {"protocol": "tcp", "buffers": "64 KiB", "time": 5}, peer="local")
    plan = Plan("killed", ("local",), (step,), repetition=Repetition(trials=1))
    ended: list[TrialEnded] = []
    servers: list[int] = []
    with workstation_in(tmp_path) as workstation:
        for event in workstation.run(plan, RefusingAsker(), Control()):
            if isinstance(event, JobBegan):
                servers.append(event.began.pid)
            elif type(event).__name__ == "SampleRead" and servers:
                subprocess.run(["kill", "-9", str(servers[-2])], check=True)  # the last one is the client
                servers.clear()
            elif isinstance(event, TrialEnded):
                ended.append(event)
    assert ended[0].state is State.FAILED
    assert MESSAGES["the_other_end_ended_or_was"] in ended[0].reason

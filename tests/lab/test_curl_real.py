"""Times of a TLS server: as curl by hand, with the delay of a link that is known, and without a server."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from app.events import State, TrialEnded
from suites.curl import FORMAT, Curl
from tests.lab.links import LinkedHosts, delayed
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import LabHost
from tests.messages import messages
from tests.suites.captured_outputs import figures

MESSAGES = messages("lab", "test_curl_real")
PORT = 24433

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(shutil.which, ("curl", "openssl"))), reason="curl or openssl is not installed"),
]


@pytest.fixture
def certificate(tmp_path: Path) -> list[str]:
    """Make a certificate; return the command of a TLS server that has it."""
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = ["openssl", *words.split(), "-keyout", str(key), "-out", str(cert)]
    subprocess.run(made, check=True, capture_output=True)
    return ["openssl", "s_server", "-accept", str(PORT), "-key", str(key), "-cert", str(cert), "-www"]


@pytest.fixture
def server(certificate: list[str]) -> Iterator[None]:
    with subprocess.Popen(certificate, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as served:
        assert served.stdout is not None
        while b"ACCEPT" not in served.stdout.readline():
            pass
        yield
        served.terminate()


def measured(folder: Path, host: str, url: str, requests: int = 20) -> TrialEnded:
    with workstation_in(folder) as workstation:
        return run_once(workstation, "curl-times", host, url=url, requests=requests, pause=0.02, insecure=True)[0]


@pytest.mark.alone
@pytest.mark.usefixtures("server")
def test_the_handshake_is_that_by_hand(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    url = f"https://localhost:{PORT}/"
    ended = measured(tmp_path, "lab", url)
    assert (ended.state, ended.reason) == (State.DONE, "")
    by_hand = []
    for _ in range(20):
        words = ["curl", "-sS", "-k", "-o", "/dev/null", "-w", FORMAT, url]
        times = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
        by_hand.append(1000 * (float(times[3]) - float(times[2])))
    assert figures(ended.parsed)["phase_p50 TLS handshake"] / median(by_hand) == pytest.approx(1, abs=0.5)


@pytest.mark.alone
def test_each_phase_takes_its_round_trips(linked_hosts: LinkedHosts, tmp_path: Path, certificate: list[str]) -> None:
    """A wire with a round trip of 40 ms: one for TCP, one for the handshake of TLS 1.3, one for the answer."""
    near, far = linked_hosts(2)
    with (
        delayed(near, far, 20) as address,
        subprocess.Popen(far.words(*certificate), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as served,
    ):
        assert served.stdout is not None
        while b"ACCEPT" not in served.stdout.readline():
            pass
        ended = measured(tmp_path, "near", f"https://{address}:{PORT}/")
        served.terminate()
    found = figures(ended.parsed)
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert not any("DNS" in name for name in found)
    assert found["phase_p50 TCP connect"] == pytest.approx(40, rel=0.1)
    assert found["phase_p50 TLS handshake"] == pytest.approx(40, rel=0.25)  # and the work of both CPUs
    assert found["phase_p50 first byte"] == pytest.approx(40, rel=0.1)


def test_without_a_server_there_is_no_figure(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    ended = measured(tmp_path, "lab", "https://127.0.0.1:1/", requests=2)
    assert ended.state is State.FAILED
    assert MESSAGES["refused"] in ended.reason
    assert "exit status" not in ended.reason  # the script ends with 0, which explains nothing
    assert Curl().metrics[0].name not in figures(ended.parsed)

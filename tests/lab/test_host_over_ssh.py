"""Jobs, facts and telemetry over a real sshd, with real tools: live, complete, surviving a cut, leaving nothing."""

import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remote.errors import ConnectionLostError
from remote.jobs.job import RemoteJob, Workspace, make_workspace, remove_workspace
from remote.probe import read_facts
from remote.session import Session
from remote.telemetry.telemetry import Telemetry
from suites.facts import Absent
from tests.lab_sshd import LabHost, free_port
from tests.processes import ends, processes_with


@pytest.fixture
def session(lab_host: LabHost) -> Iterator[Session]:
    session = lab_host.connect()
    yield session
    session.close()


@pytest.fixture
def workspace(session: Session, tmp_path: Path) -> Iterator[Workspace]:
    made = make_workspace(session, str(tmp_path))
    yield made
    remove_workspace(session, made)
    assert list(tmp_path.iterdir()) == []
    assert processes_with(made.nonce) == []


def gather(job: RemoteJob) -> dict[str, bytes]:
    output = {"stdout": b"", "stderr": b""}
    for chunk in job.follow():
        if chunk is not None:
            output[chunk.stream] += chunk.data
    return output


def read_until(job: RemoteJob, text: bytes) -> None:
    for chunk in job.follow():
        if chunk is not None and text in chunk.data:
            return
    pytest.fail(f"the job ended without printing {text!r}")


def test_a_tool_runs_to_its_end(session: Session, workspace: Workspace) -> None:
    argv = ["sysbench", "cpu", "--time=1", "--report-interval=1", "--cpu-max-prime=2000", "run"]
    job = RemoteJob.start(session, workspace, argv)
    output = gather(job)
    assert b"events per second:" in output["stdout"]
    assert (job.exit_status, output["stderr"]) == (0, b"")
    assert job.ended_clock is not None
    assert 0.9 < job.ended_clock - job.clock < 3.0


@pytest.mark.alone
def test_a_line_is_read_within_twenty_milliseconds(session: Session, workspace: Workspace) -> None:
    script = "i=0; while [ $i -lt 40 ]; do date +%s.%N; sleep 0.05; i=$((i + 1)); done"
    job = RemoteJob.start(session, workspace, ["sh", "-c", script])
    delays = []
    for chunk in job.follow():
        now = time.time()
        if chunk is not None:
            delays += [now - float(line) for line in chunk.data.split()]
    assert len(delays) == 40
    assert statistics.median(delays) < 0.02


@pytest.mark.parametrize("threads", [("--thread=1",), ()], ids=["threads", "processes"])
def test_stopping_fio_leaves_nothing(session: Session, workspace: Workspace, threads: tuple[str, ...]) -> None:
    argv = ["fio", "--name=j", "--size=8M", "--rw=randread", "--time_based", "--runtime=600", "--ioengine=psync"]
    argv += ["--output-format=json", "--status-interval=1", "--directory=.", *threads]
    job = RemoteJob.start(session, workspace, argv)
    read_until(job, b'"jobs"')
    began = time.monotonic()
    job.stop()
    assert time.monotonic() - began < 60.0
    assert processes_with(workspace.nonce) == []
    assert not job.running()


def test_a_cut_leaves_the_job_running_and_no_byte_is_lost(lab_host: LabHost, tmp_path: Path) -> None:
    session = lab_host.connect()
    made = make_workspace(session, str(tmp_path))
    script = "i=0; while [ ! -e go ]; do echo line $i; i=$((i + 1)); sleep 0.02; done; echo last; exit 7"
    job = RemoteJob.start(session, made, ["sh", "-c", script])
    received: list[bytes] = []
    with pytest.raises(ConnectionLostError):
        received.extend(cut_after(job, lab_host, lines=5))
    session.close()
    again = lab_host.connect()
    later = RemoteJob(again, made, job.directory, job.began)
    assert later.running()
    Path(made.path, "go").touch()
    whole = gather(later)["stdout"]
    assert later.exit_status == 7
    assert whole.startswith(b"".join(received))
    lines = whole.splitlines()
    assert lines == [b"line %d" % number for number in range(len(lines) - 1)] + [b"last"]
    remove_workspace(again, made)
    assert list(tmp_path.iterdir()) == []
    again.close()


def cut_after(job: RemoteJob, host: LabHost, lines: int) -> Iterator[bytes]:
    """Yield what `job` prints, and cut the connection after some lines."""
    seen = 0
    for chunk in job.follow():
        if chunk is not None:
            yield chunk.data
            seen += chunk.data.count(b"\n")
        if seen >= lines:
            host.cut()


def test_a_server_end_serves_one_test_and_ends(session: Session, workspace: Workspace) -> None:
    port = str(free_port())
    server = RemoteJob.start(session, workspace, ["iperf3", "-s", "-1", "--forceflush", "-p", port], name="serve")
    read_until(server, b"Server listening")
    assert server.running()
    client = RemoteJob.start(session, workspace, ["iperf3", "-c", "127.0.0.1", "-p", port, "-t", "1", "-J"])
    assert b"bits_per_second" in gather(client)["stdout"]
    gather(server)
    assert (client.exit_status, server.exit_status) == (0, 0)
    assert not server.running()


@pytest.mark.alone
def test_facts_come_within_a_second(session: Session, tmp_path: Path) -> None:
    began = time.monotonic()
    facts = read_facts(session, [str(tmp_path)])
    assert time.monotonic() - began < 1.0
    assert facts.host == "lab"
    assert facts.system.workstation_address == "127.0.0.1"
    assert facts.cpu.threads == os.cpu_count()
    assert isinstance(facts.system.clock_offset, float)
    assert abs(facts.system.clock_offset) < 0.1
    assert not isinstance(facts.tool("fio").version, Absent)
    assert list(tmp_path.iterdir()) == []


def test_telemetry_ends_with_its_session(lab_host: LabHost) -> None:
    session = lab_host.connect()
    telemetry = Telemetry.start(session, interval=0.2)
    assert telemetry.read(timeout=60.0)
    assert telemetry.read(timeout=60.0)
    mark = telemetry._reader._start.decode().strip("@ ")
    scripts = processes_with(mark, "cmdline")
    assert scripts
    session.close()
    assert all(ends(pid) for pid in scripts)
    telemetry.stop()


def test_telemetry_tells_of_a_cut(lab_host: LabHost, session: Session) -> None:
    telemetry = Telemetry.start(session, interval=0.1)
    assert telemetry.read(timeout=60.0)
    lab_host.cut()
    with pytest.raises(ConnectionLostError):
        list(iter(lambda: telemetry.read(timeout=60.0), None))
    telemetry.stop()


def test_a_job_and_telemetry_need_few_sessions(start_lab_host: Callable[..., LabHost], tmp_path: Path) -> None:
    session = start_lab_host(MaxSessions="3").connect()
    made = make_workspace(session, str(tmp_path))
    telemetry = Telemetry.start(session, interval=0.1)
    job = RemoteJob.start(session, made, ["sh", "-c", "echo up; exec sleep 60"])
    read_until(job, b"up")
    assert telemetry.read(timeout=60.0)
    assert job.running()
    job.stop()
    assert job.exit_status == 143
    telemetry.stop()
    remove_workspace(session, made)
    session.close()

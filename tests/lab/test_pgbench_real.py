"""pgbench over SSH: on a server started for it, and on one that runs already."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.events import SampleRead, State, TrialEnded
from app.plans.plan import Plan, Repetition, make_step
from app.questions import RefusingAsker
from app.runs.control import Control
from suites.base import Context, Purpose, complete_values
from suites.oltp.server import FILE
from suites.pgbench.suite import Pgbench
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import LabHost
from tests.messages import messages
from tests.suites.captured_outputs import figures

MESSAGES = messages("lab", "test_pgbench_real")

pytestmark = [
    pytest.mark.skipif(
        shutil.which("pgbench") is None or not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")),
        reason="PostgreSQL is not installed",
    ),
    pytest.mark.slow,
]

SMALL = {"scale": 2, "time": 3, "clients": 2, "threads": 2, "buffers": "16 MiB", "logged": 100}
SUITE = Pgbench()


def by_hand(folder: Path, account: tuple[str, ...] = ()) -> dict[str, float]:
    """Return the figures of the same commands, typed in `folder`."""
    values = complete_values(SUITE, SMALL)
    parser = SUITE.parser(values)
    for command in SUITE.commands(values, Context()):
        for file in command.files:
            (folder / file.name).write_text(file.text)
        done = subprocess.run((*account, *command.argv), cwd=folder, capture_output=True, check=True, timeout=60)
        if command.purpose is Purpose.MEASURE:
            parser.feed(done.stdout)
            parser.feed(done.stderr, "stderr")
    return figures(parser.finish(0))


def test_a_server_of_its_own_gives_what_it_gives_by_hand_and_goes(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    place, hand = tmp_path / "place", tmp_path / "hand"
    place.mkdir()
    hand.mkdir()
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "pgbench", "lab", peer=None, **SMALL, directory=str(place))
        shown = workstation.output(workstation.load("last").summary.id, 1)["stdout"].decode()
    assert (ended.state, ended.reason) == (State.DONE, "")
    found = figures(ended.parsed)
    assert f"tps = {found['transactions_per_second']:.6f} (without" in shown
    assert found["transactions_per_second"] == pytest.approx(
        by_hand(hand)["transactions_per_second"], rel=0.7
    )  # the machine that tests this has other things to do
    assert ended.parsed.samples
    assert ", PostgreSQL " in str(ended.parsed.tool_version)
    assert f"{found['total_transactions']:.0f} logged transactions: p50 = " in shown
    assert 0 < found["latency_p50"] <= found["latency_p95"] <= found["latency_p99"]
    assert list(place.iterdir()) == []
    assert running_in(place) == []


def test_a_server_of_its_own_accepts_all_clients(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "pgbench", "lab", peer=None, **{**SMALL, "clients": 200, "scale": 20})
    assert (ended.state, ended.reason) == (State.DONE, "")


def test_a_run_that_is_stopped_leaves_no_server(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    place = tmp_path / "place"
    place.mkdir()
    control = Control()
    step = make_step("pgbench", {**SMALL, "time": 60, "directory": str(place)})
    plan = Plan("stopped", ("lab",), (step,), repetition=Repetition(trials=2))
    during: list[Path] = []
    with workstation_in(tmp_path) as workstation:
        workstation.consents.remember_made(plan)
        for event in workstation.run(plan, RefusingAsker(), control):
            if isinstance(event, SampleRead) and not control.stopped:
                during += running_in(place)
                control.stop()
            if isinstance(event, TrialEnded):
                assert event.state is State.PARTIAL
                assert event.parsed.samples
    assert during
    assert running_in(place) == []
    assert list(place.iterdir()) == []


def running_in(place: Path) -> list[Path]:
    """Return the processes with a directory below `place` on their command lines."""
    return [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(place) in _text(path)]


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_an_account_without_rights_needs_none(tmp_path: Path) -> None:
    place = Path("/var/tmp") / f"benchwright-test-{os.getpid()}"
    place.mkdir(mode=0o700)
    try:
        os.chown(place, 65534, 65534)
        account = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
        assert by_hand(place, account)["transactions_per_second"] > 0
    finally:
        shutil.rmtree(place)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Path]:
    """Run a server until the test is over; return the directory of its socket."""
    (tmp_path / FILE.name).write_text(FILE.text)
    argv = ("sh", FILE.name, "make", "postgresql", "16", "on", "30", "20", "sh", "-c", "echo ready; exec cat")
    with subprocess.Popen(argv, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield tmp_path / "data"
        assert server.stdin is not None
        server.stdin.close()


def _tables(socket: Path) -> str:
    words = ("psql", "-h", str(socket), "-U", "benchwright", "-Atc", "select count(*) from pg_tables")
    return subprocess.run((*words, "postgres"), capture_output=True, text=True, check=True).stdout


def test_a_server_that_runs_already_is_left_as_it_was(lab_host: LabHost, running: Path, tmp_path: Path) -> None:
    lab_host.add_to_home()
    named = {"server": "named", "address": str(running), "database": "postgres", "user": "benchwright"}
    small = {**SMALL, **named}
    before = _tables(running)
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "pgbench", "lab", peer=None, **small)
        assert (ended.state, ended.reason) == (State.DONE, "")
        assert _tables(running) == before
        create = ("psql", "-h", str(running), "-U", "benchwright", "-c", "create table pgbench_accounts (mine int)")
        subprocess.run((*create, "postgres"), check=True, capture_output=True)
        refused, _ = run_once(workstation, "pgbench", "lab", peer=None, **small)
        kept = {**small, "tables": "keep", "clients": 30}
        crowded, _ = run_once(workstation, "pgbench", "lab", peer=None, **kept)
    assert crowded.state is State.FAILED
    assert MESSAGES["too_many_connections"] in crowded.reason
    assert refused.state is State.FAILED
    assert MESSAGES["has_tables_pgbench_already"] in refused.reason
    assert int(_tables(running)) == int(before) + 1

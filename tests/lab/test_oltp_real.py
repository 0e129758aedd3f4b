"""sysbench OLTP over SSH: on servers started for it, and on ones that run already and want a password."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.events import State
from suites.base import Context, Purpose, complete_values
from suites.oltp.server import FILE
from suites.oltp.suite import SysbenchOltp
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import LabHost
from tests.messages import messages
from tests.suites.captured_outputs import figures

MESSAGES = messages("lab", "test_oltp_real")

DRIVERS = {
    "pgsql": bool(list(Path("/usr/lib/postgresql").glob("*/bin/initdb"))),
    "mysql": shutil.which("mariadbd") is not None or Path("/usr/sbin/mariadbd").exists(),
}

pytestmark = [
    pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed"),
    pytest.mark.slow,
    pytest.mark.alone,
]

SMALL = {"table_count": 2, "table_size": 5000, "time": 3, "threads": 2, "buffers": "32 MiB"}
SUITE = SysbenchOltp()


def there(driver: str) -> None:
    """Skip the test where the host has no server of that kind."""
    if not DRIVERS[driver]:
        pytest.skip({"pgsql": "PostgreSQL is not installed", "mysql": "MariaDB is not installed"}[driver])


def by_hand(folder: Path, **given: object) -> dict[str, float]:
    """Return the figures of the same commands, typed in `folder`."""
    values = complete_values(SUITE, given)
    (folder / FILE.name).write_text(FILE.text)
    parser = SUITE.parser(values)
    for command in SUITE.commands(values, Context()):
        done = subprocess.run(command.argv, cwd=folder, capture_output=True, check=True, timeout=90)
        if command.purpose is Purpose.MEASURE:
            parser.feed(done.stdout)
    return figures(parser.finish(0))


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_server_of_its_own_gives_what_it_gives_by_hand_and_goes(
    driver: str, lab_host: LabHost, tmp_path: Path
) -> None:
    there(driver)
    lab_host.add_to_home()
    place, hand = tmp_path / "place", tmp_path / "hand"
    place.mkdir()
    hand.mkdir()
    given = {**SMALL, "driver": driver, "workload": "oltp_read_only"}
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "sysbench-oltp", "lab", peer=None, **given, directory=str(place))
        shown = workstation.output(workstation.load("last").summary.id, 1)["stdout"].decode()
    assert (ended.state, ended.reason) == (State.DONE, "")
    rate = figures(ended.parsed)["transactions_per_second"]
    assert f"({rate:.2f} per sec.)" in shown
    assert rate == pytest.approx(by_hand(hand, **given)["transactions_per_second"], rel=0.7)
    assert ended.parsed.samples
    assert {"pgsql": "PostgreSQL ", "mysql": "MariaDB "}[driver] in str(ended.parsed.tool_version)
    assert list(place.iterdir()) == []


SETTLE = {
    "pgsql": "psql -h /proc/self/cwd/data -U benchwright postgres -qc \"create role ann login password 'sesame'\" "
    '-c "create database bench owner ann"; '
    "sed -i 's/trust$/scram-sha-256/' data/pg_hba.conf; "
    'psql -h /proc/self/cwd/data -U benchwright postgres -qc "select pg_reload_conf()" >/dev/null',
    "mysql": "mariadb --no-defaults -u root -S data/mysql.sock -e \"create user ann identified by 'sesame'; "
    'create database bench; grant all on bench.* to ann"',
}
KINDS = {"pgsql": "postgresql", "mysql": "mysql"}


@contextmanager
def running(folder: Path, driver: str) -> Iterator[None]:
    """Run a server, with an account ann that has a password."""
    (folder / FILE.name).write_text(FILE.text)
    # PostgreSQL reads its rules anew a moment after it is told: until then the account of the test may still enter.
    script = f"{SETTLE[driver]}; echo ready; exec cat"
    argv = ("sh", FILE.name, "make", KINDS[driver], "32", "on", "30", "20", "sh", "-c", script)
    with subprocess.Popen(argv, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        try:
            assert server.stdout.readline() == b"ready\n"
            yield
        finally:
            server.stdin.close()


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_password_stays_in_its_file(driver: str, lab_host: LabHost, tmp_path: Path) -> None:
    there(driver)
    lab_host.add_to_home()
    folder = Path("/var/tmp") / f"benchwright-test-{tmp_path.name}"  # a socket's path may not be long
    folder.mkdir(mode=0o700)
    secret = folder / "secret"
    secret.write_text("mysql-password=sesame\npgsql-password=sesame\n")
    secret.chmod(0o600)
    address = folder / "data" / ("mysql.sock" if driver == "mysql" else "")
    named = {"server": "named", "driver": driver, "address": str(address), "user": "ann", "database": "bench"}
    try:
        with running(folder, driver), workstation_in(tmp_path) as workstation:
            given = {**SMALL, **named}
            refused, _ = run_once(workstation, "sysbench-oltp", "lab", peer=None, **given)
            ended, events = run_once(workstation, "sysbench-oltp", "lab", peer=None, **given, config_file=str(secret))
            again, _ = run_once(workstation, "sysbench-oltp", "lab", peer=None, **given, config_file=str(secret))
            many = {**given, "threads": 40, "config_file": str(secret)}
            crowded, _ = run_once(workstation, "sysbench-oltp", "lab", peer=None, **many)
    finally:
        shutil.rmtree(folder)
    assert refused.state is State.FAILED
    assert "Preparing" in refused.reason
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert (again.state, again.reason) == (State.DONE, "")  # what was made was dropped again
    assert "sesame" not in repr(events)
    assert crowded.state is State.FAILED
    assert MESSAGES["too_many_connections"] in crowded.reason


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_server_of_its_own_accepts_all_threads(driver: str, lab_host: LabHost, tmp_path: Path) -> None:
    there(driver)
    lab_host.add_to_home()
    with workstation_in(tmp_path) as workstation:
        given = {**SMALL, "driver": driver, "workload": "oltp_read_only", "threads": 300}
        ended, _ = run_once(workstation, "sysbench-oltp", "lab", peer=None, **given)
    assert (ended.state, ended.reason) == (State.DONE, "")


@pytest.mark.parametrize("driver", ["pgsql"])
def test_tables_that_are_there_stay(driver: str, lab_host: LabHost, tmp_path: Path) -> None:
    there(driver)
    lab_host.add_to_home()
    folder = Path("/var/tmp") / f"benchwright-test-{tmp_path.name}"
    folder.mkdir(mode=0o700)
    (folder / FILE.name).write_text(FILE.text)
    ask = f"psql -h {folder}/data -U benchwright postgres -Atqc"
    script = f'{ask} "create table sbtest1 (mine int)"; echo ready; cat; {ask} "select count(*) from sbtest1"'
    argv = ("sh", FILE.name, "make", "postgresql", "32", "on", "30", "20", "sh", "-c", script)
    given = {**SMALL, "server": "named", "driver": driver, "address": f"{folder}/data", "user": "benchwright"}
    try:
        with (
            subprocess.Popen(argv, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server,
            workstation_in(tmp_path) as workstation,
        ):
            assert server.stdout is not None
            assert server.stdin is not None
            assert server.stdout.readline() == b"ready\n"
            ended, _ = run_once(workstation, "sysbench-oltp", "lab", peer=None, **given, database="postgres")
            server.stdin.close()
            left = server.stdout.read()
    finally:
        shutil.rmtree(folder)
    assert ended.state is State.FAILED
    assert "already exists" in ended.reason
    assert left == b"0\n"

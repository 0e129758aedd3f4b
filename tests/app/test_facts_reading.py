"""Facts of many hosts at once: a host that fails or hangs delays no other, and questions are asked one at a time."""

import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.fleet.facts_reading import facts_of_all
from app.services import Workstation
from remote.errors import ConnectError
from remote.questions import Asker, RefusingAsker, SecretQuestion
from suites.errors import BenchwrightError
from suites.facts import Facts
from tests.lab_sshd import LabHost

NOW = "2026-11-30T08:00:00+00:00"


def facts(host: str) -> Facts:
    return Facts(host=host, read_at=NOW)


def test_each_host_is_read_once_and_a_hanging_one_delays_no_other() -> None:
    go_on = threading.Event()

    def read(host: str, asker: Asker) -> Facts:
        if host == "hangs":
            go_on.wait(30)
        if host == "fails":
            raise BenchwrightError("refused")
        if host == "broken":
            raise ZeroDivisionError
        return facts(host)

    hosts = ["hangs", "fails", "broken", *(f"web-{number}" for number in range(40)), "web-1"]
    found = {}
    for host, one in facts_of_all(hosts, read, RefusingAsker(), at_once=4):
        assert host not in found
        found[host] = one
        if len(found) == 42:
            assert "hangs" not in found
            go_on.set()
    assert found["web-7"] == facts("web-7")
    assert isinstance(found["hangs"], Facts)
    assert {host for host, one in found.items() if isinstance(one, BenchwrightError)} == {"fails", "broken"}


def test_no_more_hosts_than_given_are_read_at_once() -> None:
    running, most, lock = set[str](), [0], threading.Lock()

    def read(host: str, asker: Asker) -> Facts:
        with lock:
            running.add(host)
            most[0] = max(most[0], len(running))
        time.sleep(0.01)
        with lock:
            running.remove(host)
        return facts(host)

    assert len(list(facts_of_all(map(str, range(20)), read, RefusingAsker(), at_once=3))) == 20
    assert most[0] == 3
    assert list(facts_of_all([], read, RefusingAsker())) == []


class _Asked(RefusingAsker):
    def __init__(self) -> None:
        super().__init__()
        self.threads: list[threading.Thread] = []

    def secret(self, question: SecretQuestion) -> str | None:
        self.threads.append(threading.current_thread())
        return f"secret of {question.host}"


def question(host: str) -> SecretQuestion:
    return SecretQuestion(host=host, user="ann", prompt="Password")


def test_questions_are_asked_on_the_thread_that_iterates() -> None:
    def read(host: str, asker: Asker) -> Facts:
        return facts(str(asker.secret(question(host))))

    asker = _Asked()
    found = dict(facts_of_all(["a", "b", "c"], read, asker))
    assert found == {host: facts(f"secret of {host}") for host in "abc"}
    assert set(asker.threads) == {threading.current_thread()}


def test_questions_are_refused_once_the_iteration_is_given_up() -> None:
    answers: list[str | None] = []
    go_on, asked = threading.Event(), threading.Event()

    def read(host: str, asker: Asker) -> Facts:
        if host == "late":
            go_on.wait(30)
            answers.append(asker.secret(question(host)))
            asked.set()
        return facts(host)

    reading = facts_of_all(["late", "web-1", "web-2"], read, _Asked(), at_once=2)
    assert next(reading)[0] == "web-1"
    reading.close()
    go_on.set()
    assert asked.wait(30)
    assert answers == [None]


@pytest.mark.lab
def test_hosts_of_which_one_refuses_and_one_is_silent(start_lab_host: Callable[..., LabHost], tmp_path: Path) -> None:
    for server in range(2):
        lab = start_lab_host()
        for number in range(server, 8, 2):
            lab.add_to_home(f"web-{number}")
    refusing = start_lab_host()
    refusing.add_to_home("refuses")
    refusing.stop()
    silent = socket.create_server(("127.0.0.1", 0))  # its backlog accepts the connection, and no answer follows
    with (Path.home() / ".ssh" / "config").open("a") as config:
        config.write(f"Host silent\n  HostName 127.0.0.1\n  Port {silent.getsockname()[1]}\n  ConnectTimeout 60\n")
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    hosts = ["silent", "refuses", *(f"web-{number}" for number in range(8))]
    found: dict[str, Facts | BenchwrightError] = {}
    for host, one in workstation.facts_of_all(hosts, RefusingAsker(), watch=False):
        found[host] = one
        if len(found) == 9:
            assert "silent" not in found
            silent.close()
    assert {host for host, one in found.items() if isinstance(one, ConnectError)} == {"silent", "refuses"}
    kernels = {one.system.kernel for one in found.values() if isinstance(one, Facts)}
    assert (len(found), len(kernels)) == (10, 1)
    ran = CliRunner().invoke(benchwright, ["facts", "web-1", "refuses", "web-0", "--json"])
    assert (ran.exit_code, "refuses was not read" in ran.stderr) == (1, True)
    assert [one["host"] for one in json.loads(ran.stdout)] == ["web-1", "web-0"]

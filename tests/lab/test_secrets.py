"""A secret is asked for once, and kept where the user wants it and nowhere else: a planted one is looked for."""

import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.events import RunEnded, SampleRead, State, TrialStarted
from app.hosts.credentials import CredentialCache
from app.hosts.hosts import Hosts, SavedHosts
from app.plans.plan import Plan, Repetition, make_step
from app.runs.control import Control
from app.services import Workstation
from app.system_keyring import SystemKeyring
from remote.errors import ConnectOutcome
from tests.app.keyring_in_memory import KeyringInMemory
from tests.lab.pam_host import PASSWORD, StartPam
from tests.lab.probe_runs import workstation
from tests.lab_sshd import PASSPHRASE, AnsweringAsker, LabHost
from tests.processes import processes_with

pytestmark = pytest.mark.usefixtures("few_programs")

__all__ = ["workstation"]


@pytest.fixture
def everything_logged() -> Iterator[None]:
    """Write whatever anybody logs, paramiko's own words included, to a file under the home."""
    handler = logging.FileHandler(Path.home() / "everything.log")
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield
    root.removeHandler(handler)
    root.setLevel(level)
    handler.close()


def add_to_home(host: LabHost, *, key: Path | str = "none") -> None:
    folder = Path.home() / ".ssh"
    folder.mkdir(mode=0o700)
    (folder / "config").write_text(host.config(key=Path(key)))
    (folder / "known_hosts").write_text(host.known_hosts_line)


def files_with(text: str, *folders: Path) -> list[Path]:
    return [
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and text.encode() in path.read_bytes()
    ]


@pytest.mark.usefixtures("everything_logged")
def test_a_planted_password_is_found_nowhere(
    start_pam_host: StartPam, workstation: Workstation, tmp_path: Path
) -> None:
    host = start_pam_host(PasswordAuthentication="yes")
    add_to_home(host)
    asker = AnsweringAsker(secrets=["wrong-" + PASSWORD, PASSWORD])
    assert workstation.test_connection("lab", asker).outcome is ConnectOutcome.CONNECTED

    plan = Plan(
        "canary", ("lab",), (make_step("sysbench-cpu", {"time": 1, "threads": 1}),), repetition=Repetition(trials=1)
    )
    seen: list[int] = []
    ended = None
    with closing(workstation.run(plan, asker, Control())) as events:
        for event in events:
            if isinstance(event, TrialStarted | SampleRead) and not seen:
                seen += processes_with(PASSWORD, "cmdline") + processes_with(PASSWORD, "environ")
            ended = event
    assert isinstance(ended, RunEnded)
    assert ended.state is State.DONE
    assert seen == []
    assert len(asker.secret_questions) == 2  # the run asked for nothing
    workstation.export_csv([ended.run_id], tmp_path / "report.csv")
    workstation.export_image([ended.run_id], tmp_path / "report.png")
    assert files_with("sysbench", tmp_path, Path.home())  # the search finds what is there
    assert files_with(PASSWORD, tmp_path, Path.home(), host.home, host.directory) == []
    assert PASSWORD not in host.log


@pytest.mark.usefixtures("everything_logged")
def test_a_planted_passphrase_is_found_nowhere(lab_host: LabHost, workstation: Workstation, tmp_path: Path) -> None:
    add_to_home(lab_host, key=lab_host.keys.encrypted)
    asker = AnsweringAsker(secrets=["wrong", PASSPHRASE])
    assert workstation.test_connection("lab", asker).outcome is ConnectOutcome.CONNECTED
    workstation.facts("lab", asker)
    assert len(asker.secret_questions) == 2
    assert files_with(PASSPHRASE, tmp_path, Path.home(), lab_host.home) == []


def test_a_password_that_is_no_longer_right_is_asked_for_anew(
    start_pam_host: StartPam, workstation: Workstation
) -> None:
    host = start_pam_host(PasswordAuthentication="yes")
    add_to_home(host)
    asker = AnsweringAsker(secrets=["wrong"] * 3 + [PASSWORD])
    report = workstation.test_connection("lab", asker)
    assert report.outcome is ConnectOutcome.AUTH_REFUSED
    assert "wrong" not in report.message
    assert workstation.test_connection("lab", asker).outcome is ConnectOutcome.CONNECTED
    assert [question.attempt for question in asker.secret_questions] == [1, 2, 3, 1]  # the last wrong one is forgotten


def test_a_password_in_the_keyring_needs_nobody_to_ask_until_it_is_forgotten(
    start_pam_host: StartPam, tmp_path: Path
) -> None:
    host = start_pam_host(PasswordAuthentication="yes")
    add_to_home(host)
    backend = KeyringInMemory()

    def hosts() -> Hosts:  # as after a restart of the program
        return Hosts(SavedHosts(tmp_path / "hosts.toml"), CredentialCache(SystemKeyring(backend)))

    hosts().connect("lab", AnsweringAsker(secrets=["wrong", PASSWORD], keep=True)).close()
    assert list(backend.kept.values()) == [PASSWORD]
    asker = AnsweringAsker()
    hosts().connect("lab", asker).close()
    assert asker.secret_questions == []
    assert hosts().forget_secrets("lab") == 1
    assert backend.kept == {}
    assert hosts().forget_secrets("lab") == 0

"""Files that commands need: which, what is in them, how they are shown, and that they reach the host."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import pytest

from app.events import Activity, WorkspaceRemoved
from app.formats import command_from_json
from app.json_converter import published
from app.plans.plan import Step
from app.runs.control import Control
from app.runs.delivery import content_of, file_text, files_of
from app.runs.event_queue import IDLE, EventQueue
from app.runs.host_step import HostStep
from app.runs.run_hosts import RunHosts
from remote.local import LocalSession
from suites import registry
from suites.base import Command, Context, Estimate, Purpose, Suite
from suites.dd.output import DdParser
from suites.host_files import Build, HostFile, HostFileError
from suites.outputs import TrialParser
from suites.parameters import Tuned, Values
from suites.programs import Program
from suites.vocab import Resource
from tests.messages import messages

MESSAGES = messages("app", "test_delivery")

INPUT = HostFile("input.txt", text="one\ntwo\n")
SCRIPT = HostFile("say", text="#!/bin/sh\ncat input.txt >said\n", executable=True)


class Files(Suite):
    """A suite whose command needs files."""

    id = "files"
    title = "files"
    summary = ""
    resource = Resource.CPU
    program = Program("sh", ("sh",), version=())
    parameters = ()
    metrics = ()

    def tune(self, context: Context) -> Mapping[str, Tuned]:
        return {}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        return (Command(("./say",), Purpose.PREPARE, files=(INPUT, SCRIPT)), Command(("true",), files=(INPUT,)))

    def estimate(self, values: Values, context: Context) -> Estimate:
        return Estimate(0.0)

    def parser(self, values: Values) -> TrialParser:
        return DdParser()


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[HostStep]:
    monkeypatch.setattr(registry, "SUITES", (Files(),))
    hosts = RunHosts("run", lambda _host: LocalSession(), EventQueue(), Control())
    list(hosts.open("local"))
    made = HostStep(Step("step", "files", {}), "local", Context(), hosts)
    yield made
    assert all(isinstance(event, WorkspaceRemoved) for event in made.close() if event is not IDLE)
    hosts.close(keep=False)


def test_files_are_there_before_the_first_command(place: HostStep) -> None:
    shown = [event.text for event in place.prepare(1) if isinstance(event, Activity) and event is not IDLE]
    assert shown[:3] == [MESSAGES["copying_input_txt_for_step"], "copying say for step", "preparing step"]
    assert place.workspace is not None
    assert Path(place.workspace.path, "said").read_text() == "one\ntwo\n"


def test_each_file_is_named_once() -> None:
    commands = Files().commands({}, Context())
    assert files_of(commands) == ((INPUT, False), (SCRIPT, False))


def test_contents_come_from_resources_texts_and_this_computer(tmp_path: Path) -> None:
    mine = tmp_path / "archive.tgz"
    mine.write_bytes(b"\x1f\x8b")
    assert content_of(HostFile("job.sh", resource="job.sh")).startswith(b"# Runs a command as a job")
    assert content_of(HostFile("text", text="ä")) == "ä".encode()
    assert content_of(HostFile("archive", local=str(mine))) == b"\x1f\x8b"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(HostFileError, match=r"nothing\.tgz on this computer cannot be read: No such file"):
        content_of(HostFile("archive", local=str(tmp_path / "nothing.tgz")))


def test_a_file_that_changed_since_it_was_agreed_to_is_refused(tmp_path: Path) -> None:
    mine = tmp_path / "archive.tgz"
    mine.write_bytes(b"agreed")
    agreed = {str(mine): sha256(b"agreed").hexdigest()}
    assert content_of(HostFile("archive", local=str(mine)), agreed) == b"agreed"
    mine.write_bytes(b"swapped")
    with pytest.raises(HostFileError, match=r"archive\.tgz on this computer has changed since the run began"):
        content_of(HostFile("archive", local=str(mine)), agreed)


@pytest.mark.parametrize("name", ["", "../x", "/etc/passwd", ".x", "a b"])
def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(HostFileError):
        HostFile(name)


def test_what_is_shown_can_be_pasted() -> None:
    assert file_text(INPUT) == "cat > input.txt <<'EOF'\none\ntwo\nEOF"
    assert file_text(HostFile("job.sh", resource="job.sh")).startswith(MESSAGES["job_sh_benchwrights_job_sh"])
    built = HostFile("probe", build=Build(("probes/x.c",), "x86_64", ("-O3",)))
    assert file_text(built) == MESSAGES["probe_built_on_this_computer"]


def test_a_command_with_files_is_read_back_as_it_was_written() -> None:
    built = HostFile("probe", build=Build(("probes/x.c",), "x86_64", ("-O3",)), executable=True)
    command = Command(("./probe",), files=(INPUT, built))
    assert command_from_json(published(command)) == command


def test_a_command_written_before_there_were_files_is_read() -> None:
    assert command_from_json({"argv": ["fio"], "purpose": "measure", "on_peer": False}) == Command(("fio",))

"""benchwright worker: carry host-runs of the studies in a shared library."""

import signal
import threading

import click

from app.cli.common import Whole, print_note, verb
from app.cli.host_keys import accept_option
from app.events import Event, LibraryChanged, RunDetached, RunStarted
from app.fleet.worker import WorkerOptions, WorkerReport
from app.fleet_study import FleetStudy, HostRun, HostRunState
from app.services import Workstation
from app.signals import survives_hang_up
from remote.questions import ConsentQuestion, HostKeyQuestion, LocalProgramQuestion, RefusingAsker

MOST_AT_ONCE = 200
"""Most host-runs of a worker at once."""


class WorkerAsker(RefusingAsker):
    """Answers the questions of host-runs without a user, as the options of the worker say; it prints each."""

    def __init__(self, *, accept_new: bool, agree: bool, allow_programs: bool) -> None:
        self._accept_new, self._agree, self._allow_programs = accept_new, agree, allow_programs

    def host_key(self, question: HostKeyQuestion) -> bool:
        """Return whether unknown keys are accepted."""
        how = "accepted" if self._accept_new else "refused: see --accept-new"
        print_note(f"Unknown host key of {question.host}, {question.fingerprint}: {how}")
        return self._accept_new

    def consent(self, question: ConsentQuestion) -> bool:
        """Return whether plans may do more than run benchmark tools."""
        how = "allowed" if self._agree else "refused: see --yes"
        for item in question.items:
            print_note(f"{question.plan}: {item.action} ({item.what}): {how}")
            for line in item.text.splitlines():
                print_note(f"    {line}")
        return self._agree

    def local_program(self, question: LocalProgramQuestion) -> bool:
        """Return whether commands of ~/.ssh/config may run; print them."""
        print_note(f"{question.setting} for {question.host}: {question.command}")
        return self._allow_programs


class WorkerLines(WorkerReport):
    """Prints the beginning and the end of each host-run, and what keeps the library from being used."""

    def __init__(self) -> None:
        self._unwritten: dict[str, str] = {}

    def event(self, study: FleetStudy, one: HostRun, event: Event) -> None:
        """Print that a run begins or is detached, and where it is stored instead of the library."""
        match event:
            case RunStarted(run_id=run):
                print_note(f"{_name(study, one)}: run {run}")
            case RunDetached(run_id=run):
                print_note(f"{_name(study, one)}: run {run} detached")
            case LibraryChanged(path=path, problem=problem) if problem != self._unwritten.get(_name(study, one), ""):
                self._unwritten[_name(study, one)] = problem
                print_note(f"{_name(study, one)}: {problem or f'stored in {path}'}")

    def settled(self, study: FleetStudy, one: HostRun, state: HostRunState, reason: str) -> None:
        """Print the state of a host-run that ended, waits again or is left to other workers."""
        print_note(f"{_name(study, one)}: {state.value}. {reason}".rstrip(" ."))

    def library(self, problem: str) -> None:
        """Print a problem, or that it is over."""
        print_note(problem or "The library can be used again.")


def _name(study: FleetStudy, one: HostRun) -> str:
    return f"{study.id} {one.title}, session {one.session}"


@click.command()
@click.option(
    "--at-once", type=Whole(1, MOST_AT_ONCE), default=4, show_default=True, help="Most host-runs of this worker."
)
@click.option("--once", is_flag=True, help="End when no study has anything to do.")
@click.option("--prepare", is_flag=True, help="Create or upgrade the queue in the database, as its owner, and end.")
@click.option("--yes", is_flag=True, help="Allow what plans do besides running benchmark tools; it is printed.")
@click.option("--allow-proxy-command", is_flag=True, help="Run ProxyCommand and Match exec of ~/.ssh/config.")
@accept_option
@verb
def worker(
    workstation: Workstation,
    at_once: int,
    *,
    once: bool,
    prepare: bool,
    yes: bool,
    allow_proxy_command: bool,
    accept_new: bool,
) -> None:
    """Carry host-runs of the studies begun with “fleet run --by-workers” in a library in PostgreSQL.

    Keys, agents and known_hosts are those of this account: the database has no secrets. What a worker leaves when it
    ends continues on its host, and another worker attaches it.
    """
    if prepare:
        workstation.prepare_queue()
        print_note("The queue is ready.")
        return
    asker = WorkerAsker(accept_new=accept_new, agree=yes, allow_programs=allow_proxy_command)
    found = workstation.fleet_worker(asker, WorkerOptions(at_once, once), WorkerLines())
    hang_up = [] if survives_hang_up() else [signal.SIGHUP]
    for number in (signal.SIGINT, signal.SIGTERM, *hang_up):
        signal.signal(number, lambda _number, _frame: threading.Thread(target=found.stop, daemon=True).start())
    print_note(f"Waiting for host-runs of {workstation.library_location}; Ctrl+C ends the worker.")
    found.run()

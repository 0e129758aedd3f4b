"""The only door the window and the command line use: hosts, facts, plans, runs, library, comparison, export.

Every method may block on a network, a file or the database, and is called from a worker thread, never from the
window's own. All of them may be called from several threads at once. They raise BenchwrightError for people.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from app.hosts.hosts import ConnectReport, Hosts, SavedHosts
from app.library_services import LibraryServices
from app.paths import consent_path, hosts_path, store_path
from app.plans.agreed_memory import AgreedMemory
from app.plans.consent import Consents
from app.plans.context import step_context
from app.plans.job_files import job_file
from app.plans.plan import Plan, Policy, validate, with_seed
from app.plans.plan_changes import apply_remedy
from app.plans.plan_file import read_plan, write_plan
from app.runs.delivery import file_text, files_of
from remote.errors import ConnectError, Outcome
from remote.link import PATIENCE, Patience
from suites.errors import BenchwrightError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from pathlib import Path

    from app.calibration.calibrating import Calibrated, Wanted
    from app.checks import CheckReport
    from app.events import Event
    from app.hosts.hosts import HostEntry
    from app.hosts.leftovers import Leftover
    from app.records import ChangeRecord, HostAction, RunRecord
    from app.runs.control import Control
    from app.runs.left import LeftRun
    from app.runs.root_commands import RootCommand
    from app.runs.run import Engine
    from app.store import Store
    from app.store.salvage import Salvaged
    from remote.questions import Asker
    from remote.tuning import Note, PutBack
    from suites.base import Command, Estimate
    from suites.facts import Facts
    from suites.vocab import Finding

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StepPreview:
    """What a step will run on a host and what one trial will take. `text` can be pasted into a shell there.

    `job_file` is the step as a file of its tool's own, None where the tool reads none.
    """

    host: str
    step: str
    commands: tuple[Command, ...]
    estimate: Estimate
    text: str
    job_file: str | None = None


class Workstation(LibraryServices):
    """Everything the workstation does."""

    def __init__(self, store: Path | None = None, hosts: Path | None = None, *, patience: Patience = PATIENCE) -> None:
        """Use the store at `store` and the saved hosts at `hosts`, or the user's own. Nothing is opened yet.

        `patience` says how long a run seeks a host whose connection was lost.
        """
        self._patience = patience
        self._store_path = store or store_path()
        self._hosts = Hosts(SavedHosts(hosts or hosts_path()))
        self._memory = AgreedMemory(consent_path())
        self.consents = Consents(self._memory)
        self._opening = threading.Lock()
        self._opened: Store | None = None
        self._judged = {}

    # Hosts

    def hosts(self) -> list[HostEntry]:
        """Return this computer, the saved hosts, and the aliases of ~/.ssh/config, in this order."""
        return self._hosts.entries()

    def hosts_problem(self) -> str:
        """Return why the aliases of ~/.ssh/config are missing from the hosts, or an empty string."""
        return self._hosts.problem()

    def save_host(self, entry: HostEntry) -> None:
        """Add or replace a host."""
        self._hosts.saved.save(entry)

    def remove_host(self, name: str) -> None:
        """Forget a saved host. Its runs stay in the library."""
        self._hosts.saved.remove(name)

    def forget_secrets(self, name: str) -> int:
        """Forget the password and passphrases of a host, in the system's keyring, too; return how many there were."""
        return self._hosts.forget_secrets(name)

    def test_connection(self, name: str, asker: Asker, entry: HostEntry | None = None) -> ConnectReport:
        """Connect and say how it went; never raises for a failure to connect.

        With `entry`, try that instead of what is saved under `name`: it need not be saved.
        """
        began = time.monotonic()
        try:
            with closing(self._hosts.connect(name, asker, entry)):
                seconds = time.monotonic() - began
                return ConnectReport(name, Outcome.CONNECTED, f"Connected to {name}.", "", seconds)
        except ConnectError as error:
            return ConnectReport(name, error.outcome, error.message, error.remedy, time.monotonic() - began)
        except BenchwrightError as error:
            return ConnectReport(name, Outcome.PROTOCOL, error.message, error.remedy, time.monotonic() - began)

    def facts(self, name: str, asker: Asker, directories: Sequence[str] = (), devices: Sequence[str] = ()) -> Facts:
        """Read the facts of a host, of the `directories` a disk test is to write in, and of raw `devices`."""
        from remote.devices import read_devices
        from remote.probe import read_facts

        with closing(self._hosts.connect(name, asker)) as session:
            facts = read_facts(session, tuple(directories))
            return replace(facts, devices=read_devices(session, devices))

    def install(self, name: str, command: str, asker: Asker, what: str = "install") -> Generator[str]:
        """Run the command that installs a tool, which the user has agreed to; yield its output line by line.

        What it printed and how it ended is kept: see host_log(). `what` says there what it was for.
        """
        from app.hosts.installing import Installing

        self.check_writable()
        with closing(self._hosts.connect(name, asker)) as session:
            yield from Installing(session, asker, self._store, command, what).lines()

    def host_log(self, name: str) -> list[HostAction]:
        """Return what was run on a host because the user agreed to it, the newest first."""
        return self._store.actions(name)

    def pending_changes(self, name: str | None = None) -> list[ChangeRecord]:
        """Return the settings that runs changed, on one host or anywhere, and that were not put back."""
        return self._store.pending_changes(name)

    def host_notes(self, name: str, asker: Asker) -> tuple[Note, ...]:
        """Return what is noted down on a host about settings that runs changed there; it needs no root."""
        from remote.tuning import notes

        with closing(self._hosts.connect(name, asker)) as session:
            return notes(session)

    def restore(self, name: str, asker: Asker) -> tuple[PutBack, ...]:
        """Put back every setting that runs left changed on a host, as root; return what became of each."""
        from app.hosts.restoring import restore

        self.check_writable()
        with closing(self._hosts.connect(name, asker)) as session:
            return restore(session, asker, self._store)

    # Plans

    def new_plan(self, hosts: Sequence[str], suites: Sequence[str], facts: Mapping[str, Facts], name: str) -> Plan:
        """Return a plan with every suite's parameters tuned to the first host."""
        from app.plans.presets import tuned_plan

        return validate(tuned_plan(hosts, suites, facts, name))

    def default_plan(self, hosts: Sequence[str], suites: Sequence[str], name: str) -> Plan:
        """Return a plan with every suite's parameters as its tool has them untold."""
        from app.plans.presets import default_plan

        return validate(default_plan(hosts, suites, name))

    def quick_plan(self, host: str, facts: Facts) -> Plan:
        """Return the quick benchmark: CPU, memory and disk, three trials each, in under two minutes."""
        from app.plans.presets import quick_plan

        return quick_plan(host, facts)

    def load_plan(self, path: Path) -> Plan:
        """Return the plan in the file at `path`."""
        return read_plan(path)

    def save_plan(self, plan: Plan, path: Path) -> None:
        """Write `plan` to `path` as TOML."""
        write_plan(plan, path)

    def check(self, plan: Plan, facts: Mapping[str, Facts]) -> list[Finding]:
        """Run the checks of *before*."""
        return list(self.report(plan, facts).findings)

    def report(self, plan: Plan, facts: Mapping[str, Facts]) -> CheckReport:
        """Run the checks of *before*; tell also what could not be told."""
        from app.checks import check_plan

        return check_plan(plan, facts, self._addresses(plan))

    def apply(self, plan: Plan, finding: Finding) -> Plan:
        """Return the plan with the finding's changes made to its step, and noted down in it."""
        return apply_remedy(plan, finding)

    def preview(self, plan: Plan, facts: Mapping[str, Facts]) -> list[StepPreview]:
        """Return for each host and step the exact commands and what one trial will take."""
        addresses = self._addresses(plan)
        previews = []
        for step in plan.steps:
            for host in plan.hosts:
                context = step_context(step, host, facts, addresses)
                commands = step.suite.commands(step.values, context)
                estimate = step.suite.estimate(step.values, context)
                lines = [file_text(file) for file, _on_peer in files_of(commands)]
                text = "\n".join([*lines, *(command.line for command in commands)])
                previews.append(StepPreview(host, step.name, commands, estimate, text, job_file(step, host, facts)))
        return previews

    def root_commands(self, plan: Plan, facts: Mapping[str, Facts]) -> tuple[RootCommand, ...]:
        """Return every command of `plan` that runs as root, on every host."""
        from app.runs.root_commands import root_commands

        return root_commands(plan, facts, self._addresses(plan))

    def _addresses(self, plan: Plan) -> dict[str, str]:
        """Return the address at which this computer reaches each peer of `plan`, as far as its name tells."""
        addresses = {}
        for peer in {step.peer for step in plan.steps} - {None}:
            try:
                addresses[str(peer)] = self._hosts.address(str(peer))
            except BenchwrightError:
                log.info("no address for %s yet: connecting will say why", peer)
        return addresses

    # Runs

    def run(
        self, plan: Plan, asker: Asker, control: Control, unwatched: frozenset[str] = frozenset()
    ) -> Generator[Event]:
        """Run the plan, storing every event before yielding it. During the steps `unwatched` there is no telemetry.

        Closing the iterator early stops the run in order: processes end, files go, what was measured is kept. Raises
        NotAgreedError, before anything is done, where the user does not agree to what the plan does: see Consents.
        """
        from app.runs.running import recorded
        from app.store import new_run_id

        self.check_writable()
        run_id = new_run_id(datetime.now(UTC))
        plan = with_seed(validate(plan))
        agreed = self.consents.settle(plan, asker)
        engine = self._engine(run_id, plan, asker, control)
        engine.agreed = agreed
        engine.baseline = self._baseline(plan)
        engine.unwatched = unwatched
        yield from self._followed(recorded(engine, self._store, control))

    def calibrate(self, host: str, wanted: Wanted, asker: Asker, control: Control) -> Generator[Event | Calibrated]:
        """Measure the instrument on a host, and a suite against itself; keep what is found, and yield it at last."""
        from app.calibration.calibrating import Bench, calibrate

        self.check_writable()

        def run(plan: Plan, unwatched: frozenset[str]) -> Generator[Event]:
            self.consents.made_here(plan)  # `wanted` says all that is in it
            return self.run(plan, asker, control, unwatched)

        bench = Bench(
            lambda name: self._hosts.connect(name, asker),
            run,
            self._store.load,
            self._store.keep_calibration,
        )
        yield from calibrate(bench, host, wanted, control)

    def _baseline(self, plan: Plan) -> RunRecord | None:
        """Return the run whose verdict `plan` waits for, or None; raise where none could ever come."""
        if plan.repetition.policy is not Policy.UNTIL_VERDICT:
            return None
        from app.runs.policies import check_baseline

        record = self._gathering.record(plan.repetition.baseline)
        if record.published is not None:
            raise BenchwrightError(
                f"“{plan.repetition.baseline}” is a published table: it has no spread, so no verdict ever settles.",
                "Name a baseline of runs.",
            )
        check_baseline(plan, record)
        return record

    def _engine(self, run_id: str, plan: Plan, asker: Asker, control: Control, left: LeftRun | None = None) -> Engine:
        from app.runs.run import Engine

        return Engine(
            run_id,
            plan,
            self._hosts.connect,
            control,
            self._addresses(plan),
            left=left,
            patience=self._patience,
            asker=asker,
            memory=self._memory,
        )

    # Detached runs

    def left_runs(self) -> list[LeftRun]:
        """Return the runs that were let go of, or whose Benchwright ended while they ran, the newest first."""
        return self._store.left_runs()

    def attach(self, run: str, asker: Asker, control: Control) -> Generator[Event]:
        """Go on with a detached run: yield what is stored of it, then everything that happens.

        What measured on while nobody looked is read from the very byte where the store ends; the trials that are left
        are run. A stopped `control` only ends it in order, keeping what was measured. Raises StoreError where the run
        has ended or somebody records it, ConnectError where a host is not reached, and NotAgreedError as run() does: it
        then stays as it is.
        """
        from app.runs.running import attached

        record = self._store.load(run)
        plan = validate(record.plan)
        agreed = self.consents.settle(plan, asker)
        taken = self._store.detached(record.summary.id)
        taken = replace(taken, record=replace(taken.record, plan=plan))  # the one that was agreed to
        engine = self._engine(taken.id, plan, asker, control, taken)
        engine.agreed = agreed
        with suppress(BenchwrightError):  # a baseline that has gone since must not keep a run from being gone on with
            engine.baseline = self._baseline(taken.record.plan)
        yield from self._followed(attached(engine, taken, self._store, control, self._gathering.record))

    def _followed(self, events: Generator[Event]) -> Generator[Event]:
        """Yield `events`, and use the library that the run is in, where that has changed."""
        from app.events import LibraryChanged

        with closing(events):
            for event in events:
                if isinstance(event, LibraryChanged) and not event.problem and event.path != self._store_path:
                    self.open_library(event.path)
                yield event

    def forget(self, run: str) -> str:
        """Give up a detached run, without looking at its hosts; return its id.

        It is PARTIAL then, with what was stored; one of which every trial is made ends as it was measured. What is
        still on a host is found by leftovers().
        """
        from app.runs.concluding import conclude, is_complete, left_behind

        run = self._store.load(run).summary.id
        left = next((one for one in self._store.left_runs() if one.id == run), None)
        if left is not None and is_complete(left, self._gathering.record):
            conclude(self._store, run, self._gathering.record)
            return run
        reason = "Detached, then forgotten; what was measured is kept."
        return self._store.forget(run, " ".join([reason, *([] if left is None else left_behind(left))]))

    def leftovers(self, name: str, asker: Asker) -> list[Leftover]:
        """Return the private directories of Benchwright that are on a host, whoever left them. Changes nothing."""
        from app.hosts.leftovers import find

        with closing(self._hosts.connect(name, asker)) as session:
            return find(session, self._store)

    def remove_leftovers(self, name: str, asker: Asker, nonces: Sequence[str]) -> list[Leftover]:
        """Remove those of our own directories on a host that `nonces` name, ending what runs in them; return the rest.

        Nothing is touched that is not of this library, or that belongs to a run which has not ended.
        """
        from app.hosts.leftovers import remove

        self.check_writable()
        with closing(self._hosts.connect(name, asker)) as session:
            return remove(session, self._store, nonces)

    @property
    def _store(self) -> Store:
        with self._opening:
            if self._opened is None:
                from app.store import Store

                self._opened = Store(self._store_path)
                _end_interrupted(self._opened)
            return self._opened

    @property
    def library_path(self) -> Path:
        """Where the library is that is used now."""
        return self._store_path

    def open_library(self, path: Path) -> None:
        """Use the library at `path` from now on, made where there is none. Raises StoreError and keeps the one before.

        What runs meanwhile goes on being recorded in the one that it began in.
        """
        from app.store import Store

        opened = Store(path)
        _end_interrupted(opened)
        self.close()
        with self._opening:
            self._opened, self._store_path = opened, path

    def salvage(self, new: Path) -> Salvaged:
        """Write what can still be read of the library to a new one at `new`, and use that from now on."""
        from app.store.salvage import salvage

        saved = salvage(self._store_path, new)
        self.open_library(new)
        return saved

    def close(self) -> None:
        """Let go of the store."""
        with self._opening:
            if self._opened is not None:
                self._opened.close()
                self._opened = None


def _end_interrupted(store: Store) -> None:
    """End the runs whose Benchwright is gone and of which nothing is on a host: in order where they are complete."""
    if store.read_only() is None and store.interrupted():
        from app.comparing.gathering import Gathering
        from app.runs.concluding import conclude_interrupted

        conclude_interrupted(store, Gathering(store).record)
    store.mark_interrupted()

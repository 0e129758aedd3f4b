"""The service API of the window and the command line: hosts, facts, plans, runs, library, comparison, export.

Every method may block on network, files or the database: call it from a worker thread, never from the GUI thread. All
methods are thread-safe. Errors for the user are BenchwrightErrors.
"""

from __future__ import annotations

import logging
import threading
from contextlib import closing, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from app.fleet.inventory import INVENTORY_FILE, SavedInventory
from app.hosts.cloud_limits import CLOUD_LIMITS_FILE, SavedCloudLimits
from app.hosts.hosts import Hosts, SavedHosts
from app.library_location import Location
from app.margins import with_margins
from app.paths import consent_path, hosts_path, queue_path, store_path
from app.plans.consent import ConsentFile, Consents
from app.plans.context import step_context
from app.plans.duet import cpus_of_trial, facts_seen, pinned
from app.plans.plan import Plan, Policy, with_seed
from app.plans.plan_changes import apply_remedies
from app.plans.plan_file import read_plan, write_plan
from app.plans.totals import StepPreview
from app.plans.validation import validate
from app.redaction_services import RedactionServices
from app.runs.delivery import file_text, files_of
from app.saved_mappings import MAPPINGS_FILE, SavedMappings
from app.saved_margins import MARGINS_FILE, SavedMargins
from app.session_services import RunOptions
from remote.connection_state import PATIENCE, ReconnectPolicy
from suites.errors import BenchwrightError
from suites.perf import frequency, profiled_commands

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from app.calibration.calibrate import CalibrationDone, CalibrationRequest
    from app.checks.before import CheckReport
    from app.checks.issues import HostReading
    from app.detached_runs import DetachedRun
    from app.events import Event
    from app.hosts.leftovers import Leftover
    from app.hosts.load_probe import LoadProbe
    from app.queue.entries import QueueEntry
    from app.queue.run_queue import RunQueue
    from app.records import RunRecord
    from app.runs.control import Control
    from app.runs.request import RunRequest
    from app.runs.root_commands import RootCommand
    from app.store.salvage import Salvaged
    from app.store.store import Store
    from remote.questions import Asker
    from suites.facts import Facts
    from suites.vocab import Finding

log = logging.getLogger(__name__)


class Workstation(RedactionServices):
    """All services of the application."""

    def __init__(
        self, store: Location | None = None, hosts: Path | None = None, *, patience: ReconnectPolicy = PATIENCE
    ) -> None:
        """Use the library at `store` and the saved hosts at `hosts`, by default the user's; open them on first use.

        `patience` is the policy for reconnecting to a host during a run.
        """
        self._patience = patience
        self._location = store or store_path()
        self._hosts = Hosts(SavedHosts(hosts or hosts_path()))
        self._cloud_limits = SavedCloudLimits((hosts or hosts_path()).with_name(CLOUD_LIMITS_FILE))
        self._removed_limits = {}
        self._inventory = SavedInventory((hosts or hosts_path()).with_name(INVENTORY_FILE))
        self._removed_attributes = {}
        self._saved_margins = SavedMargins((hosts or hosts_path()).with_name(MARGINS_FILE))
        self._saved_mappings = SavedMappings((hosts or hosts_path()).with_name(MAPPINGS_FILE))
        self._memory = ConsentFile(consent_path())
        self.consents = Consents(self._memory)
        self._opening = threading.Lock()
        self._opened: Store | None = None
        self._creates = True

    @property
    def saved_margins(self) -> SavedMargins:
        """The user's own margins by metric."""
        return self._saved_margins

    @property
    def saved_mappings(self) -> SavedMappings:
        """The remembered mappings of tables."""
        return self._saved_mappings

    # Plans

    def new_plan(self, hosts: Sequence[str], suites: Sequence[str], facts: Mapping[str, Facts], name: str) -> Plan:
        """Return a plan with every suite's parameters tuned to the first host."""
        from app.plans.presets import tuned_plan

        return validate(tuned_plan(hosts, suites, facts, name))

    def default_plan(self, hosts: Sequence[str], suites: Sequence[str], name: str) -> Plan:
        """Return a plan with the tools' defaults for every suite."""
        from app.plans.presets import default_plan

        return validate(default_plan(hosts, suites, name))

    def quick_plan(self, host: str, facts: Facts) -> Plan:
        """Return the quick benchmark: CPU, memory and disk, one trial each, in under 90 s."""
        from app.plans.presets import quick_plan

        return quick_plan(host, facts)

    def load_plan(self, path: Path, *, usable_goals: bool = True, hosts: Sequence[str] = ()) -> Plan:
        """Return the plan in the file at `path`, as read_plan() does."""
        return read_plan(path, usable_goals=usable_goals, hosts=hosts)

    def save_plan(self, plan: Plan, path: Path) -> None:
        """Write `plan` to `path` as TOML."""
        write_plan(plan, path)

    def check(self, plan: Plan, facts: Mapping[str, Facts]) -> list[Finding]:
        """Run the checks of *before*."""
        return list(self.report(plan, facts).findings)

    def report(self, plan: Plan, facts: Mapping[str, Facts]) -> CheckReport:
        """Run the checks of *before*; report also what was not checked."""
        from app.checks.before import check_plan

        return check_plan(plan, facts, self._addresses(plan))

    def apply(self, plan: Plan, *findings: Finding) -> Plan:
        """Return the plan with the changes of the findings applied and recorded; see apply_remedies()."""
        return apply_remedies(plan, findings)

    def preview(self, plan: Plan, facts: Mapping[str, Facts]) -> list[StepPreview]:
        """Return for each host and step the exact commands and the estimate of one trial."""
        from app.plans.job_files import job_file

        addresses = self._addresses(plan)
        previews = []
        for shared in plan.steps:
            for host in plan.hosts:
                step = shared.on(host)
                context = step_context(step, host, facts_seen(plan, facts), addresses)
                cpus = cpus_of_trial(plan, step.name, 1, facts.get(host))
                commands = pinned(step.suite.commands(step.values, context), cpus)
                estimate = step.suite.estimate(step.values, context)
                lines = [file_text(file) for file, _on_peer in files_of(commands)]
                lines += [command.line for command in commands]
                if plan.repetition.profile:
                    hertz = frequency(context.facts, estimate.duration)
                    under_perf = [one for one in profiled_commands(commands, hertz) if one not in commands]
                    lines += ["# Profiled trial, not counted:", *(command.line for command in under_perf)]
                text = "\n".join(lines)
                previews.append(StepPreview(host, step.name, commands, estimate, text, job_file(step, host, facts)))
        return previews

    def root_commands(self, plan: Plan, facts: Mapping[str, Facts]) -> tuple[RootCommand, ...]:
        """Return every command of `plan` that runs as root, on every host."""
        from app.runs.root_commands import root_commands

        return root_commands(plan, facts, self._addresses(plan))

    def _addresses(self, plan: Plan) -> dict[str, str]:
        """Return the address at which this computer reaches each peer of `plan`, without unresolved ones."""
        addresses = {}
        for peer in {step.peer for step in plan.steps} - {None}:
            try:
                addresses[str(peer)] = self._hosts.address(str(peer))
            except BenchwrightError:
                log.info("no address for %s; connecting will report why", peer)
        return addresses

    def recheck(self, plan: Plan, facts: Mapping[str, Facts], host: str, asker: Asker) -> HostReading:
        """Read the facts of `host` again and return the outcome of the pre-run checks; the other `facts` stay."""
        from app.checks.recheck import facts_reading

        directories = [each.path for each in facts[host].directories] if host in facts else []
        devices = [each.path for each in facts[host].devices] if host in facts else []
        read = self.facts(host, asker, directories, devices)
        return facts_reading(plan, {**facts, host: read}, host, self._addresses(plan))

    def load_probe(self, plan: Plan, facts: Facts, asker: Asker) -> LoadProbe:
        """Return what reads the background load of the host of `facts`; it connects on its first reading."""
        from app.hosts.load_probe import LoadProbe

        return LoadProbe(lambda: self._hosts.connect(facts.host, asker), plan, facts)

    # Runs

    @cached_property
    def queue(self) -> RunQueue:
        """The queue of runs, of all processes of the user on this computer."""
        from app.queue.machines import machines_of
        from app.queue.run_queue import RunQueue

        return RunQueue(queue_path(), lambda plan: machines_of(plan, self._hosts.target))

    def run_entry(self, entry: QueueEntry, asker: Asker, control: Control) -> Generator[Event]:
        """Run an entry that the queue's take() returned: as run(), run_session() or attach() do.

        Raises WaitsAgainError if a machine did not admit it, so that the entry waits again.
        """
        try:
            if entry.detached:
                yield from self.attach(entry.detached, asker, control, RunOptions(entry=entry.id))
            elif entry.session_series:
                yield from self.run_session(entry.session_series, asker, control, entry.id)
            else:
                yield from self.run(entry.plan, asker, control, entry=entry.id)
        finally:
            self.queue.drop(entry.id)

    def run(
        self, plan: Plan, asker: Asker, control: Control, unwatched: frozenset[str] = frozenset(), entry: str = ""
    ) -> Generator[Event]:
        """Run the plan, storing every event before yielding it; of several sessions the first: see run_session().

        The steps `unwatched` run without telemetry. `entry` is its entry in the queue, if it was queued.

        Closing the iterator early stops the run cleanly: processes are ended, files removed, results kept. Raises
        NotAgreedError, before anything is done, if the user refuses consent: see Consents.
        """
        self.check_writable()
        validate(plan)
        if plan.repetition.sessions == 1:
            yield from self._run(plan, asker, control, RunOptions(unwatched=unwatched, entry=entry))
            return
        self.consents.settle(plan, asker)  # a refused plan has no series
        self.stopping_baseline(plan)
        yield from self._first_session(plan, asker, control, entry)

    def _run(self, plan: Plan, asker: Asker, control: Control, options: RunOptions) -> Generator[Event]:
        from app.runs.run import Engine, recorded

        plan = with_margins(with_seed(validate(plan)), self.margins())
        agreed = self.consents.settle(plan, asker)
        baseline = self.stopping_baseline(plan)
        run_id = options.run_id or self._new_run_id()
        made = self._request(run_id, plan, asker, control, agreed=agreed, baseline=baseline)
        request = replace(made, unwatched=options.unwatched, session=options.session)
        with self.queue.under_way(plan, self._location, control.busy, options.entry) as mark:
            request = replace(request, admit=mark.admit, streams=mark.streams)
            yield from mark.noted(recorded(Engine(request), self._store, self._use_library_of(options)))

    def calibrate(
        self, host: str, wanted: CalibrationRequest, asker: Asker, control: Control
    ) -> Generator[Event | CalibrationDone]:
        """Calibrate a host with trials of a suite; store the calibration and yield it at the end."""
        from app.calibration.calibrate import CalibrationServices, calibrate

        self.check_writable()

        def run(plan: Plan, unwatched: frozenset[str]) -> Generator[Event]:
            self.consents.remember_made(plan)  # the plan follows from `wanted`, the user's choice
            return self.run(plan, asker, control, unwatched)

        bench = CalibrationServices(
            lambda name: self._hosts.connect(name, asker), run, self._store.load, self._store.keep_calibration
        )
        yield from calibrate(bench, host, wanted, control)

    def stopping_baseline(self, plan: Plan) -> RunRecord | None:
        """Return the baseline of UNTIL_VERDICT, else None; raise if no verdict against it is possible."""
        if plan.repetition.policy is not Policy.UNTIL_VERDICT:
            return None
        from app.runs.policies import check_baseline

        record, sessions = self._selection.record_with_sessions(plan.repetition.baseline)
        check_baseline(plan, record, sessions)
        return record

    def _request(
        self,
        run_id: str,
        plan: Plan,
        asker: Asker,
        control: Control,
        *,
        agreed: Mapping[str, str],
        baseline: RunRecord | None,
    ) -> RunRequest:
        from app.runs.request import RunRequest

        return RunRequest(
            run_id,
            plan,
            self._hosts.connect,
            control,
            self._addresses(plan),
            baseline=baseline,
            patience=self._patience,
            asker=asker,
            agreed=agreed,
            memory=self._memory,
            cloud_limits=self._cloud_limits.of,
            interval=plan.telemetry_interval,
        )

    # Detached runs

    def detached_runs(self) -> list[DetachedRun]:
        """Return detached runs, and runs whose Benchwright process ended, newest first."""
        return self._store.detached_runs()

    def end_interrupted(self) -> None:
        """End the runs whose process has ended and that left nothing on a host."""
        _end_interrupted(self._store)

    def attach(self, run: str, asker: Asker, control: Control, options: RunOptions | None = None) -> Generator[Event]:
        """Resume a detached run: yield its stored events, then the new ones.

        Output written while detached is read from the byte at which the stored output ends; then the remaining trials
        run. With a stopped `control` it only ends the run cleanly and keeps the results. Raises StoreError if the run
        has ended or another process records it, ConnectError if a host is unreachable, and NotAgreedError as run()
        does; the run is then unchanged.
        """
        from app.runs.run import attached

        options = options or RunOptions()
        record = self._store.load(run)
        plan = validate(record.plan, usable_goals=False)
        agreed = self.consents.settle(plan, asker)
        taken = self._store.detached(record.summary.id)
        taken = replace(taken, record=replace(taken.record, plan=plan))  # the plan of the consent
        baseline = None
        with suppress(BenchwrightError):  # a deleted baseline must not prevent resuming
            baseline = self.stopping_baseline(plan)
        request = self._request(taken.id, plan, asker, control, agreed=agreed, baseline=baseline)
        with self.queue.under_way(plan, self._location, control.busy, options.entry) as mark:
            request = replace(request, admit=mark.admit, streams=mark.streams)
            opening = self._use_library_of(options)
            yield from mark.noted(attached(request, taken, self._store, self._selection.record, opening))

    def _services_at(self, library: Path, hosts: Path) -> Workstation:
        return Workstation(library, hosts)

    def _use_library_of(self, options: RunOptions) -> Callable[[Location], None]:
        """Return what opens the library in which a run is stored, unless it is the current one."""

        def use(location: Location) -> None:
            if location != self._location and not options.one_of_many:
                self.open_library(location)

        return use

    def forget(self, run: str) -> str:
        """End a detached run without contacting its hosts; return its id.

        Its state becomes PARTIAL, or that of its trials if they are complete. leftovers() finds what is still on a
        host.
        """
        from app.runs.attach import conclude, is_complete, remaining_parts

        run = self._store.load(run).summary.id
        detached = next((one for one in self._store.detached_runs() if one.id == run), None)
        if detached is not None and is_complete(detached, self._selection.record):
            conclude(self._store, run, self._selection.record)
            return run
        reason = "Detached, then forgotten; results are kept."
        return self._store.forget(run, " ".join([reason, *([] if detached is None else remaining_parts(detached))]))

    def leftovers(self, name: str, asker: Asker) -> list[Leftover]:
        """Return Benchwright's private directories on a host, of any user or library. Read-only."""
        from app.hosts.leftovers import find

        with closing(self._hosts.connect(name, asker)) as session:
            return find(session, self._store)

    def remove_leftovers(self, name: str, asker: Asker, nonces: Sequence[str]) -> list[Leftover]:
        """Remove the directories of this library named by `nonces`, ending their processes; return the remaining ones.

        Directories of other libraries, and of runs that have not ended, are not touched.
        """
        from app.hosts.leftovers import remove

        self.check_writable()
        with closing(self._hosts.connect(name, asker)) as session:
            return remove(session, self._store, nonces)

    @property
    def _store(self) -> Store:
        with self._opening:
            if self._opened is None:
                from app.store.store import Store

                self._opened = Store(self._location)
                self._opened.database.creates = self._creates
                _end_interrupted(self._opened)
            return self._opened

    def require_library(self) -> None:
        """Refuse a library file that is missing, when it is opened, in place of creating it."""
        self._creates = False

    @property
    def library_location(self) -> Location:
        """Where the current library is."""
        return self._location

    @property
    def library_path(self) -> Path:
        """The file of the current library, or the default one if that is on a server: others are made beside it."""
        return self._location if isinstance(self._location, Path) else store_path()

    def open_library(self, location: Location) -> None:
        """Switch to the library at `location`, created if missing. Raises StoreError and keeps the current one.

        Active runs continue to be recorded in the library in which they began.
        """
        from app.store.store import Store

        opened = Store(location)
        _end_interrupted(opened)
        self.close()
        with self._opening:
            self._opened, self._location = opened, location

    def salvage(self, new: Path) -> Salvaged:
        """Write the readable content of the library to a new one at `new`, and switch to it."""
        from app.store.errors import no_file
        from app.store.salvage import salvage

        if not isinstance(self._location, Path):
            raise no_file(self._location)
        saved = salvage(self._location, new)
        self.open_library(new)
        return saved

    def close(self) -> None:
        """Close the library."""
        with self._opening:
            if self._opened is not None:
                self._opened.close()
                self._opened = None


def _end_interrupted(store: Store) -> None:
    """End runs whose process is gone and that have nothing on a host: complete ones with their result."""
    if store.read_only() is None and store.interrupted():
        from app.comparison.selection import RunSelection
        from app.runs.attach import conclude_interrupted

        conclude_interrupted(store, RunSelection(store).record)
    store.mark_interrupted()

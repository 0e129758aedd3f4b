"""Services on fleet studies: estimate, begin, run, change and read them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from app.fleet_study import HostRunState
from app.host_services import HostServices
from app.timestamps import now

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Sequence

    from app.events import Event
    from app.fleet.board import Board, BoardReader
    from app.fleet.estimate import FleetEstimate
    from app.fleet.host_run import CarrierServices, OnSettled
    from app.fleet.idle import IdleStudy
    from app.fleet.job_queue import JobQueue
    from app.fleet.runner import FleetRunner, OnEvent
    from app.fleet.worker import FleetWorker, WorkerOptions, WorkerReport
    from app.fleet_study import FigureKey, FleetHost, FleetPlan, FleetStudy, HostRun
    from app.host_attributes import HostAddress
    from app.library_location import Location, ServerUrl
    from app.plans.consent import Consents
    from app.plans.plan import Plan
    from app.plans.totals import Totals
    from app.runs.control import Control
    from app.store.fleet_transfer import DeletedStudy
    from remote.questions import Asker


class FleetServices(HostServices, ABC):
    """Studies of many hosts. Threads, blocking and errors are as in app.services. `word` is a study's id or name."""

    consents: Consents

    @property
    @abstractmethod
    def library_location(self) -> Location:
        """Where the current library is."""

    def fleet_hosts(self, words: Sequence[str]) -> tuple[FleetHost, ...]:
        """Return the hosts that `words` select, with groups, attributes and addresses. Raises InventoryError."""
        from app.fleet_study import FleetHost
        from app.host_attributes import HostAddress
        from app.hosts.hosts import Origin

        inventory = self.inventory.read()
        saved = {entry.name: entry for entry in self.hosts() if entry.origin is Origin.SAVED}

        def address(host: str) -> HostAddress | None:
            entry = saved.get(host)
            if entry is None:
                return None
            return HostAddress(entry.host_name or host, entry.port, entry.user, entry.jump)

        groups = self.selected_hosts(words)
        return tuple(
            FleetHost(host, group, inventory.of(host), address(host))
            for group, hosts in groups.items()
            for host in hosts
        )

    def fleet_studies(self) -> list[FleetStudy]:
        """Return every study, the newest first."""
        return self._store.fleet_studies()

    def fleet_study(self, word: str) -> FleetStudy:
        """Return a study. Raises StoreError if there is none."""
        return self._store.find_fleet_study(word)

    def host_runs(self, word: str) -> list[HostRun]:
        """Return the host-runs of a study in the order of start."""
        return self._store.host_runs_of(self._store.find_fleet_study(word).id)

    def runs_of_host_runs_under_way(self) -> frozenset[str]:
        """Return the runs of the host-runs under way of all studies: their study resumes those that are detached."""
        return self._store.runs_of_host_runs_under_way()

    def idle_since(self, study: FleetStudy, host_runs: Sequence[HostRun]) -> str | None:
        """Return since when no other process runs a study that is not over or paused; see app.fleet.idle."""
        from app.fleet.idle import idle_since

        return idle_since(study, host_runs, self._store.recorded_runs(), now())

    def idle_fleet_studies(self, studies: Iterable[FleetStudy] | None = None) -> list[IdleStudy]:
        """Return those of `studies`, or of all, that are not over or paused, and that no process runs, in order."""
        from app.fleet.idle import IdleStudy

        open_ = [one for one in (self.fleet_studies() if studies is None else studies) if not one.over]
        since = [(one, self.idle_since(one, self._store.host_runs_of(one.id))) for one in open_]
        return [IdleStudy(one, moment) for one, moment in since if moment is not None]

    def board_reader(self) -> BoardReader:
        """Return what reads the board of a study; it keeps what it has read."""
        from app.fleet.board import BoardReader

        return BoardReader(self._store.progress_of)

    def fleet_board(self, word: str, reader: BoardReader | None = None, figure: FigureKey | None = None) -> Board:
        """Return the board of a study, with the values of `figure` (the headline of the first step)."""
        study = self._store.find_fleet_study(word)
        return (reader or self.board_reader()).board(study, self._store.host_runs_of(study.id), figure)

    def check_fleet(self, plan: FleetPlan) -> FleetPlan:
        """Return `plan` if it is valid; raise PlanError or ParameterError naming the fault."""
        from app.fleet_study import check_fleet
        from app.plans.validation import validate

        validate(_on_all_hosts(check_fleet(plan)))
        return plan

    def fleet_estimate(self, plan: FleetPlan) -> FleetEstimate:
        """Return time, cost and volume of a study by the estimates of its tests, without facts of the hosts."""
        from app.fleet.estimate import estimate_of
        from app.plans.totals import StepPreview, totals

        def totals_of(one: HostRun) -> Totals:
            from app.plans.context import step_context

            made = plan.plan_of(one)
            previews = [
                StepPreview(one.host, step.name, (), step.suite.estimate(step.values, context), "")
                for step in made.steps
                for context in (step_context(step, one.host, {}),)
            ]
            return totals(made, previews)

        return estimate_of(self.check_fleet(plan), totals_of)

    def begin_fleet_study(self, plan: FleetPlan, asker: Asker, *, by_workers: bool = False) -> FleetStudy:
        """Store a new study and return it; run it with fleet_runner(), or let workers do it.

        Raises NotAgreedError if the user refuses consent, PlanError for an invalid plan.
        """
        self.check_writable()
        if by_workers:
            self._library_server()
        self.consents.settle(_on_all_hosts(self.check_fleet(plan)), asker)
        return self._store.begin_fleet_study(plan, by_workers=by_workers)

    def fleet_runner(
        self, word: str, asker: Asker, on_event: OnEvent | None = None, on_settled: OnSettled | None = None
    ) -> FleetRunner:
        """Return what runs a study from this process.

        `on_event` gets the events of its host-runs, `on_settled` their new states, both on their threads.
        """
        from app.fleet.runner import FleetRunner

        self.check_writable()
        study, services = self._store.find_fleet_study(word), self.carrier_services(asker)
        if on_settled is not None:
            services = replace(services, on_settled=on_settled)
        return FleetRunner(services, study.id, on_event or (lambda _one, _event: None))

    def fleet_worker(self, asker: Asker, options: WorkerOptions, report: WorkerReport) -> FleetWorker:
        """Return a worker of the studies in the library.

        Raises StoreError for a library in a file, one that is read-only, and a queue that is not prepared.
        """
        from app.fleet.worker import FleetWorker
        from app.hosts.hosts import HostEntry

        queue = self._job_queue()
        self.check_writable()
        queue.check()

        def use_hosts(hosts: Iterable[FleetHost]) -> None:
            stated = ((host.name, host.address) for host in hosts)
            self._hosts.use_unsaved(
                HostEntry(name, host_name=one.host_name, port=one.port, user=one.user, jump=one.jump)
                for name, one in stated
                if one is not None
            )

        return FleetWorker(self.carrier_services(asker), queue, use_hosts, options, report)

    def prepare_queue(self) -> None:
        """Create or upgrade the library and its queue, as their owner.

        Raises StoreError for a library in a file, and one that is read-only.
        """
        queue = self._job_queue()
        self.check_writable()
        queue.prepare()

    def _job_queue(self) -> JobQueue:
        from app.store.errors import StoreError
        from app.store.opening import check_driver

        url = self._library_server()
        check_driver(url)
        try:
            from app.fleet.job_queue import JobQueue
        except ImportError as error:
            raise StoreError(
                f"The queue in {url} cannot be used: the Python package {error.name} is missing.",
                "Install it with: pip install 'benchwright[worker]'",
            ) from error
        return JobQueue(url)

    def _library_server(self) -> ServerUrl:
        from app.store.errors import StoreError

        if isinstance(self.library_location, Path):
            raise StoreError(
                f"The library {self.library_location} is a file: workers share one in PostgreSQL.",
                "Name it with --store postgresql+psycopg://USER@HOST/DATABASE.",
            )
        return self.library_location

    def carrier_services(self, asker: Asker) -> CarrierServices:
        """Return what carries a host-run."""
        from app.fleet.host_run import CarrierServices
        from app.session_services import RunOptions

        def run(plan: Plan, run_id: str, control: Control) -> Generator[Event]:
            return self._run(plan, asker, control, RunOptions(run_id, one_of_many=True))

        def attach(run_id: str, control: Control) -> Generator[Event]:
            return self.attach(run_id, asker, control, RunOptions(one_of_many=True))

        return CarrierServices(self._store, run, attach, self._new_run_id)

    def pause_fleet_study(self, word: str, *, paused: bool = True) -> FleetStudy:
        """Pause a study, so that nothing more starts, or resume it. Host-runs under way continue."""
        return self._store.pause_fleet_study(word, paused=paused)

    def end_fleet_study(self, word: str, *, stop: bool = False) -> FleetStudy:
        """End a study: what waits is skipped. Host-runs under way continue, unless `stop`."""
        return self._store.end_fleet_study(word, stop=stop)

    def delete_fleet_study(self, word: str) -> DeletedStudy:
        """Delete a study that is over, for restore_fleet_study(); its runs stay. Raises StoreError for another."""
        return self._store.delete_fleet_study(word)

    def restore_fleet_study(self, deleted: DeletedStudy) -> None:
        """Store a deleted study again."""
        self._store.restore_fleet_study(deleted)

    def workers_alive(self) -> int:
        """Return how many workers take host-runs of the library now. Raises StoreError for a library in a file."""
        from app.store.workers import workers_alive

        self._library_server()
        with self._store.database.reading() as connection:
            return workers_alive(connection)

    def retry_host_runs(self, word: str, hosts: Sequence[str] = (), numbers: Collection[int] = ()) -> list[HostRun]:
        """Let the failed and skipped host-runs of `hosts`, or those with `numbers`, wait again; return them.

        So do those that are done and whose run was deleted. Without either all failed ones.
        """
        states = [HostRunState.FAILED, *([HostRunState.SKIPPED] if hosts or numbers else [])]
        return self._store.retry_host_runs(word, hosts, states, numbers)

    def skip_host_runs(self, word: str, hosts: Sequence[str] = (), numbers: Collection[int] = ()) -> list[HostRun]:
        """Skip the waiting host-runs of `hosts`, or those with `numbers`; return them."""
        return self._store.skip_host_runs(word, hosts, numbers)

    def unskip_host_runs(self, word: str, skipped: Sequence[HostRun]) -> list[HostRun]:
        """Let host-runs that skip_host_runs() returned wait again, if they are still skipped; return those."""
        return self._store.unskip_host_runs(word, skipped)

    def add_fleet_hosts(self, word: str, hosts: Sequence[FleetHost], *, instead_of: str = "") -> list[HostRun]:
        """Add those of `hosts` that a study never had, or one instead of another; return the new host-runs."""
        before = self._store.find_fleet_study(word)
        known = before.plan.by_name.keys() | {one.host for one in self._store.host_runs_of(before.id)}
        new = [host for host in hosts if host.name not in known]
        return self._store.add_fleet_hosts(before.id, new or hosts, instead_of)

    def replace_fleet_host(self, word: str, old: str, new: str) -> list[HostRun]:
        """Measure the host `new` instead of `old` in a study, in the group of `old`; return the new host-runs."""
        before = self._store.find_fleet_study(word).plan.by_name.get(old)
        hosts = [replace(one, group=one.group if before is None else before.group) for one in self.fleet_hosts([new])]
        return self._store.add_fleet_hosts(word, hosts, old)


def _on_all_hosts(plan: FleetPlan) -> Plan:
    return replace(plan.plan, hosts=tuple(host.name for host in plan.hosts))

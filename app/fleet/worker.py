"""A worker: takes host-runs of the studies in a shared library from its queue, and carries them.

Each worker releases the host-runs that may start within the limits to the queue: after each host-run, and regularly.
The same look finds the host-runs whose worker ended.
"""

import logging
import math
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from app.events import Event, RunStarted, TrialStarted
from app.fleet.admission import startable
from app.fleet.host_run import CarrierServices, carry, uncounted
from app.fleet_study import FleetHost, FleetStudy, HostRun, HostRunState
from app.runs.control import Control
from app.store import host_runs
from app.store.errors import TRANSIENT, StoreError, TakenOverError, UnknownOutcomeError
from app.store.ownership import HEARTBEAT, HEARTBEAT_TIMEOUT, READABLE, this_computer, this_process
from app.store.workers import workers_alive
from suites.errors import BenchwrightError

if TYPE_CHECKING:
    from app.fleet.job_queue import HostRunJob, JobQueue

log = logging.getLogger(__name__)

LOOK_EVERY = 5.0
"""Seconds between looks for host-runs that may start, and for those whose worker ended."""

RETRY_AFTER = 2.0
"""Seconds until a worker tries again to use a library that it cannot reach."""

SEEN_FOR = 2 * HEARTBEAT + LOOK_EVERY
"""Seconds for which a worker has to reach the library before it judges that others ended.

After an outage of HEARTBEAT_TIMEOUT no worker has a recent heartbeat in the library.
"""

_DRAWN = 4
"""Random characters in the name of a worker."""

PASS_ON, MOST_PASSES = 5.0, 3
"""Seconds for which a worker leaves a host-run whose host it did not reach before to others, and how often.

One that it was refused itself it leaves to them as long as one of them has not tried.
"""

OTHERS_START = 60.0
"""Seconds after its start for which a worker expects others: those of a team are started one after the other."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """`at_once`: host-runs that this worker carries at once. `once`: it ends when no study has anything to do."""

    at_once: int = 4
    once: bool = False


class WorkerReport:
    """Receives what a worker does, on its threads; this one ignores it."""

    def event(self, study: FleetStudy, one: HostRun, event: Event) -> None:
        """An event of the run of a host-run."""

    def settled(self, study: FleetStudy, one: HostRun, state: HostRunState, reason: str) -> None:
        """A host-run is no longer carried by this worker, with its new state, and why."""

    def library(self, problem: str) -> None:
        """The library cannot be used because of `problem`; empty: it can be again. Each once."""


class FleetWorker:
    """Carries host-runs until stop(). A host-run that fails never ends the worker."""

    def __init__(
        self,
        services: CarrierServices,
        queue: "JobQueue",
        use_hosts: Callable[[Iterable[FleetHost]], None],
        options: WorkerOptions,
        report: WorkerReport,
    ) -> None:
        """`use_hosts` makes the addresses of a study's hosts known to connections."""
        self._services = replace(
            services, others=self._others, on_refused=self._note_refused, on_settled=report.settled
        )
        self._queue, self._use_hosts, self._options = queue, use_hosts, options
        self._store, self._report, self._problem = services.store, report, ""
        self._name = _own_name()
        self._stop = threading.Event()
        self._controls: dict[tuple[str, int], Control] = {}
        self._lock = threading.Lock()
        self._look_over = threading.Lock()  # one look at a time
        self._reached_since, self._reached, self._began = math.inf, -math.inf, -math.inf
        self._unreached: set[str] = set()
        self._passes: Counter[tuple[str, int]] = Counter()
        self._refused: dict[tuple[str, int], str] = {}

    def stop(self) -> None:
        """Take no more host-runs, and detach those under way: other workers attach them. From any thread."""
        self._stop.set()
        with self._lock:
            for control in self._controls.values():
                control.detach()

    def run(self) -> None:
        """Work until stop(). Raises StoreError if the library or its queue cannot be used at the start."""
        self._store.fleet_studies()
        self._began = time.monotonic()
        looking = threading.Thread(target=self._look, name="look for host-runs", daemon=True)
        looking.start()
        try:
            self._queue.work(self._handle, self._options.at_once, self._stop)
        finally:
            self._stop.set()
            looking.join()

    def _look(self) -> None:
        while not self._stop.is_set():
            try:
                studies = [one for one in self._store.fleet_studies() if one.by_workers]
                for study in studies:
                    self._stop_host_runs(study)
                    if not study.over:
                        self._release(study)
                self._note_library("")
                if self._options.once and all(map(_has_nothing_to_do, studies)) and not self._controls:
                    self._stop.set()
            except StoreError as error:
                log.warning("the library cannot be used; trying again", exc_info=True)
                self._note_library(str(error))
            except Exception:
                log.exception("a look for host-runs failed")
            self._stop.wait(LOOK_EVERY)

    def _note_library(self, problem: str) -> None:
        """Report the first of the problems of an outage, and its end."""
        if bool(problem) != bool(self._problem):
            self._report.library(problem)
        self._problem = problem

    def _stop_host_runs(self, study: FleetStudy) -> None:
        """Stop the host-runs of a study that is to be stopped, and those whose host was replaced."""
        with self._lock:
            carried = {number: control for (name, number), control in self._controls.items() if name == study.id}
        active = {one.number for one in self._store.host_runs_under_way(study.id)} if carried else set[int]()
        for number, control in carried.items():
            if study.stopped is not None or number not in active:
                control.stop()

    def _release(self, study: FleetStudy) -> None:
        """Release what may start, and what a worker that ended left, to the queue: in one transaction."""
        from app.fleet.job_queue import HostRunJob

        with self._look_over:
            with self._store.database.writing() as connection:
                with self._lock:
                    carried = frozenset(number for name, number in self._controls if name == study.id)
                freed = host_runs.release(connection, study.id, carried) if self._has_reached() else []
                started = host_runs.start(connection, study, startable, "")
                jobs = [HostRunJob(study.id, one.number, one.epoch) for one in (*freed, *started)]
                self._queue.defer(connection, jobs)
            self._reached = time.monotonic()

    def _has_reached(self) -> bool:
        """Note that the library was reached; return whether it was for SEEN_FOR, without an outage."""
        moment = time.monotonic()
        if moment - self._reached > HEARTBEAT_TIMEOUT - HEARTBEAT:
            self._reached_since = moment
        return moment - self._reached_since >= SEEN_FOR

    def _handle(self, job: "HostRunJob") -> None:
        """Carry the host-run of a job, unless another worker has it.

        This worker has it if others took it for lost while the library was out of reach: it is settled by its run then.
        """
        with self._lock:
            if (job.study, job.number) in self._controls:
                return
        claimed = self._claimed(job)
        if claimed is None:
            return
        study, one = claimed
        if self._passed_on(study, one):
            return
        control, key = Control(), (study.id, one.number)
        with self._lock:
            if key in self._controls:  # it was delivered twice, and this claim was not confirmed
                return
            self._controls[key] = control
            if self._stop.is_set():
                control.detach()
            elif study.stopped is not None:
                control.stop()
        try:
            for event in carry(self._services, study, one, control):
                self._note_reached(one, event)
                self._report.event(study, one, event)
        except BenchwrightError:
            log.warning("the host-run of %s was not settled", one.title, exc_info=True)
        finally:
            with self._lock:
                del self._controls[key]
            self._released(study)

    def _note_reached(self, one: HostRun, event: Event) -> None:
        """Note whether this worker reaches the host: it may lack a key or a route that others have."""
        if isinstance(event, TrialStarted):
            self._unreached.discard(one.title)
        elif isinstance(event, RunStarted):
            self._unreached.add(one.title)  # so far

    def _note_refused(self, study: FleetStudy, one: HostRun, reason: str) -> None:
        self._unreached.add(one.title)
        self._refused[study.id, one.number] = reason

    def _others(self) -> int:
        """Return how many other workers are alive, or will be."""
        expected = int(time.monotonic() - self._began < OTHERS_START)
        with self._store.database.reading() as connection:
            return max(workers_alive(connection) - 1, expected)

    def _passed_on(self, study: FleetStudy, one: HostRun) -> bool:
        """Leave a host-run to other workers for a while if this one did not reach its host before."""
        key = study.id, one.number
        if one.title not in self._unreached or not self._leaves(key, one):
            return False
        self._passes[key] += 1
        waits = uncounted(one)
        reason = self._refused.get(key, f"{self._name} did not reach {one.title}: left to other workers.")
        with suppress(StoreError):  # it is released after a while
            if one.run:
                self._store.leave_host_run(study.id, one, reason)
            else:
                self._store.settle_host_run(study.id, waits, HostRunState.WAITING, reason=reason, wait=PASS_ON)
        return True

    def _leaves(self, key: tuple[str, int], one: HostRun) -> bool:
        """Return whether to leave a host-run to others: each is to try it, and only this one is known to be free."""
        if self._passes[key] < MOST_PASSES:
            return key in self._refused or not one.run
        with suppress(StoreError):
            return key in self._refused and uncounted(one).attempts <= self._others()
        return False

    def _claimed(self, job: "HostRunJob") -> tuple[FleetStudy, HostRun] | None:
        """Claim a host-run; None if another worker has it. Waits for a library that cannot be reached.

        A worker that was stopped puts the job back in the queue.
        """
        again = False
        while not self._stop.is_set():
            try:
                study = self._store.find_fleet_study(job.study)
                self._use_hosts(study.plan.hosts)
                return study, self._store.claim_host_run(job.study, job.number, job.epoch, self._name, again=again)
            except TakenOverError:
                log.info("job for %s of %s, epoch %s: taken over", job.number, job.study, job.epoch)
                return None
            except TRANSIENT as error:
                again = again or isinstance(error, UnknownOutcomeError)
                log.warning("the library cannot be used; trying again", exc_info=True)
                self._stop.wait(RETRY_AFTER)
            except StoreError:
                log.warning("the study %s cannot be used", job.study, exc_info=True)
                return None
        with suppress(StoreError), self._store.database.writing() as connection:
            self._queue.defer(connection, [job])
        return None

    def _released(self, study: FleetStudy) -> None:
        """Release what may start now that a host-run is over; the next look does it if the library is out of reach."""
        try:
            self._release(self._store.find_fleet_study(study.id))
        except StoreError:
            log.info("nothing released after a host-run", exc_info=True)


def _own_name() -> str:
    """Return the name of a worker, which no other has: those in containers often share host name and process id."""
    drawn = "".join(secrets.choice(READABLE) for _ in range(_DRAWN))
    return f"{this_computer()} (process {this_process().pid}, {drawn})"


def _has_nothing_to_do(study: FleetStudy) -> bool:
    """Return whether nothing of a study is under way, and nothing will start."""
    under_way = any(count for state, count in study.counts.items() if state.active)
    return study.over or (study.paused is not None and not under_way)

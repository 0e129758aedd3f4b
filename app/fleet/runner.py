"""Runs a fleet study from this process: starts host-runs as its limits allow, and carries each on a thread."""

import logging
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial

from app.events import Event
from app.fleet.admission import startable
from app.fleet.host_run import CarrierServices, carry
from app.fleet.watching import HostRunEvents, WatchedRun
from app.fleet_study import FleetStudy, HostRun
from app.runs.control import Control
from app.store.errors import NoStudyError, StoreError, TakenOverError
from app.store.ownership import this_computer, this_process
from suites.errors import BenchwrightError

log = logging.getLogger(__name__)

LOOK_EVERY = 2.0
"""Seconds between looks at the library: for what is due, changed by others, or left by a process that ended."""

OnEvent = Callable[[HostRun, Event], None]


def worker_name() -> str:
    """Return the name of this process as a carrier of host-runs: ``ann@desk (process 4711)``."""
    return f"{this_computer()} (process {this_process().pid})"


@dataclass(slots=True)
class _Carried:
    """A host-run that a thread carries."""

    one: HostRun
    control: Control = field(default_factory=Control)
    thread: threading.Thread | None = None


class FleetRunner:
    """Runs the host-runs of a study until it is over, or until stop() or detach().

    A host-run that fails never ends the others. Host-runs under way of a process that ended are attached.
    """

    def __init__(self, services: CarrierServices, study: str, on_event: OnEvent = lambda _one, _event: None) -> None:
        self._services, self._study, self._on_event = services, study, on_event
        self._store, self._worker = services.store, worker_name()
        self._carried: dict[int, _Carried] = {}
        self._changed = threading.Condition()
        self._end: Callable[[Control], None] | None = None
        self._clock = Control()  # since stop()
        self._events = HostRunEvents()

    @property
    def stopped(self) -> bool:
        """Whether stop() was called."""
        return self._clock.stopped

    def remaining(self, seconds: float) -> float:
        """Return the seconds remaining of the first `seconds` after stop(); infinite before."""
        return self._clock.remaining(seconds)

    def stop(self) -> None:
        """Stop the host-runs under way and start no more; the study can be resumed. From any thread."""
        self._request(Control.stop)

    def detach(self) -> None:
        """Detach the host-runs under way and start no more: their commands continue. From any thread."""
        self._request(Control.detach)

    def stop_host_run(self, number: int) -> None:
        """Stop one host-run. From any thread."""
        if (control := self.control_of(number)) is not None:
            control.stop()

    def stopping(self) -> frozenset[int]:
        """Return the numbers of the host-runs that were asked to stop and have not ended. From any thread."""
        with self._changed:
            return frozenset(number for number, carried in self._carried.items() if carried.control.stopped)

    def hosts_under_way(self) -> tuple[str, ...]:
        """Return the hosts of the host-runs that this process carries. From any thread."""
        with self._changed:
            return tuple(dict.fromkeys(host for carried in self._carried.values() for host in carried.one.hosts))

    def control_of(self, number: int) -> Control | None:
        """Return the control of a host-run that this process carries; None of another. From any thread."""
        with self._changed:
            carried = self._carried.get(number)
        return None if carried is None else carried.control

    def watched(self, study: FleetStudy, one: HostRun) -> WatchedRun | None:
        """Return the run of a host-run that this process carries; None of another. From any thread."""
        control = self.control_of(one.number)
        if control is None or not one.run:
            return None

        def events() -> Generator[Event]:
            return self._events.watch(self._store, one, lambda: self.control_of(one.number) is control)

        return WatchedRun(one.run, study.plan.plan_of(one), control, events)

    def _stop_with_study(self) -> None:
        """Stop what is under way; run() attaches, to stop it, what other processes left, until the study is over."""
        with self._changed:
            for control in (self._clock, *(carried.control for carried in self._carried.values())):
                control.stop()

    def _request(self, end: Callable[[Control], None]) -> None:
        with self._changed:
            self._end = end
            end(self._clock)
            for carried in self._carried.values():
                end(carried.control)
            self._changed.notify_all()

    def run(self) -> FleetStudy:
        """Run the study; return it at the end. Raises StoreError if the library cannot be read at the start."""
        study = self._store.find_fleet_study(self._study)
        while not self._over(study):
            try:
                study = self._store.find_fleet_study(self._study)
                if self._end is None:
                    self._continue(study)
                    if study.stopped is not None:
                        self._stop_with_study()
            except NoStudyError:  # deleted once it was over
                return study
            except StoreError:
                log.warning("the library cannot be used; trying again", exc_info=True)
            with self._changed:
                if self._end is None or self._carried:
                    self._changed.wait(LOOK_EVERY)
        try:
            return self._store.find_fleet_study(self._study)
        except NoStudyError:
            return study

    def _over(self, study: FleetStudy) -> bool:
        with self._changed:
            if self._carried:
                return False
        if self._end is not None or study.by_workers:
            return True
        return study.ended is not None and study.over

    def _continue(self, study: FleetStudy) -> None:
        with self._changed:
            carried = dict(self._carried)
        for number in carried.keys() - {one.number for one in self._store.host_runs_under_way(study.id)}:
            carried[number].control.stop()  # its host was replaced
        for left in self._store.release_host_runs(study.id, frozenset(carried)):
            try:
                claimed = self._store.claim_host_run(study.id, left.number, left.epoch, self._worker)
            except TakenOverError:
                continue
            self._start(study, claimed)
        with self._changed:
            free = study.plan.limits.at_once - len(self._carried)
        if free > 0:
            choose = partial(startable, at_most=free)
            for one in self._store.start_host_runs(study, choose, self._worker):
                self._start(study, one)

    def _start(self, study: FleetStudy, one: HostRun) -> None:
        carried = _Carried(one)
        carried.thread = threading.Thread(
            target=self._carry, args=(study, carried), name=f"host-run {one.number} of {study.id}", daemon=True
        )
        with self._changed:
            self._carried[one.number] = carried
            if self._end is not None:  # requested meanwhile
                self._end(carried.control)
        carried.thread.start()

    def _carry(self, study: FleetStudy, carried: _Carried) -> None:
        try:
            for event in carry(self._services, study, carried.one, carried.control, lambda: self.stopped):
                self._notify(carried.one, event)
        except BenchwrightError:
            log.warning("the host-run of %s was not settled", carried.one.title, exc_info=True)
        except Exception:
            log.exception("the host-run of %s failed", carried.one.title)
        finally:
            with self._changed:
                if self._carried.get(carried.one.number) is carried:  # else it was settled to wait, and started again
                    del self._carried[carried.one.number]
                self._changed.notify_all()

    def _notify(self, one: HostRun, event: Event) -> None:
        """Pass an event on; what fails there ends no host-run."""
        self._events.put(one, event)
        try:
            self._on_event(one, event)
        except Exception:
            log.exception("an event of the host-run of %s was not shown", one.title)

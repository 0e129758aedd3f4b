"""Carrying a host-run: run its plan, or attach its run; every change in the library is fenced by its epoch."""

import logging
import shlex
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from app.events import Event, LibraryChanged, RunDetached, RunEnded, RunStarted, State, TrialAttached, TrialStarted
from app.fleet_study import FleetStudy, HostRun, HostRunState
from app.json_converter import short
from app.library_location import Location
from app.plans.consent import NotAgreedError
from app.plans.plan import Plan
from app.runs.control import Control, HostInUseError
from app.store.errors import TRANSIENT, StoreError, TakenOverError
from app.store.store import Store
from remote.errors import FINAL, ConnectError, ConnectOutcome, outcome_of
from suites.errors import BenchwrightError

log = logging.getLogger(__name__)

IN_USE_RETRY = 15.0
"""Seconds until a host-run tries again whose host another run measures."""

CONNECT_RETRY = 60.0
"""Seconds until a host-run tries again that measured nothing, times the attempts so far."""

BY_USER = FINAL | {ConnectOutcome.AUTH_REFUSED}
"""Failures to connect that do not pass by waiting, though another worker may have the key or the login."""

REFUSED_RETRY = 5.0
"""Seconds until a host-run that this process may not carry is left to other workers."""

LIBRARY_RETRY = 2.0
"""Seconds until a change in a library that cannot be reached is tried again."""

OnSettled = Callable[[FleetStudy, HostRun, HostRunState, str], None]
"""Gets a host-run with its new state and the reason; RUNNING if it has no carrier."""

_MAY_PASS = ConnectError | StoreError
"""Errors that may pass: the host was not reached, or the library not written."""

_Returned = TypeVar("_Returned")


@dataclass(frozen=True, slots=True)
class CarrierServices:
    """What carrying a host-run needs: `run` runs a plan under a run id, `attach` resumes a run.

    `others` returns how many other workers are alive, which have keys, logins and options of their own. `on_refused`
    gets a host-run that needs what only the user can give this process: a key, a login, consent; and the reason.
    """

    store: Store
    run: Callable[[Plan, str, Control], Generator[Event]]
    attach: Callable[[str, Control], Generator[Event]]
    new_run_id: Callable[[], str]
    others: Callable[[], int] = lambda: 0
    on_refused: Callable[[FleetStudy, HostRun, str], None] = lambda *_: None
    on_settled: OnSettled = lambda *_: None


@dataclass(slots=True)
class _Outcome:
    """What the events state about the run. `measured`: a trial began.

    `attached`: another process began the run. `stopped`: it was stopped with its study, which can be resumed.
    """

    state: State | None = None
    reason: str = ""
    measured: bool = False
    detached: bool = False
    attached: bool = False
    stopped: bool = False
    unreached: ConnectOutcome | None = None
    library: Location | None = None

    def note(self, event: Event) -> None:
        match event:
            case RunEnded(state=state, reason=reason, unreached=unreached):
                self.state, self.reason, self.unreached = state, reason, unreached
            case TrialStarted() | TrialAttached():
                self.measured = True
            case RunDetached():
                self.detached = True
            case LibraryChanged(path=path, problem=""):
                self.library = path


def carry(
    services: CarrierServices,
    study: FleetStudy,
    one: HostRun,
    control: Control,
    with_study: Callable[[], bool] = lambda: True,
) -> Generator[Event]:
    """Carry a host-run that this process has claimed; yield its events, and settle it at the end.

    A host-run that another process takes over ends here without an event. A detached one stays under way. If it was
    stopped `with_study`, it waits again, or is skipped in a study that was ended; stopped alone, it has failed. After a
    failure that only the user can fix, it is tried again only if there are other workers, by each of them. Waits for a
    library that cannot be written; if `control` ends that, the error is raised, and the host-run stays under way until
    it is released.
    """
    outcome, error = _Outcome(attached=bool(one.run)), None
    try:
        if one.run:
            yield from _noted(services.attach(one.run, control), outcome)
        else:
            set_run = partial(services.store.set_run_of_host_run, study.id, one, services.new_run_id())
            one = _once_reached(set_run, control)
            yield from _begun(services, study, one, control, outcome)
    except TakenOverError:
        log.info("the host-run of %s was taken over", one.title, exc_info=True)
        return
    except TRANSIENT:
        raise
    except BenchwrightError as failed:
        error = failed
    except Exception as bug:
        log.exception("the host-run of %s failed", one.title)
        error = BenchwrightError(f"Benchwright failed: {short(repr(bug))}.", "The log has more.")
    outcome.stopped = control.stopped and with_study()
    if outcome.detached or control.taken_over:
        return
    with suppress(TakenOverError):
        _once_reached(partial(_settle, services, study, one, outcome, error), control)


def _once_reached(call: Callable[[], _Returned], control: Control) -> _Returned:
    """Return what `call` returns, once the library can be written; raise its error if the run ends before."""
    while True:
        try:
            return call()
        except TRANSIENT:
            if control.wait(LIBRARY_RETRY):
                raise
            log.info("the library cannot be used; trying again", exc_info=True)


def _begun(
    services: CarrierServices, study: FleetStudy, one: HostRun, control: Control, outcome: _Outcome
) -> Generator[Event]:
    """Run the plan of a host-run.

    Once its run is stored, another process attaches it, or has started the host-run with another run already: this one
    is then deleted.
    """
    try:
        with closing(services.run(study.plan.plan_of(one), one.run, control)) as events:
            for event in events:
                if isinstance(event, RunStarted):
                    _confirm(services.store, study, one, control)
                outcome.note(event)
                yield event
    except TakenOverError:
        with suppress(StoreError):
            if not outcome.measured and not services.store.fleet_studies_of(one.run):
                services.store.delete(one.run)
        raise


def _confirm(store: Store, study: FleetStudy, one: HostRun, control: Control) -> None:
    """Detach the run of a host-run that was released, as another process attaches it; stop that of a replaced host.

    Raises TakenOverError if another run was started.
    """
    try:
        _once_reached(partial(store.confirm_host_run, study.id, one), control)
    except TakenOverError:
        if not _once_reached(partial(store.fleet_studies_of, one.run), control):
            raise
        active = _once_reached(partial(store.host_runs_under_way, study.id), control)
        control.detach() if one.number in {each.number for each in active} else control.stop()


def _noted(events: Generator[Event], outcome: _Outcome) -> Generator[Event]:
    with closing(events):
        for event in events:
            outcome.note(event)
            yield event


def _settle(
    services: CarrierServices,
    study: FleetStudy,
    one: HostRun,
    outcome: _Outcome,
    error: BenchwrightError | None,
) -> None:
    store, settle = services.store, partial(_set_state, services, study)
    elsewhere = type(error) in {HostInUseError, StoreError}  # another process has the run, or it has ended
    reason = outcome.reason if error is None else str(error)
    attempts = one.attempts + (not elsewhere)
    refused = isinstance(error, NotAgreedError) or (outcome_of(error) or outcome.unreached) in BY_USER
    others = services.others() if refused else 0
    again = one.attempts <= max(study.plan.retries, others) and (not refused or others > 0)
    if refused:
        reason = _of_worker(study, one, reason, error)
        services.on_refused(study, one, reason)
    if outcome.library not in {None, store.location}:
        reason = f"The library could not be written: the run is saved to {outcome.library}. {reason}".strip()
        settle(one, HostRunState.FAILED, reason)
    elif outcome.state is State.DONE:
        settle(one, HostRunState.DONE, reason)
    elif outcome.stopped and error is None:
        settle(uncounted(one), HostRunState.WAITING, reason)
    elif outcome.attached and (refused or isinstance(error, _MAY_PASS | HostInUseError)) and (elsewhere or again):
        reason = error.message if elsewhere and error else reason  # the remedy is that of a single run
        store.leave_host_run(study.id, replace(one, attempts=attempts), reason)  # release() returns it, or settles it
        services.on_settled(study, one, HostRunState.RUNNING, reason)
    elif isinstance(error, HostInUseError):
        reason = f"{error.message} It is tried again every {IN_USE_RETRY:.0f} s."
        settle(uncounted(one), HostRunState.WAITING, reason, wait=IN_USE_RETRY)
    elif not outcome.measured and again and (refused or _may_pass(outcome, error)):
        wait = REFUSED_RETRY if refused else CONNECT_RETRY * one.attempts
        settle(one, HostRunState.WAITING, reason, wait=wait)
        with suppress(StoreError):
            store.delete(one.run)  # it measured nothing
    else:
        reason = reason or "ended without a final state"
        if one.run in store.running():
            reason = f"{reason} {_may_still_run(study, one)}"
        elif refused:
            then = f"{reason} Then" if reason.endswith(".") else f"{reason}; then"  # after a command
            reason = f"{then} run: {_retry(study, one)}"
        settle(one, HostRunState.FAILED, reason)


def _set_state(
    services: CarrierServices, study: FleetStudy, one: HostRun, state: HostRunState, reason: str, *, wait: float = 0.0
) -> None:
    written = services.store.settle_host_run(study.id, one, state, reason=reason, wait=wait)
    services.on_settled(study, one, written.state, written.reason)


def _of_worker(study: FleetStudy, one: HostRun, reason: str, error: BenchwrightError | None) -> str:
    """Return `reason` with the worker whose key, login or options it is about."""
    if not study.by_workers:
        return reason
    allow = " Allow it with the option --yes of workers." if isinstance(error, NotAgreedError) else ""
    return f"On the worker {one.worker}: {reason}{allow}"


def _may_still_run(study: FleetStudy, one: HostRun) -> str:
    host = shlex.quote(one.host)
    return (
        f"Commands of run {one.run} may still run on {one.title}: benchwright hosts leftovers {host} shows them. "
        f"To attach it again: {_retry(study, one)}. To end it: benchwright attach {one.run} --stop"
    )


def _retry(study: FleetStudy, one: HostRun) -> str:
    return f"benchwright fleet retry {study.id} {shlex.quote(one.host)}"


def uncounted(one: HostRun) -> HostRun:
    """Return a host-run whose last attempt does not count as one to connect."""
    return replace(one, attempts=max(0, one.attempts - 1))


def _may_pass(outcome: _Outcome, error: BenchwrightError | None) -> bool:
    """Return whether trying again may help: the host was not reached, or the library not written."""
    return isinstance(error, _MAY_PASS) or outcome.state is State.FAILED

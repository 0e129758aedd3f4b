"""Setup of the hosts of a run, concurrently: connect, claim, read facts, check, tune."""

import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from app.checks.before import check_plan
from app.events import Activity, Event, FactsRead, FindingRaised, LinkChanged, Moment
from app.plans.context import loops_below, step_context
from app.plans.plan import Step, host_label
from app.runs.control import DetachedError, HostInUseError, StoppedError
from app.runs.event_queue import IDLE, DefectError, Task, stepped
from app.runs.questions import LossConfirmation, SerialAsker
from app.runs.request import RunRequest
from app.runs.root_actions import RootWork
from app.runs.run_hosts import RunHosts
from remote.connection_state import LinkState
from remote.devices import read_devices
from remote.probe import read_facts
from suites.base import Command, devices_of, directories_of
from suites.errors import BenchwrightError
from suites.facts import Facts
from suites.vocab import Finding

log = logging.getLogger(__name__)

GRACE = 3.0
"""Seconds to wait for the remaining hosts once one is connected: an unreachable host uses its whole ConnectTimeout."""


class UnreachedError(BenchwrightError):
    """None of the plan's hosts was reached."""


class HostSetup:
    """Setup of a run's hosts: connection, lease, facts, checks, tuning.

    A host that fails is recorded in `failed` and does not affect the others. A detached run is left unchanged if a
    host that it needs fails.
    """

    def __init__(self, request: RunRequest, hosts: RunHosts, root: RootWork, asker: SerialAsker) -> None:
        detached_run = request.detached_run
        self.hosts, self.root = hosts, root
        self.facts: dict[str, Facts] = {} if detached_run is None else dict(detached_run.record.facts_before)
        self.findings: list[Finding] = [] if detached_run is None else list(detached_run.record.findings)
        self.ready: set[str] = set()
        self.failed: dict[str, BenchwrightError] = {}
        self._request, self._plan, self._detached_run = request, request.plan, detached_run
        self._needed = frozenset() if detached_run is None else detached_run.needed
        self._asker = asker
        self._begun = False
        self._read: set[str] = set()
        self._checked: set[str] = set()
        self._tasks: list[Task] = []
        self._names: tuple[str, ...] = ()
        self._last_response = 0.0  # time of the last connection or answered question (monotonic seconds)
        self._asked = 0

    def begin(self, names: tuple[str, ...]) -> Iterator[Event]:
        """Set up the hosts `names` until trials may begin; slow hosts continue in step().

        Raises the error of a host if no other host can be measured, HostInUseError if one is in use.
        """
        self._names, self._last_response = names, time.monotonic()
        self._tasks = [Task(self._join(host)) for host in names]
        yield from self._wait_until(self._read)
        yield from self._check(self._read)
        # Only now: the process that records the run may still live, and keeps the run if this one is refused.
        self._request.take_over()
        self._begun = self._asker.begun = True
        yield from self._wait_until(self.ready)

    def step(self) -> Iterator[Event]:
        """Continue with the hosts that are not ready yet."""
        yield from stepped(self._tasks)

    def _wait_until(self, reached: set[str]) -> Iterator[Event]:
        while any(self._must_wait_for(host, reached) for host in self._names):
            self._request.control.raise_if_detached()
            if self._request.control.stopped and self._detached_run is None:
                raise StoppedError
            if self._stops_only() and self._needed <= reached:
                return
            yield from self.step()
            yield IDLE
        wanted = [host for host in self._plan.hosts if host in self._names]
        if wanted and not self._stops_only() and not any(host in reached for host in wanted):
            self._request.control.raise_if_detached()  # it came first, and the hosts failed in the same moment
            reasons = [self.failed[host] for host in wanted]
            raise reasons[0] if len(reasons) == 1 else UnreachedError(" ".join(map(str, reasons)))

    def _stops_only(self) -> bool:
        """Whether a detached run is attached only to be stopped."""
        return self._detached_run is not None and self._request.control.stopped

    def _must_wait_for(self, host: str, reached: set[str]) -> bool:
        """Whether trials have to wait for `host`."""
        if host in self.failed or host in reached:
            return False
        if host in self._needed or not any(other in reached for other in self._plan.hosts):
            return True
        if self._asked != self._asker.question_count:
            self._asked, self._last_response = self._asker.question_count, time.monotonic()
        connected = host in self.hosts.sessions and not self.hosts.is_lost(host)
        return connected or time.monotonic() < self._last_response + GRACE

    def _join(self, host: str) -> Iterator[Event]:
        try:
            yield from self._reach(host)
            self._read.add(host)
            while not self._begun:
                yield IDLE
            if host not in self._checked:
                yield from self._check({host})
            if self._is_new(host) and not self._request.control.over:
                yield from self.root.apply(host)
            self.ready.add(host)
        except (DetachedError, StoppedError):
            raise
        except Exception as error:
            if not isinstance(error, BenchwrightError):
                log.exception("%s of the run %s", host, self.hosts.run_id)
                error = DefectError(error)
            if host in self._needed or (isinstance(error, HostInUseError) and not self._begun):
                raise
            if len(self._names) > 1:
                yield LinkChanged(host, LinkState.NOT_REACHED, time.monotonic(), detail=error.message)
            problems = yield from self.root.restore([host])
            self.failed[host] = error
            if not problems:  # otherwise restoring is tried again when the run ends
                yield from self.hosts.withdraw(host)

    def _reach(self, host: str) -> Iterator[Event]:
        yield Activity(f"connecting to {host_label(host)}", host)
        yield from self.hosts.open(host)
        self._last_response = time.monotonic()
        in_use = yield from self.hosts.leases.claim(host)
        if in_use and self._detached_run is None:
            raise HostInUseError(f"{in_use}.", "Wait until it is free (--wait), or run anyway (--anyway).")
        yield from self._refuse_if_alive(host)
        yield from self.hosts.telemetry.start(host)
        if host not in self.facts:
            yield Activity(f"reading the facts of {host_label(host)}", host)
            read = yield from self.hosts.queue.during(partial(self._facts, host))
            self.facts[host] = read
            yield from self.root.open(host, self._purposes(host))
            self.facts[host] = yield from self.root.facts_as_root(read)
            yield FactsRead(host, Moment.BEFORE, self.facts[host])
        else:
            yield from self.root.open(host, self._purposes(host))
            yield from self._reread_devices(host)
        yield from self.hosts.telemetry.watch_loops(host, loops_below(self._plan, host, self.facts[host]))
        if self._detached_run is None:
            yield from self.root.find_leftovers(host, self.facts[host])

    def _refuse_if_alive(self, host: str) -> Iterator[Event]:
        """Raise HostInUseError if a Benchwright elsewhere still watches `host` for this run."""
        if self._detached_run is None or not self._detached_run.unseen:
            return
        holder = yield from self.hosts.leases.other_lease_holder(host)
        if holder:
            raise HostInUseError(
                f"The run {self.hosts.run_id} is in progress: {holder}.",
                "Stop it there, or resume its process if that is suspended. If it has ended, try again once its "
                f"connection to {host_label(host)} is closed, or attach with --anyway.",
            )

    def _is_new(self, host: str) -> bool:
        """Whether `host` has to be checked and tuned: no earlier process of this run did."""
        if self._detached_run is None or host not in self._detached_run.record.facts_before:
            return True
        return not (self._detached_run.record.trials or self._detached_run.record.findings)

    def _steps_on(self, host: str) -> tuple[Step, ...]:
        """Return the steps measured on `host`, none on one that is only a peer."""
        return self._plan.steps_on(host) if host in self._plan.hosts else ()

    def _facts(self, host: str) -> Facts:
        session = self.hosts.sessions[host]
        facts = read_facts(session, self._directories(host), watch=True)
        found = read_devices(session, _devices(self._steps_on(host)))
        return replace(facts, devices=found, cloud_limits=self._request.cloud_limits(host))

    def _purposes(self, host: str) -> list[str]:
        """Return the purposes for which root is needed on `host`, as texts."""
        if host not in self._plan.hosts:
            return []
        steps = [step for step in self._steps_on(host) if any(command.root for command in self._commands(step, host))]
        return [*self._plan.tuning.purposes(), *(f"run {step.name}" for step in steps)]

    def _commands(self, step: Step, host: str) -> tuple[Command, ...]:
        return step.suite.commands(step.values, step_context(step, host, self.facts, self._request.addresses))

    def _directories(self, host: str) -> tuple[str, ...]:
        steps = self._steps_on(host)
        return tuple(sorted({path for step in steps for path in directories_of(step.suite, step.values)}))

    def _check(self, hosts: set[str]) -> Iterator[Event]:
        """Check the plan on `hosts`, whose facts are read; earlier findings are not raised again."""
        new = tuple(host for host in self._plan.hosts if host in hosts and self._is_new(host))
        self._checked |= hosts
        yield from self._confirm_attached(tuple(host for host in self._plan.hosts if host in hosts and host not in new))
        if not new:
            return
        confirmed = self._confirmed_findings(new)
        if self._begun:
            confirmed = iter((yield from self.hosts.queue.during(partial(list, confirmed))))
        for finding in confirmed:
            self.findings.append(finding)
            yield FindingRaised(finding)

    def _confirm_attached(self, hosts: tuple[str, ...]) -> Iterator[Event]:
        """Ask again to confirm data loss for an attached run if it was not confirmed on this computer."""
        if self._detached_run is None or self._request.control.stopped:
            return
        for host in hosts:
            ask = partial(self._confirming().ask_unconfirmed, host)
            if self._begun:
                yield from self.hosts.queue.during(ask)
            else:
                ask()

    def _reread_devices(self, host: str) -> Iterator[Event]:
        """Read the devices again if one is to be overwritten: stored facts may be of others with these names."""
        steps = self._steps_on(host)
        destroys = any(step.suite.destroys(step.values) for step in steps)
        if destroys and not self._request.control.stopped:
            read = yield from self.hosts.queue.during(partial(read_devices, self.hosts.sessions[host], _devices(steps)))
            self.facts[host] = yield from self.root.facts_as_root(replace(self.facts[host], devices=read))

    def _confirmed_findings(self, hosts: tuple[str, ...]) -> Iterator[Finding]:
        found = check_plan(replace(self._plan, hosts=hosts), self.facts, self._request.addresses).findings
        return self._confirming().confirm_findings([one for one in found if one not in self.findings])

    def _confirming(self) -> LossConfirmation:
        return LossConfirmation(self._plan, self.facts, self._asker, self.hosts.run_id, self._request.memory)


def _devices(steps: Iterable[Step]) -> list[str]:
    return sorted({path for step in steps for path in devices_of(step.suite, step.values)})

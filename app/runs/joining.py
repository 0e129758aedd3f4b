"""How the hosts of a run come in: side by side, each by itself, until trials can begin and while they go on."""

import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from app.checks import check_plan
from app.events import Activity, Event, FactsRead, FindingRaised, LinkChanged, Moment
from app.plans.agreed_memory import AgreedMemory
from app.plans.context import loops_below, step_context
from app.plans.plan import Plan, Step, host_words
from app.runs.asking import OneAtATime
from app.runs.control import Control, HostInUseError, LeftError, StoppedError
from app.runs.destruction import Confirming
from app.runs.left import LeftRun
from app.runs.mailbox import IDLE
from app.runs.root_work import RootWork
from app.runs.run_hosts import RunHosts
from app.runs.tasks import DefectError, Task, stepped
from remote.devices import read_devices
from remote.link import LinkState
from remote.probe import read_facts
from suites.base import Command, destroys, device_of, directories_of
from suites.errors import BenchwrightError
from suites.facts import Facts
from suites.vocab import Finding

log = logging.getLogger(__name__)

GRACE = 3.0
"""Seconds for which a host that is not connected keeps the others waiting, once another is: a host that does not answer
takes its whole ConnectTimeout to fail."""


class UnreachedError(BenchwrightError):
    """No host on which the plan measures was reached."""


@dataclass(slots=True)
class Joining:
    """Connects to the hosts of a run, claims them, reads their facts, checks the plan and tunes them.

    A host that fails is in `failed` with the reason, and fails no other; `needed` are those without which a run that
    is detached stays as it is.
    """

    plan: Plan
    hosts: RunHosts
    root: RootWork
    control: Control
    asking: OneAtATime
    addresses: Mapping[str, str]
    left: LeftRun | None
    facts: dict[str, Facts]
    findings: list[Finding]
    memory: AgreedMemory | None = None
    take_over: Callable[[], None] = lambda: None
    needed: frozenset[str] = frozenset()
    ready: set[str] = field(default_factory=set)
    failed: dict[str, BenchwrightError] = field(default_factory=dict)
    begun: bool = False
    _read: set[str] = field(default_factory=set)
    _checked: set[str] = field(default_factory=set)
    _tasks: list[Task] = field(default_factory=list)
    _names: tuple[str, ...] = ()
    _heard: float = 0.0  # when a host was last connected, or a question answered
    _asked: int = 0

    def begin(self, names: tuple[str, ...]) -> Iterator[Event]:
        """Bring the hosts `names` in until trials may begin; the others are on their way then, or have failed.

        Raises what a host fails with where no other is there to measure on, HostInUseError where one is in use.
        """
        self._names, self._heard = names, time.monotonic()
        self._tasks = [Task(self._join(host)) for host in names]
        yield from self._until(self._read)
        yield from self._check(self._read)
        self.take_over()  # only now: whoever records the run may live, and a refusal leaves it theirs
        self.begun = self.asking.begun = True
        yield from self._until(self.ready)

    def step(self) -> Iterator[Event]:
        """Go on with the hosts that are still on their way."""
        yield from stepped(self._tasks)

    def _until(self, there: set[str]) -> Iterator[Event]:
        while any(self._keeps_waiting(host, there) for host in self._names):
            if self.control.left:
                raise LeftError
            if self.control.stopped and self.left is None:
                raise StoppedError
            if self._only_ends() and self.needed <= there:
                return
            yield from self.step()
            yield IDLE
        wanted = [host for host in self.plan.hosts if host in self._names]
        if wanted and not self._only_ends() and not any(host in there for host in wanted):
            reasons = [self.failed[host] for host in wanted]
            raise reasons[0] if len(reasons) == 1 else UnreachedError(" ".join(map(str, reasons)))

    def _only_ends(self) -> bool:
        """Whether a detached run is only ended: nothing is measured any more."""
        return self.left is not None and self.control.stopped

    def _keeps_waiting(self, host: str, there: set[str]) -> bool:
        """Whether trials must not begin before `host` is there."""
        if host in self.failed or host in there:
            return False
        if host in self.needed or not any(other in there for other in self.plan.hosts):
            return True
        if self._asked != self.asking.asked:
            self._asked, self._heard = self.asking.asked, time.monotonic()
        connected = host in self.hosts.sessions and not self.hosts.is_lost(host)
        return connected or time.monotonic() < self._heard + GRACE

    def _join(self, host: str) -> Iterator[Event]:
        try:
            yield from self._reach(host)
            self._read.add(host)
            while not self.begun:
                yield IDLE
            if host not in self._checked:
                yield from self._check({host})
            if self._is_new(host) and not self.control.over:
                yield from self.root.apply(host)
            self.ready.add(host)
        except (LeftError, StoppedError):
            raise
        except Exception as error:
            if not isinstance(error, BenchwrightError):
                log.exception("%s of the run %s", host, self.hosts.run_id)
                error = DefectError(error)
            if host in self.needed or (isinstance(error, HostInUseError) and not self.begun):
                raise
            if len(self._names) > 1:
                yield LinkChanged(host, LinkState.NOT_REACHED, time.monotonic(), detail=error.message)
            problems = yield from self.root.put_back([host])
            self.failed[host] = error
            if not problems:  # else that is tried again in the end
                yield from self.hosts.withdraw(host)

    def _reach(self, host: str) -> Iterator[Event]:
        yield Activity(f"connecting to {host_words(host)}", host)
        yield from self.hosts.open(host)
        self._heard = time.monotonic()
        in_use = yield from self.hosts.claim(host)
        if in_use and self.left is None:
            raise HostInUseError(f"{in_use}.", "Wait until it is free, or run beside the other measurement.")
        yield from self._refuse_where_it_lives(host)
        yield from self.hosts.watch(host)
        if host not in self.facts:
            yield Activity(f"reading the facts of {host_words(host)}", host)
            read = yield from self.hosts.mailbox.during(partial(self._facts, host))
            self.facts[host] = read
            yield from self.root.open(host, self._purposes(host))
            self.facts[host] = yield from self.root.seen(read)
            yield FactsRead(host, Moment.BEFORE, self.facts[host])
        else:
            yield from self.root.open(host, self._purposes(host))
            yield from self._read_devices_again(host)
        yield from self.hosts.watch_loops(host, loops_below(self.plan, host, self.facts[host]))
        if self.left is None:
            yield from self.root.find_leftovers(host)

    def _refuse_where_it_lives(self, host: str) -> Iterator[Event]:
        """Raise HostInUseError where a Benchwright that cannot be seen from here still watches `host` for this run."""
        if self.left is None or not self.left.unseen:
            return
        keeper = yield from self.hosts.kept_elsewhere(host)
        if keeper:
            raise HostInUseError(
                f"The run {self.hosts.run_id} is under way: {keeper}.",
                "Stop it there, or resume it if it is suspended. If it has ended, try again once its connection to "
                f"{host_words(host)} is closed, or attach with --anyway.",
            )

    def _is_new(self, host: str) -> bool:
        """Whether nothing was checked or tuned on `host` by whoever left the run to itself."""
        if self.left is None or host not in self.left.record.facts_before:
            return True
        return not (self.left.record.trials or self.left.record.findings)

    def _facts(self, host: str) -> Facts:
        session = self.hosts.sessions[host]
        devices = [device_of(step.suite, step.values) for step in self.plan.steps if host in self.plan.hosts]
        facts = read_facts(session, self._directories(host))
        return replace(facts, devices=read_devices(session, sorted({*devices} - {""})))

    def _purposes(self, host: str) -> list[str]:
        """Return in words what has to be done as root on `host`."""
        if host not in self.plan.hosts:
            return []
        steps = [step for step in self.plan.steps if any(command.root for command in self._commands(step, host))]
        return [*self.plan.tuning.purposes(), *(f"run {step.name}" for step in steps)]

    def _commands(self, step: Step, host: str) -> tuple[Command, ...]:
        return step.suite.commands(step.values, step_context(step, host, self.facts, self.addresses))

    def _directories(self, host: str) -> tuple[str, ...]:
        steps = self.plan.steps if host in self.plan.hosts else ()
        return tuple(sorted({path for step in steps for path in directories_of(step.suite, step.values)}))

    def _check(self, hosts: set[str]) -> Iterator[Event]:
        """Check the plan on `hosts`, whose facts are read; what was found before is not raised again."""
        new = tuple(host for host in self.plan.hosts if host in hosts and self._is_new(host))
        self._checked |= hosts
        yield from self._confirm_again(tuple(host for host in self.plan.hosts if host in hosts and host not in new))
        if not new:
            return
        settled = self._settled(new)
        for finding in settled if not self.begun else (yield from self._in_background(settled)):
            self.findings.append(finding)
            yield FindingRaised(finding)

    def _confirm_again(self, hosts: tuple[str, ...]) -> Iterator[Event]:
        """Ask for the loss of devices of a run that goes on, where it was not confirmed on this computer."""
        if self.left is None or self.control.stopped:
            return
        for host in hosts:
            ask = partial(self._confirming().again, host)
            if self.begun:
                yield from self.hosts.mailbox.during(ask)
            else:
                ask()

    def _read_devices_again(self, host: str) -> Iterator[Event]:
        """Read the devices that are written to as they are now: what a library tells of them may be of others."""
        devices = self._destroyed(host)
        if devices and not self.control.stopped:
            read = yield from self.hosts.mailbox.during(partial(read_devices, self.hosts.sessions[host], devices))
            self.facts[host] = yield from self.root.seen(replace(self.facts[host], devices=read))

    def _destroyed(self, host: str) -> list[str]:
        steps = self.plan.steps if host in self.plan.hosts else ()
        return sorted({device_of(step.suite, step.values) for step in steps if destroys(step.suite, step.values)})

    def _settled(self, hosts: tuple[str, ...]) -> Iterator[Finding]:
        found = check_plan(replace(self.plan, hosts=hosts), self.facts, self.addresses).findings
        return self._confirming().settled([one for one in found if one not in self.findings])

    def _confirming(self) -> Confirming:
        return Confirming(self.plan, self.facts, self.asking, self.hosts.run_id, self.memory)

    def _in_background(self, settled: Iterator[Finding]) -> Generator[Event, None, list[Finding]]:
        return (yield from self.hosts.mailbox.during(lambda: list(settled)))

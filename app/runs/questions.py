"""Questions of a run, serialised; confirmation of data loss for each device its plan overwrites."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from app.plans.consent import ConsentFile
from app.plans.plan import Plan, Step
from app.runs.event_queue import EventQueue
from app.timestamps import now
from remote.questions import Asker, ConsentQuestion, HostKeyQuestion, LocalProgramQuestion, LossQuestion, SecretQuestion
from suites.base import devices_of
from suites.errors import BenchwrightError
from suites.facts import Absent, Facts, RawDevice, known
from suites.quantities import quantity
from suites.raw_device import confirmation, objections
from suites.vocab import Finding, Severity

DESTROYS_DATA = "destroys-data"

T = TypeVar("T")

_WRITTEN = ", but data was written there"


class SerialAsker(Asker):
    """Asker that passes questions on to `asker` one at a time.

    Until the trials begin, the consumer thread of the events asks, so that Ctrl+C at a question ends the run. Later the
    calling thread asks, so that a question does not block other hosts. An accepted host key is not asked again: two
    hosts may share a jump host.
    """

    def __init__(self, asker: Asker, queue: EventQueue) -> None:
        self.begun = False
        self.question_count = 0
        """Number of questions so far."""
        self.attended = asker.attended
        self.expected_fingerprint = asker.expected_fingerprint
        self._asker = asker
        self._queue = queue
        self._lock = threading.RLock()
        self._accepted: set[tuple[str, int, str]] = set()

    def host_key(self, question: HostKeyQuestion) -> bool:
        """Ask whether to trust a host key."""
        key = (question.address, question.port, question.fingerprint)
        accepted = self._ask(lambda: key in self._accepted or self._asker.host_key(question), otherwise=False)
        if accepted:
            self._accepted.add(key)
        return accepted

    def secret(self, question: SecretQuestion) -> str | None:
        """Ask for a secret."""
        return self._ask(lambda: self._asker.secret(question), otherwise=None)

    def remember(self, question: SecretQuestion) -> bool:
        """Ask whether to store a secret that has worked."""
        return self._ask(lambda: self._asker.remember(question), otherwise=False)

    def local_program(self, question: LocalProgramQuestion) -> bool:
        """Ask whether a program may run."""
        return self._ask(lambda: self._asker.local_program(question), otherwise=False)

    def confirm_loss(self, question: LossQuestion) -> str | None:
        """Ask for the text that confirms data loss."""
        return self._ask(lambda: self._asker.confirm_loss(question), otherwise=None)

    def consent(self, question: ConsentQuestion) -> bool:
        """Ask for consent to what a plan does."""
        return self._ask(lambda: self._asker.consent(question), otherwise=False)

    def _ask(self, ask: Callable[[], T], otherwise: T) -> T:
        # The consumer thread serves call(): waiting for the lock here could deadlock with a thread inside call().
        if threading.get_ident() == self._queue.reader:
            self.question_count += 1
            return ask()
        with self._lock:
            if self._queue.closed:
                return otherwise
            self.question_count += 1
            try:
                return ask() if self.begun else self._queue.call(ask)
            except TimeoutError:  # the run has ended
                return otherwise


class NotConfirmedError(BenchwrightError):
    """Data loss on a device was not confirmed; nothing was started."""


@dataclass(slots=True)
class LossConfirmation:
    """Confirmation of data loss on the devices of `plan`; `facts` by host, with devices as read by root.

    `memory` records the confirmations of the run `run_id` on this computer, so that attaching does not ask again.
    """

    plan: Plan
    facts: Mapping[str, Facts]
    asker: Asker
    run_id: str = ""
    memory: ConsentFile | None = None
    _confirmed: dict[tuple[str, str], str] = field(default_factory=dict)

    def confirm_findings(self, findings: Sequence[Finding]) -> Iterator[Finding]:
        """Yield `findings`; those about data loss become warnings with the confirmation and its time.

        Raises NotConfirmedError if one is not confirmed, after yielding its finding unchanged.
        """
        for finding in findings:
            if finding.id != DESTROYS_DATA:
                yield finding
                continue
            host = finding.host or ""
            measured = [finding.measured]
            devices = self._devices(self.plan.step(finding.step or "").on(host), host)
            for device in sorted(devices, key=lambda each: not objections(each)):  # refuses before it asks
                measured.append(self._ask(device, host))
                if not measured[-1]:
                    yield finding
                    raise _not_confirmed(device, host)
            yield replace(finding, severity=Severity.WARNING, measured=" ".join(measured))

    def ask_unconfirmed(self, host: str) -> None:
        """Ask about the devices of an attached run on `host` whose loss was not confirmed on this computer.

        Raises NotConfirmedError. A confirmed device is not checked again: the run's own test may be using it.
        """
        for step in self.plan.steps_on(host):
            for device in self._devices(step, host) if step.suite.destroys(step.values) else ():
                expected = confirmation(device, self.facts[host].devices)
                known_here = not isinstance(expected, Absent) and self._remembered(device, host, expected)
                if not known_here and not self._ask(device, host):
                    raise _not_confirmed(device, host)

    def _devices(self, step: Step, host: str) -> list[RawDevice]:
        facts = self.facts[host]
        return [facts.device(path) or RawDevice(path=path) for path in devices_of(step.suite, step.values)]

    def _ask(self, device: RawDevice, host: str) -> str:
        """Return the text of the confirmation; empty if there is none."""
        expected = confirmation(device, self.facts[host].devices)
        if isinstance(expected, Absent) or objections(device):
            return ""  # the device cannot be overwritten, so there is nothing to confirm
        key = (host, str(device.node))
        if key not in self._confirmed:
            typed = self.asker.confirm_loss(self._question(device, host, expected))
            if typed == expected and self.memory is not None:
                self.memory.add([self._digest(device, host, expected)])
            self._confirmed[key] = f"Confirmed by typing “{typed}” at {now()}." if typed == expected else ""
        return self._confirmed[key]

    def _remembered(self, device: RawDevice, host: str, expected: str) -> bool:
        return self.memory is not None and self._digest(device, host, expected) in self.memory.known()

    def _digest(self, device: RawDevice, host: str, expected: str) -> str:
        content = ["loss", self.run_id, host, device.path, expected]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def _question(self, device: RawDevice, host: str, expected: str) -> LossQuestion:
        names = known(device.by_id) or ()
        rows = (
            ("Device", device.path if device.path == device.node else f"{device.path} ({device.node})"),
            ("Known as", ", ".join(names[:3])),
            ("Backing file", known(device.backing_file)),
            ("Model", known(device.model)),
            ("Serial number", known(device.serial)),
            ("Size", None if isinstance(device.size, Absent) else quantity(device.size)),
            ("Contents", f"no file system and no partition table{_WRITTEN if device.written is True else ''}"),
            ("Overwritten by", ", ".join(self._writers(device, host))),
        )
        return LossQuestion(
            host=host,
            device=device.path,
            facts=tuple((name, value) for name, value in rows if value),
            confirmation=expected,
            confirmed_by=_confirmed_by(device, expected),
        )

    def _writers(self, device: RawDevice, host: str) -> Iterator[str]:
        for step in self.plan.steps_on(host):
            used = any(found.node == device.node for found in self._devices(step, host))
            if used and step.suite.destroys(step.values):
                yield f"{step.name} ({step.values.get('rw', step.suite.title)})"


def _not_confirmed(device: RawDevice, host: str) -> NotConfirmedError:
    objected = objections(device)
    message = f"Data loss on {device.path} of {host} was not confirmed."
    if objected:
        message = f"{device.path} on {host} cannot be overwritten. {' '.join(objected)}"
    return NotConfirmedError(message, "Nothing was run, and nothing was written.")


def _confirmed_by(device: RawDevice, expected: str) -> str:
    if known(device.backing_file) is not None:
        return "file’s name"
    return "serial number" if device.serial == expected else "name in /dev/disk/by-id"

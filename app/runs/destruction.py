"""Asks for the loss of every device that a plan writes to, once for each, before anything begins."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.moments import now
from app.plans.agreed_memory import AgreedMemory
from app.plans.plan import Plan
from remote.questions import Asker, LossQuestion
from suites.base import destroys, device_of
from suites.disk import amount
from suites.errors import BenchwrightError
from suites.facts import Absent, Facts, RawDevice, known
from suites.raw_device import confirmation, objections
from suites.vocab import Finding, Level

DESTROYS_DATA = "destroys-data"

_WRITTEN = ", but something was written there"


class NotConfirmedError(BenchwrightError):
    """The loss of a device was not confirmed, so nothing was begun."""


@dataclass(slots=True)
class Confirming:
    """Asks `asker` about the devices of `plan`; `facts` are the hosts', devices read by root.

    `memory` keeps what was confirmed on this computer for the run `run_id`: who goes on with it is not asked again.
    """

    plan: Plan
    facts: Mapping[str, Facts]
    asker: Asker
    run_id: str = ""
    memory: AgreedMemory | None = None
    _confirmed: dict[tuple[str, str], str] = field(default_factory=dict)

    def settled(self, findings: Sequence[Finding]) -> Iterator[Finding]:
        """Yield `findings`; those of a loss come back as confirmed, with what was typed and when.

        Raises NotConfirmedError where one is not, once its finding has been yielded as it was.
        """
        for finding in findings:
            if finding.id != DESTROYS_DATA:
                yield finding
                continue
            device = self._device(finding)
            said = self._ask(device, finding.host or "")
            if not said:
                yield finding
                raise _not_confirmed(device, finding.host or "")
            yield replace(finding, level=Level.WARNING, measured=f"{finding.measured} {said}")

    def again(self, host: str) -> None:
        """Ask for the loss of what a run that goes on writes to on `host`, where it was not confirmed on this computer.

        Raises NotConfirmedError. Its own test may use the device, so that only what is not confirmed is objected to.
        """
        for step in self.plan.steps:
            if destroys(step.suite, step.values):
                path = device_of(step.suite, step.values)
                device = self.facts[host].device(path) or RawDevice(path=path)
                expected = confirmation(device)
                known_here = not isinstance(expected, Absent) and self._remembered(device, host, expected)
                if not known_here and not self._ask(device, host):
                    raise _not_confirmed(device, host)

    def _device(self, finding: Finding) -> RawDevice:
        step, host = self.plan.step(finding.step or ""), finding.host or ""
        path = device_of(step.suite, step.values)
        return self.facts[host].device(path) or RawDevice(path=path)

    def _ask(self, device: RawDevice, host: str) -> str:
        """Return in words how the loss was confirmed; empty where it was not."""
        expected = confirmation(device)
        if isinstance(expected, Absent) or objections(device):
            return ""  # it is not to be had at all, whatever anybody types
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
            ("Made of", known(device.backing_file)),
            ("Model", known(device.model)),
            ("Serial number", known(device.serial)),
            ("Size", None if isinstance(device.size, Absent) else amount(device.size)),
            ("On it", f"no file system and no table{_WRITTEN if device.written is True else ''}"),
            ("Written by", ", ".join(self._writers(device, host))),
        )
        return LossQuestion(
            host=host,
            device=device.path,
            facts=tuple((name, value) for name, value in rows if value),
            confirmation=expected,
            confirmed_by=_confirmed_by(device, expected),
        )

    def _writers(self, device: RawDevice, host: str) -> Iterator[str]:
        for step in self.plan.steps:
            found = self.facts[host].device(device_of(step.suite, step.values))
            if found is not None and found.node == device.node and destroys(step.suite, step.values):
                yield f"{step.name} ({step.values.get('rw', step.suite.title)})"


def _not_confirmed(device: RawDevice, host: str) -> NotConfirmedError:
    said = objections(device)
    message = f"The loss of what is on {device.path} of {host} was not confirmed."
    if said:
        message = f"{device.path} on {host} cannot be written to. {' '.join(said)}"
    return NotConfirmedError(message, "Nothing was run, and nothing was written.")


def _confirmed_by(device: RawDevice, expected: str) -> str:
    if known(device.backing_file) is not None:
        return "file’s name"
    return "serial number" if device.serial == expected else "name in /dev/disk/by-id"

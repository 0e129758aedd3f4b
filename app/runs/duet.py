"""The two trials of a duet: both measure at the same moment, and neither counts without the other."""

from collections.abc import Iterator
from enum import IntEnum

from app.events import Event
from app.runs.control import Control
from app.runs.event_queue import IDLE
from suites.errors import BenchwrightError


class PartnerError(BenchwrightError):
    """The other trial of a duet cannot be measured."""


class Stage(IntEnum):
    """How far a trial of a duet is: prepared with its servers running, its command ended, counted by the schedule."""

    BEGUN = 0
    READY = 1
    STARTED = 2
    ENDED = 3
    COUNTED = 4
    LEFT = 5


class Duet:
    """The meeting of two trials, by their ids; the first starts first, the other in the same pass of the tasks."""

    def __init__(self, trials: tuple[int, int], steps: tuple[str, str], control: Control) -> None:
        self._trials, self._steps, self._control = trials, dict(zip(trials, steps, strict=True)), control
        self._stages = dict.fromkeys(trials, Stage.BEGUN)
        self._reasons: dict[int, str] = {}

    @property
    def title(self) -> str:
        """Both steps: ``a beside b``."""
        return " beside ".join(self._steps.values())

    def start(self, trial: int) -> Iterator[Event]:
        """Wait until both trials are ready. Raises PartnerError if the other cannot be measured."""
        self._stages[trial] = max(self._stages[trial], Stage.READY)
        other = self._other(trial)
        wanted = Stage.READY if trial == self._trials[0] else Stage.STARTED
        while self._stages[other] < wanted:
            self._control.raise_if_over()
            yield IDLE
        if other in self._reasons:
            raise PartnerError(f"Not measured: {self.problem(trial)}", "Fix that and run again.")
        self._stages[trial] = Stage.STARTED

    def end(self, trial: int, reason: str) -> Iterator[Event]:
        """Wait until the command of the other trial has ended, too; `reason` is why this trial has no result."""
        self._note(trial, reason)
        yield from self._together(trial, Stage.ENDED)

    def count(self, trial: int, reason: str) -> Iterator[Event]:
        """Wait until the schedule has counted both; `reason` is why this trial has no result."""
        self._note(trial, reason)
        yield from self._together(trial, Stage.COUNTED)

    def _together(self, trial: int, stage: Stage) -> Iterator[Event]:
        self._stages[trial] = stage
        while self._stages[self._other(trial)] < stage:
            self._control.raise_if_detached()
            yield IDLE

    def leave(self, trial: int, reason: str = "", *, done: bool = False) -> None:
        """Let the other trial no longer wait for this one; `reason` is why this trial has no result, unless `done`."""
        if self._stages[trial] < Stage.ENDED and not done:
            self._note(trial, reason or "it did not run.")
        self._stages[trial] = Stage.LEFT

    def problem(self, trial: int) -> str:
        """Return why the other trial has no result, as a sentence; empty if it has one, or may still get one."""
        other = self._other(trial)
        return (
            f"the other side, {self._steps[other]}, has no result: {self._reasons[other]}"
            if other in self._reasons
            else ""
        )

    def _note(self, trial: int, reason: str) -> None:
        if reason:
            self._reasons.setdefault(trial, reason)

    def _other(self, trial: int) -> int:
        return self._trials[trial == self._trials[0]]

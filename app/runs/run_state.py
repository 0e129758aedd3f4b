"""How a run ends, by how its trials ended: the same live, attached later, or concluded from the library alone."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from app.events import State, TrialEnded
from app.records import TrialRecord

NOT_MEASURED = "Not measured: "
"""How the reason of a trial begins that was not made, since one of its hosts was not reached."""


@dataclass(slots=True)
class RunState:
    """The state of a run so far, and in words what is wrong with it."""

    problems: list[str] = field(default_factory=list)
    _states: set[State] = field(default_factory=set)
    _missing: bool = False  # whether a trial was not made, since a host was not reached

    @classmethod
    def of(cls, trials: Iterable[TrialRecord]) -> Self:
        """Return the state by the stored trials that have ended."""
        made = cls()
        for record in trials:
            if record.state is not State.RUNNING:
                made.trial(record.trial.step, record.state, record.reason)
        return made

    def trial(self, step: str, state: State, reason: str) -> None:
        """Take note of a trial that has ended."""
        if reason.startswith(NOT_MEASURED):
            self._missing = True
            self._say(reason.removeprefix(NOT_MEASURED))
        else:
            self._states.add(state)
            if reason:
                self._say(f"{step}: {reason}")

    def ended(self, step: str, ended: TrialEnded | None) -> None:
        """Take note of a trial that may have ended."""
        if ended is not None:
            self.trial(step, ended.state, ended.reason)

    def problem(self, state: State, problem: str) -> None:
        """Take note of what makes the run PARTIAL or FAILED beside its trials."""
        self._states.add(state)
        self._say(problem)

    def _say(self, problem: str) -> None:
        if not any(problem in known for known in self.problems):
            self.problems.append(problem)

    @property
    def state(self) -> State:
        """FAILED where a part failed or nothing was measured, PARTIAL where a part is missing, else DONE."""
        if State.FAILED in self._states or not self._states:
            return State.FAILED
        return State.PARTIAL if self._missing or State.PARTIAL in self._states else State.DONE

    @property
    def reason(self) -> str:
        """In words why it is not DONE, and what else did not go well."""
        return " ".join(self.problems)

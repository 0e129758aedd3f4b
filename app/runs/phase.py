"""State machine of a run: its phases and transitions, and its outcome."""

import logging
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from app.events import State, TrialEnded
from app.records import TrialRecord
from remote.errors import ConnectOutcome

log = logging.getLogger(__name__)


class Phase(StrEnum):
    """Phase of a run."""

    CONNECTING = "connecting"
    """Connect, claim, read, check and tune hosts, until trials may begin. No command of a step has run."""
    PREPARING = "preparing"
    """Make the schedule; of a detached run, find the commands running on its hosts."""
    MEASURING = "measuring"
    """Run trials; a host that joins late or loses its connection does not block the others."""
    RECONNECTING = "reconnecting"
    """Only reconnect to lost hosts; their patience runs down."""
    STOPPING = "stopping"
    """Start no more trials: end commands, read facts again, clean up hosts. After Stop or after the last trial."""
    DETACHED = "detached"
    """Leave commands running on their hosts. Remove only what was not prepared."""
    FINISHED = "finished"
    """Close sessions; the last event follows."""


TRANSITIONS: Mapping[Phase, frozenset[Phase]] = {
    # FINISHED directly: the run was refused before it changed anything.
    Phase.CONNECTING: frozenset({Phase.PREPARING, Phase.STOPPING, Phase.DETACHED, Phase.FINISHED}),
    Phase.PREPARING: frozenset({Phase.MEASURING, Phase.STOPPING, Phase.DETACHED}),
    Phase.MEASURING: frozenset({Phase.RECONNECTING, Phase.STOPPING, Phase.DETACHED}),
    Phase.RECONNECTING: frozenset({Phase.MEASURING, Phase.STOPPING, Phase.DETACHED}),
    # DETACHED: another process took the run over meanwhile.
    Phase.STOPPING: frozenset({Phase.DETACHED, Phase.FINISHED}),
    Phase.DETACHED: frozenset({Phase.FINISHED}),
    Phase.FINISHED: frozenset(),
}


class PhaseError(Exception):
    """A transition not in TRANSITIONS: a bug."""


class RunPhase:
    """Phase of one run. Written by the consumer thread of its events, read by any thread."""

    def __init__(self) -> None:
        self.path: tuple[Phase, ...] = (Phase.CONNECTING,)
        """Every phase so far, in order; the last is the current one."""
        self.waiting_since = 0.0
        """Start of waiting for lost hosts only (monotonic seconds); infinite while others are measured."""

    @property
    def now(self) -> Phase:
        """The current phase."""
        return self.path[-1]

    @property
    def opened(self) -> bool:
        """Whether the run got past CONNECTING: its trials may begin or continue."""
        return Phase.PREPARING in self.path

    @property
    def detached(self) -> bool:
        """Whether the run was detached."""
        return Phase.DETACHED in self.path

    @property
    def refused(self) -> bool:
        """Whether the run ended in CONNECTING, before it changed anything."""
        return self.path == (Phase.CONNECTING, Phase.FINISHED)

    def to(self, phase: Phase) -> None:
        """Go to `phase`, or stay in it; raise PhaseError if TRANSITIONS does not allow it."""
        if phase is self.now:
            return
        if phase not in TRANSITIONS[self.now]:
            raise PhaseError(f"{self.now} to {phase}")
        log.debug("%s to %s", self.now, phase)
        self.path = (*self.path, phase)
        if phase is Phase.MEASURING:
            self.waiting_since = math.inf
        else:
            self.waiting_since = min(self.waiting_since, time.monotonic())


NOT_MEASURED = "Not measured: "
"""Prefix of the reason of a trial that did not run because one of its hosts was not reached; libraries have no other
mark of such a trial."""


@dataclass(slots=True)
class RunOutcome:
    """State of a run so far, and its problems."""

    problems: list[str] = field(default_factory=list)
    unreached: ConnectOutcome | None = None  # how the connection failed without which nothing was measured
    _states: set[State] = field(default_factory=set)
    _missing: bool = False  # a trial did not run because its host was not reached

    @classmethod
    def of(cls, trials: Iterable[TrialRecord]) -> Self:
        """Return the outcome of the stored trials that have ended."""
        made = cls()
        for record in trials:
            if record.state is not State.RUNNING and not record.trial.profiled:
                made.trial(record.trial.step, record.state, record.reason)
        return made

    def trial(self, step: str, state: State, reason: str) -> None:
        """Add a trial that has ended."""
        if reason.startswith(NOT_MEASURED):
            self._missing = True
            self._add_problem(reason.removeprefix(NOT_MEASURED))
        else:
            self._states.add(state)
            if reason:
                self._add_problem(reason if reason.startswith(f"{step} ") else f"{step}: {reason}")

    def ended(self, step: str, ended: TrialEnded | None) -> None:
        """Add a trial if it has ended."""
        if ended is not None:
            self.trial(step, ended.state, ended.reason)

    def problem(self, state: State, problem: str) -> None:
        """Add a problem that makes the run PARTIAL or FAILED besides its trials."""
        self._states.add(state)
        self._add_problem(problem)

    def _add_problem(self, problem: str) -> None:
        if not any(problem in known for known in self.problems):
            self.problems.append(problem)

    @property
    def state(self) -> State:
        """FAILED if a part failed or nothing was measured, PARTIAL if a part is missing, else DONE."""
        if State.FAILED in self._states or not self._states:
            return State.FAILED
        return State.PARTIAL if self._missing or State.PARTIAL in self._states else State.DONE

    @property
    def reason(self) -> str:
        """The problems as one text; a DONE run may have some."""
        return " ".join(self.problems)

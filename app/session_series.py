"""Session series: the runs of one plan repeated over time, and when the next of them is due. Times are UTC."""

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from app.events import PlannedSession, State
from app.plans.plan import MAXIMUM_SEED, Plan

MOST_FAILURES = 3
"""Unsuccessful runs in a row after which no session starts without a person."""

PREFIX = "series:"
"""Prefix of a selector of all sessions."""


@dataclass(frozen=True, slots=True)
class SessionRun:
    """A run of a series. Times are UTC, ISO 8601; `detached`: it has not ended, and no process records it."""

    run: str
    number: int
    state: State
    started: str
    ended: str | None
    due: str
    detached: bool = False

    @property
    def status(self) -> str:
        """The state, or "detached"."""
        return "detached" if self.detached else self.state.value


@dataclass(frozen=True, slots=True)
class SessionSeries:
    """The sessions of `plan`, the first `created` at its start; `ended` once it is complete or was ended by the user.

    `runs` are in order of their start. A session counts if its run is done; otherwise it is repeated.
    """

    id: str
    plan: Plan
    created: str
    ended: str | None = None
    runs: tuple[SessionRun, ...] = ()

    @property
    def total(self) -> int:
        """The number of sessions that the plan asks for."""
        return self.plan.repetition.sessions

    @property
    def done(self) -> int:
        """The number of the last session that is done; deleting an earlier one does not repeat it."""
        return max((run.number for run in self.runs if run.state is State.DONE), default=0)

    @property
    def over(self) -> bool:
        """Whether no session follows."""
        return self.ended is not None or self.done >= self.total

    @property
    def next_number(self) -> int:
        """The number of the next session, from 1."""
        return self.done + 1

    @property
    def under_way(self) -> SessionRun | None:
        """The run that has not ended, detached or not."""
        return next((run for run in self.runs if run.state is State.RUNNING), None)

    @property
    def failures(self) -> int:
        """Unsuccessful runs since the last one that is done."""
        count = 0
        for run in reversed(self.runs):
            if run.state is State.DONE:
                break
            count += run.state is not State.RUNNING
        return count

    @property
    def paused(self) -> bool:
        """Whether the next session needs a person, because the last ones failed."""
        return self.failures >= MOST_FAILURES

    @property
    def due(self) -> datetime | None:
        """When the next session is due; None if none follows or one is under way.

        Sessions are due at the start of the first plus multiples of `every`. Those missed are not made up for: a
        session is due at least half of `every` after the end of the last run, so that they do not share its moment.
        """
        if self.over or self.under_way is not None:
            return None
        first = _moment(self.created)
        if not self.runs:
            return first
        last, every = self.runs[-1], self.plan.repetition.every
        earliest = (_moment(last.ended or last.started) - first).total_seconds() + every / 2
        return first + timedelta(seconds=every * max(1, math.ceil(earliest / every)))

    def due_in(self, now: datetime) -> float | None:
        """Return the seconds until the next session is due, negative if it is late; None if none is."""
        due = self.due
        return None if due is None else (due - now).total_seconds()

    def session_plan(self) -> Plan:
        """Return the plan of the next session alone; a seed that the user set is incremented from one to the next."""
        plan, repetition = self.plan, self.plan.repetition.one_session
        seed = None if plan.seed is None else (plan.seed + self.done) % (MAXIMUM_SEED + 1)
        return replace(plan, repetition=repetition, seed=seed)

    def planned(self) -> PlannedSession:
        """Return the next session, to be stored with its run."""
        due = (self.due or datetime.now(UTC)).isoformat(timespec="milliseconds")
        return PlannedSession(self.id, self.next_number, self.total, due)


def late_by(session: PlannedSession, started: str) -> float:
    """Return the seconds between when a session was due and `started`; 0 if it was started early."""
    return max(0.0, (_moment(started) - _moment(session.due)).total_seconds())


def _moment(text: str) -> datetime:
    """Return a stored timestamp; one without a time zone is UTC."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)

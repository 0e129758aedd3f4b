"""Services on session series: plans that run several times, spread over time."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from app.investigation_services import InvestigationServices

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from app.events import Event, PlannedSession
    from app.plans.plan import Plan
    from app.runs.control import Control
    from app.session_series import SessionSeries
    from remote.questions import Asker


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What sets a run of a plan apart: its id (empty: a new one), its session, the steps without telemetry, and its
    entry in the queue (empty: it was not queued).

    If the library cannot be written and the run is saved to another one, that is opened, unless this one
    has others under way, `one_of_many`.
    """

    run_id: str = ""
    session: PlannedSession | None = None
    unwatched: frozenset[str] = frozenset()
    entry: str = ""
    one_of_many: bool = False


class SessionServices(InvestigationServices):
    """The sessions of plans. Threads, blocking and errors are as in app.services."""

    def session_series(self) -> list[SessionSeries]:
        """Return every session series, the newest first."""
        return self._store.session_series()

    def find_series(self, word: str) -> SessionSeries:
        """Return a session series by its id or unambiguous name. Raises StoreError."""
        return self._store.find_series(word)

    def end_series(self, word: str) -> SessionSeries:
        """End a session series: no session follows, its runs are kept. Raises StoreError if there is none."""
        return self._store.end_series(word)

    def sessions_of(self, run: str) -> Sequence[str]:
        """Return the done sessions of the same plan as a run, itself included, the oldest first.

        These are the runs of its series, else the runs of the same plan, whatever the seed of their random order.
        """
        return self._store.sessions_of(run)

    def run_session(self, series: str, asker: Asker, control: Control, entry: str = "") -> Generator[Event]:
        """Run the next session of a series, due or not, as run() does; attach a session that was interrupted.

        Raises StoreError if the series is over, or another process runs or starts a session of it.
        """
        from app.store.errors import StoreError

        self.check_writable()
        under_way = self._store.find_series(series).under_way
        if under_way is not None and under_way.detached:
            run_id, events = under_way.run, self.attach(under_way.run, asker, control, RunOptions(entry=entry))
        else:
            run_id = self._new_run_id()
            claimed, session = self._store.claim_session(series, run_id)
            events = self._run(claimed.session_plan(), asker, control, RunOptions(run_id, session, entry=entry))
        try:
            yield from events
        finally:
            with suppress(StoreError):  # the claim then expires
                self._store.release_session(run_id)

    def _first_session(self, plan: Plan, asker: Asker, control: Control, entry: str) -> Generator[Event]:
        """Begin a series of `plan` and run its first session. A refused session leaves no series."""
        return self.run_session(self._store.begin_series(plan).id, asker, control, entry)

    def _new_run_id(self) -> str:
        from app.store.ownership import new_run_id

        return new_run_id(datetime.now(UTC))

    @abstractmethod
    def attach(self, run: str, asker: Asker, control: Control, options: RunOptions | None = None) -> Generator[Event]:
        """Resume a detached run."""

    @abstractmethod
    def _run(self, plan: Plan, asker: Asker, control: Control, options: RunOptions) -> Generator[Event]:
        """Run a plan of one session."""

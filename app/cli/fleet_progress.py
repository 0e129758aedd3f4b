"""A study while this process runs it: its questions, notes on its host-runs, and what remains."""

import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial

from app.cli.common import FAILED, print_note
from app.cli.progress import signals_handled
from app.events import Event, LibraryChanged
from app.fleet_study import FleetStudy, HostRun, HostRunState
from app.library_location import Location
from app.relay_asker import RelayAsker, RelayedQuestion
from app.services import Workstation
from app.session_text import moment_text
from app.store.errors import StoreError
from app.timestamps import now
from remote.questions import Asker

LOOK_EVERY = 0.5
"""Seconds between looks at the questions of host-runs."""


class StudyNotes:
    """Notes on standard error about the host-runs of a study; called on their threads.

    `read` returns the study as it is then. `quiet` leaves only problems of the `library`.
    """

    def __init__(
        self, read: Callable[[], FleetStudy], host_runs: Sequence[HostRun], library: Location, *, quiet: bool
    ) -> None:
        self._library = library
        self._read, self._quiet, self._lock = read, quiet, threading.Lock()
        self._study = read()
        self._left: dict[int, set[int]] = defaultdict(set)
        for one in host_runs:
            if not one.state.over:
                self._left[one.session].add(one.number)
        self._due = {one.session: one.due for one in reversed(host_runs)}
        self._unwritten: set[int] = set()
        if self._left:
            self._announce(min(self._left))

    def note(self, one: HostRun, event: Event) -> None:
        """Print a problem of the library once."""
        if isinstance(event, LibraryChanged):
            with self._lock:
                self._note_problem(one, event)

    def settled(self, _study: FleetStudy, one: HostRun, state: HostRunState, reason: str) -> None:
        """Print the new state of a host-run, with the number of those that are over."""
        if self._quiet or state.active:
            return
        with self._lock:
            with suppress(StoreError):  # the host-run is settled: an error here would settle it again
                self._study = self._read()
            self._note_state(one, state, reason)

    def _note_problem(self, one: HostRun, event: LibraryChanged) -> None:
        """Print the first of the problems of all host-runs, and where a run is stored instead."""
        before = bool(self._unwritten)
        (self._unwritten.add if event.problem else self._unwritten.discard)(one.number)
        if event.problem and not before:
            print_note(f"{event.problem} {event.remedy}")
        elif not event.problem and event.path != self._library:
            print_note(f"{one.title} is stored in {event.path}.")
        elif before and not self._unwritten:
            print_note("The library can be written again.")

    def _note_state(self, one: HostRun, state: HostRunState, reason: str) -> None:
        study = self._study
        session = f", session {one.session}" if study.plan.sessions > 1 else ""
        failed = f", attempt {one.attempts} of {study.plan.retries + 1} failed" if one.attempts else ""
        what = f"{state.value}{failed if state is HostRunState.WAITING else ''}"
        text = f"{one.title}{session}: {what}. {reason}".rstrip(" .")
        print_note(f"{study.total - study.left}/{study.total}  {text}")
        if state.over:
            left = self._left[one.session]
            if left == {one.number} and one.session + 1 in self._due:
                self._announce(one.session + 1)
            left.discard(one.number)

    def _announce(self, session: int) -> None:
        """Print when a later session starts."""
        due = self._due[session]
        if not self._quiet and due > now():
            start = moment_text(datetime.fromisoformat(due))
            print_note(f"Session {session} of {self._study.plan.sessions} starts at {start}.")


def carry_on(workstation: Workstation, study: str, asker: Asker, *, quiet: bool) -> None:
    """Run a study until it is over or Ctrl+C stops it; questions are asked on this thread, one at a time.

    Exits with status 1 if its library could not be written until the end: other files have its last runs then.
    """
    inbox: queue.Queue[RelayedQuestion] = queue.Queue()
    found, library = workstation.fleet_study(study), workstation.library_location
    read = partial(workstation.fleet_study, found.id)
    notes = StudyNotes(read, workstation.host_runs(found.id), library, quiet=quiet)
    runner = workstation.fleet_runner(found.id, RelayAsker(asker, inbox.put), notes.note, notes.settled)
    thread = threading.Thread(target=runner.run, name=f"study {found.id}", daemon=True)
    with signals_handled(runner):
        thread.start()
        while thread.is_alive():
            with suppress(queue.Empty):
                inbox.get(timeout=LOOK_EVERY).ask()
    if workstation.library_location != library:
        print_note(f"The study is in {library}. Free space, then: benchwright fleet resume {found.id}")
        raise SystemExit(FAILED)

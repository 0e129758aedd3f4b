"""A study while this process runs it: its questions, notes on host-runs that ended, and what remains."""

import queue
import threading
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from app.cli.common import FAILED, print_note
from app.cli.progress import signals_handled
from app.events import Event, LibraryChanged, RunEnded, State
from app.fleet_study import FleetStudy, HostRun
from app.library_location import Location
from app.relay_asker import RelayAsker, RelayedQuestion
from app.services import Workstation
from app.session_text import moment_text
from app.timestamps import now
from remote.questions import Asker

LOOK_EVERY = 0.5
"""Seconds between looks at the questions of host-runs."""


class StudyNotes:
    """Notes on standard error about the host-runs of a study that ended; called on their threads.

    `quiet` leaves only problems of the `library`.
    """

    def __init__(self, study: FleetStudy, host_runs: Sequence[HostRun], library: Location, *, quiet: bool) -> None:
        self._library = library
        self._study, self._quiet, self._lock = study, quiet, threading.Lock()
        self._ended = {one.number for one in host_runs if one.state.over}
        self._left: dict[int, set[int]] = defaultdict(set)
        for one in host_runs:
            if not one.state.over:
                self._left[one.session].add(one.number)
        self._due = {one.session: one.due for one in reversed(host_runs)}
        self._unwritten: set[int] = set()
        if self._left:
            self._announce(min(self._left))

    def note(self, one: HostRun, event: Event) -> None:
        """Print the end of a run with the number of host-runs that ended, and a problem of the library once."""
        with self._lock:
            match event:
                case LibraryChanged():
                    self._note_problem(one, event)
                case RunEnded() if not self._quiet:
                    self._note_end(one, event)

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

    def _note_end(self, one: HostRun, event: RunEnded) -> None:
        self._ended.add(one.number)
        session = f", session {one.session}" if self._study.plan.sessions > 1 else ""
        retries = self._study.plan.retries
        attempt = f", attempt {one.attempts} of {retries + 1}" if event.state is State.FAILED and retries else ""
        text = f"{one.title}{session}: {event.state}{attempt}. {event.reason}".rstrip(" .")
        print_note(f"{len(self._ended)}/{self._study.total}  {text}")
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
    notes = StudyNotes(found, workstation.host_runs(found.id), library, quiet=quiet)
    runner = workstation.fleet_runner(found.id, RelayAsker(asker, inbox.put), notes.note)
    thread = threading.Thread(target=runner.run, name=f"study {found.id}", daemon=True)
    with signals_handled(runner):
        thread.start()
        while thread.is_alive():
            with suppress(queue.Empty):
                inbox.get(timeout=LOOK_EVERY).ask()
    if workstation.library_location != library:
        print_note(f"The study is in {library}. Free space, then: benchwright fleet resume {found.id}")
        raise SystemExit(FAILED)

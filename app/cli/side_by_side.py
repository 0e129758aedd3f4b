"""Runs of several plans at once: those that share a machine wait for each other, the rest go side by side."""

import logging
import queue
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from app.cli.common import plain, print_error, print_note
from app.cli.progress import Stoppable, progress_text, signals_handled
from app.events import (
    Activity,
    Event,
    LinkChanged,
    Progress,
    RunAttached,
    RunDetached,
    RunEnded,
    RunStarted,
    SampleRead,
    State,
    TrialStarted,
    VerdictReached,
)
from app.plans.plan import host_label
from app.queue.entries import NOT_STARTED, QueueEntry
from app.queue.run_queue import WaitsAgainError
from app.relay_asker import RelayAsker, RelayedQuestion
from app.runs.control import Control
from app.runs.messages import link_text
from app.services import Workstation
from app.verdict.steps import verdict_text
from remote.questions import Asker
from suites.errors import BenchwrightError
from suites.quantities import figure_text

log = logging.getLogger(__name__)

LOOK_EVERY = 0.5
"""Seconds between looks at the queue while an entry waits."""


@dataclass(slots=True)
class QueuedRun:
    """A run of an entry, with its control and what is known of it. `error` is why it did not begin or end."""

    entry: QueueEntry
    control: Control
    run_id: str = ""
    state: State | None = None  # RUNNING: detached
    error: BenchwrightError | None = None
    status: str = "waiting"
    progress: str = ""  # trials done and time left
    headline: str = ""  # the headline metric of the trial under way
    figure: str = ""  # its latest sample
    waits: str = ""
    thread: threading.Thread | None = None

    @property
    def over(self) -> bool:
        """Whether it ended, was detached, or will not start."""
        return self.state is not None or self.error is not None

    @property
    def title(self) -> str:
        """The plan with its hosts: ``fio on web-1 and web-2``."""
        where = f" on {' and '.join(map(host_label, self.entry.plan.hosts))}"
        return self.entry.plan.name.removesuffix(where) + where


class _Controls(Stoppable):
    """The controls of all runs as one."""

    def __init__(self, runs: Sequence[QueuedRun]) -> None:
        self._runs = runs
        self._first = Control()  # its clock is that of the first Ctrl+C

    @property
    def stopped(self) -> bool:
        return self._first.stopped

    @property
    def over(self) -> bool:
        return self._first.over

    def stop(self) -> None:
        for control in (self._first, *(run.control for run in self._runs)):
            control.stop()

    def detach(self) -> None:
        for control in (self._first, *(run.control for run in self._runs)):
            control.detach()

    def remaining(self, seconds: float) -> float:
        return self._first.remaining(seconds)


class SideBySide:
    """Runs entries of the queue that this process owns, until all are over or Ctrl+C stops them."""

    def __init__(self, workstation: Workstation, asker: Asker, *, quiet: bool) -> None:
        self._workstation = workstation
        self._inbox: queue.Queue[tuple[QueuedRun | None, Any]] = queue.Queue()
        self._asker = RelayAsker(asker, lambda question: self._inbox.put((None, question)))
        self._board = _Board(live=sys.stderr.isatty() and not quiet, quiet=quiet)

    def run(self, entries: Sequence[QueueEntry]) -> list[QueuedRun]:
        """Run `entries`; return them with their outcome, in order. What did not start leaves the queue."""
        runs = [QueuedRun(entry, Control(entry.busy)) for entry in entries]
        controls = _Controls(runs)
        with signals_handled(controls):
            while not all(run.over for run in runs):
                if controls.over:
                    self._give_up_waiting(runs)
                else:
                    self._start(runs)
                self._handle(runs)
        self._board.clear()
        for run in runs:
            if run.thread is not None:
                run.thread.join()
        return runs

    def _start(self, runs: Sequence[QueuedRun]) -> None:
        waiting = {run.entry.id: run for run in runs if not run.over and run.thread is None}
        if not waiting:
            return
        for entry in self._workstation.queue.take(waiting):
            run = waiting.pop(entry.id)
            run.entry, run.status, run.waits = entry, "starting", ""
            run.control.busy = entry.busy
            run.thread = threading.Thread(target=self._work, args=(run,), name=f"run {entry.id}", daemon=True)
            run.thread.start()
        places = {place.entry.id: place for place in self._workstation.queue.places()} if waiting else {}
        for entry_id, run in waiting.items():
            if entry_id not in places:  # removed by another process
                run.error = BenchwrightError("Removed from the queue.")
            elif (waits := places[entry_id].waits) and waits != NOT_STARTED:
                self._note_waiting(run, waits)

    def _note_waiting(self, run: QueuedRun, waits: str) -> None:
        run.status = waits
        reason = waits.partition(",")[0].partition(";")[0]  # without the time left
        if reason != run.waits:
            run.waits = reason
            self._board.note(f"{run.title}: {waits}", temporary=True)

    def _work(self, run: QueuedRun) -> None:
        """Run an entry, on a thread of its own."""
        try:
            for event in self._workstation.run_entry(run.entry, self._asker, run.control):
                if not isinstance(event, SampleRead):
                    self._inbox.put((run, event))
                elif event.sample.metric.name == run.headline:
                    run.figure = figure_text(event.sample.metric, event.sample.value)
            self._inbox.put((run, None))
        except BenchwrightError as error:
            self._inbox.put((run, error))
        except Exception as error:
            log.exception("a run of the queue failed")
            self._inbox.put((run, BenchwrightError(f"Internal error: {type(error).__name__}.", "See the log.")))

    def _handle(self, runs: Sequence[QueuedRun]) -> None:
        """Handle what the runs reported within LOOK_EVERY."""
        for run, what in _received(self._inbox):
            if isinstance(what, RelayedQuestion):
                self._board.clear()
                what.ask()
            elif run is not None and isinstance(what, Event):
                self._note(run, what)
            elif run is not None:
                self._end(run, what)
        self._board.draw([f"{run.title}: {run.status}  {run.figure}".rstrip() for run in runs if not run.over])

    def _end(self, run: QueuedRun, error: BenchwrightError | None) -> None:
        run.figure = ""
        if isinstance(error, WaitsAgainError):  # the control of a refused run is used up
            run.thread, run.status, run.control = None, "waiting", Control(run.entry.busy)
        elif error is not None:
            run.error = error
            self._board.error(f"{run.title}: {error}")
        elif run.state is None:
            run.error = BenchwrightError("The run ended without a final state.")

    def _give_up_waiting(self, runs: Sequence[QueuedRun]) -> None:
        for run in runs:
            if run.thread is None and not run.over:
                run.error = BenchwrightError("Not started: stopped before its turn.")
                self._board.error(f"{run.title}: {run.error}")
                if not run.entry.stays:
                    self._workstation.queue.discard(run.entry.id)

    def _note(self, run: QueuedRun, event: Event) -> None:
        match event:
            case RunStarted(run_id=run_id) | RunAttached(run_id=run_id):
                run.run_id = run_id
                self._board.note(f"{run.title}: run {run_id}")
            case RunEnded(state=state, reason=reason):
                run.state = state
                self._board.note(f"{run.title}: {state}. {reason}".strip())
            case RunDetached(run_id=run_id):
                run.state = State.RUNNING
                self._board.note(f"{run.title}: detached; resume it with: benchwright attach {run_id}")
            case Activity(text=text, waits_for=waits_for, measures=measures):
                run.status = run.progress if measures else text
                if waits_for:
                    self._board.note(f"{run.title}: {text}", temporary=True)
            case Progress():
                run.status = run.progress = progress_text(event)
                self._board.note(f"{run.title}: {run.status}", temporary=True)
            case TrialStarted(trial=trial):
                run.headline, run.figure = run.entry.plan.step(trial.step).headline.name, ""
            case LinkChanged(host=host):
                self._board.note(
                    f"{run.title}: {host_label(host)}: {link_text(event, time.monotonic()) or 'reconnected'}"
                )
            case VerdictReached(verdict=verdict) if verdict.step is None:
                self._board.note(f"{run.title}: {verdict_text(verdict)}")


def _received(inbox: "queue.Queue[tuple[QueuedRun | None, Any]]") -> Iterator[tuple[QueuedRun | None, Any]]:
    """Yield what arrives first within LOOK_EVERY, and all that has arrived with it."""
    try:
        yield inbox.get(timeout=LOOK_EVERY)
        while True:
            yield inbox.get_nowait()
    except queue.Empty:
        return


class _Board:
    """Lines on standard error: on a terminal, one for each run, updated in place, below the notes."""

    def __init__(self, *, live: bool, quiet: bool) -> None:
        self._live, self._quiet, self._drawn = live, quiet, 0

    def note(self, text: str, *, temporary: bool = False) -> None:
        """Print a line; a `temporary` one only where the lines of the runs are not shown."""
        if not self._quiet and not (temporary and self._live):
            self.clear()
            print_note(text)

    def error(self, text: str) -> None:
        """Print an error."""
        self.clear()
        print_error(text)

    def draw(self, lines: Sequence[str]) -> None:
        """Show the lines of the runs, cut to the width of the terminal."""
        if self._live:
            self.clear()
            width = shutil.get_terminal_size().columns
            for line in lines:
                shown = plain(line)[: width - 1]
                click.echo(plain(shown), err=True)
            self._drawn = len(lines)

    def clear(self) -> None:
        """Remove the lines of the runs."""
        if self._drawn:
            for _ in range(self._drawn):
                click.echo("\x1b[A\x1b[2K", nl=False, err=True)
            self._drawn = 0

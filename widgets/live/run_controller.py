"""One run of the window, without a view: its place in the queue, job, control, events and model."""

import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.detached_runs import DetachedRun
from app.events import (
    Activity,
    Event,
    JobBegan,
    JobPlanned,
    LibraryChanged,
    LinkChanged,
    OutputRead,
    Progress,
    RunStarted,
    TrialAttached,
    TrialEnded,
    TrialStarted,
)
from app.plans.plan import Plan, host_label
from app.questions import Asker
from app.queue.entries import QueueEntry
from app.queue.run_queue import WaitsAgainError
from app.records import Band
from app.runs.control import BusyPolicy, Control
from app.runs.messages import lost_text
from app.services import Workstation
from app.verdict.steps import verdict_text
from suites.errors import BenchwrightError
from widgets.jobs import PERIOD, BackgroundJob, EventBatch, PendingEvents
from widgets.live.headline import leading_figure
from widgets.live.messages import remaining_text, state_text, step_host_text, trial_text, trouble_text, under_way_text
from widgets.live.model import LivePhase, RunModel, StepKey
from widgets.run_strip import LineState, QueueAction, StripLine, actions_of

if TYPE_CHECKING:
    from app.fleet.watching import WatchedRun  # with the engine of runs, which the first window does not need

STARTING = "starting"
"""What a run waits for until the queue was looked at."""

BEHIND = 0.5
"""Seconds between deliveries of the events of a run that is not shown."""

KEPT = 400
"""Pieces of output kept to show the raw output of a run again; the store has all of it."""


@dataclass(frozen=True, slots=True)
class RunStart:
    """What to run: `plan`, its `detached` run, or the next session of `series`.

    `made` is called first, on a worker thread. `stop` ends the run in order instead of continuing it. With `card`, its
    end is a card of its results. `watched` is a run that a fleet study carries: it is shown, and not started.
    """

    plan: Plan
    busy: BusyPolicy = BusyPolicy.REFUSE
    made: Callable[[], None] = lambda: None
    detached: DetachedRun | None = None
    stop: bool = False
    series: str = ""
    card: bool = False
    watched: "WatchedRun | None" = None


LogPart = OutputRead | str
"""Output of the tool, or a line that the tool did not print."""


@dataclass(frozen=True, slots=True)
class TakenEvents:
    """Events that were folded into the model, and what they add to the raw output."""

    events: tuple[Event, ...]
    log: tuple[LogPart, ...]

    @property
    def moves_on(self) -> bool:
        """Whether they change what the run does."""
        return any(
            isinstance(event, TrialStarted | TrialAttached | TrialEnded | Activity | LinkChanged | Progress)
            for event in self.events
        )


class RunController(QObject):
    """A run from its start, or its place in the queue, to its end. `waits` is why it has not begun, if it has not."""

    began = Signal(str)  # the run's id
    taken = Signal(object)  # TakenEvents
    changed = Signal()  # its state outside of the model
    ended = Signal()
    library_changed = Signal(object)  # a LibraryChanged

    def __init__(self, start: RunStart, workstation: Workstation, asker: Asker, parent: QObject) -> None:
        super().__init__(parent)
        self.start_request, self._workstation, self._asker = start, workstation, asker
        self.control = self._new_control()
        self.model = self._new_model()
        self.entry: QueueEntry | None = None
        self.waits = STARTING
        self.paused = self.over = False
        self.front = False
        self.bands: dict[StepKey, Sequence[Band]] = {}
        self.follows, self.step_key = True, self.model.step_keys()[0]
        self.log: deque[LogPart] = deque(maxlen=KEPT)
        self._directories: dict[str, str] = {}  # the hosts of planned jobs, by directory
        self._jobs: dict[str, str] = {}  # the hosts of jobs that were started and have not ended, by directory
        self._job: BackgroundJob | None = None
        self._again = ""  # why a machine did not admit it
        self._pending = PendingEvents()
        self._delivery = QTimer(self, singleShot=True)
        self._delivery.timeout.connect(self._drain)

    def _new_control(self) -> Control:
        if self.start_request.watched is not None:
            return self.start_request.watched.control
        made = Control(self.start_request.busy)
        if self.start_request.stop:
            made.stop()
        return made

    def _new_model(self) -> RunModel:
        plan = self.start_request.plan
        made = RunModel(replace(plan, repetition=plan.repetition.one_session))
        if self.control.stopped:
            made.stopping()
        return made

    @property
    def key(self) -> str:
        """Its key in the strip."""
        return f"run-{id(self):x}"

    @property
    def running(self) -> bool:
        """Whether it is under way, stopping included."""
        return self._job is not None

    @property
    def starting(self) -> bool:
        """Whether it is about to begin: it is not known yet that it has to wait."""
        return not self.over and not self.running and self.waits == STARTING

    @property
    def waiting(self) -> bool:
        """Whether it waits in the queue."""
        return not (self.over or self.running or self.starting)

    @property
    def queue_actions(self) -> tuple[QueueAction, ...]:
        """What can be done with it in the queue; nothing unless it waits there."""
        return actions_of(paused=self.paused) if self.waiting else ()

    def begin(self, entry: QueueEntry | None) -> None:
        """Run the entry that was taken from the queue; None: watch a run, or attach a detached one only to stop it."""
        start, control, workstation, asker = self.start_request, self.control, self._workstation, self._asker

        def events() -> Generator[Event]:
            if start.watched is not None:
                return start.watched.events()
            if entry is None:
                return workstation.attach("" if start.detached is None else start.detached.id, asker, control)
            return workstation.run_entry(entry, asker, control)

        self.waits, self._again, self._pending = "", "", PendingEvents()
        if entry is not None:
            self.entry, control.busy = entry, entry.busy
        self._job = BackgroundJob(events, self, put=self._pending.put)
        self._job.yielded.connect(self._drain)
        self._job.failed.connect(self._fail)
        self._job.finished.connect(self._finish)
        self._job.start()
        self.changed.emit()

    def wait(self, waits: str, *, paused: bool = False) -> None:
        """Show what it waits for."""
        if (waits, paused) != (self.waits, self.paused):
            self.waits, self.paused = waits, paused
            self.changed.emit()

    def stop(self) -> None:
        """Stop the run and keep what was measured; the run ends later."""
        self.control.stop()
        self.model.stopping()
        self.changed.emit()

    def detach(self) -> None:
        """Detach the run: the trial under way continues on its host."""
        self.control.detach()
        self.changed.emit()

    def end_waiting(self, reason: str) -> None:
        """End a run that has not begun, because of `reason`."""
        self.model.fail(reason, time.monotonic())
        self.over, self.waits = True, ""
        self.changed.emit()
        self.ended.emit()

    # Events

    def show_in_front(self, *, front: bool) -> None:
        """Deliver events at once while the run is shown, else twice a second."""
        self.front = front
        if front and self._delivery.isActive():
            self._delivery.stop()
            self._drain()

    def _drain(self, _event: Event | None = None) -> None:
        """Take what has arrived, unless the timer does so soon."""
        if self._delivery.isActive():
            return
        batch = self._pending.take()
        if batch.events or batch.output:
            self._take(batch)
            self._delivery.start(round((PERIOD if self.front else BEHIND) * 1000))  # until a batch is empty

    def _take(self, batch: EventBatch) -> None:
        now, model = time.monotonic(), self.model
        log: list[LogPart] = [output for output in batch.output if output.trial in model.trials]
        # Output of a trial whose TrialStarted is in this batch belongs below that trial's heading.
        later = [output for output in batch.output if output.trial not in model.trials]
        for event in batch.events:
            model.fold(event, now)
            self._note_job(event)
            if isinstance(event, RunStarted):
                self.began.emit(event.run_id)
            elif isinstance(event, LibraryChanged):
                self.library_changed.emit(event)
            elif isinstance(event, TrialStarted | TrialAttached):
                view = model.trials[event.trial.id]
                log.append(f"── {step_host_text(model, view.step_key)} · {trial_text(model, view)} ──")
        if batch.unshown:
            log.append(f"… {batch.unshown} bytes not shown: output too fast; the stored output is complete …")
        self.log.extend([*log, *later])
        self.taken.emit(TakenEvents(batch.events, (*log, *later)))

    def _note_job(self, event: Event) -> None:
        """Note on which hosts jobs run that do not need the connection."""
        if isinstance(event, JobPlanned):
            self._directories[event.directory] = event.where
        elif isinstance(event, JobBegan) and event.directory in self._directories:
            self._jobs[event.directory] = self._directories[event.directory]
        elif isinstance(event, TrialEnded) and (view := self.model.trials.get(event.trial)) is not None:
            over = {view.trial.host, self.model.plan.step(view.trial.step).peer}
            self._jobs = {directory: host for directory, host in self._jobs.items() if host not in over}

    def lost_texts(self, now: float) -> list[tuple[str, str]]:
        """Return what is known of each broken connection; see lost_text()."""
        hosts = set(self._jobs.values())
        texts = [lost_text(link, now, job=host in hosts) for host, link in self.model.links.items()]
        return [text for text in texts if any(text)]

    def _fail(self, error: BenchwrightError) -> None:
        if isinstance(error, WaitsAgainError):
            self._again = error.message
        else:
            self._take(self._pending.take())
            self.model.fail(str(error), time.monotonic())

    def _finish(self) -> None:
        self._delivery.stop()
        if self._again:
            self.control, self._job = self._new_control(), None  # the control of a refused run is used up
            self.model = self._new_model()
            self.wait(self._again.rstrip("."))
            return
        self._take(self._pending.take())  # events since the last delivery
        self._job, self.over = None, True
        if not self.model.phase.over:
            self.model.fail("The run ended without a final state.", time.monotonic())
        self.changed.emit()
        self.ended.emit()

    # Texts

    def line(self, now: float) -> StripLine:
        """Return the run for the strip and the title, at `now` (monotonic seconds)."""
        plan, model = self.start_request.plan, self.model
        hosts = host_label(plan.hosts[0]) + (f" +{len(plan.hosts) - 1}" if len(plan.hosts) > 1 else "")
        title = f"{hosts} · {plan.name}"
        about = StripLine(self.key, title, self.waits, LineState.RUNNING, hosts=plan.hosts, plan=plan.name)
        if self.over:
            state, verdict = _ENDS.get(model.phase, LineState.FAILED), model.verdicts.get(None)
            short, whole = ("", model.reason) if verdict is None else (verdict_text(verdict), verdict.summary)
            detail = " · ".join(filter(None, [state_text(model, now), short or whole]))
            return replace(about, detail=detail, state=state, figure=whole)
        if not self.running:
            state = LineState.PAUSED if self.paused else LineState.RUNNING if self.starting else LineState.WAITING
            return replace(about, state=state)
        view = model.under_way(self.step_key)
        figure = leading_figure(model, self.step_key if view is None else view.step_key)
        quiet = trouble_text(model, now) or model.phase is LivePhase.STOPPING
        doing = state_text(model, now) if quiet or view is None else under_way_text(model, view)
        share, left, remaining = None, "", model.remaining(now)
        if not quiet:
            left = remaining_text(remaining)
        parts = [doing] if quiet else [doing, left, figure]
        if remaining is not None and model.elapsed(now) > 0:
            share = model.elapsed(now) / (model.elapsed(now) + max(0.0, remaining))
        lost = tuple(host for host, link in model.links.items() if link.state.broken)
        detail = " · ".join(filter(None, parts))
        return replace(about, detail=detail, figure=figure, left=left, share=share, doing=doing, lost=lost)


_ENDS = {
    LivePhase.DONE: LineState.DONE, LivePhase.PARTIAL: LineState.EARLY, LivePhase.DETACHED: LineState.DETACHED,
}  # fmt: skip

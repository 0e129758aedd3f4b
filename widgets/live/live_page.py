"""The page that runs a plan and shows it as it happens."""

import time
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedLayout, QVBoxLayout, QWidget

from app.events import (
    Event,
    FactsRead,
    LibraryChanged,
    Moment,
    RunEnded,
    RunLeft,
    RunStarted,
    TrialAttached,
    TrialStarted,
)
from app.plans.plan import Plan
from app.questions import Asker
from app.records import Band
from app.runs.control import WAITING, Busy, Control, HostInUseError
from app.runs.left import LeftRun
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import Job
from widgets.live.busy_bar import BusyBar
from widgets.live.inbox import PERIOD, Batch, Inbox
from widgets.live.model import Place, RunModel
from widgets.live.outcome_bar import OutcomeBar
from widgets.live.outcome_words import outcome
from widgets.live.place_strip import PlaceStrip
from widgets.live.run_side import RunSide
from widgets.live.words import clock_text, place_text, remaining_text, state_text, summary_text, trial_text
from widgets.page import Page
from widgets.parts.empty_state import EmptyState
from widgets.parts.one_line import OneLine
from widgets.theme import SPACE, TextSize, text_font

if TYPE_CHECKING:
    from widgets.live.step_view import StepView

_TICK = 500
"""Milliseconds between two looks at the clock while a run is under way."""


class LivePage(Page):
    """One run at a time: under way, or the last one. What is shown is folded in a RunModel; this only wires."""

    run_started = Signal(str)
    run_finished = Signal(str)
    summary_changed = Signal(str)  # the run in one line, empty when none is under way
    show_run_requested = Signal(str)
    export_requested = Signal(str)
    measure_requested = Signal()
    plan_chosen = Signal(object)  # a Plan
    library_changed = Signal(object)  # a LibraryChanged

    def __init__(self, workstation: Workstation, asker: Asker, parent: QWidget | None = None) -> None:
        super().__init__(workstation, asker, parent)
        self._model: RunModel | None = None
        self._control: Control | None = None
        self._job: Job | None = None
        self._inbox = Inbox()
        self._try_again: Callable[[Busy], bool] = lambda _busy: False  # for what was refused a host
        self._bands: dict[Place, Sequence[Band]] = {}
        self._reading_bands: Job | None = None
        self._follows = True
        self._summary = ""
        self.view: StepView | None = None
        self.run_side = RunSide()
        self.run_side.findings.more_requested.connect(self.help_requested)
        self.side = self.run_side
        self._delivery = QTimer(self)
        self._delivery.setSingleShot(True)
        self._delivery.setInterval(round(PERIOD * 1000))
        self._delivery.timeout.connect(self._drain)
        self._clock = QTimer(self)
        self._clock.setInterval(_TICK)
        self._clock.timeout.connect(self._show_time)
        self._build()

    @property
    def running(self) -> bool:
        """Whether a run is under way, stopping included."""
        return self._job is not None

    @property
    def model(self) -> RunModel | None:
        """The run that is shown, or None."""
        return self._model

    def start_run(self, plan: Plan, busy: Busy = Busy.REFUSE, made: Callable[[], None] = lambda: None) -> bool:
        """Run `plan` and show it; return False, and do nothing, while another run is under way.

        `busy` says what to do where somebody else measures a host: by default, that is told and the user asked. `made`
        is called first, on the worker's thread.
        """
        control, workstation, asker = Control(busy), self.workstation, self.asker
        self._try_again = self._try_again if self.running else partial(self.start_run, plan, made=made)

        def events() -> Generator[Event]:
            made()
            return workstation.run(plan, asker, control)

        return self._begin(plan, control, events)

    def attach_run(self, left: LeftRun, busy: Busy = Busy.REFUSE, *, stop: bool = False) -> bool:
        """Go on with a detached run, or end it in order; return False while another is under way."""
        control, workstation, asker = Control(busy), self.workstation, self.asker
        self._try_again = self._try_again if self.running else partial(self.attach_run, left, stop=stop)
        if stop:
            control.stop()
        began = self._begin(left.record.plan, control, lambda: workstation.attach(left.id, asker, control))
        if began and stop and self._model is not None:
            self._model.stopping()
        return began

    def _begin(self, plan: Plan, control: Control, events: Callable[[], Generator[Event]]) -> bool:
        if self.running:
            return False
        self._model, self._control, self._inbox = RunModel(plan), control, Inbox()
        self._bands, self._follows = {}, True
        self._ready_view().log.restart()
        self._outcome.hide()
        self._busy.hide()
        self._stop_button.setEnabled(not control.over)
        self._stop_button.show()
        self._stack.setCurrentIndex(1)
        self._strip.show_places(self._model)
        self._show_place(self._model.places()[0])
        inbox = self._inbox
        self._job = Job(lambda: inbox.pump(events()), self)
        self._job.yielded.connect(self._announced)
        self._job.failed.connect(self._broke_off)
        self._job.finished.connect(self._finished)
        self._job.start()
        self._read_bands(plan)
        self._clock.start()
        self._show_time()
        self._ready_view().table.setFocus()
        return True

    def stop(self) -> None:
        """End the run as soon as its process can be ended, keeping what was measured. Returns at once."""
        if self._control is None or self._model is None or not self.running:
            return
        self._control.stop()
        self._model.stopping()
        self._stop_button.setEnabled(False)
        self._show_texts()

    def leave(self) -> None:
        """Let go of the run: what measures on a host goes on there, and waits to be attached. Returns at once."""
        if self._control is not None and self.running:
            self._control.leave()
            self._stop_button.setEnabled(False)

    def save_library_to(self, path: Path) -> None:
        """Go on writing the run down in a new library at `path`. Returns at once."""
        if self._control is not None and self.running:
            self._control.save_to(path)

    def export(self) -> bool:
        """Offer to export the run that is shown, once it has ended; return whether there is one."""
        if self.running or self._model is None or not self._model.run_id:
            return False
        self.export_requested.emit(self._model.run_id)
        return True

    # Events

    def _announced(self, _nothing: object) -> None:
        if not self._delivery.isActive():
            self._drain()

    def _drain(self) -> None:
        batch = self._inbox.take()
        if not batch.events and not batch.output:
            return
        self._take(batch)
        self._delivery.start()

    def _take(self, batch: Batch) -> None:
        if self._model is None or self.view is None:
            return
        now = time.monotonic()
        for output in batch.output:
            if output.trial in self._model.trials:
                self.view.log.write(output.data, output.stream)
        later = [output for output in batch.output if output.trial not in self._model.trials]
        for event in batch.events:
            self._model.fold(event, now)
            self._heed(event, self._model.plan)
        if batch.unshown:
            self.view.log.note(f"… {batch.unshown} bytes came too fast to show; the stored output has them …")
        for output in later:
            self.view.log.write(output.data, output.stream)
        if any(isinstance(event, RunEnded | RunLeft) for event in batch.events):
            self.view.log.flush()
        self.view.sync()
        self._show_texts()

    def _heed(self, event: Event, plan: Plan) -> None:
        """Do what an event asks for beyond the model."""
        if isinstance(event, RunStarted):
            self.run_started.emit(event.run_id)
        elif isinstance(event, TrialStarted | TrialAttached):
            self._busy.hide()
            self._follow()
        elif isinstance(event, LibraryChanged):
            self.library_changed.emit(event)
        elif isinstance(event, FactsRead) and event.moment is Moment.BEFORE:
            self._read_bands(plan)

    def _follow(self) -> None:
        model, view = self._model, self.view
        if model is None or view is None or model.current is None:
            return
        view.log.note(f"── {place_text(model, model.current.place)} · {trial_text(model, model.current)} ──")
        if self._follows:
            self._show_place(model.current.place)

    def _broke_off(self, error: BenchwrightError) -> None:
        if self._model is not None:
            self._take(self._inbox.take())
            self._model.fail(str(error), time.monotonic())
        if isinstance(error, HostInUseError) and self._model is not None:
            self._model.run_id = ""  # nothing of it was kept
            self._busy.refuse(error.message)

    def _finished(self) -> None:
        self._delivery.stop()
        self._clock.stop()
        self._take(self._inbox.take())
        self._job = None
        model = self._model
        if model is None:
            return
        if not model.phase.over:
            model.fail("The run ended without saying how.", time.monotonic())
        self._stop_button.hide()
        if not self._busy.isVisibleTo(self):
            measured = any(view.counts for view in model.trials.values())
            self._outcome.say(*outcome(model), kept=bool(model.run_id), measured=measured)
            self._outcome.propose(model.plan.name)
        self._show_texts()
        self._show_time()
        self.run_finished.emit(model.run_id)

    # What is shown

    def _ready_view(self) -> "StepView":
        """Return the view of a step; it is made when first needed, so that the window opens without pyqtgraph."""
        if self.view is None:
            from widgets.live.step_view import StepView

            self.view = StepView()
            self.view.scaling_requested.connect(self._show_scaling)
            self._body.addWidget(self.view, 1)
        return self.view

    def _choose_place(self, place: Place) -> None:
        current = self._model.current if self._model is not None else None
        self._follows = current is not None and current.place == place
        self._show_place(place)

    def _show_place(self, place: Place) -> None:
        if self._model is None or self.view is None:
            return
        self._strip.show_place(place)
        self.view.show_place(self._model, place, self._bands.get(place, ()))
        self._show_texts()

    def _show_texts(self) -> None:
        model, view = self._model, self.view
        if model is None or view is None or view.place is None:
            return
        trial = view.front
        parts = [place_text(model, view.place), trial_text(model, trial) if trial is not None else ""]
        self._where.set_text("   ".join(part for part in parts if part))
        self._state.set_text(state_text(model, time.monotonic()))
        self._show_waiting(model)
        self._strip.show_places(model)
        self.run_side.show_run(model, view.place, trial)

    def _show_waiting(self, model: RunModel) -> None:
        """Tell for whom the run waits, while it does."""
        patient = self._control is not None and self._control.busy is Busy.WAIT and self.running
        if patient and model.current is None and model.activity.startswith(WAITING):
            self._busy.wait(f"{model.activity.removeprefix(WAITING)}.")

    def _show_time(self) -> None:
        model, view = self._model, self.view
        if model is None or view is None:
            return
        now = time.monotonic()
        remaining = "" if model.phase.over else remaining_text(model.remaining(now))
        view.bar.show_time(clock_text(model.elapsed(now)), remaining, over=model.phase.over)
        if self.running and model.links:
            self._state.set_text(state_text(model, now))
        summary = summary_text(model, now) if self.running else ""
        if summary != self._summary:
            self._summary = summary
            self.summary_changed.emit(summary)

    # Baselines

    def _read_bands(self, plan: Plan) -> None:
        """Read what the baselines say, once more when facts tell whether they are of another universe."""
        workstation, facts = self.workstation, {} if self._model is None else dict(self._model.facts)
        places = [(step, host) for step in plan.steps for host in plan.hosts]

        def read() -> dict[Place, Sequence[Band]]:
            return {(step.name, host): workstation.bands(step, host, facts.get(host)) for step, host in places}

        job = self._reading_bands = Job(read, self)
        job.returned.connect(lambda bands: self._take_bands(bands) if job is self._reading_bands else None)
        job.failed.connect(self._lack_bands)
        job.start()

    def _take_bands(self, bands: dict[Place, Sequence[Band]]) -> None:
        self._bands = bands
        if self.view is not None and self.view.place is not None and any(bands.values()):
            self._show_place(self.view.place)

    def _lack_bands(self, error: BenchwrightError) -> None:
        self.status.emit(f"The baseline could not be read: {error}")

    def _ask_another_tool(self) -> None:
        from widgets.opinion.opinion_dialog import ask_for_opinion

        if self._model is not None:
            dialog = ask_for_opinion(self.workstation, self._model.run_id, self)
            dialog.plan_chosen.connect(self.plan_chosen)

    def _show_scaling(self) -> None:
        from widgets.charts.studies import show_scaling

        if self._model is not None and self._model.run_id:
            show_scaling(self.workstation, [self._model.run_id], self)

    def _pin(self, name: str) -> None:
        if self._model is None:
            return
        run_id, workstation = self._model.run_id, self.workstation
        job = Job(lambda: workstation.pin(run_id, name), self)
        job.returned.connect(lambda _nothing: self._outcome.tell(f"Pinned as the baseline “{name}”."))
        job.failed.connect(lambda error: self._outcome.tell(str(error)))
        job.start()

    # Building

    def _build(self) -> None:
        self._empty = EmptyState(
            "Nothing is running",
            "Here you watch a measurement as it happens, beside a baseline and what the host itself is doing.",
            "Measure a host",
            self.measure_requested.emit,
            icon="live",
        )
        body = QWidget()
        self._body = QVBoxLayout(body)
        self._body.setContentsMargins(SPACE[3], SPACE[2], SPACE[2], SPACE[1])
        self._body.setSpacing(SPACE[1])
        self._body.addLayout(self._build_head())
        self._strip = PlaceStrip()
        self._strip.chosen.connect(self._choose_place)
        self._body.addWidget(self._strip)
        self._outcome = OutcomeBar()
        self._outcome.show_requested.connect(lambda: self._request(self.show_run_requested))
        self._outcome.export_requested.connect(lambda: self._request(self.export_requested))
        self._outcome.pin_requested.connect(self._pin)
        self._outcome.opinion_requested.connect(self._ask_another_tool)
        self._outcome.again_requested.connect(self._run_again)
        self._body.addWidget(self._outcome)
        self._busy = BusyBar()
        self._busy.wait_requested.connect(lambda: self._try_again(Busy.WAIT))
        self._busy.anyway_requested.connect(self._go_on_anyway)
        self._body.addWidget(self._busy)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(body)

    def _build_head(self) -> QHBoxLayout:
        self._where = OneLine(text_font(TextSize.HEADING, bold=True))
        self._state = OneLine(text_font(TextSize.BODY), "muted")
        self._stop_button = QPushButton("Stop")
        self._stop_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a stray space must not end a run
        self._stop_button.setShortcut(QKeySequence("Ctrl+."))
        self._stop_button.setToolTip("End the tool on the host; what is measured so far stays in the library (Ctrl+.)")
        self._stop_button.clicked.connect(self.stop)
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self._where)
        words.addWidget(self._state)
        head = QHBoxLayout()
        head.setSpacing(SPACE[2])
        head.addLayout(words, 1)
        head.addWidget(self._stop_button)
        return head

    def _request(self, signal: SignalInstance) -> None:
        if self._model is not None and self._model.run_id:
            signal.emit(self._model.run_id)

    def _run_again(self) -> None:
        if self._model is not None:
            self.start_run(self._model.plan)

    def _go_on_anyway(self) -> None:
        """Begin beside somebody else: the run that waits, or the one that was refused."""
        if self.running and self._control is not None:
            self._control.busy = Busy.ANYWAY
            self._busy.hide()
        else:
            self._try_again(Busy.ANYWAY)

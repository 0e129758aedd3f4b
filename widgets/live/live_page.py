"""The page that runs a plan and shows it as it happens."""

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QStackedLayout, QWidget

from app.detached_runs import DetachedRun
from app.events import (
    Event,
    FactsRead,
    LibraryChanged,
    Moment,
    RunDetached,
    RunEnded,
    RunStarted,
    TrialAttached,
    TrialStarted,
)
from app.plans.plan import Plan
from app.questions import Asker
from app.records import Band
from app.runs.control import BusyPolicy, Control, HostInUseError
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import clock_text
from widgets.jobs import PERIOD, BackgroundJob, EventBatch, PendingEvents
from widgets.live.messages import outcome, remaining_text, state_text, step_host_text, summary_text, trial_text
from widgets.live.model import RunModel, StepKey
from widgets.live.run_bars import BusyBar, OutcomeBar
from widgets.live.run_side_panel import RunSidePanel
from widgets.live.step_strip import StepStrip
from widgets.page import Page
from widgets.parts.boxes import column_in, in_column, in_row
from widgets.parts.controls import push_button
from widgets.parts.empty_state import EmptyState
from widgets.parts.text import OneLine
from widgets.theme import SPACE, TextSize, text_font

if TYPE_CHECKING:
    from widgets.live.step_view import StepView

_TICK = 500
"""Milliseconds between updates of the times while a run is under way."""


class LivePage(Page):
    """The run under way, or the last one. Its state is a RunModel; the page connects it to the widgets."""

    run_started = Signal(str)
    run_finished = Signal(str)
    summary_changed = Signal(str)  # the run in one line, empty when none is under way
    show_run_requested = Signal(str)
    export_requested = Signal(str)
    measure_requested = Signal()
    plan_chosen = Signal(object)  # a Plan
    library_changed = Signal(object)  # a LibraryChanged

    def __init__(self, workstation: Workstation, asker: Asker) -> None:
        super().__init__(workstation, asker)
        self._model: RunModel | None = None
        self._control: Control | None = None
        self._job: BackgroundJob | None = None
        self._queue = PendingEvents()
        self._refused = False  # the host is in use: the BusyBar asks what to do
        self._retry: Callable[[BusyPolicy], bool] = lambda _busy: False  # repeats a refused start
        self._bands: dict[StepKey, Sequence[Band]] = {}
        self._reading_bands: BackgroundJob | None = None
        self._follows = True
        self._summary = ""
        self.view: StepView | None = None
        self.run_side = RunSidePanel()
        self.run_side.findings.more_requested.connect(self.help_requested)
        self.side = self.run_side
        self._delivery = QTimer(self, singleShot=True, interval=round(PERIOD * 1000))
        self._delivery.timeout.connect(self._drain)
        self._clock = QTimer(self, interval=_TICK)
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

    def start_run(
        self,
        plan: Plan,
        busy: BusyPolicy = BusyPolicy.REFUSE,
        made: Callable[[], None] = lambda: None,
        detached: DetachedRun | None = None,
        *,
        stop: bool = False,
        series: str = "",
    ) -> bool:
        """Run `plan`, attach its `detached` run, or run the next session of a `series`, and show it; return False, and
        do nothing, while another run is under way.

        `busy` decides what happens if a host is already in use: by default the run is refused and the user asked.
        `made` is called first, on the worker's thread. `stop` ends the run in order instead of continuing it.
        """
        if self.running:
            return False
        control, workstation, asker = Control(busy), self.workstation, self.asker
        if stop:
            control.stop()
        self._refused = False
        self._retry = partial(self.start_run, plan, made=made, detached=detached, stop=stop, series=series)

        def events() -> Generator[Event]:
            made()
            if detached is not None:
                return workstation.attach(detached.id, asker, control)
            if series:
                return workstation.run_session(series, asker, control)
            return workstation.run(plan, asker, control)

        shown = replace(plan, repetition=plan.repetition.one_session)
        self._model, self._control, self._queue = RunModel(shown), control, PendingEvents()
        self._job = BackgroundJob(events, self, put=self._queue.put)
        self._job.yielded.connect(self._drain)
        self._job.failed.connect(self._job_failed)
        self._job.finished.connect(self._finished)
        self._show_start(self._model, control)
        self._job.start()
        self._read_bands(plan)
        self._clock.start()
        self._show_time()
        self._ensure_view().take_focus()
        return True

    def attach_run(self, detached: DetachedRun, *, stop: bool = False) -> bool:
        """Attach a detached run, or `stop` it; return False while another run is under way."""
        return self.start_run(detached.record.plan, detached=detached, stop=stop)

    def _show_start(self, model: RunModel, control: Control) -> None:
        """Show a run that has no events yet."""
        self._bands, self._follows = {}, True
        self._ensure_view().log.restart()
        self._outcome.hide()
        self._busy.hide()
        self._stop_button.setEnabled(not control.over)
        self._stop_button.show()
        self._stack.setCurrentIndex(1)
        self._strip.show_step_keys(model)
        self._show_step(model.step_keys()[0])
        if control.stopped:
            model.stopping()

    def stop(self) -> None:
        """Stop the run and keep what was measured. Return immediately; the run ends later."""
        if self._control is None or self._model is None or not self.running:
            return
        self._control.stop()
        self._model.stopping()
        self._stop_button.setEnabled(False)
        self._show_texts()

    def detach(self) -> None:
        """Detach the run: the trial under way continues on its host. Return immediately."""
        if self._control is not None and self.running:
            self._control.detach()
            self._stop_button.setEnabled(False)

    def save_library_to(self, path: Path) -> None:
        """Store the run in a new library at `path` from now on. Return immediately."""
        if self._control is not None and self.running:
            self._control.save_to(path)

    def export(self) -> bool:
        """Offer to export the shown run; return False if there is none or it is under way."""
        if self.running or self._model is None or not self._model.run_id:
            return False
        self.export_requested.emit(self._model.run_id)
        return True

    # Events

    def _drain(self, _event: Event | None = None) -> None:
        """Show what has arrived, unless the timer does so soon."""
        if self._delivery.isActive():
            return
        batch = self._queue.take()
        if not batch.events and not batch.output:
            return
        self._take(batch)
        self._delivery.start()  # until a batch is empty

    def _take(self, batch: EventBatch) -> None:
        if self._model is None or self.view is None:
            return
        now = time.monotonic()
        for output in batch.output:
            if output.trial in self._model.trials:
                self.view.log.write(output.data, output.stream)
        # Output of a trial whose TrialStarted is in this batch belongs below that trial's heading.
        later = [output for output in batch.output if output.trial not in self._model.trials]
        for event in batch.events:
            self._model.fold(event, now)
            self._handle_event(event, self._model.plan)
        if batch.unshown:
            self.view.log.note(f"… {batch.unshown} bytes not shown: output too fast; the stored output is complete …")
        for output in later:
            self.view.log.write(output.data, output.stream)
        if any(isinstance(event, RunEnded | RunDetached) for event in batch.events):
            self.view.log.flush()
        self.view.sync()
        self._show_texts()

    def _handle_event(self, event: Event, plan: Plan) -> None:
        """Handle the effects of an event beyond the model."""
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
        view.log.note(f"── {step_host_text(model, model.current.step_key)} · {trial_text(model, model.current)} ──")
        if self._follows:
            shown = view.step_key
            both = shown is not None and model.is_under_way(shown)  # of a duet, the step that was shown stays
            self._show_step(shown if both and shown is not None else model.current.step_key)

    def _job_failed(self, error: BenchwrightError) -> None:
        if self._model is not None:
            self._take(self._queue.take())
            self._model.fail(str(error), time.monotonic())
        if isinstance(error, HostInUseError) and self._model is not None:
            self._model.run_id = ""  # a refused run is not stored
            self._refused = True
            self._busy.refuse(error.message)

    def _finished(self) -> None:
        self._delivery.stop()
        self._clock.stop()
        self._take(self._queue.take())  # events since the last delivery
        self._job = None
        model = self._model
        if model is None:
            return
        if not model.phase.over:
            model.fail("The run ended without a final state.", time.monotonic())
        self._stop_button.hide()
        if not self._refused:
            self._busy.hide()
            measured = any(view.counts for view in model.trials.values())
            self._outcome.show_message(*outcome(model), stored=bool(model.run_id), measured=measured)
            self._outcome.propose(model.plan.name)
        self._show_texts()
        self._show_time()
        self.run_finished.emit(model.run_id)

    # What is shown

    def _ensure_view(self) -> "StepView":
        """Return the view of a step, made on first use: importing pyqtgraph would delay the window."""
        if self.view is None:
            from widgets.live.step_view import StepView

            self.view = StepView(self.workstation)
            self._body.addWidget(self.view, 1)
        return self.view

    def _choose_step(self, step_key: StepKey) -> None:
        self._follows = self._model is not None and self._model.is_under_way(step_key)
        self._show_step(step_key)

    def _show_step(self, step_key: StepKey) -> None:
        if self._model is None or self.view is None:
            return
        self._strip.show_step_key(step_key)
        self.view.show_step_key(self._model, step_key, self._bands.get(step_key, ()))
        self._show_texts()

    def _show_texts(self) -> None:
        model, view = self._model, self.view
        if model is None or view is None or view.step_key is None:
            return
        trial = view.front
        parts = [step_host_text(model, view.step_key), trial_text(model, trial) if trial is not None else ""]
        self._step_label.set_text("   ".join(part for part in parts if part))
        self._state_label.set_text(state_text(model, time.monotonic()))
        self._show_waiting(model)
        self._strip.show_step_keys(model)
        self.run_side.show_run(model, view.step_key, trial)

    def _show_waiting(self, model: RunModel) -> None:
        """Show which measurement the run waits for, while it waits."""
        waits = self._control is not None and self._control.busy is BusyPolicy.WAIT and self.running
        if waits and model.current is None and model.waits_for:
            self._busy.wait(f"{model.waits_for}.")

    def _show_time(self) -> None:
        model, view = self._model, self.view
        if model is None or view is None:
            return
        now = time.monotonic()
        remaining = "" if model.phase.over else remaining_text(model.remaining(now))
        view.bar.show_time(clock_text(model.elapsed(now)), remaining, over=model.phase.over)
        if self.running and model.links:
            self._state_label.set_text(state_text(model, now))
        summary = summary_text(model, now) if self.running else ""
        if summary != self._summary:
            self._summary = summary
            self.summary_changed.emit(summary)

    # Baselines

    def _read_bands(self, plan: Plan) -> None:
        """Read the baselines; again once facts are known, which decide whether a baseline is comparable."""
        workstation, facts = self.workstation, {} if self._model is None else dict(self._model.facts)
        job = self._reading_bands = BackgroundJob(lambda: workstation.bands(plan, facts), self)
        job.returned.connect(lambda bands: self._show_bands(bands) if job is self._reading_bands else None)
        job.failed.connect(self._bands_failed)
        job.start()

    def _show_bands(self, bands: dict[StepKey, Sequence[Band]]) -> None:
        self._bands = bands
        if self.view is not None and self.view.step_key is not None and any(bands.values()):
            self._show_step(self.view.step_key)

    def _bands_failed(self, error: BenchwrightError) -> None:
        self.status.emit(f"Baseline not read: {error}")

    def _open_crosscheck(self) -> None:
        from widgets.crosscheck import open_crosscheck

        if self._model is not None:
            dialog = open_crosscheck(self.workstation, self._model.run_id, self)
            dialog.plan_chosen.connect(self.plan_chosen)

    def _pin(self, name: str) -> None:
        if self._model is None:
            return
        run_id, workstation = self._model.run_id, self.workstation
        job = BackgroundJob(lambda: workstation.pin(run_id, name), self)
        job.returned.connect(lambda _nothing: self._outcome.show_detail(f"Pinned as baseline “{name}”."))
        job.failed.connect(lambda error: self._outcome.show_detail(str(error)))
        job.start()

    # Building

    def _build(self) -> None:
        self._empty = EmptyState(
            "No run under way",
            "Live shows a run as it is measured: its figures beside a baseline, and the host's CPU, disk and network.",
            "Measure a host",
            self.measure_requested.emit,
            icon="live",
        )
        body = QWidget()
        self._body = column_in(body, SPACE[1], (SPACE[3], SPACE[2], SPACE[2], SPACE[1]))
        self._body.addLayout(self._build_head())
        self._strip = StepStrip()
        self._strip.step_chosen.connect(self._choose_step)
        self._body.addWidget(self._strip)
        self._outcome = OutcomeBar()
        self._outcome.show_requested.connect(lambda: self._request(self.show_run_requested))
        self._outcome.export_requested.connect(lambda: self._request(self.export_requested))
        self._outcome.pin_requested.connect(self._pin)
        self._outcome.crosscheck_requested.connect(self._open_crosscheck)
        self._outcome.rerun_requested.connect(self._rerun)
        self._body.addWidget(self._outcome)
        self._busy = BusyBar()
        self._busy.wait_requested.connect(lambda: self._retry(BusyPolicy.WAIT))
        self._busy.anyway_requested.connect(self._run_anyway)
        self._body.addWidget(self._busy)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(body)

    def _build_head(self) -> QHBoxLayout:
        self._step_label = OneLine(text_font(TextSize.HEADING, bold=True))
        self._state_label = OneLine(text_font(TextSize.BODY), "muted")
        self._stop_button = push_button("Stop", self.stop)
        self._stop_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a stray space must not end a run
        self._stop_button.setShortcut(QKeySequence("Ctrl+."))
        self._stop_button.setToolTip("Stop the tool on the host and keep what was measured (Ctrl+.)")
        texts = in_column(self._step_label, self._state_label, spacing=0)
        return in_row((texts, 1), self._stop_button, spacing=SPACE[2])

    def _request(self, signal: SignalInstance) -> None:
        if self._model is not None and self._model.run_id:
            signal.emit(self._model.run_id)

    def _rerun(self) -> None:
        if self._model is not None:
            self.start_run(self._model.plan)

    def _run_anyway(self) -> None:
        """Run although another measurement uses the host: the run that waits, or the one that was refused."""
        if self.running and self._control is not None:
            self._control.busy = BusyPolicy.ANYWAY
            self._busy.hide()
        else:
            self._retry(BusyPolicy.ANYWAY)

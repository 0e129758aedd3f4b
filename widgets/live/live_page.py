"""The page that runs a plan and shows it as it happens."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QStackedLayout, QWidget

from app.detached_runs import DetachedRun
from app.events import FactsRead, Moment, RunDetached, RunEnded, TrialAttached, TrialStarted
from app.plans.plan import Plan
from app.plans.presets import ends_with_card
from app.questions import Asker
from app.queue.machines import hosts_of
from app.records import Band
from app.runs.control import BusyPolicy
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import clock_text
from widgets.jobs import BackgroundJob
from widgets.live.messages import (
    not_started,
    outcome,
    remaining_text,
    state_text,
    step_host_text,
    summary_text,
    trial_text,
)
from widgets.live.model import LivePhase, RunModel, StepKey
from widgets.live.quick_start import QuickStart
from widgets.live.result_card import ResultCardView
from widgets.live.run_bars import BusyBar, ConnectionBar, OutcomeBar
from widgets.live.run_controller import LogPart, RunController, RunStart, TakenEvents
from widgets.live.run_issues import LiveIssues
from widgets.live.run_set import RunSet
from widgets.live.step_strip import StepStrip
from widgets.page import Page
from widgets.parts.boxes import column_in, fill, in_column, in_row
from widgets.parts.controls import push_button
from widgets.parts.empty_state import EmptyState
from widgets.parts.text import OneLine
from widgets.run_strip import QueueAction
from widgets.theme import SPACE, TextSize, text_font

if TYPE_CHECKING:
    from app.fleet.watching import WatchedRun
    from widgets.live.step_view import StepView

_TICK = 500
"""Milliseconds between updates of the times while a run is under way."""


class LivePage(Page):
    """The runs of the window, one of which is shown; all go on. See RunController."""

    run_started = Signal(str)
    run_finished = Signal(str)
    summary_changed = Signal(str)  # the shown run in one line, empty when none is under way
    lines_changed = Signal(object, str)  # a StripLine for each run, and the key of the shown one
    show_run_requested = Signal(str)
    export_requested = Signal(str)
    measure_requested = Signal()
    compare_requested = Signal(object)  # the baseline's run, and the shown one
    plan_chosen = Signal(object)  # a Plan
    library_changed = Signal(object)  # a LibraryChanged

    def __init__(self, workstation: Workstation, asker: Asker) -> None:
        super().__init__(workstation, asker)
        self.runs = RunSet(workstation, asker, self)
        self.runs.added.connect(self._connect_run)
        self.runs.adopted.connect(self.show_run)
        self.runs.changed.connect(self._show_time)
        self.runs.ended.connect(self._run_ended)
        self._front: RunController | None = None
        self._shown_model: RunModel | None = None
        self._reading_bands: BackgroundJob | None = None
        self._summary = ""
        self.view: StepView | None = None
        self.drawer = self.issues = LiveIssues(workstation, asker, self._measured_hosts)
        self.issues.help_requested.connect(self.help_requested)
        self.runs.changed.connect(self.issues.follow)
        self.runs.ended.connect(self.issues.follow)
        self._clock = QTimer(self, interval=_TICK)
        self._clock.timeout.connect(self._show_time)
        self._build()

    @property
    def running(self) -> bool:
        """Whether a run is under way or about to begin, stopping included."""
        return any(one.running or (one.starting and not self.runs.held) for one in self.runs.active)

    @property
    def front(self) -> RunController | None:
        """The run that is shown, or None."""
        return self._front

    @property
    def model(self) -> RunModel | None:
        """The model of the run that is shown, or None."""
        return None if self._front is None else self._front.model

    def start_run(
        self,
        plan: Plan,
        busy: BusyPolicy = BusyPolicy.REFUSE,
        made: Callable[[], None] = lambda: None,
        detached: DetachedRun | None = None,
        *,
        stop: bool = False,
        series: str = "",
        show: bool = True,
        card: bool = False,
    ) -> RunController:
        """Run `plan` as RunStart describes, as soon as its machines are free, and `show` it; return the run.

        It is shown in any case if no other run is under way.
        """
        card = card or ends_with_card(plan)
        started = self.runs.start(RunStart(plan, busy, made, detached, stop, series, card))
        if show or self._front is None or self._front.over:
            self.show_run(started)
            self._ensure_view().take_focus()
        return started

    def start_quick(self, host: str) -> None:
        """Run the quick benchmark of `host` as soon as its facts are read; show it."""
        self.quick.start(host)

    def _run_quick(self, plan: Plan) -> None:
        consents = self.workstation.consents
        self.start_run(plan, made=lambda: consents.remember_made(plan), card=True)

    def attach_run(self, detached: DetachedRun, *, stop: bool = False) -> None:
        """Attach a detached run, or `stop` it."""
        self.start_run(detached.record.plan, detached=detached, stop=stop)

    def watch(self, watched: "WatchedRun") -> None:
        """Show a run that a fleet study of this window carries."""
        requests = [(run, run.start_request.watched) for run in self.runs.active]
        shown = next((run for run, own in requests if own is not None and own.id == watched.id), None)
        self.show_run(shown or self.runs.start(RunStart(watched.plan, watched=watched)))
        self._ensure_view().take_focus()

    def show_run(self, run: RunController) -> None:
        """Show a run of the set. One that is over and was shown before leaves the set."""
        before, self._front = self._front, run
        if before is not None and before is not run:
            before.show_in_front(front=False)
            if before.over:
                self.runs.forget(before)
        run.show_in_front(front=True)
        view = self._ensure_view()
        view.log.restart()
        for part in run.log:
            self._write_log(view, part)
        self._stack.setCurrentIndex(1)
        self._show_step(run.step_key)
        self._show_bars(run)
        self._read_bands(run)
        self._clock.start()
        self._show_time()

    def show_key(self, key: str) -> None:
        """Show the run with a key of the strip; no effect for a run of another process."""
        if (run := self._find(key)) is not None:
            self.show_run(run)

    def show_next(self, step: int = 1) -> None:
        """Show the next run of the strip, or the previous one (`step` -1)."""
        runs = self.runs.controllers
        if self._front in runs and len(runs) > 1:
            self.show_run(runs[(runs.index(self._front) + step) % len(runs)])

    def stop_key(self, key: str) -> None:
        """Stop the run with a key of the strip, take it from the queue, or remove it from the list if it is over."""
        if (run := self._find(key)) is None:
            return
        if run.over and run is self._front:
            self.show_next()
        if run in self.runs.controllers:
            self.runs.stop(run)

    def act_on_key(self, key: str, action: QueueAction) -> None:
        """Apply `action` to the run with a key of the strip, which waits."""
        if (run := self._find(key)) is not None:
            self.runs.act(run, action)

    def _find(self, key: str) -> RunController | None:
        return next((one for one in self.runs.controllers if one.key == key), None)

    def stop(self) -> None:
        """Stop the shown run and keep what was measured, or take it from the queue; it ends later."""
        if self._front is not None and not self._front.over:
            self.runs.stop(self._front)
            self._stop_button.setEnabled(False)
            self._show_texts()

    def stop_all(self) -> None:
        """Stop every run under way; those that wait stay in the queue."""
        for run in self.runs.active:
            if run.running or run.starting:
                run.stop()

    def detach_all(self) -> None:
        """Detach every run under way; those that wait stay in the queue."""
        for run in self.runs.running:
            run.detach()

    def clear_finished(self) -> None:
        """Remove the runs that are over from the set, except the one that is shown."""
        for run in [one for one in self.runs.controllers if one.over and one is not self._front]:
            self.runs.forget(run)

    def titles(self) -> list[str]:
        """Return host and plan of every run under way, without those of fleet studies."""
        now = time.monotonic()
        return [run.line(now).title for run in self.runs.running if run.start_request.watched is None]

    def save_library_to(self, path: Path) -> None:
        """Store the runs under way in a new library at `path` from now on."""
        for run in self.runs.running:
            run.control.save_to(path)

    def export(self) -> bool:
        """Offer to export the shown run; return False if there is none or it is under way."""
        run = self._front
        if run is None or not run.over or not run.model.run_id:
            return False
        self.export_requested.emit(run.model.run_id)
        return True

    # Events

    def _connect_run(self, run: RunController) -> None:
        run.began.connect(self.run_started)
        run.library_changed.connect(self.library_changed)
        run.taken.connect(lambda taken: self._take(run, taken))
        run.changed.connect(lambda: self._run_changed(run))

    def _take(self, run: RunController, taken: TakenEvents) -> None:
        if run is not self._front or self.view is None:
            return
        for part in taken.log:
            self._write_log(self.view, part)
        for event in taken.events:
            if isinstance(event, TrialStarted | TrialAttached):
                self._busy.hide()
                self._follow(run)
            elif isinstance(event, FactsRead) and event.moment is Moment.BEFORE:
                self._read_bands(run)
            elif isinstance(event, RunEnded | RunDetached):
                self.view.log.flush()
                if self.view.front is not None and self.view.front.trial.profiled:
                    self._show_step(run.step_key)
        self.view.sync()
        self._show_texts()
        if taken.moves_on:
            self._show_time()  # headline, bar, strip and title name the same trial

    @staticmethod
    def _write_log(view: "StepView", part: LogPart) -> None:
        if isinstance(part, str):
            view.log.note(part)
        else:
            view.log.write(part.data, part.stream)

    def _follow(self, run: RunController) -> None:
        if run.follows:
            current, shown = run.model.current, run.step_key
            stays = current is None or run.model.is_under_way(shown)  # of a duet, the step that was shown stays
            self._show_step(shown if stays or current is None else current.step_key)

    def _run_changed(self, run: RunController) -> None:
        """Show a change of the shown run outside of its events: its place in the queue, stopping, its end."""
        if run is not self._front or self.view is None:
            return
        if run.model is self._shown_model:
            self.view.sync()
            self._show_texts()
        else:  # it waits again
            self._show_step(run.step_key)
        self._show_bars(run)
        self._show_time()

    def _run_ended(self, run: RunController) -> None:
        if not self.runs.active:
            self._clock.stop()
        self._show_time()
        self.run_finished.emit(run.model.run_id)

    def _show_bars(self, run: RunController) -> None:
        """Show the outcome of a run that is over, what one waits for, and whether it can be stopped."""
        self._stop_button.setVisible(not run.over)
        self._stop_button.setEnabled(not run.control.over)
        self._stop_button.setText("Stop" if run.running or run.starting else "Remove from queue")
        model = run.model
        if run.start_request.card and run.over and model.run_id and model.phase is not LivePhase.DETACHED:
            self.card.show_run(self.workstation, model.run_id)
        if run.over and (model.run_id or model.trials):
            measured = any(view.counts for view in model.trials.values())
            compared = measured and bool(self._baselines_of(run))
            self._outcome.show_message(*outcome(model), stored=bool(model.run_id), measured=measured, compared=compared)
            self._outcome.propose(model.plan.name)
        elif run.over:
            self._outcome.show_message(*not_started(model), stored=False, measured=False)
        else:
            self._outcome.hide()
        self._state_label.setHidden(run.over)  # the outcome has it
        if run.waiting:
            self._busy.wait(f"{run.waits[:1].upper()}{run.waits[1:]}.", paused=run.paused)
        else:
            self._busy.hide()

    # What is shown

    def _ensure_view(self) -> "StepView":
        """Return the view of a step, made on first use: importing pyqtgraph would delay the window."""
        if self.view is None:
            from widgets.live.step_view import StepView

            self.view = StepView(self.workstation)
            self.view.tabs.take_turns(self.issues)
            self._body.addWidget(self.view, 1)
            self._column.addWidget(self.issues)  # now, so that Tab reaches it after the view
        return self.view

    def _choose_step(self, step_key: StepKey) -> None:
        if self._front is not None:
            self._front.follows = self._front.model.is_under_way(step_key)
            self._show_step(step_key)

    def _show_step(self, step_key: StepKey) -> None:
        run = self._front
        if run is None or self.view is None:
            return
        run.step_key, self._shown_model = step_key, run.model
        self._strip.show_step_keys(run.model)
        self._strip.show_step_key(step_key)
        self.view.show_step_key(run.model, step_key, run.bands.get(step_key, ()))
        self._show_texts()

    def _show_texts(self) -> None:
        model, view = self.model, self.view
        if model is None or view is None or view.step_key is None:
            return
        trial = model.running_at(view.step_key)
        parts = [step_host_text(model, view.step_key), trial_text(model, trial) if trial is not None else ""]
        self._step_label.set_text("   ".join(part for part in parts if part))
        waits = self._front is not None and self._front.waiting
        self._state_label.set_text("waiting in the queue" if waits else state_text(model, time.monotonic()))
        self._strip.show_step_keys(model)
        self.issues.show_run(model)

    def _show_time(self) -> None:
        """Show the times of the page, the bar, the strip and the title, all of one moment."""
        now, run = time.monotonic(), self._front
        if run is not None and self.view is not None:
            self._show_time_of(run, self.view, now)
        self.lines_changed.emit(self.runs.lines(now), "" if run is None else run.key)

    def _show_time_of(self, run: RunController, view: "StepView", now: float) -> None:
        model = run.model
        ends = run.over or model.phase is LivePhase.STOPPING
        left = "" if ends else remaining_text(model.remaining(now))
        view.bar.show_time(clock_text(model.elapsed(now)), left, over=model.phase.over)
        self._connection.show_links(run.lost_texts(now) if run.running else ())
        if run.running and model.links:
            self._state_label.set_text(state_text(model, now))
        summary = summary_text(model, now, view.step_key) if run.running else ""
        if summary != self._summary:
            self._summary = summary
            self.summary_changed.emit(summary)

    def _measured_hosts(self) -> set[str]:
        """Return the hosts of the runs under way."""
        return {host for run in self.runs.active if run.running for host in hosts_of(run.start_request.plan)}

    # Baselines

    def _read_bands(self, run: RunController) -> None:
        """Read the baselines; again once facts are known, which decide whether a baseline is comparable."""
        workstation, plan, facts = self.workstation, run.model.plan, dict(run.model.facts)
        job = self._reading_bands = BackgroundJob(lambda: workstation.bands(plan, facts), self)
        job.returned.connect(lambda bands: self._show_bands(run, bands) if job is self._reading_bands else None)
        job.failed.connect(self._bands_failed)
        job.start()

    def _show_bands(self, run: RunController, bands: dict[StepKey, Sequence[Band]]) -> None:
        run.bands = bands
        if run is self._front and any(bands.values()):
            self._show_step(run.step_key)
            self._show_bars(run)

    def _baselines_of(self, run: RunController) -> list[str]:
        """Return the runs pinned as baselines of a run, each once."""
        bands = [band.run_id for bands in run.bands.values() for band in bands if not band.reference]
        return [run_id for run_id in dict.fromkeys(bands) if run_id != run.model.run_id]

    def _compare(self) -> None:
        if (run := self._front) is not None:
            self.compare_requested.emit([*self._baselines_of(run), run.model.run_id])

    def _bands_failed(self, error: BenchwrightError) -> None:
        self.status.emit(f"Baseline not read: {error}")

    def _open_crosscheck(self) -> None:
        from widgets.crosscheck import open_crosscheck

        if self.model is not None:
            dialog = open_crosscheck(self.workstation, self.model.run_id, self)
            dialog.plan_chosen.connect(self.plan_chosen)

    def _pin(self, name: str) -> None:
        if self.model is None:
            return
        run_id, workstation = self.model.run_id, self.workstation
        job = BackgroundJob(lambda: workstation.pin(run_id, name), self)
        job.returned.connect(lambda _nothing: self._outcome.show_detail(f"Pinned as baseline “{name}”."))
        job.failed.connect(lambda error: self._outcome.show_detail(str(error)))
        job.start()

    # Building

    def _build(self) -> None:
        self._empty = EmptyState(
            "No run under way",
            "Live shows a run as it is measured: its figures beside a baseline, and the host's CPU, disk and network.",
            "New test",
            self.measure_requested.emit,
            icon="live",
        )
        body, above = QWidget(), QWidget()
        self._body = column_in(above, SPACE[0], (SPACE[3], SPACE[0], SPACE[2], 0))
        self._body.addLayout(self._build_head())
        self._strip = StepStrip()
        self._strip.step_chosen.connect(self._choose_step)
        self._body.addWidget(self._strip)
        self._outcome = OutcomeBar()
        self._outcome.show_requested.connect(lambda: self._request(self.show_run_requested))
        self._outcome.export_requested.connect(lambda: self._request(self.export_requested))
        self._outcome.pin_requested.connect(self._pin)
        self._outcome.crosscheck_requested.connect(self._open_crosscheck)
        self._outcome.compare_requested.connect(self._compare)
        self._outcome.rerun_requested.connect(self.run_again)
        self._body.addWidget(self._outcome)
        self._connection = ConnectionBar()
        self._body.addWidget(self._connection)
        self._busy = BusyBar()
        self._busy.anyway_requested.connect(lambda: self.act_on_front(QueueAction.ANYWAY))
        self._busy.resume_requested.connect(lambda: self.act_on_front(QueueAction.RESUME))
        self._body.addWidget(self._busy)
        self.issues.setContentsMargins(SPACE[1], 0, SPACE[1], 0)
        self._column = fill(column_in(body, 0), (above, 1))
        self.card = ResultCardView()
        self.card.details_requested.connect(self._show_details)
        self.card.copied.connect(self.status)
        self.card.shown.connect(self._show_card)
        self.quick = QuickStart(self.workstation, self.asker)
        self.quick.ready.connect(self._run_quick)
        self.quick.blocked.connect(self.plan_chosen)
        stacked = QWidget()
        self._stack = QStackedLayout(stacked)
        for part in (self._empty, body, self.card):
            self._stack.addWidget(part)
        fill(column_in(self, 0), self.quick, (stacked, 1))

    def _build_head(self) -> QHBoxLayout:
        self._step_label = OneLine(text_font(TextSize.HEADING, bold=True))
        self._state_label = OneLine(text_font(TextSize.BODY), "muted")
        self._stop_button = push_button("Stop", self.stop)
        self._stop_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a stray space must not end a run
        self._stop_button.setShortcut(QKeySequence("Ctrl+."))
        self._stop_button.setToolTip("Stop the tool on the host and keep what was measured (Ctrl+.)")
        texts = in_column(self._step_label, self._state_label, spacing=0)
        return in_row((texts, 1), self._stop_button, spacing=SPACE[2])

    def _show_card(self, run_id: str) -> None:
        """Show the card of the run in front, which is complete now."""
        if self.model is not None and self.model.run_id == run_id:
            self._stack.setCurrentWidget(self.card)
            self.card.copy_text_button.setFocus()

    def _show_details(self) -> None:
        """Show the plots of the run whose card is shown."""
        self._stack.setCurrentIndex(1)

    def _request(self, signal: SignalInstance) -> None:
        if self.model is not None and self.model.run_id:
            signal.emit(self.model.run_id)

    def run_again(self) -> None:
        """Run the plan of the shown run again, as soon as its hosts are free."""
        if self._front is not None:
            request = self._front.start_request
            self.start_run(request.plan, card=request.card)

    def act_on_front(self, action: QueueAction) -> None:
        """Apply `action` to the shown run, if it waits in the queue."""
        if self._front is not None and self._front.waiting:
            self.runs.act(self._front, action)

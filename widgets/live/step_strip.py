"""Compact table of the steps and hosts of a run: the headline of each, always in view."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QSizePolicy

from widgets.live.headline import NO_FIGURE, Headline, figure_so_far, headline, headline_metric
from widgets.live.messages import step_progress
from widgets.live.model import RunModel, StepKey
from widgets.parts.names import host_title
from widgets.parts.table import Table
from widgets.parts.table_model import RIGHT, TableColumn, TableModel
from widgets.theme import SPACE

LEAST_ROWS = 3
"""Rows shown at once in any window; in a high one more, the rest scrolls."""

_SHARE = 0.08
"""Share of the window's height for the rows."""


class StepStrip(Table[StepKey]):
    """One row for each step and host with figure, interval, n and state. Hidden while there is only one."""

    step_chosen = Signal(object)  # a StepKey

    def __init__(self) -> None:
        self._model: RunModel | None = None
        self._step_keys: tuple[StepKey, ...] = ()
        self._followed = (-1, 0)
        self._headlines: dict[StepKey, tuple[tuple[int, ...], Headline]] = {}
        super().__init__("Steps of the run", TableModel(self._columns()), row_padding=SPACE[0])
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.horizontalHeader().hide()
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.selectionModel().currentRowChanged.connect(self._choose)
        self.clicked.connect(self._choose)
        self.hide()

    def show_step_keys(self, model: RunModel) -> None:
        """Show a row for each step and host of `model`."""
        if model is not self._model:
            self._headlines.clear()
        self._model = model
        if (step_keys := model.step_keys()) != self._step_keys:
            self._step_keys = step_keys
        shown = self.currentIndex().row()
        quiet = self.selectionModel().blockSignals(True)
        self.show_rows(self._step_keys, self._columns())
        if shown >= 0:
            self.setCurrentIndex(self.content.index(shown, 0))
        self.selectionModel().blockSignals(quiet)
        most = max(LEAST_ROWS, int(_SHARE * self.window().height() / self.verticalHeader().defaultSectionSize()))
        self.setFixedHeight(self.whole_height(most) - self.horizontalHeader().sizeHint().height())
        self.setVisible(len(step_keys) > 1)
        self._follow()

    def show_step_key(self, step_key: StepKey) -> None:
        """Make the row of `step_key` the current one."""
        if step_key in self._step_keys:
            quiet = self.selectionModel().blockSignals(True)
            self.setCurrentIndex(self.content.index(self._step_keys.index(step_key), 0))
            self.selectionModel().blockSignals(quiet)
            self.viewport().update()
            self._follow()

    def _follow(self) -> None:
        """Scroll to the current row once, when it or the number of visible rows has changed."""
        place = self.currentIndex().row(), self.height()
        if place != self._followed:
            self._followed = place
            self.scrollTo(self.currentIndex())

    def _choose(self) -> None:
        step_key = self.current()
        if step_key is not None:
            self.step_chosen.emit(step_key)

    def _headline(self, step_key: StepKey) -> Headline:
        """Return the headline of a step, computed again only after news of it: there may be hundreds."""
        if self._model is None:
            return Headline("", NO_FIGURE, "")
        news = _news(self._model, step_key)
        known = self._headlines.get(step_key)
        if known is None or known[0] != news:
            known = self._headlines[step_key] = news, headline(self._model, step_key, ())
        return known[1]

    def _columns(self) -> list[TableColumn[StepKey]]:
        def tone(step_key: StepKey) -> str:
            return "" if self._headline(step_key).counted else "muted"

        return [
            TableColumn("Step", lambda one: one[0]),
            TableColumn("Host", lambda one: host_title(one[1]), needed=_several_hosts),
            TableColumn("Figure", self._figure, align=RIGHT, tone=tone, bold=lambda one: self._headline(one).counted,
                        more=lambda one: f"{self._headline(one).title}: {self._headline(one).caption}"),
            TableColumn("Tail", self._tail, align=RIGHT, tone="muted", hide_order=2),
            TableColumn("State", self._state, more=self._link_detail),
            TableColumn("Now", self._now, tone="muted", stretch=True, hide_order=1),
        ]  # fmt: skip

    def _figure(self, step_key: StepKey) -> str:
        shown = self._headline(step_key)
        if shown.text == NO_FIGURE:
            return "no figure"
        return f"{shown.text}   n={shown.n}" if shown.counted else f"{shown.text}   not counted"

    def _tail(self, step_key: StepKey) -> str:
        shown = self._headline(step_key)
        return f"{shown.tail_title.partition(' ')[0]} {shown.tail}" if shown.tail else ""

    def _state(self, step_key: StepKey) -> str:
        return "" if self._model is None else step_progress(self._model, step_key)

    def _now(self, step_key: StepKey) -> str:
        """Return the trial of the step that is under way with its running figure."""
        view = None if self._model is None else self._model.running_at(step_key)
        if self._model is None or view is None:
            return ""
        figure = figure_so_far(view, headline_metric(self._model, step_key))
        name = view.trial.title
        return f"{name}: {figure} so far" if figure else name

    def _link_detail(self, step_key: StepKey) -> str:
        link = None if self._model is None else self._model.links.get(step_key[1])
        return self._state(step_key) if link is None else link.detail


def _news(model: RunModel, step_key: StepKey) -> tuple[int, ...]:
    """Return numbers that change with the headline of a step: of trials, of ended ones, of samples under way."""
    views = model.trials_at(step_key)
    running = [series.buffer.taken for view in views if view.ended is None for series in view.series.values()]
    return len(views), sum(view.ended is not None for view in views), sum(running), model.phase.over


def _several_hosts(step_keys: Sequence[StepKey]) -> bool:
    return len({host for _, host in step_keys}) > 1

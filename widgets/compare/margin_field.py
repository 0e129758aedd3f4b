"""Field of the equivalence margin: of all metrics of the comparison, or kept as the user's default of one metric."""

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QMenu, QWidget

from app.margins import DEFAULTS, Margin, Margins
from suites.quantities import exact_share_text
from suites.vocab import Metric
from widgets.parts.boxes import fill, row_in
from widgets.parts.controls import pop_up, tool_button
from widgets.parts.fields import PerCent
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE

_TYPED = 400
"""Debounce of the field, in ms."""

_TIP = (
    "Equivalence margin: smaller differences do not matter. A verdict needs the whole interval in or out of it. Typed: "
    "for all metrics"
)


class MarginField(QWidget):
    """The margin of the selected metric until the user types one, which then holds for all metrics."""

    changed = Signal()  # the margins of the comparison
    keep_requested = Signal(str, object)  # metric; share, or None to forget the user's default

    def __init__(self) -> None:
        super().__init__()
        self._metric: Metric | None = None
        self._shown = Margin(0.0)
        self._kept = Margins()
        self.typed = False
        self.value = PerCent()
        self.value.setAccessibleName("Margin")
        set_tool_tip(self.value, _TIP)
        self.origin = Text("", Tone.MUTED, wrap=False)
        self.menu = QMenu(self)
        self.menu.aboutToShow.connect(self._fill_menu)
        self.more = tool_button("⋯", tip="Keep a margin for a metric", accessibleName="Margins")
        self.more.clicked.connect(lambda: pop_up(self.menu, self.more))
        fill(row_in(self, SPACE[1]), Text("Margin", wrap=False), self.value, self.origin, self.more)
        self._timer = QTimer(self, singleShot=True, interval=_TYPED)
        self._timer.timeout.connect(self.changed)
        self.value.valueChanged.connect(self._take)

    def margins(self) -> Margins:
        """Return the margin that the user typed, for all metrics; without one the defaults."""
        return Margins(self.value.value() / 100) if self.typed else DEFAULTS

    def show_margin(self, metric: Metric, margin: Margin, margins: Margins) -> None:
        """Show the margin of the selected metric, unless the user typed one; `margins` are all of the comparison."""
        self._metric, self._shown, self._kept = metric, margin, margins
        if not self.typed:
            self.value.blockSignals(True)
            self.value.setValue(100 * margin.share)
            self.value.blockSignals(False)
        self._describe()

    def _take(self) -> None:
        self.typed = True
        self._describe()
        self._timer.start()

    def _describe(self) -> None:
        own = "" if self._metric is None else f"{self._metric.name}, {self._shown.origin or 'default'}"
        self.origin.setText("all metrics" if self.typed else own)
        set_tool_tip(self.value, f"{_TIP}\nNow: {self.origin.text()}")

    def _fill_menu(self) -> None:
        self.menu.clear()
        if self._metric is None:
            return
        name, share = self._metric.name, self.value.value() / 100
        keep = self.menu.addAction(f"Keep {exact_share_text(share)} for {name}")
        keep.triggered.connect(lambda: self.keep_requested.emit(name, share))
        forget = self.menu.addAction(f"Forget my margin of {name}")
        forget.triggered.connect(lambda: self.keep_requested.emit(name, None))
        forget.setEnabled(name in self._kept.kept)
        own = self.menu.addAction("Use each metric’s margin")
        own.triggered.connect(self._untype)
        own.setEnabled(self.typed)

    def _untype(self) -> None:
        self.typed = False
        self.changed.emit()

"""What best means: fields that make the question of a ranking."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QWidget,
)

from app.amounts import amount_of, limit_of, weights_of
from app.calibration.false_alarms import DEFAULT_MARGIN
from app.ranking.prices import Prices, parse_pairs
from app.ranking.ranking import Goal, Question, Ranking, Threshold
from app.ranking.ranking_text import margin_text
from suites.vocab import Labels
from widgets.parts.text import Text, Tone, set_tool_tip, visible
from widgets.per_cent import PerCent
from widgets.theme import SPACE

_GOALS = {
    "Highest figure": Goal.HIGHEST,
    "Cheapest that reaches the threshold": Goal.CHEAPEST,
    "Most for the money": Goal.PER_PRICE,
}
_MOST_LINES = 5
_NARROW = 120
"""Pixels for a share in per cent."""


class RankForm(QWidget):
    """The fields. Whatever changes is told once, through `changed`."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.metrics = QListWidget()
        self.metrics.setAccessibleName("Metrics")
        set_tool_tip(self.metrics, "Several make one score: the geometric mean of their ratios")
        self.weights = QLineEdit()
        self.weights.setPlaceholderText("all alike, or iops=2, latency_p99=1")
        self.goal = QComboBox()
        self.goal.addItems(list(_GOALS))
        self.goal.setAccessibleName("Best is")
        self.threshold = QLineEdit()
        self.threshold.setPlaceholderText("none, or ≥ 20000 MB/s")
        self.limit = QLineEdit()
        self.limit.setPlaceholderText("none, or latency_p99 <= 1 ms")
        set_tool_tip(self.limit, "Of a sweep the best point at which it holds")
        self.prices = QLineEdit()
        self.prices.setPlaceholderText("none, or web-1=0.34 USD, web-2=0.17 USD")
        set_tool_tip(self.prices, "What an hour of a host or an instance type costs; nothing is looked up")
        self.margin = PerCent()
        self.margin.setValue(100 * DEFAULT_MARGIN)
        self.margin.setMaximumWidth(_NARROW)
        set_tool_tip(self.margin, "A difference up to this is none that matters to you")
        self.whose = Text("", Tone.MUTED, wrap=False)
        self._typed_margin = False  # the user has said what does not matter: no host's own margin counts then
        self.table_button = QPushButton("From table…")
        set_tool_tip(self.table_button, "A CSV file with host or instance_type, price, and perhaps currency")
        self._table: Prices = {}
        self._choices: list[tuple[str, str, Labels]] = []
        self._arrange()
        self._connect()

    def offer(self, choices: Sequence[tuple[str, str, str, Labels]]) -> None:
        """Offer metrics: each in words, and its step, name and labels. The first is chosen."""
        self.metrics.blockSignals(True)
        self.metrics.clear()
        self._choices = [(step, name, labels) for _, step, name, labels in choices]
        for number, (words, _, _, _) in enumerate(choices):
            item = QListWidgetItem(visible(words))
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(Qt.CheckState.Unchecked if number else Qt.CheckState.Checked)
            self.metrics.addItem(item)
        self.metrics.blockSignals(False)
        line = self.metrics.sizeHintForRow(0) if choices else 20
        self.metrics.setFixedHeight(line * min(max(2, len(choices)), _MOST_LINES) + SPACE[1])

    def take_prices(self, table: Prices) -> None:
        """Take the prices of a table; what is typed goes before them."""
        self._table = table
        self.prices.setPlaceholderText(f"{len(table)} from the table; typed ones go before them")
        self.changed.emit()

    def show_margin(self, ranking: Ranking) -> None:
        """Show the margin that was used, where the user has not chosen one, and whose it is."""
        if self._typed_margin:
            return
        self.margin.blockSignals(True)
        self.margin.setValue(100 * ranking.margin)
        self.margin.blockSignals(False)
        own = any(margin.origin for margin in ranking.margins)
        alone = len(ranking.margins) == 1
        self.whose.setText("" if not own else ranking.margins[0].origin if alone else margin_text(ranking))

    def question(self) -> Question:
        """Return what is asked; raise BenchwrightError for a field that cannot be read."""
        chosen = [
            choice
            for number, choice in enumerate(self._choices)
            if self.metrics.item(number).checkState() is Qt.CheckState.Checked
        ]
        one = chosen[0] if len(chosen) == 1 else None
        limit = limit_of(self.limit.text()) if self.limit.text().strip() else None
        weights = weights_of(part.strip() for part in self.weights.text().split(",") if part.strip())
        typed = parse_pairs(part for part in self.prices.text().split(",") if part.strip())
        return Question(
            {name: weights.get(name, 1.0) for _, name, _ in chosen},
            _GOALS[self.goal.currentText()],
            self._threshold(),
            limit,
            one[2] if one is not None and limit is None else None,
            one[0] if one is not None else "",
            {**self._table, **typed},
            self.margin.value() / 100 if self._typed_margin else None,
        )

    def _threshold(self) -> Threshold | None:
        text = self.threshold.text().strip()
        if not text:
            return None
        at_least = not text.startswith(("<=", "≤"))
        value, unit = amount_of(text.lstrip("<>=≤≥ "))
        return Threshold(value, at_least, unit)

    def _connect(self) -> None:
        self.metrics.itemChanged.connect(lambda _item: self.changed.emit())
        self.goal.currentIndexChanged.connect(lambda _place: self.changed.emit())
        for field in (self.weights, self.threshold, self.limit, self.prices):
            field.editingFinished.connect(self.changed)
        self.margin.valueChanged.connect(self._take_margin)
        self.margin.editingFinished.connect(self.changed)

    def _take_margin(self) -> None:
        self._typed_margin = True
        self.whose.setText("")

    def _arrange(self) -> None:
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(SPACE[3])
        form.setVerticalSpacing(SPACE[1])
        beside: dict[QWidget, QWidget] = {self.prices: self.table_button, self.margin: self.whose}
        for name, field in (
            ("Metrics", self.metrics),
            ("Weights", self.weights),
            ("Best is", self.goal),
            ("Threshold", self.threshold),
            ("Only where", self.limit),
            ("Prices an hour", self.prices),
            ("Margin", self.margin),
        ):
            field.setAccessibleName(name)
            form.addRow(name, self._beside(field, beside[field]) if field in beside else field)

    @staticmethod
    def _beside(*widgets: QWidget) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(SPACE[1])
        for widget in widgets:
            row.addWidget(widget)
        return row

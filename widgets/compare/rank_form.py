"""Form of the ranking criteria, and the table of the ranking."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from app.margins import DEFAULT_MARGIN, DEFAULTS, Margins
from app.ranking.candidates import Prices, RankingCriteria, RankingGoal, Threshold, limit_of, parse_pairs, weights_of
from app.ranking.ranking import RankedCandidate, Ranking
from app.ranking.report import HEAD, RIGHT_ALIGNED, ranking_rows, shown_columns
from suites.quantities import parse_quantity
from suites.vocab import Labels
from widgets.parts.controls import line_edit
from widgets.parts.dialogs import button_row
from widgets.parts.fields import PerCent
from widgets.parts.severity import doubt_icon
from widgets.parts.table import Table
from widgets.parts.table_model import LEFT, RIGHT, TableColumn, TableModel
from widgets.parts.text import Text, Tone, set_tool_tip, visible
from widgets.theme import SPACE

_TIPS = {
    0: "Candidates with the same rank are tied within the margin",
    7: "Reached or missed by the whole interval; not sure otherwise",
}

RankRow = tuple[RankedCandidate, list[str]]
"""A candidate and its cells in the order of HEAD."""


class RankTable(Table[RankRow]):
    """Table of a ranking; every second rank is shaded to show ties."""

    def __init__(self) -> None:
        super().__init__("Ranking", TableModel([_column(0), _column(1)], shaded=lambda row: row[0].group % 2 == 0))

    def show_ranking(self, ranking: Ranking) -> None:
        """Show `ranking` without empty columns."""
        rows = zip((*ranking.ranked, *ranking.unranked), ranking_rows(ranking), strict=True)
        self.show_rows(rows, [_column(number) for number in shown_columns(ranking)])


_VALUE = HEAD.index("Value")


def _column(number: int) -> TableColumn[RankRow]:
    return TableColumn(
        HEAD[number],
        lambda row: row[1][number],
        align=RIGHT if number in RIGHT_ALIGNED else LEFT,
        tip=_TIPS.get(number, ""),
        bold=number == 0,
        mark=(lambda row: doubt_icon(row[0].trust)) if number == _VALUE else None,
    )


GOALS = {
    "Highest value": RankingGoal.HIGHEST,
    "Cheapest that meets the threshold": RankingGoal.CHEAPEST,
    "Best price/performance": RankingGoal.PER_PRICE,
}
_MOST_LINES = 5
_NARROW = 120
"""Width of the margin field in pixels."""


class RankForm(QWidget):
    """Fields of the ranking criteria; any change emits `changed`."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.metrics = QListWidget()
        self.metrics.setAccessibleName("Metrics")
        set_tool_tip(self.metrics, "Several metrics give one score: the geometric mean of their ratios")
        self.weights = line_edit(placeholderText="equal, or iops=2, latency_p99=1")
        self.goal = QComboBox()
        self.goal.addItems(list(GOALS))
        self.threshold = line_edit(placeholderText="none, or ≥ 20000 MB/s")
        self.limit = QLineEdit(placeholderText="none, or latency_p99 <= 1 ms")
        set_tool_tip(self.limit, "Of a sweep, the best point that meets the limit counts")
        self.prices = QLineEdit(placeholderText="none, or web-1=0.34 USD, web-2=0.17 USD")
        set_tool_tip(self.prices, "Price per hour of a host or instance type")
        self.margin = PerCent()
        self.margin.setValue(100 * DEFAULT_MARGIN)
        self.margin.setMaximumWidth(_NARROW)
        set_tool_tip(self.margin, "Equivalence margin: smaller differences do not matter")
        self.origin = Text("", Tone.MUTED, wrap=False)
        self.origin.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)  # else its row grows
        self._typed_margin = False
        self.table_button = QPushButton("From table…")
        set_tool_tip(self.table_button, "CSV file with host or instance_type, price and optionally currency")
        self._table: Prices = {}
        self._choices: list[tuple[str, str, Labels]] = []
        self._arrange()
        self._connect()

    def offer(self, choices: Sequence[tuple[str, str, str, Labels]]) -> None:
        """Offer metrics as (title, step, name, labels); the first is checked."""
        self.metrics.blockSignals(True)
        self.metrics.clear()
        self._choices = [(step, name, labels) for _, step, name, labels in choices]
        for number, (title, _, _, _) in enumerate(choices):
            item = QListWidgetItem(visible(title))
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(Qt.CheckState.Unchecked if number else Qt.CheckState.Checked)
            self.metrics.addItem(item)
        self.metrics.blockSignals(False)
        line = self.metrics.sizeHintForRow(0) if choices else 20
        self.metrics.setFixedHeight(line * min(max(2, len(choices)), _MOST_LINES) + SPACE[1])

    def take_prices(self, table: Prices) -> None:
        """Set the prices of a table; typed prices override them."""
        self._table = table
        self.prices.setPlaceholderText(f"{len(table)} from the table; typed prices override them")
        self.changed.emit()

    def show_margin(self, ranking: Ranking) -> None:
        """Show the margin in use and its origin, unless the user set one."""
        if self._typed_margin:
            return
        self.margin.blockSignals(True)
        self.margin.setValue(100 * ranking.margin.share)
        self.margin.blockSignals(False)
        self.origin.setText(ranking.margin.origin)

    def question(self) -> RankingCriteria:
        """Return the ranking criteria; raise BenchwrightError for an invalid field."""
        chosen = [
            choice
            for number, choice in enumerate(self._choices)
            if self.metrics.item(number).checkState() is Qt.CheckState.Checked
        ]
        one = chosen[0] if len(chosen) == 1 else None
        limit = limit_of(self.limit.text()) if self.limit.text().strip() else None
        weights = weights_of(part.strip() for part in self.weights.text().split(",") if part.strip())
        typed = parse_pairs(part for part in self.prices.text().split(",") if part.strip())
        return RankingCriteria(
            {name: weights.get(name, 1.0) for _, name, _ in chosen},
            GOALS[self.goal.currentText()],
            self._threshold(),
            limit,
            one[2] if one is not None and limit is None else None,
            one[0] if one is not None else "",
            {**self._table, **typed},
            Margins(self.margin.value() / 100) if self._typed_margin else DEFAULTS,
        )

    def _threshold(self) -> Threshold | None:
        text = self.threshold.text().strip()
        if not text:
            return None
        at_least = not text.startswith(("<", "≤"))
        value, unit = parse_quantity(text.lstrip("<>=≤≥ "))
        return Threshold(value, at_least, unit)

    def _connect(self) -> None:
        self.metrics.itemChanged.connect(lambda _item: self.changed.emit())
        self.goal.currentIndexChanged.connect(lambda _index: self.changed.emit())
        for field in (self.weights, self.threshold, self.limit, self.prices):
            field.editingFinished.connect(self.changed)
        self.margin.valueChanged.connect(self._take_margin)
        self.margin.editingFinished.connect(self.changed)

    def _take_margin(self) -> None:
        self._typed_margin = True
        self.origin.setText("")

    def _arrange(self) -> None:
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(SPACE[3])
        form.setVerticalSpacing(SPACE[1])
        extra: dict[QWidget, QWidget] = {self.prices: self.table_button, self.margin: self.origin}
        for name, field in (
            ("Metrics", self.metrics),
            ("Weights", self.weights),
            ("Goal", self.goal),
            ("Threshold", self.threshold),
            ("Limit", self.limit),
            ("Price per hour", self.prices),
            ("Margin", self.margin),
        ):
            field.setAccessibleName(name)
            form.addRow(name, button_row(field, extra[field]) if field in extra else field)

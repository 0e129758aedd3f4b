"""Form of a sample size: metric, difference, power, pairs, limits and price; and the table of its designs."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QSpinBox, QWidget

from app.comparison.power import POWER, PlannedTest
from app.margins import DEFAULT_MARGIN
from app.ranking.candidates import parse_price
from app.sample_size.designs import CostedDesign, DesignLimits, SampleSizeRequest
from app.sample_size.pilot import Pilot, PilotQuery
from app.sample_size.report import SampleSize, design_head, design_rows
from suites.vocab import Labels
from widgets.parts.controls import line_edit
from widgets.parts.fields import PerCent
from widgets.parts.table import Table
from widgets.parts.table_model import LEFT, RIGHT, TableColumn, TableModel
from widgets.parts.text import set_tool_tip, visible
from widgets.theme import SPACE

MOST = 1000
LEAST_POWER, MOST_POWER = 50.0, 99.0
LEAST_DIFFERENCE = 0.01
"""Percent."""

DesignRow = tuple[CostedDesign, list[str]]
"""A design and its cells in the order of design_head()."""


class DesignTable(Table[DesignRow]):
    """Table of the designs, the cheapest first."""

    def __init__(self) -> None:
        super().__init__("Designs", TableModel([_column(0, "")]))

    def show_designs(self, found: SampleSize) -> None:
        """Show the designs and select the recommended one."""
        columns = [_column(number, name) for number, name in enumerate(design_head(found))]
        self.show_rows(list(zip(found.designs, design_rows(found), strict=True)), columns)
        if found.designs:
            self.selectRow(0)


_HIDE_ORDER = {"Days": 1, "Each host": 2, "Shows at upper limits": 3}
"""The columns that a narrow table hides, the first first."""


def _column(number: int, name: str) -> TableColumn[DesignRow]:
    return TableColumn(
        name,
        lambda row: row[1][number],
        align=RIGHT if number else LEFT,
        bold=not number,
        stretch=not number,
        least=165,
        hide_order=_HIDE_ORDER.get(name, 0),
    )


class SampleSizeForm(QWidget):
    """Fields of a sample size. `metric_changed` needs another pilot, `changed` another calculation."""

    metric_changed = Signal()
    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.metric_box = QComboBox(placeholderText="Choose a metric")
        self.wanted, self.power = PerCent(), PerCent()
        self.wanted.setMinimum(LEAST_DIFFERENCE)
        self.wanted.setValue(100 * DEFAULT_MARGIN)
        self.power.setRange(LEAST_POWER, MOST_POWER)
        self.power.setValue(100 * POWER)
        self.paired = QCheckBox("Same hosts on both sides")
        limits = DesignLimits()
        self.hosts, self.sessions, self.trials = map(_limit, (limits.hosts, limits.sessions, limits.trials))
        self.price = line_edit(placeholderText="none, or 0.34 USD")
        self._choices: list[PilotQuery] = []
        self._arrange()
        self._connect()

    def offer(self, choices: Sequence[tuple[str, str, str, Labels]]) -> None:
        """Offer metrics as (title, step, name, labels); none is chosen."""
        self._choices = [PilotQuery(step, name, labels) for _, step, name, labels in choices]
        self.metric_box.blockSignals(True)
        self.metric_box.clear()
        self.metric_box.addItems([visible(title) for title, *_ in choices])
        self.metric_box.setCurrentIndex(-1)
        self.metric_box.blockSignals(False)

    def query(self) -> PilotQuery:
        """Return the chosen metric; the headline of the first step without one."""
        number = self.metric_box.currentIndex()
        return self._choices[number] if 0 <= number < len(self._choices) else PilotQuery()

    def show_pilot(self, pilot: Pilot) -> None:
        """Show the margin of the metric as the difference to show, and the metric."""
        self.wanted.blockSignals(True)
        self.wanted.setValue(max(LEAST_DIFFERENCE, 100 * pilot.margin.share))
        self.wanted.blockSignals(False)
        mine = PilotQuery(pilot.step.name, pilot.metric.name, pilot.labels)
        if mine in self._choices:
            self.metric_box.blockSignals(True)
            self.metric_box.setCurrentIndex(self._choices.index(mine))
            self.metric_box.blockSignals(False)

    def request(self, pilot: Pilot) -> SampleSizeRequest:
        """Return the request; raise BenchwrightError for an invalid price."""
        text = self.price.text().strip()
        effort = pilot.effort.with_price(parse_price(text) if text else None)
        test = PlannedTest(self.power.value() / 100, self.paired.isChecked(), pilot.tested)
        limits = DesignLimits(self.hosts.value(), self.sessions.value(), self.trials.value())
        return SampleSizeRequest(self.wanted.value() / 100, pilot.margin.share, effort, test, limits)

    def _connect(self) -> None:
        self.metric_box.currentIndexChanged.connect(lambda _index: self.metric_changed.emit())
        for field in (self.wanted, self.power, self.hosts, self.sessions, self.trials):
            field.valueChanged.connect(lambda _value: self.changed.emit())
        self.paired.toggled.connect(lambda _on: self.changed.emit())
        self.price.textChanged.connect(lambda _text: self.changed.emit())

    def _arrange(self) -> None:
        set_tool_tip(self.wanted, "Difference that the comparison shows")
        set_tool_tip(self.power, "Share of comparisons that show it")
        set_tool_tip(self.paired, "Before and after a change: differences between hosts cancel")
        set_tool_tip(self.price, "Price of a host and hour; without one, host-hours decide")
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(SPACE[3])
        form.setVerticalSpacing(SPACE[1])
        for name, field in (
            ("Metric", self.metric_box),
            ("Difference", self.wanted),
            ("Power", self.power),
            ("Price per hour", self.price),
            ("Most hosts", self.hosts),
            ("Most sessions", self.sessions),
            ("Most trials", self.trials),
        ):
            field.setAccessibleName(name)
            form.addRow(name, field)
        form.addRow("", self.paired)


def _limit(value: int) -> QSpinBox:
    field = QSpinBox()
    field.setRange(1, MOST)
    field.setValue(value)
    field.lineEdit().setTextMargins(SPACE[1], 0, 0, 0)  # aligned with the text of line edits
    return field

"""Designs of the next study: instances x sessions x trials, from the variance of this one, the cheapest first."""

from dataclasses import replace
from functools import partial

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QSpinBox

from app.fleet.planner import AT_UPPER_LIMITS, FleetDesign, FleetGoal, FleetRequest
from app.fleet.proposals import MOST_INSTANCES, Proposals, propose_for
from app.fleet.results import FleetResults
from app.fleet.study import FleetMetric
from app.plans.plan import Policy
from app.ranking.candidates import amount_text
from app.sample_size.designs import DesignLimits
from app.sample_size.report import hours_text
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text, listed
from widgets.fleet.read_pane import ReadPane
from widgets.parts.actions import ActionButton, offer
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.fields import PerCent
from widgets.parts.flow_layout import flowing
from widgets.parts.names import MISSING
from widgets.parts.table import Table
from widgets.parts.table_model import RIGHT, TableColumn, TableModel
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE

GOALS = {
    "Mean of each type within": FleetGoal.HALF_WIDTH,
    "Difference of two types of": FleetGoal.DIFFERENCE,
}

WANTED = 2.0
"""Percent of the mean: the half width, or the difference, at first."""

SETTLED = 250
"""Milliseconds after the last change of a field until the designs are computed."""

NO_DESIGN = "No design with at most {} instances of each type reaches it."
NO_CHOICE = "Select a design"

MOST_SHORT = 3
"""Groups with too few hosts that are named."""

COMPUTING = "Computing the designs…"


def _share_text(share: float) -> str:
    """Return a share in percent, of a column that is aligned on the decimal point."""
    return f"{100 * share:.2f} %"


_COLUMNS: tuple[TableColumn[FleetDesign], ...] = (
    TableColumn("Instances", lambda one: str(one.design.hosts), bold=True, align=RIGHT, width=84,
                tip="Instances of each type", key=lambda one: one.design.hosts),
    TableColumn("Sessions", lambda one: str(one.design.sessions), align=RIGHT, width=84,
                key=lambda one: one.design.sessions),
    TableColumn("Trials", lambda one: str(one.design.trials), align=RIGHT, width=70,
                tip="Trials of each session", key=lambda one: one.design.trials),
    TableColumn("Shows", lambda one: _share_text(one.shown), align=RIGHT, width=84,
                tip="By the variance that was estimated", key=lambda one: one.shown),
    TableColumn("At upper limits", lambda one: MISSING if one.cautious is None else _share_text(one.cautious),
                align=RIGHT, width=120, hide_order=1, key=lambda one: one.cautious or 0.0,
                tip=f"What it shows {AT_UPPER_LIMITS}"),
    TableColumn("Instance-hours", lambda one: hours_text(one.hours), align=RIGHT, width=116,
                tip="Of all types together", key=lambda one: one.hours),
)  # fmt: skip


def _cost(currency: str) -> TableColumn[FleetDesign]:
    return TableColumn(
        f"Cost {currency}".rstrip(), lambda one: MISSING if one.cost is None else amount_text(one.cost), align=RIGHT,
        width=90, key=lambda one: one.cost or 0.0, tip="Of all types together, by the mean price of the groups",
    )  # fmt: skip


class NextStudyPane(ReadPane):
    """What the next study needs for a half width or a difference, by the chosen metric."""

    study_requested = Signal(object, str)  # a Plan, and words that select its hosts

    def __init__(self, workstation: Workstation) -> None:
        super().__init__(workstation)
        self.proposals: Proposals | None = None
        self._chosen: tuple[FleetResults, FleetMetric] | None = None
        self.goal, self.wanted, self.most = QComboBox(), PerCent(), QSpinBox(minimum=3, maximum=1000)
        self.goal.addItems(list(GOALS))
        self.wanted.setValue(WANTED)
        self.most.setValue(MOST_INSTANCES)
        self.most.lineEdit().setTextMargins(SPACE[1], 0, 0, 0)  # aligned with the text of other fields
        for field, name in ((self.goal, "Goal"), (self.wanted, "Percent"), (self.most, "Most instances of a type")):
            field.setAccessibleName(name)
        self.table = Table[FleetDesign]("Designs of the next study", TableModel(_COLUMNS))
        self.none, self.short = Text("", Tone.MUTED), Text("", Tone.WARNING)
        self.begin = QAction("New study of this design…", self)
        self._settle = QTimer(self, singleShot=True, interval=SETTLED)
        self._connect()
        words = (Text(text, Tone.MUTED, wrap=False) for text in ("with at most", "instances of each type"))
        head = flowing(self.goal, self.wanted, next(words), self.most, next(words))
        foot = in_row(ActionButton(self.begin), (self.short, 1), spacing=SPACE[1])
        fill(column_in(self, SPACE[1]), self.notice, head, self.none, (self.table, 1), foot)
        self._clear()

    def show_metric(self, found: FleetResults, metric: FleetMetric) -> None:
        """Show the designs by the variance of a metric."""
        self._chosen = found, metric
        self.show_study(found.study.id)

    def _read(self) -> None:
        if self._chosen is not None:
            goal, wanted = GOALS[self.goal.currentText()], self.wanted.value() / 100
            request = FleetRequest(goal, wanted, limits=DesignLimits(hosts=self.most.value()))
            self._start(partial(propose_for, *self._chosen, request), self._show)

    def _show(self, found: Proposals) -> None:
        self.notice.hide()
        self.proposals = found
        price = found.cost.effort.price
        self.table.show_rows(found.designs, (*_COLUMNS, *(() if price is None else (_cost(price.currency),))))
        self.table.setVisible(bool(found.designs))
        none = [] if found.designs else [NO_DESIGN.format(found.request.limits.hosts)]
        self.none.setText("\n".join([*none, *found.notes]))
        self.none.show()
        if found.designs:
            self.table.selectRow(0)
        self._follow()

    def _fail(self, error: BenchwrightError) -> None:
        self._clear()
        super()._fail(error)

    def _edited(self) -> None:
        """Remove the designs of another goal, and compute those of this one once it is settled."""
        if self.study:
            self._job = None  # its designs are of another goal
            self._clear()
            self.none.setText(COMPUTING)
            self.none.show()
            self._settle.start()

    def _follow(self) -> None:
        design = None if self.proposals is None else self.table.current()
        offer(self.begin, design is not None, "Its tests with the sessions and trials of the design", NO_CHOICE)
        self.short.setText("" if design is None or self._chosen is None else short_text(self._chosen[0], design))

    def _request_study(self) -> None:
        design = self.table.current()
        if self._chosen is None or design is None:
            return
        study, wanted = self._chosen[0].study.plan, design.design
        repetition = replace(study.plan.repetition, policy=Policy.FIXED, trials=wanted.trials, sessions=wanted.sessions)
        groups = {"-".join(group.split()): hosts[: wanted.hosts] for group, hosts in study.groups.items()}
        words = [f"{group}:={','.join(hosts)}" for group, hosts in groups.items()]
        self.study_requested.emit(replace(study.plan, repetition=repetition), " ".join(words))

    def _connect(self) -> None:
        self.goal.activated.connect(lambda _at: self._edited())
        for field in (self.wanted, self.most):
            field.valueChanged.connect(lambda _value: self._edited())
        self._settle.timeout.connect(lambda: self.show_study(self.study))
        self.begin.triggered.connect(lambda _checked: self._request_study())
        self.table.moved.connect(self._follow)

    def _clear(self) -> None:
        self.proposals = None
        self.table.show_rows(())
        for widget in (self.table, self.none):
            widget.hide()
        self._follow()


def short_text(found: FleetResults, design: FleetDesign) -> str:
    """Return the groups of a study that have fewer hosts than a design: ``c7i has 8 hosts: add ...``."""
    sizes = {group: len(hosts) for group, hosts in found.study.plan.groups.items()}
    short = [f"{group} has {count_text(size, 'host')}" for group, size in sizes.items() if size < design.design.hosts]
    return f"{listed(short, MOST_SHORT)}: add hosts to the new study." if short else ""

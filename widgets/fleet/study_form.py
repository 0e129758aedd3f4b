"""The fields of a new fleet study."""

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QFormLayout, QGridLayout, QSizePolicy, QSpinBox, QWidget

from app.fleet_study import MOST_HOSTS, HostOrder, Topology
from app.plans.plan import Plan
from app.plans.validation import MOST_SESSIONS
from suites.parameters import format_duration
from suites.quantities import first_upper
from widgets.fleet.study_draft import StudyDraft, plan_text
from widgets.parts.boxes import in_row
from widgets.parts.controls import line_edit, push_button
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE

WORDS_TIP = (
    "Groups, hosts, patterns and attributes of the inventory, separated by blanks: web  db-*  type=c7i.*  by=zone. "
    "NAME:=WORD,WORD names a group."
)

VARY_TIP = (
    "Parameters with several values, separated by blanks: iodepth=1,8,32  fio.block_size=4k,64k. The tests run with "
    "every combination. SUITE. or the name of a test before a parameter: only there."
)

ORDERS = {
    HostOrder.INTERLEAVED: "One host of each group in turn, so that groups share every moment",
    HostOrder.RANDOMISED: "A random order in each session",
    HostOrder.GROUPED: "One group after the other",
}

TOPOLOGIES = {
    Topology.FIXED: "Each host with the peer of the test",
    Topology.PAIRS: "Each host of a group with another one, in each session with a different one",
    Topology.MESH: "Every two hosts of a group",
}


def _label(text: str) -> Text:
    return Text(text, Tone.MUTED, wrap=False)


class StudyForm(QWidget):
    """Plan, hosts, sessions, order, limits and retries."""

    changed = Signal()
    file_requested = Signal()
    plan_chosen = Signal(int)  # the number of a plan in the list

    def __init__(self) -> None:
        super().__init__()
        self._plan: Plan | None = None
        self.plans = QComboBox()
        self.plans.setAccessibleName("Plan")
        self.plans.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.plans.setMinimumContentsLength(30)
        self.plans.activated.connect(self.plan_chosen)
        self.file_button = push_button("Open file…", lambda _checked: self.file_requested.emit(), icon="folder")
        self.tests = Text(tone=Tone.MUTED)
        self.vary = line_edit("Vary", lambda _text: self.changed.emit(), tip=VARY_TIP, placeholderText="iodepth=1,8,32")
        self.words = line_edit(
            "Hosts", lambda _text: self.changed.emit(), tip=WORDS_TIP, placeholderText="web  db-*  type=c7i.*  by=zone"
        )
        self.groups = Text(tone=Tone.MUTED)
        self.groups.setAccessibleName("Selected hosts")
        self.sessions = self._number("Sessions", 1, MOST_SESSIONS, "Runs on each host, at different times")
        self.every = line_edit(
            "Time between sessions", lambda _text: self.changed.emit(), tip="From start to start, such as 1 h or 1 d"
        )
        self.order = self._choice("Order of hosts", ORDERS)
        self.topology = self._choice("Network tests", TOPOLOGIES)
        self.at_once = self._number("Host-runs at once", 1, MOST_HOSTS, "Most host-runs under way at once")
        self.per_group = self._number("Per group", 0, MOST_HOSTS, "Most host-runs of a group at once")
        self.per_zone = self._number("Per zone", 0, MOST_HOSTS, "Most host-runs in a zone at once")
        self.per_storage = self._number("Per storage", 0, MOST_HOSTS, "Most host-runs on a shared storage at once")
        self.retries = self._number("Retries", 0, 100, "Further attempts of a host that cannot be reached")
        self._arrange()

    def show_plans(self, titles: Sequence[str], current: int) -> None:
        """List the plans to choose from."""
        self.plans.clear()
        self.plans.addItems(list(titles))
        self.plans.setCurrentIndex(current)

    def show_plan(self, plan: Plan | None) -> None:
        """Show the tests of the chosen plan, and its sessions if it has several."""
        self._plan = plan
        if plan is not None and plan.repetition.sessions > 1:
            self.sessions.setValue(plan.repetition.sessions)
            self.every.setText(format_duration(plan.repetition.every))
        self.tests.setText("" if plan is None else plan_text(plan))
        self.changed.emit()

    def show_draft(self, draft: StudyDraft) -> None:
        """Show the entries of a draft."""
        self._plan = draft.plan
        self.words.setText(draft.words)
        self.vary.setText(draft.vary)
        self.sessions.setValue(draft.sessions)
        self.every.setText(draft.every)
        for box, value in ((self.order, draft.order), (self.topology, draft.topology)):
            box.setCurrentIndex(box.findData(value))
        for name, field in self._limits().items():
            field.setValue(getattr(draft, name))
        self.show_plan(draft.plan)
        self.fit()

    def draft(self, before: StudyDraft) -> StudyDraft:
        """Return `before` with what is entered."""
        limits = {name: field.value() for name, field in self._limits().items()}
        return replace(
            before, plan=self._plan, words=self.words.text(), vary=self.vary.text(), sessions=self.sessions.value(),
            every=self.every.text(), order=self.order.currentData(), topology=self.topology.currentData(), **limits,
        )  # fmt: skip

    def fit(self, *, network: bool = False) -> None:
        """Show the fields that are in use; `network`: the plan has a network test."""
        self.every.setEnabled(self.sessions.value() > 1)
        self._rows.setRowVisible(self.topology, network)

    def _limits(self) -> dict[str, QSpinBox]:
        return {
            "at_once": self.at_once,
            "per_group": self.per_group,
            "per_zone": self.per_zone,
            "per_storage": self.per_storage,
            "retries": self.retries,
        }

    def _number(self, name: str, least: int, most: int, tip: str) -> QSpinBox:
        field = QSpinBox(minimum=least, maximum=most)
        field.setAccessibleName(name)
        field.lineEdit().setTextMargins(SPACE[1], 0, 0, 0)  # aligned with the text of other fields
        if not least and most == MOST_HOSTS:
            field.setSpecialValueText("no limit")
        set_tool_tip(field, tip)
        field.valueChanged.connect(lambda _value: self.changed.emit())
        return field

    def _choice(self, name: str, choices: dict[HostOrder, str] | dict[Topology, str]) -> QComboBox:
        box = QComboBox()
        box.setAccessibleName(name)
        for value, text in choices.items():
            box.addItem(f"{first_upper(str(value))}: {text[0].lower()}{text[1:]}", value)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(24)
        box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        box.activated.connect(lambda _at: self.changed.emit())
        return box

    def _arrange(self) -> None:
        self._rows = rows = QFormLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setHorizontalSpacing(SPACE[3])
        rows.setVerticalSpacing(SPACE[1])
        rows.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        rows.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        rows.addRow(_label("Plan"), in_row((self.plans, 1), self.file_button, spacing=SPACE[1]))
        rows.addRow(_label("Vary"), self.vary)
        rows.addRow("", self.tests)
        rows.addRow(_label("Hosts"), self.words)
        rows.addRow("", self.groups)
        rows.addRow(_label("Sessions"), in_row(self.sessions, _label("one every"), (self.every, 1), spacing=SPACE[1]))
        rows.addRow(_label("Order"), self.order)
        rows.addRow(_label("Network"), self.topology)
        rows.addRow(_label("At once"), self._limit_grid())
        rows.addRow(_label("Retries"), in_row(self.retries, None))

    def _limit_grid(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE[1])
        grid.setVerticalSpacing(SPACE[0])
        fields = (self.at_once, self.per_group, self.per_zone, self.per_storage)
        for number, (text, field) in enumerate(
            zip(("in all", "per group", "per zone", "per storage"), fields, strict=True)
        ):
            row, column = divmod(number, 2)
            grid.addWidget(_label(text), row, 2 * column)
            grid.addWidget(field, row, 2 * column + 1)
            grid.setColumnStretch(2 * column + 1, 1)
        return grid

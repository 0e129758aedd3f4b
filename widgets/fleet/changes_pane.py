"""What changed in a study since an earlier one, and which facts differ within its groups."""

from collections.abc import Sequence

from PySide6.QtWidgets import QComboBox, QPlainTextEdit

from app.fleet.changes import FleetChanges, changes_lines
from app.fleet.sameness import GroupSameness
from app.fleet_study import FleetStudy
from app.library_table import local_moment
from app.services import Workstation
from widgets.fleet.read_pane import ReadPane
from widgets.fleet.results_tables import DepartureTable, departures_of
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.text import visible
from widgets.theme import SPACE

CHOOSE = "Compare with study…"
NONE_EARLIER = "No earlier study"


class ChangesPane(ReadPane):
    """The changes since a study that the user chooses."""

    def __init__(self, workstation: Workstation) -> None:
        super().__init__(workstation)
        self.earlier = QComboBox()
        self.earlier.setAccessibleName("Earlier study")
        self.earlier.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.earlier.setMinimumContentsLength(32)
        self.earlier.activated.connect(lambda _at: self._compare())
        self.lines = QPlainTextEdit(readOnly=True, tabChangesFocus=True)
        self.lines.setAccessibleName("Changes")
        fill(column_in(self, SPACE[1]), self.notice, in_row(self.earlier, None), (self.lines, 1)).addStretch(0)
        self._clear()

    def _read(self) -> None:
        self._start(self.workstation.fleet_studies, self._offer)

    def _offer(self, studies: Sequence[FleetStudy]) -> None:
        chosen, ids = self.earlier.currentData(), [one.id for one in studies]
        self.earlier.clear()
        self.earlier.addItem(CHOOSE, "")
        for one in studies[ids.index(self.study) + 1 :] if self.study in ids else ():  # the newest is the first
            self.earlier.addItem(visible(f"{one.name}, {local_moment(one.created)[:16]}"), one.id)
        self.earlier.setEnabled(self.earlier.count() > 1)
        self.earlier.setItemText(0, CHOOSE if self.earlier.isEnabled() else NONE_EARLIER)
        self.earlier.setCurrentIndex(max(0, self.earlier.findData(chosen)))
        self._compare()

    def _compare(self) -> None:
        if previous := self.earlier.currentData():
            changes, current = self.workstation.fleet_changes, self.study
            self._start(lambda: changes(previous, current), self._show)
        else:
            self.lines.hide()

    def _show(self, found: FleetChanges) -> None:
        self.notice.hide()
        self.lines.setPlainText("\n".join(map(visible, changes_lines(found))))
        self.lines.show()

    def _clear(self) -> None:
        self.earlier.clear()
        self.earlier.addItem(CHOOSE, "")
        self.lines.hide()


class DeparturesPane(ReadPane):
    """The facts that differ within the groups of a study, as its latest done runs read them."""

    def __init__(self, workstation: Workstation) -> None:
        super().__init__(workstation)
        self.table = DepartureTable()
        fill(column_in(self, SPACE[1]), self.notice, (self.table, 1))

    def _read(self) -> None:
        study, sameness = self.study, self.workstation.fleet_sameness
        self._start(lambda: sameness(study), self._show)

    def _show(self, groups: Sequence[GroupSameness]) -> None:
        self.notice.hide()
        self.table.show_rows(departures_of(groups))

    def _clear(self) -> None:
        self.table.show_rows([])

"""Table of the studies of the library, the newest first."""

from dataclasses import dataclass

from PySide6.QtGui import QIcon

from app.fleet.board import study_state
from app.fleet_study import FleetStudy, HostRunState
from app.library_table import local_moment
from suites.quantities import count_text
from widgets.fleet.board_text import counts_text, moment_text
from widgets.parts.table import Table
from widgets.parts.table_model import RIGHT, TableColumn, TableModel
from widgets.theme import SPACE, icon


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A study; `idle`: it is open, not paused, and no process runs it."""

    study: FleetStudy
    idle: bool = False

    @property
    def state(self) -> str:
        """What the study does."""
        return study_state(self.study, idle=self.idle)


def _mark(row: StudyRow) -> QIcon:
    study, counts = row.study, row.study.counts
    if row.idle:
        return icon("warning")
    if study.paused is not None and study.ended is None:
        return icon("pause")
    if any(count and state.active for state, count in counts.items()):
        return icon("live", "accent")
    if counts.get(HostRunState.FAILED):
        return icon("error")
    return icon("good" if study.over else "queue")


def _begun(moment: str) -> str:
    """Return the local time of a moment of today, of another one its month and day."""
    text = moment_text(moment)
    return text[5:10] or text


def _tip(row: StudyRow) -> str:
    study = row.study
    groups = ", ".join(f"{group} {len(names)}" for group, names in study.plan.groups.items())
    lines = (
        f"{study.name} ({study.id})", f"Begun {local_moment(study.created)[:16]}", f"Groups: {groups}",
        count_text(study.plan.sessions, "session"), counts_text(study), *(["No process runs it"] if row.idle else []),
    )  # fmt: skip
    return "\n".join(lines)


def _progress(row: StudyRow) -> str:
    return f"{row.study.total - row.study.left}/{row.study.total}"


COLUMNS: tuple[TableColumn[StudyRow], ...] = (
    TableColumn("Study", lambda row: row.study.name, mark=_mark, more=_tip, stretch=True, least=84),
    TableColumn("State", lambda row: row.state, more=_tip, tone="muted", width=110, hide_order=1),
    TableColumn("Begun", lambda row: _begun(row.study.created), more=_tip, tone="muted", width=60, whole=True,
                hide_order=3),
    TableColumn("Over", _progress, align=RIGHT, more=_tip, width=64, hide_order=2,
                tip="Host-runs that are over, of all"),
)  # fmt: skip


class StudyTable(Table[StudyRow]):
    """The studies; one is selected."""

    def __init__(self) -> None:
        super().__init__("Studies", TableModel(COLUMNS), identity=lambda row: row.study.id, row_padding=2 * SPACE[1])

"""Table of the studies of the library, the newest first."""

from PySide6.QtGui import QIcon

from app.fleet.board import study_state
from app.fleet_study import FleetStudy, HostRunState
from app.library_table import local_moment
from suites.quantities import count_text
from widgets.fleet.board_text import counts_text, moment_text
from widgets.parts.table import Table
from widgets.parts.table_model import RIGHT, TableColumn, TableModel
from widgets.theme import SPACE, icon


def _mark(study: FleetStudy) -> QIcon:
    counts = study.counts
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


def _tip(study: FleetStudy) -> str:
    groups = ", ".join(f"{group} {len(names)}" for group, names in study.plan.groups.items())
    lines = (
        f"{study.name} ({study.id})", f"Begun {local_moment(study.created)[:16]}", f"Groups: {groups}",
        count_text(study.plan.sessions, "session"), counts_text(study),
    )  # fmt: skip
    return "\n".join(lines)


def _progress(study: FleetStudy) -> str:
    done = sum(count for state, count in study.counts.items() if state.over)
    return f"{done}/{study.total}"


COLUMNS: tuple[TableColumn[FleetStudy], ...] = (
    TableColumn("Study", lambda study: study.name, mark=_mark, more=_tip, stretch=True, least=84),
    TableColumn("State", study_state, more=_tip, tone="muted", width=110, hide_order=1),
    TableColumn("Begun", lambda study: _begun(study.created), more=_tip, tone="muted", width=60, whole=True,
                hide_order=3),
    TableColumn("Over", _progress, align=RIGHT, more=_tip, width=64, hide_order=2,
                tip="Host-runs that are over, of all"),
)  # fmt: skip


class StudyTable(Table[FleetStudy]):
    """The studies; one is selected."""

    def __init__(self) -> None:
        super().__init__("Studies", TableModel(COLUMNS), identity=lambda study: study.id, row_padding=2 * SPACE[1])

"""Tables of the results of a study: variance by level, outliers, and hosts that depart from their group."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem

from app.comparison.estimates import Ratio
from app.comparison.sentences import change_text, interval_text
from app.fleet.lemons import Lemon, LemonKind, p_text
from app.fleet.levels import TITLES, FleetLevel
from app.fleet.results import outlier_text
from app.fleet.sameness import GroupSameness
from app.fleet.sameness_report import MOST_DEPARTING, departure_rows, summary_text, value_texts
from suites.quantities import figure_text, first_upper, metric_text, share_text
from widgets.parts.names import MISSING, MOST_NAME, host_title
from widgets.parts.table import RowDelegate, Table
from widgets.parts.table_model import RIGHT, ROW, Index, TableColumn, TableModel
from widgets.theme import SPACE, icon, palette

MOST_VALUES = 20
"""Facts in the tool tip of a host."""

_FIGURES = 68
"""Width in pixels of a share as text, beside its bar."""


class _ShareDelegate(RowDelegate):
    """Draws a bar beside the share of a level."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw a cell."""
        super().paint(painter, option, index)
        row: FleetLevel = index.data(ROW)
        if index.column() != len(_LEVELS) - 2 or row.share is None:
            return
        room = QRectF(option.rect).adjusted(SPACE[1], 0, -_FIGURES, 0)
        bar = QRectF(room.left(), room.center().y() - 4, max(2.0, room.width() * row.share), 8)
        painter.fillRect(QRectF(room.left(), bar.top(), room.width(), 8), QColor(palette().line))
        painter.fillRect(bar, QColor(palette().accent))


_LEVELS: tuple[TableColumn[FleetLevel], ...] = (
    TableColumn("Level", lambda row: first_upper(TITLES[row.name]), bold=True, width=80),
    TableColumn("n", lambda row: str(row.n), align=RIGHT, width=50, tip="Units of the level in the study"),
    TableColumn("CoV", lambda row: MISSING if row.cov is None else share_text(row.cov), align=RIGHT, width=64,
                topic="fleet", tip="Coefficient of variation that the level adds"),
    TableColumn("95 % interval", lambda row: row.interval_text or MISSING, align=RIGHT, width=110),
    TableColumn("Share of the variance", lambda row: MISSING if row.share is None else share_text(row.share),
                align=RIGHT, width=190),
    TableColumn("Note", lambda row: first_upper(row.reason), tone="muted", stretch=True, least=60, hide_order=1),
)  # fmt: skip


class LevelTable(Table[FleetLevel]):
    """The variance of a metric by level, the innermost first."""

    def __init__(self) -> None:
        super().__init__("Variance by level", TableModel(_LEVELS), identity=lambda row: row.name)
        self.setItemDelegate(_ShareDelegate(self))


def _ratio(one: Lemon) -> Ratio:
    return Ratio(one.ratio, one.low, one.high)


def _change(one: Lemon) -> str:
    return change_text(_ratio(one)).partition(" (")[0]


def _levels_tip(one: Lemon) -> str:
    if one.kind is LemonKind.SPREAD:
        return outlier_text(one)
    value, median = (figure_text(one.metric, each) for each in (one.ratio * one.median, one.median))
    return f"{value}; median of the {one.others} others {median}\n{outlier_text(one)}"


_OUTLIERS: tuple[TableColumn[Lemon], ...] = (
    TableColumn("Host", lambda one: host_title(one.host), mark=lambda one: icon("error" if one.is_worse else "good"),
                bold=True, width=90, whole=True, most=MOST_NAME, key=lambda one: one.host, more=outlier_text),
    TableColumn("Group", lambda one: one.group, tone="muted", width=56, whole=True, most=MOST_NAME // 2, hide_order=2,
                key=lambda one: one.group),
    TableColumn("Metric", lambda one: metric_text(one.metric, one.labels), stretch=True, least=70,
                more=lambda one: f"{metric_text(one.metric, one.labels)} of {one.step}",
                key=lambda one: (one.step, one.metric.name, one.labels)),
    TableColumn("Off group", _change, align=RIGHT, bold=True, width=84, more=_levels_tip, key=lambda one: one.ratio,
                tip="Ratio to the median of the other hosts of the group",
                tone=lambda one: "error" if one.is_worse else "good"),
    TableColumn("95 % interval", lambda one: interval_text(_ratio(one)), align=RIGHT, width=100, hide_order=3),
    TableColumn("p", lambda one: p_text(one.p_adjusted).removeprefix("p ").removeprefix("= "), align=RIGHT, width=60,
                key=lambda one: one.p_adjusted, tip="Adjusted for all hosts, groups and metrics (Holm)"),
    TableColumn("Kind", lambda one: one.kind.value, tone="muted", width=56, hide_order=1, key=lambda one: one.kind,
                tip="Level of the host, or spread of its trials within sessions"),
)  # fmt: skip


class OutlierTable(Table[Lemon]):
    """The outliers of all metrics of a study, the lemons first; one is selected."""

    def __init__(self) -> None:
        super().__init__("Outliers", TableModel(_OUTLIERS), identity=lambda one: one.key)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)


@dataclass(frozen=True, slots=True)
class DepartureRow:
    """A host that departs from its group, or with a `heading` the group."""

    heading: str
    host: str = ""
    count: str = ""
    facts: str = ""
    values: str = ""


def departures_of(groups: Iterable[GroupSameness]) -> Iterator[DepartureRow]:
    """Yield each group, followed by its hosts that depart most from it."""
    for group in groups:
        yield DepartureRow(summary_text(group))
        for host, count, facts in departure_rows(group, MOST_DEPARTING):
            yield DepartureRow("", host, count, facts, _values_text(group, host))


def _values_text(group: GroupSameness, host: str) -> str:
    """Return a line for each fact in which a host departs: its value, and that of most hosts."""
    lines = []
    for fact in group.differing:
        texts = dict(zip((value.hosts for value in fact.values), value_texts(fact), strict=True))
        own = next((text for hosts, text in texts.items() if host in hosts), None)
        if own is not None and host in fact.departures:
            usual = next(iter(texts.values()))
            lines.append(f"{fact.title}: {own}" + ("" if fact.usual is None else f" (most hosts: {usual})"))
    return "\n".join(lines[:MOST_VALUES])


_DEPARTURES: tuple[TableColumn[DepartureRow], ...] = (
    TableColumn("Host", lambda row: host_title(row.host) if row.host else row.heading, width=110, whole=True,
                most=MOST_NAME,
                more=lambda row: row.values or row.heading),
    TableColumn("Facts", lambda row: row.count, align=RIGHT, width=50, tip="Facts that differ from most hosts",
                more=lambda row: row.values),
    TableColumn("Differing facts", lambda row: row.facts, stretch=True, least=120, more=lambda row: row.values),
)  # fmt: skip


class DepartureTable(Table[DepartureRow]):
    """The hosts of each group that depart from it, the odd host first."""

    def __init__(self) -> None:
        super().__init__("Facts that differ within groups", TableModel(_DEPARTURES, heading=lambda row: row.heading))

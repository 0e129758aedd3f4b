"""Table of the hosts of a study: sessions as marks, trials as sparklines; rows that have not changed stay as drawn."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyleOptionViewItem

from app.fleet.board import Board, BoardRow
from app.fleet_study import HostRunState
from widgets.fleet.board_columns import MARK, SESSIONS, VALUES, BoardScale, board_columns, scale_of
from widgets.fleet.board_text import searched_text
from widgets.parts.sparkline import paint_sparkline
from widgets.parts.table import RowDelegate, Table
from widgets.parts.table_model import ROW, Index, TableModel
from widgets.theme import SPACE, palette, scaled

MOST_REPLACED = 200
"""Changed rows that are replaced one by one; with more, all rows are shown anew."""


class _BoardDelegate(RowDelegate):
    """Draws the marks of the sessions and the sparklines of the trials."""

    def __init__(self, table: "BoardTable") -> None:
        super().__init__(table)
        self._table = table

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        """Remove the text of a cell that is drawn."""
        super().initStyleOption(option, index)
        column = self._table.column_at(index)
        if column == SESSIONS or (column == VALUES and index.data(ROW).values):
            option.text = ""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw a cell."""
        super().paint(painter, option, index)
        row, column = index.data(ROW), self._table.column_at(index)
        if column == SESSIONS:
            _paint_sessions(painter, QRectF(option.rect), [one.state for one in row.host_runs])
        elif column == VALUES and row.values:
            scales, selected = self._table.scale, bool(option.state & QStyle.StateFlag.State_Selected)
            edges, level = scales.edges.get(row.group), scales.medians.get(row.group)
            at = len(row.values) - 1 if len(row.values) == 1 else None
            paint_sparkline(painter, option.rect, row.values, at, scale=edges, level=level, selected=selected)


def _paint_sessions(painter: QPainter, cell: QRectF, states: list[HostRunState]) -> None:
    """Draw a shape for each session, from left to right."""
    room = cell.width() - 2 * SPACE[1]
    step = min(float(scaled(MARK)), room / max(1, len(states)))
    radius = min(step, float(scaled(MARK))) / 2 - 2
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for number, state in enumerate(states):
        _paint_state(painter, QPointF(cell.left() + SPACE[1] + step * (number + 0.5), cell.center().y()), radius, state)
    painter.restore()


def _paint_state(painter: QPainter, at: QPointF, radius: float, state: HostRunState) -> None:
    """Draw a disc (done), a triangle (running), a cross (failed), a line (skipped) or a ring (waiting)."""
    colours = palette()
    tone = {HostRunState.DONE: colours.good, HostRunState.FAILED: colours.error, HostRunState.RUNNING: colours.accent}
    colour = QColor(tone.get(state, colours.baseline))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    if state is HostRunState.DONE:
        painter.drawEllipse(at, radius, radius)
        return
    if state is HostRunState.RUNNING:
        corners = ((-0.7, -1.0), (1.1, 0.0), (-0.7, 1.0))
        painter.drawPolygon(QPolygonF([at + QPointF(x * radius, y * radius) for x, y in corners]))
        return
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(colour, 2.0 if state is HostRunState.FAILED else 1.4))
    short = radius * 0.8
    if state is HostRunState.FAILED:
        painter.drawLine(at + QPointF(-short, -short), at + QPointF(short, short))
        painter.drawLine(at + QPointF(-short, short), at + QPointF(short, -short))
    elif state is HostRunState.SKIPPED:
        painter.drawLine(at + QPointF(-short, 0), at + QPointF(short, 0))
    else:
        painter.drawEllipse(at, radius - 0.5, radius - 0.5)


class BoardTable(Table[BoardRow]):
    """The hosts of a study, failed ones and outliers first by default; multiple selection."""

    def __init__(self) -> None:
        self.board: Board | None = None
        self.scale = BoardScale()
        self.stopping = frozenset[int]()
        """Numbers of the host-runs that were asked to stop."""

        super().__init__(
            "Hosts of the study",
            TableModel(board_columns(None, self.scale), searched=searched_text),
            identity=lambda row: (row.title, row.group),
            selection=QAbstractItemView.SelectionMode.ExtendedSelection,
            row_padding=SPACE[1] + 2,
        )
        self.setItemDelegate(_BoardDelegate(self))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.horizontalHeader().setSortIndicatorClearable(True)  # the third click: failed hosts and outliers first

    def column_at(self, index: Index) -> str:
        """Return the name of the column of a cell."""
        return self.content.columns[index.column()].name

    def show_board(self, board: Board) -> None:
        """Show a board; of a later one of the same study only the cells that have changed are drawn."""
        before, self.board = self.board, board
        scale_before, self.scale = self.scale, scale_of(board)
        same = before is not None and (before.study.id, before.figure) == (board.study.id, board.figure)
        kept = [(row.title, row.group) for row in self.content.rows] == [(row.title, row.group) for row in board.rows]
        changed = [(old, new) for old, new in zip(self.content.rows, board.rows, strict=False) if old != new]
        if not (same and kept) or self.filtered or self.content.sorted_by or len(changed) > MOST_REPLACED:
            self.show_rows(board.rows, board_columns(board, self.scale, self.stopping))
            return
        self.content.columns = board_columns(board, self.scale, self.stopping)
        for old, new in changed:
            self.content.replace_row(old, new)
        if self.scale != scale_before:
            self.content.refresh()

    def show_stopping(self, numbers: frozenset[int]) -> None:
        """Show which host-runs were asked to stop and have not ended."""
        if numbers != self.stopping:
            self.stopping = numbers
            self.content.columns = board_columns(self.board, self.scale, numbers)
            self.content.refresh()

    @property
    def filtered(self) -> bool:
        """Whether a filter hides rows."""
        return len(self.content.shown) != len(self.content.rows)

    def numbers(self) -> list[int]:
        """Return the numbers of the host-runs of the selected rows."""
        return [one.number for row in self.chosen() for one in row.host_runs]

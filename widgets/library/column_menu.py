"""Menu of the columns of the table of runs: those of the library, parameters, metrics."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtWidgets import QMenu

from app.library_rows import LibraryRow, LibraryRows
from app.library_table import COLUMNS, ListColumn, columns_of, differing_parameters
from app.natural_order import natural_key
from app.run_matching import MetricReader, parameter_names
from widgets import settings
from widgets.library.run_columns import TREND_COLUMN, TREND_NAME
from widgets.library.run_table import WINDOW_COLUMNS, RunTable
from widgets.parts.text import visible

_KEY = "library/columns"


class ColumnMenu(QObject):
    """Chooses the columns of a table of runs, by the menu of its header, and remembers them."""

    metrics_requested = Signal(list)  # names of metrics whose values are needed

    def __init__(self, table: RunTable) -> None:
        super().__init__(table)
        self._table = table
        self._library = LibraryRows()
        self._values_of: MetricReader = lambda _name: {}
        self.names = self._stored()
        self._differing: list[str] = []
        self.menu = QMenu("Columns", table)
        self.menu.aboutToShow.connect(self._fill)
        table.columns_moved.connect(self._take_order, Qt.ConnectionType.QueuedConnection)  # after the drag
        head = table.horizontalHeader()
        head.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        head.customContextMenuRequested.connect(self._popup)

    def listed(self, library: LibraryRows, values_of: MetricReader) -> list[ListColumn | None]:
        """Return the chosen columns that `library` has; None is the trend."""
        self._library, self._values_of = library, values_of
        return [None if name == TREND_NAME else columns_of([name], library, values_of)[0] for name in self._shown()]

    def metrics(self) -> list[str]:
        """Return the metrics whose values the columns show."""
        return [name for name in (*self.names, *self._differing) if self._is_metric(name)]

    def show_differences(self, rows: Sequence[LibraryRow]) -> None:
        """Add the columns of the parameters that differ between `rows`; remove them if they are shown."""
        found = [token for _, token in differing_parameters(rows)]
        self._differing = [] if found == self._differing else found
        self._show()

    def toggle(self, name: str) -> None:
        """Show or hide a column."""
        if name in self.names:
            self.names.remove(name)
        else:
            self.names.insert(self._place_of(name), name)
        self._keep(self.names or list(WINDOW_COLUMNS))

    def _take_order(self, names: Sequence[str]) -> None:
        """Show the columns in the order in which the user has put them."""
        self._keep([*(name for name in names if name in self.names), *(one for one in self.names if one not in names)])

    def _keep(self, names: list[str]) -> None:
        self.names = names
        settings.put(_KEY, json.dumps(names))
        self._show()

    def _place_of(self, name: str) -> int:
        """Return where to show a new column: parameters and metrics before the headline, others in their order."""
        order = [column.name for column in COLUMNS]
        rank = order.index(name) if name in order else order.index("headline")
        later = (at for at, one in enumerate(self.names) if one in order and order.index(one) >= rank)
        return next(later, len(self.names))

    def _show(self) -> None:
        self._table.set_columns(self.listed(self._library, self._values_of))
        if missing := [name for name in self.metrics() if not self._values_of(name)]:
            self.metrics_requested.emit(missing)

    def _shown(self) -> list[str]:
        """Return the names of the columns that the library has, with those of differing parameters."""
        known = {column.name for column in COLUMNS} | set(self._parameters()) | set(self._library.metrics)
        wanted = [name for name in self.names if name in known or name == TREND_NAME]
        at = wanted.index("headline") if "headline" in wanted else len(wanted)
        wanted[at:at] = [name for name in self._differing if name not in wanted]
        return wanted

    def _parameters(self) -> Mapping[str, str]:
        return parameter_names(self._library.configurations)

    def _is_metric(self, name: str) -> bool:
        return name in self._library.metrics and name not in self._parameters()

    def _stored(self) -> list[str]:
        with suppress(ValueError, TypeError):
            names = json.loads(settings.text(_KEY))
            if isinstance(names, list) and names:
                return [str(name) for name in names]
        return list(WINDOW_COLUMNS)

    def _popup(self, at: QPoint) -> None:
        self.menu.popup(self._table.horizontalHeader().mapToGlobal(at))

    def _fill(self) -> None:
        self.menu.clear()
        for column in COLUMNS:
            self._add(self.menu, column.name, column.title)
        self._add(self.menu, TREND_NAME, TREND_COLUMN)
        self.menu.addSeparator()
        tokens = {value.token for one in self._library.configurations for value in one.values.values()}
        self._add_all(self.menu.addMenu("Parameter"), {token: token for token in sorted(tokens, key=natural_key)})
        metrics = {name: f"{metric.title} ({name})" for name, metric in sorted(self._library.metrics.items())}
        self._add_all(self.menu.addMenu("Metric"), metrics)
        self.menu.addSeparator()
        self.menu.addAction("Default columns", self._reset)

    def _add_all(self, menu: QMenu, titles: Mapping[str, str]) -> None:
        for name, title in titles.items():
            self._add(menu, name, title)
        menu.setEnabled(bool(titles))

    def _add(self, menu: QMenu, name: str, title: str) -> None:
        names = self._table.lines.names
        narrow = name in names and names.index(name) in self._table.without_room
        text = f"{title} (hidden: no room)" if narrow else title
        action = menu.addAction(visible(text), lambda: self.toggle(name))
        action.setCheckable(True)
        action.setChecked(name in self.names)

    def _reset(self) -> None:
        self.names = list(WINDOW_COLUMNS)
        self._differing = []
        settings.put(_KEY, "")
        self._show()

"""Filter of the library: a field for the filter language, chips for its terms, menus of values and saved searches."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QMenu, QToolButton, QWidget

from app.library_rows import LibraryRows
from app.library_table import GROUPINGS
from app.run_filter import FilterError, RunFilter, Term, parse_filter, term_of
from app.run_matching import TEXTS, parameter_names, values_of_field
from widgets.page import PageName, page_title
from widgets.parts.boxes import column_in, fill, in_row, row_in
from widgets.parts.controls import line_edit, tool_button
from widgets.parts.flow_layout import FlowLayout
from widgets.parts.notice import FieldMessage
from widgets.parts.text import visible
from widgets.theme import SPACE, set_icon

MOST_VALUES = 24
"""Values in a menu; the others are typed."""

_TITLES = {
    "host": "Host", "type": "Instance type", "suite": "Test", "verdict": "Verdict", "limit": "Limited by", "tag": "Tag",
    "baseline": "Baseline", "state": "State", "step": "Step", "kernel": "Kernel", "series": "Session series",
}  # fmt: skip
_DATES = {"Last 24 hours": "24h", "Last 7 days": "7d", "Last 30 days": "30d", "Last year": "365d"}

_TIP = (
    "Words, and terms: host:web-1 rw=randread iodepth>=32 iops>100k verdict:caveats tag:before since:7d\n"
    "A comma separates alternatives, - excludes. Enter makes a chip of each term."
)


class TermChip(QFrame):
    """A term of the filter. Its menu has the values of its field, Delete removes it."""

    removed = Signal(object)  # the Term
    changed = Signal(object, object)  # the Term and its replacement

    def __init__(self, term: Term, values: Callable[[str], Sequence[tuple[str, int]]]) -> None:
        super().__init__()
        self.term, self._values = term, values
        self.setObjectName("card")
        self.setAccessibleName(f"Filter {term}")
        self.button = tool_button(visible(str(term)), tip="Change or exclude")
        self.menu = QMenu(self)
        self.menu.aboutToShow.connect(self._fill_menu)
        self.button.setMenu(self.menu)
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setProperty("flat", True)
        self.close_button = tool_button("×", lambda: self.removed.emit(self.term), tip="Remove (Del)")
        self.close_button.setAccessibleName(f"Remove {term}")
        fill(row_in(self, 0, (SPACE[0], 0, 0, 0)), self.button, self.close_button)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Remove the term."""
        if event.key() in {Qt.Key.Key_Delete, Qt.Key.Key_Backspace}:
            self.removed.emit(self.term)
            return
        super().keyPressEvent(event)

    def _fill_menu(self) -> None:
        self.menu.clear()
        term = self.term
        for value, count in self._values(term.name)[:MOST_VALUES] if term.name else ():
            action = self.menu.addAction(f"{visible(value)}\t{count}")
            action.setCheckable(True)
            action.setChecked(value in term.values)
            action.triggered.connect(lambda _checked, value=value: self.changed.emit(term, _toggled(term, value)))
        self.menu.addSeparator()
        exclude = self.menu.addAction("Exclude", lambda: self.changed.emit(term, _negated(term)))
        exclude.setCheckable(True)
        exclude.setChecked(term.negated)
        self.menu.addAction("Remove", lambda: self.removed.emit(term))


def _negated(term: Term) -> Term:
    return Term(term.name, term.operator, term.values, not term.negated)


def _toggled(term: Term, value: str) -> Term | None:
    """Return the term with or without a value; None without any."""
    others = tuple(one for one in term.values if one != value)
    values = others if value in term.values else (*term.values, value)
    return Term(term.name, "=", values, term.negated) if values else None


class FilterBar(QWidget):
    """Field, chips and menus."""

    changed = Signal()  # to a filter that can be read
    grouping_changed = Signal(str)
    save_requested = Signal(str)  # the text of the filter
    delete_requested = Signal(str)  # the name of a search

    def __init__(self) -> None:
        super().__init__()
        self._library = LibraryRows()
        self._chips = RunFilter()
        self.search = line_edit(
            "Find runs", self._wait, tip=_TIP, clearButtonEnabled=True,
            placeholderText="Find: text, host:web-1, rw=randread, iops>100k, since:7d (Ctrl+F)",
        )  # fmt: skip
        self.add_button = self._menu_button("Filter", "Add a filter by its values", self._fill_fields, "add")
        self.saved_button = self._menu_button("Searches", "Saved searches", self._fill_searches, "save")
        self.group_button = self._menu_button("Group", "Group the runs", self._fill_groups, "")
        self.grouping = ""
        self.shown = RunFilter()
        """The last filter that could be read."""

        self.message = FieldMessage()
        self._row = QWidget()
        self._flow = FlowLayout(self._row, SPACE[0])
        self._delay = QTimer(self, singleShot=True, interval=0)  # keys that have arrived are one change
        self._delay.timeout.connect(self.apply)
        self.search.returnPressed.connect(self.make_chips)
        self.search.installEventFilter(self)
        self._arrange()

    @property
    def filter(self) -> RunFilter:
        """The chips and what is in the field. Raises FilterError."""
        return RunFilter((*self._chips.terms, *parse_filter(self.search.text()).terms))

    def show_library(self, library: LibraryRows) -> None:
        """Offer the values and the searches of `library`."""
        self._library = library

    def set_filter(self, wanted: RunFilter) -> None:
        """Show a filter as chips, its free text in the field."""
        words = RunFilter(tuple(term for term in wanted.terms if not term.name))
        self._set_text(str(words))
        self._set_chips(RunFilter(tuple(term for term in wanted.terms if term.name)))

    def clear(self) -> None:
        """Remove every term."""
        self.set_filter(RunFilter())

    def show_error(self, error: FilterError) -> None:
        """Show what is wrong with the filter; the rows stay as they are."""
        self.message.show_message("warning", str(error))
        self.message.show()

    def apply(self) -> None:
        """Emit the filter, or show why it cannot be read."""
        self._delay.stop()
        try:
            wanted = self.filter
        except FilterError as error:
            self.show_error(error)
            return
        self.message.clear()
        self.message.hide()
        self.shown = wanted
        self.changed.emit()

    def make_chips(self) -> None:
        """Turn the terms in the field into chips; free text stays."""
        try:
            self.set_filter(self.filter)
        except FilterError as error:
            self.show_error(error)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Remove the last chip with Backspace in the empty field, which takes the key itself."""
        removes = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Backspace and not self.search.text()
        if removes and event.type() is QEvent.Type.KeyPress and self._chips.terms:
            self._set_chips(RunFilter(self._chips.terms[:-1]))
            return True
        return super().eventFilter(watched, event)

    def _wait(self) -> None:
        self._delay.start()

    def _set_text(self, text: str) -> None:
        self.search.blockSignals(True)
        self.search.setText(text)
        self.search.blockSignals(False)

    def _set_chips(self, wanted: RunFilter) -> None:
        if wanted != self._chips:
            self._chips = wanted
            while (item := self._flow.takeAt(0)) is not None:
                if (widget := item.widget()) is not None:
                    widget.hide()
                    widget.deleteLater()
            for term in wanted.terms:
                chip = TermChip(term, self._values)
                chip.removed.connect(lambda term: self._set_chips(self._chips.without(term)))
                chip.changed.connect(self._replace)
                self._flow.addWidget(chip)
        self._row.setVisible(bool(wanted.terms))
        self.apply()

    def _replace(self, old: Term, new: Term | None) -> None:
        terms = (new if one == old else one for one in self._chips.terms)
        self._set_chips(RunFilter(tuple(one for one in terms if one is not None)))

    def _add(self, term: Term) -> None:
        self._set_chips(self._chips.with_term(term))

    def _values(self, name: str) -> Sequence[tuple[str, int]]:
        rows = (row for row in self._library.rows if not row.binned)
        return values_of_field(rows, parameter_names(self._library.configurations).get(name, name))

    def _menu_button(self, text: str, tip: str, fill_menu: Callable[[QMenu], None], icon: str) -> QToolButton:
        button = tool_button(text, tip=tip)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        if icon:
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            set_icon(button, icon)
        menu = QMenu(button)
        menu.aboutToShow.connect(lambda: fill_menu(menu))
        button.setMenu(menu)
        return button

    def _fill_fields(self, menu: QMenu) -> None:
        menu.clear()
        for name in TEXTS:
            if name in _TITLES:
                self._add_values(menu.addMenu(_TITLES[name]), name)
        parameters = menu.addMenu("Parameter")
        texts: dict[tuple[str, str], set[str]] = {}
        for one in self._library.configurations:
            for name, parameter in one.values.items():
                texts.setdefault((parameter.token, name), set()).add(parameter.text)
        for (token, name), found in sorted(texts.items()):
            if len(found) > 1:
                self._add_values(parameters.addMenu(token), name)
        parameters.setEnabled(not parameters.isEmpty())
        metrics = menu.addMenu("Metric")
        for name, metric in sorted(self._library.metrics.items()):
            metrics.addAction(f"{metric.title} ({name})", partial(self._begin, f"{name}>"))
        metrics.setEnabled(not metrics.isEmpty())
        dates = menu.addMenu("Started")
        for title, value in _DATES.items():
            dates.addAction(title, partial(self._add, Term("since", ":", (value,))))
        menu.addSeparator()
        menu.addAction("Bin", lambda: self._add(Term("bin", ":", ("yes",))))

    def _add_values(self, menu: QMenu, name: str) -> None:
        """Fill a menu with the values of a field when it is opened: each reads every row."""

        def fill_menu() -> None:
            menu.clear()
            found = self._values(name)
            for value, count in found[:MOST_VALUES]:
                menu.addAction(f"{visible(value)}\t{count}", partial(self._add, term_of(name, value)))
            if not found:
                menu.addAction("No values").setEnabled(False)

        menu.aboutToShow.connect(fill_menu)

    def _begin(self, text: str) -> None:
        """Begin a term in the field."""
        self._set_text(f"{self.search.text()} {text}".strip())
        self.search.setFocus()

    def _fill_searches(self, menu: QMenu) -> None:
        menu.clear()
        for name, text in self._library.searches.items():
            menu.addAction(visible(name), partial(self.show_search, text)).setToolTip(text)
        menu.addSeparator()
        text = str(RunFilter((*self._chips.terms, *_readable(self.search).terms)))
        menu.addAction("Save this search…", lambda: self.save_requested.emit(text)).setEnabled(bool(text))
        deleting = menu.addMenu("Delete")
        for name in self._library.searches:
            deleting.addAction(visible(name), partial(self.delete_requested.emit, name))
        deleting.setEnabled(bool(self._library.searches))

    def show_search(self, text: str) -> None:
        """Show the filter written as `text`."""
        try:
            self.set_filter(parse_filter(text))
        except FilterError as error:  # it was saved by another version
            self.show_error(error)

    def _fill_groups(self, menu: QMenu) -> None:
        menu.clear()
        for name, title in {"": "No groups", **{name: name.capitalize() for name in GROUPINGS}}.items():
            action = menu.addAction(title, partial(self.set_grouping, name))
            action.setCheckable(True)
            action.setChecked(name == self.grouping)

    def set_grouping(self, name: str) -> None:
        """Group the runs by `name`; an empty text: not."""
        self.grouping = name
        self.group_button.setText(f"Group: {name}" if name else "Group")
        self.grouping_changed.emit(name)

    def _arrange(self) -> None:
        title = page_title(PageName.LIBRARY)
        buttons = in_row(self.add_button, self.saved_button, self.group_button, spacing=SPACE[0])
        first = in_row(title, (self.search, 1), buttons, spacing=SPACE[2])
        fill(column_in(self, SPACE[1]), first, self._row, self.message)
        self._row.hide()
        self.message.hide()


def _readable(field: QLineEdit) -> RunFilter:
    try:
        return parse_filter(field.text())
    except FilterError:
        return RunFilter()

"""The pages of the window: their names, and their base class."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.parts.text import Text
from widgets.theme import SPACE, TextSize, text_font

if TYPE_CHECKING:
    from widgets.parts.issues_drawer import IssuesDrawer


class PageName(StrEnum):
    """Pages of the window; the value is the title."""

    HOSTS = "Hosts"
    MEASURE = "New test"
    LIVE = "Live"
    LIBRARY = "Library"
    COMPARE = "Compare"
    FLEET = "Fleet"
    JUDGE = "Judge"
    INVESTIGATIONS = "Investigations"
    HELP = "Help"


class PageSign(NamedTuple):
    """Icon, purpose, shortcut and help topic of a page."""

    icon: str
    purpose: str
    keys: str
    topic: str


SIGNS: Mapping[PageName, PageSign] = {
    name: PageSign(icon, purpose, f"Ctrl+{number}", topic)
    for number, (name, icon, purpose, topic) in enumerate(
        (
            (PageName.HOSTS, "hosts", "Hosts and their facts", "connections"),
            (PageName.MEASURE, "measure", "Choose, tune and check tests", "tour"),
            (PageName.LIVE, "live", "Watch the run under way", "telemetry"),
            (PageName.LIBRARY, "library", "Stored runs", "library"),
            (PageName.COMPARE, "compare", "Compare runs with a baseline", "comparison"),
            (PageName.JUDGE, "agrees", "Judge outputs of tools that ran elsewhere", "judging"),
            (PageName.INVESTIGATIONS, "search", "Questions with their runs, notes and conclusion", "investigations"),
            (PageName.HELP, "help", "Tour, glossary, rules and keyboard", "tour"),
            (PageName.FLEET, "fleet", "One plan on every host of some groups", "fleet"),
        ),
        start=1,
    )
}


PAGE_MARGINS = (SPACE[3], SPACE[2], SPACE[3], SPACE[2])
"""Space around the content of a page."""


def page_title(name: PageName) -> Text:
    """Return the title at the top left of a page."""
    return Text(name.value, font=text_font(TextSize.TITLE, bold=True), wrap=False)


class Page(QWidget):
    """Base class of pages. The window connects pages to each other through their signals.

    `drawer` is the page's drawer of issues, or None; F9 folds or opens it.
    """

    status = Signal(str)  # one line for the status bar
    help_requested = Signal(str)  # a help topic
    library_damaged = Signal(object)  # a BenchwrightError
    salvage_requested = Signal()
    other_library_requested = Signal()

    def __init__(self, workstation: Workstation, asker: Asker) -> None:
        super().__init__()
        self.workstation = workstation
        self.asker = asker
        self.drawer: IssuesDrawer | None = None
        self._first: QWidget | None = None

    def begin_at(self, first: QWidget) -> None:
        """Set the widget that gets the focus when the page is shown.

        Not a focus proxy: Tab would then never reach the widgets before it.
        """
        self._first = first

    def take_focus(self) -> None:
        """Focus the page's first widget."""
        (self._first or self).setFocus()

    def activated(self) -> None:
        """Refresh the page after it was shown."""

    def report_damage(self, error: BenchwrightError) -> bool:
        """Emit `library_damaged` if `error` is a DamagedError; return whether it is."""
        from app.store.errors import DamagedError

        damaged = isinstance(error, DamagedError)
        if damaged:
            self.library_damaged.emit(error)
        return damaged

    def export(self) -> bool:
        """Offer to export the page's content; return whether there is any."""
        return False

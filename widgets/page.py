"""What every page of the window has in common."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError


class Page(QWidget):
    """One task in the middle of the window; the window wires pages to each other through their signals.

    `side` explains what the middle shows (findings, facts, exact commands); the window puts it on the right,
    where it folds away. A page without one leaves the right empty.
    """

    status = Signal(str)  # one line for the bar at the bottom
    help_requested = Signal(str)  # the topic of the help that is asked for
    library_damaged = Signal(object)  # the BenchwrightError that says so
    salvage_requested = Signal()
    other_library_requested = Signal()

    def __init__(self, workstation: Workstation, asker: Asker, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.workstation = workstation
        self.asker = asker
        self.side: QWidget | None = None
        self._first: QWidget | None = None

    def begin_at(self, first: QWidget) -> None:
        """Let the keyboard begin at `first` when the page is brought to the front.

        A focus proxy would do that as well, but Tab then goes on behind it: what stands before it is never reached.
        """
        self._first = first

    def take_focus(self) -> None:
        """Put the keyboard where the page begins."""
        (self._first or self).setFocus()

    def activated(self) -> None:
        """The page has been brought to the front: read anew what may have changed."""

    def tell_damage(self, error: BenchwrightError) -> bool:
        """Let the window say that the library is damaged, where `error` says that; return whether it does."""
        from app.store.errors import DamagedError

        damaged = isinstance(error, DamagedError)
        if damaged:
            self.library_damaged.emit(error)
        return damaged

    def export(self) -> bool:
        """Offer to export what the page shows; return whether there is something to export."""
        return False

"""What stands in the place of the runs while the library cannot be read: what is wrong, and the way on."""

from PySide6.QtCore import SignalInstance
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.store.errors import DamagedError
from suites.errors import BenchwrightError
from widgets.parts.empty_state import EmptyState


class Unreadable(QWidget):
    """Says why the library cannot be read. `salvage` asks to save a damaged one, `choose` to open another."""

    def __init__(self, salvage: SignalInstance, choose: SignalInstance) -> None:
        super().__init__()
        self._salvage, self._choose = salvage, choose
        self.state: EmptyState | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)

    def show_error(self, error: BenchwrightError) -> None:
        """Show what `error` says of the library."""
        if self.state is not None:
            self._column.removeWidget(self.state)
            self.state.deleteLater()
        self.state = self._damaged() if isinstance(error, DamagedError) else self._closed(error)
        self._column.addWidget(self.state)

    def _damaged(self) -> EmptyState:
        state = EmptyState(
            "The library is damaged",
            "Its runs cannot be listed. Save what is readable to a new library: it opens with the runs that are whole. "
            "The damaged file is not changed.",
            "Save what can be read…",
            self._salvage.emit,
            icon="error",
        )
        state.add_action("Open another…", self._choose.emit)
        return state

    def _closed(self, error: BenchwrightError) -> EmptyState:
        words = f"{error.message} {error.remedy}".strip()
        return EmptyState("The library cannot be read", words, "Open another…", self._choose.emit, icon="error")

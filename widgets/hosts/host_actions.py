"""Actions on the selected hosts, shared by the menus, the buttons of the card and the sidebar."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from app.hosts.hosts import HostEntry, Origin
from widgets.parts.actions import offer

ONE = "Select one host"


class HostActions(QObject):
    """Actions on hosts; the page does the work when one is triggered."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.new_test = self._make("New test")
        self.fleet = self._make("Fleet study…")
        self.quick = self._make("Quick benchmark")
        self.test = self._make("Test connection")
        self.facts = self._make("Read facts")
        self.edit = self._make("Edit connection…", "F2")
        self.calibrate = self._make("Calibrate…")
        self.limits = self._make("Cloud limits…")
        self.leftovers = self._make("Leftovers…")
        self.restore = self._make("Restore settings…")
        self.forget = self._make("Forget password and passphrases")
        self.remove = self._make("Remove", "Del")

    def all(self) -> Sequence[QAction]:
        """Return the actions in display order."""
        return (self.new_test, self.fleet, self.quick, *self.on_page())

    def on_page(self) -> Sequence[QAction]:
        """Return the actions whose result the page shows."""
        return (
            self.test, self.facts, self.edit, self.calibrate, self.limits, self.leftovers, self.restore, self.forget,
            self.remove,
        )  # fmt: skip

    def show_chosen(self, chosen: Sequence[HostEntry], *, busy: bool) -> None:
        """Enable the actions that apply to `chosen`; `busy`: the host is being connected to."""
        one = len(chosen) == 1
        local = one and chosen[0].origin is Origin.THIS_COMPUTER
        here = "This computer needs no connection" if local else ONE
        plan = "Plan a test on the selected hosts" if len(chosen) > 1 else "Plan a test on this host"
        offer(self.new_test, bool(chosen), plan, "Select a host")
        offer(self.fleet, bool(chosen), "Measure a plan on the selected hosts, in sessions", "Select a host")
        offer(self.quick, one, "CPU, memory and disk in under 90 s", ONE)
        offer(self.test, one and not local and not busy, "Connect, and read the facts", here)
        offer(self.facts, one and not busy, "Read the facts of the host again", ONE)
        offer(self.edit, one and not local, "Edit name, address and sign-in", here)
        offer(self.calibrate, one, "Measure the noise of this host to derive its own margins", ONE)
        offer(self.limits, one, "Limits of the instance and its volumes, from your cloud CLI", ONE)
        offer(self.leftovers, one, "Directories and processes left on the host by interrupted runs", ONE)
        offer(self.restore, one, "Restore settings that runs have changed", ONE)
        offer(self.forget, one and not local, "Delete stored passwords and passphrases of the host", here)
        saved = one and chosen[0].origin is Origin.SAVED
        aliases = "Remove aliases in ~/.ssh/config" if one and not local else here
        offer(self.remove, saved, "Remove the host from the list; its runs stay", aliases)
        for action in (self.quick, self.calibrate, self.limits, self.leftovers):
            action.setVisible(one)
        for action in (self.test, self.edit):
            action.setVisible(one and not local)
        self.remove.setVisible(saved)

    def _make(self, text: str, keys: str = "") -> QAction:
        context = Qt.ShortcutContext.WidgetShortcut
        return QAction(text, self, shortcut=QKeySequence(keys), shortcutContext=context)

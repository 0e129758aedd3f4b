"""Presence of runs outside the window: its title, the taskbar and notifications of the desktop."""

from collections.abc import Sequence

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMainWindow

from widgets import settings
from widgets.run_strip import LineState, RunLine, counts_text

PROGRAM = "Benchwright"
NOTIFIES = "notify"


class Presence(QObject):
    """Shows runs in the title of the window."""

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.notifies = settings.text(NOTIFIES, "yes") == "yes"

    def set_notifies(self, on: bool) -> None:  # noqa: FBT001 (a slot of QAction.toggled)
        """Switch notifications on or off."""
        self.notifies = on
        settings.put(NOTIFIES, "yes" if on else "no")

    def show_lines(self, lines: Sequence[RunLine]) -> None:
        """Show the runs under way."""
        self._window.setWindowTitle(title_of(lines))


def title_of(lines: Sequence[RunLine]) -> str:
    """Return the title: ``412k IOPS · 4:10 left – Benchwright``, or the number of several runs."""
    running = [line for line in lines if line.state is LineState.RUNNING]
    text = counts_text(lines)
    if len(running) == 1 and not text:
        text = " · ".join(filter(None, [running[0].figure, running[0].left])) or running[0].detail
    return f"{text} – {PROGRAM}" if text else PROGRAM

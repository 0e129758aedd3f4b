"""Presence of runs outside the window: its title, the taskbar and notifications of the desktop."""

from collections.abc import Sequence

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QDialog, QMainWindow

from widgets import desktop, settings
from widgets.run_strip import LineState, StripLine, counts_text, only_run_text

PROGRAM = "Benchwright"

NOTIFIES = "notify"
"""Key of the setting whether to notify."""


class Presence(QObject):
    """Shows runs in the title and the taskbar; notifies when one ends or asks while no window is active."""

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._share: float | None = None
        self._states: dict[str, LineState] = {}
        self.notifies = settings.flag(NOTIFIES, default=True)

    def set_notifies(self, on: bool) -> None:  # noqa: FBT001 (a slot of QAction.toggled)
        """Switch notifications on or off."""
        self.notifies = on
        settings.put(NOTIFIES, "yes" if on else "no")

    def show_lines(self, lines: Sequence[StripLine]) -> None:
        """Show the runs, and notify of those that have ended since."""
        title = title_of(lines)
        if title != self._window.windowTitle():
            self._window.setWindowTitle(title)
        share = share_of(lines)
        if share != self._share:
            self._share = share
            desktop.show_taskbar_progress(share)
        for line in lines:
            before = self._states.get(line.key)
            if before is LineState.RUNNING and not line.state.waits and line.state is not before:
                self._notify(f"{line.title}: {line.detail}", line.figure)
        self._states = {line.key: line.state for line in lines}

    def note_question(self, dialog: QDialog) -> None:
        """Notify of a question that a run asks."""
        self._notify("Benchwright needs an answer", dialog.windowTitle())

    def note_end(self, title: str, text: str) -> None:
        """Notify of the end of a fleet study."""
        self._notify(title, text)

    def _notify(self, title: str, text: str) -> None:
        if self.notifies and QApplication.activeWindow() is None:
            desktop.notify(title, text)


def title_of(lines: Sequence[StripLine]) -> str:
    """Return the title: ``412k IOPS · trial 2 of 6 · about 4 min left – Benchwright``, or the number of runs."""
    running = [line for line in lines if line.state is LineState.RUNNING]
    text = counts_text(lines)
    if len(running) == 1 and not text:
        text = " · ".join(filter(None, [running[0].figure, running[0].doing, running[0].left])) or running[0].detail
    elif not text:
        text = only_run_text(lines)
    return f"{text} – {PROGRAM}" if text else PROGRAM


def share_of(lines: Sequence[StripLine]) -> float | None:
    """Return the share done of the runs under way, to the percent; None if one of them is unknown or there are none."""
    shares = [line.share for line in lines if line.state is LineState.RUNNING]
    known = [share for share in shares if share is not None]
    return round(sum(known) / len(known), 2) if known and len(known) == len(shares) else None

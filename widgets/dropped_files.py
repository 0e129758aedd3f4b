"""Files dropped on the window: plans and job files open in the wizard, libraries as such, all others are judged."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget

from widgets.library.library_bar import LibraryBar

Open = Callable[[Path], object]


class DroppedFiles(QObject):
    """Opens what is dropped on a widget. `opens` maps a file name's ending to what opens such a file, `judge` takes
    files and folders of no such ending; `bar` names what was not opened until the next drop."""

    def __init__(
        self, window: QWidget, opens: Mapping[str, Open], judge: Callable[[Sequence[Path]], object], bar: LibraryBar
    ) -> None:
        super().__init__(window)
        self._opens, self._judge = opens, judge
        self._bar = bar
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Accept files, and open them when they are dropped."""
        if isinstance(event, QDragEnterEvent) and any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()
            return True
        if isinstance(event, QDropEvent) and event.type() is QEvent.Type.Drop and (files := _files(event)):
            event.acceptProposedAction()
            self.open(files)
            return True
        return super().eventFilter(watched, event)

    def open(self, paths: Sequence[Path]) -> None:
        """Open the first file of a known type, and name the others; without one, judge them as outputs of tools."""
        self._bar.end_failure()
        known = [path for path in paths if path.suffix.lower() in self._opens]
        if not known:
            self._judge(paths)
            return
        self._opens[known[0].suffix.lower()](known[0])
        others = [path for path in paths if path != known[0]]
        if others:
            self._bar.show_failure(f"Opened {known[0].name}.", f"One file at a time. Not opened: {_names(others)}.")


def _files(event: QDropEvent) -> list[Path]:
    return [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]


def _names(paths: Sequence[Path]) -> str:
    names = [path.name[:60] for path in paths[:3]]
    return ", ".join(names) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")

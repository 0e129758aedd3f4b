"""A bar about the library as a whole: it is damaged, or of a newer Benchwright; save what can be read, open another."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QPushButton, QWidget

from app.events import LibraryChanged
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import Job
from widgets.parts.notice import Notice
from widgets.parts.text import set_tool_tip

if TYPE_CHECKING:
    from app.store.salvage import Salvaged

_FILES = "Libraries (*.sqlite3);;All files (*)"
_WAITS = "The run is paused: new measurements are in memory, and the trial continues on its host."
_STAYS = "Save what is readable to a new library. The damaged file is not changed."


class LibraryBar(Notice):
    """Hidden while there is nothing to say. It never writes to the library that it tells of."""

    opened = Signal()  # another library is the workstation's now
    save_requested = Signal(Path)  # a new file for the run under way

    def __init__(self, workstation: Workstation, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self.is_measuring: Callable[[], bool] = lambda: False
        self._lost, self._lost_path = "", workstation.library_path
        self.save_button = QPushButton("Save what can be read…")
        self.save_as_button = QPushButton("Save as…")
        self.other_button = QPushButton("Open another…")
        self.close_button = QPushButton("Close")
        set_tool_tip(self.save_button, "Write what can still be read to a new file, and open that")
        set_tool_tip(self.other_button, "Choose another library, or name a new one")
        self.save_button.clicked.connect(self.ask_where_to_save)
        self.other_button.clicked.connect(self.ask_for_another)
        self.close_button.clicked.connect(self.hide)
        set_tool_tip(self.save_as_button, "Write what was measured to a new library, and continue there")
        self.save_as_button.clicked.connect(self._ask_for_place)
        self._buttons = (self.save_button, self.save_as_button, self.other_button, self.close_button)
        row = self.layout()
        if row is not None:
            for button in self._buttons:
                row.addWidget(button)

    def refresh(self) -> None:
        """Look at whether the library can be written."""
        job = Job(self._workstation.read_only, self)
        job.returned.connect(self.show_read_only)
        job.failed.connect(self.show_error)
        job.start()

    def show_read_only(self, newer: BenchwrightError | None) -> None:
        """Say that the library can only be read; `newer` tells why, None that this is not so."""
        if newer is not None:
            self._offer(self.other_button)
            self.say("info", newer.message, newer.remedy)

    def show_error(self, error: BenchwrightError) -> None:
        """Offer a way on where `error` says that the library is damaged; whoever asked says of others what they are."""
        from app.store.errors import DamagedError

        if isinstance(error, DamagedError):
            self._offer(self.save_button, self.other_button)
            self.say("error", error.message, _STAYS)

    # The library takes nothing of the run under way

    def show_change(self, change: LibraryChanged) -> None:
        """Say that the library takes nothing of the run under way, or that it takes everything again."""
        if change.problem == self._lost:  # said anew for as long as it is so
            return
        self._lost = change.problem
        if change.problem:
            self._lost_path = change.path
            self._offer(self.save_as_button)
            on_stop = f"Stop ends the run: {change.on_stop}." if change.on_stop else ""
            self.say("error", change.problem, f"{change.remedy} {_WAITS} {on_stop}".strip())
            return
        self._offer(self.close_button)
        again = f" The next time, start with: benchwright --store {shlex.quote(str(change.path))}"
        moved = change.path != self._lost_path
        said = "The run is saved in another library." if moved else "The library takes the run again."
        self.say("good", said, f"It is in {change.path}.{again if moved else ''}")
        self.opened.emit()

    def _ask_for_place(self) -> None:
        lost = self._workstation.library_path
        chooser = self._chooser("Save the run and the library", lost.with_name(f"{lost.stem}-saved{lost.suffix}"))
        chooser.fileSelected.connect(lambda path: self.save_requested.emit(Path(path)))
        chooser.open()

    # Save what can be read

    def ask_where_to_save(self) -> None:
        """Ask for a new file, and save what can be read of the library to it."""
        damaged = self._workstation.library_path
        chooser = self._chooser("Save what can be read", damaged.with_name(f"{damaged.stem}-saved{damaged.suffix}"))
        chooser.fileSelected.connect(lambda path: self._save(Path(path)))
        chooser.open()

    def _save(self, new: Path) -> None:
        workstation = self._workstation
        job = self._begin(lambda: workstation.salvage(new), "Saving what can be read…")
        job.returned.connect(lambda saved: self._say_saved(saved, new))
        job.start()

    def _say_saved(self, saved: "Salvaged", new: Path) -> None:
        from app.store.salvage import saved_text

        self._offer(self.close_button)
        said, doubt = saved_text(saved, new)
        again = (
            f"It is open now. The next time, open it again, or start with: benchwright --store {shlex.quote(str(new))}"
        )
        self.say("warning" if doubt else "good", said, f"{doubt} {again}".strip())
        self.opened.emit()

    # Open another

    def ask_for_another(self) -> None:
        """Ask for another library, and open it."""
        chooser = self._chooser("Open a library", self._workstation.library_path.parent, "Open")
        chooser.fileSelected.connect(lambda path: self._open(Path(path)))
        chooser.open()

    def _open(self, path: Path) -> None:
        workstation = self._workstation
        job = self._begin(lambda: workstation.open_library(path), "Opening…")
        job.returned.connect(lambda _nothing: self._have_opened())
        job.start()

    def _have_opened(self) -> None:
        self.hide()
        self.refresh()
        self.opened.emit()

    # Both

    def _chooser(self, title: str, at: Path, accept: str = "Save") -> QFileDialog:
        chooser = QFileDialog(self, title, str(at), _FILES)
        chooser.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        chooser.setLabelText(QFileDialog.DialogLabel.Accept, accept)
        chooser.setOption(QFileDialog.Option.DontConfirmOverwrite)  # no library is ever overwritten
        chooser.setDefaultSuffix("sqlite3")
        chooser.finished.connect(chooser.deleteLater)
        return chooser

    def _begin(self, work: Callable[[], object], said: str) -> Job:
        """Prepare `work`, which leads to another library; not while something is measured into this one."""
        offered = [button for button in self._buttons if not button.isHidden()]
        job = Job(_refuse if self.is_measuring() else work, self)
        job.failed.connect(lambda error: self._say_failed(error, offered))
        self._offer()
        self.say("info", said)
        return job

    def _say_failed(self, error: BenchwrightError, offered: Sequence[QPushButton]) -> None:
        self._offer(*offered)
        self.say_error(error)

    def _offer(self, *buttons: QPushButton) -> None:
        for button in self._buttons:
            button.setVisible(button in buttons)


def _refuse() -> None:
    raise BenchwrightError("A measurement is running, which is kept in this library.", "Stop it or wait for its end.")

"""Library that cannot be read or written: bar above the page, and replacement of the run list."""

import shlex
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal, SignalInstance
from PySide6.QtWidgets import QFileDialog, QPushButton, QWidget

from app.events import LibraryChanged
from app.library_location import Location, LocationError
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text
from widgets.jobs import BackgroundJob
from widgets.library.open_dialog import OpenLibraryDialog, open_with_password
from widgets.library.run_rows import list_runs, run_start
from widgets.parts.boxes import column_in
from widgets.parts.controls import push_button
from widgets.parts.dialogs import QuestionDialog, ask_for_file, opened
from widgets.parts.empty_state import EmptyState
from widgets.parts.notice import Notice
from widgets.parts.text import set_tool_tip

if TYPE_CHECKING:
    from app.store.run_transfer import FinishedRun, Transfer
    from app.store.salvage import Salvaged


class Unreadable(QWidget):
    """Shows why the library cannot be read. `salvage` requests the salvage of a damaged one, `choose` another one."""

    def __init__(self, salvage: SignalInstance, choose: SignalInstance) -> None:
        super().__init__()
        self._salvage, self._choose = salvage, choose
        self.state: EmptyState | None = None
        self._column = column_in(self)

    def show_error(self, error: BenchwrightError) -> None:
        """Show `error`, with salvage for a damaged library."""
        from app.store.errors import DamagedError

        if self.state is not None:
            self._column.removeWidget(self.state)
            self.state.deleteLater()
        self.state = self._damaged() if isinstance(error, DamagedError) else self._closed(error)
        self._column.addWidget(self.state)

    def _damaged(self) -> EmptyState:
        state = EmptyState(
            "The library is damaged",
            f"Its runs cannot be listed. {_SALVAGE}",
            "Salvage…",
            self._salvage.emit,
            icon="error",
        )
        state.add_action("Open another…", self._choose.emit)
        return state

    def _closed(self, error: BenchwrightError) -> EmptyState:
        from app.store.errors import PasswordError

        text = f"{error.message} {error.remedy}".strip()
        action = "Sign in…" if isinstance(error, PasswordError) else "Open another…"
        return EmptyState("The library cannot be read", text, action, self._choose.emit, icon="error")


_FILES = "Libraries (*.sqlite3);;All files (*)"
_BUNDLES = "Libraries and reports (*.sqlite3 *.html);;All files (*)"
_PAUSED = "The run is paused: new measurements are in memory, and the trial continues on its host."
_SALVAGE = "Salvage the intact runs into a new library. The damaged file is not changed."


class _Topic(Enum):
    """What the bar is about, and so what ends it."""

    READ_ONLY = auto()  # until the library is writable
    DAMAGE = auto()  # until the library is read again
    FAILURE = auto()  # an action that failed: until another library opens
    REFUSAL = auto()  # an action refused because of a run: until a run ends
    RUN = auto()  # the run under way, or the result of an action


class LibraryBar(Notice):
    """Bar about the state of the library, hidden while there is no problem. It never writes to that library."""

    opened = Signal()  # the workstation uses another library now
    imported = Signal()
    save_requested = Signal(Path)  # a new file for the current run

    def __init__(self, workstation: Workstation) -> None:
        super().__init__()
        self._workstation = workstation
        self.is_measuring: Callable[[], bool] = lambda: False
        self._lost, self._lost_path = "", workstation.library_location
        self._topic, self._listed = _Topic.RUN, True
        self._asking: OpenLibraryDialog | None = None
        self._asked: Location | None = None  # the library whose password was asked for unrequested
        self.save_button = QPushButton("Salvage…")
        self.save_as_button = QPushButton("Save as…")
        self.other_button = push_button("Open another…", self.choose_library, tip="Open another library or create one")
        self.close_button = QPushButton("Close")
        set_tool_tip(self.save_button, "Copy the readable runs to a new library and open it")
        self.save_button.clicked.connect(self.choose_salvage_path)
        self.close_button.clicked.connect(self._dismiss)
        set_tool_tip(self.save_as_button, "Save the results to a new library and continue there")
        self.save_as_button.clicked.connect(self._choose_save_path)
        self.cancel_button = push_button("Cancel", self._cancel)
        self._transferring: BackgroundJob | None = None
        self._buttons = (
            self.save_button,
            self.save_as_button,
            self.other_button,
            self.cancel_button,
            self.close_button,
        )
        row = self.layout()
        if row is not None:
            for button in self._buttons:
                row.addWidget(button)

    def refresh(self) -> None:
        """Check whether the library is writable."""
        BackgroundJob(self._workstation.read_only, self).start(self.show_read_only, self.show_damage)

    def show_read_only(self, newer: BenchwrightError | None) -> None:
        """Show that the library is read-only because of `newer`; None: it is writable."""
        if newer is None:
            self._end(_Topic.READ_ONLY, *([] if self.is_measuring() else [_Topic.REFUSAL]))
        elif self.isHidden() or self._topic in {_Topic.READ_ONLY, _Topic.REFUSAL}:
            self._offer(_Topic.READ_ONLY, self.other_button)
            self.show_message("info", newer.message, newer.remedy)

    def show_unlisted(self, error: BenchwrightError) -> None:
        """Show that the list of runs cannot be read because of `error`; ask for a password that is missing."""
        from app.store.errors import PasswordError

        self._listed = False
        self.show_damage(error)
        location = self._workstation.library_location
        if isinstance(error, PasswordError) and self._asked != location:  # once: the library is read again and again
            self._asked = location
            self._ask_password(location, refused=False)

    def show_listed(self) -> None:
        """Show that the list of runs was read; damage that it was read despite of stays shown."""
        if not self._listed:
            self._end(_Topic.DAMAGE)
        self._listed = True

    def show_damage(self, error: BenchwrightError) -> None:
        """Offer salvage for a damaged library; callers show other errors themselves."""
        from app.store.errors import DamagedError

        if isinstance(error, DamagedError):
            self._offer(_Topic.DAMAGE, self.save_button, self.other_button)
            self.show_message("error", error.message, _SALVAGE)

    def _end(self, *topics: _Topic) -> None:
        if self._topic in topics:
            self.hide()

    def show_failure(self, message: str, remedy: str) -> None:
        """Show what an action did not do."""
        self._offer(_Topic.FAILURE, self.close_button)
        self.show_message("warning", message, remedy)

    def end_failure(self) -> None:
        """Close what an action before could not do."""
        if self._topic is _Topic.FAILURE:
            self._dismiss()

    def _dismiss(self) -> None:
        """Close the bar; behind a failed action is the state of the library."""
        self.hide()
        if self._topic in {_Topic.FAILURE, _Topic.REFUSAL}:
            self.refresh()

    # Library not writable during a run

    def show_change(self, change: LibraryChanged) -> None:
        """Show that the library stopped or resumed storing the current run."""
        if change.problem == self._lost:  # the event repeats while the problem persists
            return
        self._lost = change.problem
        if change.problem:
            self._lost_path = change.path
            self._offer(_Topic.RUN, self.save_as_button)
            on_stop = f"Stop ends the run: {change.on_stop}." if change.on_stop else ""
            self.show_message("error", change.problem, f"{change.remedy} {_PAUSED} {on_stop}".strip())
            return
        self._offer(_Topic.RUN, self.close_button)
        moved = change.path != self._lost_path
        title = "The run is saved in another library." if moved else "The library is writable again."
        self.show_message("good", title, f"Library: {change.path}.{f' {_next_time(change.path)}' if moved else ''}")
        self.opened.emit()

    def _choose_save_path(self) -> None:
        lost = self._workstation.library_path
        chooser = self._chooser("Save the run and the library", lost.with_name(f"{lost.stem}-saved{lost.suffix}"))
        chooser.fileSelected.connect(lambda path: self.save_requested.emit(Path(path)))
        opened(chooser)

    # Salvage

    def choose_salvage_path(self) -> None:
        """Ask for a new file and salvage the library into it."""
        damaged = self._workstation.library_path
        chooser = self._chooser("Salvage the library", damaged.with_name(f"{damaged.stem}-saved{damaged.suffix}"))
        chooser.fileSelected.connect(lambda path: self._save(Path(path)))
        opened(chooser)

    def _save(self, new: Path) -> None:
        workstation = self._workstation
        job = self._begin(lambda: workstation.salvage(new), "Salvaging…")
        job.returned.connect(lambda saved: self._show_saved(saved, new))
        job.start()

    def _show_saved(self, saved: "Salvaged", new: Path) -> None:
        from app.store.salvage import saved_text

        self._offer(_Topic.RUN, self.close_button)
        title, doubt = saved_text(saved, new)
        self.show_message("warning" if doubt else "good", title, f"{doubt} It is open now. {_next_time(new)}".strip())
        self.opened.emit()

    # Open another

    def choose_import(self) -> None:
        """Ask for the library of another Benchwright, and what to do with it."""
        ask_for_file(self, "Import runs", self.open_dropped, _BUNDLES.split(";;"))

    def choose_other(self) -> None:
        """Ask for another library in place of one that cannot be read: a file in place of a file."""
        if isinstance(self._workstation.library_location, Path):
            self.choose_library()
        else:
            self.choose_location()

    def choose_location(self) -> None:
        """Ask for another library, in a file or on a server, and open it."""
        self._ask_location(self._workstation.library_location)

    def _ask_location(self, location: Location) -> OpenLibraryDialog:
        question = OpenLibraryDialog(self._workstation, location, self)
        question.add_extra_button("Browse…", self.choose_library)
        question.make_default(question.accept_button)
        question.accepted.connect(lambda: self._open_answer(question))
        return opened(question)

    def _open_answer(self, question: OpenLibraryDialog) -> None:
        try:
            location, password = question.answer()
        except LocationError as error:
            self.show_failure(error.message, error.remedy)
            return
        self.open_library(location, password, keep=question.keeps)

    def _ask_password(self, url: Location, *, refused: bool) -> None:
        """Ask for the password of a library on a server; only one question is open at a time."""
        if self._asking is None:
            self._asking = self._ask_location(url)
            self._asking.ask_password(refused=refused)
            self._asking.finished.connect(self._end_asking)

    def _end_asking(self) -> None:
        self._asking = None

    def choose_library(self) -> None:
        """Ask for another library and open it."""
        chooser = self._chooser("Open a library", self._workstation.library_path.parent, "Open")
        chooser.fileSelected.connect(lambda path: self.open_library(Path(path)))
        opened(chooser)

    def open_library(self, location: Location, password: str = "", *, keep: bool = False) -> None:
        """Open the library at `location`; refused while a test is running, unless it is the present one.

        Asks again for a `password` that is missing or wrong; `keep` stores it in the system keyring.
        """
        workstation = self._workstation
        switches = location != workstation.library_location or not password
        job = self._begin(
            lambda: open_with_password(workstation, location, password, keep=keep), "Opening…", switches=switches
        )
        job.returned.connect(self._finish_open)
        job.failed.connect(lambda error: self._ask_again(error, refused=bool(password)))
        job.start()

    def _ask_again(self, error: BenchwrightError, *, refused: bool) -> None:
        from app.store.errors import PasswordError

        if isinstance(error, PasswordError):
            self._dismiss()
            self._ask_password(error.url, refused=refused)

    # Import runs of another library

    def open_dropped(self, path: Path) -> None:
        """Ask whether to import the runs of the library at `path` or to open it."""
        workstation = self._workstation
        job = self._begin(lambda: workstation.runs_to_import(path), "Reading…", switches=False)
        job.returned.connect(lambda runs: self._ask(path, runs))
        job.start()

    def _ask(self, path: Path, runs: "list[FinishedRun]") -> None:
        self.hide()
        number = count_text(len(runs), "finished run")
        text = "The runs are copied into your library. The file is only read, and no command in it is run."
        question = QuestionDialog(f"{number} in {path.name}", text, "Import", self)
        list_runs(question, [(run_start(run), run.name) for run in runs])
        question.accept_button.setEnabled(bool(runs))
        if path.suffix.lower() != ".html":
            question.add_extra_button("Open instead", lambda: self.open_library(path))
        question.accepted.connect(lambda: self._import(path))
        opened(question)

    def _import(self, path: Path) -> None:
        workstation = self._workstation
        self._transfer(lambda: workstation.import_runs(path), "Importing").finished.connect(self.imported)

    # Export runs as a library file

    def export_runs(self, runs: Sequence[str], path: Path) -> None:
        """Write `runs` to a new library at `path`."""
        workstation = self._workstation
        self._transfer(lambda: workstation.export_library(runs, path), "Exporting")

    def back_up(self, path: Path) -> None:
        """Copy the whole library to the new file `path`."""
        workstation = self._workstation
        self._transfer(lambda: workstation.back_up(path), "Backing up")

    def _transfer(self, work: "Callable[[], Iterator[Transfer]]", what: str) -> BackgroundJob:
        """Copy runs with progress in the bar, which shows the last of several; return the job."""
        reached = deque["Transfer"](maxlen=1)
        job = self._begin(work, f"{what}…", switches=False)
        self._transferring = job
        job.yielded.connect(reached.append)
        job.yielded.connect(lambda part: self._show_reached(job, f"{what} {part.done} of {part.total}…"))
        job.failed.connect(lambda _error: reached.clear())
        job.finished.connect(lambda: self._show_transferred(reached[-1]) if reached else None)
        self._offer(_Topic.RUN, self.cancel_button)
        return job.start()

    def _cancel(self) -> None:
        if self._transferring is not None:
            self._transferring.cancel()

    def _show_reached(self, job: BackgroundJob, text: str) -> None:
        if job is self._transferring:
            self.show_message("info", text)

    def _show_transferred(self, end: "Transfer") -> None:
        self._offer(_Topic.FAILURE, self.close_button)
        self.show_message("good" if end.whole else "warning", end.text)

    def _finish_open(self, not_kept: BenchwrightError | None) -> None:
        self.hide()
        self._asked = None
        self.refresh()
        self.opened.emit()
        if not_kept is not None:
            self.show_failure(not_kept.message, not_kept.remedy)

    # Both

    def _chooser(self, title: str, at: Path, accept: str = "Save") -> QFileDialog:
        chooser = QFileDialog(self, title, str(at), _FILES, acceptMode=QFileDialog.AcceptMode.AcceptSave)
        chooser.setLabelText(QFileDialog.DialogLabel.Accept, accept)
        chooser.setOption(QFileDialog.Option.DontConfirmOverwrite)  # existing libraries are never overwritten
        chooser.setDefaultSuffix("sqlite3")
        return chooser

    def _begin(self, work: Callable[[], object], text: str, *, switches: bool = True) -> BackgroundJob:
        """Prepare `work`; if it `switches` libraries, it is refused while a run writes to the current one."""
        offered = {button for button in self._buttons if not button.isHidden()} | {self.close_button}
        measuring = switches and self.is_measuring()
        topic = _Topic.REFUSAL if measuring else _Topic.FAILURE
        job = BackgroundJob(_refuse if measuring else work, self)
        job.failed.connect(lambda error: self._show_failed(error, topic, offered))
        self._offer(_Topic.RUN)
        self.show_message("info", text)
        return job

    def _show_failed(self, error: BenchwrightError, topic: _Topic, offered: Collection[QPushButton]) -> None:
        self._offer(topic, *offered)
        self.show_error(error)

    def _offer(self, topic: _Topic, *buttons: QPushButton) -> None:
        self._topic = topic
        for button in self._buttons:
            button.setVisible(button in buttons)


def _refuse() -> None:
    raise BenchwrightError("A running test uses this library.", "Stop it or wait until it ends.")


def _next_time(location: Location) -> str:
    return f"Next time, start with: benchwright --store {shlex.quote(str(location))}"

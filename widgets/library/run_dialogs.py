"""Dialogs to pin runs as a baseline, to tag or lock runs, to name a search, and to delete runs for good."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCompleter, QSpinBox, QWidget

from app.baselines.baselines import LONGEST_NAME, TOO_OLD, Baseline, BaselineError, check_name
from app.library_rows import LibraryRow
from app.records import RunSummary
from app.services import Workstation
from app.store.run_locks import LONGEST as LONGEST_REASON
from suites.quantities import count_text
from widgets.jobs import BackgroundJob
from widgets.library.run_rows import list_runs, lock_text, run_start
from widgets.parts.controls import line_edit
from widgets.parts.dialogs import QuestionDialog
from widgets.parts.names import MISSING
from widgets.parts.notice import FieldMessage
from widgets.theme import SPACE


class DeleteQuestion(QuestionDialog):
    """Confirmation that lists the runs to delete, the locked ones first: they must be unlocked. Enter cancels."""

    def __init__(self, lines: Sequence[LibraryRow], parent: QWidget | None) -> None:
        many = f"{len(lines)} runs" if len(lines) > 1 else "this run"
        pinned = [line.summary.baseline for line in lines if line.summary.baseline]
        text = ["Samples and raw output are deleted, too. This cannot be undone."]
        if pinned:
            names = ", ".join(f"“{name}”" for name in pinned)
            text.append(f"Runs of the baseline {names} cannot be deleted before it is unpinned.")
        lines = sorted(lines, key=lambda line: not line.lock)
        if locked := sum(bool(line.lock) for line in lines):
            text.append(f"Unlock {count_text(locked, 'locked run')} first.")
        super().__init__(f"Delete {many} for good?", " ".join(text), "Delete for good", parent)
        list_runs(self, [(run_start(line.summary), _listed(line)) for line in lines])
        self.accept_button.setEnabled(not locked and not pinned)


def _listed(line: LibraryRow) -> str:
    text = f"{line.summary.name} · {line.headline or MISSING}"
    return f"{text} · {lock_text(line)}" if line.lock else text


class TextQuestion(QuestionDialog):
    """Asks for one line of text, with earlier texts to complete it."""

    def __init__(self, title: str, explanation: str, label: str, parent: QWidget, known: Sequence[str] = ()) -> None:
        super().__init__(title, explanation, "Save", parent)
        self.field = line_edit(label)
        completer = QCompleter(list(known), self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.field.setCompleter(completer)
        self.form.addRow(label, self.field)
        self.make_default(self.accept_button)
        self.field.setFocus()

    def text(self) -> str:
        """Return the text in one line."""
        return " ".join(self.field.text().split())


class LockDialog(TextQuestion):
    """Asks why runs must stay; a lock needs a reason."""

    def __init__(self, lines: Sequence[LibraryRow], parent: QWidget) -> None:
        runs = count_text(len(lines), "run")
        text = "A locked run cannot be deleted. The reason is shown when a deletion is refused."
        super().__init__(f"Lock {runs}", text, "Reason", parent, sorted({line.lock for line in lines if line.lock}))
        self.accept_button.setText("Lock")
        self.accept_button.setEnabled(False)
        self.field.setMaxLength(LONGEST_REASON)
        self.field.textChanged.connect(lambda: self.accept_button.setEnabled(bool(self.text())))


_DAY = 86400.0


class PinDialog(QuestionDialog):
    """Asks for the name and age limit of a baseline; an existing name becomes a new version."""

    def __init__(self, runs: Sequence[RunSummary], workstation: Workstation, parent: QWidget | None) -> None:
        """Ask for a name for `runs` as one group; read the existing names in the background."""
        pinned = "this run" if len(runs) == 1 else f"these {len(runs)} runs as one group"
        super().__init__(
            "Pin as baseline", f"Later runs that measure the same are compared with {pinned}, live.", "Pin", parent
        )
        self._taken: dict[str, Baseline] = {}
        self.name = line_edit("Name of the baseline", self._check, maxLength=LONGEST_NAME)
        self.age = QSpinBox()
        self.age.setRange(1, 36500)
        self.age.setValue(round(TOO_OLD / _DAY))
        self.age.setSuffix(" days")
        self.age.setAccessibleName("Too old after")
        self.age.lineEdit().setTextMargins(SPACE[1], 0, 0, 0)  # align with the text of line edits
        self.message = FieldMessage()
        self.form.addRow("Name", self.name)
        self.form.addRow("", self.message)
        self.form.addRow("Too old after", self.age)
        self.name.setText(" ".join(runs[0].name.split())[:LONGEST_NAME])
        self.name.selectAll()
        self.make_default(self.accept_button)
        self.name.setFocus()
        self._check()
        BackgroundJob(workstation.baselines, self).start(self._take)

    def chosen(self) -> str:
        """Return the name."""
        return self.name.text().strip()

    def oldest(self) -> float | None:
        """Return the age limit in seconds, None for the default."""
        days = self.age.value()
        return None if days * _DAY == TOO_OLD else days * _DAY

    def _take(self, found: list[Baseline]) -> None:
        self._taken = {one.name: one for one in found if one.newest and not one.built_in}
        self._check()

    def _check(self) -> None:
        name = self.chosen()
        try:
            check_name(name)
        except BaselineError as error:
            self.accept_button.setEnabled(False)
            self.message.show_message("error", error.remedy if name else "Enter a name.")
            self.form.setRowVisible(self.message, True)
            return
        self.accept_button.setEnabled(True)
        taken = self._taken.get(name)
        self.form.setRowVisible(self.message, taken is not None)
        if taken is not None:
            number = taken.version
            self.message.show_message(
                "info", f"This becomes version {number + 1}. Version {number} is kept for comparison."
            )
        else:
            self.message.clear()

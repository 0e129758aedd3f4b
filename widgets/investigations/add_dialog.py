"""Dialog that adds runs or a comparison to an investigation."""

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QComboBox, QWidget

from app.investigation import LONGEST_NAME, Investigation
from app.services import Workstation
from suites.quantities import count_text
from widgets.jobs import BackgroundJob
from widgets.parts.controls import line_edit
from widgets.parts.dialogs import QuestionDialog

NEW = "New investigation"
EACH, COMPARED = "Separate runs", "A comparison with the first"


class AddDialog(QuestionDialog):
    """Asks for the investigation, old or new, and a note. `compared` is None where the user chooses that, too."""

    def __init__(
        self, workstation: Workstation, selectors: Sequence[str], parent: QWidget | None, *, compared: bool | None
    ) -> None:
        what = "this comparison" if compared else count_text(len(selectors), "run")
        text = f"Adds {what} to an investigation: a question with runs, notes and a conclusion."
        super().__init__("Add to investigation", text, "Add", parent)
        self._workstation, self._selectors = workstation, tuple(selectors)
        self.known = QComboBox(minimumContentsLength=40)
        self.known.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.known.setAccessibleName("Investigation")
        self.known.addItem(NEW)
        self.known.currentIndexChanged.connect(self._check)
        self.name = line_edit("Name of the new investigation", self._check, maxLength=LONGEST_NAME)
        self.way = QComboBox()
        self.way.setAccessibleName("Add")
        self.way.addItems([COMPARED, EACH] if compared else [EACH, COMPARED])
        self.note = line_edit("Note")
        self.form.addRow("Investigation", self.known)
        self.form.addRow("Name", self.name)
        self.form.addRow("Add", self.way)
        self.form.setRowVisible(self.way, compared is None and len(selectors) > 1)
        self.form.addRow("Note", self.note)
        self.make_default(self.accept_button)
        self.known.setFocus()
        self._check()
        BackgroundJob(workstation.investigations, self).start(self._show_known)

    def adder(self) -> Callable[[], tuple[Investigation, tuple[str, ...]]]:
        """Return what adds the choice, for the background; it returns the investigation and the ids of new entries."""
        workstation, note, selectors = self._workstation, self.note.text(), self._selectors
        name = " ".join(self.name.text().split()) if self._is_new else self.known.currentText()
        new = self._is_new
        groups = [selectors] if self.way.currentText() == COMPARED else [(one,) for one in selectors]

        def add() -> tuple[Investigation, tuple[str, ...]]:
            made = [workstation.entry_of(group, note) for group in groups]
            number = workstation.begin_investigation(name).id if new else name
            _, found = workstation.change_investigation(number, lambda one: one.added(made))
            return found, tuple(one.id for one in made)

        return add

    @property
    def _is_new(self) -> bool:
        return self.known.currentIndex() == self.known.count() - 1

    def _show_known(self, found: Sequence[Investigation]) -> None:
        """Offer the investigations, the last changed first; a name that was typed meanwhile stays chosen."""
        self.known.insertItems(0, [one.name for one in found])
        if not self.name.text():
            self.known.setCurrentIndex(0)
        self._check()

    def _check(self) -> None:
        self.form.setRowVisible(self.name, self._is_new)
        self.accept_button.setEnabled(not self._is_new or bool(self.name.text().strip()))

"""Dialog that adds runs or a comparison to an investigation."""

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QComboBox, QWidget

from app.investigation import LONGEST_NAME, Investigation
from app.services import Workstation
from suites.quantities import count_text
from widgets.jobs import BackgroundJob
from widgets.parts.controls import line_edit
from widgets.parts.dialogs import QuestionDialog

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
        self.field = line_edit("Investigation", self._check, maxLength=LONGEST_NAME)
        self.field.setPlaceholderText("Name of a new or an existing one")
        self.name = QComboBox(editable=True)
        self.name.setLineEdit(self.field)
        self.name.setAccessibleName("Investigation")
        self.name.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.way = QComboBox()
        self.way.addItems([COMPARED, EACH] if compared else [EACH, COMPARED])
        self.note = line_edit("Note")
        self.form.addRow("Investigation", self.name)
        self.form.addRow("Add", self.way)
        self.form.setRowVisible(self.way, compared is None and len(selectors) > 1)
        self.form.addRow("Note", self.note)
        self.make_default(self.accept_button)
        self.name.setFocus()
        self._check()
        BackgroundJob(workstation.investigations, self).start(self._show_known)

    def adder(self) -> Callable[[], tuple[Investigation, tuple[str, ...]]]:
        """Return what adds the choice, for the background; it returns the investigation and the ids of new entries."""
        workstation, note, selectors = self._workstation, self.note.text(), self._selectors
        name = " ".join(self.name.currentText().split())
        groups = [selectors] if self.way.currentText() == COMPARED else [(one,) for one in selectors]

        def add() -> tuple[Investigation, tuple[str, ...]]:
            made = [workstation.entry_of(group, note) for group in groups]
            known = {one.name for one in workstation.investigations()}
            number = name if name in known else workstation.begin_investigation(name).id
            _, found = workstation.change_investigation(number, lambda one: one.added(made))
            return found, tuple(one.id for one in made)

        return add

    def _show_known(self, found: Sequence[Investigation]) -> None:
        typed = self.name.currentText()
        self.name.addItems([one.name for one in found])
        self.name.setEditText(typed or (found[0].name if found else ""))
        self.field.selectAll()

    def _check(self) -> None:
        self.accept_button.setEnabled(bool(self.name.currentText().strip()))

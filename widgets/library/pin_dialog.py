"""Asks under which name a run is pinned as the baseline."""

from collections.abc import Mapping

from PySide6.QtWidgets import QLineEdit, QWidget

from app.records import RunSummary
from widgets.library.run_lines import local_time
from widgets.notice import FieldMessage
from widgets.question import Question

LONGEST = 80
"""Characters of a name that the store takes."""


class PinDialog(Question):
    """A name with a proposal; it says whose name it would take over."""

    def __init__(self, run: RunSummary, pinned: Mapping[str, RunSummary], parent: QWidget | None) -> None:
        """Ask for a name for `run`; `pinned` are the runs that have one, by it."""
        super().__init__(
            "Pin as baseline",
            "Runs that measure the same are shown above this one, and their ratio to it is told while they run.",
            "Pin",
            parent,
        )
        self._pinned = pinned
        self.name = QLineEdit()
        self.name.setMaxLength(LONGEST)
        self.name.setAccessibleName("Name of the baseline")
        self.message = FieldMessage()
        self.form.addRow("Name", self.name)
        self.form.addRow("", self.message)
        self.name.textChanged.connect(self._check)
        self.name.setText(" ".join(run.name.split())[:LONGEST])
        self.name.selectAll()
        self.make_default(self.accept_button)
        self.name.setFocus()
        self._check()

    def chosen(self) -> str:
        """Return the name."""
        return self.name.text().strip()

    def _check(self) -> None:
        name = self.chosen()
        wrong = not name or not name.isprintable() or name == "last"
        self.accept_button.setEnabled(not wrong)
        taken = self._pinned.get(name)
        if wrong:
            self.message.say("error", "Give a name other than “last”." if name else "Give it a name.")
        elif taken is not None:
            when = local_time(taken.started)
            self.message.say("warning", f"The run of {when} has this name now; it will be pinned no more.")
        else:
            self.message.clear()

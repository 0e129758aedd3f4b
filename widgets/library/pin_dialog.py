"""Asks under which name runs are pinned as a baseline, and after how long it counts as too old."""

from collections.abc import Sequence

from PySide6.QtWidgets import QLineEdit, QSpinBox, QWidget

from app.baselines.baselines import LONGEST_NAME, TOO_OLD, Baseline, BaselineError, check_name
from app.records import RunSummary
from app.services import Workstation
from widgets.jobs import Job
from widgets.parts.notice import FieldMessage
from widgets.parts.question import Question
from widgets.theme import SPACE

_DAY = 86400.0


class PinDialog(Question):
    """A name with a proposal; it says which version it becomes where the name is there already."""

    def __init__(self, runs: Sequence[RunSummary], workstation: Workstation, parent: QWidget | None) -> None:
        """Ask for a name for `runs`, which stand together; the names that are taken are read meanwhile."""
        what = "this one" if len(runs) == 1 else f"these {len(runs)}, which stand together"
        super().__init__(
            "Pin as baseline",
            f"Runs that measure the same are shown above {what}, and their ratio to it is told while they run.",
            "Pin",
            parent,
        )
        self._taken: dict[str, Baseline] = {}
        self.name = QLineEdit()
        self.name.setMaxLength(LONGEST_NAME)
        self.name.setAccessibleName("Name of the baseline")
        self.age = QSpinBox()
        self.age.setRange(1, 36500)
        self.age.setValue(round(TOO_OLD / _DAY))
        self.age.setSuffix(" days")
        self.age.setAccessibleName("Too old after")
        self.age.lineEdit().setTextMargins(SPACE[1], 0, 0, 0)  # where the text of other fields begins
        self.message = FieldMessage()
        self.form.addRow("Name", self.name)
        self.form.addRow("", self.message)
        self.form.addRow("Too old after", self.age)
        self.name.textChanged.connect(self._check)
        self.name.setText(" ".join(runs[0].name.split())[:LONGEST_NAME])
        self.name.selectAll()
        self.make_default(self.accept_button)
        self.name.setFocus()
        self._check()
        job = Job(workstation.baselines, self)
        job.returned.connect(self._take)
        job.start()

    def chosen(self) -> str:
        """Return the name."""
        return self.name.text().strip()

    def oldest(self) -> float | None:
        """Return after how many seconds it counts as too old, None for what the program thinks."""
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
            self.message.say("error", error.remedy if name else "Give it a name.")
            self.form.setRowVisible(self.message, True)
            return
        self.accept_button.setEnabled(True)
        taken = self._taken.get(name)
        self.form.setRowVisible(self.message, taken is not None)
        if taken is not None:
            number = taken.version
            self.message.say(
                "info", f"It becomes version {number + 1}; version {number} stays and can be compared with."
            )
        else:
            self.message.clear()

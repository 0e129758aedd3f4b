"""Footer of the wizard: Back, Next or Start, and the reason why a plan cannot start."""

from PySide6.QtCore import Qt

from app.checks.catalogue import blocks
from suites.vocab import Finding
from widgets.parts.boxes import FittedWidget, column_in, in_row
from widgets.parts.controls import push_button
from widgets.parts.names import step_host_label
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE


def blocker(finding: Finding) -> str:
    """Return why `finding` blocks the start, or an empty string for a warning."""
    return f"{finding.title} ({step_host_label(finding.step, finding.host)})." if blocks(finding) else ""


class Footer(FittedWidget):
    """Back on the left, Next or Start on the right, the blocking problem between them."""

    def __init__(self) -> None:
        super().__init__()
        self.back = push_button("Back", tip="Alt+Left")
        self.open = push_button("Open plan…", icon="folder")
        self.fleet = push_button("Run on a fleet…", tip="Measure this plan on every host of some groups")
        self.next = push_button("Next", primary=True)
        self.hint = Text(tone=Tone.MUTED)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._row = in_row(self.back, self.open, None, self.fleet, self.next, spacing=SPACE[2])
        self._rows = column_in(self, SPACE[1], (SPACE[3], SPACE[1], SPACE[3], SPACE[2]))
        self._rows.addLayout(self._row)
        self._above = False
        self._place_hint(above=True)

    def show_step(self, obstacle: str, *, first: bool, last: bool) -> None:
        """Show the `obstacle`, if any, and the buttons of the page."""
        self.hint.setText(obstacle)
        self.next.setEnabled(not obstacle)
        self.next.setText("Start" if last else "Next")
        set_tool_tip(self.next, "Ctrl+Return" if last else "Alt+Right; Ctrl+Return starts")
        self.back.setVisible(not first)
        self.open.setVisible(first)
        self.fleet.setVisible(last)
        self.fit()

    def fit(self) -> None:
        """Move the hint above the buttons where it does not fit between them."""
        buttons = (self.back, self.open, self.fleet, self.next)
        taken = sum(each.sizeHint().width() + SPACE[2] for each in buttons if not each.isHidden())
        self._place_hint(above=taken + self.hint.sizeHint().width() + 2 * SPACE[3] > self.width())
        self.hint.setVisible(bool(self.hint.text()))

    def _place_hint(self, *, above: bool) -> None:
        if above == self._above:
            return
        self._above = above
        self._rows.removeWidget(self.hint)
        self._row.removeWidget(self.hint)
        if above:
            self._rows.insertWidget(0, self.hint)
        else:
            self._row.insertWidget(self._row.count() - 2, self.hint)

"""One issue in one line of fixed height; the words behind it open below the line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QAbstractButton, QGridLayout, QLineEdit, QSizePolicy, QToolButton, QWidget

from app.checks.issues import WORDS, Issue
from app.output import escaped
from suites.vocab import Finding, Severity
from widgets.jobs import Slot
from widgets.parts.boxes import column_in, fill, row_in
from widgets.parts.controls import line_edit, tool_button
from widgets.parts.flow_layout import flowing
from widgets.parts.notice import Picture
from widgets.parts.severity import TONES
from widgets.parts.text import OneLine, Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, figure_font, palette, set_icon, text_font

Describe = Callable[[Finding], str]
"""Returns what applying a remedy would change, such as ``Threads 1 → 8``; empty if unknown."""

ICONS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "info"}


def no_description(_finding: Finding) -> str:
    """Return no description."""
    return ""


def never(_finding: Finding) -> bool:
    """Return that a finding cannot be checked again."""
    return False


def acknowledged_text(findings: Sequence[Finding], reason: str) -> str:
    """Return the status of acknowledging findings, or withdrawing it without a reason."""
    return f"{'Acknowledged' if reason else 'No longer acknowledged'}: {findings[0].title}"


def word_of(issue: Issue) -> str:
    """Return the severity of an issue, or that it is gone or acknowledged."""
    return "Acknowledged" if issue.reason else "Gone" if issue.gone is not None else WORDS[issue.first.severity]


def icon_of(issue: Issue) -> str:
    """Return the icon of an issue: that of its severity, or a tick if it is gone."""
    return "good" if issue.gone is not None else ICONS[issue.first.severity]


def as_text(issue: Issue) -> str:
    """Return an issue as lines of text, for a ticket."""
    finding = issue.first
    places = "" if len(issue.places) > 1 else issue.scope
    head = f"{WORDS[finding.severity]}: {finding.title}"
    lines = [head, places, *issue.evidence, finding.why, finding.remedy, finding.install or "", finding.source]
    return escaped("\n".join(line for line in lines if line), but="\n")


@dataclass(frozen=True, slots=True)
class IssueActions:
    """What the lines of a page offer: applying and installing remedies, acknowledging, and checking again."""

    fix: bool = True
    acknowledge: bool = True
    can_recheck: Callable[[Finding], bool] = never
    describe: Describe = no_description


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths in pixels of the columns of all lines; 0 hides one."""

    word: int
    title: int
    scope: int
    age: int
    actions: int


class IssueLine(QAbstractButton):
    """An issue: severity, title, figure, scope, age and actions in one line. A click or Enter opens the words below it.

    The buttons in it only emit signals.
    """

    fix_requested = Signal(tuple)  # findings
    install_requested = Signal(object)  # a Finding
    recheck_requested = Signal(tuple)  # names of hosts
    acknowledge_requested = Signal(tuple, str)  # findings and reason; an empty one withdraws it
    help_requested = Signal(str)  # a help topic
    move_requested = Signal(int)  # to the line above (-1) or below (1)
    focused = Signal()
    resized = Signal()  # its height changed

    def __init__(self, issue: Issue, actions: IssueActions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self.clicked.connect(lambda: self.set_open(is_open=not self.is_open))
        self.issue, self._actions = issue, actions
        self._words: QWidget | None = None
        self.mark = Picture(icon_of(issue))
        self.word, self.title = OneLine(text_font(TextSize.BODY)), OneLine(text_font(TextSize.BODY, bold=True))
        self.measured, self.scope = OneLine(text_font(TextSize.BODY)), OneLine(text_font(TextSize.BODY), "muted")
        self.age = OneLine(figure_font(text_font(TextSize.BODY).pointSizeF()), "muted", Qt.AlignmentFlag.AlignRight)
        self.buttons = self._make_buttons()
        self.reason_field = self._make_reason_field()
        self._head = self._build_head()
        self._column = column_in(self, 0)
        fill(self._column, self._head, self.reason_field)
        self.set_current(current=False)
        self.show_issue(issue)

    @property
    def is_open(self) -> bool:
        """Whether the words are shown."""
        return self._words is not None and not self._words.isHidden()

    def show_issue(self, issue: Issue) -> None:
        """Show another state of the same issue: its figures, or that it is gone or acknowledged."""
        changed = self.issue != issue
        self.issue = issue
        tone = "muted" if not issue.is_open else "text"
        self.mark.show_icon(icon_of(issue), "muted" if issue.reason else "")
        self.word.set_colour("muted" if not issue.is_open else TONES[issue.first.severity].value)
        self.word.set_text(word_of(issue))
        self.title.set_colour(tone)
        self.title.set_text(issue.first.title)
        self.measured.set_colour(tone)
        more = f"  +{len(issue.findings) - 1}" if len(issue.findings) > 1 else ""
        self.measured.set_text(f"{issue.first.measured}{more}")
        self.scope.set_text(issue.scope)
        self._fit_buttons()
        self.setAccessibleDescription(as_text(issue))
        if changed and self.is_open:
            self._show_words()

    def show_age(self, now: float) -> None:
        """Show the age at `now`, in seconds since the epoch."""
        self.age.set_text(self.issue.age(now))
        issue = self.issue
        parts = (f"{word_of(issue)}: {issue.first.title}", issue.first.measured, issue.scope, self.age.text())
        self.setAccessibleName(", ".join(filter(None, parts)))

    def set_columns(self, columns: Columns) -> None:
        """Set the widths of the columns."""
        parts = ((self.word, columns.word), (self.title, columns.title), (self.scope, columns.scope))
        for widget, width in (*parts, (self.age, columns.age)):
            widget.setVisible(bool(width))
            widget.setFixedWidth(max(1, width))
        self._button_row.setFixedWidth(columns.actions)

    def set_compact(self, *, compact: bool) -> None:
        """Show *Recheck* and *Acknowledge* as icons, where there is no room for their texts."""
        style = Qt.ToolButtonStyle.ToolButtonIconOnly if compact else Qt.ToolButtonStyle.ToolButtonTextOnly
        for name in ("recheck", "acknowledge"):
            self.buttons[name].setToolButtonStyle(style)

    def actions_width(self) -> int:
        """Return the width of its buttons."""
        shown = [button for button in self.buttons.values() if not button.isHidden()]
        return sum(button.sizeHint().width() for button in shown) + SPACE[0] * max(0, len(shown) - 1)

    def set_current(self, *, current: bool) -> None:
        """Set whether Tab reaches this line and its buttons: of a list one line is a stop."""
        policy, on_buttons = (Qt.FocusPolicy.StrongFocus, Qt.FocusPolicy.StrongFocus)
        if not current:
            policy, on_buttons = Qt.FocusPolicy.ClickFocus, Qt.FocusPolicy.ClickFocus
        self.setFocusPolicy(policy)
        for button in self.buttons.values():
            button.setFocusPolicy(on_buttons)

    def set_recheck(self, why_not: str) -> None:
        """Enable *Recheck*, or disable it because of `why_not`."""
        button = self.buttons["recheck"]
        button.setEnabled(not why_not)
        set_tool_tip(button, why_not or "Read the host again")

    def set_open(self, *, is_open: bool) -> None:
        """Show or hide the words below the line."""
        if is_open == self.is_open:
            return
        if is_open:
            self._show_words()
        elif self._words is not None:
            self._words.hide()
        self.resized.emit()

    # Building

    def _build_head(self) -> QWidget:
        head, self._button_row = QWidget(), QWidget()
        fill(row_in(self._button_row, SPACE[0]), None, *self.buttons.values())
        row = row_in(head, SPACE[1], (SPACE[1], 0, SPACE[0], 0))
        fill(row, self.mark, self.word, self.title, (self.measured, 1), self.scope, self.age, self._button_row)
        head.setFixedHeight(line_height())
        return head

    def _make_buttons(self) -> dict[str, QToolButton]:
        made = {
            "fix": self._button("Fix", lambda: self.fix_requested.emit(self.issue.fixable)),
            "install": self._button("Install…", lambda: self.install_requested.emit(self.issue.first)),
            "recheck": self._button("Recheck", self._recheck),
            "acknowledge": self._button("Acknowledge…", self._acknowledge),
        }
        for name, sign in (("recheck", "refresh"), ("acknowledge", "good")):
            set_icon(made[name], sign, "muted")
        self.help = self._button("More", lambda: self.help_requested.emit(f"check-{self.issue.first.id}"))
        set_tool_tip(self.help, "Help page of this check: method, source and remedy")
        return made

    def _button(self, text: str, clicked: Slot) -> QToolButton:
        button = tool_button(text, clicked, objectName="issue")
        button.setAccessibleName(f"{text} {self.issue.first.title}")
        return button

    def _make_reason_field(self) -> QLineEdit:
        field = line_edit(f"Reason to acknowledge: {self.issue.first.title}", placeholderText="Reason, then Enter")
        field.setMaxLength(500)
        field.returnPressed.connect(self._give_reason)
        field.hide()
        return field

    def _fit_buttons(self) -> None:
        issue, actions, finding = self.issue, self._actions, self.issue.first
        self.buttons["fix"].setVisible(actions.fix and bool(issue.fixable))
        self.buttons["install"].setVisible(actions.fix and issue.is_open and bool(finding.install))
        self.buttons["recheck"].setVisible(not issue.reason and any(map(actions.can_recheck, issue.findings)))
        can_acknowledge = actions.acknowledge and finding.severity is not Severity.ERROR and issue.gone is None
        self.buttons["acknowledge"].setVisible(can_acknowledge)
        self.buttons["acknowledge"].setText("Withdraw" if issue.reason else "Acknowledge…")
        self.buttons["acknowledge"].setAccessibleName(f"{self.buttons['acknowledge'].text()} {finding.title}")
        set_tool_tip(self.buttons["fix"], "\n".join(map(actions.describe, issue.fixable)) or "Apply the remedy")
        set_tool_tip(self.buttons["install"], f"Asks first, then runs: {finding.install}")
        tip = "Withdraw the acknowledgement" if issue.reason else "Enter a reason; every report shows it"
        set_tool_tip(self.buttons["acknowledge"], tip)

    def _show_words(self) -> None:
        """Build the words below the line and show them."""
        if self._words is not None:
            self.help.setParent(self)
            self._words.hide()
            self._words.deleteLater()
        self._words = words = QWidget()
        grid = QGridLayout(words)
        grid.setContentsMargins(SPACE[1] + 16 + SPACE[1], 0, SPACE[2], SPACE[1])
        grid.setVerticalSpacing(SPACE[0])
        grid.setHorizontalSpacing(SPACE[2])
        grid.setColumnStretch(1, 1)
        for caption, content in self._content():
            text = Text(content)
            text.setAccessibleName(f"{caption}: {content}")
            grid.addWidget(Text(caption, Tone.MUTED, wrap=False), grid.rowCount(), 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(text, grid.rowCount() - 1, 1)
        grid.addWidget(flowing(self.help), grid.rowCount(), 1)
        self._column.insertWidget(1, words)
        words.show()
        self.help.show()

    def _content(self) -> list[tuple[str, str]]:
        issue, finding = self.issue, self.issue.first
        place = issue.scope if len(issue.places) == 1 else ""
        found = [
            ("Acknowledged", issue.reason),
            ("Measured", "\n".join(issue.evidence)),
            ("Where", place),
            ("Effect", finding.why),
            ("Remedy", finding.remedy),
            ("Fix", "\n".join(filter(None, map(self._actions.describe, issue.fixable))) if self._actions.fix else ""),
            ("Source", finding.source),
        ]
        return [(caption, text) for caption, text in found if text]

    # Requests

    def _recheck(self) -> None:
        self.recheck_requested.emit(tuple(dict.fromkeys(one.host for one in self.issue.findings if one.host)))

    def _acknowledge(self) -> None:
        if self.issue.reason:
            self.acknowledge_requested.emit(self.issue.findings, "")
            return
        self.reason_field.setVisible(self.reason_field.isHidden())
        self.reason_field.setFocus(Qt.FocusReason.OtherFocusReason)
        self.resized.emit()

    def _give_reason(self) -> None:
        if reason := self.reason_field.text().strip():
            self.setFocus(Qt.FocusReason.OtherFocusReason)
            self.reason_field.hide()
            self.acknowledge_requested.emit(self.issue.findings, reason)

    # Qt

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open and close the words, move to another line, or copy the issue."""
        key = Qt.Key(event.key())
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(as_text(self.issue))
        elif key in {Qt.Key.Key_Down, Qt.Key.Key_Up}:
            self.move_requested.emit(1 if key == Qt.Key.Key_Down else -1)
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space}:
            self.click()
        elif key in {Qt.Key.Key_Right, Qt.Key.Key_Left}:
            self.set_open(is_open=key == Qt.Key.Key_Right)
        else:
            super().keyPressEvent(event)

    def hitButton(self, at: QPoint) -> bool:
        """Return whether a click is on the line, not on the words below it."""
        return at.y() < self._head.height()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Become the current line."""
        super().focusInEvent(event)
        self.focused.emit()
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Draw the line without the focus."""
        super().focusOutEvent(event)
        self.update()

    def changeEvent(self, event: QEvent) -> None:
        """Fit the height to another font."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._head.setFixedHeight(line_height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the line below it, and its background if it has the focus."""
        painter, colours = QPainter(self), palette()
        if self.hasFocus():
            painter.fillRect(self.rect(), QColor(colours.selected))
            painter.fillRect(QRect(0, 0, 3, self.height()), QColor(colours.accent))
        painter.setPen(QColor(colours.line))
        painter.drawLine(0, self.height() - 1, self.width(), self.height() - 1)


def line_height() -> int:
    """Return the height of a line in pixels."""
    return tool_button("Fix", objectName="issue").sizeHint().height() + SPACE[0]

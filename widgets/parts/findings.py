"""List of findings as cards with evidence and remedy."""

import itertools
from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal, SignalInstance
from PySide6.QtGui import QColor, QGuiApplication, QKeyEvent, QKeySequence, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QApplication, QGridLayout, QHBoxLayout, QLineEdit, QPushButton, QToolButton, QWidget

from app.checks.issues import WORDS
from app.output import escaped
from app.verdict.listing import merged, repetitions
from suites.vocab import Finding, Severity
from widgets.parts.boxes import column_in, fill, in_column, in_row, scrolled
from widgets.parts.flow_layout import flowing
from widgets.parts.names import step_host_label
from widgets.parts.severity import TONES, SeverityMark, summary
from widgets.parts.text import Text, Tone, set_tool_tip, small, strong
from widgets.theme import palette

Describe = Callable[[Finding], str]
"""Returns what applying a finding would change, such as ``Threads 1 → 8``; empty if unknown."""


def no_description(_finding: Finding) -> str:
    """Return no description."""
    return ""


def as_text(finding: Finding) -> str:
    """Return a finding as lines of text, for a ticket."""
    head = f"{WORDS[finding.severity]}: {finding.title}"
    step_host = step_host_label(finding.step, finding.host)
    lines = [head, step_host, finding.measured, finding.why, finding.remedy, finding.install or "", finding.source]
    return escaped("\n".join(line for line in lines if line), but="\n")


class FindingCard(QWidget):
    """Card of a group of repetitions(). Tab focuses it, Ctrl+C copies it; its buttons only emit signals.

    With a `reason` it is acknowledged and shown muted, with the reason.
    """

    apply_requested = Signal(object)
    install_requested = Signal(object)
    acknowledge_requested = Signal(tuple, str)  # findings and reason; an empty one withdraws it
    more_requested = Signal(str)  # its help topic
    move_requested = Signal(int)  # arrow keys: to the card above (-1) or below (1)

    def __init__(
        self,
        group: tuple[Finding, ...],
        *,
        actions: bool = True,
        acknowledging: bool = True,
        describe: Describe = no_description,
        reason: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.group = group
        self.finding = finding = merged(group)
        self.reason = reason
        self._tone = Tone.MUTED if reason else Tone.NORMAL
        self._compact: bool | None = None
        self.buttons: list[QPushButton] = []
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(f"{WORDS[finding.severity]}: {finding.title}")
        self.setAccessibleDescription(as_text(finding))
        self._grid = QGridLayout(self)
        self._grid.setVerticalSpacing(4)
        self._grid.setHorizontalSpacing(12)
        self._grid.setColumnStretch(0, 1)
        self._title = Text(finding.title, self._tone, font=strong())
        self._grid.addLayout(self._build_head(), 0, 0, 1, 2)
        self._grid.addWidget(self._title, 1, 0, 1, 2)
        self._grid.addLayout(self._build_rows(), 2, 0)
        self._grid.addWidget(self._build_footer(describe, actions=actions, acknowledging=acknowledging), 3, 0, 1, 2)
        self._grid.addWidget(self._build_reason_field(), 4, 0, 1, 2)
        self.set_compact(compact=False)

    def set_compact(self, *, compact: bool) -> None:
        """Show the compact form, with reason and source behind a button, or the full one."""
        if compact is self._compact:
            return
        self._compact = compact
        margin = 8 if compact else 16
        self._grid.setContentsMargins(margin, margin - 4, margin, 8 if compact else margin - 4)
        self._title.setVisible(compact)
        self._head_title.setVisible(not compact)
        self._more.setVisible(compact and bool(self.finding.why or self.finding.source))
        for caption in self._captions:
            caption.setVisible(not compact)
        self._rows.setHorizontalSpacing(0 if compact else 12)
        self._show_details()

    def tab_chain(self) -> tuple[QWidget, ...]:
        """Return the widgets of this card in tab order."""
        return (self, self._more, self.help, self.acknowledge, *self.buttons, self.reason_field)

    def _build_head(self) -> QHBoxLayout:
        finding = self.finding
        head = in_row(spacing=8)
        tone = Tone.MUTED if self.reason else TONES[finding.severity]
        head.addWidget(SeverityMark(finding.severity), alignment=Qt.AlignmentFlag.AlignTop)
        severity = f"{WORDS[finding.severity]}, acknowledged" if self.reason else WORDS[finding.severity]
        label = Text(severity, tone, font=strong(), wrap=False)
        label.setMinimumWidth(max(map(label.fontMetrics().horizontalAdvance, (*WORDS.values(), severity))) + 4)
        head.addWidget(label, alignment=Qt.AlignmentFlag.AlignTop)
        self._head_title = Text(finding.title, self._tone, font=strong())
        head.addWidget(self._head_title, 3, Qt.AlignmentFlag.AlignTop)
        self.step_host = Text(step_host_label(finding.step, finding.host), Tone.MUTED, font=small())
        self.step_host.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        head.addWidget(self.step_host, 2)
        return head

    def _build_rows(self) -> QGridLayout:
        finding = self.finding
        self._rows = QGridLayout()
        self._rows.setVerticalSpacing(4)
        self._rows.setColumnStretch(1, 1)
        self._captions: list[Text] = []
        self._details: list[Text] = []
        self._add_row("Acknowledged", self.reason, detail=False)
        self._add_row("Measured", finding.measured, detail=False, tone=self._tone)
        self._add_row("Why", finding.why, detail=True, tone=self._tone)
        self._add_row("Remedy", finding.remedy, detail=bool(self.reason), tone=self._tone)
        self._add_row("Source", finding.source, detail=True, tone=Tone.MUTED)
        return self._rows

    def _add_row(self, caption: str, content: str, *, detail: bool, tone: Tone = Tone.NORMAL) -> None:
        if not content:
            return
        row = self._rows.rowCount()
        label = Text(caption, Tone.MUTED, wrap=False)
        text = Text(content, tone)
        text.setAccessibleName(f"{caption}: {content}")
        self._rows.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
        self._rows.addWidget(text, row, 1)
        self._captions.append(label)
        if detail:
            self._details.append(text)

    def _build_footer(self, describe: Describe, *, actions: bool, acknowledging: bool) -> QWidget:
        finding = self.finding
        self._more = QToolButton(self, autoRaise=True)
        self._more.setCheckable(True)
        self._more.toggled.connect(self._show_details)
        self.help = QToolButton(self, autoRaise=True)
        self.help.setText("More")
        self.help.setAccessibleName(f"More about: {finding.title}")
        set_tool_tip(self.help, "Help page of this check: method, source and remedy")
        self.help.clicked.connect(lambda: self.more_requested.emit(f"check-{finding.id}"))
        self.acknowledge = self._build_acknowledge(self)
        self.acknowledge.setVisible(acknowledging and finding.severity is not Severity.ERROR)
        buttons: list[QWidget] = [self._more, self.help, self.acknowledge]
        if actions and finding.changes and not self.reason:
            changed = describe(finding)
            buttons.append(self._action("Apply", changed or "Apply the remedy to the plan", self.apply_requested))
        if actions and finding.install:
            tip = f"Asks first, then runs: {finding.install}"
            buttons.append(self._action("Install…", tip, self.install_requested))
        return flowing(*buttons, at_end=True)

    def _build_acknowledge(self, parent: QWidget) -> QToolButton:
        """Return the button that acknowledges the finding or withdraws the acknowledgement."""
        button = QToolButton(parent, autoRaise=True)
        button.setText("Withdraw" if self.reason else "Acknowledge…")
        set_tool_tip(button, "Withdraw the acknowledgement" if self.reason else "Enter a reason; every report shows it")
        button.setAccessibleName(f"{button.text()} {self.finding.title}")
        button.clicked.connect(self._acknowledge_clicked)
        return button

    def _build_reason_field(self) -> QLineEdit:
        self.reason_field = QLineEdit(self, placeholderText="Reason, then Enter")
        self.reason_field.setAccessibleName(f"Reason to acknowledge: {self.finding.title}")
        self.reason_field.setMaxLength(500)
        self.reason_field.returnPressed.connect(self._give_reason)
        self.reason_field.hide()
        return self.reason_field

    def _acknowledge_clicked(self) -> None:
        if self.reason:
            self.acknowledge_requested.emit(self.group, "")
        elif self.reason_field.isVisible() and self.reason_field.text().strip():
            self._give_reason()
        else:
            self.reason_field.setVisible(self.reason_field.isHidden())
            self.reason_field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _give_reason(self) -> None:
        reason = self.reason_field.text().strip()
        if reason:
            self.acknowledge_requested.emit(self.group, reason)

    def _action(self, text: str, tip: str, request: SignalInstance) -> QPushButton:
        button = QPushButton(text, self)
        set_tool_tip(button, tip)
        button.setAccessibleName(f"{text} {self.finding.title}")
        button.clicked.connect(lambda: request.emit(self.finding))
        self.buttons.append(button)
        return button

    def _show_details(self) -> None:
        shown = not self._compact or self._more.isChecked()
        for text in self._details:
            text.setVisible(shown)
        self._more.setText("Less" if self._more.isChecked() else "Why")
        self._more.setAccessibleName(f"{self._more.text()}: {self.finding.title}")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy the finding on the platform's shortcut; move to the next card with the arrow keys."""
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(as_text(self.finding))
            return
        step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
        if step is not None:
            self.move_requested.emit(step)
            return
        super().keyPressEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the frame, highlighted if the card has the focus."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = palette()
        painter.setBrush(QColor(colours.surface))
        focused = self.hasFocus()
        painter.setPen(QPen(QColor(colours.accent if focused else colours.line), 1.5 if focused else 1))
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), 4, 4)


COMPACT_BELOW = 480
"""Width in pixels below which cards are compact."""


class FindingList(QWidget):
    """List of findings as cards. Its buttons only emit signals.

    Without `actions` (findings of a run) no card offers to change or install something. `acknowledging` defaults to
    `actions`. `describe` returns what applying a finding would change.
    """

    apply_requested = Signal(object)
    install_requested = Signal(object)
    acknowledge_requested = Signal(tuple, str)  # as that of FindingCard
    more_requested = Signal(str)  # a help topic

    def __init__(
        self, *, actions: bool = True, acknowledging: bool | None = None, describe: Describe = no_description
    ) -> None:
        super().__init__()
        self._actions = actions
        self._acknowledging = actions if acknowledging is None else acknowledging
        self._describe = describe
        self._cards: list[FindingCard] = []
        self._inner = QWidget()
        self._inner.installEventFilter(self)
        self._whole, self._column = column_in(self._inner, 8), in_column(spacing=8)
        self._whole.addLayout(self._column)
        self._empty = Text("No findings.", Tone.MUTED)
        fill(self._column, self._empty, None)
        self._area = scrolled(self._inner)
        self._area.verticalScrollBar().rangeChanged.connect(self._reserve_space)
        self.setAccessibleName("Findings")
        fill(column_in(self), self._area)

    def set_head(self, *widgets: QWidget) -> None:
        """Show `widgets` above the cards; they scroll with them."""
        for index, widget in enumerate(widgets):
            self._whole.insertWidget(index, widget)

    def findings(self) -> tuple[Finding, ...]:
        """Return the findings in the order shown."""
        return tuple(card.finding for card in self._cards)

    def cards(self) -> tuple[FindingCard, ...]:
        """Return the cards from top to bottom."""
        return tuple(self._cards)

    def set_findings(self, findings: Iterable[Finding], reason_of: Describe = no_description) -> None:
        """Replace the findings; cards of unchanged findings are reused.

        `reason_of` returns the reason of an acknowledged finding; acknowledged findings are last.
        """
        old = list(self._cards)
        cards: list[FindingCard] = []
        # Without actions, a finding that repeats per trial needs only one card.
        shown = [(one,) for one in findings] if self._actions else repetitions(tuple(findings), reason_of)
        for group in sorted(shown, key=lambda each: (bool(reason_of(each[0])), -each[0].severity.rank)):
            reason = reason_of(group[0])
            reused = next((card for card in old if card.group == group and card.reason == reason), None)
            if reused is not None:
                old.remove(reused)
            cards.append(reused or self._make_card(group, reason))
        focused = next((card.finding for card in old if _has_focus(card)), None)
        for card in old:
            self._column.removeWidget(card)
            card.hide()
            card.deleteLater()
        for index, card in enumerate(cards):
            self._insert(index, card)
        self._cards = cards
        self._order_tabs()
        self._empty.setVisible(not cards)
        for card in cards:
            if card.finding == focused:  # its card was replaced by acknowledging: keep the focus
                card.setFocus(Qt.FocusReason.OtherFocusReason)

    def set_empty_text(self, text: str) -> None:
        """Set the text shown without findings."""
        self._empty.setText(text)

    def sizeHint(self) -> QSize:
        """Return the height that shows every card at the width there is."""
        margins = self._whole.contentsMargins()
        height = self._whole.heightForWidth(max(self.width(), 200))
        return QSize(320, height + margins.top() + margins.bottom())

    def minimumSizeHint(self) -> QSize:
        """Return the size of the head of one card."""
        return QSize(200, min(self.sizeHint().height(), 96))

    def _make_card(self, group: tuple[Finding, ...], reason: str) -> FindingCard:
        card = FindingCard(
            group,
            actions=self._actions,
            acknowledging=self._acknowledging,
            describe=self._describe,
            reason=reason,
            parent=self._inner,
        )
        card.set_compact(compact=self._is_compact())
        card.apply_requested.connect(self.apply_requested)
        card.install_requested.connect(self.install_requested)
        card.acknowledge_requested.connect(self.acknowledge_requested)
        card.more_requested.connect(self.more_requested)
        card.move_requested.connect(lambda step: self._move_from(card, step))
        return card

    def _insert(self, index: int, card: FindingCard) -> None:
        if self._column.indexOf(card) != index + 1:
            self._column.insertWidget(index + 1, card)
        card.show()

    def _order_tabs(self) -> None:
        chain = [widget for card in self._cards for widget in card.tab_chain()]
        for before, after in itertools.pairwise(chain):
            QWidget.setTabOrder(before, after)

    def _is_compact(self) -> bool:
        return self.width() < COMPACT_BELOW

    def _move_from(self, card: FindingCard, step: int) -> None:
        index = self._cards.index(card) + step
        if 0 <= index < len(self._cards):
            target = self._cards[index]
            target.setFocus(Qt.FocusReason.TabFocusReason)
            self._area.ensureWidgetVisible(target)

    def _reserve_space(self, _least: int, greatest: int) -> None:
        """Leave a margin between the cards and the scroll bar."""
        self._whole.setContentsMargins(0, 0, 8 if greatest > 0 else 0, 0)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Update the geometry when the cards need another height."""
        if event.type() is QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Choose the compact or the full form by the width."""
        super().resizeEvent(event)
        for card in self._cards:
            card.set_compact(compact=self._is_compact())


def acknowledged_text(findings: Sequence[Finding], reason: str) -> str:
    """Return the status of acknowledging the findings of a card, or withdrawing it without a reason."""
    return f"{'Acknowledged' if reason else 'No longer acknowledged'}: {findings[0].title}"


def open_summary(findings: Iterable[Finding], reason_of: Describe = no_description) -> str:
    """Return the number of findings by severity, and of acknowledged ones: ``2 warnings, 1 acknowledged``."""
    listed = list(findings)
    acknowledged = sum(bool(reason_of(finding)) for finding in listed)
    counts = summary([finding for finding in listed if not reason_of(finding)])
    return ", ".join(part for part in (counts, f"{acknowledged} acknowledged" if acknowledged else "") if part)


def _has_focus(card: FindingCard) -> bool:
    """Return whether a card or one of its widgets has the focus."""
    focused = QApplication.focusWidget()
    return focused is not None and (focused is card or card.isAncestorOf(focused))

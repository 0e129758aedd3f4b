"""Findings, the gravest first: compact in a side panel, roomy in the middle of the window."""

import itertools
from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QScrollArea, QVBoxLayout, QWidget

from app.told_once import told_once
from suites.vocab import Finding
from widgets.parts.finding_card import Describe, FindingCard, nothing
from widgets.parts.severity import summary
from widgets.parts.text import Text, Tone

COMPACT_BELOW = 480
"""Pixels of width under which a card keeps its why and source behind a button."""


class FindingList(QWidget):
    """A list of findings. Its buttons ask through the two signals, each with the Finding; it changes nothing.

    Without `actions` no card offers to change or install something: for findings of a run. They can be acknowledged
    where `acknowledging` says so, or else where there are actions. `describe` says in words what applying a finding
    would change.
    """

    apply_requested = Signal(object)
    install_requested = Signal(object)
    acknowledge_requested = Signal(object, str)  # the finding, and the reason; without one, no longer
    more_requested = Signal(str)  # the topic of the help that explains a finding

    def __init__(
        self,
        parent: QWidget | None = None,
        *,
        actions: bool = True,
        acknowledging: bool | None = None,
        describe: Describe = nothing,
    ) -> None:
        super().__init__(parent)
        self._actions = actions
        self._acknowledging = actions if acknowledging is None else acknowledging
        self._describe = describe
        self._cards: list[FindingCard] = []
        self._inner = QWidget()
        self._inner.installEventFilter(self)
        self._column = QVBoxLayout(self._inner)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(8)
        self._empty = Text("Nothing found.", Tone.MUTED)
        self._column.addWidget(self._empty)
        self._column.addStretch(1)
        self._area = QScrollArea(self)
        self._area.setWidget(self._inner)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.verticalScrollBar().rangeChanged.connect(self._leave_room)
        self.setAccessibleName("Findings")
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._area)

    def findings(self) -> tuple[Finding, ...]:
        """Return the findings as listed."""
        return tuple(card.finding for card in self._cards)

    def cards(self) -> tuple[FindingCard, ...]:
        """Return the cards from top to bottom."""
        return tuple(self._cards)

    def set_findings(self, findings: Iterable[Finding], reason_of: Describe = nothing) -> None:
        """Show `findings` instead of what is shown; a card whose finding stays, stays as it is.

        `reason_of` gives the reason for which a finding is acknowledged: such ones come last.
        """
        old = list(self._cards)
        cards: list[FindingCard] = []
        told = findings if self._actions else told_once(tuple(findings))  # nothing is done about each on its own
        for finding in sorted(told, key=lambda each: (bool(reason_of(each)), -each.level.rank)):
            reason = reason_of(finding)
            kept = next((card for card in old if card.finding == finding and card.reason == reason), None)
            if kept is not None:
                old.remove(kept)
            cards.append(kept or self._make_card(finding, reason))
        held = next((card.finding for card in old if _has_focus(card)), None)
        for card in old:
            self._column.removeWidget(card)
            card.hide()
            card.deleteLater()
        for index, card in enumerate(cards):
            self._place(index, card)
        self._cards = cards
        self._order_tabs()
        self._empty.setVisible(not cards)
        for card in cards:
            if card.finding == held:  # it was acknowledged, or taken back: the keyboard stays with it
                card.setFocus(Qt.FocusReason.OtherFocusReason)

    def set_empty_text(self, text: str) -> None:
        """Say `text` while there is no finding."""
        self._empty.setText(text)

    def sizeHint(self) -> QSize:
        """Return the height that shows every card at the width there is."""
        margins = self._column.contentsMargins()
        height = self._column.heightForWidth(max(self.width(), 200))
        return QSize(320, height + margins.top() + margins.bottom())

    def minimumSizeHint(self) -> QSize:
        """Return room for the head of one card."""
        return QSize(200, min(self.sizeHint().height(), 96))

    def _make_card(self, finding: Finding, reason: str = "") -> FindingCard:
        card = FindingCard(
            finding,
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
        card.left.connect(lambda step: self._move_from(card, step))
        return card

    def _place(self, index: int, card: FindingCard) -> None:
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

    def _leave_room(self, _least: int, greatest: int) -> None:
        """Keep the cards apart from the scroll bar, where there is one."""
        self._column.setContentsMargins(0, 0, 8 if greatest > 0 else 0, 0)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Pass on that the cards need another height."""
        if event.type() is QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Choose the short or the whole form by the width."""
        super().resizeEvent(event)
        for card in self._cards:
            card.set_compact(compact=self._is_compact())


def open_summary(findings: Iterable[Finding], reason_of: Describe = nothing) -> str:
    """Return how many findings there are of each level, and acknowledged: ``2 warnings, 1 acknowledged``."""
    listed = list(findings)
    acknowledged = sum(bool(reason_of(finding)) for finding in listed)
    counts = summary([finding for finding in listed if not reason_of(finding)])
    return ", ".join(part for part in (counts, f"{acknowledged} acknowledged" if acknowledged else "") if part)


def _has_focus(card: FindingCard) -> bool:
    """Return whether the keyboard is on a card, or on something in it."""
    focused = QApplication.focusWidget()
    return focused is not None and (focused is card or card.isAncestorOf(focused))

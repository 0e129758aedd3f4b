"""Drawer at the foot of a page: its issues in one line, or a line for each."""

import itertools
import time
from collections.abc import Collection, Iterable, Mapping

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QMouseEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QToolButton, QWidget

from app.checks.issues import (
    HostReading,
    Issue,
    IssueHistory,
    Reason,
    count_of,
    counts_text,
    not_acknowledged,
    open_counts,
)
from suites.quantities import age_text
from suites.vocab import Finding
from widgets import settings
from widgets.parts.boxes import column_in, fill, row_in, scrolled
from widgets.parts.controls import tool_button
from widgets.parts.issue_line import ICONS, Columns, IssueActions, IssueLine, line_height
from widgets.parts.notice import Picture
from widgets.parts.text import OneLine, set_tool_tip
from widgets.theme import SPACE, TextSize, figure_font, text_font

TICK = 1000
"""Milliseconds between updates of the ages."""

SHARE, MOST = 1 / 3, 0.6
"""Height of the open drawer as a share of its page: by default, and after dragging at most."""

SENTENCE, FIGURE = 44, 24
"""Characters of the measured value for which buttons become icons, and for which the scope is left out."""

GAPS = 80
"""Pixels of the icon and of the space between the columns."""


class DrawerHandle(QWidget):
    """Edge that is dragged to change the height of what is below it."""

    dragged = Signal(int)  # pixels upwards

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(5)
        self.setCursor(Qt.CursorShape.SizeVerCursor)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Emit how far the pointer is above the edge."""
        if event.buttons() & Qt.MouseButton.LeftButton:
            self.dragged.emit(-round(event.position().y()))


class IssueCounts(QWidget):
    """Icon, number and word of each severity that there is, then the acknowledged ones."""

    def __init__(self) -> None:
        super().__init__()
        self._row = row_in(self, SPACE[0])
        self.text = ""

    def show_issues(self, issues: Collection[Issue], empty: str, *, checked: bool) -> None:
        """Show the counts of `issues`, or `empty` if there are none, with a tick if that was `checked`."""
        text = counts_text(issues)
        if (text or empty) == self.text:
            return
        self.text = text or empty
        while (item := self._row.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        parts = [(ICONS[level], count_of(level, count)) for level, count in open_counts(tuple(issues))]
        acknowledged = sum(bool(one.reason) for one in issues)
        if not parts and checked:
            fill(self._row, Picture("good"))
        for icon, words in parts:
            fill(self._row, Picture(icon), _label(words), SPACE[1])
        if acknowledged:
            fill(self._row, _label(f"{acknowledged} acknowledged", "muted"), SPACE[1])
        elif not parts:
            fill(self._row, _label(self.text, "muted"))
        self.setAccessibleName(f"Issues: {self.text}")


def _label(text: str, colour: str = "text") -> OneLine:
    label = OneLine(text_font(TextSize.BODY), colour)
    label.set_text(text)
    label.setFixedWidth(label.sizeHint().width())
    return label


class IssuesDrawer(QFrame):
    """Issues of a page at its foot. Folded it is one line; open it has a line for each issue, and scrolls.

    Its buttons only emit signals; the page acts. Whether it is open, and its height, are stored under its name.
    """

    fix_requested = Signal(tuple)  # findings whose remedies to apply, of one issue or of all
    undo_requested = Signal()
    install_requested = Signal(object)  # a Finding
    recheck_requested = Signal(tuple)  # names of hosts to read again
    acknowledge_requested = Signal(tuple, str)  # findings and reason; an empty one withdraws it
    help_requested = Signal(str)  # a help topic
    fold_changed = Signal(bool)

    def __init__(self, name: str, actions: IssueActions | None = None) -> None:
        super().__init__()
        self.setObjectName("issues")
        self._setting, self._actions = f"issues_{name}", actions or IssueActions()
        self._folded = settings.text(self._setting, "folded") != "open"
        height = settings.text(f"{self._setting}_height")
        self._dragged = int(height) if height.isdecimal() else 0
        self._history = IssueHistory()
        self._reason_of: Reason = not_acknowledged
        self._checked = True
        self._empty, self._message, self._can_undo = "No issues", "", False
        self._why_not, self._checked_at = "", dict[str, float]()
        self.issues: tuple[Issue, ...] = ()
        self.lines: list[IssueLine] = []
        self._clock = QTimer(self, interval=TICK)
        self._clock.timeout.connect(self._show_ages)
        self._build()
        self._show()

    # The page

    def show_findings(
        self,
        findings: Iterable[Finding],
        reason_of: Reason = not_acknowledged,
        read_at: Mapping[str, float] | None = None,
        *,
        aged: bool = True,
        keep_gone: bool = False,
    ) -> None:
        """Show `findings`; `read_at` is when the facts of each host were read, in seconds since the epoch.

        Without `aged` their age is not known, as of a stored run. With `keep_gone` those that are no longer among them
        are shown as gone, until the next change.
        """
        self._reason_of = reason_of
        self._history.show(findings, read_at, time.time() if aged else None, keep_gone=keep_gone)
        self._show()

    def take_reading(self, reading: HostReading) -> None:
        """Show what was checked again."""
        self._history.take(reading)
        self._show()

    def clear(self) -> None:
        """Forget all findings and their ages: show_findings() with those of another run or plan follows."""
        self._history.clear()

    def show_message(self, text: str, *, undo: bool = False) -> None:
        """Show `text` in the bar, such as what remedies changed, with *Undo* if that is possible."""
        self._message, self._can_undo = text, undo
        self._show_bar()

    def set_empty_text(self, text: str, *, checked: bool = True) -> None:
        """Set the text without issues; `checked`: there are none, as far as the checks tell."""
        self._empty, self._checked = text, checked
        self.set_recheck(self._why_not, self._checked_at)
        self._show_bar()

    def set_recheck(self, why_not: str = "", checked_at: Mapping[str, float] | None = None) -> None:
        """Enable checking again, or disable it because of `why_not`.

        `checked_at` are the hosts that can be checked again even without issues, and when each was checked last, in
        seconds since the epoch.
        """
        self._why_not, self._checked_at = why_not, dict(checked_at or {})
        self.recheck_all.setEnabled(not why_not)
        set_tool_tip(self.recheck_all, why_not or "Read the hosts again and repeat the checks")
        for line in self.lines:
            line.set_recheck(why_not)
        self.recheck_all.setVisible(bool(self._hosts()) and self._was_checked())
        self._show_ages()

    @property
    def folded(self) -> bool:
        """Whether only the bar is shown."""
        return self._folded

    def set_folded(self, *, folded: bool) -> None:
        """Fold or open the drawer, and remember it."""
        if folded is self._folded:
            return
        self._folded = folded
        self._show_ages()
        settings.put(self._setting, "folded" if folded else "open")
        self._fit()
        if not folded:
            self.focus_first()
        self.fold_changed.emit(folded)

    def focus_first(self) -> None:
        """Focus the first line, or the bar without issues."""
        (self.lines[0] if self.lines and not self._folded else self.fold).setFocus(Qt.FocusReason.TabFocusReason)

    # Showing

    def _show(self) -> None:
        self.issues = self._history.issues(self._reason_of)
        current = next(
            (line.issue.key for line in self.lines if line.focusPolicy() is Qt.FocusPolicy.StrongFocus), None
        )
        before, old, self.lines = self.lines, list(self.lines), []
        for issue in self.issues:
            same = next((line for line in old if line.issue.key == issue.key), None)
            if same is not None:
                old.remove(same)
            self.lines.append(same or self._make_line(issue))
        for line in old:
            line.hide()
            line.deleteLater()
        if self.lines != before:
            self._order_tabs()
        for index, (line, issue) in enumerate(zip(self.lines, self.issues, strict=True)):
            if self._column.indexOf(line) != index:
                self._column.insertWidget(index, line)
            line.show_issue(issue)
        kept = (line for line in self.lines if line.issue.key == current)
        self._make_current(next(kept, next(iter(self.lines), None)))
        self.set_recheck(self._why_not, self._checked_at)
        self._show_bar()
        self._fit()

    def _order_tabs(self) -> None:
        chain: list[QWidget] = [self.fold]
        for line in self.lines:
            chain += [line, *line.buttons.values(), line.reason_field]
        for first, second in itertools.pairwise(chain):
            QWidget.setTabOrder(first, second)

    def _make_line(self, issue: Issue) -> IssueLine:
        line = IssueLine(issue, self._actions, self._inside)
        line.fix_requested.connect(self.fix_requested)
        line.install_requested.connect(self.install_requested)
        line.recheck_requested.connect(self.recheck_requested)
        line.acknowledge_requested.connect(self.acknowledge_requested)
        line.help_requested.connect(self.help_requested)
        line.move_requested.connect(lambda step: self._move(line, step))
        line.focused.connect(lambda: self._make_current(line))
        line.resized.connect(self._fit)
        return line

    def _make_current(self, current: IssueLine | None) -> None:
        for line in self.lines:
            line.set_current(current=line is current)

    def _move(self, line: IssueLine, step: int) -> None:
        index = self.lines.index(line) + step
        if 0 <= index < len(self.lines):
            self.lines[index].setFocus(Qt.FocusReason.OtherFocusReason)
            self._area.ensureWidgetVisible(self.lines[index], 0, 0)

    def _show_ages(self) -> None:
        now = time.time()
        for line in self.lines:
            line.show_age(now)
        first = next((one for one in self.issues if one.is_open), None) if self._folded else None
        oldest = min(self._checked_at.values(), default=None) if self._was_checked() else None
        when = "" if oldest is None else f"checked {age_text(now - oldest)} ago"
        self.checked.set_text(when if first is None else first.age(now))  # of what is read beside it
        self.checked.setFixedWidth(self.checked.sizeHint().width())

    def _show_bar(self) -> None:
        first = next((one for one in self.issues if one.is_open), None)
        fixable = self._fixable()
        self.counts.show_issues(self.issues, self._empty, checked=self._checked)
        finding = None if first is None else first.first
        brief = "" if finding is None else f"{finding.title}: {finding.measured}"
        self.brief.set_text(brief if self._folded and brief else self._message)
        can_fix = self._actions.fix and first is not None and bool(first.fixable)
        can_install = self._actions.fix and finding is not None and bool(finding.install)
        self.main.setVisible(self._folded and (can_fix or can_install))
        self.main.setText("Fix" if can_fix else "Install…")
        set_tool_tip(self.main, "" if finding is None else finding.remedy)
        self.undo.setVisible(self._can_undo)
        set_tool_tip(self.undo, self._message)
        self.fix_all.setVisible(self._actions.fix and sum(bool(one.fixable) for one in self.issues) > 1)
        self.fix_all.setText(f"Fix all ({len(fixable)})")
        self.main.setAccessibleName(f"{self.main.text()} {brief}")

    def _fixable(self) -> tuple[Finding, ...]:
        return tuple(finding for issue in self.issues for finding in issue.fixable)

    def _was_checked(self) -> bool:
        return self._checked or any(one.is_open for one in self.issues)

    def _hosts(self) -> tuple[str, ...]:
        """Return the hosts that can be checked again: those of the page, and of findings."""
        every = (finding for issue in self.issues for finding in issue.findings)
        found = (one.host for one in every if one.host and self._actions.can_recheck(one))
        return tuple(dict.fromkeys([*self._checked_at, *found]))

    def _act_first(self) -> None:
        first = next(one for one in self.issues if one.is_open)
        if first.fixable:
            self.fix_requested.emit(first.fixable)
        else:
            self.install_requested.emit(first.first)

    # Size

    def _fit(self) -> None:
        """Give the lines the height they need, at most their share of the page, and their columns one width each."""
        shown = not self._folded and bool(self.lines)
        self._area.setVisible(shown)
        self.handle.setVisible(shown)
        text = "Hide issues" if not self._folded else "Show issues"
        self.fold.setText("▾" if not self._folded else "▴")
        self.fold.setAccessibleName(text)
        set_tool_tip(self.fold, f"{text} (F9)")
        self._show_bar()
        if shown:
            self._fit_columns()
            self._area.setFixedHeight(min(self._content_height(), self._limit()))

    def _content_height(self) -> int:
        width = self._area.viewport().width()
        return sum(max(line.sizeHint().height(), line.heightForWidth(width)) for line in self.lines)

    def _limit(self) -> int:
        page = self.parentWidget()
        height = 600 if page is None else page.height()
        limit = min(self._dragged or round(SHARE * height), round(MOST * height))
        return max(line_height(), limit if page is None else min(limit, self._room(page)))

    def _room(self, page: QWidget) -> int:
        """Return the height that the rest of the page leaves for the lines."""
        arrangement = page.layout()
        if arrangement is None or self._area.isHidden():
            return page.height()
        least = arrangement.totalMinimumSize().height()
        if arrangement.hasHeightForWidth():
            least = max(least, arrangement.totalMinimumHeightForWidth(page.width()))
        return page.height() - least + self._area.minimumHeight()

    def _drag(self, pixels: int) -> None:
        self._dragged = max(line_height(), self._area.height() + pixels)
        settings.put(f"{self._setting}_height", str(self._dragged))
        self._fit()

    def _fit_columns(self) -> None:
        def widest(name: str) -> int:
            return max(getattr(line, name).sizeHint().width() for line in self.lines)

        width, metrics = self._area.viewport().width(), self.lines[0].age.fontMetrics()
        word, title = widest("word"), min(widest("title"), width // 3)
        scope = min(widest("scope"), width // 6) if any(issue.scope for issue in self.issues) else 0
        aged = any(issue.at is not None or issue.gone is not None for issue in self.issues)
        age = metrics.horizontalAdvance("gone 59 min ago") + 2 if aged else 0
        sentence, least = (count * metrics.averageCharWidth() + GAPS for count in (SENTENCE, FIGURE))
        for compact in (False, True):
            for line in self.lines:
                line.set_compact(compact=compact)
            actions = max(line.actions_width() for line in self.lines)
            if word + title + scope + age + actions + sentence <= width:
                break
        if word + title + scope + age + actions + least > width:
            scope = 0
        columns = Columns(word, title, scope, age, actions)
        for line in self.lines:
            line.set_columns(columns)

    # Building

    def _build(self) -> None:
        self.handle = DrawerHandle()
        self.handle.dragged.connect(self._drag)
        self._inside = QWidget()
        self._column = column_in(self._inside, 0)
        self._column.addStretch(1)
        self._area = scrolled(self._inside)
        self._area.setAccessibleName("Issues")
        fill(column_in(self, 0), self.handle, self._build_bar(), self._area)

    def _build_bar(self) -> QWidget:
        self.bar = QWidget()
        self.counts, self.brief = IssueCounts(), OneLine(text_font(TextSize.BODY), "muted")
        self.checked = OneLine(figure_font(text_font(TextSize.BODY).pointSizeF()), "muted")
        self.main = self._button("Fix", self._act_first)
        self.undo = self._button("Undo", self.undo_requested.emit)
        self.fix_all = self._button("Fix all", lambda: self.fix_requested.emit(self._fixable()))
        self.recheck_all = self._button("Recheck", lambda: self.recheck_requested.emit(self._hosts()))
        self.fold = tool_button("▴", self._toggle, autoRaise=True)
        row = row_in(self.bar, SPACE[1], (SPACE[1], 0, SPACE[0], 0))
        buttons = (self.main, self.undo, self.fix_all, self.checked, self.recheck_all, self.fold)
        fill(row, self.counts, (self.brief, 1), *buttons)
        self.bar.setFixedHeight(line_height())
        self.bar.installEventFilter(self)
        return self.bar

    @staticmethod
    def _button(text: str, clicked: object) -> QToolButton:
        return tool_button(text, lambda _checked: clicked(), objectName="issue")  # type: ignore[operator]

    def _toggle(self) -> None:
        self.set_folded(folded=not self._folded)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Fold or open the drawer on a click on its bar; fit it to another height of its page."""
        if watched is self.bar and event.type() is QEvent.Type.MouseButtonPress:
            self._toggle()
            return True
        if watched is self.parentWidget() and event.type() is QEvent.Type.Resize:
            self._fit()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the columns to the width."""
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        """Update the ages while shown."""
        super().showEvent(event)
        if (page := self.parentWidget()) is not None:
            page.installEventFilter(self)
        self._show_ages()
        self._clock.start()
        self._fit()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop updating the ages."""
        super().hideEvent(event)
        self._clock.stop()

"""Shared parts of dialogs: size, file choosers, button rows and question dialogs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QEvent, QObject, QSize
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, code_font, restyle, text_font


def fit(dialog: QWidget, size: tuple[int, int]) -> None:
    """Resize `dialog` to `size` in pixels, bounded by the screen or the parent window."""
    room = dialog.screen().availableGeometry().size()
    parent = dialog.parentWidget()
    if parent is not None:
        room = room.expandedTo(parent.window().size())
    dialog.resize(QSize(*size).boundedTo(room - QSize(SPACE[4], SPACE[4])))


class _Grower(QObject):
    """Grows a dialog to the height its texts need, at most that of the screen: Qt does not for wrapped texts."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Grow the dialog when it is shown, and when its content changes."""
        shown = event.type() in {QEvent.Type.Show, QEvent.Type.LayoutRequest}
        if shown and isinstance(watched, QDialog) and (arrangement := watched.layout()) is not None:
            arrangement.invalidate()  # heights of wrapped texts are cached
            arrangement.activate()
            room = watched.screen().availableGeometry().height()
            wanted = min(room, arrangement.totalHeightForWidth(watched.width()))
            if wanted > watched.height():
                watched.resize(watched.width(), wanted)
        return super().eventFilter(watched, event)


DialogT = TypeVar("DialogT", bound=QDialog)


def opened(dialog: DialogT) -> DialogT:
    """Open `dialog` without blocking and return it; closing deletes it."""
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()
    return dialog


def ask_for_file(
    parent: QWidget, title: str, chosen: Callable[[Path], object], filters: Sequence[str] = (), *, save_as: str = ""
) -> None:
    """Call `chosen` with a file that the user selects to open or, with a suggested name in `save_as`, to save."""
    chooser = QFileDialog(parent, title, save_as)
    if save_as:
        chooser.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    else:
        chooser.setFileMode(QFileDialog.FileMode.ExistingFile)
    if filters:
        chooser.setNameFilters(filters)
    chooser.fileSelected.connect(lambda path: chosen(Path(path)))
    opened(chooser)


def button_row(*widgets: QWidget | None) -> QHBoxLayout:
    """Return `widgets` in a row; None is a stretch."""
    row = in_row(spacing=SPACE[1])
    for widget in widgets:
        row.addStretch(1) if widget is None else row.addWidget(widget)
    return row


WIDTH = 520
"""Pixels of a dialog's content at least."""


def dialog_column(dialog: QDialog, title: str, width: int = WIDTH) -> QVBoxLayout:
    """Return the column of a dialog, which begins with its title as a heading.

    Its content has at least `width` pixels, and more if large text needs it, unlike with a minimum width.
    """
    rows = column_in(dialog, SPACE[2], (SPACE[4], SPACE[4], SPACE[4], SPACE[3]))
    dialog.installEventFilter(_Grower(dialog))
    rows.addStrut(width - 2 * SPACE[4])
    rows.addWidget(Text(title, font=text_font(TextSize.HEADING, bold=True)))
    return rows


class QuestionDialog(QDialog):
    """Dialog with a title, an explanation, fields and two buttons. By default Enter declines.

    Show it with open(), which does not block; `accepted` and `rejected` report the answer.
    """

    def __init__(
        self,
        title: str,
        explanation: str,
        accept_text: str,
        parent: QWidget | None,
        *,
        decline_text: str = "Cancel",
        width: int = WIDTH,
    ) -> None:
        """Make the dialog; without a `decline_text` it has only one button."""
        super().__init__(parent)
        self.setWindowTitle(title)
        self.form = QFormLayout()
        self.form.setHorizontalSpacing(SPACE[3])
        self.form.setVerticalSpacing(SPACE[1])
        self.form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        self.form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        self.accept_button = QPushButton(accept_text)
        self.decline_button = QPushButton(decline_text)
        self._buttons = buttons = QDialogButtonBox()
        if (row := buttons.layout()) is not None:
            row.setSpacing(SPACE[1])
        buttons.addButton(self.accept_button, QDialogButtonBox.ButtonRole.AcceptRole)
        if decline_text:
            buttons.addButton(self.decline_button, QDialogButtonBox.ButtonRole.RejectRole)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        fill(dialog_column(self, title, width), Text(explanation), self.form, None, SPACE[1], buttons)
        self.make_default(self.decline_button if decline_text else self.accept_button)

    def add_extra_button(self, text: str, callback: Callable[[], None]) -> QPushButton:
        """Add a third button, which closes the dialog and calls `callback`."""
        button = QPushButton(text, autoDefault=False)
        button.clicked.connect(self.reject)
        button.clicked.connect(lambda _checked: callback())
        self._buttons.addButton(button, QDialogButtonBox.ButtonRole.ActionRole)
        return button

    def add_fact(self, name: str, value: str, *, code: bool = False) -> Text:
        """Add a row with `name` and `value`; return the label of the value."""
        label = Text(value, font=code_font() if code else None)
        label.setAccessibleName(f"{name}: {label.text()}")
        self.form.addRow(Text(name, Tone.MUTED, wrap=False), label)
        return label

    def make_default(self, button: QPushButton) -> None:
        """Make `button` the one that Enter presses; the accept button is then highlighted as primary."""
        for each in (self.accept_button, self.decline_button):
            each.setAutoDefault(each is button)
            each.setDefault(each is button)
        restyle(self.accept_button, "primary", button is self.accept_button and bool(self.decline_button.text()))
        button.setFocus()

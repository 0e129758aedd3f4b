"""How large a dialog may be: no larger than what it stands on, as high as its words need."""

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QWidget

from widgets.theme import SPACE


def fit(dialog: QWidget, size: tuple[int, int]) -> None:
    """Give `dialog` this size in pixels, or as much of it as its screen, or the window it stands over, has."""
    room = dialog.screen().availableGeometry().size()
    parent = dialog.parentWidget()
    if parent is not None:
        room = room.expandedTo(parent.window().size())
    dialog.resize(QSize(*size).boundedTo(room - QSize(SPACE[4], SPACE[4])))


def grow(dialog: QWidget) -> None:
    """Make `dialog` as high as what it says needs in its width: Qt does not ask again when a text has changed."""
    arrangement = dialog.layout()
    if arrangement is None:
        return
    arrangement.activate()
    wanted = arrangement.totalHeightForWidth(dialog.width())
    if wanted > dialog.height():
        dialog.resize(dialog.width(), wanted)

"""Help in context: which topic of the help the focused widget is about."""

from PySide6.QtWidgets import QWidget

from widgets.parts.table import Table

_PROPERTY = "help_topic"


def set_help(widget: QWidget, topic: str) -> None:
    """Let *Help on this* show `topic` for a widget and what is inside; the widget nearest to the focus decides."""
    widget.setProperty(_PROPERTY, topic)


def topic_of(focused: QWidget | None) -> str:
    """Return the topic of the focused widget, its column or the nearest widget around it; empty if none has one."""
    here = focused
    while here is not None:
        if topic := _own_topic(here):
            return topic
        here = here.parentWidget()
    return ""


def _own_topic(widget: QWidget) -> str:
    if isinstance(widget, Table) and (index := widget.currentIndex()).isValid():
        topic = widget.content.columns[index.column()].topic
        if topic:
            return topic
    return str(widget.property(_PROPERTY) or "")

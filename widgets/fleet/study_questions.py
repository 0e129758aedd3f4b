"""Questions before a study is stopped or ended."""

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from widgets.parts.dialogs import QuestionDialog, opened

STOP = (
    "Stop: the hosts under way end, and what they measured is stored.\n"
    "Detach: their trials continue without this window.\n\n"
    "Resume continues the study either way."
)

END = (
    "What waits is skipped, and what was measured is kept.\n\n"
    "End: hosts under way continue to their end.\nEnd and stop: they stop now, also on workers."
)


def ask_to_stop(parent: QWidget, stop: Callable[[], None], detach: Callable[[], None]) -> QuestionDialog:
    """Ask whether to stop or detach a study that runs in this window."""
    question = QuestionDialog("Stop the fleet study?", STOP, "Stop", parent, decline_text="Keep running")
    question.add_extra_button("Detach", detach)
    question.accepted.connect(stop)
    return opened(question)


def ask_to_end(parent: QWidget, name: str, end: Callable[[], None], end_and_stop: Callable[[], None]) -> QuestionDialog:
    """Ask whether to end a study, and whether what is under way stops."""
    question = QuestionDialog(f"End {name}?", END, "End", parent, decline_text="Keep the study")
    question.add_extra_button("End and stop", end_and_stop)
    question.accepted.connect(end)
    return opened(question)

"""Asks what becomes of texts that are not stored when the window closes."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.output import write_whole
from app.paths import unstored_path
from suites.errors import BenchwrightError
from suites.quantities import count_text
from widgets.investigations.text_storage import UnstoredText, text_of
from widgets.jobs import BackgroundJob
from widgets.parts.controls import push_button
from widgets.parts.dialogs import QuestionDialog, ask_for_file, button_row, opened

if TYPE_CHECKING:
    from widgets.investigations.investigation_page import InvestigationPage

SAVING = 3.0
"""Seconds after which a closing window asks about texts that are still being stored."""

LINES = 8

log = logging.getLogger(__name__)


class UnstoredDialog(QuestionDialog):
    """Shows texts that are not stored, to copy or save them before the window closes."""

    def __init__(self, texts: Sequence[UnstoredText], save: Callable[[], None], parent: QWidget) -> None:
        what = "Text" if len(texts) == 1 else count_text(len(texts), "text")
        errors = [one.error for one in texts if one.error is not None]
        why = str(errors[0]) if errors else "The library does not respond."
        explanation = f"{why}\n\nSave or copy what you typed, or keep the window open. Closing loses it."
        super().__init__(
            f"{what} not stored", explanation, "Close without storing", parent, decline_text="Keep the window open"
        )
        self.view = QPlainTextEdit(text_of(texts), readOnly=True)
        self.view.setAccessibleName("Texts not stored")
        self.view.setTabChangesFocus(True)
        self.view.setFixedHeight(self.fontMetrics().lineSpacing() * LINES)
        self.form.addRow(self.view)
        self.copy_button = push_button(
            "Copy", lambda _checked: QGuiApplication.clipboard().setText(self.view.toPlainText()),
            tip="Paste it elsewhere before the window closes",
        )  # fmt: skip
        self.form.addRow(button_row(self.copy_button, None))
        self.save_button = self.add_extra_button("Save to a file…", save)


class TextGuard:
    """Lets the window close once what was typed in investigations is stored, saved elsewhere, or given up."""

    def __init__(
        self, window: QWidget, page: Callable[[], "InvestigationPage | None"], stays: Callable[[], None]
    ) -> None:
        """Guard `window`; `stays` is called when it stays open after all."""
        self._window, self._page, self._stays = window, page, stays
        self._waiting: InvestigationPage | None = None
        self._dialog: UnstoredDialog | None = None
        self._given_up = ""
        self._unattended = False
        self._clock = QTimer(window, singleShot=True, interval=round(SAVING * 1000))
        self._clock.timeout.connect(self._ask)

    def allowed(self) -> bool:
        """Return whether the window may close now; otherwise store what was typed, then close it or ask."""
        page = self._page()
        if page is None or self._waiting is not None:
            return page is None
        page.flush()
        texts = page.storage.unstored
        if not texts or text_of(texts) == self._given_up:
            return True
        self._waiting = page
        page.storage.settled.connect(self._go_on)
        self._clock.start()
        if page.storage.is_settled:  # each was refused before
            self._ask()
        return False

    def ask_nothing(self) -> None:
        """Write what is not stored to a file, without a question, when the window closes: a signal has ended it."""
        self._unattended = True
        if self._dialog is not None and self._waiting is not None:
            self._leave(text_of(self._waiting.storage.unstored))

    def _leave(self, text: str) -> None:
        """Write a text to a file that the next start names, and close the window."""

        def fail(error: BenchwrightError) -> None:
            log.error("Texts of investigations are lost: %s", error)
            self._close_without(text)

        self.save(text, unstored_path() / f"{datetime.now().astimezone():%Y-%m-%d-%H%M%S}.txt", fail)

    def _go_on(self) -> None:
        """Close the window if all is stored, else ask."""
        if self._waiting is not None and not self._waiting.storage.unstored:
            self._end()
            self._window.close()
        else:
            self._ask()

    def _ask(self) -> None:
        self._clock.stop()
        if self._waiting is None or self._dialog is not None:
            return
        texts = self._waiting.storage.unstored
        if self._unattended:
            self._leave(text_of(texts))
            return
        dialog = self._dialog = UnstoredDialog(texts, lambda: self._choose_file(text_of(texts)), self._window)
        dialog.accepted.connect(lambda: self._close_without(text_of(texts)))
        dialog.rejected.connect(self._keep_open)
        opened(dialog)

    def _end(self) -> None:
        """Wait no longer, and ask nothing."""
        page, self._waiting = self._waiting, None
        dialog, self._dialog = self._dialog, None
        self._clock.stop()
        if page is not None:
            page.storage.settled.disconnect(self._go_on)
        if dialog is not None and dialog.isVisible():  # the texts were stored meanwhile
            dialog.blockSignals(True)
            dialog.hide()
            dialog.deleteLater()

    def _keep_open(self) -> None:
        self._end()
        self._stays()

    def _close_without(self, text: str) -> None:
        self._end()
        self._given_up = text
        self._window.close()

    def _choose_file(self, text: str) -> None:
        ask_for_file(
            self._window, "Save what you typed", lambda path: self.save(text, path), ["Text (*.txt)"],
            save_as="unstored.txt",
        )  # fmt: skip

    def save(self, text: str, path: Path, failed: Callable[[BenchwrightError], None] | None = None) -> None:
        """Write a text to a file that only the user can read, and close the window; it needs not be stored then."""
        BackgroundJob(lambda: write_whole(path, text.encode(), private=True), self._window).start(
            lambda _path: self._close_without(text), failed or self._show_error
        )

    def _show_error(self, error: BenchwrightError) -> None:
        opened(QuestionDialog(error.message, error.remedy, "Close", self._window, decline_text=""))

"""Dialog that asks for a library: a file, or a database on a server and its password."""

from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from app.library_location import SCHEME, Location, LocationError, ServerUrl, expanded, location_of
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import BackgroundJob
from widgets.parts.controls import line_edit
from widgets.parts.dialogs import QuestionDialog
from widgets.parts.notice import FieldMessage
from widgets.parts.text import set_tool_tip

_WIDTH = 660
"""Pixels, so that most URLs are shown whole."""

_RETENTION = "The password is kept in memory until Benchwright is closed, unless it is remembered."


class OpenLibraryDialog(QuestionDialog):
    """Asks for the location of a library. The password is hidden, and cleared when the dialog closes."""

    def __init__(self, workstation: Workstation, location: Location, parent: QWidget | None = None) -> None:
        text = f"A file, which is created if it is missing, or {SCHEME}://USER@HOST/DATABASE."
        super().__init__("Open a library", text, "Open", parent, width=_WIDTH)
        self.field = line_edit(changed=self._show_parts)
        self.field.editingFinished.connect(self._hide_password)
        self.password = line_edit(
            tip=f"By default that of PGPASSWORD, ~/.pgpass or the keyring. {_RETENTION}",
            echoMode=QLineEdit.EchoMode.Password,
            placeholderText="By default that of the keyring",
        )
        self.keep = QCheckBox("Remember in the system keyring")
        set_tool_tip(self.keep, f"For this role, server and database, after a connection. {_RETENTION}")
        self.message = FieldMessage()
        self._given, self._may_keep = location, False
        self.form.addRow("Library", self.field)
        self.form.addRow("Password", self.password)
        self.form.addRow("", self.keep)
        self.form.addRow("", self.message)
        self.form.setRowVisible(self.message, False)
        self.field.setText(str(location))
        self.make_default(self.accept_button)
        self.field.setFocus()
        self.field.selectAll()
        BackgroundJob(lambda: workstation.stores_passwords, self).start(self._offer_keyring)

    def ask_password(self, *, refused: bool) -> None:
        """Show that the server requires a password, or that it `refused` the one of the last attempt."""
        self.form.setRowVisible(self.message, True)
        if refused:
            self.message.show_message("warning", "The server did not accept the password.")
        else:
            self.message.show_message("info", "The server requires a password.")
        self.field.home(False)
        self.password.setFocus()

    def answer(self) -> tuple[Location, str]:
        """Return the location and the password, empty without one; clear the password. Raises LocationError."""
        self._hide_password()
        text, typed = self.field.text().strip(), self.password.text()
        self.password.clear()
        location = self._given if text == str(self._given) else expanded(location_of(text))
        return location, typed if isinstance(location, ServerUrl) else ""

    @property
    def keeps(self) -> bool:
        """Whether the user wants the password in the keyring."""
        return self._may_keep and self.keep.isChecked()

    def reject(self) -> None:
        """Clear the password and close."""
        self.password.clear()
        super().reject()

    def _show_parts(self) -> None:
        on_server = "://" in self.field.text()
        self.form.setRowVisible(self.password, on_server)
        self.form.setRowVisible(self.keep, on_server and self._may_keep)

    def _offer_keyring(self, usable: bool) -> None:  # noqa: FBT001 (what a signal passes)
        self._may_keep = usable
        self._show_parts()

    def _hide_password(self) -> None:
        """Move a password out of the URL, where it can be read, to its own field."""
        try:
            location = location_of(self.field.text().strip())
        except LocationError:
            return
        if isinstance(location, ServerUrl) and [name for name, _ in location.secrets] == ["password"]:
            self.field.setText(str(location))
            self.password.setText(location.password or "")


def open_with_password(
    workstation: Workstation, location: Location, password: str, *, keep: bool
) -> BenchwrightError | None:
    """Open a library, with a `password` if there is one; return why that was not stored in the keyring.

    Raises PasswordError if the server requires another password, StoreError. The library that is open stays open.
    """
    if not isinstance(location, ServerUrl) or not password:
        workstation.open_library(location)
        return None
    workstation.sign_in(location, password)
    if location != workstation.library_location:  # a run may be recorded in the present one
        workstation.open_library(location)
    try:
        if keep:
            workstation.store_password(location, password)
    except BenchwrightError as error:
        return error
    return None

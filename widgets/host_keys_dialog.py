"""Question about the unknown keys of several hosts, as of a fleet study."""

from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from app.questions import HostKeyQuestion
from suites.quantities import count_text
from widgets.parts.dialogs import QuestionDialog
from widgets.parts.table import Table
from widgets.parts.table_model import TableColumn, TableModel
from widgets.parts.text import Text, Tone

WIDTH = 860
"""Pixels of the dialog at least: a fingerprint is not cut."""

MOST_ROWS = 12
"""Keys that are shown without scrolling."""


@dataclass(frozen=True, slots=True)
class HostKeysQuestion:
    """Whether to trust the unknown keys of several hosts."""

    keys: tuple[HostKeyQuestion, ...]


COLUMNS: tuple[TableColumn[HostKeyQuestion], ...] = (
    TableColumn("Host", lambda key: key.host, key=lambda key: key.host, stretch=True, least=120),
    TableColumn("Address", lambda key: f"{key.address}:{key.port}", width=130, whole=True, tone="muted", hide_order=2),
    TableColumn("Key type", lambda key: key.key_type, tone="muted", hide_order=1),
    TableColumn("Fingerprint", lambda key: key.fingerprint, width=340, whole=True),
)


class HostKeysDialog(QuestionDialog):
    """Lists the keys with their fingerprints; they can be copied to compare them."""

    def __init__(self, question: HostKeysQuestion, parent: QWidget | None = None) -> None:
        title = f"{count_text(len(question.keys), 'unknown host key')}"
        super().__init__(
            title,
            "The keys are not in known_hosts, so the hosts are not authenticated. Compare the fingerprints with those "
            "of the provider, or trust all of them, as StrictHostKeyChecking=accept-new of ssh.",
            "Trust all and connect",
            parent,
            width=WIDTH,
        )
        self.table: Table[HostKeyQuestion] = Table("Unknown host keys", TableModel(COLUMNS), identity=id)
        self.table.show_rows(question.keys)
        self.table.setFixedHeight(self.table.whole_height(MOST_ROWS))
        self.form.addRow(self.table)
        if noted := [key for key in question.keys if key.note]:
            self.form.addRow(Text(f"{noted[0].host}: {noted[0].note}", Tone.WARNING))

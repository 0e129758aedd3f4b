"""Asks before runs are deleted for good."""

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from widgets.library.run_lines import Column, RunLine
from widgets.parts.question import Question

LISTED = 6
"""Runs that are named; of more, the rest is counted."""


class DeleteQuestion(Question):
    """Names what would be gone. Enter cancels."""

    def __init__(self, lines: Sequence[RunLine], parent: QWidget | None) -> None:
        many = f"{len(lines)} runs" if len(lines) > 1 else "this run"
        pinned = [line.summary.baseline for line in lines if line.summary.baseline]
        said = ["With their samples and raw output; nothing brings them back. Export first what you need."]
        if len(lines) == 1:
            said = ["With its samples and raw output; nothing brings it back. Export first what you need."]
        if pinned:
            names = ", ".join(f"“{name}”" for name in pinned)
            said.append(f"{names} will lose {'it' if len(lines) == 1 else 'them'}; a baseline of nothing else is gone.")
        super().__init__(f"Delete {many}?", " ".join(said), "Delete", parent)
        for line in lines[:LISTED]:
            texts = line.texts
            self.add_fact(texts[Column.STARTED], f"{texts[Column.NAME]} · {texts[Column.HEADLINE]}")
        if len(lines) > LISTED:
            self.add_fact("", f"and {len(lines) - LISTED} more")

"""Services on investigations: what they have, their results, and their report."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING

from app.export_services import ExportServices
from app.investigation import (
    EntryKind,
    Investigation,
    InvestigationEntry,
    InvestigationError,
    UnreadableInvestigation,
    new_id,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from app.investigation_results import EntryResult
    from app.sharing.sections import ReportSection

FORMATS = ("html", "markdown", "pdf")
"""What a report can be written as."""


class InvestigationServices(ExportServices, ABC):
    """Threads, blocking and errors are as in app.services. `word` is the id or the name of an investigation."""

    def investigations(self) -> list[Investigation]:
        """Return every investigation that can be read, the last changed first."""
        return self._store.investigations()

    def unreadable_investigations(self) -> list[UnreadableInvestigation]:
        """Return the malformed investigations, which investigations() leaves out."""
        return self._store.unreadable_investigations()

    def investigation(self, word: str) -> Investigation:
        """Return an investigation. Raises StoreError for none or several of a name."""
        return self._store.find_investigation(word)

    def begin_investigation(self, name: str, question: str = "") -> Investigation:
        """Store a new investigation and return it. Raises InvestigationError for an invalid name."""
        return self._store.begin_investigation(name, question)

    def change_investigation(
        self, word: str, change: Callable[[Investigation], Investigation]
    ) -> tuple[Investigation, Investigation]:
        """Replace an investigation by what `change` returns for what is stored; return what it was and what it is.

        Both happen in one transaction, so that two windows lose nothing of each other.
        """
        return self._store.change_investigation(word, change)

    def delete_investigation(self, word: str) -> Investigation:
        """Delete an investigation, also an unreadable one; its runs stay. Return it, for restore_investigation()."""
        return self._store.remove_investigation(word)

    def restore_investigation(self, found: Investigation) -> Investigation:
        """Store a deleted investigation again."""
        return self._store.keep_investigation(found)

    def entry_of(self, selectors: Sequence[str], note: str = "") -> InvestigationEntry:
        """Return an entry of a run or, with several selectors, of a comparison with the first.

        Names, prefixes and baselines become the whole ids of the runs that they mean now. Raises StoreError and
        CompareError for runs that do not exist.
        """
        from app.comparison.selectors import selector_of
        from app.investigation_results import EntryResult

        kind = EntryKind.COMPARISON if len(selectors) > 1 else EntryKind.RUN
        groups = self._selection.chosen(selectors)
        if kind is EntryKind.RUN and groups[0][0].published is not None:
            raise InvestigationError("A published table is no run.", "Compare runs with it.")
        whole = tuple(",".join(map(selector_of, group)) for group in groups)
        entry = InvestigationEntry(new_id(), kind, whole, note=note)
        title = EntryResult(entry, tuple(map(self._selection.record, whole))).title
        return InvestigationEntry(entry.id, kind, whole, title, note)

    def entry_results(self, entries: Sequence[InvestigationEntry]) -> Iterator[EntryResult]:
        """Yield the result of each of some entries as its runs are judged now."""
        from app.investigation_results import entry_result

        known = self._store.known_runs({run for entry in entries for run in entry.runs})
        for entry in entries:
            yield entry_result(self._selection, entry, self.margins(), known)

    def investigation_sections(self, found: Investigation) -> list[ReportSection]:
        """Return the report of an investigation as an ordered list of sections."""
        from app.sharing.sections import ReportedEntry, investigation_sections

        reported = [
            ReportedEntry(
                result,
                {record.summary.id: samples for record, samples in self._selection.joined(result.entry.selectors)}
                if result.records
                else {},
            )
            for result in self.entry_results(found.entries)
        ]
        return investigation_sections(found, reported)

    def export_investigation(self, word: str, path: Path, kind: str, *, redacted: bool = False) -> Path:
        """Write the report of an investigation as one of FORMATS; `redacted` is what it says of itself.

        The HTML has the library of its runs in it, and the investigation. Raises WriteError and StoreError.
        """
        from app.output import write_whole
        from app.sharing.html_report import html_report, sharing_text
        from app.sharing.section_texts import sections_markdown, sections_sheet

        found = self.investigation(word)
        sections = self.investigation_sections(found)
        if kind == "markdown":
            text = sections_markdown(found.name, sections, sharing_text(redacted=redacted, own_texts=True))
            return write_whole(path, text.encode("utf-8", "replace"))
        if kind == "pdf":
            sheet = sections_sheet(found.name, sections, sharing_text(redacted=redacted, own_texts=True))
            return write_whole(path, sheet.drawn("pdf"))
        runs = [run for run in found.runs if run in self._store.known_runs(set(found.runs))]
        library = self._library_of(runs, [found])
        records = [self.load(run) for run in runs]
        content = html_report(records, {}, library, redacted=redacted, title=found.name, sections=sections)
        return write_whole(path, content)

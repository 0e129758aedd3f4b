"""Services on copies of runs in which what identifies hosts and people is replaced."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from app.fleet_result_services import FleetResultServices
from suites.errors import BenchwrightError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from app.comparison.criteria import ComparisonCriteria
    from app.investigation import Investigation, InvestigationEntry
    from app.sharing.preview import RedactionPreview
    from app.sharing.redacted_copy import Keep


@dataclass(frozen=True, slots=True)
class RedactedRuns:
    """Services on redacted runs, and the selectors of these; `preview` returns what was replaced and what stays.

    `reason` is what is shown as the reason to compare runs that are not comparable; empty without one.
    """

    workstation: RedactionServices
    runs: Sequence[str]
    preview: Callable[[], RedactionPreview]
    reason: str = ""

    def criteria(self, given: ComparisonCriteria) -> ComparisonCriteria:
        """Return the criteria of a comparison with the reason that is shown."""
        return replace(given, overruled=self.reason)


class RedactionServices(FleetResultServices, ABC):
    """Threads, blocking and errors are as in app.services."""

    @abstractmethod
    def _services_at(self, library: Path, hosts: Path) -> RedactionServices:
        """Return the services on another library and list of hosts."""

    @abstractmethod
    def close(self) -> None:
        """Close the library."""

    @contextmanager
    def redacted(
        self, runs: Sequence[str], keep: Collection[Keep] = (), about: Investigation | None = None, reason: str = ""
    ) -> Iterator[RedactedRuns]:
        """Give the services on a copy of `runs` in which what identifies hosts and people is replaced.

        Everything that is exported from it is redacted, for it has nothing else. `keep` are free texts to keep. With
        an investigation `about` the runs, the copy has that too. The copy is removed at the end. `reason` is that of
        the user to compare them although they are not comparable: a free text, too.
        """
        from app.comparison.selectors import selector_of
        from app.sharing.redacted_copy import Keep, preview_of, redacted_copy

        chosen = [[one for one in group if one.published is None] for group in self._selection.chosen(runs)]
        if not all(chosen):
            raise BenchwrightError("A published table is no run to redact.", "Name runs only.")
        ids = list(dict.fromkeys(one.summary.id for group in chosen for one in group))
        with TemporaryDirectory(prefix="benchwright-") as folder:
            path = Path(folder) / "redacted.sqlite3"
            texts = (reason, *(() if about is None else about.texts))
            redaction = redacted_copy(self._store, ids, self._hosts.saved.entries(), path, keep, texts=texts)
            renamed = redaction.replacement.text
            copy = self._services_at(path, Path(folder) / "hosts.toml")
            try:
                if about is not None:
                    inside = redaction.inside_texts.text
                    copy.restore_investigation(self._redacted_investigation(about, renamed, inside))
                selectors = [",".join(selector_of(one, renamed) for one in group) for group in chosen]
                shown = renamed(reason) if Keep.TEXTS in keep else "reason left out" if reason.strip() else ""
                stores = self._store, copy._store  # noqa: SLF001 (of the same class)
                yield RedactedRuns(copy, selectors, lambda: preview_of(redaction, *stores, ids, keep), shown)
            finally:
                copy.close()

    def redaction_preview(self, runs: Sequence[str], keep: Collection[Keep] = ()) -> RedactionPreview:
        """Return what a redacted export of `runs` replaces and leaves out, and the texts that stay."""
        with self.redacted(runs, keep) as source:
            return source.preview()

    def _redacted_investigation(
        self, found: Investigation, renamed: Callable[[str], str], inside: Callable[[str], str]
    ) -> Investigation:
        """Return an investigation with titles and selectors `renamed` as in a redacted copy, and names `inside` texts.

        Entries of deleted runs lose their titles: what their names were is not known any more.
        """
        from app.comparison.selectors import selector_of

        known = self._store.known_runs(set(found.runs))

        def entry_of(entry: InvestigationEntry) -> InvestigationEntry:
            if not known.issuperset(entry.runs):
                return replace(entry, title="", note=inside(entry.note))
            groups = self._selection.chosen(entry.selectors) if entry.selectors else []
            selectors = tuple(",".join(selector_of(one, renamed) for one in group) for group in groups)
            return replace(entry, selectors=selectors, title=renamed(entry.title), note=inside(entry.note))

        return replace(
            found, name=inside(found.name), question=inside(found.question), conclusion=inside(found.conclusion),
            entries=tuple(map(entry_of, found.entries)),
        )  # fmt: skip

    @contextmanager
    def redacted_investigation(self, word: str) -> Iterator[RedactedRuns]:
        """Give the services on a copy of an investigation and its runs as redacted() does; its id stays.

        Raises InvestigationError for one that compares with a table of the user, which has no names to replace.
        """
        from app.baselines.baselines import built_in
        from app.investigation import InvestigationError

        found = self.investigation(word)
        tables = {part for entry in found.entries for part in entry.parts} - {*found.runs}
        if own := tables - {one.selector for one in built_in()}:
            raise InvestigationError(
                f"{min(own)} is a table of your own, which cannot be redacted.", "Export without redaction."
            )
        known = self._store.known_runs(set(found.runs))
        with self.redacted([run for run in found.runs if run in known], about=found) as source:
            yield source

    def export_investigation_as(
        self, word: str, files: Sequence[tuple[str, Path]], *, redacted: bool = True
    ) -> list[Path]:
        """Write the report of an investigation to files, each with its format; return them."""
        if not redacted:
            return [self.export_investigation(word, path, kind) for kind, path in files]
        number = self.investigation(word).id
        with self.redacted_investigation(number) as source:
            return [source.workstation.export_investigation(number, path, kind, redacted=True) for kind, path in files]

    def redacted_ticket(self, run: str) -> str:
        """Return the results of a run with a reproducer as Markdown, redacted."""
        with self.redacted([run]) as source:
            return source.workstation.ticket_text(source.runs[0], self.standings(run))

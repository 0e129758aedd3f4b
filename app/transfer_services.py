"""Services that move runs between libraries, files and servers, and sign in to a server."""

from __future__ import annotations

from abc import ABC
from dataclasses import replace
from typing import TYPE_CHECKING

from app.library_services import LibraryServices
from app.plans.plan import ELSEWHERE

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from app.library_location import Location, ServerUrl
    from app.outputs.files import Source
    from app.outputs.importing import ImportedOutput
    from app.outputs.judging import KnownHost
    from app.outputs.tables import GivenMapping
    from app.store.backup import BackedUp
    from app.store.library_merge import Merged
    from app.store.run_transfer import Exported, FinishedRun, Imported
    from suites.read_only.table_mapping import TableMapping


class TransferServices(LibraryServices, ABC):
    """Threads, blocking and errors are as in app.services."""

    def export_library(self, runs: Sequence[str], path: Path) -> Generator[Exported]:
        """Write finished runs to a new library at `path`, which another Benchwright opens or imports.

        Yields what is done so far; closed before its end, it leaves no file.
        """
        yield from self._store.export_runs(self.run_names(runs), path)

    def run_names(self, selectors: Sequence[str]) -> list[str]:
        """Return the names of the runs of selectors, each once: those of baselines, groups and series."""
        return self._selection.run_names(selectors)

    def runs_to_import(self, path: Path) -> list[FinishedRun]:
        """Return the finished runs of the library at `path`, which is only read, the newest first."""
        from app.store.run_transfer import finished_runs

        return finished_runs(path)

    def import_runs(self, path: Path, runs: Sequence[str] = ()) -> Generator[Imported]:
        """Copy finished runs, by default all, from the library at `path`, which is only read.

        Yields what is done so far; what was imported stays if it is closed before its end.
        """
        self.check_writable()
        yield from self._store.import_runs(path, runs)

    def import_outputs(
        self,
        sources: Sequence[Source],
        host: str = ELSEWHERE,
        known: KnownHost | None = None,
        *,
        again: bool = False,
        mapping: GivenMapping | None = None,
        between: Callable[[], None] = lambda: None,
    ) -> Generator[ImportedOutput]:
        """Import the outputs of tools that ran elsewhere, in files, folders or texts, as runs on `host`.

        A file that the library has on this host is not imported, unless `again` or something is `known` of the host.
        Tables are read through the remembered mapping of their columns, or `mapping`, which is then remembered.
        Yields each file as it is done. `between` is called before each result is judged; what it raises ends the
        import. What was imported before stays, as it does if the generator is closed.
        """
        from app.outputs.importing import import_outputs
        from app.outputs.judging import UNKNOWN_HOST

        self.check_writable()
        forced = again or known not in {None, UNKNOWN_HOST}
        kept: dict[frozenset[str], TableMapping] = {}
        for one in import_outputs(
            sources,
            host,
            known or UNKNOWN_HOST,
            self._store.recorder,
            lambda sha256, at, started: None if forced else self._store.run_of_output(sha256, at, started),
            mappings=self.saved_mappings.finder() if mapping is None else mapping.of,
            between=between,
        ):
            if mapping is not None and one.run and one.mapping is not None:
                columns = one.mapping.header
                if columns not in kept:
                    named = replace(one.mapping, name=mapping.name or one.name.rpartition(".")[0])
                    kept[columns] = self.saved_mappings.keep(named)
                yield replace(one, mapping=kept[columns])
            else:
                yield one

    def merge_library(self, path: Path, margins: Path | None = None) -> Generator[Merged]:
        """Copy what this library lacks from the library at `path`, which is only read, and margins from a file of them.

        Runs, baselines, calibrations, saved searches and session series; what differs under the same name is named and
        unchanged. Yields what is done so far; each run is merged as a whole or not at all.
        """
        import json

        from app.baselines.reference_file import reference_from
        from app.saved_margins import SavedMargins

        self.check_writable()
        given = None if margins is None else SavedMargins(margins).read(must_exist=True)
        for found in self._store.merge(path, lambda text: reference_from(json.loads(text), "reference")):
            if found.finished and given:
                added, refused = self.saved_margins.merge(given)
                yield replace(found, added=(*found.added, *added), refused=(*found.refused, *refused))
            else:
                yield found

    def copy_library(self, source: Location, target: Location, runs: Sequence[str] = ()) -> Generator[Merged]:
        """Copy `runs`, or the whole library at `source`, to that at `target`, each a file or on a server.

        The content of each run is compared before it is committed. Yields what is done so far; what was copied stays
        if it is closed before its end, and copying again continues.
        """
        import json

        from app.baselines.reference_file import reference_from
        from app.store.library_merge import copy_library

        yield from copy_library(source, target, runs, lambda text: reference_from(json.loads(text), "reference"))

    def back_up(self, path: Path) -> Generator[BackedUp]:
        """Copy the whole library, also while runs are recorded, to the new file `path`; yield what was verified.

        A failure leaves no file. Raises StoreError.
        """
        yield from self._store.back_up(path)

    def sign_in(self, url: ServerUrl, password: str) -> None:
        """Connect to a library on a server with a password, which is kept in memory. Raises StoreError."""
        from app.store.opening import check_driver

        check_driver(url)
        from app.store.server_connection import sign_in

        sign_in(url, password)

    def store_password(self, url: ServerUrl, password: str) -> None:
        """Store the password of a library on a server in the system keyring, after a connection. Raises StoreError."""
        from app.store.opening import check_driver

        check_driver(url)
        from app.store.server_connection import store_password

        store_password(url, password)

    @property
    def stores_passwords(self) -> bool:
        """Whether there is a keyring that encrypts. Asking it may take a second."""
        from app.store.server_connection import KEYRING

        return KEYRING.usable

    def delete_password(self, url: ServerUrl) -> bool:
        """Delete the password of a library from the system keyring; return whether there was one. Raises StoreError."""
        from app.store.opening import check_driver

        check_driver(url)
        from app.store.server_connection import delete_password

        return delete_password(url)

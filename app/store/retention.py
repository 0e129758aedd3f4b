"""Deletion of many runs, with the bytes that it freed as measured on the files."""

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from app.store.errors import StoreError
from app.store.library_file import wal_of
from suites.quantities import count_text


@dataclass(frozen=True, slots=True)
class Deleted:
    """Of `total` runs, those deleted, and why others were not. `freed` is how much smaller the files are, in bytes."""

    total: int
    runs: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    freed: int = 0

    @property
    def done(self) -> int:
        """The number of runs that were looked at."""
        return len(self.runs) + len(self.refused)

    @property
    def text(self) -> str:
        """What was deleted, in a sentence or more."""
        refused = "".join(f" Not deleted: {run}: {reason}" for run, reason in self.refused[:3])
        return f"Deleted {count_text(len(self.runs), 'run')}; {self.freed / 1e6:,.1f} MB freed.{refused}"


def delete_runs(path: Path, runs: Sequence[str], delete: Callable[[str], None]) -> Generator[Deleted]:
    """Delete runs of the library at `path`; yield what is done so far."""
    before = _size(path)
    found = Deleted(len(runs))
    for run in runs:
        try:
            delete(run)
        except StoreError as error:
            found = replace(found, refused=(*found.refused, (run, error.message)))
        else:
            found = replace(found, runs=(*found.runs, run))
        found = replace(found, freed=max(0, before - _size(path)))
        yield found


def _size(path: Path) -> int:
    """Return the bytes of the library with its log."""
    total = path.stat().st_size
    with suppress(FileNotFoundError):
        total += wal_of(path).stat().st_size
    return total

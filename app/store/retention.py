"""Deletion of many runs, with the bytes that it freed as measured on the files."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

from app.store.errors import StoreError, StoreLostError, refused_text
from suites.quantities import count_text


@dataclass(frozen=True, slots=True)
class Deleted:
    """Of `total` runs, those deleted, and why others were not. `freed` is how much smaller the files are, in bytes;
    None if the space stays the library's, for new runs."""

    total: int
    runs: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    freed: int | None = 0

    @property
    def done(self) -> int:
        """The number of runs that were looked at."""
        return len(self.runs) + len(self.refused)

    @property
    def text(self) -> str:
        """What was deleted, and each run that was not, in a sentence or more."""
        refused = refused_text("deleted", self.refused)
        freed = "their space is reused" if self.freed is None else f"{self.freed / 1e6:,.1f} MB freed"
        return f"Deleted {count_text(len(self.runs), 'run')}; {freed}.{refused}"


def delete_runs(
    size: Callable[[], int | None], runs: Sequence[str], delete: Callable[[str], None]
) -> Generator[Deleted]:
    """Delete runs of the library whose `size` is measured; yield what is done so far."""
    before = size()
    found = Deleted(len(runs), freed=None if before is None else 0)
    for run in runs:
        try:
            delete(run)
        except StoreLostError:  # each further run would wait for a connection, too
            raise
        except StoreError as error:
            found = replace(found, refused=(*found.refused, (run, str(error))))
        else:
            found = replace(found, runs=(*found.runs, run))
        if before is not None:
            found = replace(found, freed=max(0, before - (size() or 0)))
        yield found

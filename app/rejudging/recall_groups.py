"""Recall notice: what later checks changed in runs, grouped by the new trust, its reason and the month of the run."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.library_rows import LibraryRow
from app.records import Recall
from app.run_filter import RunFilter, Term
from suites.quantities import count_text, listed
from suites.verdict import Trust

MOST_BASELINES = 3
"""Baselines that are named; the rest are counted."""


@dataclass(frozen=True, slots=True)
class RecallGroup:
    """Runs of a month that have the same trust now, for the same reason. `rows` begin with those of baselines."""

    recall: Recall
    month: datetime
    rows: tuple[LibraryRow, ...]

    @property
    def worse(self) -> bool:
        """Whether the runs are trusted less than before."""
        return Trust(self.recall.now).rank > Trust(self.recall.was).rank

    @property
    def baselines(self) -> tuple[str, ...]:
        """The baselines that contain any of the runs."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.baselines))

    @property
    def text(self) -> str:
        """What changed: ``14 runs of May 2026 are now doubtful: Page cache served part of the I/O``."""
        runs, verb = count_text(len(self.rows), "run"), "is" if len(self.rows) == 1 else "are"
        reason = f": {self.recall.reason}" if self.recall.reason else ""
        return f"{runs} of {self.month:%B %Y} {verb} now {self.recall.now}{reason}"

    @property
    def baseline_text(self) -> str:
        """Which baselines contain any of the runs: ``Baselines “a” and “b” contain 2 of them.``; empty if none does."""
        names = self.baselines
        if not names:
            return ""
        pinned = sum(bool(row.baselines) for row in self.rows)
        if len(names) == 1:
            return f"Baseline “{names[0]}” contains {pinned} of them."
        return f"Baselines {listed([f'“{name}”' for name in names], MOST_BASELINES)} contain {pinned} of them."

    @property
    def filter(self) -> RunFilter:
        """The filter of the library that shows its runs."""
        end = (self.month.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
        return RunFilter(
            (
                Term("recall", "=", (self.recall.text,)),
                Term("since", ":", (f"{self.month:%Y-%m-%d}",)),
                Term("until", ":", (f"{end:%Y-%m-%d}",)),
            )
        )


def recall_groups(rows: Iterable[LibraryRow], *, dismissed: bool = False) -> tuple[RecallGroup, ...]:
    """Return what later checks changed in runs, without what the user has dismissed unless `dismissed`.

    Groups with runs of baselines come first, then those that are trusted less now, then those of most runs.
    """
    found: dict[tuple[str, bool, datetime], list[LibraryRow]] = {}
    for row in rows:
        recall = row.recall
        if recall is not None and not row.binned and (dismissed or recall.dismissed is None):
            worse = Trust(recall.now).rank > Trust(recall.was).rank
            found.setdefault((recall.text, worse, _month(row)), []).append(row)
    groups = []
    for (_, _, month), members in found.items():
        ordered = sorted(members, key=lambda row: not row.baselines)
        if (first := ordered[0].recall) is not None:
            groups.append(RecallGroup(first, month, tuple(ordered)))
    return tuple(sorted(groups, key=lambda one: (not one.baselines, not one.worse, -len(one.rows))))


def _month(row: LibraryRow) -> datetime:
    """Return the first day of the month in which a run started, in local time as the filter reads it."""
    began = datetime.fromisoformat(row.summary.started).astimezone()
    return datetime(began.year, began.month, 1)  # noqa: DTZ001 (a local day)


def notice_of(groups: tuple[RecallGroup, ...]) -> tuple[str, str]:
    """Return the notice of groups: the first of them with its baselines, and how much else changed."""
    first, *others = groups
    more = sum(len(one.rows) for one in others)
    rest = f"{count_text(more, 'other run')} changed too." if more else ""
    return f"{first.text}.", " ".join(filter(None, (first.baseline_text, rest)))

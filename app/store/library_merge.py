"""Merge of another library: its runs, then baselines, calibrations, searches, series, investigations and studies.

Nothing stored is changed: what differs under the same name is named and left out.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select

from app.formats import plan_from_json
from app.library_location import Location
from app.records import Calibration
from app.run_filter import FilterError, parse_filter
from app.store import baselines, fleet_transfer, investigations, library_reader, schema
from app.store.database import Database
from app.store.errors import StoreError
from app.store.opening import database_of
from app.store.rows import check_types, inserted_id
from app.store.run_transfer import Imported, copied_runs, opened, whole_content, writing_from
from suites.errors import BenchwrightError
from suites.quantities import count_text


@dataclass(frozen=True, slots=True)
class Merged:
    """The runs merged so far; then what else was added, and what was not, with the reason."""

    runs: Imported
    added: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    finished: bool = False

    @property
    def done(self) -> int:
        """The number of runs that were looked at."""
        return self.runs.done

    @property
    def total(self) -> int:
        """The number of runs of the other library."""
        return self.runs.total

    @property
    def whole(self) -> bool:
        """Whether everything of the other library is in this one."""
        return self.finished and self.runs.whole and not self.refused

    @property
    def text(self) -> str:
        """What was merged, and all that was not, in a sentence or more."""
        if not self.finished:
            rest = "Baselines, calibrations, searches, series, investigations and fleet studies"
            return f"{self.runs.report()} {rest} not {self.runs.verb}."
        added = f" Added: {', '.join(self.added)}." if self.added else ""
        refused = "".join(f" Not {self.runs.verb}: {one}." for one in self.refused)
        return f"{self.runs.report()}{added}{refused}"


def merge(path: Path, target: Database, check_table: Callable[[str], object]) -> Generator[Merged]:
    """Copy what this library lacks from the library at `path`, which is only read; yield what is done so far.

    `check_table` raises BenchwrightError or ValueError for the JSON of a malformed table of a baseline.

    Each run is one transaction, and so is all the rest: interrupted, each is there as a whole or not at all. Raises
    StoreError.
    """
    with opened(path) as old:
        yield from _merged(old, copied_runs(old, target, verb="merged"), target, check_table)


def copy_library(
    source: Location, target: Location, runs: Sequence[str], check_table: Callable[[str], object]
) -> Generator[Merged]:
    """Copy `runs`, or the whole library, from one library to another, of any kind; yield what is done so far.

    As merge(), and the content of each run is read again and compared before it is committed. What is there already
    with the same content is left: after an interruption, copying again continues. Raises StoreError.
    """
    if source == target:
        raise StoreError(f"{source} cannot be copied to itself.", "Choose another library.")
    with closing(database_of(target)) as database, opened(source) as old:
        copied = copied_runs(old, database, runs, whole_content, verb="copied")
        if not runs:
            yield from _merged(old, copied, database, check_table)
            return
        for found in copied:
            yield Merged(found, finished=found.done == found.total)


def _merged(
    old: Connection, copied: Iterable[Imported], target: Database, check_table: Callable[[str], object]
) -> Generator[Merged]:
    for runs in copied:
        found = Merged(runs)
        yield found
    merging = _Merging(old, check_table)
    with writing_from(old, target) as new:
        for copy in (
            merging.series,
            merging.baselines,
            merging.calibrations,
            merging.searches,
            merging.investigations,
            merging.fleet_studies,
        ):
            copy(new)
    yield replace(found, added=tuple(merging.added), refused=tuple(merging.refused), finished=True)


class _Merging:
    """What is copied besides runs, and the outcome of each."""

    def __init__(self, old: Connection, check_table: Callable[[str], object]) -> None:
        self._old = old
        self._check_table = check_table
        self.added: list[str] = []
        self.refused: list[str] = []

    def series(self, new: Connection) -> None:
        """Copy the session series; without the claim of a run that is about to start elsewhere."""
        table = schema.session_series
        columns = (table.c.id, table.c.plan, table.c.sessions, table.c.created, table.c.ended)
        stored = {row.id: row.plan for row in new.execute(select(table.c.id, table.c.plan))}
        for row in self._old.execute(select(*columns).order_by(table.c.created)).mappings():
            name = f"session series {row['id'][:80]}"
            if row["id"] not in stored:
                try:
                    check_types(table, dict(row))
                    plan_from_json(json.loads(row["plan"]))
                except (BenchwrightError, ValueError):
                    self.refused.append(f"{name}: malformed")
                    continue
                new.execute(insert(table).values(dict(row)))
                self.added.append(name)
            elif stored[row["id"]] != row["plan"]:
                self.refused.append(f"{name}: this library has another plan for it")

    def baselines(self, new: Connection) -> None:
        """Copy the baselines by name: all versions that are missing, or none if a version differs."""
        stored = _versions(new)
        runs = set(new.execute(select(schema.runs.c.id)).scalars())
        for name, versions in _versions(self._old).items():
            shown = f"baseline {name[:80]}"
            own = stored.get(name, {})
            differing = [number for number in versions.keys() & own.keys() if versions[number] != own[number]]
            absent = [run for one in versions.values() for run, _ in one.parts if run not in runs]
            if differing:
                self.refused.append(f"{shown}: version {min(differing)} differs from that of this library")
            elif not all(map(self._is_sound, versions.values())):
                self.refused.append(f"{shown}: malformed")
            elif absent:
                self.refused.append(f"{shown}: its run {absent[0][:80]} is not in this library")
            else:
                for number in sorted(versions.keys() - own.keys()):
                    _insert_version(new, name, number, versions[number])
                    self.added.append(f"{shown}@{number}")

    def _is_sound(self, version: "_Version") -> bool:
        try:
            check_types(schema.baselines, version.row)
            if version.reference is not None:
                self._check_table(version.reference)
        except (BenchwrightError, ValueError, TypeError, LookupError):
            return False
        return bool(version.parts or version.reference)

    def calibrations(self, new: Connection) -> None:
        """Copy the calibrations that are missing."""
        known = set(map(_key, baselines.calibrations(new)))
        try:
            missing = [each for each in baselines.calibrations(self._old) if _key(each) not in known]
        except (BenchwrightError, ValueError, TypeError):
            self.refused.append("calibrations: one is malformed")
            return
        for each in reversed(missing):  # the oldest first
            baselines.keep_calibration(new, each)
        if missing:
            self.added.append(count_text(len(missing), "calibration"))

    def searches(self, new: Connection) -> None:
        """Copy the saved searches."""
        stored = library_reader.searches(new)
        for name, search in library_reader.searches(self._old).items():
            shown = f"search {name[:80]}"
            if name in stored:
                if stored[name] != search:
                    self.refused.append(f"{shown}: this library has another filter for it")
                continue
            try:
                parse_filter(search)
            except FilterError as error:
                self.refused.append(f"{shown}: {error.message.rstrip('.')}")
            else:
                library_reader.save_search(new, name, search)
                self.added.append(shown)

    def investigations(self, new: Connection) -> None:
        """Copy the investigations."""
        added, refused = investigations.copy_missing(self._old, new)
        self.added += added
        self.refused += refused

    def fleet_studies(self, new: Connection) -> None:
        """Copy the fleet studies with their hosts and host-runs."""
        added, refused = fleet_transfer.copy_missing(self._old, new)
        self.added += added
        self.refused += refused


def _key(calibration: Calibration) -> tuple[str, str, str]:
    return (calibration.host, calibration.suite, calibration.made)


@dataclass(frozen=True, slots=True)
class _Version:
    """A version of a baseline, by content."""

    pinned: str | None
    oldest: float | None
    size: int
    reference: str | None
    parts: tuple[tuple[str, str], ...]

    @property
    def row(self) -> dict[str, Any]:
        """Its columns."""
        return {"pinned": self.pinned, "oldest": self.oldest, "size": self.size, "reference": self.reference}


def _versions(connection: Connection) -> Mapping[str, Mapping[int, _Version]]:
    """Return the versions of each baseline by name and number."""
    table, parts = schema.baselines.c, schema.baseline_parts.c
    pinned: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for number, run, part in connection.execute(select(parts.baseline, parts.run_id, parts.part).order_by(parts.id)):
        pinned[number].append((run, part))
    found: dict[str, dict[int, _Version]] = defaultdict(dict)
    for row in connection.execute(select(schema.baselines).order_by(table.id)):
        version = _Version(row.pinned, row.oldest, row.size, row.reference, tuple(pinned[row.id]))
        found[row.name][row.version] = version
    return found


def _insert_version(connection: Connection, name: str, number: int, version: _Version) -> None:
    values = {"name": name, "version": number, **version.row}
    row = inserted_id(connection, schema.baselines, values)
    if version.parts:
        rows = [{"baseline": row, "run_id": run, "part": part} for run, part in version.parts]
        connection.execute(insert(schema.baseline_parts), rows)

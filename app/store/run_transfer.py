"""Transfer of finished runs between libraries: to a new file, and from one that comes from another computer.

What may still be on hosts is left behind: directories, commands and settings to restore belong to the library in which
the run was recorded, and restoring those of a stranger would write to hosts as root.
"""

import errno
import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, insert, select
from sqlalchemy.exc import DBAPIError, StatementError

from app.events import State
from app.formats import FormatError, plan_from_json
from app.investigation import Investigation
from app.library_location import Location
from app.records import start_text
from app.store import (
    errors,
    investigations,
    packed_samples,
    record_reader,
    run_reader,
    run_summaries,
    schema,
    user_additions,
)
from app.store.backup import BackedUp
from app.store.database import Database
from app.store.dialects import dialect_of
from app.store.embedded_library import extract_library, is_html
from app.store.file_database import FileDatabase
from app.store.library_file import (
    cannot_open,
    check_kind,
    driver_of,
    new_library,
    temporary_space,
)
from app.store.opening import database_of
from app.store.rows import check_types, inserted_id
from app.store.run_writer import WrittenIds, metric_id
from app.store.salvage import copy_of
from suites.quantities import count_text, first_upper
from suites.vocab import Metric, name_of_title

LONGEST = 64 * 2**20
"""Bytes of a value that is read from a library of another computer."""

ROWS = 10_000
"""Rows in one statement."""

_LEFT = frozenset({schema.metrics, schema.workspaces, schema.jobs, schema.changes})
_NO_OWNER = {
    "owner_pid": 0, "owner_boot": "", "owner_started": 0, "owner_space": None, "owner_host": None, "touched": None,
    "left_at": None, "batch": None,
}  # fmt: skip
_RUN_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")


Content = Callable[[Connection, str], Any]
"""What identifies a run in a library; None without it."""


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run that can be imported."""

    id: str
    name: str
    started: str
    undated: bool = False  # `started` is the time of its import

    def start_text(self, moment: str) -> str:
        """Return the start as `moment` is written; that of an import is marked."""
        return start_text(moment, undated=self.undated)


@dataclass(frozen=True, slots=True)
class Exported:
    """How many of how many runs were written to a new library."""

    path: Path
    done: int
    total: int

    @property
    def whole(self) -> bool:
        """Whether all were written."""
        return self.done == self.total

    @property
    def text(self) -> str:
        """What was written, in a sentence."""
        return f"Wrote {count_text(self.total, 'run')} to {self.path}." if self.whole else "Export cancelled."


@dataclass(frozen=True, slots=True)
class Imported:
    """Of `total` runs, those that were imported, those that the library had, and why others were not, by run.

    `added` is what the user had added there to runs that the library had, then investigations; `left_out` are those
    that were not added, with the reason. `verb` is what was done: imported, merged or copied.
    """

    total: int
    runs: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    added: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    verb: str = "imported"

    @property
    def done(self) -> int:
        """The number of runs that were looked at."""
        return len(self.runs) + len(self.present) + len(self.refused)

    @property
    def whole(self) -> bool:
        """Whether the library has all of them now."""
        return len(self.runs) + len(self.present) == self.total

    @property
    def text(self) -> str:
        """What was imported, in a sentence or more, with some of what was not."""
        return self.report(3)

    def report(self, most: int | None = None) -> str:
        """Return what was imported and all that was not, in a sentence or more; `most` bounds each list."""
        left = f" Cancelled: {self.total - self.done} of {self.total} left." if self.done < self.total else ""
        present = f" {count_text(len(self.present), 'run')} already in the library." if self.present else ""
        refused = errors.refused_text(self.verb, self.refused, most)
        added = f" Added: {errors.listed(self.added, most)}." if self.added else ""
        left_out = "".join(f" Not added: {one}." for one in self.left_out)
        return f"{first_upper(self.verb)} {count_text(len(self.runs), 'run')}.{added}{present}{refused}{left_out}{left}"


Transfer = Exported | Imported | BackedUp


@dataclass(frozen=True, slots=True)
class RowChange:
    """A change of every text and every raw output on its way to another library.

    Locks and imported files are left out. So are annotations unless `texts`, and the raw output of imported runs unless
    `imported`: both hold any text.
    """

    text: Callable[[str], str]
    data: Callable[[bytes], bytes]
    texts: bool = False
    imported: bool = False


def export_runs(
    source: Database,
    runs: Sequence[str],
    path: Path,
    change: RowChange | None = None,
    about: Sequence[Investigation] = (),
) -> Generator[Exported]:
    """Write finished runs to a new library at `path`, with a `change` if given; yield what is done so far.

    `about` are the investigations that it gets, as they are.

    Raises StoreError; then, and if it is closed before its end, no file is left.
    """
    with source.reading() as old, _naming_source():
        found = list(dict.fromkeys(run_reader.find(old, run) for run in runs))
        with new_library(path) as partial, closing(FileDatabase(partial)) as target:
            with target.writing() as new:
                for one in about:
                    investigations.keep(new, one)
            for done, run in enumerate(found, 1):
                with writing_from(old, target) as new:
                    _copy(old, new, run, change)
                if done < len(found):
                    yield Exported(path, done, len(found))
    yield Exported(path, len(found), len(found))


def import_runs(path: Path, target: Database, runs: Sequence[str] = ()) -> Generator[Imported]:
    """Copy finished runs, by default all, from the library at `path`, which is only read; yield what is done so far.

    With all runs, the investigations of that library are copied too. Raises StoreError.
    """
    with opened(path) as old:
        for found in copied_runs(old, target, runs):
            yield found
        if not runs:
            with writing_from(old, target) as new:
                added, left_out = investigations.copy_missing(old, new)
            if added or left_out:
                yield replace(found, added=(*found.added, *added), left_out=tuple(left_out))


def copied_runs(
    old: Connection,
    target: Database,
    runs: Sequence[str] = (),
    content: Content | None = None,
    *,
    verb: str = "imported",
) -> Generator[Imported]:
    """Copy finished runs, by default all, in a transaction each; yield what is done so far.

    A run with the same id but other `content` is refused: by default another start, end or other figures; what the user
    added to it is added here, too, and refused where it differs. With a `content` given, that of each copy is compared,
    too, before it is committed, and what the user added is part of it. `verb` is that of Imported.
    """
    wanted = [run_reader.find(old, each) for each in runs] or [run.id for run in _finished(old)]
    so_far = Imported(len(wanted), verb=verb)
    yield so_far
    for run in wanted:
        try:
            with writing_from(old, target, adding=True) as new:
                copied = _copy_missing(old, new, run, content)
                own = user_additions.Additions() if copied or content else _add_missing(old, new, run)
        except errors.StoreLostError:  # each further run would wait for a connection, too
            raise
        except _SourceError as failed:
            if old.invalidated:
                raise
            so_far = replace(so_far, refused=(*so_far.refused, (run, errors.unreadable_run(run, failed).message)))
        except errors.StoreError as error:
            so_far = replace(so_far, refused=(*so_far.refused, (run, str(error))))
        else:
            if own.added:
                so_far = replace(so_far, added=(*so_far.added, f"{', '.join(own.added)} of {run}"))
            if copied:
                so_far = replace(so_far, runs=(*so_far.runs, run))
            elif own.differing:
                reason = f"Differs in {', '.join(own.differing)}: each library keeps its own."
                so_far = replace(so_far, refused=(*so_far.refused, (run, reason)))
            else:
                so_far = replace(so_far, present=(*so_far.present, run))
        yield so_far


def finished_runs(path: Path) -> list[FinishedRun]:
    """Return the finished runs of the library at `path`, which is only read, the newest first. Raises StoreError."""
    with opened(path) as connection:
        return _finished(connection)


@contextmanager
def opened(path: Location) -> Iterator[Connection]:
    """Give a connection to a server, or to a copy of the file at `path`: opening one may write to it or upgrade it."""
    if not isinstance(path, Path):
        with closing(database_of(path)) as database, database.reading() as connection, _naming_source():
            yield connection
        return
    copy = path
    try:
        found = check_kind(path)
        if found is None:
            raise cannot_open(path, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
        if not found.st_size:
            raise errors.empty_file(path)
        with temporary_space(2 * found.st_size) as folder:
            source = extract_library(path, Path(folder)) if is_html(path) else path
            copy = source if source != path else copy_of(path, Path(folder))
            with closing(FileDatabase(copy)) as database, database.reading() as connection, _naming_source():
                driver_of(connection).setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
                yield connection
    except errors.StoreError as error:  # named as the user does, who chose it as the file to import
        message, remedy = (each.replace(str(copy), str(path)) for each in (error.message, error.remedy))
        raise type(error)(message, remedy.replace(" with --store", "")) from error
    except OSError as error:
        raise errors.translated(error, path) from error


class _SourceError(Exception):
    """An error of the database that is read, within a transaction of the other one, which would name that."""

    def __init__(self, error: DBAPIError) -> None:
        super().__init__(str(error.orig))
        self.error = error


@contextmanager
def writing_from(old: Connection, target: Database, *, adding: bool = False) -> Iterator[Connection]:
    """Give a connection as Database.writing() does; what fails while `old` is read is an error of its library."""
    with target.writing(adding=adding) as new:
        try:
            yield new
        except DBAPIError as error:
            own = new.dialect.dbapi
            if old.invalidated or (own is not None and not isinstance(error.orig, own.Error)):
                raise _SourceError(error) from error
            raise


@contextmanager
def _naming_source() -> Iterator[None]:
    """Let the database that is read name its own error."""
    try:
        yield
    except _SourceError as failed:
        raise failed.error from failed


def _finished(connection: Connection) -> list[FinishedRun]:
    table = schema.runs.c
    query = select(table.id, table.name, table.started, run_reader.imported_at())
    query = query.where(table.state != State.RUNNING.value).order_by(table.started.desc())
    return [
        FinishedRun(str(run), str(name), str(started), imported == started)
        for run, name, started, imported in connection.execute(query)
    ]


def _add_missing(old: Connection, new: Connection, run: str) -> user_additions.Additions:
    try:
        return user_additions.add_missing(old, new, run)
    except (FormatError, ValueError, TypeError, AttributeError) as error:
        raise errors.StoreError(f"What was added to the run {run[:80]} is malformed.") from error


def _copy_missing(old: Connection, new: Connection, run: str, content: Content | None = None) -> bool:
    """Copy a run unless the library has it; return whether it was copied. Raises StoreError if it has another."""
    content_of = content or _content
    dialect_of(new).lock_run(new, run)  # another program may be copying it
    known = content_of(new, run)
    if known is None:
        _copy(old, new, run)
        if content is not None and content(new, run) != content(old, run):
            raise errors.StoreError(f"The copy of the run {run[:80]} differs: it was not kept.")
    elif known != content_of(old, run):
        raise errors.StoreError(f"The run {run[:80]} of this library differs: both are unchanged.")
    return known is None


def whole_content(connection: Connection, run: str) -> Any:
    """Return a digest of all that is copied of a run, whatever its row numbers; None without such a run.

    NUL characters in text are those that replace them in PostgreSQL.
    """
    if _content(connection, run) is None:
        return None
    metrics, digest = run_reader.metrics_by_id(connection), hashlib.sha256()
    for table, query in schema.rows_of_run(run):
        if table in _LEFT or table in _NUMBERS_ONLY:
            continue
        for row in connection.execute(query).mappings():
            digest.update(_comparable(table, dict(row), metrics))
    for samples in (run_reader.samples(connection, run), run_reader.telemetry(connection, run)):
        for owner, found in sorted(samples.items()):
            digest.update(repr((owner, found)).encode())
    return digest.digest()


def _comparable(table: Table, row: dict[str, Any], metrics: Mapping[int, Metric]) -> bytes:
    """Return a row without what differs between libraries: its number, its owner, its derived headline."""
    left = {"headline", *_NO_OWNER} if table is schema.runs else set() if table is schema.trials else {"id"}
    values = {name: value for name, value in row.items() if name not in left}
    if "metric" in values:
        values["metric"] = metrics[values["metric"]]
    return f"{table.name}{values!r}".replace("\\x00", "\ufffd").encode("utf-8", "replace")


def _content(connection: Connection, run: str) -> tuple[Any, ...] | None:
    """Return what identifies the result of a run: its start, end and figures; None without such a run."""
    table, figures = schema.runs.c, schema.figures.c
    own = connection.execute(select(table.started, table.ended).where(table.id == run)).first()
    values = select(figures.trial, figures.value).where(figures.run_id == run).order_by(figures.id)
    return None if own is None else (*own, *map(tuple, connection.execute(values)))


def _copy(old: Connection, new: Connection, run: str, change: RowChange | None = None) -> None:
    """Copy a finished run with new row numbers. Raises StoreError for one that is under way or malformed."""
    try:
        state = old.execute(select(schema.runs.c.state).where(schema.runs.c.id == run)).scalar()
        if not _RUN_ID.fullmatch(run) or state == State.RUNNING.value:
            raise errors.StoreError(f"The run {run[:80]} has not ended.", "Stop it first.")
        _copy_rows(old, new, run, change)
        while packed_samples.pack(new, run):
            pass
        packed_samples.count(new, run)  # those of a stranger may be malformed
        record = record_reader.record(new, run)
    except (ValueError, TypeError, LookupError, OverflowError, StatementError) as error:
        if isinstance(error, DBAPIError):
            raise
        raise errors.StoreError(f"The run {run[:80]} is malformed.") from error
    run_summaries.write(new, run, record)


def _copy_rows(old: Connection, new: Connection, run: str, change: RowChange | None) -> None:
    metrics, known, numbers = _metrics(old, change), WrittenIds(), _Numbers()
    for table, query in schema.rows_of_run(run):
        if table in _LEFT or _is_left_out(table, change):
            continue
        if change is not None and table is schema.output:
            _copy_output(old, new, run, change)
            continue
        for rows in old.execute(query).mappings().partitions(ROWS):
            made = [_renumbered(table, dict(row), numbers) for row in rows]
            if change is not None and table not in _NUMBERS_ONLY:
                made = [_changed(table, values, change) for values in made]
            for values in made:
                if "metric" in values:
                    values["metric"] = metric_id(new, metrics[values["metric"]], known)
            if table is schema.series or table is schema.sample_times:
                into = numbers.series if table is schema.series else numbers.times
                for row, values in zip(rows, made, strict=True):
                    into[row["id"]] = inserted_id(new, table, values)
            else:
                new.execute(insert(table), made)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The new row ids of series and of lists of times, by their old ones."""

    series: dict[int, int] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)


_NUMBERS_ONLY = frozenset({*schema.SAMPLES, schema.sample_times})
"""Tables with no text of a host."""


def _renumbered(table: Table, row: dict[str, Any], numbers: _Numbers) -> dict[str, Any]:
    """Return a row without its own number, with those of its series and times; a run without its owner."""
    check_types(table, row)
    for name in _READ_BY_VIEWS.get(table, ()):
        _check_json(row[name])
    if table is schema.runs:
        return row | _NO_OWNER
    if table is not schema.trials:
        row.pop("id", None)
    if table in schema.SAMPLES:
        row["series"] = numbers.series[row["series"]]
    if table is schema.packed_samples:
        row["times"] = numbers.times[row["times"]]
    if table is schema.sample_times:
        row |= packed_samples.times_row(packed_samples.decoded(row["time_list"]))
    return row


_READ_BY_VIEWS = {
    schema.runs: ("hosts", "steps"),
    schema.facts: ("content",),
    schema.figures: ("labels",),
    schema.series: ("labels",),
}
"""Columns with JSON that sql_views read; one that no database can read would break every query."""


def _check_json(text: str) -> None:
    """Raise ValueError unless `text` is JSON as databases read it: Python accepts NaN, infinities and any depth."""
    try:
        _JSON.decode(text)
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


_JSON = json.JSONDecoder(parse_constant=_refuse)


_SAME = frozenset({
    "run_id", "plan_hash", "session_series", "state", "started", "ended", "moment", "level", "check_id",
    "limited_by", "program_version", "was", "now", "replaced", "dismissed", "evidence", "imported",
})  # fmt: skip
"""Columns of ids, words and times of this program."""


def _changed(table: Table, row: dict[str, Any], change: RowChange) -> dict[str, Any]:
    """Return a row with its texts changed; the hash of a plan is that of the changed one."""
    own = {"id"} if table is schema.runs else set()
    made = {
        name: change.text(value) if isinstance(value, str) and name not in _SAME | own else value
        for name, value in row.items()
    }
    if table is schema.imported_outputs:
        made |= {"content": b"", "sha256": hashlib.sha256(b"").hexdigest()}  # it may hold any text beside the output
    if table is schema.runs:
        made["plan_hash"] = plan_from_json(json.loads(made["plan"])).hash()
    return made


def _is_left_out(table: Table, change: RowChange | None) -> bool:
    return change is not None and (table is schema.locks or (table is schema.annotations and not change.texts))


def _metrics(connection: Connection, change: RowChange | None) -> Mapping[int, Metric]:
    found = run_reader.metrics_by_id(connection)
    return found if change is None else {number: _renamed(metric, change) for number, metric in found.items()}


def _renamed(metric: Metric, change: RowChange) -> Metric:
    """Return a metric with its title changed, and the name that was made of it."""
    title = change.text(metric.title)
    name = metric.name.replace(name_of_title(metric.title), name_of_title(title))
    return metric if title == metric.title else replace(metric, title=title, name=name)


def _copy_output(old: Connection, new: Connection, run: str, change: RowChange) -> None:
    """Copy raw output, each stream of a trial as a whole: a value may be cut by the border of two rows."""
    table = schema.output
    if not change.imported and run_reader.is_imported(old, run):
        return
    query = select(table.c.trial).where(table.c.run_id == run).distinct().order_by(table.c.trial)
    for trial in list(old.execute(query).scalars()):
        for name, data in run_reader.output(old, run, trial).items():
            found = change.data(data)
            for start in range(0, len(found), _PIECE):
                row = insert(table).values(run_id=run, trial=trial, stream=name, data=found[start : start + _PIECE])
                new.execute(row)


_PIECE = 2**20
"""Bytes of raw output in a row."""

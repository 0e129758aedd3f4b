"""Salvage: copy the readable rows of a damaged library to a new one. Only a copy of the damaged file is opened."""

import contextlib
import operator
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlalchemy import StaticPool, create_engine
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from app.store import stored_evidence
from app.store.dialects import APPLICATION_ID
from app.store.errors import UNCHANGED, StoreError, code_of, no_space, too_new, translated
from app.store.file_database import read_format
from app.store.library_file import MIN_SIZE, check_kind, create_file, for_writing, hardened, temporary_space, wal_of
from app.store.schema import DERIVED, FORMAT, tables
from app.store.sql_views import STATEMENTS
from app.store.stored_evidence import COUNTED_SINCE
from suites.quantities import count_text

NAME = '"{}"'

HIGHEST = 2**62
"""A rowid above all existing ones."""

MOST_DAMAGED = 32
"""Bytes of a definition of the schema that may be damaged, for it to be recognised."""

TRIES = 2000
"""Maximum number of times that reading a table is resumed after damage."""


@dataclass(frozen=True, slots=True)
class Salvaged:
    """Number of saved runs and rows, and the tables that could not be read completely.

    `lost` are the ids of runs whose own row is missing. `short` is what the rest miss of what their verdicts are based
    on, by run. `cut` is the share of pages missing at the end of the file. `mended` are the tables and indexes whose
    damaged definitions were replaced.
    """

    runs: int
    rows: int
    incomplete: tuple[str, ...]
    lost: tuple[str, ...] = ()
    cut: float = 0.0
    short: Mapping[str, str] = field(default_factory=dict)
    mended: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether nothing is known to be missing."""
        return not self.incomplete and not self.lost and not self.short and not self.cut


def saved_text(saved: Salvaged, new: Path) -> tuple[str, str]:
    """Return a message about what was saved to `new`, and a remedy if something is missing."""
    runs = count_text(saved.runs, "run")
    cut = f" The damaged file is truncated: {saved.cut:.0%} of it is missing." if saved.cut else ""
    names = ", ".join(saved.mended)
    mended = f" Damaged definitions of tables and indexes were replaced: {names}." if names else ""
    if not saved.incomplete and not saved.lost and not saved.short:
        return f"{runs} saved to {new}. No row is missing.{cut}{mended}", ""
    message = f"{runs} saved to {new}.{cut}{mended}"
    if saved.lost:
        named = ", ".join(saved.lost[:5]) + (" …" if len(saved.lost) > 5 else "")
        message += f" Lost: {len(saved.lost)} ({named})."
    if saved.incomplete:
        message += f" Incomplete tables: {', '.join(saved.incomplete)}."
    if "runs" in saved.incomplete or saved.cut:
        message += " Whether it had more runs is not known."
    if saved.short:
        named = "; ".join(f"{run}: {text.rstrip('.')}" for run, text in list(saved.short.items())[:3])
        more = f"; and {len(saved.short) - 3} more" if len(saved.short) > 3 else ""
        message += f" {count_text(len(saved.short), 'run')} without all evidence, not judged again: {named}{more}."
    return message, "Check each run before you use it."


def salvage(source: Path, target: Path) -> Salvaged:
    """Copy the readable rows of the library at `source` to a new one at `target`.

    Reads each table from the beginning, then backwards from the end, skipping damage. In the copy of a truncated file,
    the page count in the header is corrected first. Rows of lost runs are left out. Raises StoreError if `target`
    exists, if `source` is of a newer format, or if the schema cannot be read; `target` is then removed or unchanged.
    """
    try:
        found = check_kind(source)
        if found is None:
            raise FileNotFoundError(2, os.strerror(2))
        create_file(target)
    except OSError as error:
        raise translated(error, source) from error
    try:
        with temporary_space(2 * found.st_size + _size(wal_of(source))) as folder:
            copy = copy_of(source, Path(folder))
            return _best(source, copy, target)
    except BaseException as error:
        target.unlink(missing_ok=True)
        if code_of(error) == sqlite3.SQLITE_FULL:
            raise no_space(str(target)) from error
        if isinstance(error, sqlite3.DatabaseError):
            raise StoreError(
                f"{source} cannot be salvaged: its schema is damaged ({error}).",
                f"Restore an earlier copy. {UNCHANGED}",
            ) from error
        if isinstance(error, OSError):
            raise translated(error, source) from error
        raise


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0


def copy_of(source: Path, folder: Path) -> Path:
    """Return a copy of the library at `source` in `folder`, with its write-ahead log."""
    copy = folder / "copy"
    shutil.copyfile(source, copy)
    with contextlib.suppress(FileNotFoundError):  # commits since the last checkpoint, if any
        shutil.copyfile(wal_of(source), folder / "copy-wal")
    return copy


def _best(source: Path, copy: Path, target: Path) -> Salvaged:
    """Save the rows of the copy; if it cannot be read, try again with a corrected page count in its header."""
    whole = shutil.copyfile(copy, copy.with_name("whole"))  # opening the copy may run a checkpoint
    cut = _cut(copy)
    log = copy.with_name("copy-wal")
    try:
        if cut and _size(log) and _size(copy) < MIN_SIZE:
            os.truncate(copy, _page_size(log.read_bytes()[8:12]))  # SQLite deletes the log of an empty file
        return _saved(source, copy, target, cut)
    except sqlite3.DatabaseError:
        if not cut or _size(whole) < MIN_SIZE:
            raise
        for name in ("copy-wal", "copy-shm"):
            copy.with_name(name).unlink(missing_ok=True)
        os.truncate(target, 0)
        _set_page_count(whole)
        return _saved(source, whole, target, cut)


def _page_size(field: bytes | bytearray) -> int:
    size = int.from_bytes(field, "big")
    size = 65536 if size == 1 else size
    return size if size in {2**power for power in range(9, 17)} else 4096


def _cut(path: Path) -> float:
    """Return the share of pages missing at the end of a database, from the page count in its header."""
    with path.open("rb") as file:
        header = file.read(100)
    size, pages = _page_size(header[16:18]), int.from_bytes(header[28:32], "big")
    if len(header) < 100:
        return 1.0
    return max(0.0, 1 - (_size(path) // size) / pages) if pages else 0.0


def _set_page_count(path: Path) -> None:
    """Set the page count in the header of a truncated database to its size, and its freelist to empty.

    Source: https://www.sqlite.org/fileformat.html, 1.3.7 to 1.3.9: page count at 28, freelist at 32 and 36; the
    count is valid only if 92 equals the change counter at 24.
    """
    with path.open("r+b") as file:
        header = bytearray(file.read(100))
        size = _page_size(header[16:18])
        pages = _size(path) // size
        file.truncate(pages * size)  # drop a partial last page
        header[28:32] = pages.to_bytes(4, "big")
        header[32:40] = bytes(8)
        header[92:96] = header[24:28]
        file.seek(0)
        file.write(header)


def _saved(source: Path, copy: Path, target: Path, cut: float) -> Salvaged:
    mended = _mend_tables(copy)
    _mend_views(copy)
    with closing(hardened(sqlite3.connect(copy))) as old, closing(for_writing(target)) as new:
        return replace(_transferred(source, old, new, cut), mended=mended)


def _mend_tables(copy: Path) -> tuple[str, ...]:
    """Replace the definitions of tables and indexes in which bytes are damaged by the current format's; return names.

    Only a definition that is the current one but for MOST_DAMAGED bytes is replaced, and none of an older format: its
    indexes and the order of its columns may differ.
    """
    with closing(sqlite3.connect(copy)) as connection:
        connection.text_factory = bytes
        connection.execute("PRAGMA writable_schema = ON")
        try:
            if connection.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
                return ()
            stored = connection.execute("SELECT rowid, CAST(sql AS BLOB) FROM sqlite_master WHERE sql > ''").fetchall()
        except sqlite3.DatabaseError:
            return ()
        intact = {text for _, text in stored}
        current = [(text.encode(), name) for name, text in _definitions() if text.encode() not in intact]
        found: dict[int, tuple[bytes, str]] = {}
        for row, text in stored:
            near = [one for one in current if len(one[0]) == len(text) and _is_damaged(text, one[0])]
            if len(near) == 1:
                found[row] = near[0]
        for row, (text, _) in found.items():
            connection.execute("UPDATE sqlite_master SET sql = ? WHERE rowid = ?", (text.decode(), row))
        connection.commit()
    return tuple(name for _, name in found.values())


def _definitions() -> Iterator[tuple[str, str]]:
    """Yield the name and the definition of each table and index of the current format."""
    for table in tables.sorted_tables:
        yield table.name, str(CreateTable(table).compile(dialect=sqlite.dialect())).strip()
        for index in table.indexes:
            yield str(index.name), str(CreateIndex(index).compile(dialect=sqlite.dialect())).strip()


def _is_damaged(text: bytes, current: bytes) -> bool:
    """Return whether a definition is the `current` one but for a few bytes and is no SQL, or has other names."""
    if not 0 < sum(map(operator.ne, text, current)) <= MOST_DAMAGED:
        return False
    return not current.startswith(b"CREATE TABLE") or _columns_of(text) != _columns_of(current)


def _columns_of(definition: bytes) -> list[tuple[object, ...]]:
    """Return the name of a table with each of its columns; none if its definition is no SQL."""
    with closing(sqlite3.connect(":memory:")) as memory, contextlib.suppress(sqlite3.Error, ValueError):
        memory.execute(definition.decode())
        return memory.execute(
            "SELECT t.name, c.name, c.type FROM sqlite_master t, pragma_table_info(t.name) c"
        ).fetchall()
    return []


def _mend_views(copy: Path) -> None:
    """Give the views of a copy whose schema cannot be read Benchwright's own text; delete other views and triggers.

    Rows need neither, but SQLite opens no table if the text of one is damaged.
    """
    with contextlib.suppress(sqlite3.DatabaseError), closing(sqlite3.connect(copy)) as connection:
        try:
            connection.execute("SELECT count(*) FROM sqlite_master")
        except sqlite3.DatabaseError as error:
            if "malformed database schema" not in str(error):
                return
            connection.execute("PRAGMA writable_schema = ON")
            own = [(text, name) for name, text in STATEMENTS.items()]
            connection.executemany("UPDATE sqlite_master SET sql = ? WHERE type = 'view' AND name = ?", own)
            for kind, name in connection.execute("SELECT type, name FROM sqlite_master").fetchall():
                if kind == "trigger" or (kind == "view" and name not in STATEMENTS):
                    connection.execute("DELETE FROM sqlite_master WHERE type = ? AND name = ?", (kind, name))
            connection.commit()


def _transferred(source: Path, old: sqlite3.Connection, new: sqlite3.Connection, cut: float) -> Salvaged:
    old.text_factory = lambda data: data.decode("utf-8", "replace")
    described = old.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND rootpage > 0"
    ).fetchall()
    objects = [row for row in described if row[0] in {"table", "index"} and not row[1].startswith("sqlite_")]
    tables = [name for kind, name, _ in objects if kind == "table"]
    if "runs" not in tables:
        raise sqlite3.DatabaseError("no table of runs")
    version = int(old.execute("PRAGMA user_version").fetchone()[0])
    needed = version
    with contextlib.suppress(sqlite3.DatabaseError):
        needed = max(version, read_format(old, version))
    if needed > FORMAT:
        raise too_new(source, version, needed)
    new.execute("PRAGMA auto_vacuum = FULL")
    new.execute("BEGIN")
    for _, _, text in sorted(objects, key=lambda row: row[0] != "table"):
        new.execute(text)
    new.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    new.execute(f"PRAGMA user_version = {version}")
    copied = [table for table in tables if table not in DERIVED]  # those are written anew
    incomplete = [table for table in copied if not _copy_rows(old, new, table)]
    lost = _runs_in_parts(new, copied)
    _drop_orphans(new)
    if incomplete and version < COUNTED_SINCE:
        stored_evidence.mark_unknown(new)
    stored = {name for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'view'")}
    for name in STATEMENTS.keys() & stored:  # with Benchwright's own text
        new.execute(STATEMENTS[name])
    new.execute("COMMIT")
    rows = sum(_count(new, table) for table in tables)
    return Salvaged(_count(new, "runs"), rows, tuple(incomplete), lost, cut, _short(new, version))


def _short(new: sqlite3.Connection, version: int) -> Mapping[str, str]:
    """Return which evidence is missing by run; before format 17 only that it is not known."""
    engine = create_engine("sqlite://", creator=lambda: new, poolclass=StaticPool)
    with engine.connect() as connection:
        return stored_evidence.missing(connection) if version >= COUNTED_SINCE else {}


def _copy_rows(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> bool:
    """Copy a table from both ends; return whether it was read completely from the beginning."""
    columns = ", ".join(["rowid", *_columns(new, table)])
    for sign in (1, -1):
        marks, whole = "", True
        for row in _rows(old, table, sign):
            if row is None:
                whole = False
                continue
            marks = marks or ", ".join("?" * len(row))
            with contextlib.suppress(sqlite3.IntegrityError):  # a damaged row may violate NOT NULL
                new.execute(f"INSERT OR IGNORE INTO {NAME.format(table)} ({columns}) VALUES ({marks})", row)  # noqa: S608 (names from the file's own schema, quoted)
        if whole:
            return sign == 1
    return False


def _rows(old: sqlite3.Connection, table: str, sign: int) -> Iterator[tuple[object, ...] | None]:
    """Yield the rows of a table in ascending (`sign` 1) or descending rowid order; None for damage.

    After damage it resumes at a distance that doubles with each failed try.
    """
    columns = ", ".join(["rowid", *_columns(old, table)])
    compared, order = (">=", "ASC") if sign == 1 else ("<=", "DESC")
    # NOT INDEXED: an index may be the damaged part.
    query = f"SELECT {columns} FROM {NAME.format(table)} NOT INDEXED WHERE rowid {compared} ? ORDER BY rowid {order}"  # noqa: S608 (as above)
    start, jump = (-HIGHEST if sign == 1 else HIGHEST), 1
    for _ in range(TRIES):
        try:
            for row in old.execute(query, (start,)):
                start, jump = row[0] + sign, 1
                yield row
        except sqlite3.DatabaseError:
            yield None
        else:
            return
        start, jump = _further(start, jump * sign), 2 * jump
        if abs(start) > HIGHEST:
            return


def _further(start: int, jump: int) -> int:
    """Return the rowid at which to resume; rowids start at 1."""
    if jump > 0:
        return max(start, 1) + jump
    return start + jump if start < HIGHEST else start // 2


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    found = connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    return [NAME.format(name.replace('"', '""')) for (name,) in found]


def _runs_in_parts(new: sqlite3.Connection, tables: list[str]) -> tuple[str, ...]:
    """Return the ids of runs that other tables reference but whose own row is missing."""
    referring = [table for table in tables if NAME.format("run_id") in _columns(new, table) and table != "workspaces"]
    found: set[str] = set()
    for table in referring:
        lost = f"SELECT DISTINCT run_id FROM {NAME.format(table)} WHERE run_id NOT IN (SELECT id FROM runs)"  # noqa: S608 (as above)
        rows = new.execute(lost)
        found.update(str(run) for (run,) in rows)
    return tuple(sorted(found))


def _drop_orphans(new: sqlite3.Connection) -> None:
    """Delete rows whose run, series or metric is missing, repeatedly, as that may orphan others."""
    while orphans := new.execute("PRAGMA foreign_key_check").fetchall():
        for table, row, *_ in orphans:
            new.execute(f"DELETE FROM {NAME.format(table)} WHERE rowid = ?", (row,))  # noqa: S608 (as above)


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {NAME.format(table)}").fetchone()[0])  # noqa: S608 (as above)

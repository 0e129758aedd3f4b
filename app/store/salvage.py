"""Reads what can still be read of a damaged library into a new one. The damaged file is never opened, only its copy."""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from app.store.errors import StoreError, translated
from app.store.library_file import SMALLEST, check_kind, for_writing, hardened, make_new, room_for, wal_of
from app.store.schema import APPLICATION_ID

NAME = '"{}"'

HIGHEST = 2**62
"""A rowid above all there are."""

TRIES = 2000
"""How often reading a table is begun anew behind something damaged, at most."""


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What was saved: runs, rows of all tables, and the tables of which something could not be read.

    `lost` are runs of which no more than parts were found. `cut` is the share of the file's pages that are missing at
    its end, 0 where none are.
    """

    runs: int
    rows: int
    incomplete: tuple[str, ...]
    lost: tuple[str, ...] = ()
    cut: float = 0.0


def saved_text(saved: Salvaged, new: Path) -> tuple[str, str]:
    """Return what was saved into `new` in words, and what to think of it where not everything could be read."""
    runs = f"{saved.runs} run{'' if saved.runs == 1 else 's'}"
    cut = f" The damaged file is cut off: {saved.cut:.0%} of it is missing." if saved.cut else ""
    if not saved.incomplete and not saved.lost:
        return f"{runs} saved to {new}; nothing is missing.{cut}", ""
    said = f"{runs} saved to {new}.{cut}"
    if saved.lost:
        named = ", ".join(saved.lost[:5]) + (" …" if len(saved.lost) > 5 else "")
        said += f" Lost: {len(saved.lost)} ({named})."
    if saved.incomplete:
        said += f" Incomplete: {', '.join(saved.incomplete)}."
    return said, "Check each run before you use it."


def salvage(source: Path, target: Path) -> Salvaged:
    """Write all that can be read of the library at `source` to a new one at `target`.

    Rows are read one after the other from the beginning, then from the end, around whatever is damaged. A file that is
    cut off is first told, in the copy, how many pages it has. What hangs from a run that was lost is left out. Raises
    StoreError where `target` is there already, or where not even the names of the tables can be read; nothing is left
    at `target` then.
    """
    try:
        found = check_kind(source)
        if found is None:
            raise FileNotFoundError(2, os.strerror(2))
        make_new(target)
    except OSError as error:
        raise translated(error, source) from error
    try:
        with room_for(2 * found.st_size + _size(wal_of(source))) as folder:
            copy = _copied(source, Path(folder))
            return _best(copy, target)
    except BaseException as error:
        target.unlink(missing_ok=True)
        if isinstance(error, sqlite3.DatabaseError):
            raise StoreError(
                f"Nothing can be read of {source}: where it says what is in it, it is damaged ({error}).",
                "Only a copy made earlier helps. Nothing in it was changed.",
            ) from error
        if isinstance(error, OSError):
            raise translated(error, source) from error
        raise


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0


def _copied(source: Path, folder: Path) -> Path:
    copy = folder / "copy"
    shutil.copyfile(source, copy)
    with contextlib.suppress(FileNotFoundError):  # what was written since the library was last tidied, if anything
        shutil.copyfile(wal_of(source), folder / "copy-wal")
    return copy


def _best(copy: Path, target: Path) -> Salvaged:
    """Save what the copy gives as it is; where it cannot be read, what it gives once it says how long it is."""
    whole = shutil.copyfile(copy, copy.with_name("whole"))  # reading tidies the copy up
    cut = _cut(copy)
    log = copy.with_name("copy-wal")
    try:
        if cut and _size(log) and _size(copy) < SMALLEST:
            os.truncate(copy, _page_size(log.read_bytes()[8:12]))  # SQLite drops the log of an empty file
        return _saved(copy, target, cut)
    except sqlite3.DatabaseError:
        if not cut or _size(whole) < SMALLEST:
            raise
        for name in ("copy-wal", "copy-shm"):
            copy.with_name(name).unlink(missing_ok=True)
        os.truncate(target, 0)
        _say_length(whole)
        return _saved(whole, target, cut)


def _page_size(field: bytes | bytearray) -> int:
    size = int.from_bytes(field, "big")
    size = 65536 if size == 1 else size
    return size if size in {2**power for power in range(9, 17)} else 4096


def _cut(path: Path) -> float:
    """Return the share of a database's pages that are missing at its end, by its header and its size."""
    with path.open("rb") as file:
        header = file.read(100)
    size, pages = _page_size(header[16:18]), int.from_bytes(header[28:32], "big")
    if len(header) < 100:
        return 1.0
    return max(0.0, 1 - (_size(path) // size) / pages) if pages else 0.0


def _say_length(path: Path) -> None:
    """Let a database that is cut off say how many pages it has, none of them free.

    Source: https://www.sqlite.org/fileformat.html, 1.3.7 to 1.3.9: pages in 28, freelist in 32 and 36; 92 repeats the
    change counter of 24 where 28 holds.
    """
    with path.open("r+b") as file:
        header = bytearray(file.read(100))
        size = _page_size(header[16:18])
        pages = _size(path) // size
        file.truncate(pages * size)  # half a page would be read as rows of nothing
        header[28:32] = pages.to_bytes(4, "big")
        header[32:40] = bytes(8)
        header[92:96] = header[24:28]
        file.seek(0)
        file.write(header)


def _saved(copy: Path, target: Path, cut: float) -> Salvaged:
    with closing(hardened(sqlite3.connect(copy))) as old, closing(for_writing(target)) as new:
        return _transferred(old, new, cut)


def _transferred(old: sqlite3.Connection, new: sqlite3.Connection, cut: float) -> Salvaged:
    old.text_factory = lambda data: data.decode("utf-8", "replace")
    described = old.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND rootpage > 0"
    ).fetchall()
    ours = [row for row in described if row[0] in {"table", "index"} and not row[1].startswith("sqlite_")]
    tables = [name for kind, name, _ in ours if kind == "table"]
    if "runs" not in tables:
        raise sqlite3.DatabaseError("it names no table of runs")
    new.execute("PRAGMA auto_vacuum = FULL")
    new.execute("BEGIN")
    for _, _, text in sorted(ours, key=lambda row: row[0] != "table"):
        new.execute(text)
    new.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    new.execute(f"PRAGMA user_version = {int(old.execute('PRAGMA user_version').fetchone()[0])}")
    incomplete = [table for table in tables if not _copy_rows(old, new, table)]
    lost = _runs_in_parts(new, tables)
    _drop_orphans(new)
    new.execute("COMMIT")
    rows = sum(_count(new, table) for table in tables)
    return Salvaged(_count(new, "runs"), rows, tuple(incomplete), lost, cut)


def _copy_rows(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> bool:
    """Copy a table from both ends; return whether it was read from the one to the other."""
    columns = ", ".join(["rowid", *_columns(new, table)])
    for sign in (1, -1):
        marks, whole = "", True
        for row in _rows(old, table, sign):
            if row is None:
                whole = False
                continue
            marks = marks or ", ".join("?" * len(row))
            with contextlib.suppress(sqlite3.IntegrityError):  # what is damaged may be a row of nothing
                new.execute(f"INSERT OR IGNORE INTO {NAME.format(table)} ({columns}) VALUES ({marks})", row)  # noqa: S608 (names from the file's own schema, quoted)
        if whole:
            return sign == 1
    return False


def _rows(old: sqlite3.Connection, table: str, sign: int) -> Iterator[tuple[object, ...] | None]:
    """Yield the rows of a table in the order of their rowids, or against it; None where something cannot be read.

    Behind that it goes on, further away with each try that fails.
    """
    columns = ", ".join(["rowid", *_columns(old, table)])
    compared, order = (">=", "ASC") if sign == 1 else ("<=", "DESC")
    # Without an index: one of them may be what is damaged.
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
    """Return the rowid at which reading goes on: rowids are counted from 1, so that nothing is below that."""
    if jump > 0:
        return max(start, 1) + jump
    return start + jump if start < HIGHEST else start // 2


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    found = connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    return [NAME.format(name.replace('"', '""')) for (name,) in found]


def _runs_in_parts(new: sqlite3.Connection, tables: list[str]) -> tuple[str, ...]:
    """Return the runs that tables speak of and that were lost themselves."""
    speaking = [table for table in tables if NAME.format("run_id") in _columns(new, table) and table != "workspaces"]
    found: set[str] = set()
    for table in speaking:
        lost = f"SELECT DISTINCT run_id FROM {NAME.format(table)} WHERE run_id NOT IN (SELECT id FROM runs)"  # noqa: S608 (as above)
        rows = new.execute(lost)
        found.update(str(run) for (run,) in rows)
    return tuple(sorted(found))


def _drop_orphans(new: sqlite3.Connection) -> None:
    """Take out the rows whose run, series or metric was lost, and then those that hung from these."""
    while orphans := new.execute("PRAGMA foreign_key_check").fetchall():
        for table, row, *_ in orphans:
            new.execute(f"DELETE FROM {NAME.format(table)} WHERE rowid = ?", (row,))  # noqa: S608 (as above)


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {NAME.format(table)}").fetchone()[0])  # noqa: S608 (as above)

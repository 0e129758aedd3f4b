"""Reads what can still be read of a damaged library into a new one. The damaged file is never opened, only its copy."""

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from app.store.errors import StoreError, translated
from app.store.schema import APPLICATION_ID

NAME = '"{}"'


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What was saved: runs, rows of all tables, and the tables of which something could not be read."""

    runs: int
    rows: int
    incomplete: tuple[str, ...]


def saved_text(saved: Salvaged, new: Path) -> tuple[str, str]:
    """Return what was saved into `new` in words, and what to think of it where not everything could be read."""
    runs = f"{saved.runs} run{'' if saved.runs == 1 else 's'}"
    if not saved.incomplete:
        return f"{runs} saved to {new}; everything could be read.", ""
    return (
        f"{runs} saved to {new}. Not all could be read of: {', '.join(saved.incomplete)}.",
        "What was lost is missing there; look at each run before you rely on it.",
    )


def salvage(source: Path, target: Path) -> Salvaged:
    """Write all that can be read of the library at `source` to a new one at `target`.

    Rows are read one after the other from the beginning, and, where that ends at something damaged, from the end.
    What hangs from a run that was lost is left out. Raises StoreError where `target` is there already, or where not
    even the names of the tables can be read; nothing is left at `target` then.
    """
    if target.exists():
        raise StoreError(f"{target} is there already.", "Name a file that is not.")
    try:
        with tempfile.TemporaryDirectory() as folder:
            copy = _copied(source, Path(folder))
            with closing(sqlite3.connect(copy)) as old, closing(sqlite3.connect(target)) as new:
                return _transferred(old, new)
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


def _copied(source: Path, folder: Path) -> Path:
    copy = folder / "copy"
    shutil.copyfile(source, copy)
    with contextlib.suppress(FileNotFoundError):  # what was written since the library was last tidied, if anything
        shutil.copyfile(f"{source}-wal", folder / "copy-wal")
    return copy


def _transferred(old: sqlite3.Connection, new: sqlite3.Connection) -> Salvaged:
    old.text_factory = lambda data: data.decode("utf-8", "replace")
    described = old.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    tables = [name for kind, name, _ in described if kind == "table" and not name.startswith("sqlite_")]
    for _, name, text in sorted(described, key=lambda row: row[0] != "table"):
        if not name.startswith("sqlite_"):
            new.execute(text)
    new.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    new.execute(f"PRAGMA user_version = {int(old.execute('PRAGMA user_version').fetchone()[0])}")
    incomplete = [table for table in tables if not _copy_rows(old, new, table)]
    _drop_orphans(new)
    new.commit()
    rows = sum(_count(new, table) for table in tables)
    return Salvaged(_count(new, "runs"), rows, tuple(incomplete))


def _copy_rows(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> bool:
    """Copy a table from both ends; return whether it was read from the one to the other."""
    whole = False
    for order in ("ASC", "DESC"):
        with contextlib.suppress(sqlite3.DatabaseError):
            for row in _rows(old, table, order):
                marks = ", ".join("?" * len(row))
                columns = ", ".join(["rowid", *_columns(new, table)])
                new.execute(f"INSERT OR IGNORE INTO {NAME.format(table)} ({columns}) VALUES ({marks})", row)  # noqa: S608 (names from the file's own schema, quoted)
            whole = True
        if whole:
            break
    return whole and order == "ASC"


def _rows(old: sqlite3.Connection, table: str, order: str) -> Iterator[tuple[object, ...]]:
    columns = ", ".join(["rowid", *_columns(old, table)])
    # Without an index: one of them may be what is damaged.
    yield from old.execute(f"SELECT {columns} FROM {NAME.format(table)} NOT INDEXED ORDER BY rowid {order}")  # noqa: S608 (as above)


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    found = connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    return [NAME.format(name.replace('"', '""')) for (name,) in found]


def _drop_orphans(new: sqlite3.Connection) -> None:
    """Take out the rows whose run, series or metric was lost, and then those that hung from these."""
    while orphans := new.execute("PRAGMA foreign_key_check").fetchall():
        for table, row, *_ in orphans:
            new.execute(f"DELETE FROM {NAME.format(table)} WHERE rowid = ?", (row,))  # noqa: S608 (as above)


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {NAME.format(table)}").fetchone()[0])  # noqa: S608 (as above)

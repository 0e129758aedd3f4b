"""How much of a run is in a library: read again over another connection, before anybody hears that it is kept."""

import binascii
import sqlite3
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection, func, select

from app.store import reading, schema
from app.store.errors import damaged

STEPS = 10_000
"""Steps of SQLite's virtual machine between two looks at the clock."""

ROWS = 10_000
"""Rows that are read at once."""


@dataclass(slots=True)
class Written:
    """Trials, samples by trial (None: telemetry), and bytes of raw output by trial with their CRC-32, of a run."""

    trials: int = 0
    samples: Counter[int | None] = field(default_factory=Counter)
    output: dict[int, tuple[int, int]] = field(default_factory=dict)

    def copy(self) -> "Written":
        """Return a copy."""
        return Written(self.trials, Counter(self.samples), dict(self.output))

    def add_output(self, trial: int, data: bytes) -> None:
        """Count what follows in the output of a trial."""
        length, crc = self.output.get(trial, (0, 0))
        self.output[trial] = (length + len(data), binascii.crc32(data, crc))

    def agrees(self, other: "Written | None") -> bool:
        """Return whether `other` is as much."""
        return other is not None and (self.trials, +self.samples, self.output) == (
            other.trials, +other.samples, other.output,
        )  # fmt: skip


def read_back(connection: Connection, run_id: str) -> Written | None:
    """Read every row of a run; return how much of it the library holds, None where it does not know the run.

    Raises ValueError, TypeError or LookupError for a row that cannot be understood.
    """
    runs, series, samples = schema.runs.c, schema.series.c, schema.samples.c
    if connection.execute(select(runs.id).where(runs.id == run_id)).first() is None:
        return None
    found = Written()
    for table, query in schema.rows_of_run(run_id):
        if table is schema.samples:
            continue  # below, by SQLite: there may be millions
        for rows in connection.execute(query).partitions(ROWS):
            if table is schema.trials:
                found.trials += len(rows)
            elif table is schema.output:
                for row in rows:
                    found.add_output(row.trial, row.data)
    counted = (
        select(series.trial, func.count(), func.sum(samples.time + samples.value + samples.warm_up))
        .join(schema.samples, samples.series == series.id)
        .where(series.run_id == run_id)
        .group_by(series.trial)
    )
    found.samples.update({row[0]: row[1] for row in connection.execute(counted)})
    reading.record(connection, run_id)
    return found


def check_pages(connection: Connection, path: Path, seconds: float | None) -> None:
    """Raise DamagedError where the library at `path` is malformed, or where its tables contradict each other.

    Look for `seconds` at most, and not at its indexes then; None: at everything.
    """
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)  # noqa: S101 (the driver that was asked for)
    if seconds is not None:
        deadline = time.monotonic() + seconds
        driver.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    try:
        pragma = "integrity_check" if seconds is None else "quick_check"
        (said,) = driver.execute(f"PRAGMA {pragma}(1)").fetchone()
        if said == "ok" and driver.execute("PRAGMA foreign_key_check").fetchone() is not None:
            said = "rows that others refer to are missing"
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return
    finally:
        driver.set_progress_handler(None, 0)
    if said != "ok":
        raise damaged(path, " ".join(said.removeprefix("*** in database main ***").split()))

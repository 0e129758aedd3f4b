"""What differs between the databases in SQL: the number of the format, the order of rows, clocks, shared rows."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, literal_column, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ProgrammingError

from app.store.sql_views import POSTGRESQL, POSTGRESQL_VIEWS, RESULTS_SCHEMA, STATEMENTS, definitions, with_old_order
from app.timestamps import now

APPLICATION_ID = 0x42575231  # "BWR1"; identifies a library, also to file(1)

LIBRARY_LOCK, SHARED_ROWS_LOCK, QUEUE_LOCK = 1, 2, 3
"""Advisory locks of PostgreSQL, second number; the first is APPLICATION_ID."""

ROWID = "rowid"
"""Column with the order of insertion; SQLite has it in every table."""


class DatabaseDialect(ABC):
    """SQL of one kind of database. SQLAlchemy does the rest."""

    has_workers = False
    """Whether workers take host-runs from a queue in it."""

    @abstractmethod
    def stored_format(self, connection: Connection) -> int:
        """Return the format required to write the library."""

    @abstractmethod
    def store_format(self, connection: Connection, number: int) -> None:
        """Store the format required to write the library, after the row of `formats`."""

    @abstractmethod
    def complete_tables(self, connection: Connection, tables: Iterable[Table]) -> None:
        """Add to new or upgraded tables what their description lacks."""

    @abstractmethod
    def drop_views(self, connection: Connection) -> None:
        """Drop the views of sql_views, if any: a table that a view reads cannot be altered."""

    @abstractmethod
    def create_views(self, connection: Connection) -> None:
        """Create the views of sql_views."""

    @abstractmethod
    def lacks_views(self, connection: Connection) -> bool:
        """Return whether the views of a library of this format are of an older version and can be replaced."""

    @abstractmethod
    def moment(self, connection: Connection) -> str:
        """Return the present time (UTC, ISO 8601) of the clock by which all computers judge heartbeats."""

    @abstractmethod
    def lock_shared_rows(self, connection: Connection) -> None:
        """Wait until no other transaction inserts rows that all runs share; none does before this one ends."""

    @abstractmethod
    def lock_run(self, connection: Connection, run: str) -> None:
        """Wait until no other transaction copies `run` to here; none does before this one ends."""


class _Sqlite(DatabaseDialect):
    """A write transaction excludes all others from its beginning: nothing more is to be locked."""

    def stored_format(self, connection: Connection) -> int:
        return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())

    def store_format(self, connection: Connection, number: int) -> None:
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.exec_driver_sql(f"PRAGMA user_version = {number}")

    def complete_tables(self, connection: Connection, tables: Iterable[Table]) -> None:
        """Nothing: each table has a rowid."""

    def drop_views(self, connection: Connection) -> None:
        for name in STATEMENTS:
            connection.exec_driver_sql(f"DROP VIEW IF EXISTS {name}")

    def create_views(self, connection: Connection) -> None:
        for statement in STATEMENTS.values():
            connection.exec_driver_sql(statement)

    def lacks_views(self, connection: Connection) -> bool:  # noqa: ARG002 (they change with the format only)
        """Return False: a file with other views is refused."""
        return False

    def moment(self, connection: Connection) -> str:  # noqa: ARG002 (a file has no clock)
        """Return the time of this computer."""
        return now()

    def lock_shared_rows(self, connection: Connection) -> None:
        """Nothing: see the class."""

    def lock_run(self, connection: Connection, run: str) -> None:
        """Nothing: see the class."""


_VIEWS = f"Benchwright, version {POSTGRESQL_VIEWS}"
"""Comment of the schema of the views."""


class _PostgreSql(DatabaseDialect):
    has_workers = True

    def stored_format(self, connection: Connection) -> int:
        return int(connection.exec_driver_sql("SELECT format FROM formats").scalar_one())

    def store_format(self, connection: Connection, number: int) -> None:
        connection.execute(text("UPDATE formats SET format = :number"), {"number": number})

    def complete_tables(self, connection: Connection, tables: Iterable[Table]) -> None:
        """Add a rowid to each table without a number of its own."""
        for table in tables:
            if not _is_numbered(table):
                connection.exec_driver_sql(
                    f'ALTER TABLE "{table.name}" ADD COLUMN IF NOT EXISTS {ROWID} bigint GENERATED ALWAYS AS IDENTITY'
                )

    def drop_views(self, connection: Connection) -> None:
        """Nothing: views do not hinder new tables and columns, and others' views may depend on them."""

    def create_views(self, connection: Connection) -> None:
        """Create or replace them; those who may read them stay."""
        connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {RESULTS_SCHEMA}")
        for name, query in definitions(POSTGRESQL).items():
            try:
                with connection.begin_nested():
                    connection.exec_driver_sql(f"CREATE OR REPLACE VIEW {name} AS {query}")
            except ProgrammingError:  # the order of no column can be changed, and others' views may depend on this one
                connection.exec_driver_sql(f"CREATE OR REPLACE VIEW {name} AS {with_old_order(query)}")
        connection.exec_driver_sql(f"COMMENT ON SCHEMA {RESULTS_SCHEMA} IS '{_VIEWS}'")

    def lacks_views(self, connection: Connection) -> bool:
        """Return whether they are of an older version, and this role is their owner."""
        query = """SELECT COALESCE(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace
            WHERE nspname = %s AND pg_has_role(nspowner, 'USAGE') AND NOT pg_is_in_recovery()
            AND current_setting('default_transaction_read_only') = 'off'"""
        comment = connection.exec_driver_sql(query, (RESULTS_SCHEMA,)).scalar()
        version = re.fullmatch(r"Benchwright, version (\d+)", str(comment))
        return comment is not None and (version is None or int(version[1]) < POSTGRESQL_VIEWS)

    def moment(self, connection: Connection) -> str:
        form = 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"'
        query = text("SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', :form)")
        return str(connection.execute(query, {"form": form}).scalar_one())

    def lock_shared_rows(self, connection: Connection) -> None:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({APPLICATION_ID}, {SHARED_ROWS_LOCK})")

    def lock_run(self, connection: Connection, run: str) -> None:
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtextextended(%s, %s))", (run, APPLICATION_ID))


_DIALECTS: dict[str, DatabaseDialect] = {sqlite.dialect.name: _Sqlite(), postgresql.dialect.name: _PostgreSql()}


def dialect_of(connection: Connection) -> DatabaseDialect:
    """Return the dialect of the database of `connection`."""
    return _DIALECTS[connection.dialect.name]


def insertion_order(table: Table) -> ColumnElement[Any]:
    """Return what orders the rows of a table by their insertion, in any database."""
    return table.c.id if _is_numbered(table) else literal_column(f"{table.name}.{ROWID}")


def _is_numbered(table: Table) -> bool:
    """Return whether the rows are numbered as they are inserted; SQLite's rowid is then an alias of that column."""
    return table.autoincrement_column is not None and table.autoincrement_column.name == "id"

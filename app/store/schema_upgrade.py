"""Creates the tables of a library, and upgrades those of older formats."""

import json
from contextlib import suppress
from functools import cache

from sqlalchemy import Connection, delete, insert, inspect, select, update
from sqlalchemy.dialects import registry
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable

from app.store import schema
from app.store.dialects import dialect_of


def upgrade(connection: Connection) -> None:
    """Upgrade a library of any older format: add missing tables and columns, convert pins to baselines.

    Formats 2 to 17 only added tables, columns, indexes and views, so that no steps in between are needed. Summaries
    before SUMMARY_FORMAT are written anew later: run_summaries.complete(). Samples before format 16 are packed later:
    packed_samples.pack(). Their table is renamed so that an older program that has the library open fails to read
    samples, rather than finds none. Views are made last: a table that a view reads cannot be altered.
    """
    dialect_of(connection).drop_views(connection)
    if inspect(connection).has_table("samples"):
        connection.exec_driver_sql(f"ALTER TABLE samples RENAME TO {schema.sample_rows.name}")
    schema.tables.create_all(connection)
    for table in schema.tables.sorted_tables:
        stored = {column["name"] for column in inspect(connection).get_columns(table.name)}
        for column in table.columns:
            if column.name not in stored:
                described = CreateColumn(column).compile(dialect=connection.dialect)
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {described}")
        for index in table.indexes:
            index.create(connection, checkfirst=True)
    if dialect_of(connection).stored_format(connection) < schema.SUMMARY_FORMAT:
        connection.execute(delete(schema.run_summaries))
    _count_sessions(connection)
    if inspect(connection).has_table("pins"):  # before format 4
        connection.exec_driver_sql(
            "INSERT INTO baselines (id, name, version, size) SELECT id, name, 1, 1 FROM pins ORDER BY id"
        )
        connection.exec_driver_sql(
            "INSERT INTO baseline_parts (baseline, run_id, part) SELECT id, run_id, '' FROM pins ORDER BY id"
        )
        connection.exec_driver_sql("DROP TABLE pins")
    _write_formats(connection)


def _count_sessions(connection: Connection) -> None:
    """Store the number of sessions of each series of format 11."""
    table = schema.session_series
    for series, text in connection.execute(select(table.c.id, table.c.plan).where(table.c.sessions.is_(None))).all():
        with suppress(ValueError, TypeError, KeyError):  # a malformed plan
            number = int(json.loads(text)["repetition"]["sessions"])
            connection.execute(update(table).where(table.c.id == series).values(sessions=number))


def create(connection: Connection) -> None:
    """Create the tables of an empty library."""
    for statement in _definitions(connection.dialect.name):
        connection.exec_driver_sql(statement)
    _write_formats(connection)


@cache
def _definitions(database: str) -> tuple[str, ...]:
    """Return what creates every table and index: SQLAlchemy takes longer to write it than the database to run it."""
    dialect = registry.load(database)()
    tables = schema.tables.sorted_tables
    indexes = (index for table in tables for index in sorted(table.indexes, key=lambda index: str(index.name)))
    made = [str(CreateTable(table).compile(dialect=dialect)) for table in tables]
    return (*made, *(str(CreateIndex(index).compile(dialect=dialect)) for index in indexes))


def _write_formats(connection: Connection) -> None:
    """Store the formats required to write and to read this library."""
    dialect = dialect_of(connection)
    dialect.complete_tables(connection, schema.tables.sorted_tables)
    dialect.create_views(connection)
    connection.execute(delete(schema.formats))
    connection.execute(insert(schema.formats).values(read_format=schema.READ_FORMAT))
    dialect.store_format(connection, schema.FORMAT)

"""Database of a library in PostgreSQL: opened on first use, checked before writing; transactions and locks.

Tables are in the schema SCHEMA of the database. A write transaction holds an advisory lock: exclusive, or shared while
it writes one run only, so that several recorders and copies run side by side.
"""

import logging
import threading
import weakref
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psycopg
from sqlalchemy import Connection, Engine, QueuePool, create_engine, event, select
from sqlalchemy.exc import DBAPIError

from app.library_location import ServerUrl
from app.store import errors, schema, schema_upgrade, stored_evidence
from app.store.database import PATIENCE, Database, is_adding, patience_of, with_patience
from app.store.dialects import APPLICATION_ID, LIBRARY_LOCK, dialect_of
from app.store.rows import Written
from app.store.run_connection import RunConnection
from app.store.server_connection import SCHEMA, connect, prepare
from app.store.server_errors import translated

log = logging.getLogger(__name__)

OLDEST = 130000
"""Version of the first server with pg_current_snapshot()."""

_TIMEOUTS = (
    "SELECT set_config('lock_timeout', %s, true), set_config('idle_in_transaction_session_timeout', '60s', true)"
)
"""A transaction of a process that hangs must not lock the library for longer."""

_READABLE = """SELECT current_user::text, NOT EXISTS (
    SELECT FROM pg_namespace LEFT JOIN pg_class ON relnamespace = pg_namespace.oid AND relname = ANY(%s)
    WHERE nspname = %s AND (NOT has_schema_privilege(pg_namespace.oid, 'USAGE')
    OR NOT has_table_privilege(pg_class.oid, 'SELECT')))"""
"""The role, and whether it may read the library, if there is one."""

_MAY_WRITE = f"has_table_privilege('{SCHEMA}.runs', 'INSERT')"

_LOCK = f"({APPLICATION_ID}, {LIBRARY_LOCK})"

_KEPT = 4
"""Connections kept open."""


class ServerDatabase(Database):
    """One library in a database of PostgreSQL."""

    def __init__(self, url: ServerUrl) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._newer: int | None = None
        self._may_write = False

    @property
    def location(self) -> ServerUrl:
        """The URL, without password."""
        return self._url

    @property
    def path(self) -> Path:
        """Raise StoreError: there is no file."""
        raise errors.no_file(self._url)

    def read_only(self, lately: float = 0.0) -> errors.StoreError | None:  # noqa: ARG002 (nothing is locked)
        """Return why the library cannot be written: newer format, a standby server, a role that may only read."""
        with self.reading() as connection:
            standby, may_write = connection.exec_driver_sql(
                f"SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean, {_MAY_WRITE}"
            ).one()
        if self._newer is not None:
            return errors.read_only(self._url, self._newer, schema.FORMAT)
        if standby:
            return errors.ReadOnlyError(
                f"The library {self._url} is read-only: its server is a standby, or makes transactions read-only.",
                "To measure, pin or delete, use the primary server, or another library with --store.",
            )
        return None if may_write else errors.no_permission(self._url)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection in one read transaction (a consistent snapshot)."""
        with self._translating():
            options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
            with self._opened().connect().execution_options(**options) as connection, connection.begin():
                yield connection

    def connect(self) -> Connection:
        """Return a connection for write transactions, to be closed by the caller. Raises ReadOnlyError."""
        with self._translating():
            engine = self._opened()
            if self._newer is not None:
                raise errors.read_only(self._url, self._newer, schema.FORMAT)
            connection = engine.connect()
            if not self._may_write:  # before a lock of a run, or another reason that a reader cannot remove
                with connection.begin():
                    self._may_write = bool(connection.exec_driver_sql(f"SELECT {_MAY_WRITE}").scalar_one())
                if not self._may_write:
                    connection.close()
                    raise errors.no_permission(self._url)
            return connection

    @contextmanager
    def transaction(self, connection: Connection) -> Iterator[Connection]:
        """Give `connection` in a transaction. Raises UnknownOutcomeError if the connection ends at the commit."""
        with self._translating():
            transaction = connection.begin()
            try:
                self._begin(connection, patience_of(connection))
                yield connection
            except BaseException:
                with suppress(DBAPIError, psycopg.Error):
                    transaction.rollback()
                raise
            try:
                transaction.commit()
            except DBAPIError as error:
                found = translated(error.orig, self._url)
                if not isinstance(found, errors.StoreLostError):
                    raise
                fault = f"{found.fault} Whether the last change was stored is not known."
                raise errors.UnknownOutcomeError(fault, found.remedy) from error

    def stamps(self) -> tuple[Hashable, ...]:
        """Return the running and finished transactions of the server; any commit changes them."""
        with self.reading() as connection:
            return (str(connection.exec_driver_sql("SELECT pg_current_snapshot()::text").scalar_one()),)

    def size(self) -> None:
        """Return None: the server keeps the space of deleted rows for new ones."""

    def close(self) -> None:
        """Close the connections that are kept open."""
        with self._lock:
            if self._engine is not None:
                self._engine.dispose()
                self._engine = None

    def _begin(self, connection: Connection, patience: float) -> None:
        """Wait for the lock and check the format. Raises psycopg.errors.LockNotAvailable after `patience` seconds."""
        milliseconds = max(1, round(1000 * patience))  # 0 would wait without end
        connection.exec_driver_sql(_TIMEOUTS, (str(milliseconds),))
        kind = "_shared" if is_adding(connection) else ""
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock{kind}{_LOCK}")
        found = dialect_of(connection).stored_format(connection)
        if found > schema.FORMAT:
            raise errors.read_only(self._url, found, schema.FORMAT)

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise translated(error.orig, self._url) from error
        except psycopg.Error as error:  # of the driver's own cursor
            raise translated(error, self._url) from error

    def _opened(self) -> Engine:
        with self._lock:
            if self._engine is None:
                engine = create_engine(  # READ COMMITTED: a write transaction reads after its lock, not before it
                    "postgresql+psycopg://", creator=partial(connect, self._url), poolclass=QueuePool, pool_size=_KEPT,
                    max_overflow=-1, pool_pre_ping=True, hide_parameters=True, isolation_level="READ COMMITTED",
                )  # fmt: skip
                event.listen(engine, "connect", prepare)
                weakref.finalize(self, engine.dispose)  # of a database that was dropped without close()
                try:
                    self._newer = self._check(engine)
                except BaseException:
                    engine.dispose()
                    raise
                self._engine = engine
            return self._engine

    def _check(self, engine: Engine) -> int | None:
        """Create or upgrade the tables if needed; return the format of a library that is newer but readable."""
        with engine.connect() as connection, connection.begin():
            found = self._formats(connection)
            outdated = (
                found is not None and found[0] == schema.FORMAT and dialect_of(connection).lacks_views(connection)
            )
        if outdated:
            _replace_views(engine)
        if found is not None and found[0] >= schema.FORMAT:
            return self._readable(*found)
        with engine.connect() as connection, connection.begin():
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock{_LOCK}")
            found = self._formats(connection)  # another process may have created or upgraded them first
            if found is not None and found[0] >= schema.FORMAT:
                return self._readable(*found)
            try:
                self._create(connection, found)
            except DBAPIError as error:
                if not isinstance(error.orig, psycopg.errors.InsufficientPrivilege):
                    raise
                raise errors.needs_owner(self._url, None if found is None else found[0]) from error
        return None

    def _create(self, connection: Connection, found: tuple[int, int] | None) -> None:
        if found is None:
            self._refuse_foreign(connection)
            connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            schema_upgrade.create(connection)
        else:
            schema_upgrade.upgrade(connection)
            stored_evidence.write(connection)

    def _formats(self, connection: Connection) -> tuple[int, int] | None:
        """Return the formats required to write and to read the library, None if the database has none."""
        if int(connection.exec_driver_sql("SHOW server_version_num").scalar_one()) < OLDEST:
            raise errors.StoreError(
                f"The server of the library {self._url} is older than PostgreSQL 13.", "Update the server."
            )
        if connection.exec_driver_sql("SHOW server_encoding").scalar_one() != "UTF8":
            raise errors.StoreError(
                f"The database of the library {self._url} is not in UTF-8.",
                "Create one with: createdb --encoding=UTF8 --template=template0",
            )
        role, readable = connection.exec_driver_sql(_READABLE, (list(schema.tables.tables), SCHEMA)).one()
        if not readable:
            raise errors.not_readable(self._url, str(role))
        if connection.exec_driver_sql(f"SELECT to_regclass('{SCHEMA}.formats')").scalar_one() is None:
            return None
        table = schema.formats
        row = connection.execute(select(table.c.format, table.c.read_format)).one()
        return int(row[0]), int(row[1])

    def _readable(self, found: int, needed: int) -> int | None:
        if needed > schema.FORMAT:
            raise errors.too_new(self._url, found, needed)
        return found if found > schema.FORMAT else None

    def _refuse_foreign(self, connection: Connection) -> None:
        query = "SELECT count(*) FROM pg_tables WHERE schemaname = %s"
        if connection.exec_driver_sql(query, (SCHEMA,)).scalar_one():
            raise errors.StoreError(
                f"The schema {SCHEMA} of {self._url} is not a library but has tables of another program.",
                "Choose another database with --store.",
                unchanged=True,
            )


def _replace_views(engine: Engine) -> None:
    """Make the views of an older program anew; leave them to the next time while others read them."""
    try:
        with engine.connect() as connection, connection.begin():
            connection.exec_driver_sql("SET LOCAL lock_timeout = '1s'")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock{_LOCK}")
            if dialect_of(connection).lacks_views(connection):  # another process may have made them first
                dialect_of(connection).create_views(connection)
    except DBAPIError:
        log.warning("the SQL views of the library were not replaced", exc_info=True)


class ServerRunConnection(RunConnection):
    """Connections to a library on a server, each for one transaction.

    A recorder that kept one while its host-run waits for another could wait for ever: a server has a limited number.
    """

    copyable = False
    marked = True

    def __init__(self, database: ServerDatabase, run_id: str) -> None:
        super().__init__(database, run_id)
        self._server = database

    def connected(self, patience: float = PATIENCE) -> Connection:
        """Return the connection, made anew if it was lost. Raises StoreError."""
        if self._connection is None:
            self._connection = self._server.connect()
        return with_patience(self._connection, patience, adding=True)

    @contextmanager
    def transaction(self, patience: float = PATIENCE) -> Iterator[Connection]:
        """Give a connection in a transaction, and return it to the pool; one that was lost is not used again."""
        try:
            with super().transaction(patience) as connection:
                yield connection
        except errors.StoreLostError:
            if self._connection is not None:
                with suppress(DBAPIError, psycopg.Error):
                    self._connection.invalidate()
            raise
        finally:
            self.close()

    def close(self, *, damaged: bool = False) -> None:  # noqa: ARG002 (there is no file to spare)
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(DBAPIError, psycopg.Error):
                connection.close()

    def folder(self) -> None:
        """Return None: a run that cannot be stored is saved in the user's own folder."""

    def check_pages(self, seconds: float | None) -> None:
        """Check nothing: the server checks the pages that it reads (initdb --data-checksums)."""

    def regain(self, error: errors.StoreError, written: Written) -> None:
        """Do nothing: each transaction connects."""

    def was_committed(self, batch: str) -> bool:
        """Return whether the commit marked `batch` succeeded; waits until its transaction has ended. Raises StoreError.

        Numbers of transactions would not do: a server that crashes gives that of a lost one to another.
        """
        with self._server.writing() as connection:
            runs = schema.runs.c
            return connection.execute(select(runs.batch).where(runs.id == self._run_id)).scalar() == batch

    def copy_to(self, path: Path) -> None:
        """Raise StoreError: there is no file."""
        raise errors.StoreError(f"No copy of the library is made at {path}.")

"""Queue of host-runs that may start, for workers on many computers: Procrastinate, in the database of the library.

With app/fleet/queue_worker.py the only module that imports Procrastinate. A job is a message: a host-run may be claimed
under an epoch. It may arrive twice, and after the host-run began. The claim of that epoch in the library decides who
runs it; a worker whose claim fails drops the job. The queue never retries a host-run.
"""

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg
from procrastinate import App, SyncPsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.schema import SchemaManager
from psycopg import sql
from sqlalchemy import Connection

from app.fleet.queue_worker import QUEUE, QueueWorker
from app.json_converter import converter
from app.library_location import ServerUrl
from app.store.dialects import APPLICATION_ID, QUEUE_LOCK
from app.store.errors import StoreError
from app.store.roles import QUEUE_GRANTS, QUEUE_SCHEMA
from app.store.server_connection import connect
from app.store.server_errors import translated

_MIGRATION = re.compile(r"Procrastinate, migration (\S+)")
"""Comment of the schema: the last of the engine's migrations that it has."""

_MAY_WORK = f"SELECT has_table_privilege('{QUEUE_SCHEMA}.procrastinate_jobs', 'UPDATE')"

_SET_SEARCH_PATH = "SELECT set_config('search_path', %s, true)"


@dataclass(frozen=True, slots=True)
class HostRunJob:
    """Message that a host-run of a study is ready under an epoch."""

    study: str
    number: int
    epoch: int


class JobQueue:
    """The queue in the database of a library."""

    def __init__(self, url: ServerUrl) -> None:
        self._url = url

    def prepare(self) -> None:
        """Create or upgrade the tables of the queue, in a schema of its own. Raises StoreError, also if newer."""
        while self._run_next_script():
            continue

    def _run_next_script(self) -> bool:
        """Run the next script in a transaction of its own; return whether there was one.

        A script may use what PostgreSQL only allows once the one before was committed: a new value of an enumeration.
        """
        with self._connected() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (APPLICATION_ID, QUEUE_LOCK))
            for migration, script in self._outstanding(connection).items():
                schema, comment = sql.Identifier(QUEUE_SCHEMA), sql.Literal(f"Procrastinate, migration {migration}")
                connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
                connection.execute(_SET_SEARCH_PATH, (QUEUE_SCHEMA,))
                connection.execute(script.encode())
                connection.execute(sql.SQL("COMMENT ON SCHEMA {} IS {}").format(schema, comment))
                connection.execute(QUEUE_GRANTS.encode())
                return True
        return False

    def check(self) -> None:
        """Raise StoreError if the queue cannot be used: it is not prepared, is newer, or the role may not use it."""
        with self._connected() as connection:
            self._check(connection)

    def _check(self, connection: "psycopg.Connection[tuple[object, ...]]") -> None:
        if self._outstanding(connection) or connection.execute(_MAY_WORK).fetchone() != (True,):
            raise _unprepared(self._url)

    def defer(self, connection: Connection, jobs: Sequence[HostRunJob]) -> None:
        """Add jobs in the transaction of `connection`: workers receive them once it commits. Raises StoreError."""
        if not jobs:
            return
        before = connection.exec_driver_sql("SELECT current_setting('search_path')").scalar_one()
        connection.exec_driver_sql(_SET_SEARCH_PATH, (QUEUE_SCHEMA,))
        with self._translating():
            App(connector=SyncPsycopgConnector()).configure_task(
                QUEUE, queue=QUEUE, connection=connection.connection.driver_connection
            ).batch_defer(*map(asdict, jobs))
        connection.exec_driver_sql(_SET_SEARCH_PATH, (before,))

    def work(self, handle: Callable[[HostRunJob], object], at_once: int, stop: threading.Event) -> None:
        """Pass jobs to `handle`, on at most `at_once` threads, until `stop`; return when the last call has returned.

        `handle` claims the host-run first, and returns soon after `stop`; what it raises is logged. If the connection
        is lost, calls continue, and the queue connects again. Raises StoreError if the queue cannot be used at the
        start.
        """
        with self._connected() as connection:
            self._check(connection)
            parameters = {**connection.info.get_parameters(), "password": connection.info.password}
        QueueWorker(parameters, lambda content: handle(converter().structure(content, HostRunJob)), at_once, stop).run()

    def _outstanding(self, connection: "psycopg.Connection[tuple[object, ...]]") -> dict[str, str]:
        """Return the scripts that create or upgrade the tables, by the last migration that each contains.

        Raises StoreError if the tables are newer.
        """
        query = "SELECT obj_description(to_regnamespace(%s), 'pg_namespace')"
        row = connection.execute(query, (QUEUE_SCHEMA,)).fetchone()
        found = _MIGRATION.fullmatch(str(row[0])) if row else None
        migrations = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))
        if found is None:
            return {migrations[-1].name: SchemaManager.get_schema()}
        if found[1] > migrations[-1].name:
            raise StoreError(f"The queue in {self._url} is of a newer version.", "Update Benchwright.")
        return {path.name: path.read_text(encoding="utf-8") for path in migrations if path.name > found[1]}

    @contextmanager
    def _connected(self) -> "Iterator[psycopg.Connection[tuple[object, ...]]]":
        """Give a connection in one transaction."""
        with self._translating(), connect(self._url) as connection:
            yield connection

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except (psycopg.Error, ConnectorException) as error:
            found = error if isinstance(error, psycopg.Error) else error.__cause__
            if isinstance(found, psycopg.errors.InsufficientPrivilege | psycopg.errors.UndefinedObject):
                raise _unprepared(self._url) from error
            raise translated(found, self._url) from error


def _unprepared(url: ServerUrl) -> StoreError:
    return StoreError(
        f"The database {url} has no queue of this version, or this role may not use it.",
        "As the owner of the library, run once: benchwright --store URL worker --prepare",
    )

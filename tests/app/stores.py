"""A library of a test's own, and events written into it."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.events import Event
from app.library_location import Location, ServerUrl
from app.store.store import Store
from tests.postgresql import Server, programs

RUN = "20261120-141530-k3f9"


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """Give a server of PostgreSQL with a template of libraries."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    server = Server()
    try:
        server.make_template()
        yield server
    finally:
        server.close()


@pytest.fixture
def url(postgresql: Server) -> Iterator[ServerUrl]:
    """Give the URL of an empty library."""
    with library_on(postgresql) as made:
        yield made


@contextmanager
def library_on(server: Server) -> Iterator[ServerUrl]:
    """Give an empty library for as long as the context lasts."""
    made = server.library()
    try:
        yield made
    finally:
        server.drop(made)


@pytest.fixture(name="store")
def store_on_server(url: ServerUrl) -> Iterator[Store]:
    """Give an empty library on the server."""
    yield from opened(url)


@pytest.fixture(params=["sqlite", "postgresql"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Give a library of each kind of database."""
    if request.param == "sqlite":
        yield from opened(tmp_path / "data" / "runs.sqlite3")
        return
    with library_on(request.getfixturevalue("postgresql")) as url:
        yield from opened(url)


@pytest.fixture(name="store")
def store_in_both(any_store: Store) -> Store:
    """Have a test of `store` run with each kind of database."""
    return any_store


def opened(location: Location) -> Iterator[Store]:
    """Give the library at `location`."""
    made = Store(location)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "data" / "runs.sqlite3")
    yield made
    made.close()


in_a_file = pytest.mark.parametrize("any_store", ["sqlite"], indirect=True)
"""Mark of a test of what only a file has."""


def execute(store: Store, statement: str, *values: object) -> list[Any]:
    """Execute a statement in a transaction of its own, as another program would; return its rows, if any."""
    location = store.location
    if isinstance(location, Path):
        with closing(sqlite3.connect(location)) as connection, connection:
            return connection.execute(statement, values).fetchall()
    import psycopg

    with psycopg.connect(location.for_libpq, options="-csearch_path=benchwright") as server:
        cursor = server.execute(statement.replace("?", "%s").encode(), values)
        return cursor.fetchall() if cursor.description else []


def record(store: Store, run_id: str, events: Iterable[Event]) -> None:
    with store.recorder(run_id) as recorder:
        for event in events:
            recorder.defer(event)
        recorder.flush()

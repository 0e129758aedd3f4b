"""Opening of a library by its location: a file, or a database in PostgreSQL."""

from pathlib import Path

from app.library_location import Location, ServerUrl
from app.store.database import Database
from app.store.errors import StoreError
from app.store.file_connection import FileRunConnection
from app.store.file_database import FileDatabase
from app.store.run_connection import RunConnection


def database_of(location: Location) -> Database:
    """Return the database at `location`, which is opened on first use. Raises StoreError without its driver."""
    if isinstance(location, Path):
        return FileDatabase(location)
    check_driver(location)
    from app.store.server_database import ServerDatabase

    return ServerDatabase(location)


def check_driver(url: ServerUrl) -> None:
    """Raise StoreError without the driver of PostgreSQL."""
    try:
        import psycopg  # noqa: F401 (it needs libpq, too)
    except ImportError as error:
        raise StoreError(
            f"The library {url} cannot be opened: the Python package psycopg is missing.",
            "Install it with: pip install 'benchwright[postgresql]'",
        ) from error


def run_connection(database: Database, run_id: str) -> RunConnection:
    """Return the connection of a recorder of `run_id`."""
    if isinstance(database, FileDatabase):
        return FileRunConnection(database, run_id)
    from app.store.server_database import ServerDatabase, ServerRunConnection

    if not isinstance(database, ServerDatabase):
        raise TypeError(f"{type(database).__name__} has no recorder")
    return ServerRunConnection(database, run_id)

"""Database of a library, in a file or on a server: what the rest of the store uses of it."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from sqlalchemy import Connection

from app.library_location import Location
from app.store.errors import StoreError

PATIENCE = 5.0
"""Seconds to wait for a locked library."""

_PATIENCE = "benchwright_patience"

_ADDING = "benchwright_adding"


class Database(ABC):
    """A library. Each operation opens its own connection, from any thread."""

    creates = True
    """Whether a missing file is created; else opening it raises StoreError."""

    @property
    @abstractmethod
    def location(self) -> Location:
        """Where the library is."""

    @property
    @abstractmethod
    def path(self) -> Path:
        """The file of the library. Raises StoreError for one on a server."""

    @abstractmethod
    def read_only(self, lately: float = 0.0) -> StoreError | None:
        """Return why the library cannot be written (newer format, no permission, read-only disk); None if it can.

        A commit in the last `lately` seconds is enough: to try it takes the lock that runs write under.
        """

    @abstractmethod
    def reading(self) -> AbstractContextManager[Connection]:
        """Give a connection in one read transaction (a consistent snapshot). Raises StoreLostError if it is gone."""

    @contextmanager
    def writing(self, patience: float = PATIENCE, *, adding: bool = False) -> Iterator[Connection]:
        """Give a connection in a transaction that is committed to disk when the block ends.

        No other one writes meanwhile; with `adding`, which is for a new run, others may change other runs. Raises
        StoreBusyError if another program locks the library for `patience` seconds.
        """
        with self.connect() as connection, self.transaction(with_patience(connection, patience, adding=adding)):
            yield connection

    @abstractmethod
    def connect(self) -> Connection:
        """Return a connection for write transactions, to be closed by the caller. Raises ReadOnlyError."""

    @abstractmethod
    def transaction(self, connection: Connection) -> AbstractContextManager[Connection]:
        """Give `connection`, from connect(), in a transaction; every commit goes through here.

        Raises, without committing, ReadOnlyError if a newer Benchwright converted the library since it was opened,
        StoreLostError if the library is no longer there.
        """

    @abstractmethod
    def stamps(self) -> tuple[Hashable, ...]:
        """Return what certainly differs after any commit, read cheaply; it may differ after other writes, too."""

    @abstractmethod
    def size(self) -> int | None:
        """Return the bytes of the library; None if deletion does not reduce them at once."""

    @abstractmethod
    def close(self) -> None:
        """Close what is open; the next use opens it again."""


def with_patience(connection: Connection, patience: float, *, adding: bool = False) -> Connection:
    """Return `connection` with transactions that wait `patience` seconds for a locked library; see writing()."""
    return connection.execution_options(**{_PATIENCE: patience, _ADDING: adding})


def patience_of(connection: Connection) -> float:
    """Return the seconds for which transactions of `connection` wait."""
    return float(connection.get_execution_options().get(_PATIENCE, PATIENCE))


def is_adding(connection: Connection) -> bool:
    """Return whether transactions of `connection` only write one run, and add to the rows that all share."""
    return bool(connection.get_execution_options().get(_ADDING, False))

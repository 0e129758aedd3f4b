"""Faults of a PostgreSQL server, and of the network before it, that tests stage."""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app.events import RunStarted
from app.library_location import ServerUrl, location_of
from app.store.store import Store
from tests.app import run_events
from tests.app.stores import RUN
from tests.postgresql import OWNER, Server


@contextmanager
def as_role(server: Server, url: ServerUrl, options: str = "") -> Iterator[tuple[str, Store]]:
    """Give a role of its own with the rights of the owner, and its library."""
    role = f"r{url.url.rpartition('/')[2]}"
    server.execute(f"CREATE ROLE {role} LOGIN {options} IN ROLE {OWNER}")
    found = Store(location_of(url.url.replace(f"//{OWNER}@", f"//{role}@")))
    try:
        yield role, found
    finally:
        found.close()
        server.execute(f"DROP ROLE {role}")


def begun(store: Store) -> None:
    """Record the beginning of a run whose process has ended."""
    recorder = store.recorder(RUN)
    recorder.record(RunStarted(RUN, run_events.plan(), "2026-11-20T14:15:30+00:00"))
    recorder.close()


class Proxy:
    """A network between a client and the server that can be cut, also in the middle of a commit."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.cut = threading.Event()
        self.cut_at_commit = threading.Event()
        self.swallow_commit = threading.Event()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self.cut.is_set():
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._target))
            thread = threading.Thread(target=self._forward, args=(client, server))
            self._threads.append(thread)
            thread.start()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        with client, server:
            while True:
                ready, _, _ = select.select([client, server], [], [], 0.05)
                if self.cut.is_set():
                    return
                for one in ready:
                    try:
                        data = one.recv(2**16)
                    except OSError:
                        return
                    if not data:
                        return
                    commits = one is client and b"COMMIT\0" in data
                    if commits and self.swallow_commit.is_set():
                        self.cut.set()
                        return
                    (server if one is client else client).sendall(data)
                    if commits and self.cut_at_commit.is_set():
                        server.recv(2**16)  # committed; the client does not hear of it
                        self.cut.set()
                        return

    def close(self) -> None:
        self.cut.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def proxy(postgresql: Server) -> Iterator[Proxy]:
    made = Proxy(postgresql.port)
    yield made
    made.close()

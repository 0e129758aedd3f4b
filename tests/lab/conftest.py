"""Servers that only the tests of the connection itself need, and a workstation for those of what a run survives."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab.links import linked_hosts
from tests.lab.machines import start_machine
from tests.lab.pam_host import start_pam_host
from tests.lab.scripted_server import Script, ScriptedServer
from tests.lab.staging import Stage
from tests.lab.survival import lab, other_boot, workstation
from tests.lab_sshd import LabHost, LabKeys

# Fixtures; see survival.py, pam_host.py and links.py.
__all__ = ["lab", "linked_hosts", "other_boot", "start_machine", "start_pam_host", "workstation"]


@pytest.fixture
def stage(tmp_path: Path, start_lab_host: Callable[[], LabHost]) -> Iterator[Stage]:
    """Return a stage for what fools people; it is gone after the test."""
    with Stage(tmp_path, start_lab_host) as made:
        yield made


@pytest.fixture
def serve(lab_keys: LabKeys) -> Iterator[Callable[[Script], ScriptedServer]]:
    """Return a function that starts an SSH server with a script; all are closed after the test."""
    with contextlib.ExitStack() as stack:

        def start(script: Script) -> ScriptedServer:
            server = ScriptedServer(script, lab_keys.host)
            stack.callback(server.close)
            return server

        yield start


@pytest.fixture
def listen() -> Iterator[Callable[[Callable[[socket.socket], None]], int]]:
    """Return a function that listens at a port, handles one connection as told, and returns the port."""
    with contextlib.ExitStack() as stack:

        def start(handle: Callable[[socket.socket], None]) -> int:
            listener = socket.create_server(("127.0.0.1", 0))

            def serve() -> None:
                with contextlib.suppress(OSError):
                    connection, _ = listener.accept()
                    with connection:
                        handle(connection)

            thread = threading.Thread(target=serve, name="listener", daemon=True)
            thread.start()
            stack.callback(thread.join)
            stack.callback(listener.close)
            stack.callback(_shut_down, listener)
            port: int = listener.getsockname()[1]
            return port

        yield start


def _shut_down(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)

"""The user's SSH agent: the keys it holds, and an end to waiting for one that is stuck."""

import contextlib
import os
import socket
from collections.abc import Iterator

import paramiko
from paramiko.agent import AgentKey, AgentSSH

LIST_TIMEOUT = 5.0
"""Seconds the agent may take to list its keys. To sign it may take as long as it likes: it may ask its user first."""


class _Agent(AgentSSH):
    def open(self, connection: socket.socket, path: str) -> None:
        connection.settimeout(LIST_TIMEOUT)
        connection.connect(path)
        self._connect(connection)  # type: ignore[attr-defined]  # paramiko's own Agent calls it, too
        connection.settimeout(None)


@contextlib.contextmanager
def agent_keys(path: str | None = None) -> Iterator[tuple[AgentKey, ...]]:
    """Yield the keys of the agent at the socket `path`; None stands for the one that SSH_AUTH_SOCK names.

    There are none where there is no agent or it does not answer.
    """
    path = os.environ.get("SSH_AUTH_SOCK") if path is None else path
    if not path:
        yield ()
        return
    agent = _Agent()
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            agent.open(connection, path)
        except (paramiko.SSHException, OSError, ValueError, TypeError):  # an answer that is cut off or none at all
            yield ()
            return
        yield agent.get_keys()

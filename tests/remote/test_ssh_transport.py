"""The SSH transport, without a server."""

import socket

from remote.ssh.transport import BoundedTransport


def test_a_connection_that_broke_before_it_is_watched_raises_nothing() -> None:
    ours, theirs = socket.socketpair()
    transport = BoundedTransport(ours)
    try:
        ours.close()
        transport.watch()
        assert not transport.is_active()
    finally:
        transport.close()
        theirs.close()

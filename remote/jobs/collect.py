"""Run a command under way to its end: the part of `Session.run` that is the same for every kind of session."""

import time
from collections.abc import Sequence

from remote.errors import OutputLimitError, RemoteTimeoutError
from remote.session import Channel, Completed

LONGEST_WAIT = 1.0
"""Seconds one read may wait; the deadline is looked at at least this often."""


def collect(channel: Channel, argv: Sequence[str], *, host: str, timeout: float, limit: int) -> Completed:
    """Read `channel` to its end and return everything `argv` printed.

    Raises RemoteTimeoutError after `timeout` seconds and OutputLimitError once both streams together carry more
    than `limit` bytes. The caller closes the channel in every case.
    """
    deadline = time.monotonic() + timeout
    streams = {"stdout": bytearray(), "stderr": bytearray()}
    while not channel.ended:
        left = deadline - time.monotonic()
        if left <= 0:
            raise RemoteTimeoutError(
                f"“{argv[0]}” on {host} did not end within {timeout:g} s.",
                "Look whether the host is overloaded, then try again.",
                host=host,
            )
        for chunk in channel.read(min(left, LONGEST_WAIT)):
            streams[chunk.stream] += chunk.data
        if sum(map(len, streams.values())) > limit:
            raise OutputLimitError(f"“{argv[0]}” on {host} printed more than {limit} bytes and was stopped.", host=host)
    return Completed(bytes(streams["stdout"]), bytes(streams["stderr"]), channel.exit_status)

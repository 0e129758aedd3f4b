"""Read a running command to its end: the common part of all `Session.run` methods."""

import time
from collections.abc import Sequence

from remote.errors import OutputLimitError, RemoteTimeoutError
from remote.session import Channel, Completed

LONGEST_WAIT = 1.0
"""Longest read in seconds: the interval at which the deadline is checked."""


def collect(channel: Channel, argv: Sequence[str], *, host: str, timeout: float, limit: int) -> Completed:
    """Read `channel` to its end and return all output of `argv`.

    Raises RemoteTimeoutError after `timeout` seconds and OutputLimitError if both streams together exceed `limit`
    bytes. The caller closes the channel in every case.
    """
    deadline = time.monotonic() + timeout
    streams = {"stdout": bytearray(), "stderr": bytearray()}
    while not channel.ended:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise RemoteTimeoutError(
                f"“{argv[0]}” on {host} did not end within {timeout:g} s.",
                "Check whether the host is overloaded, then try again.",
                host=host,
            )
        for chunk in channel.read(min(remaining, LONGEST_WAIT)):
            streams[chunk.stream] += chunk.data
        if sum(map(len, streams.values())) > limit:
            raise OutputLimitError(f"“{argv[0]}” on {host} printed more than {limit} bytes and was stopped.", host=host)
    return Completed(bytes(streams["stdout"]), bytes(streams["stderr"]), channel.exit_status)

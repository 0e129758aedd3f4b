"""Read a running command to its end: the common part of all `Session.run` methods."""

import time
from collections.abc import Sequence

from remote.errors import OutputLimitError, RemoteTimeoutError
from remote.session import Channel, Completed

LONGEST_WAIT = 1.0
"""Longest read in seconds: the interval at which the timeout is checked."""


def collect(channel: Channel, argv: Sequence[str], *, host: str, timeout: float, limit: int) -> Completed:
    """Read `channel` to its end and return all output of `argv`.

    Raises RemoteTimeoutError after `timeout` seconds, without those for which this process was suspended, and
    OutputLimitError if both streams together exceed `limit` bytes. The caller closes the channel in every case.
    """
    remaining = timeout
    streams = {"stdout": bytearray(), "stderr": bytearray()}
    while not channel.ended:
        if remaining <= 0:
            raise RemoteTimeoutError(
                f"“{argv[0]}” on {host} did not end within {timeout:g} s.",
                "Check whether the host is overloaded, then try again.",
                host=host,
            )
        began = time.monotonic()
        chunks = channel.read(min(remaining, LONGEST_WAIT))
        remaining -= min(time.monotonic() - began, LONGEST_WAIT)
        for chunk in chunks:
            streams[chunk.stream] += chunk.data
        if sum(map(len, streams.values())) > limit:
            raise OutputLimitError(f"“{argv[0]}” on {host} printed more than {limit} bytes and was stopped.", host=host)
    return Completed(bytes(streams["stdout"]), bytes(streams["stderr"]), channel.exit_status)

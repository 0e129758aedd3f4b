"""A channel misses nothing that arrives between two looks."""

import threading
from collections.abc import Callable
from typing import cast

import paramiko
import pytest
from paramiko.buffered_pipe import BufferedPipe, PipeTimeout

from remote.errors import ConnectionLostError
from remote.session import Chunk
from remote.ssh.ssh_session import SshChannel
from remote.ssh.transport import BoundedTransport

MARKER = "m" * 32


class FakeChannel:
    """As much of a channel as is read from, without a connection."""

    def __init__(self) -> None:
        self.in_buffer: BufferedPipe[bytes] = BufferedPipe()
        self.in_stderr_buffer: BufferedPipe[bytes] = BufferedPipe()
        self.exit_status = -1
        self.eof_received = False
        self.closed = False
        self.between: Callable[[], None] = lambda: None

    def settimeout(self, timeout: float) -> None:
        assert timeout == 0.0

    def recv(self, size: int) -> bytes:
        return self._read(self.in_buffer, size)

    def recv_stderr(self, size: int) -> bytes:
        between, self.between = self.between, lambda: None
        between()
        return self._read(self.in_stderr_buffer, size)

    def _read(self, pipe: "BufferedPipe[bytes]", size: int) -> bytes:
        try:
            return pipe.read(size, 0.0)
        except PipeTimeout:
            raise TimeoutError from None

    def shutdown_write(self) -> None: ...


class FakeTransport:
    def __init__(self) -> None:
        self.endings: dict[object, object] = {}

    def is_active(self) -> bool:
        return True


@pytest.fixture
def fake() -> FakeChannel:
    return FakeChannel()


@pytest.fixture
def channel(fake: FakeChannel) -> SshChannel:
    return SshChannel(
        cast("paramiko.Channel", fake),
        cast("BoundedTransport", FakeTransport()),
        host="lab",
        stdin=b"",
        marker=MARKER,
        lost=lambda: ConnectionLostError("lost"),
        released=lambda: None,
    )


def test_output_that_arrives_while_the_other_stream_is_emptied_is_not_waited_for(
    fake: FakeChannel, channel: SshChannel
) -> None:
    fake.in_buffer.feed(f"{MARKER}7:".encode())
    fake.in_stderr_buffer.feed(MARKER.encode())
    fake.between = lambda: fake.in_buffer.feed(b"out")  # stdout was looked at already; stderr has a marker only
    done = threading.Event()
    chunks: list[Chunk] = []

    def read() -> None:
        chunks.extend(channel.read(120.0))
        done.set()

    threading.Thread(target=read, daemon=True).start()
    try:
        assert done.wait(60.0)
    finally:
        fake.in_buffer.feed(b"!")  # lets a reader go that missed the first
        done.wait(60.0)
    assert chunks == [Chunk("stdout", b"out")]


@pytest.mark.parametrize(("printed", "group"), [(b"4711", 4711), (b"1", None), (b"0", None)])
def test_only_a_real_process_group_is_believed(
    fake: FakeChannel, channel: SshChannel, printed: bytes, group: int | None
) -> None:
    assert channel.process_group is None
    fake.in_buffer.feed(MARKER.encode() + printed + b":")
    assert channel.read(0.0) == []
    assert channel.process_group == group

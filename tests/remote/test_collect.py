"""A command read to its end: its timeout counts the time that was waited, not that of a suspended process."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from remote.errors import RemoteTimeoutError
from remote.jobs import collect
from remote.session import Chunk


@dataclass
class SlowChannel:
    """A channel whose reads take these seconds of a clock that stands still otherwise."""

    seconds: list[float]
    now: float = 0.0
    ended: bool = False
    exit_status: int | None = 0
    waits: list[float] = field(default_factory=list)

    def read(self, timeout: float) -> list[Chunk]:
        self.waits.append(timeout)
        self.now += self.seconds.pop(0)
        self.ended = not self.seconds
        return [Chunk("stdout", b"end")] if self.ended else []

    def send(self, data: bytes, *, last: bool) -> None: ...

    def close(self) -> None: ...


def collected(channel: SlowChannel, timeout: float, monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.setattr(collect, "time", SimpleNamespace(monotonic=lambda: channel.now))
    return collect.collect(channel, ["true"], host="web-1", timeout=timeout, limit=100).stdout


def test_a_command_of_a_process_that_was_suspended_does_not_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert collected(SlowChannel([1.0, 60.0, 0.5]), 3.0, monkeypatch) == b"end"


def test_a_command_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = SlowChannel([1.0] * 9)
    with pytest.raises(RemoteTimeoutError):
        collected(channel, 2.5, monkeypatch)
    assert channel.waits == [1.0, 1.0, 0.5]

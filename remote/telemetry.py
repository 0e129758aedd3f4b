"""A host watched while it works: a small script there prints counters, samples are made of them here."""

import time

from remote.errors import RemoteError
from remote.plain import plain
from remote.script import new_mark, script
from remote.session import Channel, Session
from remote.telemetry_metrics import TELEMETRY_METRICS
from remote.telemetry_rates import samples
from remote.telemetry_ticks import Tick, TickReader
from suites.vocab import Sample

__all__ = ["TELEMETRY_METRICS", "Telemetry", "TelemetryError"]

SCRIPT = "telemetry.sh"


class TelemetryError(RemoteError):
    """A host can no longer be watched."""


class Telemetry:
    """The samples of one host. Nothing stays on the host once it is stopped: the script ends when nobody reads."""

    def __init__(self, host: str, channel: Channel, mark: str) -> None:
        self._host = host
        self._channel = channel
        self._reader = TickReader(mark)
        self._first: Tick | None = None
        self._last: Tick | None = None
        self._complaint = b""
        self._stopped = False

    @classmethod
    def start(cls, session: Session, interval: float = 1.0) -> "Telemetry":
        """Watch the session's host, every `interval` seconds."""
        mark = new_mark()
        channel = session.open(["sh", "-s", mark, f"{interval:g}"], stdin=script(SCRIPT))
        return cls(session.host, channel, mark)

    def read(self, timeout: float) -> tuple[Sample, ...]:
        """Return the samples that have arrived, waiting up to `timeout` seconds for some; their time is the host's
        monotonic clock. The first tick brings levels only: rates need two. () once stopped.

        Raises TelemetryError where the script ended, ConnectionLostError where the connection broke.
        """
        deadline = time.monotonic() + timeout
        found: list[Sample] = []
        while not found and not self._stopped:
            if self._channel.ended:
                self._raise_ended()
            for chunk in self._channel.read(max(0.0, deadline - time.monotonic())):
                if chunk.stream == "stdout":
                    for tick in self._reader.feed(chunk.data):
                        found += self._take(tick)
                else:
                    self._complaint = (self._complaint + chunk.data)[-1000:]
            if time.monotonic() >= deadline:
                break
        return tuple(found)

    def _take(self, tick: Tick) -> tuple[Sample, ...]:
        before, self._last = self._last, tick
        if self._first is None:
            self._first = tick
        return samples(before or tick, tick)

    def _raise_ended(self) -> None:
        if self._stopped:
            return
        said = plain(self._complaint)
        raise TelemetryError(
            f"{self._host} is no longer watched: its telemetry script ended{f' ({said})' if said else ''}.",
            "The figures of the test itself are not affected; noise on the host can no longer be seen.",
            host=self._host,
        )

    @property
    def cost(self) -> float | None:
        """The share of one core that watching takes, by the script's own account; None before it is known."""
        first, last = self._first, self._last
        if first is None or last is None or first.used is None or last.used is None or last.uptime <= first.uptime:
            return None
        return (last.used - first.used) / (last.uptime - first.uptime)

    def stop(self) -> None:
        """Stop watching. Safe to call twice, and from another thread while `read` waits."""
        self._stopped = True
        self._channel.close()

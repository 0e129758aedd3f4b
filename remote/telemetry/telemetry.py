"""A host watched while it works: a small script there prints counters, samples are made of them here."""

import re
import time
from collections.abc import Sequence

from remote.errors import ConnectionLostError, RemoteError
from remote.plain import plain
from remote.script import new_mark, open_script
from remote.session import Channel, Session
from remote.telemetry.clock_watch import ClockStep, ClockWatch
from remote.telemetry.telemetry_metrics import TELEMETRY_METRICS
from remote.telemetry.telemetry_rarely import RareWatch
from remote.telemetry.telemetry_rates import samples
from remote.telemetry.telemetry_ticks import Tick, TickReader
from suites.vocab import Sample

__all__ = ["TELEMETRY_METRICS", "Telemetry", "TelemetryError"]

SCRIPT = "telemetry.sh"

_LOOP = re.compile(r"loop[0-9]{1,7}")


class TelemetryError(RemoteError):
    """A host can no longer be watched."""


class Telemetry:
    """The samples of one host. Nothing stays on the host once it is stopped: the script ends when nobody reads.

    On a session that outlives its connection it begins anew over the next one: of the time between nothing is known.
    """

    def __init__(self, session: Session, interval: float, lease: str, loops: Sequence[str] = ()) -> None:
        self._session = session
        self._interval = interval
        self._lease = lease
        self._loops = tuple(name for name in loops if _LOOP.fullmatch(name))
        self._clock = ClockWatch()
        self._steps: list[ClockStep] = []
        self._boot: str | None = None
        self._first: Tick | None = None
        self._last: Tick | None = None
        self._spent = self._watched = 0.0  # by the scripts of earlier connections, in seconds
        self._complaint = b""
        self._stopped = False
        self._open()

    @classmethod
    def start(cls, session: Session, interval: float = 1.0, lease: str = "", loops: Sequence[str] = ()) -> "Telemetry":
        """Watch the session's host, every `interval` seconds, and keep the `lease`, a path on it, alive.

        Of its loop devices only `loops` are watched: a host may have dozens that nobody measures.
        """
        return cls(session, interval, lease, loops)

    def _open(self) -> None:
        mark = new_mark()
        words = (mark, f"{self._interval:g}", self._lease, "|".join(self._loops))
        self._channel: Channel = open_script(self._session, SCRIPT, mark, *words)
        self._reader = TickReader(mark, self._loops)
        self._rarely = RareWatch()

    def read(self, timeout: float) -> tuple[Sample, ...]:
        """Return the samples that have arrived, waiting up to `timeout` seconds for some; their time is the host's
        monotonic clock. The first tick brings levels only: rates need two. () once stopped.

        Raises TelemetryError where the script ended or the host restarted, ConnectionLostError where the connection
        broke for good.
        """
        deadline = time.monotonic() + timeout
        found: list[Sample] = []
        while not found and not self._stopped:
            if self._channel.ended:
                self._raise_ended()
            for tick in self._ticks(max(0.0, deadline - time.monotonic())):
                found += self._take(tick)
            if time.monotonic() >= deadline:
                break
        return tuple(found)

    def _ticks(self, timeout: float) -> list[Tick]:
        found: list[Tick] = []
        try:
            chunks = self._channel.read(timeout)
        except ConnectionLostError:
            self._begin_anew()
            return found
        for chunk in chunks:
            if chunk.stream == "stdout":
                found += self._reader.feed(chunk.data)
            else:
                self._complaint = (self._complaint + chunk.data)[-1000:]
        return found

    def _begin_anew(self) -> None:
        """Watch over the next connection; raise ConnectionLostError where there is none."""
        if self._stopped:
            return
        self._channel.close()
        self._open()
        if self._stopped:  # meanwhile, when only the old channel was there to be closed
            self._channel.close()
        self._spent, self._watched = self._used()
        self._first = self._last = None

    def _take(self, tick: Tick) -> tuple[Sample, ...]:
        if self._boot is not None and tick.boot is not None and self._boot != tick.boot:
            raise TelemetryError(
                f"{self._session.host} restarted and is no longer watched.",
                "What it did until then is kept.",
                host=self._session.host,
            )
        self._boot = tick.boot
        if self._last is not None and tick.uptime < self._last.uptime:
            return ()  # no host's uptime goes back
        before, self._last = self._last, tick
        if self._first is None:
            self._first = tick
        step = self._clock.feed(tick)
        if step is not None:
            self._steps.append(step)
        return (*samples(before or tick, tick), *self._rarely.feed(tick))

    def steps(self) -> tuple[ClockStep, ...]:
        """Return the steps of the host's wall clock that were noticed since the last time this was asked."""
        found, self._steps = tuple(self._steps), []
        return found

    def _raise_ended(self) -> None:
        if self._stopped:
            return
        said = plain(self._complaint)
        raise TelemetryError(
            f"{self._session.host} is no longer watched: its telemetry script ended{f' ({said})' if said else ''}.",
            "The figures of the test itself are not affected; noise on the host can no longer be seen.",
            host=self._session.host,
        )

    @property
    def cost(self) -> float | None:
        """The share of one core that watching takes, by the script's own account; None before it is known."""
        spent, watched = self._used()
        return spent / watched if watched > 0 else None

    def _used(self) -> tuple[float, float]:
        """Return the processor seconds that watching took, and the seconds it went on, where both are known."""
        first, last = self._first, self._last
        if first is None or last is None or first.used is None or last.used is None or last.uptime <= first.uptime:
            return self._spent, self._watched
        return self._spent + last.used - first.used, self._watched + last.uptime - first.uptime

    def stop(self) -> None:
        """Stop watching. Safe to call twice, and from another thread while `read` waits."""
        self._stopped = True
        self._channel.close()

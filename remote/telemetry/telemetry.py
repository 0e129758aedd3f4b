"""Telemetry of a host: a program or script there prints counters, which are converted to samples here."""

import base64
import gzip
import hashlib
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from remote.errors import ConnectionLostError, RemoteError
from remote.questions import plain
from remote.script import new_mark, open_script
from remote.session import Channel, Session
from remote.telemetry.telemetry_growth import GrowthWatch
from remote.telemetry.telemetry_rates import CpuUse, cpu_use, samples
from remote.telemetry.telemetry_ticks import Tick, TickReader
from suites.vocab import Sample

# Detects steps of a host's wall clock by comparison with its monotonic clock, which cannot be set.


STEP = 0.25
"""Smallest clock step in seconds. Reading both clocks takes up to some 10 ms on a busy host, and a step must persist
until the next tick."""

SLEWING = 0.0005
"""Largest slew rate of time synchronisation, in seconds per second: 500 ppm (adjtimex(2))."""


@dataclass(frozen=True, slots=True)
class ClockStep:
    """A step of the wall clock by `seconds` (forward if positive) shortly before the host's monotonic `clock`."""

    clock: float
    seconds: float


@dataclass(slots=True)
class ClockWatch:
    """Detector of clock steps: tracks the difference of wall clock and monotonic clock from tick to tick."""

    _difference: float | None = None
    _at: float = 0.0
    _suspected: float | None = None

    def feed(self, tick: Tick) -> ClockStep | None:
        """Return a step that `tick` confirms, or None. One tick alone is not enough: it may have been read slowly."""
        if tick.epoch is None:
            return None
        difference = tick.epoch - tick.uptime
        if self._difference is None:
            self._difference, self._at = difference, tick.uptime
            return None
        step = difference - self._difference
        if abs(step) < STEP + SLEWING * (tick.uptime - self._at):
            self._difference, self._at, self._suspected = difference, tick.uptime, None
            return None
        if self._suspected is None or abs(difference - self._suspected) > STEP:
            self._suspected = difference
            return None
        self._difference, self._at, self._suspected = difference, tick.uptime, None
        return ClockStep(tick.uptime, step)


SCRIPT = "telemetry.sh"

RARELY = 5.0
"""Seconds between two readings of what is slow or expensive to read."""


def unpack(code: bytes) -> bytes:
    """Return the shell function that prints `code`. No here-document: it may be a file in /tmp, which may be full."""
    packed = base64.encodebytes(gzip.compress(code, mtime=0))
    return b"unpack() {\n    printf %%s '%s' | base64 -d | gzip -dc\n}\n" % packed


@cache
def program(architecture: str) -> bytes:
    """Return the telemetry program for an architecture (`uname -m`), empty if there is none."""
    if architecture not in {"x86_64", "aarch64"}:
        return b""
    return files("resources").joinpath(f"probes/bin/{architecture}/telemetry").read_bytes()


_LOOP = re.compile(r"loop[0-9]{1,7}")


class TelemetryError(RemoteError):
    """Telemetry of a host failed."""


class Telemetry:
    """Telemetry of one host: by a program copied there, or by a script where the host cannot run that.

    It ends when its output is no longer read, and leaves nothing on the host. After a reconnection a new one is
    started; there are no samples for the gap.
    """

    def __init__(
        self, session: Session, interval: float, lease: str, loops: Sequence[str], architecture: str, *, script: bool
    ) -> None:
        self._session = session
        self._program = b"" if script else program(architecture or _architecture(session))
        self._interval = interval
        self._lease = lease
        self._loops = tuple(name for name in loops if _LOOP.fullmatch(name))
        self._clock = ClockWatch()
        self._steps: list[ClockStep] = []
        self._boot: str | None = None
        self._first: Tick | None = None
        self._last: Tick | None = None
        self._cpu_time = self._elapsed = 0.0  # of the scripts of earlier connections, in seconds
        self._stderr = b""
        self._stopped = self._replaced = self._refused = False
        self._open()

    @classmethod
    def start(
        cls,
        session: Session,
        interval: float = 1.0,
        lease: str = "",
        loops: Sequence[str] = (),
        *,
        architecture: str = "",
        script: bool = False,
    ) -> "Telemetry":
        """Sample the session's host every `interval` seconds and touch the `lease`, a path on it.

        The processes of the job that the lease names are counted apart. Of the host's loop devices only `loops` are
        sampled: a host may have dozens that are not measured. `architecture` is the host's (`uname -m`), which is asked
        if empty. `script`: do not copy the program.
        """
        return cls(session, interval, lease, loops, architecture, script=script)

    def _open(self) -> None:
        mark = new_mark()
        rarely = max(1, round(RARELY / self._interval)) if self._interval > 0 else 5
        size = str(len(self._program)) if self._program else ""
        arguments = (mark, f"{self._interval:g}", self._lease, "|".join(self._loops), str(rarely), size)
        before = unpack(self._program) if self._program else b""
        self._channel: Channel = open_script(self._session, SCRIPT, mark, *arguments, before=before)
        self._reader = TickReader(mark, self._loops)
        self._rarely = GrowthWatch()

    def read(self, timeout: float) -> tuple[Sample, ...]:
        """Return the samples that have arrived, waiting up to `timeout` seconds for the first; () once stopped.

        Sample times are the host's monotonic clock. The first tick yields levels only: rates need two ticks. Raises
        TelemetryError if the script ended or the host restarted, ConnectionLostError if reconnecting failed.
        """
        deadline = time.monotonic() + timeout
        found: list[Sample] = []
        while not found and not self._stopped:
            if self._channel.ended and not self._fall_back():
                self._raise_ended()
            for tick in self._ticks(max(0.0, deadline - time.monotonic())):
                found += self._take(tick)
            if time.monotonic() >= deadline:
                break
        return tuple(found)

    def _fall_back(self) -> bool:
        """Continue with the script if the program ended by itself, as security software or the OOM killer ends one."""
        if self._stopped or not self._program or not self._reader.program:
            return False
        self._program = b""
        self._replaced = True
        self._restart()
        return True

    def replaced(self) -> bool:
        """Return whether the script replaced the program since the previous call."""
        found, self._replaced = self._replaced, False
        return found

    def refused(self) -> bool:
        """Return whether the host does not run the program; True in one call only."""
        found = bool(self._program) and self.instrument == "script" and not self._refused
        self._refused = self._refused or found
        return found

    def _ticks(self, timeout: float) -> list[Tick]:
        found: list[Tick] = []
        try:
            chunks = self._channel.read(timeout)
        except ConnectionLostError:
            self._restart()
            return found
        for chunk in chunks:
            if chunk.stream == "stdout":
                found += self._reader.feed(chunk.data)
            else:
                self._stderr = (self._stderr + chunk.data)[-1000:]
        return found

    def _restart(self) -> None:
        """Start it again, over the next connection if this one was lost; raise ConnectionLostError if there is none."""
        if self._stopped:
            return
        self._channel.close()
        self._open()
        if self._stopped:  # race: `stop` may have closed the old channel only
            self._channel.close()
        self._cpu_time, self._elapsed = self._used()
        self._first = self._last = None

    def _take(self, tick: Tick) -> tuple[Sample, ...]:
        if self._boot is not None and tick.boot is not None and self._boot != tick.boot:
            raise TelemetryError(
                f"{self._session.host} restarted: telemetry stopped.",
                "Telemetry up to the restart is kept.",
                host=self._session.host,
            )
        self._boot = tick.boot
        if self._last is not None and tick.uptime < self._last.uptime:
            return ()  # damaged: uptime never decreases within a boot
        before, self._last = self._last, tick
        if self._first is None:
            self._first = tick
        step = self._clock.feed(tick)
        if step is not None:
            self._steps.append(step)
        use = CpuUse() if before is None else cpu_use(before, tick)
        return (*samples(before or tick, tick, use), *self._rarely.feed(tick, use))

    def steps(self) -> tuple[ClockStep, ...]:
        """Return the wall clock steps detected since the previous call."""
        found, self._steps = tuple(self._steps), []
        return found

    def _raise_ended(self) -> None:
        if self._stopped:
            return
        stderr = plain(self._stderr)
        raise TelemetryError(
            f"Telemetry of {self._session.host} stopped: its script ended{f' ({stderr})' if stderr else ''}.",
            "The test's results are not affected, but background load can no longer be detected.",
            host=self._session.host,
        )

    @property
    def instrument(self) -> str | None:
        """The SHA-256 of the program that samples the host, or ``script``; None before the first tick."""
        if self._last is None:
            return None
        return hashlib.sha256(self._program).hexdigest() if self._program and self._reader.program else "script"

    @property
    def cost(self) -> float | None:
        """CPU use of the telemetry as a fraction of one core, by its own report; None before it is known."""
        cpu_time, elapsed = self._used()
        return cpu_time / elapsed if elapsed > 0 else None

    def _used(self) -> tuple[float, float]:
        """Return the CPU seconds of the telemetry and the seconds elapsed, as far as both are known."""
        first, last = self._first, self._last
        if first is None or last is None or first.used is None or last.used is None or last.uptime <= first.uptime:
            return self._cpu_time, self._elapsed
        return self._cpu_time + last.used - first.used, self._elapsed + last.uptime - first.uptime

    def stop(self) -> None:
        """Stop the telemetry. Safe to call twice, and from another thread while `read` waits."""
        self._stopped = True
        self._channel.close()


def _architecture(session: Session) -> str:
    """Return the host's architecture (`uname -m`), empty if it gives none."""
    with suppress(RemoteError):
        return session.run(["uname", "-m"], timeout=10.0, limit=1000).stdout.decode("ascii", "replace").strip()
    return ""

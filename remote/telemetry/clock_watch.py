"""Notices when a host's wall clock is set: against its monotonic clock, which nobody can set."""

from dataclasses import dataclass

from remote.telemetry.telemetry_ticks import Tick

STEP = 0.25
"""Seconds by which the clocks must have moved apart at once. Reading both takes up to some tens of milliseconds on a
busy host, and only what is still there at the next tick counts."""

SLEWING = 0.0005
"""Seconds a second by which time synchronisation may turn the clock without setting it: adjtimex(2), 500 ppm."""


@dataclass(frozen=True, slots=True)
class ClockStep:
    """The wall clock was set by `seconds` (forward where positive) shortly before the host's monotonic `clock`."""

    clock: float
    seconds: float


@dataclass(slots=True)
class ClockWatch:
    """Follows the difference of the two clocks from tick to tick."""

    _difference: float | None = None
    _at: float = 0.0
    _suspected: float | None = None

    def feed(self, tick: Tick) -> ClockStep | None:
        """Return the step that `tick` proves, or None. The first sight of one is only a suspicion."""
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

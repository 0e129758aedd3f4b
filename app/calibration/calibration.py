"""The calibration of a host: its clocks and timers, what watching it costs, and how one suite repeats on it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from app.calibration.false_alarms import FalseAlarms
from suites.facts import Absent, Facts, known
from suites.vocab import Labels

OLDEST = timedelta(days=90)
"""Age from which a calibration no longer counts: as old as a baseline may grow before it is said to be too old."""


MOST_MARGIN = 0.25
"""The widest margin that is taken from a calibration. A host that needs more was disturbed while it was calibrated:
what it shows then must excuse nothing."""


@dataclass(frozen=True, slots=True)
class Instrument:
    """What measuring itself costs on a host. All times are in seconds; None is not known, `absent` tells why.

    `clock_resolution` is the smallest step that two readings of the clock showed, `clock_cost` the time of a reading,
    `sleep_late` how much later than asked for a sleep ends (median and worst), `round_trip` the time of a command
    that does nothing (median and worst), `telemetry_cost` the share of a core that watching the host takes.
    """

    clock_source: str | None = None
    clock_resolution: float | None = None
    clock_cost: float | None = None
    sleep_late: float | None = None
    sleep_late_worst: float | None = None
    round_trip: float | None = None
    round_trip_worst: float | None = None
    telemetry_cost: float | None = None
    absent: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MetricNoise:
    """How a metric spread over the `n` trials of both sides; `detectable` is the least difference by trials a side."""

    metric: str
    title: str
    labels: Labels
    n: int
    cov: float
    detectable: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TelemetryEffect:
    """The leading figure with telemetry by that without, and its 95 % interval; None where there is no interval."""

    ratio: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was found on `host`, at `made` (UTC, ISO 8601), with `suite`; `run` holds the A/A test's trials.

    `fingerprint` is what must not have changed since: kernel, processor, instance, version of the tool.
    """

    host: str
    made: str
    suite: str
    run: str
    fingerprint: Mapping[str, str]
    instrument: Instrument
    noise: tuple[MetricNoise, ...]
    alarms: FalseAlarms
    telemetry: TelemetryEffect | None = None

    @property
    def margin(self) -> float:
        """The margin that is this host's own."""
        return self.alarms.margin

    @property
    def quiet(self) -> bool:
        """Whether the host was quiet enough for its margin and its variation to be taken from this."""
        return self.margin <= MOST_MARGIN

    @property
    def cov(self) -> float:
        """The coefficient of variation of the suite's leading metric."""
        return self.noise[0].cov

    @property
    def day(self) -> str:
        """The day on which it was made, in words: ``12 Nov``."""
        return f"{datetime.fromisoformat(self.made):%d %b}".lstrip("0")


_FACTS: Mapping[str, Callable[[Facts], object]] = {
    "kernel": lambda facts: facts.system.kernel,
    "processor": lambda facts: facts.cpu.model,
    "usable CPUs": lambda facts: facts.cpu.usable,
    "CPU quota": lambda facts: facts.cpu.quota,
    "governor": lambda facts: facts.cpu.governor,
    "memory": lambda facts: facts.memory.total,
    "instance type": lambda facts: facts.cloud.instance_type,
    "instance": lambda facts: facts.cloud.instance_id,
    "virtualisation": lambda facts: facts.system.virtualisation,
}


def fingerprint_of(facts: Facts, tool: str) -> dict[str, str]:
    """Return what a calibration rests on: each fact that is known, and the version of the suite's tool."""
    found = {name: read(facts) for name, read in _FACTS.items()} | {tool: facts.tool(tool).version}
    return {name: str(value) for name, value in found.items() if not isinstance(value, Absent)}


def changed(calibration: Calibration, facts: Facts | None) -> str:
    """Return in words what has changed on the host since, empty where nothing has; unread facts count as a change."""
    if facts is None:
        return "the host’s facts are not known"
    names = calibration.fingerprint
    now = {name: read(facts) for name, read in _FACTS.items()}
    now |= {name: facts.tool(name).version for name in names if name not in now}
    for name, before in names.items():
        after = known(now[name])
        if str(after) != before:
            return f"{name} {before} then, {'not known' if after is None else after} now"
    return ""


def aged(calibration: Calibration, moment: str = "") -> bool:
    """Return whether it was too old, or not yet made, at `moment` (UTC, ISO 8601; now where empty)."""
    at = datetime.fromisoformat(moment) if moment else datetime.now(UTC)
    return abs(at - datetime.fromisoformat(calibration.made)) > OLDEST


def applying(
    calibrations: Iterable[Calibration], host: str, suite: str, facts: Facts | None, moment: str = ""
) -> Calibration | None:
    """Return the newest of `calibrations` (given newest first) of `suite` on `host`, or None where it does not count.

    It does not where the host was noisy then, has changed since, or where it is too old.
    """
    for one in calibrations:
        if (one.host, one.suite) == (host, suite):
            good = one.quiet and not aged(one, moment) and not changed(one, facts)
            return one if good else None
    return None

"""The words every other module uses: metric, figure, sample, finding and the small enumerations behind them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from suites.units import Unit


class Resource(StrEnum):
    """What a suite puts under load."""

    CPU = "cpu"
    MEMORY = "memory"
    DISK = "disk"
    NETWORK = "network"
    APPLICATION = "application"  # a whole program: all of the others at once


class Better(StrEnum):
    """Which way is better."""

    HIGHER = "higher"
    LOWER = "lower"


class Kind(StrEnum):
    """What sort of quantity a metric is; it decides how trials are summarised and drawn."""

    RATE = "rate"
    TIME = "time"
    SHARE = "share"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Metric:
    """A quantity a suite measures: its name, unit, and which way is better.

    `percentile` is set (0 to 100) where the metric is a percentile of a distribution.
    """

    name: str
    title: str
    unit: Unit
    better: Better
    kind: Kind
    percentile: float | None = None


Labels = tuple[tuple[str, str], ...]
"""Sorted pairs that tell figures of one metric apart, such as ``(("operation", "read"),)``."""


def labels(**pairs: str) -> Labels:
    """Return `pairs` in the one order in which labels are compared."""
    return tuple(sorted(pairs.items()))


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric's value for a whole trial."""

    metric: Metric
    value: float
    labels: Labels = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One figure at one moment. `time` is in seconds: within a trial since the tool's start,
    in telemetry the host's monotonic clock. Samples of a ramp or warm-up are marked, never mixed in."""

    time: float
    metric: Metric
    value: float
    labels: Labels = ()
    warm_up: bool = False


class Level(StrEnum):
    """How much a finding matters, the least first."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """Return 0 for what matters least, growing from there."""
        return tuple(Level).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """A check's outcome.

    `measured` is the evidence with its units, `why` the consequence for the number, `remedy` what to do,
    `source` who says so. `step` names the step it is about, or is None for the whole plan.
    `changes` are parameter values that apply the remedy with one click; `install` is a command line that
    would install what is missing, run only on consent.
    """

    id: str
    level: Level
    title: str
    measured: str
    why: str
    remedy: str
    source: str
    step: str | None = None
    host: str | None = None
    changes: Mapping[str, object] = field(default_factory=dict)
    install: str | None = None

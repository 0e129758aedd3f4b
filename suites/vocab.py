"""Core vocabulary: metric, figure, sample, finding and the small enumerations behind them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from suites.units import Unit


class Resource(StrEnum):
    """The resource that a suite loads."""

    CPU = "cpu"
    MEMORY = "memory"
    DISK = "disk"
    NETWORK = "network"
    APPLICATION = "application"  # whole applications: all of the others at once


class Better(StrEnum):
    """Which direction is better."""

    HIGHER = "higher"
    LOWER = "lower"


class MetricKind(StrEnum):
    """Kind of quantity of a metric; it decides how trials are summarised and drawn."""

    RATE = "rate"
    TIME = "time"
    SHARE = "share"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Metric:
    """A quantity a suite measures: its name, unit, and which direction is better.

    `percentile` is set (0 to 100) where the metric is a percentile of a distribution. `least` and `most` bound what
    can be measured, None where nothing does: they are not stored, so they do not distinguish metrics.
    """

    name: str
    title: str
    unit: Unit
    better: Better
    kind: MetricKind
    percentile: float | None = None
    least: float | None = field(default=0.0, compare=False)
    most: float | None = field(default=None, compare=False)


def name_of_title(title: str) -> str:
    """Return the name of a metric that is known by its title: ``Rows per s`` is ``rows_per_s``."""
    return re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")


Labels = tuple[tuple[str, str], ...]
"""Sorted pairs that distinguish figures of one metric, such as ``(("operation", "read"),)``."""


ALL_DISKS = "all"
"""Device of figures that are the sum of all disks of a host, as vmstat counts them."""


def labels(**pairs: str) -> Labels:
    """Return `pairs` in canonical order."""
    return tuple(sorted(pairs.items()))


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric's value for a whole trial."""

    metric: Metric
    value: float
    labels: Labels = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One figure at one time. `time` is in seconds: within a trial since the tool's start, in telemetry the host's
    monotonic clock. Samples of a ramp or warm-up are marked, never mixed in."""

    time: float
    metric: Metric
    value: float
    labels: Labels = ()
    warm_up: bool = False


@dataclass(frozen=True, slots=True)
class LatencySlice:
    """Requests by latency in nanoseconds, from `start` to `end` in seconds since the tool's start."""

    start: float
    end: float
    labels: Labels
    bins: Mapping[int, int]


class Severity(StrEnum):
    """Severity of a finding, the lowest first."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """Return 0 for the lowest severity, increasing from there."""
        return tuple(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """A check's outcome.

    `measured` is the evidence with its units, `why` the effect on the result, `remedy` what to do, `source` the
    reference. `step` names the step, or is None for the whole plan. `changes` are parameter values that apply the
    remedy with one click; `install` is a command line that would install what is missing, run only on consent.
    """

    id: str
    severity: Severity
    title: str
    measured: str
    why: str
    remedy: str
    source: str
    step: str | None = None
    host: str | None = None
    changes: Mapping[str, object] = field(default_factory=dict)
    install: str | None = None

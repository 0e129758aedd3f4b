"""What the SNIA tests measure: the tracked figure in the steady window, every point, and how steady it was."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from suites.fio.metrics import BANDWIDTH, LATENCY_MAX, LATENCY_MEAN
from suites.fio.metrics import IOPS as IOPS_METRIC
from suites.parameters import Values, format_size
from suites.snia.parameters import IOPS, LATENCY, SATURATION, THROUGHPUT, SniaPoint
from suites.snia.steady import WINDOW, Window
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Labels, Metric, labels

WINDOW_IOPS = replace(IOPS_METRIC, name="window_iops", title="I/Os per second, last five rounds")
WINDOW_BANDWIDTH = replace(BANDWIDTH, name="window_bandwidth", title="Bandwidth, last five rounds")
WINDOW_LATENCY = replace(LATENCY_MEAN, name="window_latency", title="Mean completion latency, last five rounds")

IOPS_BY_POINT = replace(IOPS_METRIC, name="iops_by_point")
BANDWIDTH_BY_POINT = replace(BANDWIDTH, name="bandwidth_by_point")
MEAN_BY_POINT = replace(LATENCY_MEAN, name="latency_mean_by_point")
MAX_BY_POINT = replace(LATENCY_MAX, name="latency_max_by_point")

ROUNDS = Metric("rounds", "Rounds that were measured", Unit.ONE, Better.LOWER, Kind.COUNT)
STEADY_AFTER = Metric("steady_after", "Rounds until steady", Unit.ONE, Better.LOWER, Kind.COUNT)
WINDOW_RANGE = Metric("window_range", "Range within the last five rounds", Unit.PERCENT, Better.LOWER, Kind.SHARE)
WINDOW_SLOPE = Metric("window_slope", "Change along the last five rounds", Unit.PERCENT, Better.LOWER, Kind.SHARE)
WINDOWS_APART = Metric(
    "windows_apart", "Last five rounds against the five before", Unit.PERCENT, Better.LOWER, Kind.SHARE
)
WRITTEN = Metric("written", "Bytes written while it was measured", Unit.BYTE, Better.LOWER, Kind.COUNT)

HEADLINES = {
    IOPS: WINDOW_IOPS,
    THROUGHPUT: WINDOW_BANDWIDTH,
    LATENCY: WINDOW_LATENCY,
    SATURATION: WINDOW_IOPS,
}
"""The metric that each test tracks and leads with."""

TRACKED = {IOPS: "iops", THROUGHPUT: "bw_bytes", LATENCY: "clat_ns", SATURATION: "iops"}
"""What fio calls it."""

TRACKED_AS = {IOPS: IOPS_METRIC, THROUGHPUT: BANDWIDTH, LATENCY: LATENCY_MEAN, SATURATION: IOPS_METRIC}
"""What fio's own suite calls it."""

ALL = (
    WINDOW_IOPS, WINDOW_BANDWIDTH, WINDOW_LATENCY, IOPS_BY_POINT, BANDWIDTH_BY_POINT, MEAN_BY_POINT, MAX_BY_POINT,
    ROUNDS, STEADY_AFTER, WINDOW_RANGE, WINDOW_SLOPE, WINDOWS_APART, WRITTEN, IOPS_METRIC, BANDWIDTH, LATENCY_MEAN,
    LATENCY_MAX,
)  # fmt: skip


def metrics_of(values: Values) -> tuple[Metric, ...]:
    """Return the metrics of a test, what it tracks first."""
    leading = HEADLINES[str(values["test"])]
    return (leading, *(metric for metric in ALL if metric not in HEADLINES.values()))


@dataclass(frozen=True, slots=True)
class Measured:
    """One point of one round: both directions together, the latency weighted by I/Os."""

    iops: float
    bandwidth: float
    mean: float | None
    maximum: float | None


def measured_of(figures: Sequence[Figure]) -> Measured | None:
    """Return what fio's figures say of a point; None where they say nothing."""
    by_operation: dict[str, dict[str, float]] = {}
    for figure in figures:
        operation = dict(figure.labels).get("operation", "")
        if operation in {"read", "write"}:
            by_operation.setdefault(operation, {})[figure.metric.name] = figure.value
    found = [one for one in by_operation.values() if one.get("iops")]
    if not found:
        return None
    iops = sum(one["iops"] for one in found)
    means = [(one["iops"], one["latency_mean"]) for one in found if "latency_mean" in one]
    return Measured(
        iops,
        sum(one.get("bandwidth", 0.0) for one in found),
        sum(weight * mean for weight, mean in means) / iops if len(means) == len(found) else None,
        max((one["latency_max"] for one in found if "latency_max" in one), default=None),
    )


def tracked_value(figures: Sequence[Figure], test: str, operation: str) -> float | None:
    """Return what a test tracks of a point, of one direction alone, as the host reads it of fio's document."""
    wanted = TRACKED_AS[test].name
    return next(
        (one.value for one in figures if one.metric.name == wanted and one.labels == labels(operation=operation)), None
    )


def point_labels(point: SniaPoint) -> Labels:
    """Return the labels that tell a point from the others: its block size, and its reads."""
    block = format_size(point.block)
    if point.sequential:
        return labels(block=block, operation="read" if point.reads else "write")
    return labels(block=block, reads=str(point.reads))


def point_values(measured: Measured, test: str) -> Iterator[tuple[Metric, float]]:
    """Yield the figures of a point that its test is about, what the test tracks first."""
    if test == THROUGHPUT:
        yield BANDWIDTH_BY_POINT, measured.bandwidth
        return
    if test != LATENCY:
        yield IOPS_BY_POINT, measured.iops
    if measured.mean is not None:
        yield MEAN_BY_POINT, measured.mean
    if measured.maximum is not None and test == LATENCY:
        yield MAX_BY_POINT, measured.maximum


def matrix(rounds: Sequence[dict[SniaPoint, Measured]], test: str) -> Iterator[Figure]:
    """Yield each point's means over the last five rounds; of the longest latency the longest."""
    gathered: dict[tuple[Metric, Labels], list[float]] = {}
    for one in rounds[-WINDOW:]:
        for point, measured in one.items():
            for metric, value in point_values(measured, test):
                gathered.setdefault((metric, point_labels(point)), []).append(value)
    for (metric, marks), values in sorted(gathered.items(), key=lambda item: ALL.index(item[0][0])):
        yield Figure(metric, max(values) if metric is MAX_BY_POINT else sum(values) / len(values), marks)


def window_figures(window: Window, steady_after: int | None) -> Iterator[Figure]:
    """Yield how many rounds there were, and how steady the last of them."""
    yield Figure(ROUNDS, float(window.rounds))
    if steady_after is not None:
        yield Figure(STEADY_AFTER, float(steady_after))
    yield Figure(WINDOW_RANGE, 100 * window.range)
    yield Figure(WINDOW_SLOPE, 100 * window.slope)
    if window.apart is not None:
        yield Figure(WINDOWS_APART, 100 * window.apart)

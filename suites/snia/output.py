"""Parse the rounds of a SNIA test: the script's lines identify point and round of each fio run."""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from suites.fio.documents import DocumentReader, Piece, Refused, TextLine
from suites.fio.metrics import BANDWIDTH, LATENCY_MAX, LATENCY_MEAN, TOTAL_LATENCIES
from suites.fio.metrics import IOPS as IOPS_METRIC
from suites.fio.output import FioParser
from suites.line_parser import LineSplitter
from suites.outputs import ParsedTrial
from suites.parameters import Values, format_size, parse_duration, parse_size
from suites.snia.checks import ended_notes, standard_notes
from suites.snia.parameters import BOTH, IOPS, LATENCY, SATURATION, THROUGHPUT, SniaPoint, most_rounds, points, tracked
from suites.snia.steady import WINDOW, Window, steady_round, window_of
from suites.units import Unit
from suites.vocab import Better, Figure, Labels, Metric, MetricKind, Sample, labels

# Metrics of the SNIA tests: the tracked figure in the steady window, every point, and the deviation.


WINDOW_IOPS = replace(IOPS_METRIC, name="window_iops", title="I/Os per second, last five rounds")
WINDOW_BANDWIDTH = replace(BANDWIDTH, name="window_bandwidth", title="Bandwidth, last five rounds")
TOTAL_MEAN, TOTAL_MAX = TOTAL_LATENCIES[LATENCY_MEAN], TOTAL_LATENCIES[LATENCY_MAX]
WINDOW_LATENCY = replace(TOTAL_MEAN, name="window_total_latency", title=f"{TOTAL_MEAN.title}, last five rounds")

IOPS_BY_POINT = replace(IOPS_METRIC, name="iops_by_point")
BANDWIDTH_BY_POINT = replace(BANDWIDTH, name="bandwidth_by_point")
MEAN_BY_POINT = replace(TOTAL_MEAN, name="total_latency_mean_by_point")
MAX_BY_POINT = replace(TOTAL_MAX, name="total_latency_max_by_point")

BEFORE = (
    replace(LATENCY_MEAN, name="window_latency", title="Mean completion latency, last five rounds"), LATENCY_MEAN,
    LATENCY_MAX, replace(LATENCY_MEAN, name="latency_mean_by_point"), replace(LATENCY_MAX, name="latency_max_by_point"),
)  # fmt: skip
"""Metrics of the completion latency, which stored runs have."""

ROUNDS = Metric("rounds", "Rounds that were measured", Unit.ONE, Better.LOWER, MetricKind.COUNT)
STEADY_AFTER = Metric("steady_after", "Rounds until steady", Unit.ONE, Better.LOWER, MetricKind.COUNT)
WINDOW_RANGE = Metric("window_range", "Range within the last five rounds", Unit.PERCENT, Better.LOWER, MetricKind.SHARE)
WINDOW_SLOPE = Metric("window_slope", "Change along the last five rounds", Unit.PERCENT, Better.LOWER, MetricKind.SHARE)
WINDOW_DIFFERENCE = Metric(
    "windows_apart", "Last five rounds against the five before", Unit.PERCENT, Better.LOWER, MetricKind.SHARE
)
WRITTEN = Metric("written", "Bytes written while it was measured", Unit.BYTE, Better.LOWER, MetricKind.COUNT)

HEADLINES = {IOPS: WINDOW_IOPS, THROUGHPUT: WINDOW_BANDWIDTH, LATENCY: WINDOW_LATENCY, SATURATION: WINDOW_IOPS}
"""The tracked metric of each test, its headline."""

TRACKED = {IOPS: "iops", THROUGHPUT: "bw_bytes", LATENCY: "lat_ns", SATURATION: "iops"}
"""Its name in fio's output."""

TRACKED_AS = {IOPS: IOPS_METRIC, THROUGHPUT: BANDWIDTH, LATENCY: TOTAL_MEAN, SATURATION: IOPS_METRIC}
"""Its name in fio's own suite."""

ALL = (
    WINDOW_IOPS, WINDOW_BANDWIDTH, WINDOW_LATENCY, IOPS_BY_POINT, BANDWIDTH_BY_POINT, MEAN_BY_POINT, MAX_BY_POINT,
    ROUNDS, STEADY_AFTER, WINDOW_RANGE, WINDOW_SLOPE, WINDOW_DIFFERENCE, WRITTEN, IOPS_METRIC, BANDWIDTH, TOTAL_MEAN,
    TOTAL_MAX, *BEFORE,
)  # fmt: skip


def metrics_of(values: Values) -> tuple[Metric, ...]:
    """Return the metrics of a test, the tracked one first."""
    leading = HEADLINES[str(values["test"])]
    return (leading, *(metric for metric in ALL if metric not in HEADLINES.values()))


@dataclass(frozen=True, slots=True)
class RoundPoint:
    """One point of one round: both directions together, the latency weighted by I/Os."""

    iops: float
    bandwidth: float
    mean: float | None
    maximum: float | None


def measured_of(figures: Sequence[Figure]) -> RoundPoint | None:
    """Return a point's results from fio's figures; None if there are none."""
    by_operation: dict[str, dict[str, float]] = {}
    for figure in figures:
        operation = dict(figure.labels).get("operation", "")
        if operation in {"read", "write"}:
            by_operation.setdefault(operation, {})[figure.metric.name] = figure.value
    found = [one for one in by_operation.values() if one.get("iops")]
    if not found:
        return None
    iops = sum(one["iops"] for one in found)
    means = [(one["iops"], one[TOTAL_MEAN.name]) for one in found if TOTAL_MEAN.name in one]
    return RoundPoint(
        iops,
        sum(one.get("bandwidth", 0.0) for one in found),
        sum(weight * mean for weight, mean in means) / iops if len(means) == len(found) else None,
        max((one[TOTAL_MAX.name] for one in found if TOTAL_MAX.name in one), default=None),
    )


def tracked_value(figures: Sequence[Figure], test: str, operation: str) -> float | None:
    """Return the tracked value of a point, of one direction, as the script reads it from fio's document."""
    wanted = TRACKED_AS[test].name
    return next(
        (one.value for one in figures if one.metric.name == wanted and one.labels == labels(operation=operation)), None
    )


def point_labels(point: SniaPoint) -> Labels:
    """Return the labels that distinguish a point: its block size, and its share of reads."""
    block = format_size(point.block)
    if point.sequential:
        return labels(block=block, operation="read" if point.reads else "write")
    return labels(block=block, reads=str(point.reads))


def point_values(measured: RoundPoint, test: str) -> Iterator[tuple[Metric, float]]:
    """Yield the figures of a point that its test reports, the tracked one first."""
    if test == THROUGHPUT:
        yield BANDWIDTH_BY_POINT, measured.bandwidth
        return
    if test != LATENCY:
        yield IOPS_BY_POINT, measured.iops
    if measured.mean is not None:
        yield MEAN_BY_POINT, measured.mean
    if measured.maximum is not None and test == LATENCY:
        yield MAX_BY_POINT, measured.maximum


def matrix(rounds: Sequence[dict[SniaPoint, RoundPoint]], test: str) -> Iterator[Figure]:
    """Yield each point's means over the last five rounds; of the maximum latency the maximum."""
    gathered: dict[tuple[Metric, Labels], list[float]] = {}
    for one in rounds[-WINDOW:]:
        for point, measured in one.items():
            for metric, value in point_values(measured, test):
                gathered.setdefault((metric, point_labels(point)), []).append(value)
    for (metric, figure_labels), values in sorted(gathered.items(), key=lambda item: ALL.index(item[0][0])):
        yield Figure(metric, max(values) if metric is MAX_BY_POINT else sum(values) / len(values), figure_labels)


def window_figures(window: Window, steady_after: int | None) -> Iterator[Figure]:
    """Yield the number of rounds, and the deviation of the last of them."""
    yield Figure(ROUNDS, float(window.rounds))
    if steady_after is not None:
        yield Figure(STEADY_AFTER, float(steady_after))
    yield Figure(WINDOW_RANGE, 100 * window.range)
    yield Figure(WINDOW_SLOPE, 100 * window.slope)
    if window.difference is not None:
        yield Figure(WINDOW_DIFFERENCE, 100 * window.difference)


MAXIMUM_ROUNDS = 100_000
MAXIMUM_NOTES = 20

SHOWN = frozenset({IOPS_METRIC, BANDWIDTH, TOTAL_MEAN, TOTAL_MAX})
"""Metrics of a point that become samples of the whole test."""

_BEGINS = re.compile(
    r"benchwright: round (\d{1,6}) of (\d{1,6}), command (\d{1,4}) of (\d{1,4}), at (\d{1,10}(?:\.\d{1,6})?) s"
)
_ENDED = re.compile(r"benchwright: ended after round (\d{1,6}): (.{1,40})")
_OWN = re.compile(r"(?:benchwright: round \d|\+ fio )")


def seconds_of(line: str) -> float:
    """Return the measured seconds of a line of fio; 0 if it has none."""
    found = re.search(r"--runtime=(\d{1,9}(?:ms)?)(?=\s|$)", line)
    return parse_duration(found[1]) if found is not None else 0.0


def point_of(line: str) -> SniaPoint | None:
    """Return the point that a line of fio measures, or None."""
    options = dict(word.removeprefix("--").split("=", 1) for word in line.split() if "=" in word)
    pattern = options.get("rw", "")
    try:
        block = parse_size(options["bs"])
        mixed = int(options.get("rwmixread", "50"))
    except (KeyError, ValueError):
        return None
    reads = {"read": 100, "write": 0}.get(pattern.removeprefix("rand"), mixed)
    return SniaPoint(reads, block, sequential=not pattern.startswith("rand"))


@dataclass(slots=True)
class _Part:
    """One point of one round while it is parsed. `start` is in seconds since the first began.

    The line of fio that the script prints identifies the point.
    """

    round: int
    start: float
    point: SniaPoint | None = None
    seconds: float = 0.0
    parser: FioParser = field(default_factory=FioParser)
    latest: float = 0.0


@dataclass(slots=True)
class SniaParser:
    """Converts the script's output into samples and figures. Accepts any bytes."""

    values: Values
    _reader: DocumentReader = field(default_factory=DocumentReader)
    _errors: LineSplitter = field(default_factory=LineSplitter)
    _part: _Part | None = None
    _rounds: list[dict[SniaPoint, RoundPoint]] = field(default_factory=list)
    _tracked: list[tuple[float, float]] = field(default_factory=list)  # time and value, once a round
    _samples: list[tuple[int, Sample]] = field(default_factory=list)  # with the round
    _written: float = 0.0
    _clock: float | None = None
    _ended: str = ""
    _problems: list[str] = field(default_factory=list)
    _remarks: list[str] = field(default_factory=list)
    _before: list[Piece] = field(default_factory=list)  # output before the first point
    _of: int = 0  # points of a round

    _tracks: SniaPoint = field(init=False)

    def __post_init__(self) -> None:
        self._tracks = points(self.values)[tracked(self.values)]

    def feed(self, data: bytes, stream: str = "stdout") -> list[Sample]:
        """Parse the next bytes of a stream; return the samples that they complete."""
        if stream == "stderr":
            return self._take([TextLine(line) for line in self._errors.feed(data, stream)])
        return self._take(self._reader.feed(data))

    def finish(self, exit_status: int | None = None) -> ParsedTrial:
        """Return the result of the whole output: the complete rounds, and whether they were steady."""
        self._take([*self._reader.finish(), *(TextLine(line) for line in self._errors.rest())])
        if self._part is not None and self._reader.within_document:
            self._part.parser.take([Refused("the output is cut off within it")])
        if self._part is None and not self._rounds:
            lone = FioParser()
            lone.take(self._before)
            return lone.finish(exit_status)
        self._close(exit_status)
        if not self._ended:
            self._problems.append(f"The test ended in round {len(self._rounds)}, before it was over.")
        notes = (*self._problems, *self._round_notes(), *dict.fromkeys(self._remarks))
        return ParsedTrial(tuple(self._figures()), tuple(self._final()), notes, complete=not self._problems)

    def _take(self, pieces: Iterable[Piece]) -> list[Sample]:
        found: list[Sample] = []
        for piece in pieces:
            if isinstance(piece, TextLine) and self._script_line(piece.text, found):
                continue
            if self._part is None:
                self._before = [*self._before, piece][-MAXIMUM_NOTES:]
            else:
                found += self._of_point(self._part, self._part.parser.take([piece]))
        return found

    def _script_line(self, line: str, found: list[Sample]) -> bool:
        """Parse a line of the script; return whether it was one."""
        begins, ended = _BEGINS.fullmatch(line.strip()), _ENDED.fullmatch(line.strip())
        if begins is not None:
            found += self._close(0)
            self._begin(int(begins[1]), int(begins[4]), float(begins[5]))
        elif ended is not None:
            found += self._close(0)
            self._ended = ended[2]
        elif line.startswith("+ ") and self._part is not None and self._part.point is None:
            self._part.point, self._part.seconds = point_of(line), seconds_of(line)
        return begins is not None or ended is not None or _OWN.match(line) is not None

    def _begin(self, number: int, of: int, uptime: float) -> None:
        if self._clock is None:
            self._clock = uptime
        self._of = self._of or of
        expected = len(self._rounds) + (not self._rounds or len(self._rounds[-1]) == self._of)
        if number != expected or of != self._of or number > MAXIMUM_ROUNDS:
            self._problems.append(f"Round {number} is out of order and was not read.")
            del self._problems[MAXIMUM_NOTES:]
            return
        if len(self._rounds) < number:
            self._rounds.append({})
        self._part = _Part(number, max(0.0, uptime - self._clock))

    def _close(self, exit_status: int | None) -> list[Sample]:
        """Parse the end of the current point; return its samples."""
        part, self._part = self._part, None
        if part is None:
            return []
        point, parsed = part.point, part.parser.finish(exit_status)
        what = f"Round {part.round}, {'unknown point' if point is None else point.words}"
        measured = measured_of(parsed.figures) if parsed.complete else None
        if measured is None or point is None:
            self._problems += [f"{what}: {note}" for note in parsed.notes] or [f"{what}: no figure."]
            del self._problems[MAXIMUM_NOTES:]
            return []
        self._remarks = [*self._remarks, *(note for note in parsed.notes if note not in self._remarks)][:MAXIMUM_NOTES]
        self._rounds[part.round - 1][point] = measured
        found = list(self._of_round(part, point, measured, parsed.figures))
        self._samples += [(part.round, sample) for sample in found]
        return found

    def _of_round(
        self, part: _Part, point: SniaPoint, measured: RoundPoint, figures: tuple[Figure, ...]
    ) -> Iterator[Sample]:
        """Yield the metrics reported for a point, and the tracked metric if it is the tracked point."""
        now = max(part.latest, part.start)
        self._written += part.seconds * sum(
            one.value for one in figures if one.metric == BANDWIDTH and one.labels == labels(operation="write")
        )
        for metric, value in itertools.islice(point_values(measured, str(self.values["test"])), 1):
            yield Sample(now, metric, value, point_labels(point))
        if point == self._tracks:
            tracked = tracked_value(figures, str(self.values["test"]), point.operation)
            if tracked is not None:
                self._tracked.append((now, tracked))
                yield self._tracked_sample(now, tracked)

    def _tracked_sample(self, time: float, value: float) -> Sample:
        metric = HEADLINES[str(self.values["test"])]
        return Sample(time, metric, value, self._tracked_labels())

    def _tracked_labels(self) -> Labels:
        return labels(block=format_size(self._tracks.block), operation=self._tracks.operation)

    def _of_point(self, part: _Part, samples: Iterable[Sample]) -> list[Sample]:
        """Return the samples of a point on the time of the whole test."""
        found = []
        for sample in samples:
            if sample.metric in SHOWN:
                part.latest = part.start + sample.time
                found.append(replace(sample, time=part.latest))
        self._samples += [(part.round, sample) for sample in found]
        return found

    def _figures(self) -> Iterator[Figure]:
        values = [value for _, value in self._tracked]
        window = window_of(values)
        test = str(self.values["test"])
        if window is not None:
            yield Figure(HEADLINES[test], window.mean, self._tracked_labels())
        whole = [one for one in self._rounds if len(one) == self._of] or self._rounds[-1:]
        yield from matrix(whole, test)
        if window is not None and test != SATURATION:
            both = self.values["criterion"] == BOTH
            yield from window_figures(window, steady_round(values, both=both))
        if self._written:
            yield Figure(WRITTEN, self._written)

    def _final(self) -> Iterator[Sample]:
        """Yield all samples; those of the rounds before the window are marked as warm-up."""
        first = len(self._tracked) - WINDOW + 1
        for number, sample in self._samples:
            yield replace(sample, warm_up=True) if number < first else sample

    def _round_notes(self) -> Iterator[str]:
        values = [value for _, value in self._tracked]
        yield from ended_notes(self.values, values, self._written, most_rounds(self.values))
        yield from standard_notes(self.values)

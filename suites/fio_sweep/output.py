"""Parse the output of a sweep: consecutive fio runs, identified by the options that each reports."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from suites.fio.documents import Document, DocumentReader, Piece, Refused, TextLine
from suites.fio.metrics import BANDWIDTH, IOPS, LATENCY_P50, LATENCY_P99, LATENCY_P99_9, TOTAL_LATENCIES
from suites.fio.output import FioParser
from suites.fio.report import Report, read_report
from suites.fio_sweep.parameters import FioSweepPoint
from suites.line_parser import LineSplitter
from suites.outputs import ParsedTrial
from suites.parameters import format_size, parse_size
from suites.sweep import FEWEST_POINTS, depth_knee_note, knee
from suites.units import Unit
from suites.vocab import Better, Figure, Labels, Metric, MetricKind, Sample, labels

# Metrics of a sweep: each point, the best of them, the knee, and the cost of a step in depth.


_COMPLETION = (LATENCY_P50, LATENCY_P99, LATENCY_P99_9)

BY_POINT: Mapping[str, Metric] = {
    metric.name: replace(metric, name=f"{metric.name}_by_point")
    for metric in (IOPS, BANDWIDTH, *(TOTAL_LATENCIES[one] for one in _COMPLETION), *_COMPLETION)
}
"""The metrics of a point, by their name in fio's own suite; the completion latency only where fio has no percentiles
of the total latency (before 3.20)."""

KNEE = Metric("knee_in_flight", "I/Os in flight at the knee", Unit.ONE, Better.LOWER, MetricKind.COUNT)
GAIN = Metric("step_gain", "IOPS against the step before", Unit.ONE, Better.HIGHER, MetricKind.SHARE)
PRICE = Metric("step_price", "p99 latency against the step before", Unit.ONE, Better.LOWER, MetricKind.SHARE)

METRICS = (IOPS, BANDWIDTH, *BY_POINT.values(), KNEE, GAIN, PRICE)

MAXIMUM_CURVES = 6
"""Maximum curves whose steps are described in notes; the figures cover all of them."""

MAXIMUM_STEPS = 8


@dataclass(frozen=True, slots=True)
class SweepPointResult:
    """Results of one point: its figures by metric name and operation."""

    point: FioSweepPoint
    values: Mapping[tuple[str, str], float]

    def of(self, metric: Metric, operation: str) -> float | None:
        """Return the value of a metric, or None."""
        return self.values.get((metric.name, operation))

    def tail(self, operation: str) -> float | None:
        """Return the p99 latency, or None."""
        total = self.of(TOTAL_LATENCIES[LATENCY_P99], operation)
        return self.of(LATENCY_P99, operation) if total is None else total


def point_labels(point: FioSweepPoint, operation: str) -> Labels:
    """Return the labels that distinguish a point's figures."""
    return labels(block=format_size(point.block), depth=str(point.depth), jobs=str(point.jobs), operation=operation)


def sweep_figures(found: list[SweepPointResult]) -> Iterator[Figure]:
    """Yield the best of all points, then each point in order of measurement, then knees and costs of steps."""
    operations = list(dict.fromkeys(operation for one in found for _, operation in one.values))
    for metric in (IOPS, BANDWIDTH):
        for operation in operations:
            best = max((one.of(metric, operation) or 0.0 for one in found), default=0.0)
            if best:
                yield Figure(metric, best, labels(operation=operation))
    for name, metric in BY_POINT.items():
        for one in found:
            for operation in operations:
                value = one.values.get((name, operation))
                if value is not None:
                    yield Figure(metric, value, point_labels(one.point, operation))
    for operation in operations:
        for curve in _curves(found, operation):
            yield from _of_curve(curve, operation)


def sweep_notes(found: list[SweepPointResult]) -> Iterator[str]:
    """Yield notes about the best point, the knee of each curve, and the cost of its steps."""
    operations = list(dict.fromkeys(operation for one in found for _, operation in one.values))
    for operation in operations:
        best = max(found, key=lambda one: one.of(IOPS, operation) or 0.0)
        yield f"Most {operation} IOPS: {best.point.words}."
        for curve in _curves(found, operation)[:MAXIMUM_CURVES]:
            yield from _step_cost(curve, operation)


def _curves(found: list[SweepPointResult], operation: str) -> list[list[SweepPointResult]]:
    """Return the points of each block size and number of jobs by depth; by jobs if there is one depth."""
    grouped: dict[tuple[int, int], list[SweepPointResult]] = {}
    several = len({one.point.depth for one in found}) > 1
    for one in found:
        if one.of(IOPS, operation):
            key = (one.point.block, one.point.jobs if several else 0)
            grouped.setdefault(key, []).append(one)
    return [sorted(curve, key=lambda one: one.point) for curve in grouped.values() if len(curve) > 1]


def _in_flight(one: SweepPointResult) -> int:
    return one.point.depth * one.point.jobs


def _iops(curve: list[SweepPointResult], operation: str) -> dict[int, float]:
    return {_in_flight(one): one.of(IOPS, operation) or 0.0 for one in curve}


def _of_curve(curve: list[SweepPointResult], operation: str) -> Iterator[Figure]:
    iops = _iops(curve, operation)
    found = knee(iops)
    if found is not None and found < max(iops):  # else the curve still grows, and the knee is beyond
        at = next(one.point for one in curve if _in_flight(one) == found)
        figure_labels = labels(block=format_size(at.block), operation=operation)
        jobs = labels(jobs=str(at.jobs)) if len({one.point.jobs for one in curve}) == 1 else ()
        yield Figure(KNEE, float(found), tuple(sorted((*figure_labels, *jobs))))
    for before, after in itertools.pairwise(curve):
        rates = before.of(IOPS, operation), after.of(IOPS, operation)
        tails = before.tail(operation), after.tail(operation)
        for metric, (first, second) in ((GAIN, rates), (PRICE, tails)):
            if first and second:
                yield Figure(metric, second / first, point_labels(after.point, operation))


def _step_cost(curve: list[SweepPointResult], operation: str) -> Iterator[str]:
    first = curve[0].point
    over_depth = len({one.point.jobs for one in curve}) == 1
    fixed = f", {first.jobs} {'job' if first.jobs == 1 else 'jobs'}" if over_depth else ""
    what = f"{operation} IOPS in {format_size(first.block)}{fixed}"
    if len(curve) >= FEWEST_POINTS:
        yield from depth_knee_note(_iops(curve, operation), what)
    steps = [_step(before, after, operation, over_depth=over_depth) for before, after in itertools.pairwise(curve)]
    shown_steps = [step for step in steps if step][:MAXIMUM_STEPS]
    if shown_steps:
        yield f"Cost of {'depth' if over_depth else 'jobs'}, {what}: {'; '.join(shown_steps)}."


def _step(before: SweepPointResult, after: SweepPointResult, operation: str, *, over_depth: bool) -> str:
    iops = before.of(IOPS, operation), after.of(IOPS, operation)
    tail = before.tail(operation), after.tail(operation)
    if not (iops[0] and iops[1] and tail[0] and tail[1]):
        return ""
    settings = [one.point.depth if over_depth else one.point.jobs for one in (before, after)]
    return f"{settings[0]} to {settings[1]} gives {iops[1] / iops[0]:.2f}x at {tail[1] / tail[0]:.2f}x the p99"


MAXIMUM_POINTS = 4096
MAXIMUM_PENDING = 1000
"""Maximum lines kept between two documents."""


@dataclass(slots=True)
class _Part:
    """One point while it is parsed. `start` is when its job began, in seconds of the sweep."""

    point: FioSweepPoint
    start: float
    parser: FioParser = field(default_factory=FioParser)
    latest: float = 0.0


@dataclass(slots=True)
class SweepParser:
    """Converts the documents of each point into samples, and its last one into figures. Accepts any bytes."""

    expected: tuple[FioSweepPoint, ...]
    _reader: DocumentReader = field(default_factory=DocumentReader)
    _errors: LineSplitter = field(default_factory=LineSplitter)
    _parts: list[_Part] = field(default_factory=list)
    _pending: list[Piece] = field(default_factory=list)
    _samples: list[Sample] = field(default_factory=list)
    _clock: float | None = None  # the host's clock when the sweep began

    def feed(self, data: bytes, stream: str = "stdout") -> list[Sample]:
        """Parse the next bytes of a stream; return the samples that they complete."""
        if stream == "stderr":
            return self._take([TextLine(line) for line in self._errors.feed(data, stream)])
        return self._take(self._reader.feed(data))

    def finish(self, exit_status: int | None = None) -> ParsedTrial:
        """Return the result of the whole output: every measured point, complete or not."""
        self._take([*self._reader.finish(), *(TextLine(line) for line in self._errors.rest())])
        if self._reader.within_document:
            self._pending.append(Refused("the output is cut off within it"))
        if not self._parts:
            lone = FioParser()
            lone.take(self._pending)
            return lone.finish(exit_status)
        problems = self._close_last(exit_status)
        last_status = 0 if problems else exit_status  # the next point failed
        measured: list[SweepPointResult] = []
        remarks: list[str] = []
        for number, part in enumerate(self._parts):
            parsed = part.parser.finish(last_status if number == len(self._parts) - 1 else 0)
            values = {(f.metric.name, dict(f.labels).get("operation", "")): f.value for f in parsed.figures}
            notes_of_point = [f"{part.point.words}: {note}" for note in parsed.notes]
            if parsed.complete:
                measured.append(
                    SweepPointResult(part.point, {key: v for key, v in values.items() if _is_shown(key, values)})
                )
                remarks += notes_of_point
            else:
                problems += notes_of_point
        problems += self._missing(len(measured))
        notes = (*problems, *(sweep_notes(measured) if measured else ()), *dict.fromkeys(remarks))
        return ParsedTrial(tuple(sweep_figures(measured)), tuple(self._samples), notes, complete=not problems)

    def _close_last(self, exit_status: int | None) -> list[str]:
        """Assign text after the last document to its point, or report that the next point printed nothing else."""
        pending, self._pending = self._pending, []
        begun = {part.point for part in self._parts}
        ahead = [point for point in self.expected if point not in begun]
        if exit_status and ahead and pending and not any(isinstance(piece, Refused) for piece in pending):
            failed = FioParser()
            failed.take(pending)
            return [f"{ahead[0].words}: {note}" for note in failed.finish(exit_status).notes]
        self._parts[-1].parser.take(pending)
        return []

    def _missing(self, measured: int) -> list[str]:
        """Report how many points are missing; not for a sweep of another plan with other points."""
        own = all(part.point in self.expected for part in self._parts)
        if measured >= len(self.expected) or not own:
            return []
        return [f"{measured} of {len(self.expected)} points were measured."]

    def _take(self, pieces: Iterable[Piece]) -> list[Sample]:
        found: list[Sample] = []
        for piece in pieces:
            if not isinstance(piece, Document):
                self._pending = [*self._pending, piece][-MAXIMUM_PENDING:]
                continue
            part = self._part_of(piece)
            if part is None:
                self._pending.append(Refused("it lacks its depth, jobs and block size"))
                continue
            pending, self._pending = self._pending, []
            found += self._of_sweep(part, part.parser.take([*pending, piece]))
        self._samples += found
        return found

    def _part_of(self, document: Document) -> _Part | None:
        """Return the point of `document`, new if it is the first; None if it lacks the options."""
        report = read_report(document.content)
        point = None if report is None else _point_of(report)
        if report is None or point is None or len(self._parts) >= MAXIMUM_POINTS:
            return None
        if not self._parts or self._parts[-1].point != point:
            self._parts.append(_Part(point, self._start(report)))
        return self._parts[-1]

    def _start(self, report: Report) -> float:
        """Return when the job of `report` began, in seconds since the first one."""
        last = self._parts[-1].latest if self._parts else 0.0
        runtime = max(job.runtime for job in report.jobs)
        if report.time is None:
            return last
        if self._clock is None:
            self._clock = report.time - runtime
        return max(last, report.time - runtime - self._clock)

    def _of_sweep(self, part: _Part, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Yield `samples` of a point on the sweep's time: as the curve of the whole sweep, and the IOPS as the point's.

        Only the first point's ramp is shown: the curve of the whole sweep has no warm-up in its middle.
        """
        for sample in samples:
            moved = replace(sample, time=part.start + sample.time)
            part.latest = max(part.latest, moved.time)
            if sample.warm_up and part is not self._parts[0]:
                continue
            if sample.metric not in {LATENCY_P99_9, TOTAL_LATENCIES[LATENCY_P99_9]}:
                yield moved
            if sample.metric == IOPS and not sample.warm_up:
                operation = dict(sample.labels).get("operation", "")
                yield replace(moved, metric=BY_POINT[IOPS.name], labels=point_labels(part.point, operation))


def _is_shown(key: tuple[str, str], values: Mapping[tuple[str, str], float]) -> bool:
    """Return whether a figure is one of a point: the completion latency only in place of the total latency."""
    name, operation = key
    return name in BY_POINT and (f"total_{name}", operation) not in (values if name.startswith("latency") else {})


def _point_of(report: Report) -> FioSweepPoint | None:
    options = report.jobs[0].options if report.jobs else {}
    try:
        return FioSweepPoint(parse_size(options["bs"]), int(options.get("numjobs", "1")), int(options["iodepth"]))
    except (KeyError, ValueError):
        return None

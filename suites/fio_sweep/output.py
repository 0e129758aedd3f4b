"""Reads the output of a sweep: one fio after the other, told apart by the options that each says it was given."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from suites.base import LineSplitter, Parsed
from suites.fio.documents import Document, DocumentReader, Piece, Refused, TextLine
from suites.fio.metrics import IOPS, LATENCY_P99_9
from suites.fio.output import FioParser
from suites.fio.report import Report, read_report
from suites.fio_sweep.metrics import BY_POINT, Measured, point_labels, sweep_figures, sweep_notes
from suites.fio_sweep.parameters import SweepPoint
from suites.parameters import parse_size
from suites.vocab import Sample

MAXIMUM_POINTS = 4096
MAXIMUM_PENDING = 1000
"""Lines between two documents that are kept."""


@dataclass(slots=True)
class _Part:
    """One point while it is read. `start` is when its job began, in seconds of the sweep."""

    point: SweepPoint
    start: float
    parser: FioParser = field(default_factory=FioParser)
    latest: float = 0.0


@dataclass(slots=True)
class SweepParser:
    """Turns the documents of each point into samples, and its last into figures. Accepts any bytes at all."""

    expected: tuple[SweepPoint, ...]
    _reader: DocumentReader = field(default_factory=DocumentReader)
    _errors: LineSplitter = field(default_factory=LineSplitter)
    _parts: list[_Part] = field(default_factory=list)
    _pending: list[Piece] = field(default_factory=list)
    _samples: list[Sample] = field(default_factory=list)
    _clock: float | None = None  # the host's clock when the sweep began

    def feed(self, data: bytes, stream: str = "stdout") -> list[Sample]:
        """Take the next bytes of a stream; return the samples that they complete."""
        if stream == "stderr":
            return self._take([TextLine(line) for line in self._errors.feed(data, stream)])
        return self._take(self._reader.feed(data))

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means: every point that was measured, whole or not."""
        self._take([*self._reader.finish(), *(TextLine(line) for line in self._errors.rest())])
        if self._reader.within_document:
            self._pending.append(Refused("the output is cut off within it"))
        if not self._parts:
            lone = FioParser()
            lone.take(self._pending)
            return lone.finish(exit_status)
        problems = self._close_last(exit_status)
        last_status = 0 if problems else exit_status  # it was the next point that failed
        measured: list[Measured] = []
        remarks: list[str] = []
        for number, part in enumerate(self._parts):
            parsed = part.parser.finish(last_status if number == len(self._parts) - 1 else 0)
            values = {(f.metric.name, dict(f.labels).get("operation", "")): f.value for f in parsed.figures}
            told = [f"{part.point.words}: {note}" for note in parsed.notes]
            if parsed.complete:
                measured.append(Measured(part.point, {key: v for key, v in values.items() if key[0] in BY_POINT}))
                remarks += told
            else:
                problems += told
        problems += self._missing(len(measured))
        notes = (*problems, *(sweep_notes(measured) if measured else ()), *dict.fromkeys(remarks))
        return Parsed(tuple(sweep_figures(measured)), tuple(self._samples), notes, complete=not problems)

    def _close_last(self, exit_status: int | None) -> list[str]:
        """Give what came after the last document to its point, or say that the next one gave nothing but this."""
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
        """Say how many points are missing; not of a sweep that somebody else has run, with points of its own."""
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
                self._pending.append(Refused("it does not say its depth, jobs and block size"))
                continue
            pending, self._pending = self._pending, []
            found += self._of_sweep(part, part.parser.take([*pending, piece]))
        self._samples += found
        return found

    def _part_of(self, document: Document) -> _Part | None:
        """Return the point that `document` is about, begun where it is the first; None where it does not say."""
        report = read_report(document.content)
        point = None if report is None else _point_of(report)
        if report is None or point is None or len(self._parts) >= MAXIMUM_POINTS:
            return None
        if not self._parts or self._parts[-1].point != point:
            self._parts.append(_Part(point, self._start(report)))
        return self._parts[-1]

    def _start(self, report: Report) -> float:
        """Return when the job of `report` began, in seconds since the first did."""
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
            if sample.metric != LATENCY_P99_9:
                yield moved
            if sample.metric == IOPS and not sample.warm_up:
                operation = dict(sample.labels).get("operation", "")
                yield replace(moved, metric=BY_POINT[IOPS.name], labels=point_labels(part.point, operation))


def _point_of(report: Report) -> SweepPoint | None:
    options = report.jobs[0].options if report.jobs else {}
    try:
        return SweepPoint(parse_size(options["bs"]), int(options.get("numjobs", "1")), int(options["iodepth"]))
    except (KeyError, ValueError):
        return None

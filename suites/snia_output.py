"""Reads the rounds of a SNIA test: the driver's lines say which point of which round each fio is."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from suites.base import LineSplitter, Parsed
from suites.fio_documents import DocumentReader, Piece, Refused, TextLine
from suites.fio_metrics import BANDWIDTH, LATENCY_MAX, LATENCY_MEAN
from suites.fio_metrics import IOPS as IOPS_METRIC
from suites.fio_output import FioParser
from suites.parameters import Values, format_size
from suites.snia_metrics import (
    HEADLINES,
    WRITTEN,
    Measured,
    matrix,
    measured_of,
    point_labels,
    point_values,
    tracked_value,
    window_figures,
)
from suites.snia_parameters import BOTH, SATURATION, SniaPoint, most_rounds, points, tracked
from suites.snia_steady import WINDOW, steady_round, window_of
from suites.snia_words import ended_notes, standard_notes
from suites.vocab import Figure, Labels, Sample, labels

MAXIMUM_ROUNDS = 100_000
MAXIMUM_NOTES = 20

SHOWN = frozenset({IOPS_METRIC, BANDWIDTH, LATENCY_MEAN, LATENCY_MAX})
"""What is shown of every second of every point; a day of more would be too much."""

_BEGINS = re.compile(
    r"benchwright: round (\d{1,6}) of (\d{1,6}), command (\d{1,4}) of (\d{1,4}), at (\d{1,10}(?:\.\d{1,6})?) s"
)
_ENDED = re.compile(r"benchwright: ended after round (\d{1,6}): (.{1,40})")
_OWN = re.compile(r"(?:benchwright: round \d|\+ fio )")


@dataclass(slots=True)
class _Part:
    """One point of one round while it is read. `start` is in seconds since the first began."""

    round: int
    place: int
    start: float
    parser: FioParser = field(default_factory=FioParser)
    latest: float = 0.0


@dataclass(slots=True)
class SniaParser:
    """Turns the output of the driver into samples and figures. Accepts any bytes at all."""

    values: Values
    _reader: DocumentReader = field(default_factory=DocumentReader)
    _errors: LineSplitter = field(default_factory=LineSplitter)
    _part: _Part | None = None
    _rounds: list[dict[SniaPoint, Measured]] = field(default_factory=list)
    _tracked: list[tuple[float, float]] = field(default_factory=list)  # when, and what, once a round
    _samples: list[tuple[int, Sample]] = field(default_factory=list)  # with the round
    _written: float = 0.0
    _clock: float | None = None
    _ended: str = ""
    _problems: list[str] = field(default_factory=list)
    _remarks: list[str] = field(default_factory=list)
    _before: list[Piece] = field(default_factory=list)  # what came before the first point
    _points: tuple[SniaPoint, ...] = ()
    _place: int = 0

    def __post_init__(self) -> None:
        self._points, self._place = points(self.values), tracked(self.values)

    def feed(self, data: bytes, stream: str = "stdout") -> list[Sample]:
        """Take the next bytes of a stream; return the samples that they complete."""
        if stream == "stderr":
            return self._take([TextLine(line) for line in self._errors.feed(data, stream)])
        return self._take(self._reader.feed(data))

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means: the rounds that were whole, and whether they were steady."""
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
        notes = (*self._problems, *self._told(), *dict.fromkeys(self._remarks))
        return Parsed(tuple(self._figures()), tuple(self._final()), notes, complete=not self._problems)

    def _take(self, pieces: Iterable[Piece]) -> list[Sample]:
        found: list[Sample] = []
        for piece in pieces:
            if isinstance(piece, TextLine) and self._own(piece.text, found):
                continue
            if self._part is None:
                self._before = [*self._before, piece][-MAXIMUM_NOTES:]
            else:
                found += self._of_point(self._part, self._part.parser.take([piece]))
        return found

    def _own(self, line: str, found: list[Sample]) -> bool:
        """Take a line of the driver; return whether it was one."""
        begins, ended = _BEGINS.fullmatch(line.strip()), _ENDED.fullmatch(line.strip())
        if begins is not None:
            found += self._close(0)
            self._begin(int(begins[1]), int(begins[3]) - 1, float(begins[5]))
        elif ended is not None:
            found += self._close(0)
            self._ended = ended[2]
        return begins is not None or ended is not None or _OWN.match(line) is not None

    def _begin(self, number: int, place: int, uptime: float) -> None:
        if self._clock is None:
            self._clock = uptime
        expected = len(self._rounds) + (not self._rounds or len(self._rounds[-1]) == len(self._points))
        if number != expected or place >= len(self._points) or number > MAXIMUM_ROUNDS:
            self._problems.append(f"Round {number} does not follow what came before it, and was not read.")
            del self._problems[MAXIMUM_NOTES:]
            return
        if len(self._rounds) < number:
            self._rounds.append({})
        self._part = _Part(number, place, max(0.0, uptime - self._clock))

    def _close(self, exit_status: int | None) -> list[Sample]:
        """Read the end of the point under way; return its own samples."""
        part, self._part = self._part, None
        if part is None:
            return []
        point = self._points[part.place]
        parsed = part.parser.finish(exit_status)
        told = [f"Round {part.round}, {point.words}: {note}" for note in parsed.notes]
        measured = measured_of(parsed.figures) if parsed.complete else None
        if measured is None:
            self._problems = [*self._problems, *(told or [f"Round {part.round}, {point.words}: no figure."])]
            del self._problems[MAXIMUM_NOTES:]
            return []
        self._remarks = [*self._remarks, *(note for note in parsed.notes if note not in self._remarks)][:MAXIMUM_NOTES]
        self._rounds[part.round - 1][point] = measured
        found = list(self._of_round(part, point, measured, parsed.figures))
        self._samples += [(part.round, sample) for sample in found]
        return found

    def _of_round(
        self, part: _Part, point: SniaPoint, measured: Measured, figures: tuple[Figure, ...]
    ) -> Iterator[Sample]:
        """Yield what a point gave in this round, and the tracked figure where it is the tracked point."""
        now = max(part.latest, part.start)
        share = 1 - point.reads / 100
        self._written += measured.bandwidth * share * float(self.values["runtime"])
        for metric, value in point_values(measured, str(self.values["test"])):
            yield Sample(now, metric, value, point_labels(point))
        if part.place == self._place:
            value = tracked_value(figures, str(self.values["test"]), point.operation)
            if value is not None:
                self._tracked.append((now, value))
                yield self._tracked_sample(now, value)

    def _tracked_sample(self, time: float, value: float) -> Sample:
        metric = HEADLINES[str(self.values["test"])]
        return Sample(time, metric, value, self._tracked_labels())

    def _tracked_labels(self) -> Labels:
        point = self._points[self._place]
        return labels(block=format_size(point.block), operation=point.operation)

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
        whole = [one for one in self._rounds if len(one) == len(self._points)] or self._rounds[-1:]
        yield from matrix(whole, test)
        if window is not None and test != SATURATION:
            both = self.values["criterion"] == BOTH
            yield from window_figures(window, steady_round(values, both=both))
        if self._written:
            yield Figure(WRITTEN, self._written)

    def _final(self) -> Iterator[Sample]:
        """Yield all samples; those of the rounds before the window are no part of the figures."""
        first = len(self._tracked) - WINDOW + 1
        for number, sample in self._samples:
            yield replace(sample, warm_up=True) if number < first else sample

    def _told(self) -> Iterator[str]:
        values = [value for _, value in self._tracked]
        yield from ended_notes(self.values, values, self._written, most_rounds(self.values))
        yield from standard_notes(self.values)

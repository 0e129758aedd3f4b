"""Reads the rounds of a SNIA test: the driver's lines say which point of which round each fio is."""

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from suites.base import LineSplitter, Parsed
from suites.fio.documents import DocumentReader, Piece, Refused, TextLine
from suites.fio.metrics import BANDWIDTH, LATENCY_MAX, LATENCY_MEAN
from suites.fio.metrics import IOPS as IOPS_METRIC
from suites.fio.output import FioParser
from suites.parameters import Values, format_size, parse_duration, parse_size
from suites.snia.metrics import (
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
from suites.snia.parameters import BOTH, SATURATION, SniaPoint, most_rounds, points, tracked
from suites.snia.steady import WINDOW, steady_round, window_of
from suites.snia.words import ended_notes, standard_notes
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


def seconds_of(line: str) -> float:
    """Return the seconds that a line of fio measures for; 0 where it does not say."""
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
    """One point of one round while it is read. `start` is in seconds since the first began.

    The line of fio that the driver prints says which point it is.
    """

    round: int
    start: float
    point: SniaPoint | None = None
    seconds: float = 0.0
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
    _of: int = 0  # points of a round

    _tracks: SniaPoint = field(init=False)

    def __post_init__(self) -> None:
        self._tracks = points(self.values)[tracked(self.values)]

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
            self._problems.append(f"Round {number} does not follow what came before it, and was not read.")
            del self._problems[MAXIMUM_NOTES:]
            return
        if len(self._rounds) < number:
            self._rounds.append({})
        self._part = _Part(number, max(0.0, uptime - self._clock))

    def _close(self, exit_status: int | None) -> list[Sample]:
        """Read the end of the point under way; return its own samples."""
        part, self._part = self._part, None
        if part is None:
            return []
        point, parsed = part.point, part.parser.finish(exit_status)
        what = f"Round {part.round}, {'which point is not told' if point is None else point.words}"
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
        self, part: _Part, point: SniaPoint, measured: Measured, figures: tuple[Figure, ...]
    ) -> Iterator[Sample]:
        """Yield what the test is about of a point, and the tracked figure where it is the tracked point."""
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
        """Yield all samples; those of the rounds before the window are no part of the figures."""
        first = len(self._tracked) - WINDOW + 1
        for number, sample in self._samples:
            yield replace(sample, warm_up=True) if number < first else sample

    def _told(self) -> Iterator[str]:
        values = [value for _, value in self._tracked]
        yield from ended_notes(self.values, values, self._written, most_rounds(self.values))
        yield from standard_notes(self.values)

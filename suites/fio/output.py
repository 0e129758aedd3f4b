"""Reads fio's output as it arrives: a JSON document a second, each the sum of all before it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from suites.base import LineSplitter, Parsed
from suites.fio.documents import Document, DocumentReader, Piece, Refused
from suites.fio.errors import errors_in, explain_error, said, signal_in
from suites.fio.metrics import DEVICE_IOS, ISSUED_IOS, SETTLED, Timeline, job_figures, steady_note
from suites.fio.report import Job, Report, read_report
from suites.fio.text import read_text, text_ended
from suites.parameters import parse_duration, parse_size
from suites.vocab import Figure, Sample, labels

MAXIMUM_TEXT_LINES = 4000
MAXIMUM_TEXT_LINE = 1000
MAXIMUM_SAMPLES = 2_000_000
"""More than a day of two operations at one document a second; what comes after is not kept as samples."""

JobKey = tuple[str, int]
"""A job's name and group: what group_reporting tells apart."""


@dataclass(slots=True)
class FioParser:
    """Turns fio's documents into samples, and the last of them into figures. Accepts any bytes at all."""

    _reader: DocumentReader = field(default_factory=DocumentReader)
    _errors: LineSplitter = field(default_factory=LineSplitter)
    _text: list[str] = field(default_factory=list)
    _timelines: dict[JobKey, Timeline] = field(default_factory=dict)
    _samples: list[tuple[JobKey, Sample]] = field(default_factory=list)
    _report: Report | None = None
    _after_ramp: Report | None = None  # the disks' counters do not start again at the end of the ramp
    _began: float | None = None  # when fio did, on the host's clock
    _refused: str = ""  # why the last document could not be read, where it could not

    def feed(self, data: bytes, stream: str = "stdout") -> list[Sample]:
        """Take the next bytes of a stream; return the samples that they complete."""
        if stream == "stderr":
            self._keep(self._errors.feed(data, stream))
            return []
        return self.take(self._reader.feed(data))

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means. Figures are those of the last whole document."""
        self.take(self._reader.finish())
        self._keep(self._errors.rest())
        report = self._report or read_text(self._text)
        if report is None:
            return Parsed(notes=tuple(self._nothing_read(exit_status)), complete=False)
        problems = list(self._problems(report, exit_status))
        figures = tuple(self._figures(report))
        if not (figures or problems):
            problems.append("fio did no I/O that counts.")
        notes = (*problems, *self._remarks())
        samples = tuple(self._labelled(key, sample) for key, sample in self._samples)
        return Parsed(figures, samples, notes, complete=not problems)

    def _keep(self, lines: Iterable[str]) -> None:
        room = MAXIMUM_TEXT_LINES - len(self._text)
        self._text += [line[:MAXIMUM_TEXT_LINE] for line in lines if line.strip()][: max(0, room)]

    def take(self, pieces: Iterable[Piece]) -> list[Sample]:
        """Take pieces of the output that somebody else has cut; return the samples that they complete."""
        found: list[Sample] = []
        for piece in pieces:
            if isinstance(piece, Document):
                found += self._take_document(piece.content)
            elif isinstance(piece, Refused):
                self._refused = piece.because
            else:
                self._keep([piece.text])
        return found

    def _take_document(self, content: Mapping[str, object]) -> list[Sample]:
        report = read_report(content)
        if report is None:
            self._refused = "it has no jobs, as fio's have"
            return []
        was_in_ramp = bool(self._timelines) and not self._measuring
        found: list[tuple[JobKey, Sample]] = []
        for job in report.jobs:
            key = (job.name, job.group)
            timeline = self._timelines.setdefault(key, Timeline())
            found += [(key, sample) for sample in timeline.take(job, report.time, self._began)]
            if self._began is None and report.time is not None and timeline.last is not None:
                self._began = report.time - timeline.now
        if was_in_ramp and self._measuring:
            self._after_ramp = report
        self._report, self._refused = report, ""
        if len(self._samples) < MAXIMUM_SAMPLES:
            self._samples += found
        return [self._labelled(key, sample) for key, sample in found]

    @property
    def _measuring(self) -> bool:
        return any(timeline.measuring for timeline in self._timelines.values())

    def _label(self, key: JobKey, keys: Iterable[JobKey]) -> dict[str, str]:
        """Return the label that tells this job from the others, or nothing where there are no others."""
        name, group = key
        others = [other for other in keys if other != key]
        if not others:
            return {}
        return {"job": f"{name} (group {group})" if any(other == name for other, _group in others) else name}

    def _labelled(self, key: JobKey, sample: Sample) -> Sample:
        label = self._label(key, self._timelines)
        return replace(sample, labels=labels(**dict(sample.labels), **label)) if label else sample

    def _figures(self, report: Report) -> Iterator[Figure]:
        keys = [(job.name, job.group) for job in report.jobs]
        for job, key in zip(report.jobs, keys, strict=True):
            timeline = self._timelines.get(key)
            if timeline is None or timeline.measuring:
                yield from job_figures(job, self._label(key, keys))
        yield from self._device_figures(report)

    def _device_figures(self, report: Report) -> Iterator[Figure]:
        """Yield what was issued and what reached the disks meanwhile; nothing where fio could not count it."""
        start = self._after_ramp
        seconds = _lasted(report) - (_lasted(start) if start else 0.0)
        if report.device_ios is None or (start and start.device_ios is None) or seconds < SETTLED:
            return
        for operation, reached in report.device_ios.items():
            issued = _issued(report, operation) - (_issued(start, operation) if start else 0)
            before = start.device_ios.get(operation, 0) if start and start.device_ios else 0
            if issued > 0 and reached >= before:
                yield Figure(ISSUED_IOS, float(issued), labels(operation=operation))
                yield Figure(DEVICE_IOS, float(reached - before), labels(operation=operation))

    def _problems(self, report: Report, exit_status: int | None) -> Iterator[str]:
        numbers = dict.fromkeys([*(job.error for job in report.jobs if job.error), *errors_in(self._text)])
        yield from (explain_error(number) for number in numbers)
        if self._timelines and not self._measuring and not numbers:
            yield "fio ended within its ramp: nothing was measured. Give a runtime, or a shorter ramp."
        stopped = self._stopped(report, exit_status, failed=bool(numbers))
        if stopped:
            yield stopped
        elif exit_status and not numbers:
            yield f"fio ended with exit status {exit_status}."

    def _stopped(self, report: Report, exit_status: int | None, *, failed: bool) -> str:
        until = f"the figures are those of its first {_lasted(report):.1f} s"
        signal = signal_in(self._text)
        if signal is not None:
            return f"fio was stopped by signal {signal}; {until}."
        if self._reader.within_document:
            return f"The output is cut off within a document; {until}."
        if self._refused:
            return f"The last document could not be read, because {self._refused}; {until}."
        if self._report is None:
            return "" if text_ended(self._text) else "The output is cut off: fio's closing summary is missing."
        if exit_status is None and not failed and any(_unfinished(job) for job in report.jobs):
            return f"The output ends before fio was done: it was killed or cut off; {until}."
        return ""

    def _remarks(self) -> Iterator[str]:
        if self._report is None:
            yield "Read from fio's text, which rounds its figures; --output-format=json+ gives exact ones."
        if len(self._samples) >= MAXIMUM_SAMPLES:
            yield f"Only the first {MAXIMUM_SAMPLES} samples were kept."
        yield from (note for job in (self._report.jobs if self._report else ()) if (note := steady_note(job)))
        yield from said(self._text)

    def _nothing_read(self, exit_status: int | None) -> Iterator[str]:
        messages = [*(explain_error(number) for number in errors_in(self._text)), *said(self._text)]
        yield from messages
        if self._reader.within_document:
            yield "The output is cut off within its first document: there is no figure in it."
        elif self._refused:
            yield f"The output could not be read, because {self._refused}."
        elif not messages:
            yield "There is no result of fio in the output. Give what fio prints with --output-format=json+."
        if exit_status:
            yield f"fio ended with exit status {exit_status}."


def _lasted(report: Report) -> float:
    return max((job.runtime for job in report.jobs), default=0.0)


def _issued(report: Report, operation: str) -> int:
    return sum(job.directions[operation].ios for job in report.jobs if operation in job.directions)


def _unfinished(job: Job) -> bool:
    """Whether fio had more to do when it wrote this: it says so itself, or neither time nor size is reached.

    At first fio gives no estimate, and without a time limit none in its last document. A job that ends by size
    has done exactly that much; one that is bound by time goes round and round, so it has done more or less.
    """
    if job.steady is not None and job.steady.attained:
        return False
    if job.ends_in is not None:
        return job.ends_in > 0
    asked, size = job.options.get("runtime", ""), job.options.get("size", "")
    try:
        seconds = parse_duration(asked)
    except ValueError:
        return False
    try:
        whole = parse_size(size) * int(job.options.get("numjobs", "1"))
    except ValueError:
        whole = None
    done = sum(direction.size for direction in job.directions.values())
    return job.runtime < 0.95 * seconds and (whole is None or abs(done - whole) > 0.001 * whole)

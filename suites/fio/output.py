"""Parse fio's output as it arrives: one cumulative JSON document per second."""

import errno
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from suites.fio.documents import Document, DocumentReader, Piece, Refused
from suites.fio.metrics import (
    DEVICE_IOS,
    DISK_IOS,
    DISK_UTIL,
    IOPS,
    ISSUED_IOS,
    SETTLED,
    Timeline,
    job_figures,
    job_label,
    steady_note,
)
from suites.fio.report import JobKey, JobReport, Report, read_report
from suites.fio.text import read_terse, read_text, terse_jobs, text_ended
from suites.line_parser import LineSplitter
from suites.outputs import ParsedTrial
from suites.parameters import parse_duration, parse_size
from suites.tool_messages import printable_message
from suites.vocab import Figure, Sample, labels

# Meaning of fio's own messages, and remedies.


SIGNAL_LINE = re.compile(r"^fio: terminating on signal (\d{1,3})")

MAXIMUM_NOTES = 12

_MEANINGS = {
    errno.EPERM: "the kernel does not permit it; where io_uring is disabled, use the engine libaio",
    errno.ENOENT: "a file or directory is missing",
    errno.EIO: "the device failed to read or write",
    errno.ENOMEM: "too little memory for the buffers; reduce numjobs, iodepth or bs",
    errno.EACCES: "permission denied; choose a directory that this user may write to",
    errno.EINVAL: "the file system or the device refuses such I/O: usually O_DIRECT, or a bs that is not a "
    "multiple of the device's sector; turn direct off or choose another directory",
    errno.EFBIG: "the file is larger than the file system or a limit allows",
    errno.ENOSPC: "no space left on the device; reduce size or choose another directory",
    errno.EILSEQ: "data read back differs from data written: the device, its driver or its memory corrupts data",
    errno.EROFS: "the file system is read-only; choose another directory",
    errno.EDQUOT: "the user's disk quota is exceeded; reduce size or choose another directory",
    errno.ENOSYS: "this kernel or this fio lacks the engine; use psync or libaio",
}


def explain_error(number: int) -> str:
    """Return one sentence about fio's error `number` (an errno)."""
    name = errno.errorcode.get(number, "")
    meaning = _MEANINGS.get(number, "see the output")
    return f"fio failed with error {number}{f' ({name})' if name else ''}: {meaning}."


def errors_in(lines: Iterable[str]) -> list[int]:
    """Return the errnos in fio's text lines, each once."""
    found = (re.search(r"\berr=\s*(\d{1,4})/", line) for line in lines)
    return list(dict.fromkeys(int(match[1]) for match in found if match and int(match[1])))


def signal_in(lines: Iterable[str]) -> int | None:
    """Return the signal that ended fio according to its output, or None."""
    return next((int(match[1]) for line in lines if (match := SIGNAL_LINE.match(line))), None)


def fio_messages(lines: Iterable[str]) -> list[str]:
    """Return fio's own messages among `lines`, each once, bounded; source locations last."""
    messages_found: list[str] = []
    for line in lines:
        words = printable_message(line)
        if (
            re.match(r"fio: |note: |Bad option <|Did you mean ", words)
            and not SIGNAL_LINE.match(words)
            and words not in messages_found
        ):
            messages_found.append(words)
    messages_found.sort(key=lambda words: bool(re.match(r"fio: (?:file:|pid=)", words)))
    return [f"fio: {words.removeprefix('fio: ')}" for words in messages_found[:MAXIMUM_NOTES]]


def verify_note(job: JobReport) -> str:
    """Return a note on the reads of a job that writes and then verifies what it wrote; empty if it read nothing."""
    read = job.directions.get("read")
    if read is None or not read.ios:
        return ""
    rate = f" at {read.iops:.0f} IOPS" if read.iops else ""
    return f"The verify phase read {read.ios} blocks{rate} after the writes; it is no part of the figures."


def without_verify(job: JobReport) -> JobReport:
    """Return a job that writes without the reads of its verify phase."""
    return replace(job, directions={name: one for name, one in job.directions.items() if name != "read"})


MAXIMUM_TEXT_LINES = 4000
MAXIMUM_TEXT_LINE = 8000  # a line of terse output has about 1,500 characters
MAXIMUM_SAMPLES = 2_000_000
"""More than a day of two operations at one document per second; later samples are dropped."""


@dataclass(slots=True)
class FioParser:
    """Converts fio's documents into samples, and the last one into figures. Accepts any bytes."""

    headline: str = IOPS.name
    several: bool = False  # volumes, whose disks are reported each
    verifies: Callable[[JobReport], bool] = lambda _job: False  # whether the reads of a job are its verify phase
    _reader: DocumentReader = field(default_factory=DocumentReader)
    _errors: LineSplitter = field(default_factory=LineSplitter)
    _text: list[str] = field(default_factory=list)
    _timelines: dict[JobKey, Timeline] = field(default_factory=dict)
    _samples: list[tuple[JobKey, Sample]] = field(default_factory=list)
    _report: Report | None = None
    _after_ramp: Report | None = None  # the disks' counters are not reset at the end of the ramp
    _several_ramps: bool = False  # a later job had a ramp of its own, whose I/Os only the disks counted
    _began: float | None = None  # start of fio on the host's clock
    _refused: str = ""  # why the last document could not be read

    def feed(self, data: bytes, stream: str = "stdout") -> list[Sample]:
        """Parse the next bytes of a stream; return the samples that they complete."""
        if stream == "stderr":
            self._keep(self._errors.feed(data, stream))
            return []
        return self.take(self._reader.feed(data))

    def finish(self, exit_status: int | None = None) -> ParsedTrial:
        """Return the result of the whole output. Figures are those of the last complete document."""
        self.take(self._reader.finish())
        self._keep(self._errors.rest())
        report = self._report or read_text(self._text) or read_terse(self._text)
        if report is None:
            return ParsedTrial(notes=tuple(self._nothing_read(exit_status)), complete=False)
        verifying = {job.key for job in report.jobs if self.verifies(job)}
        verified = [note for job in report.jobs if job.key in verifying and (note := verify_note(job))]
        report = replace(
            report, jobs=tuple(without_verify(job) if job.key in verifying else job for job in report.jobs)
        )
        problems = list(self._problems(report, exit_status))
        figures = tuple(sorted(self._figures(report), key=lambda figure: figure.metric.name != self.headline))
        if not (figures or problems):
            problems.append("fio counted no I/O.")
        notes = (*problems, *verified, *self._remarks())
        samples = tuple(
            self._labelled(key, sample)
            for key, sample in self._samples
            if not (key in verifying and ("operation", "read") in sample.labels)
        )
        return ParsedTrial(figures, samples, notes, complete=not problems)

    def _keep(self, lines: Iterable[str]) -> None:
        room = MAXIMUM_TEXT_LINES - len(self._text)
        self._text += [line[:MAXIMUM_TEXT_LINE] for line in lines if line.strip()][: max(0, room)]

    def take(self, pieces: Iterable[Piece]) -> list[Sample]:
        """Parse pieces of output split elsewhere; return the samples that they complete."""
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
            self._refused = "it lacks the jobs array of fio"
            return []
        was_measuring = {key for key, timeline in self._timelines.items() if timeline.measuring}
        found: list[tuple[JobKey, Sample]] = []
        for job in report.jobs:
            timeline = self._timelines.setdefault(job.key, Timeline())
            found += [(job.key, sample) for sample in timeline.take(job, report.time, self._began)]
            if self._began is None and report.time is not None and timeline.last is not None:
                self._began = report.time - timeline.now
        after_ramp = any(
            "ramp_time" in job.options and self._timelines[job.key].measuring and job.key not in was_measuring
            for job in report.jobs
        )
        if after_ramp:
            self._several_ramps = self._after_ramp is not None or bool(was_measuring)
            self._after_ramp = report
        self._report, self._refused = report, ""
        if len(self._samples) < MAXIMUM_SAMPLES:
            self._samples += found
        return [self._labelled(key, sample) for key, sample in found]

    @property
    def _measuring(self) -> bool:
        return any(timeline.measuring for timeline in self._timelines.values())

    def _labelled(self, key: JobKey, sample: Sample) -> Sample:
        label = job_label(key, self._timelines)
        return replace(sample, labels=labels(**dict(sample.labels), **label)) if label else sample

    def _figures(self, report: Report) -> Iterator[Figure]:
        keys = [job.key for job in report.jobs]
        for job in report.jobs:
            timeline = self._timelines.get(job.key)
            if timeline is None or timeline.measuring:
                yield from job_figures(job, job_label(job.key, keys))
        yield from self._device_figures(report)
        for disk in report.disks if self.several else ():
            yield from (
                Figure(DISK_IOS, float(ios), labels(disk=disk.name, operation=way))
                for way, ios in disk.ios.items()
                if ios
            )
            if disk.util is not None:
                yield Figure(DISK_UTIL, disk.util, labels(disk=disk.name))

    def _device_figures(self, report: Report) -> Iterator[Figure]:
        """Yield the I/Os issued by fio and those that reached the disks; nothing if fio could not count them."""
        start = self._after_ramp
        seconds = _lasted(report) - (_lasted(start) if start else 0.0)
        in_ramp = bool(self._timelines) and not self._measuring
        if report.device_ios is None or (start and start.device_ios is None) or seconds < SETTLED:
            return
        if in_ramp or self._several_ramps:
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
            yield "fio ended within ramp_time and measured nothing. Set runtime, or reduce ramp_time."
        stopped = self._stopped(report, exit_status, failed=bool(numbers))
        if stopped:
            yield stopped
        elif exit_status and not numbers:
            yield f"fio ended with exit status {exit_status}."

    def _stopped(self, report: Report, exit_status: int | None, *, failed: bool) -> str:
        until = f"the figures are of its first {_lasted(report):.1f} s"
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
        text = None
        if self._report is None:
            yield "Parsed from fio's text, which rounds its figures; use --output-format=json+ for exact ones."
            if (text := read_text(self._text)) is None:
                yield "Terse percentiles are read as completion latency; with lat_percentiles=1 it is total latency."
        report = self._report or text
        if report is not None and any(one.apart for job in report.jobs for one in job.latencies):
            yield "Percentiles of clones (numjobs) cannot be pooled: use group_reporting or json+."
        if len(self._samples) >= MAXIMUM_SAMPLES:
            yield f"Only the first {MAXIMUM_SAMPLES} samples were kept."
        yield from (note for job in (self._report.jobs if self._report else ()) if (note := steady_note(job)))
        yield from fio_messages(self._text)

    def _nothing_read(self, exit_status: int | None) -> Iterator[str]:
        messages = [*(explain_error(number) for number in errors_in(self._text)), *fio_messages(self._text)]
        yield from messages
        if self._reader.within_document:
            yield "The output is cut off within its first document: no figure."
        elif terse_jobs(self._text):
            yield "Lines of one job differ in runtime: clones, or repetitions by --status-interval. Use json output."
        elif self._refused:
            yield f"The output could not be read, because {self._refused}."
        elif not messages:
            yield "No fio result in the output. Use the output of --output-format=json+."
        if exit_status:
            yield f"fio ended with exit status {exit_status}."


def _lasted(report: Report) -> float:
    return max((job.runtime for job in report.jobs), default=0.0)


def _issued(report: Report, operation: str) -> int:
    return sum(job.directions[operation].ios for job in report.jobs if operation in job.directions)


def _unfinished(job: JobReport) -> bool:
    """Whether fio was not done when it wrote this: by its own estimate, or because neither time nor size is reached.

    At first fio gives no estimate, and without a time limit none in its last document. A job limited by size has done
    exactly that much; one limited by time loops over its file, so it has done more or less.
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

"""Parse fio's output as it arrives: one cumulative JSON document per second."""

import errno
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from suites.base import ParsedTrial
from suites.fio.documents import Document, DocumentReader, Piece, Refused
from suites.fio.metrics import DEVICE_IOS, IOPS, ISSUED_IOS, SETTLED, Timeline, job_figures, steady_note
from suites.fio.report import OPERATIONS, Direction, JobReport, Latency, Report, merge_clones, read_report
from suites.line_parser import LineSplitter
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


# Parser of fio's text output ("normal"), for old captures and versions without json+.


_HEADER = re.compile(r"^(.{1,100}): \(groupid=(\d{1,6}), jobs=\d{1,6}\): err=\s*(\d{1,4})")
_DIRECTION = re.compile(r"^\s*(read|write|trim)\s*:\s*(.*)$")
_IOPS = re.compile(r"\biops=\s*([\d.]{1,15})([kKMG]?)", re.IGNORECASE)
_BANDWIDTH = re.compile(r"\bbw=\s*([\d.]{1,15})\s*([kKMGT]?)(i?)(B|bit)/s", re.IGNORECASE)
_RUNTIME = re.compile(r"(?:runt=\s*|/)(\d{1,12})msec")
_LATENCY = re.compile(
    r"^\s*(clat|lat) \((nsec|usec|msec)\)\s*: min=.*?max=\s*([\d.]{1,15})([kKMG]?), avg=\s*([\d.]{1,15})"
)
_PERCENTILES = re.compile(r"^\s*clat percentiles \((nsec|usec|msec)\):")
_PERCENTILE = re.compile(r"([\d.]{1,12})th=\[\s*([\d.]{1,15})([kKMG]?)\]")
_CPU = re.compile(r"^\s*cpu\s*: usr=([\d.]{1,8})%, sys=([\d.]{1,8})%")
_ISSUED = re.compile(r"^\s*issued\b.*?total=(?:r=)?(\d{1,18})[,/](?:w=)?(\d{1,18})[,/](?:d=)?(\d{1,18})")
_DISK = re.compile(r"^\s+\S{1,60}: ios=(\d{1,18})/(\d{1,18})")
_VERSION = re.compile(r"^fio-\d")

_NANOSECONDS = {"nsec": 1, "usec": 1_000, "msec": 1_000_000}
_THOUSANDS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


@dataclass(slots=True)
class _Direction:
    """One direction while its lines are parsed."""

    iops: float | None = None
    bandwidth: float | None = None
    runtime: float = 0.0
    ios: int | None = None
    mean: float | None = None
    maximum: float | None = None
    scale: int = 1
    percentiles: dict[float, float] = field(default_factory=dict)

    def done(self) -> Direction:
        """Return the parsed direction. If the exact count of I/Os is given, the rate is computed from it."""
        ios = self.ios if self.ios is not None else round((self.iops or 0.0) * self.runtime)
        exact = ios / self.runtime if self.ios and self.runtime else self.iops
        latency = Latency(ios if self.mean is not None else 0, self.mean, self.maximum, self.percentiles)
        return Direction(ios, round((self.bandwidth or 0.0) * self.runtime), exact, self.bandwidth, latency)


@dataclass(slots=True)
class _Job:
    """One job while its lines are parsed."""

    name: str
    group: int
    error: int
    directions: dict[str, _Direction] = field(default_factory=dict)
    current: _Direction | None = None
    cpu: tuple[float, float] | None = None

    def read(self, line: str) -> None:
        """Parse one line of the job's block."""
        found = _DIRECTION.match(line)
        if found:
            self.current = self.directions.setdefault(found[1], _Direction())
            _read_rates(self.current, found[2])
        elif found := _CPU.match(line):
            self.cpu = (float(found[1]), float(found[2]))
        elif found := _ISSUED.match(line):
            for operation, count in zip(OPERATIONS, found.groups(), strict=True):
                if operation in self.directions:
                    self.directions[operation].ios = int(count)
        elif self.current is not None:
            _read_latency(self.current, line)

    def done(self) -> JobReport:
        """Return the parsed job."""
        nothing = Direction(0, 0)
        return JobReport(
            name=self.name,
            group=self.group,
            error=self.error,
            runtime=max((direction.runtime for direction in self.directions.values()), default=0.0),
            directions={
                operation: self.directions[operation].done() if operation in self.directions else nothing
                for operation in OPERATIONS
            },
            cpu_user=self.cpu[0] if self.cpu else None,
            cpu_system=self.cpu[1] if self.cpu else None,
        )


def read_text(lines: Iterable[str]) -> Report | None:
    """Return the report in fio's text output, or None if it has no job."""
    jobs: list[_Job] = []
    devices: dict[str, int] = {}
    version = None
    for line in lines:
        header = _HEADER.match(line)
        if header:
            jobs.append(_Job(header[1], int(header[2]), int(header[3])))
        elif version is None and _VERSION.match(line):
            version = line.strip()[:40]
        elif disk := _DISK.match(line):
            for operation, count in zip(("read", "write"), disk.groups(), strict=True):
                devices[operation] = devices.get(operation, 0) + int(count)
        elif jobs:
            _guarded(jobs[-1], line)
    if not jobs:
        return None
    return Report(version, None, merge_clones(job.done() for job in jobs), devices or None)


def text_ended(lines: Iterable[str]) -> bool:
    """Whether fio's closing summary is present."""
    return any(line.startswith("Run status group") for line in lines)


def _guarded(job: _Job, line: str) -> None:
    try:
        job.read(line)
    except ValueError:  # a malformed figure such as "1.2.3": missing
        return


def _read_rates(direction: _Direction, text: str) -> None:
    if found := _IOPS.search(text):
        direction.iops = _scaled(found[1], found[2])
    if found := _BANDWIDTH.search(text):
        # fio 2 writes KB/s and means 1024 bytes; since 2.99 it writes KiB/s.
        power = " kmgt".index(found[2].lower() or " ")
        bits = found[4].lower() == "bit"  # --unit_base=1
        direction.bandwidth = float(found[1]) * 1024.0**power / (8 if bits else 1)
    if found := _RUNTIME.search(text):
        direction.runtime = int(found[1]) / 1000


def _read_latency(direction: _Direction, line: str) -> None:
    if found := _LATENCY.match(line):
        if found[1] == "clat" or direction.mean is None:
            scale = _NANOSECONDS[found[2]]
            direction.maximum = _scaled(found[3], found[4]) * scale
            direction.mean = float(found[5]) * scale
    elif found := _PERCENTILES.match(line):
        direction.scale = _NANOSECONDS[found[1]]
    elif line.lstrip().startswith("|"):
        for percent, value, prefix in _PERCENTILE.findall(line):
            direction.percentiles[float(percent)] = _scaled(value, prefix) * direction.scale


def _scaled(number: str, prefix: str) -> float:
    return float(number) * _THOUSANDS[prefix.lower()]


MAXIMUM_TEXT_LINES = 4000
MAXIMUM_TEXT_LINE = 1000
MAXIMUM_SAMPLES = 2_000_000
"""More than a day of two operations at one document per second; later samples are dropped."""

JobKey = tuple[str, int]
"""A job's name and group: the key of group_reporting."""


@dataclass(slots=True)
class FioParser:
    """Converts fio's documents into samples, and the last one into figures. Accepts any bytes."""

    headline: str = IOPS.name
    _reader: DocumentReader = field(default_factory=DocumentReader)
    _errors: LineSplitter = field(default_factory=LineSplitter)
    _text: list[str] = field(default_factory=list)
    _timelines: dict[JobKey, Timeline] = field(default_factory=dict)
    _samples: list[tuple[JobKey, Sample]] = field(default_factory=list)
    _report: Report | None = None
    _after_ramp: Report | None = None  # the disks' counters are not reset at the end of the ramp
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
        report = self._report or read_text(self._text)
        if report is None:
            return ParsedTrial(notes=tuple(self._nothing_read(exit_status)), complete=False)
        problems = list(self._problems(report, exit_status))
        figures = tuple(sorted(self._figures(report), key=lambda figure: figure.metric.name != self.headline))
        if not (figures or problems):
            problems.append("fio counted no I/O.")
        notes = (*problems, *self._remarks())
        samples = tuple(self._labelled(key, sample) for key, sample in self._samples)
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
        """Return the label that distinguishes this job, or nothing if there is one job only."""
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
        """Yield the I/Os issued by fio and those that reached the disks; nothing if fio could not count them."""
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
        if self._report is None:
            yield "Parsed from fio's text, which rounds its figures; use --output-format=json+ for exact ones."
        if len(self._samples) >= MAXIMUM_SAMPLES:
            yield f"Only the first {MAXIMUM_SAMPLES} samples were kept."
        yield from (note for job in (self._report.jobs if self._report else ()) if (note := steady_note(job)))
        yield from fio_messages(self._text)

    def _nothing_read(self, exit_status: int | None) -> Iterator[str]:
        messages = [*(explain_error(number) for number in errors_in(self._text)), *fio_messages(self._text)]
        yield from messages
        if self._reader.within_document:
            yield "The output is cut off within its first document: no figure."
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

"""Parse fio's text for people (“normal”) and its semicolon-separated lines (“terse”)."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from suites.fio.report import MIXED, OPERATIONS, Direction, JobReport, Latency, Report, merge_clones

_HEADER = re.compile(r"^(.{1,100}): \(groupid=(\d{1,6}), jobs=\d{1,6}\): err=\s*(\d{1,4})\b(?:.*?\bpid=(\d{1,9}))?")
_DIRECTION = re.compile(r"^\s*(read|write|trim|mixed)\s*:\s*(.*)$")
_IOPS = re.compile(r"\biops=\s*([\d.]{1,15})([kKMG]?)", re.IGNORECASE)
_BANDWIDTH = re.compile(r"\bbw=\s*([\d.]{1,15})\s*([kKMGT]?)(i?)(?:(B|bit)/s|(?<=i)(?= \())", re.IGNORECASE)
"""The sum of fio --client has no unit after its prefix."""
_RUNTIME = re.compile(r"(?:runt=\s*|/)(\d{1,12})msec")
_LATENCY = re.compile(
    r"^\s*(slat|clat|lat|sync) \((nsec|usec|msec)\)\s*: min=.*?max=\s*([\d.]{1,15})([kKMG]?), avg=\s*([\d.]{1,15})"
)
_PERCENTILES = re.compile(r"^\s*(slat|clat|lat|sync) percentiles \((nsec|usec|msec)\):")
_PERCENTILE = re.compile(r"([\d.]{1,12})th=\[\s*([\d.]{1,15})([kKMG]?)\]")
_CPU = re.compile(r"^\s*cpu\s*: usr=([\d.]{1,8})%, sys=([\d.]{1,8})%")
_ISSUED = re.compile(
    r"^\s*issued\b.*?total=(?:r=)?(\d{1,18})[,/](?:w=)?(\d{1,18})[,/](?:d=)?(\d{1,18})(?:,(\d{1,18}))?"
)
_DISK = re.compile(r"^\s+\S{1,60}: ios=(\d{1,18})/(\d{1,18})")
_VERSION = re.compile(r"^fio-\d")

_NANOSECONDS = {"nsec": 1, "usec": 1_000, "msec": 1_000_000}
_THOUSANDS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


@dataclass(slots=True)
class _Latency:
    """One kind of latency while its lines are parsed, in nanoseconds."""

    mean: float | None = None
    maximum: float | None = None
    percentiles: dict[float, float] = field(default_factory=dict)

    def done(self, ios: int | None) -> Latency:
        """Return the latency of `ios` I/Os."""
        return Latency(ios if self.mean is not None else 0, self.mean, self.maximum, self.percentiles)


@dataclass(slots=True)
class _Latencies:
    """The kinds of latency of one direction, or of the flushes, and the one whose percentiles are being parsed."""

    kinds: dict[str, _Latency] = field(default_factory=dict)
    current: str = ""
    scale: int = 1

    def of(self, kind: str) -> _Latency:
        """Return the latency of `kind`: slat, clat, lat or sync."""
        return self.kinds.setdefault(kind, _Latency())

    def read(self, line: str) -> None:
        """Parse one line: the summary of a kind, its percentiles' unit, or percentiles."""
        if found := _LATENCY.match(line):
            scale, latency = _NANOSECONDS[found[2]], self.of(found[1])
            latency.maximum = _scaled(found[3], found[4]) * scale
            latency.mean = float(found[5]) * scale
        elif found := _PERCENTILES.match(line):
            self.current, self.scale = found[1], _NANOSECONDS[found[2]]
        elif self.current and line.lstrip().startswith("|"):
            for percent, value, prefix in _PERCENTILE.findall(line):
                self.of(self.current).percentiles[float(percent)] = _scaled(value, prefix) * self.scale


@dataclass(slots=True)
class _Direction:
    """One direction while its lines are parsed."""

    iops: float | None = None
    bandwidth: float | None = None
    runtime: float = 0.0
    ios: int | None = None
    latencies: _Latencies = field(default_factory=_Latencies)

    def read_rates(self, text: str) -> None:
        """Parse the direction's own line."""
        if found := _IOPS.search(text):
            self.iops = _scaled(found[1], found[2])
        if found := _BANDWIDTH.search(text):
            # fio 2 writes KB/s and means 1024 bytes; since 2.99 it writes KiB/s.
            power = " kmgt".index(found[2].lower() or " ")
            bits = (found[4] or "B").lower() == "bit"  # --unit_base=1
            self.bandwidth = float(found[1]) * 1024.0**power / (8 if bits else 1)
        if found := _RUNTIME.search(text):
            self.runtime = int(found[1]) / 1000

    def done(self) -> Direction:
        """Return the parsed direction. If the exact count of I/Os is given, the rate is computed from it."""
        ios = self.ios if self.ios is not None else round((self.iops or 0.0) * self.runtime)
        exact = ios / self.runtime if self.ios and self.runtime else self.iops
        size = round((self.bandwidth or 0.0) * self.runtime)
        completion, total, submission = (self.latencies.of(kind).done(ios) for kind in ("clat", "lat", "slat"))
        return Direction(ios, size, exact, self.bandwidth, completion, total, submission)


@dataclass(slots=True)
class _Job:
    """One job while its lines are parsed."""

    name: str
    group: int
    error: int
    directions: dict[str, _Direction] = field(default_factory=dict)
    current: _Direction | None = None
    sync: _Latencies = field(default_factory=_Latencies)
    syncs: int = 0
    cpu: tuple[float | None, float | None] = (None, None)

    def read(self, line: str) -> None:
        """Parse one line of the job's block."""
        if found := _DIRECTION.match(line):
            self.current = self.directions.setdefault(found[1], _Direction())
            self.current.read_rates(found[2])
        elif found := _CPU.match(line):
            self.cpu = (float(found[1]), float(found[2]))
        elif found := _ISSUED.match(line):
            self._count([int(count or 0) for count in found.groups()])
        elif line.startswith("  fsync/fdatasync/sync_file_range:"):
            self.current = None
        elif self.current is not None:
            self.current.latencies.read(line)
        else:
            self.sync.read(line)

    def _count(self, counts: list[int]) -> None:
        """Set the exact counts of I/Os and flushes; those of a unified report are all in the first."""
        self.syncs = counts[3]
        for operation, count in zip(OPERATIONS, counts[:3], strict=True):
            if operation in self.directions:
                self.directions[operation].ios = count
        if MIXED in self.directions and len(self.directions) == 1:
            self.directions[MIXED].ios = sum(counts[:3])

    def done(self) -> JobReport:
        """Return the parsed job."""
        found = {name: direction.done() for name, direction in self.directions.items()}
        return JobReport(
            self.name,
            self.group,
            self.error,
            max((direction.runtime for direction in self.directions.values()), default=0.0),
            directions=_of_all(found),
            sync=self.sync.of("sync").done(self.syncs),
            cpu_user=self.cpu[0],
            cpu_system=self.cpu[1],
        )


def _of_all(found: Mapping[str, Direction]) -> dict[str, Direction]:
    """Return every direction of a job; `mixed` counts again what the others have done, unless it is alone."""
    named = dict.fromkeys(OPERATIONS, Direction(0, 0)) | dict(found)
    if len(found) > 1:
        named.pop(MIXED, None)
    return named


def read_text(lines: Iterable[str]) -> Report | None:
    """Return the report in fio's text output, or None if it has no job.

    With --status-interval a job is printed again and again; the last block counts.
    """
    jobs: dict[tuple[str, str, str], _Job] = {}
    devices: dict[str, int] = {}
    version, job = None, None
    for line in lines:
        if header := _HEADER.match(line):
            job = _Job(header[1], int(header[2]), int(header[3]))
            jobs[header[1], header[2], header[4] or f"number {len(jobs)}"] = job
            devices.clear()
        elif version is None and _VERSION.match(line):
            version = line.strip()[:40]
        elif disk := _DISK.match(line):
            for operation, count in zip(("read", "write"), disk.groups(), strict=True):
                devices[operation] = devices.get(operation, 0) + int(count)
        elif job is not None:
            _guarded(job, line)
    if not jobs:
        return None
    return Report(version, None, merge_clones(job.done() for job in jobs.values()), devices or None)


def text_ended(lines: Iterable[str]) -> bool:
    """Whether fio's closing summary is present, or a whole line of its terse output."""
    return any(line.startswith("Run status group") or len(line.split(";")) >= _whole(line) for line in lines)


def _guarded(job: _Job, line: str) -> None:
    try:
        job.read(line)
    except ValueError:  # a malformed figure such as "1.2.3": missing
        return


def _scaled(number: str, prefix: str) -> float:
    return float(number) * _THOUSANDS[prefix.lower()]


# Terse output: one line of a job, its fields separated by semicolons (fio manual, Terse output).


_TERSE = re.compile(r"^[345];fio-\d[^;]{0,40};")

_TERSE_BANDWIDTH: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "3": (5, ("read", "write")),
    "4": (5, OPERATIONS),
    "5": (11, OPERATIONS),
}
"""By version: the fields of a direction's bandwidth (and IOPS) samples at its end, and the directions."""

_OF_PERCENTILES = 20
_OF_LATENCIES = 4 + 4 + 4 + _OF_PERCENTILES + 4  # with the rates before them
_AFTER_DIRECTIONS = 34  # CPU, depths and the distribution; then the disks
_MICROSECOND = 1000
_PLAIN = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?", re.ASCII)
_SAME_RUNTIME = 1.01
"""Ratio up to which clones of one job differ in runtime; what --status-interval repeats is at least twice as long."""


def _whole(line: str) -> float:
    """Return the fields of a whole line of terse output; infinite for another line."""
    if not _TERSE.match(line):
        return math.inf
    after, operations = _TERSE_BANDWIDTH[line[0]]
    return 5 + len(operations) * (_OF_LATENCIES + after) + _AFTER_DIRECTIONS


def read_terse(lines: Iterable[str]) -> Report | None:
    """Return the report in fio's terse output of version 3, 4 or 5, or None if it has no whole line.

    Its latencies are in microseconds. It does not identify the latency of its percentiles: by default the completion.
    None as well if it is ambiguous(): --status-interval repeats a job's line, which then counts more.
    """
    jobs = terse_jobs(lines)
    if not jobs or ambiguous(jobs):
        return None
    return Report(jobs[0][0], None, merge_clones([job for _, job in jobs]), None)


def ambiguous(jobs: Iterable[tuple[str, JobReport]]) -> bool:
    """Whether lines of one name and group differ in runtime: clones of a job, or what it had done so far."""
    runtimes: dict[tuple[str, int], list[float]] = {}
    for _, job in jobs:
        runtimes.setdefault((job.name, job.group), []).append(job.runtime)
    return any(max(each) > _SAME_RUNTIME * min(each) for each in runtimes.values())


def terse_jobs(lines: Iterable[str]) -> list[tuple[str, JobReport]]:
    """Return fio's version and the job of each whole line of terse output."""
    jobs = []
    for line in lines:
        fields = line.split(";")
        if len(fields) < _whole(line):
            continue
        try:
            jobs.append((fields[1], _terse_job(fields)))
        except ValueError:
            continue
    return jobs


def terse_directions(lines: Iterable[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the job, the operation and the fields of each direction in whole lines of terse output.

    The fields are the KiB, KiB/s, IOPS and milliseconds; minimum, maximum, mean and deviation (us) of the submission
    and completion latencies; 20 percentiles; the same four of the total latency.
    """
    for line in lines:
        fields = line.split(";")
        if len(fields) >= _whole(line):
            of_bandwidth, operations = _TERSE_BANDWIDTH[fields[0]]
            width = _OF_LATENCIES + of_bandwidth
            for number, operation in enumerate(operations):
                yield fields[2][:100], operation, fields[5 + number * width :][:_OF_LATENCIES]


TERSE_LATENCIES = {"slat": 4, "clat": 8, "lat": 32}
"""Fields at which the latencies of a direction begin."""

TERSE_PERCENTILES = slice(12, 12 + _OF_PERCENTILES)


def _number(text: str) -> float:
    """Return a number as fio prints it. Raises ValueError for any other, also for one that is not finite."""
    if not _PLAIN.fullmatch(text):
        raise ValueError(text)
    return float(text)


def _terse_job(fields: list[str]) -> JobReport:
    of_bandwidth, operations = _TERSE_BANDWIDTH[fields[0]]
    width = _OF_LATENCIES + of_bandwidth
    found, runtime = {}, 0.0
    for number, operation in enumerate(operations):
        block = fields[5 + number * width : 5 + (number + 1) * width]
        seconds = _number(block[3]) / 1000
        ios = round(_number(block[2]) * seconds)
        runtime = max(runtime, seconds)
        percentiles = dict(part.split("%=") for part in block[TERSE_PERCENTILES])
        submission, completion, total = (_terse_latency(block[at:], ios) for at in TERSE_LATENCIES.values())
        values = {_number(key): _number(value) * _MICROSECOND for key, value in percentiles.items() if _number(key)}
        if completion.count:
            completion = replace(completion, percentiles=values)
        elif total.count:
            total = replace(total, percentiles=values)
        size, rate = int(_number(block[0])) * 1024, _number(block[1]) * 1024
        found[operation] = Direction(ios, size, _number(block[2]), rate, completion, total, submission)
    after = fields[5 + len(operations) * width :]
    shares = after if after[0].endswith("%") else after[width:]  # unified_rw_reporting=both appends a direction
    user, system = (_number(share.removesuffix("%")) for share in shares[:2])
    done = {operation: direction for operation, direction in found.items() if direction.ios}
    name, group, error = fields[2][:100], int(_number(fields[3])), int(_number(fields[4]))
    return JobReport(name, group, error, runtime, directions=_of_all(done), cpu_user=user, cpu_system=system)


def _terse_latency(block: list[str], ios: int) -> Latency:
    """Return a latency from its minimum, maximum and mean; all are 0 where it is disabled."""
    maximum, mean = _number(block[1]) * _MICROSECOND, _number(block[2]) * _MICROSECOND
    return Latency(ios, mean, maximum) if mean else Latency()

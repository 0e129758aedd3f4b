"""fio's output for people ("normal"), read for old captures and for versions that do not know json+."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from suites.fio.report import OPERATIONS, Direction, Job, Latency, Report, merge_clones

_HEADER = re.compile(r"^(.{1,100}): \(groupid=(\d{1,6}), jobs=\d{1,6}\): err=\s*(\d{1,4})")
_DIRECTION = re.compile(r"^\s*(read|write|trim)\s*:\s*(.*)$")
_IOPS = re.compile(r"\biops=\s*([\d.]{1,15})([kKMG]?)", re.IGNORECASE)
_BANDWIDTH = re.compile(r"\bbw=\s*([\d.]{1,15})\s*([kKMGT]?)(i?)B/s", re.IGNORECASE)
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
    """One direction while its lines are read."""

    iops: float | None = None
    bandwidth: float | None = None
    runtime: float = 0.0
    ios: int | None = None
    mean: float | None = None
    maximum: float | None = None
    scale: int = 1
    percentiles: dict[float, float] = field(default_factory=dict)

    def done(self) -> Direction:
        """Return what was read. Where the exact count of I/Os is given, the rate is computed from it."""
        ios = self.ios if self.ios is not None else round((self.iops or 0.0) * self.runtime)
        exact = ios / self.runtime if self.ios and self.runtime else self.iops
        latency = Latency(ios if self.mean is not None else 0, self.mean, self.maximum, self.percentiles)
        return Direction(ios, round((self.bandwidth or 0.0) * self.runtime), exact, self.bandwidth, latency)


@dataclass(slots=True)
class _Job:
    """One job while its lines are read."""

    name: str
    group: int
    error: int
    directions: dict[str, _Direction] = field(default_factory=dict)
    current: _Direction | None = None
    cpu: tuple[float, float] | None = None

    def read(self, line: str) -> None:
        """Take one line of the job's block."""
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

    def done(self) -> Job:
        """Return what was read."""
        nothing = Direction(0, 0)
        return Job(
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
    """Return what fio's text says, or None where there is no job in it."""
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
    """Whether fio's closing summary is there."""
    return any(line.startswith("Run status group") for line in lines)


def _guarded(job: _Job, line: str) -> None:
    try:
        job.read(line)
    except ValueError:  # a figure such as "1.2.3": it stays missing
        return


def _read_rates(direction: _Direction, text: str) -> None:
    if found := _IOPS.search(text):
        direction.iops = _scaled(found[1], found[2])
    if found := _BANDWIDTH.search(text):
        # fio 2 writes KB/s and means 1024 bytes; since 2.99 it writes KiB/s.
        power = " kmgt".index(found[2].lower() or " ")
        direction.bandwidth = float(found[1]) * 1024.0**power
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

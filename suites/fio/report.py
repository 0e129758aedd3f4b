"""One document of fio's output as typed figures: cumulative results of each job, by direction."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

OPERATIONS = ("read", "write", "trim")

MIXED = "mixed"
"""The one direction of a job with unified_rw_reporting=mixed. With “both” it counts the others again and is ignored."""

MAXIMUM_BINS = 16_384
"""Limit of histogram entries; fio has 29 x 64 (stat.h)."""

LARGEST = 1e18
"""Upper bound of plausible figures: 10^18 ns are 31 years."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Completion latencies, in nanoseconds. `bins` counts I/Os by latency; all values are cumulative.

    `count` is None if fio does not print how many I/Os were counted. `apart`: the percentiles of clones, which cannot
    be pooled, are left out.
    """

    count: int | None = 0
    mean: float | None = None
    maximum: float | None = None
    percentiles: Mapping[float, float] = field(default_factory=dict)
    apart: bool = False
    bins: Mapping[int, int] = field(default_factory=dict)

    def percentile(self, percent: float) -> float | None:
        """Return a percentile as printed by fio, or computed from the bins by fio's own rule, or None."""
        if percent in self.percentiles:
            return self.percentiles[percent]
        return percentile_of(self.bins, percent)


@dataclass(frozen=True, slots=True)
class Direction:
    """Results of one job in one direction. Bandwidth is in B/s.

    `latency` is from submission to completion, `submission` the time before; `total` is both, as the application waits.
    Each is empty where fio did not count it.
    """

    ios: int
    size: int
    iops: float | None = None
    bandwidth: float | None = None
    latency: Latency = Latency()
    total: Latency = Latency()
    submission: Latency = Latency()

    @property
    def waited(self) -> Latency:
        """The latency of whole requests, of completion alone where it is all that was counted (disable_lat)."""
        return self.total if self.total.count else self.latency

    @property
    def histogram(self) -> Mapping[int, int]:
        """The counts of `waited` by latency; of the completion where fio prints only those."""
        return self.total.bins or self.latency.bins


@dataclass(frozen=True, slots=True)
class SteadyState:
    """fio's report of the requested steady state: its deviation and the means of the window.

    `asked` and `found` are its own words: “iops_slope:0.1%” and “0.08%”; `seconds` is the length of the window.
    """

    asked: str
    attained: bool
    found: str = ""
    seconds: float | None = None
    iops: float | None = None


JobKey = tuple[str, int]
"""A job's name and group: the key of group_reporting."""


@dataclass(frozen=True, slots=True)
class JobReport:
    """One job, or the clones of one job together. `runtime` is in seconds and excludes the ramp; `job_seconds` is the
    sum of those of all jobs that group_reporting counts as this one, 0 if not known.

    `ends_in` is fio's own estimate of the seconds left, None if it has none; `options` are as given to fio.
    """

    name: str
    group: int = 0
    error: int = 0
    runtime: float = 0.0
    elapsed: float = 0.0
    ends_in: float | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    directions: Mapping[str, Direction] = field(default_factory=dict)
    sync: Latency = Latency()
    cpu_user: float | None = None
    cpu_system: float | None = None
    steady: SteadyState | None = None
    job_seconds: float = 0.0

    @property
    def key(self) -> JobKey:
        """Its name and group."""
        return self.name, self.group

    @property
    def ios(self) -> int:
        """I/Os in all directions."""
        return sum(direction.ios for direction in self.directions.values())

    @property
    def latencies(self) -> tuple[Latency, ...]:
        """The latencies in each direction, and of flushes."""
        return (self.sync, *(kind for one in self.directions.values() for kind in (one.latency, one.total)))

    @property
    def one_way(self) -> bool:
        """Whether its pattern is known to have one direction, which `unified_rw_reporting` names “mixed”, too."""
        pattern = self.options.get("rw", self.options.get("readwrite", "read")).partition(":")[0]
        return bool(self.options) and pattern.removeprefix("rand") in {"read", "write", "trim"}


@dataclass(frozen=True, slots=True)
class DiskUse:
    """One of the disks that fio lists: its I/Os by direction, and the percent of time in use, if printed."""

    name: str
    ios: Mapping[str, int]
    util: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """One document. `time` is the host's clock in seconds, `device_ios` the I/Os of the disks, by direction."""

    version: str | None
    time: float | None
    jobs: tuple[JobReport, ...]
    device_ios: Mapping[str, int] | None
    disks: tuple[DiskUse, ...] = ()


def percentile_of(bins: Mapping[int, int], percent: float) -> float | None:
    """Return the latency of the first bin by which `percent` of the I/Os are done (fio: calc_clat_percentiles)."""
    wanted = percent / 100 * sum(bins.values())
    so_far = 0
    for latency in sorted(bins):
        so_far += bins[latency]
        if so_far and so_far >= wanted:
            return float(latency)
    return None


def read_report(content: Mapping[str, Any]) -> Report | None:
    """Return the content of a document, with the clones of a job merged; None if it has no jobs."""
    listed = content.get("jobs")
    if not isinstance(listed, list) or not listed:
        return None
    version = content.get("fio version")
    shared = _string_options(content.get("global options"))
    kib = _counts_kib(version)
    jobs = [_job(entry, shared, kib=kib) for entry in listed if isinstance(entry, dict)]
    stamp = _number(content, "timestamp_ms")
    return Report(
        version=version if isinstance(version, str) else None,
        time=None if stamp is None else stamp / 1000,
        jobs=merge_clones(jobs),
        device_ios=_device_ios(content.get("disk_util")),
        disks=_disks(content.get("disk_util")),
    )


def _counts_kib(version: object) -> bool:
    """Whether this version counts io_bytes in KiB, as fio did before 2.21 (which adds io_kbytes)."""
    found = re.match(r"fio-(\d{1,3})\.(\d{1,3})", version) if isinstance(version, str) else None
    return found is not None and (int(found[1]), int(found[2])) < (2, 21)


def job_key(entry: Mapping[str, Any]) -> JobKey:
    """Return the name and group of a job."""
    name = entry.get("jobname")
    return name[:100] if isinstance(name, str) else "", int(_number(entry, "groupid") or 0)


def _job(entry: Mapping[str, Any], shared: Mapping[str, str], *, kib: bool) -> JobReport:
    directions = {}
    runtime = 0.0
    for operation in OPERATIONS if any(name in entry for name in OPERATIONS) else (*OPERATIONS, MIXED):
        source = _mapping(entry.get(operation))
        runtime = max(runtime, (_number(source, "runtime") or 0.0) / 1000)
        directions[operation] = _direction(source, kib=kib)
    eta = _number(entry, "eta")
    name, group = job_key(entry)
    return JobReport(
        name=name,
        group=group,
        error=int(_number(entry, "error") or 0),
        runtime=runtime,
        elapsed=_number(entry, "elapsed") or 0.0,
        ends_in=None if eta is None or eta >= 2**31 - 1 else eta,  # both largest integers mean "not known"
        options={**shared, **_string_options(entry.get("job options"))},
        directions=directions,
        sync=_latency(_mapping(_mapping(entry.get("sync")).get("lat_ns")), 1),
        cpu_user=_number(entry, "usr_cpu"),
        cpu_system=_number(entry, "sys_cpu"),
        steady=_steady(_mapping(entry.get("steadystate"))),
        job_seconds=(_number(entry, "job_runtime") or 0.0) / 1000,
    )


def _steady(source: Mapping[str, Any]) -> SteadyState | None:
    asked, found = source.get("ss"), source.get("criterion")
    if not isinstance(asked, str):
        return None
    return SteadyState(
        asked=re.sub(r"(\.\d*?)0+(?=%?$)", r"\1", asked[:60]).replace(".%", "%"),
        attained=bool(_number(source, "attained")),
        found=found[:60] if isinstance(found, str) else "",
        seconds=_number(source, "duration"),
        iops=_number(_mapping(source.get("data")), "iops_mean"),
    )


def _direction(source: Mapping[str, Any], *, kib: bool) -> Direction:
    ios, size = int(_number(source, "total_ios") or 0), int(_number(source, "io_bytes") or 0)
    in_kib = _number(source, "bw")
    bandwidth = _number(source, "bw_bytes")
    return Direction(
        ios=ios,
        size=size * 1024 if kib and "io_kbytes" not in source else size,
        iops=_number(source, "iops"),
        bandwidth=in_kib * 1024 if bandwidth is None and in_kib is not None else bandwidth,
        latency=_counted(source, ios, "clat"),
        total=_counted(source, ios, "lat"),
        submission=_counted(source, ios, "slat"),
    )


def _counted(source: Mapping[str, Any], ios: int, kind: str) -> Latency:
    """Return one kind of latency, empty if it was not counted. Before 3.0 in microseconds."""
    for suffix, scale in (("_ns", 1), ("", 1000)):
        latency = _latency(_mapping(source.get(kind + suffix)), scale)
        if latency.count:
            return latency
        if latency.maximum and latency.count is None:  # neither N (3.25) nor bins (json+): all I/Os were counted
            return replace(latency, count=ios)
    return Latency()


def _latency(source: Mapping[str, Any], scale: int) -> Latency:
    bins = {latency * scale: count for latency, count in _pairs(source.get("bins"), int)}
    counted = _number(source, "N")
    mean, maximum = _number(source, "mean"), _number(source, "max")
    return Latency(
        count=_total(bins) if counted is None else int(counted),
        mean=None if mean is None else mean * scale,
        maximum=None if maximum is None else maximum * scale,
        percentiles={
            percent: latency * scale for percent, latency in _pairs(source.get("percentile"), float) if percent > 0
        },
        bins=bins,
    )


def _total(bins: Mapping[int, int]) -> int | None:
    return sum(bins.values()) if bins else None


def _pairs(source: object, number: type[int] | type[float]) -> list[tuple[Any, Any]]:
    found = []
    for key, value in list(_mapping(source).items())[:MAXIMUM_BINS]:
        if re.fullmatch(r"\d{1,18}(\.\d{1,12})?", key) and _sane(value) and (number is float or key.isdigit()):
            found.append((number(key), number(value)))
    return found


def _device_ios(listed: object) -> dict[str, int] | None:
    """Return the I/Os of the disks, or None if fio saw none (tmpfs, some multipath).

    A stacked device is listed with its members and has aggr_* keys: only it is counted then.
    """
    disks = [disk for disk in listed if isinstance(disk, dict)] if isinstance(listed, list) else []
    built = [disk for disk in disks if any(key.startswith("aggr_") for key in disk)]
    counted = built or disks
    if not counted:
        return None
    return {operation: sum(_disk_ios(disk)[operation] for disk in counted) for operation in ("read", "write")}


def _disks(listed: object) -> tuple[DiskUse, ...]:
    """Return the use of each disk that fio lists, members of stacked devices included."""
    found = [disk for disk in listed if isinstance(disk, dict)] if isinstance(listed, list) else []
    return tuple(
        DiskUse(str(disk["name"])[:100], _disk_ios(disk), _number(disk, "util")) for disk in found if disk.get("name")
    )


def _disk_ios(disk: Mapping[str, Any]) -> dict[str, int]:
    return {operation: int(_number(disk, f"{operation}_ios") or 0) for operation in ("read", "write")}


def merge_clones(jobs: Iterable[JobReport]) -> tuple[JobReport, ...]:
    """Return `jobs` with those of the same name and group merged, as group_reporting does."""
    clones: dict[JobKey, list[JobReport]] = {}
    for job in jobs:
        clones.setdefault(job.key, []).append(job)
    return tuple(_one_of_clones(same) if len(same) > 1 else same[0] for same in clones.values())


def _one_of_clones(clones: list[JobReport]) -> JobReport:
    first = clones[0]
    ends = [job.ends_in for job in clones if job.ends_in is not None]
    return JobReport(
        name=first.name,
        group=first.group,
        error=next((job.error for job in clones if job.error), 0),
        runtime=max(job.runtime for job in clones),
        elapsed=max(job.elapsed for job in clones),
        ends_in=max(ends) if ends else None,
        options=first.options,
        directions={
            operation: reduce(_added, (job.directions.get(operation, Direction(0, 0)) for job in clones))
            for operation in dict.fromkeys(name for job in clones for name in job.directions)
        },
        sync=reduce(_pooled, (job.sync for job in clones)),
        cpu_user=_mean([job.cpu_user for job in clones]),
        cpu_system=_mean([job.cpu_system for job in clones]),
        steady=next((job.steady for job in clones if job.steady is not None), None),
        job_seconds=sum(job.job_seconds for job in clones),
    )


def _added(one: Direction, other: Direction) -> Direction:
    return Direction(
        ios=one.ios + other.ios,
        size=one.size + other.size,
        iops=_sum(one.iops, other.iops),
        bandwidth=_sum(one.bandwidth, other.bandwidth),
        latency=_pooled(one.latency, other.latency),
        total=_pooled(one.total, other.total),
        submission=_pooled(one.submission, other.submission),
    )


def _pooled(one: Latency, other: Latency) -> Latency:
    if not (one.count and other.count):
        return one if one.count else other
    bins = dict(one.bins)
    for latency, count in other.bins.items():
        bins[latency] = bins.get(latency, 0) + count
    return Latency(
        count=one.count + other.count,
        mean=_weighted(one, other),
        maximum=max(one.maximum or 0.0, other.maximum or 0.0),
        bins=bins if one.bins and other.bins else {},
        apart=not (one.bins and other.bins) and any((one.percentiles, other.percentiles, one.apart, other.apart)),
    )


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _weighted(one: Latency, other: Latency) -> float | None:
    if one.mean is None or other.mean is None:
        return None
    count, other_count = one.count or 0, other.count or 0
    return (one.mean * count + other.mean * other_count) / (count + other_count)


def _mean(values: list[float | None]) -> float | None:
    given = [value for value in values if value is not None]
    return sum(given) / len(given) if len(given) == len(values) else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _string_options(value: object) -> dict[str, str]:
    return {key: word for key, word in _mapping(value).items() if isinstance(word, str)}


def _sane(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _number(source: Mapping[str, Any], key: str) -> float | None:
    value = source.get(key)
    return float(value) if _sane(value) and isinstance(value, int | float) else None

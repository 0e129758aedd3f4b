"""fio's metrics, the figures of a whole trial, and the samples between two documents."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from suites.fio.documents import Document, DocumentReader
from suites.fio.report import MIXED, Direction, JobKey, JobReport, Latency, Report, percentile_of, read_report
from suites.units import Unit
from suites.vocab import Better, Figure, Labels, LatencySlice, Metric, MetricKind, Sample, labels

IOPS = Metric("iops", "I/Os per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
BANDWIDTH = Metric("bandwidth", "Bandwidth", Unit.BYTES_PER_SECOND, Better.HIGHER, MetricKind.RATE)
TOTALS = {one: replace(one, name=f"total_{one.name}", title=f"{one.title}, both ways") for one in (IOPS, BANDWIDTH)}
"""The rate of reads and writes together, of a job that does both."""

COMPLETION, WHOLE, SYNC = "latency", "total_latency", "sync_latency"
"""Families of latency metrics, the beginnings of their names: from submission, of the whole request, and of a flush."""


def _latency_metric(name: str, title: str, percentile: float | None = None) -> Metric:
    return Metric(name, f"Completion latency, {title}", Unit.NANOSECOND, Better.LOWER, MetricKind.TIME, percentile)


LATENCY_MEAN = _latency_metric("latency_mean", "mean")
LATENCY_P50 = _latency_metric("latency_p50", "median", 50.0)
LATENCY_P95 = _latency_metric("latency_p95", "p95", 95.0)
LATENCY_P99 = _latency_metric("latency_p99", "p99", 99.0)
LATENCY_P99_9 = _latency_metric("latency_p99_9", "p99.9", 99.9)
LATENCY_MAX = _latency_metric("latency_max", "maximum", 100.0)


def _total(metric: Metric) -> Metric:
    title = metric.title.replace("Completion latency", "Latency")
    return replace(metric, name=metric.name.replace(COMPLETION, WHOLE), title=f"{title}, submission to completion")


TOTAL_LATENCIES = {
    one: _total(one) for one in (LATENCY_MEAN, LATENCY_P50, LATENCY_P95, LATENCY_P99, LATENCY_P99_9, LATENCY_MAX)
}
"""The latency that the application waits, submission included, by the metric of the completion alone."""

SYNC_LATENCIES = {
    one: replace(
        one, name=one.name.replace(COMPLETION, SYNC), title=one.title.replace("Completion latency", "Sync latency")
    )
    for one in TOTAL_LATENCIES
}
"""The latency of fsync or fdatasync, by the metric of the completion."""

SUBMISSION_MEAN = Metric(
    "submission_latency_mean", "Submission latency, mean", Unit.NANOSECOND, Better.LOWER, MetricKind.TIME
)
SYNC_RATE = Metric("syncs_per_second", "Flushes per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
CPU_USER = Metric("cpu_user", "CPU time of a job in user mode", Unit.PERCENT, Better.LOWER, MetricKind.SHARE, most=100)
CPU_SYSTEM = replace(CPU_USER, name="cpu_system", title="CPU time of a job in the kernel")
ISSUED_IOS = Metric("issued_ios", "I/Os that fio issued", Unit.ONE, Better.HIGHER, MetricKind.COUNT)
DISK_IOS = Metric("disk_ios", "I/Os of each disk", Unit.ONE, Better.HIGHER, MetricKind.COUNT)
DISK_UTIL = Metric("disk_util", "time in use of each disk", Unit.PERCENT, Better.HIGHER, MetricKind.SHARE, most=100)
"""fio's own counts of the disks below several directories."""

DEVICE_IOS = Metric("device_ios", "I/Os that reached the device", Unit.ONE, Better.HIGHER, MetricKind.COUNT)

STEADY_IOPS = Metric(
    "steady_iops", "I/Os per second in the steady window", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE
)

PERCENTILES = (LATENCY_P50, LATENCY_P95, LATENCY_P99, LATENCY_P99_9)
METRICS = (
    IOPS, BANDWIDTH, *TOTALS.values(), *TOTAL_LATENCIES.values(), LATENCY_MEAN, *PERCENTILES, LATENCY_MAX,
    *SYNC_LATENCIES.values(),
    CPU_USER, CPU_SYSTEM, ISSUED_IOS, DEVICE_IOS, DISK_IOS, DISK_UTIL, STEADY_IOPS, SUBMISSION_MEAN, SYNC_RATE,
)  # fmt: skip

LARGE_BLOCK = 128 * 1024
"""Bytes from which sequential I/O is quoted as bandwidth: the largest I/O that most devices take whole."""


def ordered(*, mixed: bool, large: bool, synced: bool = False) -> tuple[Metric, ...]:
    """Return the metrics of a job, the headline first: reads and writes together; of large blocks, the bandwidth.

    A job that flushes after each write is `synced`: the application waits for the flush, of which the p99 leads.
    """
    first = BANDWIDTH if large else IOPS
    first = SYNC_LATENCIES[LATENCY_P99] if synced else TOTALS[first] if mixed else first
    return (first, *(one for one in METRICS if one is not first))


_NOTHING = Direction(0, 0)

SHORTEST_INTERVAL = 0.25
"""Seconds. fio's last document follows the one before within 1 to 250 ms: too short for a rate."""

LIVE_PERCENTILES = ((LATENCY_P50, 1), (LATENCY_P99, 100), (LATENCY_P99_9, 1000))
"""Metrics of an interval, and the I/Os they need: with fewer, the percentile equals the maximum."""

SETTLED = 2.0
"""Seconds. fio reads the disks' counters every 250 ms, so shorter runs miss much of the I/O."""


def job_figures(job: JobReport, label: Mapping[str, str]) -> Iterator[Figure]:
    """Yield all figures of `job`, by operation."""
    done = {name: (one.iops, one.bandwidth) for name, one in job.directions.items() if one.ios}
    yield from (Figure(metric, total, labels(**label)) for metric, total in _both_ways(job, done))
    for operation, direction in job.directions.items():
        if direction.ios:
            yield from _direction_figures(direction, labels(operation=operation, **label))
    if job.sync.count:
        for figure in _latency_figures(job.sync, labels(operation="sync", **label)):
            yield replace(figure, metric=SYNC_LATENCIES[figure.metric])
        if job.runtime:
            yield Figure(SYNC_RATE, job.sync.count / job.runtime, labels(operation="sync", **label))
    for metric, value in ((CPU_USER, job.cpu_user), (CPU_SYSTEM, job.cpu_system)):
        if value is not None and job.ios:
            yield Figure(metric, value, labels(**label))
    if job.steady is not None and job.steady.attained and job.steady.iops:
        yield Figure(STEADY_IOPS, job.steady.iops, labels(**label))


def _both_ways(job: JobReport, rates: Mapping[str, tuple[float | None, ...]]) -> Iterator[tuple[Metric, float]]:
    """Yield the total of each rate of a job that both reads and writes, reported apart or as one."""
    both = [rates[operation] for operation in ("read", "write") if operation in rates]
    both = both if len(both) > 1 else [rates[operation] for operation in (MIXED,) if operation in rates]
    if both and not job.one_way:
        for metric, values in zip(TOTALS.values(), zip(*both, strict=True), strict=True):
            given = [value for value in values if value is not None]
            if len(given) == len(both):
                yield metric, sum(given)


def _direction_figures(direction: Direction, labelled: Labels) -> Iterator[Figure]:
    for metric, value in ((IOPS, direction.iops), (BANDWIDTH, direction.bandwidth)):
        if value is not None:
            yield Figure(metric, value, labelled)
    for figure in _latency_figures(direction.total, labelled):
        yield replace(figure, metric=TOTAL_LATENCIES[figure.metric])
    yield from _latency_figures(direction.latency, labelled)
    if direction.submission.count and direction.submission.mean:
        yield Figure(SUBMISSION_MEAN, direction.submission.mean, labelled)


def _latency_figures(latency: Latency, labelled: Labels) -> Iterator[Figure]:
    if not latency.count:
        return
    if latency.mean is not None:
        yield Figure(LATENCY_MEAN, latency.mean, labelled)
    for metric in PERCENTILES:
        value = latency.percentile(metric.percentile or 0.0)
        if value is not None:
            yield Figure(metric, value, labelled)
    if latency.maximum is not None:
        yield Figure(LATENCY_MAX, latency.maximum, labelled)


@dataclass(slots=True)
class Timeline:
    """Follows one job from document to document: all its figures are cumulative, so samples are differences.

    During the ramp fio counts I/Os but no latencies, and at its end it resets the counters.
    """

    measuring: bool = False
    last: JobReport | None = None
    _clock: float | None = None
    _offset: float | None = None

    @property
    def now(self) -> float:
        """Time up to which the job is known, in seconds since fio began."""
        return (self._offset or 0.0) + (self.last.runtime if self.last else 0.0)

    def take(self, job: JobReport, clock: float | None, began: float | None = None) -> list[Sample]:
        """Return the samples of the interval that `job`, read at `clock` on the host's clock, completes.

        `began` is when fio began, on that clock, if an earlier job has determined it.
        """
        if self.last is None and not job.runtime:
            return []  # the job waits behind a stonewall
        if self._starts_again(job):
            self._restart(job, clock)
        if self._offset is None:
            # `elapsed` is in whole seconds, rounded up: a lower bound of the time before the first I/O.
            self._offset = max(0.0, job.elapsed - 1.0 - job.runtime)
            if clock is not None and began is not None:
                self._offset = max(self._offset, clock - began - job.runtime)
        seconds = job.runtime - (self.last.runtime if self.last else 0.0)
        if seconds < SHORTEST_INTERVAL:
            return []
        found = list(self._interval(job, seconds))
        self.last, self._clock = job, clock
        return found

    def _starts_again(self, job: JobReport) -> bool:
        before = self.measuring
        fell = self.last is not None and (job.runtime < self.last.runtime or job.ios < self.last.ios)
        self.measuring = before or fell or not in_ramp(job)
        return self.last is not None and (fell or self.measuring != before)

    def _restart(self, job: JobReport, clock: float | None) -> None:
        before = self._offset or 0.0
        last_time = before + (self.last.runtime if self.last else 0.0)
        passed = job.runtime
        if clock is not None and self._clock is not None and job.runtime <= clock - self._clock < 3600:
            passed = clock - self._clock
        self._offset = last_time + passed - job.runtime
        self.last = None

    def _interval(self, job: JobReport, seconds: float) -> Iterator[Sample]:
        time = (self._offset or 0.0) + job.runtime
        rates: dict[str, tuple[float | None, ...]] = {}
        for operation, direction in job.directions.items():
            before = self.last.directions.get(operation, _NOTHING) if self.last else _NOTHING
            if not direction.ios:
                continue
            labelled = labels(operation=operation)
            found = tuple(_rates(before, direction, seconds))
            rates[operation] = tuple(value for _, value in found)
            for metric, value in found:
                yield Sample(time, metric, value, labelled, warm_up=not self.measuring)
            for metric, value in _interval_latencies(before, direction):
                yield Sample(time, metric, value, labelled, warm_up=not self.measuring)
        for metric, value in _latencies(self.last.sync if self.last else Latency(), job.sync):
            yield Sample(time, SYNC_LATENCIES[metric], value, labels(operation="sync"), warm_up=not self.measuring)
        for metric, value in _both_ways(job, rates):
            yield Sample(time, metric, value, (), warm_up=not self.measuring)


def steady_note(job: JobReport) -> str:
    """Return whether the requested steady state was reached; nothing if none was requested."""
    steady = job.steady
    if steady is None:
        return ""
    window = f" over {steady.seconds:g} s" if steady.seconds else ""
    asked = f"“{steady.asked}”{window}"
    if steady.attained:
        return f"Steady state {asked} was reached after {job.runtime:.0f} s, at {steady.found or 'no deviation'}."
    return f"Steady state {asked} was not reached in {job.runtime:.0f} s: the figures are not steady-state figures."


def in_ramp(job: JobReport) -> bool:
    """Whether `job` is in its ramp: I/Os are done whose latencies fio does not count yet."""
    measured = sum(direction.waited.count or 0 for direction in job.directions.values())
    return "ramp_time" in job.options and job.ios > 2 * measured


def _rates(before: Direction, after: Direction, seconds: float) -> Iterator[tuple[Metric, float]]:
    yield IOPS, max(0, after.ios - before.ios) / seconds
    yield BANDWIDTH, max(0, after.size - before.size) / seconds


def _interval_latencies(before: Direction, after: Direction) -> Iterator[tuple[Metric, float]]:
    """Yield the latencies of an interval: those of whole requests, as far as they were counted."""
    total = dict(_latencies(before.total, after.total))
    yield from ((TOTAL_LATENCIES[metric], value) for metric, value in total.items())
    yield from (found for found in _latencies(before.latency, after.latency) if found[0] not in total)


def _latencies(before: Latency, after: Latency) -> Iterator[tuple[Metric, float]]:
    before_count, after_count = before.count or 0, after.count or 0
    count = after_count - before_count
    if count <= 0:
        return
    if after.mean is not None:
        total = after.mean * after_count - (before.mean or 0.0) * before_count
        if total >= 0:
            yield LATENCY_MEAN, total / count
    bins = _new_counts(before.bins, after.bins)
    for metric, needed in LIVE_PERCENTILES:
        value = percentile_of(bins, metric.percentile or 0.0)
        if value is not None and count >= needed:
            yield metric, value
    if bins:
        yield LATENCY_MAX, float(max(bins))


def _new_counts(before: Mapping[int, int], after: Mapping[int, int]) -> dict[int, int]:
    """Return the counts of a cumulative histogram since `before`."""
    return {
        latency: count - before.get(latency, 0) for latency, count in after.items() if count > before.get(latency, 0)
    }


# Latency histogram of a fio run: that of its last JSON document.


_TRIED = 3
"""Documents tried from the end: the last may be cut off, and one before it may contain stderr text."""


def latency_bins(output: bytes) -> dict[tuple[str, Labels], Mapping[int, int]]:
    """Return the latency histograms in nanoseconds by metric family and labels; empty if fio printed none.

    `output` is all that fio printed. Its documents are cumulative, so the last one is complete; only json+ has the
    histogram.
    """
    for start in _last_documents(output):
        report = _read(output[start:])
        if report is not None:
            return dict(_bins(report))
    return {}


def _last_documents(output: bytes) -> Iterator[int]:
    """Yield the offsets of the last documents, the last first: lines that are a brace."""
    end = len(output)
    for _ in range(_TRIED):
        found = output.rfind(b"\n{\n", 0, end)
        if found < 0:
            if output.startswith(b"{\n"):
                yield 0
            return
        yield found + 1
        end = found + 1


def _read(document: bytes) -> Report | None:
    pieces = DocumentReader().feed(document + b"\n")
    return next((read_report(piece.content) for piece in pieces if isinstance(piece, Document)), None)


def _bins(report: Report) -> Iterator[tuple[tuple[str, Labels], Mapping[int, int]]]:
    for job in report.jobs:
        label = job_label(job.key, [one.key for one in report.jobs])
        counted = [(COMPLETION, name, one.latency) for name, one in job.directions.items()]
        counted += [(WHOLE, name, one.total) for name, one in job.directions.items()]
        for family, operation, latency in [*counted, (SYNC, "sync", job.sync)]:
            if latency.bins:
                yield (family, labels(operation=operation, **label)), latency.bins


def job_label(key: JobKey, keys: Collection[JobKey]) -> dict[str, str]:
    """Return the label that distinguishes a job's figures from those of others; nothing if there is one job only."""
    if len(keys) == 1:
        return {}
    name, group = key
    return {"job": f"{name} (group {group})" if sum(other == name for other, _ in keys) > 1 else name}


# Latency histogram of each interval of a fio run, from the raw output.


PIECE = 64 * 1024


@dataclass(slots=True)
class _Follower:
    """One job from document to document: its histograms are cumulative, so a slice is a difference."""

    last: JobReport | None = None
    until: float = 0.0

    def take(self, job: JobReport, now: float, label: Mapping[str, str]) -> Iterator[LatencySlice]:
        if self.last is not None and (job.runtime < self.last.runtime or job.ios < self.last.ios):
            self.last, self.until = None, now - job.runtime  # the end of its ramp, or the next fio
        seconds = job.runtime - (self.last.runtime if self.last else 0.0)
        if seconds <= 0:
            return
        for operation, direction in job.directions.items():
            before = self.last.directions.get(operation, _NOTHING) if self.last else _NOTHING
            bins = _new_counts(before.histogram, direction.histogram)
            if bins:
                yield LatencySlice(max(self.until, now - seconds), now, labels(operation=operation, **label), bins)
        self.last, self.until = job, now


@dataclass(slots=True)
class _Reader:
    followers: dict[JobKey, _Follower] = field(default_factory=dict)
    began: float | None = None
    passed: float = 0.0

    def take(self, report: Report) -> Iterator[LatencySlice]:
        longest = max(job.runtime for job in report.jobs)
        if report.time is not None and self.began is None:
            self.began = report.time - longest
        now = self.passed + 1.0 if report.time is None else report.time - (self.began or 0.0)
        keys = [job.key for job in report.jobs]
        for job in report.jobs:
            if job.runtime:
                label = job_label(job.key, keys)
                yield from self.followers.setdefault(job.key, _Follower()).take(job, now, label)
        self.passed = now


def latency_slices(output: bytes) -> list[LatencySlice]:
    """Return the latencies of each interval between two documents of fio's json+ `output`; empty if it has none."""
    reader, documents = _Reader(), DocumentReader()
    found: list[LatencySlice] = []
    for start in range(0, len(output), PIECE):
        for piece in documents.feed(output[start : start + PIECE]):
            report = read_report(piece.content) if isinstance(piece, Document) else None
            if report is not None:
                found += reader.take(report)
    return found

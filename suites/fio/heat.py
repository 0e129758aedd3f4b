"""Every I/O of a fio run by its moment and its latency: the histogram of each second, out of the raw output."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from suites.fio.documents import Document, DocumentReader
from suites.fio.report import Job, Report, read_report
from suites.vocab import Labels, labels

PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Slice:
    """How many I/Os took how many nanoseconds from `start` to `end`, in seconds since fio began."""

    start: float
    end: float
    labels: Labels
    bins: Mapping[int, int]


@dataclass(slots=True)
class _Follower:
    """One job from document to document: its histograms are sums, so a slice is a difference."""

    last: Job | None = None
    until: float = 0.0

    def take(self, job: Job, now: float, label: Mapping[str, str]) -> Iterator[Slice]:
        if self.last is not None and (job.runtime < self.last.runtime or job.ios < self.last.ios):
            self.last, self.until = None, now - job.runtime  # the end of its ramp, or the next fio
        seconds = job.runtime - (self.last.runtime if self.last else 0.0)
        if seconds <= 0:
            return
        for operation, direction in job.directions.items():
            before = self.last.directions[operation].latency.bins if self.last else {}
            bins = {
                latency: count - before.get(latency, 0)
                for latency, count in direction.latency.bins.items()
                if count > before.get(latency, 0)
            }
            if bins:
                yield Slice(max(self.until, now - seconds), now, labels(operation=operation, **label), bins)
        self.last, self.until = job, now


@dataclass(slots=True)
class _Reader:
    followers: dict[tuple[str, int], _Follower] = field(default_factory=dict)
    began: float | None = None
    passed: float = 0.0

    def take(self, report: Report) -> Iterator[Slice]:
        longest = max(job.runtime for job in report.jobs)
        if report.time is not None and self.began is None:
            self.began = report.time - longest
        now = self.passed + 1.0 if report.time is None else report.time - (self.began or 0.0)
        for job in report.jobs:
            if job.runtime:
                label = {"job": job.name} if len(report.jobs) > 1 else {}
                yield from self.followers.setdefault((job.name, job.group), _Follower()).take(job, now, label)
        self.passed = now


def latency_slices(output: bytes) -> list[Slice]:
    """Return the latencies of each interval between two documents of fio's json+ `output`; empty where it has none."""
    reader, documents = _Reader(), DocumentReader()
    found: list[Slice] = []
    for start in range(0, len(output), PIECE):
        for piece in documents.feed(output[start : start + PIECE]):
            report = read_report(piece.content) if isinstance(piece, Document) else None
            if report is not None:
                found += reader.take(report)
    return found

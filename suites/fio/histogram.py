"""Every I/O of a fio run by its latency: the histogram that its last JSON document holds."""

from collections.abc import Iterator, Mapping

from suites.fio.documents import Document, DocumentReader
from suites.fio.report import Job, Report, read_report
from suites.vocab import Labels, labels

_TRIED = 3
"""Documents that are tried from the end: the last may be cut off, and one before it too where stderr fell into it."""


def latency_bins(output: bytes) -> dict[Labels, Mapping[int, int]]:
    """Return how many I/Os took how many nanoseconds, by the labels of their figures; empty where fio says nothing.

    `output` is all that fio printed. Its documents are sums of all before them, so the last says everything; only
    json+ has the histogram.
    """
    for start in _last_documents(output):
        report = _read(output[start:])
        if report is not None:
            return dict(_bins(report))
    return {}


def _last_documents(output: bytes) -> Iterator[int]:
    """Yield where the last documents begin, the last first: each with a line that is a brace."""
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


def _bins(report: Report) -> Iterator[tuple[Labels, Mapping[int, int]]]:
    for job in report.jobs:
        label = _label(job, report.jobs)
        for operation, direction in job.directions.items():
            if direction.latency.bins:
                yield labels(operation=operation, **label), direction.latency.bins
        if job.sync.bins:
            yield labels(operation="sync", **label), job.sync.bins


def _label(job: Job, jobs: tuple[Job, ...]) -> dict[str, str]:
    """Return the label that tells this job's figures from the others', or nothing where there are no others."""
    if len(jobs) == 1:
        return {}
    twice = sum(other.name == job.name for other in jobs) > 1
    return {"job": f"{job.name} (group {job.group})" if twice else job.name}

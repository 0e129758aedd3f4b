"""Telemetry from the text of vmstat, iostat -x and sar, for outputs of tools that ran elsewhere."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from remote.telemetry.telemetry_metrics import (
    CPU_IDLE,
    CPU_IOWAIT,
    CPU_STEAL,
    CPU_SYSTEM,
    CPU_USER,
    DISK_BUSY,
    DISK_QUEUE,
    DISK_READ_IOS,
    DISK_READ_RATE,
    DISK_WRITE_IOS,
    DISK_WRITE_RATE,
    SWAP,
    TASKS_BLOCKED,
    TASKS_RUNNING,
)
from suites.vocab import ALL_DISKS, Metric, Sample, labels

KIB = 1024.0

CPU_COLUMNS: Mapping[str, tuple[Metric, float]] = {
    "us": (CPU_USER, 1.0), "sy": (CPU_SYSTEM, 1.0), "id": (CPU_IDLE, 1.0), "wa": (CPU_IOWAIT, 1.0),
    "st": (CPU_STEAL, 1.0), "r": (TASKS_RUNNING, 1.0), "b": (TASKS_BLOCKED, 1.0),
    "si": (SWAP["pswpin"], KIB), "so": (SWAP["pswpout"], KIB),
    "%user": (CPU_USER, 1.0), "%usr": (CPU_USER, 1.0), "%system": (CPU_SYSTEM, 1.0), "%sys": (CPU_SYSTEM, 1.0),
    "%idle": (CPU_IDLE, 1.0), "%iowait": (CPU_IOWAIT, 1.0), "%steal": (CPU_STEAL, 1.0),
    "bi": (DISK_READ_RATE, KIB), "bo": (DISK_WRITE_RATE, KIB),
}  # fmt: skip
"""Columns about the host, of vmstat(8), iostat(1) and sar(1), with their factor."""

DISK_COLUMNS: Mapping[str, tuple[Metric, float]] = {
    "r/s": (DISK_READ_IOS, 1.0), "w/s": (DISK_WRITE_IOS, 1.0), "rkB/s": (DISK_READ_RATE, KIB),
    "wkB/s": (DISK_WRITE_RATE, KIB), "rMB/s": (DISK_READ_RATE, KIB**2), "wMB/s": (DISK_WRITE_RATE, KIB**2),
    "%util": (DISK_BUSY, 1.0), "aqu-sz": (DISK_QUEUE, 1.0), "avgqu-sz": (DISK_QUEUE, 1.0),
}  # fmt: skip
"""Columns about a disk. sysstat's kB and MB are powers of 1024."""

_VMSTAT = re.compile(r"\s*r\s+b\s+swpd\b")
_IOSTAT_CPU = re.compile(r"avg-cpu:\s+%user\b")
_IOSTAT_DISK = re.compile(r"Device:?\s+\S*/s\b")
_CLOCK = r"\s*\d\d:\d\d:\d\d(?: [AP]M)?\s+"
_SAR = re.compile(rf"{_CLOCK}CPU\s+%us")
_SAR_ALL = re.compile(rf"{_CLOCK}all\s")
_NUMBER = re.compile(r"\d{1,15}(?:[.,]\d{1,6})?", re.ASCII)

MOST_SAMPLES = 2_000_000


def statistics_samples(text: str, interval: float = 1.0) -> list[Sample]:
    """Return the samples in the text of vmstat, ``iostat -x`` or ``sar -u``, one report every `interval` seconds.

    Times begin at 0 before the first report that counts: the first of vmstat and iostat is since boot, and left out.
    Text of another kind has no samples.
    """
    found: list[Sample] = []
    for row in _rows(text):
        table = DISK_COLUMNS if row.disk else CPU_COLUMNS
        for column, value in row.values.items():
            if column in table and len(found) < MOST_SAMPLES:
                metric, factor = table[column]
                disk = row.disk or (ALL_DISKS if column in {"bi", "bo"} else "")
                at = labels(device=disk) if disk else ()
                found.append(Sample(row.report * interval, metric, value * factor, at))
    return found


@dataclass(frozen=True, slots=True)
class _Row:
    """The numbers of a row by column; `report` counts from 1, `disk` is empty for those about the host."""

    report: int
    disk: str
    values: Mapping[str, float]


def _rows(text: str) -> Iterator[_Row]:
    columns: list[str] = []
    of_disks = False
    reports = Counter[bool]()
    first = 1  # reports that are since boot
    for line in text.splitlines():
        words = line.split()
        if _VMSTAT.match(line):
            columns, of_disks = words, False
        elif _IOSTAT_CPU.match(line) or _IOSTAT_DISK.match(line):
            of_disks = words[0].startswith("Device")
            columns = words[1:]
            reports[of_disks] += 1
        elif _SAR.match(line):
            columns, of_disks, first = words[words.index("CPU") + 1 :], False, 0
        elif columns:
            words = words[words.index("all") + 1 :] if _SAR_ALL.match(line) else words
            disk = words.pop(0) if of_disks and words else ""
            values = _numbers(columns, words)
            if values is None:
                continue
            reports[False] += "swpd" in columns or first == 0  # each row of these is a report
            if reports[of_disks] > first:
                yield _Row(reports[of_disks] - first, disk, values)


def _numbers(columns: Sequence[str], words: Sequence[str]) -> dict[str, float] | None:
    """Return the numbers of a row by column; None if it is no row of these columns.

    vmstat -t has a time after them. Some languages have a decimal comma.
    """
    if len(words) < len(columns) or not all(map(_NUMBER.fullmatch, words[: len(columns)])):
        return None
    return {column: float(word.replace(",", ".")) for column, word in zip(columns, words, strict=False)}

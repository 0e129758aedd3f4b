"""Identities of fio's output: its rates, latencies and percentiles, in text and JSON."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from suites.fio.report import MIXED, OPERATIONS, JobKey, job_key
from suites.fio.text import TERSE_LATENCIES, TERSE_PERCENTILES, terse_directions
from suites.identities import (
    BINARY,
    DECIMAL,
    Ascending,
    Identities,
    Member,
    PrintedLine,
    Product,
    broken,
    in_text,
    json_numbers,
    negative_members,
    printed,
)
from suites.strict_json import object_in, objects_in, read_json
from suites.units import Unit

_N = r"\d{1,18}(?:\.\d{1,9})?"
_BYTES = {f"{prefix}iB": BINARY[prefix] for prefix in "KMGTP"} | {f"{prefix}B": DECIMAL[prefix] for prefix in "kMGTP"}
_OLD_BYTES = {f"{prefix}B": BINARY[prefix] for prefix in "KMGT"}
"""Factors of the units of fio 2: its KB are 1024 bytes."""

_BANDWIDTH = Product(
    text="size / runtime",
    result="bandwidth",
    factors=("size",),
    divisors=("runtime",),
    unit=Unit.BYTES_PER_SECOND,
    scale=1000,
)
_OTHER_POWERS = Product(
    text="bandwidth in the other powers", result="other", factors=("bandwidth",), unit=Unit.BYTES_PER_SECOND
)
_ORDER = Ascending(("min", "avg", "max"), Unit.NANOSECOND)
_TERSE_ORDER = Ascending(("min", "avg", "max"), Unit.MICROSECOND)
_OPERATION = "|".join((*OPERATIONS, MIXED))


def _iops(operation: str) -> Product:
    """Return that the IOPS of a direction are its I/Os, which fio counts at the end of the job, by its runtime."""
    return Product(
        text=f"{operation}: I/Os / runtime",
        result=f"{operation}_iops",
        factors=(f"{operation}_ios",),
        divisors=(f"{operation}_runtime",),
        unit=Unit.PER_SECOND,
        scale=1000,
        slack=0.01,
    )


def _rates(operation: str) -> tuple[PrintedLine, PrintedLine]:
    """Return the line of a direction, of fio 3 and 2; `operation` begins the names of what the job counts later."""
    iops = rf"(?P<{operation}_iops>{_N})(?P<{operation}_iops_unit>[kKMG]?)"
    cut = frozenset({f"{operation}_iops", f"{operation}_runtime"})
    runtime = rf"(?P<{operation}_runtime>\d{{1,12}})msec"
    return (
        PrintedLine(
            re.compile(rf"^\s*{operation}: IOPS={iops}, BW=[^(]*(?:\([^)]*\))?\([^/]*/{runtime}\)"),
            units=DECIMAL,
            cut=cut,
        ),
        PrintedLine(re.compile(rf"^\s*{operation}\s*: io=.*, iops={iops} *, runt= *{runtime}"), units=DECIMAL, cut=cut),
    )


_JOB = Identities(
    (
        *(line for operation in OPERATIONS for line in _rates(operation)),
        PrintedLine(
            re.compile(
                r"^\s*issued\b.*?total=(?:r=)?(?P<read_ios>\d{1,18})[,/](?:w=)?(?P<write_ios>\d{1,18})[,/]"
                r"(?:d=)?(?P<trim_ios>\d{1,18})"
            )
        ),
    ),
    tuple(map(_iops, OPERATIONS)),
    begins=re.compile(r"^(?:<[\w.:-]{1,100}> )?(?P<name_>.{1,100}): \(groupid=\d{1,6}, jobs=\d{1,6}\): err="),
)
"""Identities between a job's first and last lines."""

_LINES = Identities(
    (
        PrintedLine(
            re.compile(
                rf"^\s*(?:{_OPERATION}): IOPS=\S+ BW=(?P<bandwidth>{_N})(?P<bandwidth_unit>[kKMGT]?i?B)/s"
                rf"(?: \((?P<other>{_N})(?P<other_unit>[kKMGT]?i?B)/s\))?"
                rf"\((?P<size>{_N})(?P<size_unit>[kKMGTP]?i?B)/(?P<runtime>\d{{1,12}})msec\)"
            ),
            (_BANDWIDTH, _OTHER_POWERS),
            {**_BYTES, "B": (1.0,)},
            cut=frozenset({"runtime"}),
        ),
        PrintedLine(
            re.compile(
                rf"^\s*(?:{_OPERATION})\s*: io=(?P<size>{_N})(?P<size_unit>[KMGT]?B), bw=(?P<bandwidth>{_N})"
                r"(?P<bandwidth_unit>[KMGT]?B)/s, .*runt= *(?P<runtime>\d{1,12})msec"
            ),
            (_BANDWIDTH,),
            {**_OLD_BYTES, "B": (1.0,)},
            cut=frozenset({"runtime"}),
        ),
        PrintedLine(
            re.compile(
                rf"^\s*(?:slat|clat|lat|sync) \([num]sec\) *: min= *(?P<min>{_N})(?P<min_unit>[kKMG]?), "
                rf"*max= *(?P<max>{_N})(?P<max_unit>[kKMG]?), *avg= *(?P<avg>{_N})(?P<avg_unit>[kKMG]?),"
            ),
            (Ascending(("min", "avg", "max"), Unit.ONE),),
            DECIMAL,
            cut=frozenset({"min", "max"}),
        ),
    )
)
"""Identities within one line."""

_PERCENTILE = re.compile(r"([\d.]{1,14})th=\[ *(\d{1,12}(?:\.\d{1,3})?)([kKMG]?)\]")


def _percentiles(text: str) -> Iterator[tuple[str, str]]:
    """Yield the percentiles of fio's text that are above a higher one."""
    before: tuple[float, float, str] | None = None
    for line in text.splitlines():
        if not line.lstrip().startswith("|"):
            before = None
            continue
        for rank, value, unit in _PERCENTILE.findall(line):
            try:
                one = float(rank), float(value) * DECIMAL[unit][0], f"p{float(rank):g} {value}{unit}"
            except ValueError:  # such as 1.2.3
                continue
            if before is not None and before[0] < one[0] and before[1] > 1.01 * one[1] + 1:
                yield "", f"{before[2]} is above {one[2]}"
            before = one


_JOBS = re.compile(r"^.{1,100}: \(groupid=\d{1,6}, jobs=(\d{1,6})\): err=")
_OWN_RATE = re.compile(rf"^\s*(?:{_OPERATION})\s*: (?:IOPS=|.*\biops=)({_N})([kKMG]?)")
_SAMPLES = re.compile(rf"^\s*iops\s*: min= *\d+, max= *(\d{{1,15}}), avg= *({_N}), .*samples=(\d{{1,9}})")
_MOST_ABOVE = 2.0
"""Factor by which a rate may exceed its largest sample: the jobs that fio adds up end at different times."""


def _samples(text: str) -> Iterator[tuple[str, str]]:
    """Yield the samples of the IOPS whose largest is far below the mean: those of single I/Os (write_iops_log)."""
    jobs, rate = 1, 0.0
    for line in text.splitlines():
        if match := _JOBS.match(line):
            jobs, rate = int(match[1]), 0.0
        elif match := _OWN_RATE.match(line):
            try:
                rate = float(match[1]) * DECIMAL[match[2]][0]
            except ValueError:  # such as 1.2.3
                rate = 0.0
        elif (match := _SAMPLES.match(line)) and rate > _MOST_ABOVE * jobs * int(match[1]):
            yield "", f"the largest sample of the IOPS is {match[1]}, their mean {rate:g}"


def text_contradictions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name of the job, if it is known, and each contradiction in fio's text."""
    yield from in_text(_JOB, _LINES)(text)
    yield from _percentiles(text)
    yield from _samples(text)


_MEMBERS = {
    "size": Member(("io_bytes",)),
    "bandwidth": Member(("bw_bytes",), error=1.0),
    "runtime": Member(("runtime",), error=1.0),
    "ios": Member(("total_ios",)),
    "iops": Member(("iops",)),
}
_IN_KIB = {
    **_MEMBERS,
    "size": Member(("io_kbytes",), 1024.0, error=1.0),
    "bandwidth": Member(("bw",), 1024.0, error=1.0),
}
"""Members before 2.99, which writes the bandwidth in KiB/s only."""
_RATE_RULES = (
    _BANDWIDTH,
    Product(
        text="total_ios / runtime",
        result="iops",
        factors=("ios",),
        divisors=("runtime",),
        unit=Unit.PER_SECOND,
        scale=1000,
    ),
)
_LATENCY_MEMBERS = {"min": Member(("min",)), "avg": Member(("mean",)), "max": Member(("max",))}


def document_contradictions(text: str) -> Iterator[tuple[JobKey, str]]:
    """Yield the name and group of the job, and each contradiction in a document of fio."""
    for job in objects_in(read_json(text), "jobs"):
        for operation in (*OPERATIONS, MIXED):
            yield from ((job_key(job), f"{operation}: {words}") for words in _direction(object_in(job, operation)))


def _direction(source: Mapping[str, Any]) -> Iterator[str]:
    yield from negative_members(source, _MEMBERS)
    members = _MEMBERS if "bw_bytes" in source else _IN_KIB
    yield from broken(_RATE_RULES, json_numbers(source, members))
    for name in ("slat", "clat", "lat"):
        for suffix in ("_ns", ""):
            latency = object_in(source, name + suffix)
            yield from (f"{name}: {words}" for words in negative_members(latency, _LATENCY_MEMBERS))
            yield from (f"{name}: {words}" for words in broken((_ORDER,), json_numbers(latency, _LATENCY_MEMBERS)))
            yield from (f"{name}: {words}" for words in _falling(object_in(latency, "percentile")))


def _falling(percentiles: Mapping[str, Any]) -> Iterator[str]:
    """Yield the first percentile of a document that is above a higher one."""
    found = []
    for rank, value in percentiles.items():
        try:
            found.append((float(rank), float(value)))
        except (TypeError, ValueError):
            continue
    found = sorted(pair for pair in found if pair[0] > 0)
    for (lower, one), (higher, other) in pairwise(found):
        if one > other:
            yield f"p{lower:g} {one:g} is above p{higher:g} {other:g}"
            return


def terse_contradictions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name of the job, and each contradiction in lines of terse output, which have no counts of I/Os."""
    for name, operation, fields in terse_directions(text.splitlines()):
        try:
            found = list(_terse_direction(fields))
        except ValueError:  # a field that fio does not print: the line is not read
            continue
        yield from ((name, f"{operation}: {words}") for words in found)


_TERSE_RATE = {"size": (0, 1024.0), "bandwidth": (1, 1024.0), "runtime": (3, 1.0)}
"""The field and the unit of each number, all of which are cut."""

_TERSE_LATENCY = {"min": (0, 1.0), "max": (1, 1.0), "avg": (2, 0.0)}
"""The field of each number in a latency, and its error: fio cuts the first two to microseconds."""


def _terse_direction(fields: Sequence[str]) -> Iterator[str]:
    """Yield how the numbers of a direction contradict each other. Raises ValueError for one that is no number."""
    rates = {name: printed(fields[at], (unit,), 1.0) for name, (at, unit) in _TERSE_RATE.items()}
    yield from broken((_BANDWIDTH,), rates)
    for name, start in TERSE_LATENCIES.items():
        numbers = {each: printed(fields[start + at], error=error) for each, (at, error) in _TERSE_LATENCY.items()}
        yield from (f"{name}: {words}" for words in broken((_TERSE_ORDER,), numbers))
    yield from _falling(dict(part.split("%=") for part in fields[TERSE_PERCENTILES]))

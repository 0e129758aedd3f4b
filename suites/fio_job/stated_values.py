"""Values of a fio job that are not read from its report: of its command line or job file, printed, and inferred."""

import re
import shlex
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from suites.fio.report import Direction, JobReport
from suites.fio.suite import Fio
from suites.fio_job.command_line import options_of
from suites.fio_job.file import ALIASES, Section
from suites.fio_job.section_values import section_values, sized
from suites.output_reading import stated_by_command
from suites.parameters import Value

_FIO = Fio()

SIZE = r"\d{1,12}(?:\.\d{1,6})?[kKmMgG]?i?B?\b"
"""A size as fio prints it."""


def without_default_size(section: Section, values: Mapping[str, Value]) -> dict[str, Value]:
    """Return `values`; of a job without a size or a runtime, the size stays that of the suite."""
    return dict(values) if sized(section) else {name: value for name, value in values.items() if name != "size"}


_RANGE = re.compile(rf"({SIZE})(?:-({SIZE}))?(?=[,/]|$)")
_PRINTED = re.compile(r"(\d+)(\.\d+)?(?i:([kmg]?))(i?)(B?)")


def printed_blocks(text: str, pattern: str) -> dict[str, str]:
    """Return the option of the block sizes that fio prints for the directions of a pattern; none if they are cut off.

    They are those of reads, writes and trims, in this order.
    """
    binary = not text.startswith("(R)")  # fio 2, whose KB are 1024 bytes
    ranges = [[_printed_size(one, binary=binary) for one in found if one] for found in _RANGE.findall(text)]
    used = [
        ranges[min(at, len(ranges) - 1)] for at in _DIRECTIONS_OF.get(pattern.removeprefix("rand"), (0, 1)) if ranges
    ]
    if not used or any(one[0] > one[-1] or (not binary and len(one) == 1) for one in used):
        return {}
    option = "bs" if all(one[0] == one[-1] for one in used) else "bsrange"
    sizes = dict.fromkeys(str(one[0]) if option == "bs" else f"{one[0]}-{one[-1]}" for one in used)
    return {option: ",".join(sizes)}


_DIRECTIONS_OF = {"read": (0,), "write": (1,), "trim": (2,), "trimwrite": (2, 1)}


def _printed_size(text: str, *, binary: bool) -> int:
    """Return the bytes of a size as fio prints it, not as it reads it: a KiB are 1024; rounded to whole sectors."""
    match = _PRINTED.fullmatch(text)
    if match is None:
        raise ValueError(text)
    unit = (1024.0 if binary or match[4] or not match[5] else 1000.0) ** " kmg".index(match[3].lower() or " ")
    size = float(match[1] + (match[2] or "")) * unit
    whole = SECTOR * round(size / SECTOR)
    digit: float = unit * 10.0 ** (1 - len(match[2] or "."))
    return whole if match[3] and abs(whole - size) <= digit / 2 else round(size)


def stated_on_line(command: str | None) -> dict[str, Value] | None:
    """Return the values of a command line; None of one that starts a job file, which has the others."""
    line = options_of(shlex.split(command or "")[1:])
    given = None if line.files else stated_by_command(_FIO, command)
    return None if given is None else without_default_size(Section("", dict(line.options)), given)


_LOAD = ("rate", "rate_iops", "rate_iops_both", "pause", "pause_blocks", "offload", "latency_target")
"""What limits the I/Os of a job."""


def load_on_line(command: str | None, printed: Section) -> dict[str, Value]:
    """Return the limits of the job that fio `printed` on a command line that has any: those before all, and its own."""
    options: dict[str, str] = {}
    job = "global"
    typed = options_of(shlex.split(command or "")[1:]).options
    if _LIMITS.isdisjoint(name for name, _ in typed):
        return {}
    for name, value in typed:
        job = value if name == "name" else job
        options |= {ALIASES.get(name, name): value} if job in {"global", printed.name.strip()} else {}
    values = section_values(Section(printed.name, {**options, **printed.options}), "")
    return {name: values[name] for name in _LOAD if name in values}


_LIMITS = {"rate", "rate_iops", "thinktime", "latency_target"}


def stated_in_file(written: Section | None, printed: Section) -> dict[str, Value] | None:
    """Return the values of a section of a job file; None without one, or if fio printed other options.

    An option with a variable states none.
    """
    if written is None:
        return None
    values, shown = without_default_size(written, section_values(written, "")), section_values(printed, "")
    if any(values[name] != shown[name] for name in ("rw", "iodepth", "ioengine") if name in printed.options):
        return None
    left_open = {name for name, value in written.options.items() if "$" in value}
    left_open |= {"block_size"} if BLOCKS & left_open else set()
    return {name: value for name, value in values.items() if name not in left_open}


PARAMETERS = (
    ("rw", "rw"), ("ioengine", "ioengine"), ("iodepth", "iodepth"), ("numjobs", "numjobs"),
)  # fmt: skip
"""Options that fio's text states, and their parameters."""

BLOCKS = {"bs", "bsrange", "bssplit"}


_WHOLE_SECONDS = 0.05
"""Seconds by which a run that time ended differs from whole ones; one that its size ended lasts any time."""


SECTOR = 512
"""Bytes of which the blocks of direct I/O are multiples; fio rounds the rates from which the block follows."""


def inferred_values(job: JobReport, section: Section, given: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values that follow from the results, where the output does not state them."""
    seconds = round(job.runtime)
    by_time = seconds >= 1 and abs(job.runtime - seconds) < _WHOLE_SECONDS
    found: dict[str, Value] = {"rw": _pattern(job, section), "runtime": float(seconds) if by_time else 0.0}
    if blocks := {name: block for name, one in job.directions.items() if (block := _block(one))}:
        sizes = list(dict.fromkeys(blocks[name] for name in ("read", "write") if name in blocks))
        found["block_size"] = max(blocks.values())
        found["block_sizes"] = ",".join(map(str, sizes)) if len(sizes) > 1 else ""
    jobs, depth = (section.number(name, int(given.get(name, 0))) for name in ("numjobs", "iodepth"))
    if not (jobs and depth):
        each = max(1, round(_in_flight(job) / (jobs or depth or 1)))
        found["iodepth" if jobs else "numjobs"] = each
        if jobs and each > 1:
            found["ioengine"] = "io_uring"  # or another that does not wait for each I/O, as psync does
    return found


def _block(one: Direction) -> int:
    """Return the mean size of an I/O, in whole sectors if it is as good as that; 0 if it is not known."""
    mean = one.size / one.ios if one.ios else 0.0
    whole = SECTOR * round(mean / SECTOR)
    return whole if abs(whole - mean) <= _ROUNDED * mean else round(mean)


_ROUNDED = 0.01
"""Share by which a block that follows from printed rates differs from the real one."""


def _in_flight(job: JobReport) -> float:
    """Return the mean number of I/Os in flight (Little's law); 0 without latencies."""
    each = ((one.iops or 0.0) * (one.waited.mean or 0.0) * 1e-9 for one in job.directions.values() if one.ios)
    return sum(each)


def _pattern(job: JobReport, section: Section) -> Value:
    """Return the pattern, of an output without its first line as far as the directions show it."""
    if "rw" in section.options:
        return section_values(section, "")["rw"]
    return pattern_of({name for name, one in job.directions.items() if one.ios})


def pattern_of(done: AbstractSet[str]) -> Value:
    """Return the random pattern of the operations that were done."""
    return "randrw" if {"read", "write"} <= done else "randwrite" if "write" in done else "randread"

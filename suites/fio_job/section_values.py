"""Job file sections as values of fio's own suite, so that the same checks apply."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from suites.fio.parameters import BLOCK_SIZES, FIO_PARAMETERS
from suites.fio_job.file import Section, fio_seconds, fio_size
from suites.fio_job.targets import changes_files, names_of, parts, pattern_of, section_writes
from suites.parameters import Value

_DEFAULTS: Mapping[str, Value] = {parameter.name: parameter.default for parameter in FIO_PARAMETERS}

__all__ = ["directories_in", "fio_seconds", "fio_size", "may_write_device", "pattern_of", "raw_devices",
           "section_values", "section_writes", "sized"]  # fmt: skip

HARMLESS_DEVICES = ("/dev/shm/", "/dev/null", "/dev/zero")  # noqa: S108 (what a job file may name, nothing is made)


def section_values(section: Section, directory: str) -> dict[str, Value]:
    """Return `section` as values of fio's suite; missing options have fio's defaults.

    A size given in another form (a percentage, an existing file) is left at the suite's default. A number that fio
    refuses, or that no host can use, is replaced by the nearest sensible one.
    """
    return _bounded(_read(section, directory))


_COUNTS = ("block_size", "iodepth", "numjobs", "size", "loops", "pause_blocks")
_SHARES = ("rwmixread", "buffer_compress_percentage")

MOST = 2**62
"""Bytes, I/Os or seconds in the largest file, queue and runtime that a section can ask for."""


def _bounded(values: Mapping[str, Value]) -> dict[str, Value]:
    """Return `values` with each number in its range: counts and sizes are 1 at least, shares 100 at most."""
    found = dict(values)
    for name, value in values.items():
        if not isinstance(value, bool) and isinstance(value, int | float):
            least, most = 1 if name in _COUNTS else 0, 100 if name in _SHARES else MOST
            found[name] = min(max(value, least), type(value)(most))
    return found


def _read(section: Section, directory: str) -> dict[str, Value]:
    """Return the values as written."""
    options = section.options
    values: dict[str, Value] = {**_DEFAULTS, "directory": _directory(section, directory), "device": ""}
    values["device"] = next((f"/{name.lstrip('/')}" for name in raw_devices(section)), "")
    values["rw"] = pattern_of(section)
    values |= _blocks(options)
    for name in ("iodepth", "numjobs", "rwmixread", "fsync", "loops", "buffer_compress_percentage"):
        values[name] = section.number(name, int(_DEFAULTS[name]))
    if "rwmixwrite" in options:
        values["rwmixread"] = 100 - section.number("rwmixwrite", 50)
    values["randrepeat"] = options.get("randrepeat", "1").strip() not in {"0", "false"}
    for name in ("direct", "end_fsync", "refill_buffers"):
        values[name] = section.flag(name)
    if "buffered" in options:
        values["direct"] = not section.flag("buffered")
    values |= _flushes(section, values)
    engine = options.get("ioengine", str(_DEFAULTS["ioengine"]))
    values["ioengine"] = "libaio" if engine in {"aio", "linuxaio"} else engine
    size = _size_of(section)
    if size:
        values["size"] = size
    values["runtime"] = fio_seconds(options.get("runtime", "")) or 0.0
    values["ramp_time"] = fio_seconds(options.get("ramp_time", "")) or 0.0
    values["rate_iops"], both = _limits(section, "rate_iops")
    return values | _job_options(section, device=bool(values["device"])) | {"rate_iops_both": both}


def _limits(section: Section, name: str) -> tuple[int, int]:
    """Return the limit of each direction, and that of all together: 0 if one that the pattern uses has none.

    The value has parts for reads and writes; one alone is for both, an empty one is none (fio manual, rate).
    """
    given = [fio_size(part) or 0 for part in section.options.get(name, "").split(",")]
    write = given[1] if len(given) > 1 else given[0]
    pattern = pattern_of(section)
    reads, changes = pattern in {"read", "randread", "rw", "randrw"}, pattern not in {"read", "randread"}
    used = [limit for limit, uses in ((given[0], reads), (write, changes)) if uses]
    return min(used), sum(used) if all(used) else 0


def _job_options(section: Section, *, device: bool) -> dict[str, Value]:
    """Return the traits of JOB_OPTIONS."""
    options, jobs = section.options, section.number("numjobs", 1)
    verify = options.get("verify", "0").strip()
    one_file = "filename" in options and not {"offset", "offset_increment"} & options.keys()
    return {
        "verify": "none" if verify in {"", "0"} else verify,
        "invalidate": options.get("invalidate", "1").strip() not in {"0", "false"},
        "shared_file": f"{jobs} jobs work on one {'device' if device else 'file'}" if jobs > 1 and one_file else "",
        "random_distribution": options.get("random_distribution", "random").strip(),
        "repeated_data": _repeated_data(section),
        "pause": fio_seconds(options.get("thinktime", ""), "us") or 0.0,
        "pause_blocks": max(1, section.number("thinktime_blocks", 1)),
        "rate": _limits(section, "rate")[1],
        "offload": options.get("io_submit_mode", "inline").strip() == "offload",
        "latency_target": fio_seconds(options.get("latency_target", ""), "us") or 0.0,
    }


def _repeated_data(section: Section) -> str:
    """Return how the data that the section writes repeats."""
    options = section.options
    if section.flag("zero_buffers"):
        return "zero_buffers"
    if "buffer_pattern" in options:
        return "One pattern (buffer_pattern)"
    if section.number("dedupe_percentage", 0):
        return f"dedupe_percentage={options['dedupe_percentage']}"
    kept = options.get("scramble_buffers", "1").strip() in {"0", "false"} and not section.flag("refill_buffers")
    return "scramble_buffers=0 without refill_buffers: every write repeats the same buffers" if kept else ""


def _directory(section: Section, directory: str) -> str:
    """Return the directory of the section's first file; that of the step if the section names none."""
    name = next(iter(parts(section.options.get("filename", ""))), "")
    above = next(iter(parts(section.options.get("directory", ""))), directory)
    return str(PurePosixPath(name).parent) if name.startswith("/") else above


def _flushes(section: Section, values: Mapping[str, Value]) -> dict[str, Value]:
    """Return the section's flush interval from other options: a file opened with O_SYNC or O_DSYNC is flushed after
    each write (fio manual, sync, fdatasync and fsync_on_close)."""
    every = int(values["fsync"]) or section.number("fdatasync", 0)
    synchronous = section.options.get("sync", "0").strip() not in {"", "0", "none", "false"}
    return {
        "fsync": 1 if synchronous else every,
        "end_fsync": bool(values["end_fsync"]) or section.flag("fsync_on_close"),
    }


def sized(section: Section) -> bool:
    """Whether the section gives its size in bytes."""
    return bool(_size_of(section))


def _size_of(section: Section) -> int | None:
    options = section.options
    return fio_size(options.get("size", "")) or fio_size(options.get("filesize", "").split("-")[0])


def directories_in(section: Section) -> tuple[str, ...]:
    """Return the directories that the section names by an absolute path; colons separate them."""
    return tuple(name for name in parts(section.options.get("directory", "")) if name.startswith("/"))


def raw_devices(section: Section) -> tuple[str, ...]:
    """Return the section's paths below /dev as spelled; the host checks them before the start."""
    return tuple(name for name in names_of(section) if _suspicious(name))


def may_write_device(sections: Sequence[Section]) -> bool:
    """Whether, by spelling, anything in the file may write to a raw device."""
    return any(
        _replays(section) or (changes_files(section) and (raw_devices(section) or section.missing))
        for section in sections
    )


def _replays(section: Section) -> bool:
    """Whether another file determines the I/O to a device."""
    return bool({"read_iolog", "replay_redirect"} & section.options.keys())


def _suspicious(name: str) -> bool:
    path = f"/{name.strip().lstrip('/')}"
    return "/dev/" in f"{path}/" and not path.startswith(HARMLESS_DEVICES)


def _blocks(options: Mapping[str, str]) -> dict[str, Value]:
    """Return one block size, or several as fio's suite writes them; the largest of those it cannot write."""
    name = next((name for name in ("bssplit", "bsrange", "bs") if name in options), "")
    given = re.sub(r"(?<=[\dkKmM])[bB]\b", "", options.get(name, "").replace(" ", ""))
    if (name != "bs" or "," in given) and re.fullmatch(BLOCK_SIZES.pattern, given):
        return {"block_sizes": given}
    sizes = [fio_size(part) for part in re.split("[-,:]", re.sub(r"/\d*", "", given))]
    size = max((size for size in sizes if size is not None), default=None)
    return {} if size is None else {"block_size": size}

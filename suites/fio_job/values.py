"""The sections of a job file as the values of fio's own suite, so that the same checks judge both."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from suites.fio.parameters import FIO_PARAMETERS
from suites.fio_job.file import Section
from suites.parameters import Value

_SIZE = re.compile(r"(\d{1,15})\s*([kmgtp]?)(ib)?(?:i|b)?", re.IGNORECASE)
_TIME = re.compile(r"(\d{1,9})\s*(us|ms|s|m|h|d)?", re.IGNORECASE)
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DEFAULTS: Mapping[str, Value] = MappingProxyType({parameter.name: parameter.default for parameter in FIO_PARAMETERS})

HARMLESS_DEVICES = ("/dev/shm/", "/dev/null", "/dev/zero")  # noqa: S108 (what a job file may name, nothing is made)


def fio_size(text: str) -> int | None:
    """Return the bytes of a size as fio reads it: k, kB and Ki are 1024 bytes, KiB is 1000; None where it is no size.

    That is no slip of ours: with its default kb_base, fio has the two the other way round (manual, kb_base).
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    power = " kmgtp".index(match[2].lower() or " ")
    base = 1000 if match[3] else 1024
    return int(int(match[1]) * base**power)


def fio_seconds(text: str) -> float | None:
    """Return the seconds of a time as fio reads it; None where it is none."""
    match = _TIME.fullmatch(text.strip())
    return None if match is None else int(match[1]) * _SECONDS[(match[2] or "s").lower()]


def section_values(section: Section, directory: str) -> dict[str, Value]:
    """Return what `section` asks for in the terms of fio's suite; what it leaves out stands at fio's default.

    A size that is told otherwise (a percentage, a file that is there) is left at the default of the suite.
    """
    options = section.options
    values: dict[str, Value] = {**_DEFAULTS, "directory": options.get("directory", directory), "device": ""}
    values["rw"] = pattern_of(section)
    values |= _blocks(options)
    for name in ("iodepth", "numjobs", "rwmixread", "fsync", "loops", "buffer_compress_percentage", "rate_iops"):
        values[name] = section.number(name, int(_DEFAULTS[name]))
    if "rwmixwrite" in options:
        values["rwmixread"] = 100 - section.number("rwmixwrite", 50)
    values["randrepeat"] = options.get("randrepeat", "1").strip() not in {"0", "false"}
    for name in ("direct", "end_fsync", "refill_buffers"):
        values[name] = section.flag(name)
    if "buffered" in options:
        values["direct"] = not section.flag("buffered")
    values |= _flushes(section, values)
    values["ioengine"] = options.get("ioengine", str(_DEFAULTS["ioengine"]))
    size = fio_size(options.get("size", "")) or fio_size(options.get("filesize", "").split("-")[0])
    if size:
        values["size"] = size
    values["runtime"] = fio_seconds(options.get("runtime", "")) or 0.0
    values["ramp_time"] = fio_seconds(options.get("ramp_time", "")) or 0.0
    return values


def _flushes(section: Section, values: Mapping[str, Value]) -> dict[str, Value]:
    """Return how often the section flushes where it says so otherwise: a file that is open with O_SYNC or O_DSYNC is
    flushed after each write (fio manual, sync, fdatasync and fsync_on_close)."""
    every = int(values["fsync"]) or section.number("fdatasync", 0)
    synchronous = section.options.get("sync", "0").strip() not in {"", "0", "none", "false"}
    return {
        "fsync": 1 if synchronous else every,
        "end_fsync": bool(values["end_fsync"]) or section.flag("fsync_on_close"),
    }


def sized(section: Section) -> bool:
    """Whether the section says how much it works on, in bytes."""
    options = section.options
    return bool(fio_size(options.get("size", "")) or fio_size(options.get("filesize", "").split("-")[0]))


def pattern_of(section: Section) -> str:
    """Return the pattern of reads and writes without its decorations: “randrw” for “randrw:8”."""
    pattern = section.options.get("rw", "read").split(":")[0].split(",")[0].strip()
    return {"readwrite": "rw"}.get(pattern, pattern)


def section_writes(section: Section) -> bool:
    """Whether the section changes what it works on: it writes or trims."""
    return pattern_of(section) not in {"read", "randread"}


def directories_in(section: Section) -> tuple[str, ...]:
    """Return the directories that the section names by an absolute path; the names in it are parted by colons."""
    listed = re.split(r"(?<!\\):", section.options.get("directory", ""))
    return tuple(name.replace("\\:", ":") for name in listed if name.startswith("/"))


def programs(section: Section) -> tuple[str, ...]:
    """Return what the section has fio execute on the host, verbatim: commands, and an engine loaded from a file."""
    options = section.options
    found = [options[name] for name in ("exec_prerun", "exec_postrun") if name in options]
    engine = options.get("ioengine", "")
    if engine == "exec":
        found.append(f"{options.get('program', '')} {options.get('arguments', '')}".strip())
    elif not re.fullmatch(r"[a-z0-9_-]*", engine):
        found.append(f"ioengine={engine}")
    return tuple(found)


def raw_devices(section: Section) -> tuple[str, ...]:
    """Return what the section works on below /dev, as it names it; what names nothing for certain is among them.

    A name is taken for a device on the least suspicion: it decides whether fio may write at all.
    """
    options = section.options
    own = [section.name, options.get("name", "")]
    listed = re.split(r"(?<!\\):", options["filename"]) if "filename" in options else own
    names = [options.get("directory", ""), options.get("opendir", ""), options.get("filename_format", ""), *listed]
    below = f"{options.get('directory', '').rstrip('/')}/{listed[0]}"
    return tuple(dict.fromkeys(name for name in (*names, below) if _suspicious(name)))


def may_write_device(sections: Sequence[Section]) -> bool:
    """Whether anything in the file could write to a raw device, as far as can be told."""
    return any(
        _replays(section)
        or (section_writes(section) and (raw_devices(section) or section.missing or "opendir" in section.options))
        for section in sections
    )


def _replays(section: Section) -> bool:
    """Whether another file says what is done to which device."""
    return bool({"read_iolog", "replay_redirect"} & section.options.keys())


def _suspicious(name: str) -> bool:
    path = f"/{name.strip().lstrip('/')}"
    return "/dev/" in f"{path}/" and not path.startswith(HARMLESS_DEVICES)


def _blocks(options: Mapping[str, str]) -> dict[str, Value]:
    for name in ("bssplit", "bsrange"):
        if name in options:
            return {"block_sizes": _plain(options[name])}
    given = options.get("bs", "")
    if "," in given:
        return {"block_sizes": _plain(given)}
    size = fio_size(given)
    return {} if size is None else {"block_size": size}


def _plain(sizes: str) -> str:
    """Return several sizes without the spaces and the B that fio allows."""
    return re.sub(r"(?<=[\dkKmMgG])[bB]\b", "", sizes.replace(" ", ""))

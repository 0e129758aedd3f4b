"""Recognise a command line: the suite that runs the same tool, and its values."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath
from types import MappingProxyType

from suites.base import ParametersOf, Recognised
from suites.command.program_rules import SHELLS, devices_in, name_of, overwritten, starts
from suites.command.shell_parser import ShellCommand, commands
from suites.dd.parameters import FILE, URANDOM, ZERO
from suites.errors import ParameterError
from suites.fio_job.command_line import job_file, jobs_of, options_of
from suites.fio_job.file import JobFileError, Section, read_job_file
from suites.fio_job.section_values import raw_devices, section_writes
from suites.parameters import Parameter, Value, parse_size

OTHER = "command"
"""Suite of a command without an equivalent: only its write targets are known."""


DEEPEST = 3
"""Maximum depth of nested shells that is parsed."""

_JOINED = re.compile(r"(?<![|&])[|&](?![|&])")
"""A pipe, whose reader may end its writer, or a background command, which others may end."""


def _no_parameters(_suite_id: str) -> tuple[Parameter, ...]:
    return ()


def recognised(text: str, *, shell: bool, parameters: ParametersOf = _no_parameters) -> tuple[Recognised, ...]:
    """Return the commands in `text` that a suite knows, in order; `parameters` are those of a suite by its id.

    Without them, everything but the given values is recognised. Parts without an equivalent parameter are ignored; a
    line that cannot be parsed is not recognised.
    """
    found: list[Recognised] = []
    for command in simple_commands(text, by_shell=shell):
        words = command.texts
        name, arguments = program_of(words)
        read = _READERS.get(name)
        known = None if read is None else read(arguments, parameters)
        if known is not None:
            ended = "timeout" in words or _JOINED.search(text)
            found.append(replace(known, program=name, endless="" if ended else known.endless))
        if name == "sync":
            found = [_flushed(each) for each in found]
        overwritten_devices = (*overwritten(name, arguments), *(devices_in([word.text for word in command.written])))
        if overwritten_devices:
            found.append(Recognised(OTHER, devices=overwritten_devices, written=overwritten_devices, whole=False))
    return tuple(found)


def simple_commands(text: str, *, by_shell: bool, depth: int = 0) -> Iterator[ShellCommand]:
    """Yield the commands of `text`; for ``sh -c LINE``, those of the line. A line that cannot be parsed has none."""
    try:
        found = commands(text, by_shell=by_shell)
    except ValueError:  # unparsable: reported by a check of the command
        return
    for command in found:
        name, arguments = program_of(command.texts)
        lines = [line for option, line in pairwise(arguments) if re.fullmatch(r"-[a-z]*c", option)]
        if name in SHELLS and lines and depth < DEEPEST:
            yield from simple_commands(lines[0], by_shell=True, depth=depth + 1)
        else:
            yield command


def program_of(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the name of the program that a command starts, and its arguments."""
    places, _ = starts(words)
    known = [at for at in places if name_of(words[at]) in _READERS] or places
    return (name_of(words[known[0]]), list(words[known[0] + 1 :])) if known else ("", [])


def _flushed(copied: Recognised) -> Recognised:
    """Return a copy as flushed if “sync” follows it."""
    if copied.suite_id != "dd" or copied.given.get("flush") != "none":
        return copied
    return replace(copied, given={**copied.given, "flush": "fdatasync"})


def _values(suite_id: str, raw: Mapping[str, str], parameters: ParametersOf) -> dict[str, Value]:
    """Return `raw` in the suite's own types; an invalid value is left at its default."""
    known = {parameter.name: parameter for parameter in parameters(suite_id)}
    found: dict[str, Value] = {}
    for name, text in raw.items():
        if name in known:
            try:
                found[name] = known[name].parse(text)
            except ParameterError:
                continue
    return found


def _dd(arguments: Sequence[str], parameters: ParametersOf) -> Recognised | None:
    given = dict(word.partition("=")[::2] for word in arguments)
    source, target = given.get("if", ""), given.get("of", "")
    block, count = _dd_size(given.get("bs", "512")), given.get("count", "")
    reads = source not in {ZERO, URANDOM, "/dev/random", ""}
    raw = {
        "input": FILE if reads else URANDOM if source == "/dev/random" else source or ZERO,
        "directory": str(PurePosixPath(source if reads else target).parent),
        "block_size": "" if block is None else str(block),
        "count": count,
        "flush": _dd_flush(given),
        "read": "direct" if "direct" in given.get("iflag", "").split(",") else "cached",
    }
    # Without count the size is not known; a copy to /dev/null or a pipe writes to no disk.
    whole = bool(count) and block is not None and (reads or target not in {"", "/dev/null"})
    values = _values("dd", raw, parameters)
    endless = (
        "" if count or reads else "until it is stopped" if target in {"", "/dev/null"} else "until the disk is full"
    )
    return Recognised("dd", values, devices_in((target, source)), devices_in((target,)), whole, endless)


def _dd_flush(given: Mapping[str, str]) -> str:
    flags, conversions = given.get("oflag", "").split(","), given.get("conv", "").split(",")
    if "direct" in flags:
        return "direct"
    if {"dsync", "sync"} & set(flags):
        return "dsync"
    return "fdatasync" if {"fdatasync", "fsync"} & set(conversions) else "none"


def _dd_size(text: str) -> int | None:
    """Return the bytes of a dd operand: 1M is 2^20, 1MB 10^6 (dd manual)."""
    try:
        return parse_size(text)
    except ValueError:
        return None


def _fio(arguments: Sequence[str], parameters: ParametersOf) -> Recognised | None:
    """Return the jobs of fio's arguments; the content of a job file on the host is not known here."""
    line = options_of(arguments)
    common, jobs = jobs_of(line.options)
    if not jobs or not any(name in {"rw", "readwrite"} for body in (common, *jobs) for name, _ in body):
        return None
    try:
        sections = read_job_file(job_file(common, jobs, where=True))
    except JobFileError:
        return None
    first = dict([*common, *jobs[0]])
    folder = first.get("directory") or str(PurePosixPath(first.get("filename", "").split(":")[0]).parent)
    raw = {"directory": folder} if folder.startswith("/") else {}
    job = job_file(common, jobs, where=False)
    devices, written = _devices_of(sections), _devices_of([each for each in sections if section_writes(each)])
    return Recognised("fio-job", {**_values("fio-job", raw, parameters), "job": job}, devices, written, not line.files)


def _devices_of(sections: Sequence[Section]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"/{name.lstrip('/')}" for each in sections for name in raw_devices(each)))


_SYSBENCH_TESTS = MappingProxyType(
    {
        "cpu": "sysbench-cpu",
        "memory": "sysbench-memory",
        "fileio": "sysbench-fileio",
        "threads": "sysbench-threads",
        "mutex": "sysbench-mutex",
    }
)
_BY_TIME = frozenset({"sysbench-cpu", "sysbench-threads", "sysbench-fileio"})
"""Tests that only a time or a number of events ends, both unlimited by default."""

_SYSBENCH_OLD = MappingProxyType({"num-threads": "threads", "max-time": "time", "max-requests": "events"})


def _sysbench(arguments: Sequence[str], parameters: ParametersOf) -> Recognised | None:
    options = dict(word.lstrip("-").partition("=")[::2] for word in arguments if word.startswith("--"))
    plain = [word for word in arguments if not word.startswith("-")]
    suite_id = _SYSBENCH_TESTS.get(options.get("test") or (plain[0] if plain else ""))
    if suite_id is None or "run" not in plain:
        return None
    by_option = {parameter.option.lstrip("-"): parameter.name for parameter in parameters(suite_id) if parameter.option}
    named = {_SYSBENCH_OLD.get(name, name): value for name, value in options.items()}
    raw = {by_option[name]: value for name, value in named.items() if name in by_option}
    unbounded = suite_id in _BY_TIME and named.get("time") == "0" and named.get("events", "0") == "0"
    endless = "until it is stopped" if unbounded else ""
    return Recognised(suite_id, _values(suite_id, raw, parameters), endless=endless)


_IPERF3_FLAGS = MappingProxyType(
    {
        "-u": ("protocol", "udp"),
        "--udp": ("protocol", "udp"),
        "-R": ("direction", "receive"),
        "--reverse": ("direction", "receive"),
        "--bidir": ("direction", "both"),
    }
)
_IPERF3_VALUES = MappingProxyType({"-c": "address", "--client": "address", "-t": "time", "--time": "time",
                                   "-P": "streams", "--parallel": "streams", "-O": "omit", "--omit": "omit",
                                   "-l": "length", "--length": "length", "-p": "port", "--port": "port"})  # fmt: skip


_IPERF3_AMOUNTS = frozenset({"-n", "--bytes", "-k", "--blockcount"})
"""Options that limit the bytes instead of the time; steps have no such parameter."""


def _iperf3(arguments: Sequence[str], parameters: ParametersOf) -> Recognised | None:
    raw: dict[str, str] = {}
    amount = False
    for name, value in _options(arguments, _IPERF3_FLAGS, {*_IPERF3_VALUES, *_IPERF3_AMOUNTS, "-b", "--bitrate"}):
        amount = amount or name in _IPERF3_AMOUNTS
        if name in _IPERF3_FLAGS:
            raw.update([_IPERF3_FLAGS[name]])
        elif name in _IPERF3_VALUES:
            raw[_IPERF3_VALUES[name]] = value
        elif name in {"-b", "--bitrate"}:
            raw["bitrate"] = _megabits(value)
    if "address" not in raw:
        return None
    endless = "until it is stopped" if raw.get("time") == "0" and not amount else ""
    return Recognised("iperf3", _values("iperf3", raw, parameters), whole=not amount, endless=endless)


def _megabits(text: str) -> str:
    """Return a rate of iperf3 (powers of 1000) in Mbit/s."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([kKmMgG]?)", text)
    factor = {"": 1e-6, "k": 1e-3, "m": 1.0, "g": 1e3}
    return "" if match is None else f"{float(match[1]) * factor[match[2].lower()]:.6f}"


_IOPING_FLAGS = MappingProxyType({"-D": ("cache", "direct"), "-C": ("cache", "cached"), "-W": ("operation", "write"),
                                  "-L": ("linear", "yes")})  # fmt: skip
_IOPING_VALUES = MappingProxyType(
    {"-s": "block_size", "-S": "working_set", "-c": "count", "-i": "interval", "-w": "stop"}
)


def _ioping(arguments: Sequence[str], parameters: ParametersOf) -> Recognised | None:
    raw: dict[str, str] = {}
    for name, value in _options(arguments, _IOPING_FLAGS, set(_IOPING_VALUES)):
        if name in _IOPING_FLAGS:
            raw.update([_IOPING_FLAGS[name]])
        elif name in _IOPING_VALUES:
            raw[_IOPING_VALUES[name]] = value
        elif name.startswith("/"):
            raw["directory"] = name
    devices = devices_in((raw.get("directory", ""),))
    written = devices if raw.get("operation") == "write" else ()
    endless = "" if raw.keys() & {"count", "stop"} else "until it is stopped"
    return Recognised("ioping", _values("ioping", raw, parameters), devices, written, endless=endless)


def _options(words: Sequence[str], flags: Mapping[str, object], valued: set[str]) -> Iterator[tuple[str, str]]:
    """Yield options with their values, as parsed by getopt(3): ``-t 10``, ``-t10``, ``--time=10``, ``-uR``."""
    left = list(words)
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if word in valued:
            yield word, left.pop(0) if left else ""
        elif word in flags or not word.startswith("-"):
            yield word, ""
        elif equals and name in valued:
            yield name, value
        elif word[:2] in valued:
            yield word[:2], word[2:]
        elif word[:2] in flags:
            yield word[:2], ""
            left.insert(0, f"-{word[2:]}")


Reader = Callable[[Sequence[str], ParametersOf], Recognised | None]

_READERS: Mapping[str, Reader] = {"dd": _dd, "fio": _fio, "sysbench": _sysbench, "iperf3": _iperf3, "ioping": _ioping}
"""Recognised programs. cp is not: its command line does not show the size of the source."""

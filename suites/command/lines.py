"""A command line of the user's own, recognised: which suite does the same, and with which values."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import MappingProxyType

from suites.dd.parameters import FILE, URANDOM, ZERO
from suites.errors import ParameterError
from suites.fio_job.file import JobFileError, read_job_file
from suites.fio_job.values import raw_devices, section_writes
from suites.parameters import Parameter, Value, parse_size

BEFORE_PROGRAM = frozenset({"sudo", "time", "nice", "ionice", "env", "exec", "nohup", "command", "stdbuf", "chrt"})
"""Words that only lead to the program, by themselves; their options are passed over."""

WITH_OPERAND = frozenset({"taskset", "numactl", "timeout"})
"""Words that lead to the program and take a word of their own before it."""

MOST_WORDS = 200


@dataclass(frozen=True, slots=True)
class Recognised:
    """A tool's command as a step of its own suite: the values that it gives, the tool's own defaults elsewhere.

    `devices` are what it names below /dev, `written` those that it writes to. `whole` is False where the line does not
    say enough to be judged as the suite's step.
    """

    suite_id: str
    given: Mapping[str, Value] = field(default_factory=dict)
    devices: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    whole: bool = True


def recognised(text: str, *, shell: bool, parameters: Callable[[str], Sequence[Parameter]]) -> tuple[Recognised, ...]:
    """Return the commands in `text` that a suite knows, in order; `parameters` are those of a suite by its id.

    What a line says that no suite can say is passed over; a line that cannot be read is not recognised.
    """
    found: list[Recognised] = []
    for words in _commands(text, shell=shell):
        program, arguments = _program(words)
        read = _READERS.get(program)
        known = None if read is None else read(arguments, parameters)
        if known is not None:
            found.append(known)
    return tuple(found)


def _commands(text: str, *, shell: bool) -> Iterator[list[str]]:
    reader = shlex.shlex(text, posix=True, punctuation_chars=";&|" if shell else "")
    reader.whitespace_split = True
    reader.commenters = ""
    words: list[str] = []
    try:
        for number, word in enumerate(reader):
            if number >= MOST_WORDS:
                break
            if shell and re.fullmatch(r"[;&|]+", word):
                yield words
                words = []
            else:
                words.append(word)
    except ValueError:  # a quotation that is not closed; a check of the command says so
        return
    yield words


def _program(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the program's name without its folder, and what follows it."""
    left = list(words)
    operand = False
    while left:
        name = PurePosixPath(left[0]).name
        leads = name in BEFORE_PROGRAM or name in WITH_OPERAND or re.match(r"[A-Za-z_]\w*=", left[0])
        if left[0].startswith("-"):
            left.pop(0)
        elif leads or operand:
            operand = name in WITH_OPERAND
            left.pop(0)
        else:
            return name, left[1:]
    return "", []


Parameters = Callable[[str], Sequence[Parameter]]


def _values(suite_id: str, raw: Mapping[str, str], parameters: Parameters) -> dict[str, Value]:
    """Return what `raw` says in the suite's own types; a value that it does not take is left at its default."""
    known = {parameter.name: parameter for parameter in parameters(suite_id)}
    found: dict[str, Value] = {}
    for name, text in raw.items():
        if name in known:
            try:
                found[name] = known[name].parse(text)
            except ParameterError:
                continue
    return found


def _dd(arguments: Sequence[str], parameters: Parameters) -> Recognised | None:
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
    # Without a count it is not said how much is copied; what goes to /dev/null or a pipe is copied to no disk.
    whole = bool(count) and block is not None and (reads or target not in {"", "/dev/null"})
    values = _values("dd", raw, parameters)
    return Recognised("dd", values, _devices(target, source), _devices(target), whole)


def _dd_flush(given: Mapping[str, str]) -> str:
    flags, conversions = given.get("oflag", "").split(","), given.get("conv", "").split(",")
    if "direct" in flags:
        return "direct"
    if {"dsync", "sync"} & set(flags):
        return "dsync"
    return "fdatasync" if {"fdatasync", "fsync"} & set(conversions) else "none"


def _dd_size(text: str) -> int | None:
    """Return the bytes of an operand as dd reads it: 1M is 2^20, 1MB 10^6 (dd manual)."""
    try:
        return parse_size(text)
    except ValueError:
        return None


def _devices(*paths: str) -> tuple[str, ...]:
    harmless = re.compile(r"/dev/(?:null|zero|u?random|shm/.*|stdout|stdin)")
    return tuple(path for path in paths if path.startswith("/dev/") and not harmless.fullmatch(path))


def _fio(arguments: Sequence[str], parameters: Parameters) -> Recognised | None:
    """Return the first job that the words describe; of a job file on the host nothing is known here."""
    options = dict(word.lstrip("-").partition("=")[::2] for word in arguments if word.startswith("--"))
    if len(options) < len(arguments) or "name" not in options or not ({"rw", "readwrite"} & options.keys()):
        return None
    try:
        section = read_job_file(_job(options))[0]
    except JobFileError:
        return None
    folder = options.get("directory") or str(PurePosixPath(options.get("filename", "").split(":")[0]).parent)
    raw = {"directory": folder} if folder.startswith("/") else {}
    where = {"name", "directory", "filename"}
    job = _job({name: value for name, value in options.items() if name not in where})
    devices = tuple(dict.fromkeys(f"/{name.lstrip('/')}" for name in raw_devices(section)))
    written = devices if section_writes(section) else ()
    return Recognised("fio-job", {**_values("fio-job", raw, parameters), "job": job}, devices, written)


def _job(options: Mapping[str, str]) -> str:
    """Return the job file that does the same as `options` on a command line (fio manual, Job file format)."""
    lines = [f"{name}={value}" if value else name for name, value in options.items() if name != "name"]
    return "\n".join(["[job]", *lines])


_SYSBENCH_TESTS = MappingProxyType(
    {
        "cpu": "sysbench-cpu",
        "memory": "sysbench-memory",
        "fileio": "sysbench-fileio",
        "threads": "sysbench-threads",
        "mutex": "sysbench-mutex",
    }
)
_SYSBENCH_OLD = MappingProxyType({"num-threads": "threads", "max-time": "time", "max-requests": "events"})


def _sysbench(arguments: Sequence[str], parameters: Parameters) -> Recognised | None:
    options = dict(word.lstrip("-").partition("=")[::2] for word in arguments if word.startswith("--"))
    plain = [word for word in arguments if not word.startswith("-")]
    suite_id = _SYSBENCH_TESTS.get(options.get("test") or (plain[0] if plain else ""))
    if suite_id is None or "run" not in plain:
        return None
    by_option = {parameter.option.lstrip("-"): parameter.name for parameter in parameters(suite_id) if parameter.option}
    named = {_SYSBENCH_OLD.get(name, name): value for name, value in options.items()}
    raw = {by_option[name]: value for name, value in named.items() if name in by_option}
    return Recognised(suite_id, _values(suite_id, raw, parameters))


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


def _iperf3(arguments: Sequence[str], parameters: Parameters) -> Recognised | None:
    raw: dict[str, str] = {}
    for name, value in _options(arguments, _IPERF3_FLAGS, {*_IPERF3_VALUES, "-b", "--bitrate"}):
        if name in _IPERF3_FLAGS:
            raw.update([_IPERF3_FLAGS[name]])
        elif name in _IPERF3_VALUES:
            raw[_IPERF3_VALUES[name]] = value
        elif name in {"-b", "--bitrate"}:
            raw["bitrate"] = _megabits(value)
    return Recognised("iperf3", _values("iperf3", raw, parameters)) if "address" in raw else None


def _megabits(text: str) -> str:
    """Return a rate as iperf3 reads it (powers of 1000) in Mbit/s."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([kKmMgG]?)", text)
    factor = {"": 1e-6, "k": 1e-3, "m": 1.0, "g": 1e3}
    return "" if match is None else f"{float(match[1]) * factor[match[2].lower()]:.6f}"


_IOPING_FLAGS = MappingProxyType({"-D": ("cache", "direct"), "-C": ("cache", "cached"), "-W": ("operation", "write"),
                                  "-L": ("linear", "yes")})  # fmt: skip
_IOPING_VALUES = MappingProxyType({"-s": "block_size", "-S": "working_set", "-c": "count", "-i": "interval"})


def _ioping(arguments: Sequence[str], parameters: Parameters) -> Recognised | None:
    raw: dict[str, str] = {}
    for name, value in _options(arguments, _IOPING_FLAGS, set(_IOPING_VALUES)):
        if name in _IOPING_FLAGS:
            raw.update([_IOPING_FLAGS[name]])
        elif name in _IOPING_VALUES:
            raw[_IOPING_VALUES[name]] = value
        elif name.startswith("/"):
            raw["directory"] = name
    devices = _devices(raw.get("directory", ""))
    written = devices if raw.get("operation") == "write" else ()
    return Recognised("ioping", _values("ioping", raw, parameters), devices, written)


def _options(words: Sequence[str], flags: Mapping[str, object], valued: set[str]) -> Iterator[tuple[str, str]]:
    """Yield options with their values, as getopt(3) takes them: ``-t 10``, ``-t10``, ``--time=10``."""
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


Reader = Callable[[Sequence[str], Parameters], Recognised | None]

_READERS: Mapping[str, Reader] = MappingProxyType(
    {"dd": _dd, "fio": _fio, "sysbench": _sysbench, "iperf3": _iperf3, "ioping": _ioping}
)
"""The programs that are recognised. cp is not: how large its source is stands nowhere on the line."""

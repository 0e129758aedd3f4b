"""fio's command line, as it is read back."""

import re
from collections.abc import Callable, Mapping, Sequence

from suites.command_line import CommandSyntax, UnreadWord
from suites.errors import ParameterError
from suites.fio_job.command_line import FLAGS, OWN_FLAGS, Options, options_of
from suites.fio_job.file import ALIASES, fio_seconds, fio_size

SILENT = frozenset({"group_reporting", "thread"})
"""Options without a parameter that each step has with the value 1."""

_SPLIT = frozenset(",:/-")

_OTHER_BASE = re.compile(r"[kmgtp]i?b", re.IGNORECASE)
"""Units whose base fio reads the other way round (manual, kb_base)."""


def fio_words(words: Sequence[str]) -> list[str]:
    """Return fio's options as ``--name=value`` with full names, without its name, those of SILENT and other jobs."""
    line = options_of(words)
    found = [*line.files]
    for given, value in _one_job(line.options):
        name = ALIASES.get(given, given)
        if name != "name" and (name not in SILENT or value not in {"", "1"}):
            found.append(_word({"readwrite": "rw"}.get(name, name), value))
    return found


def _one_job(options: Options) -> Options:
    """Return the options that apply to the first job: those before it, and its own."""
    jobs = [at for at, (name, value) in enumerate(options) if name == "name" and value != "global"]
    later = (at for at, (name, _) in enumerate(options) if name == "name" and at > jobs[0]) if jobs else iter(())
    return options[: next(later, None)]


def refused_words(words: Sequence[str]) -> list[UnreadWord]:
    """Return the words of a line of fio that no parameter stands for although its option is known."""
    options = options_of(words).options
    other = options[len(_one_job(options)) :]
    return [UnreadWord(f"--name={value}", "another job; a step has one.") for name, value in other if name == "name"]


def _word(name: str, value: str) -> str:
    if name in FLAGS | OWN_FLAGS and value in {"", "1"}:
        return f"--{name}"
    if name == "rwmixwrite" and value.isdecimal():
        return f"--rwmixread={100 - int(value)}"
    several = name == "bs" and _SPLIT & set(value)
    return f"--{'bssplit' if several else name}={value}"


def _seconds(text: str) -> str:
    seconds = fio_seconds(text)
    if seconds is None:
        raise ValueError(text)
    return str(seconds)


def _size(text: str) -> str:
    size = fio_size(text)
    if size is None:
        raise ValueError(text)
    return str(size)


def _sizes(text: str) -> str:
    """Return one of several sizes, such as those of a sweep, unchanged if fio and Benchwright read it alike."""
    if _OTHER_BASE.search(text):
        raise ParameterError(f"{text} has another unit.", "Only k and m: fio reads KiB as 1000 bytes and kB as 1024.")
    return text


def _path(text: str) -> str:
    if not text.startswith("/dev/"):
        raise ParameterError(f"{text} is not a device.", "Only a device: a step has files of its own.")
    return text.replace("\\:", ":")


FIO_TEXTS: Mapping[str, Callable[[str], str]] = {
    "device": _path,
    **dict.fromkeys(("block_size", "size"), _size),
    **dict.fromkeys(("block_sizes", "blocks"), _sizes),
    **dict.fromkeys(("runtime", "ramp_time", "steady_duration", "steady_ramp"), _seconds),
}

FIO_SYNTAX = CommandSyntax(
    ("fio",),
    extra={
        "--bs": "block_size",
        "--bsrange": "block_sizes",
        "--bssplit": "block_sizes",
        "--directory": "directory",
        "--runtime": "runtime",
        "--steadystate_duration": "steady_duration",
        "--steadystate_ramp_time": "steady_ramp",
    },
    invisible=frozenset({"block_sizes", "runtime"}),
    texts=FIO_TEXTS,
    unshown=frozenset({"directory"}),
    normalised=fio_words,
    refused=refused_words,
)

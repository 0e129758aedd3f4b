"""fio's command line, as it is read back."""

import re
from collections.abc import Callable, Mapping, Sequence

from suites.command_line import CommandSyntax, Respelled, UnreadWord, as_typed
from suites.errors import ParameterError
from suites.fio_job.command_line import FLAGS, OWN_FLAGS, Options, options_of
from suites.fio_job.file import ALIASES, fio_seconds, fio_size
from suites.fio_job.targets import parts

SILENT = frozenset({"group_reporting", "thread", "unlink"})
"""Options without a parameter that a step has with the value 1, or may have: its files are removed in any case."""

ONE_FILE = "one file or directory only; “fio job file” runs several."

THREADS = UnreadWord("--thread", "added; without it fio runs processes, as “thread=0” in a job file.", blocks=False)

_SPLIT = frozenset(",:/-")

_OTHER_BASE = re.compile(r"[kmgtp]i?b", re.IGNORECASE)
"""Units whose base fio reads the other way round (manual, kb_base)."""


def fio_words(words: Sequence[str]) -> list[str]:
    """Return fio's options as ``--name=value`` with full names.

    Those of SILENT and of other jobs, the job's name and a runtime that does not determine its end are left out.
    """
    own = _one_job(words)
    ignored = {"name"} if _loops(own) else {"name", "runtime"}
    kept = [
        (name, value) for name, value in own if name not in ignored and (name not in SILENT or value not in {"", "1"})
    ]
    return [*options_of(words).files, *(Respelled(_word(name, value), name) for name, value in kept)]


def _one_job(words: Sequence[str]) -> Options:
    """Return the options that apply to the first job, those before it and its own, without aliases."""
    options: Options = [(Respelled(ALIASES.get(name, name), name), value) for name, value in options_of(words).options]
    names = [at for at, (name, _) in enumerate(options) if name == "name"]
    first = next((number for number, at in enumerate(names) if options[at][1] != "global"), len(names))
    return options[: next(iter(names[first + 1 :]), None)]


def refused_words(words: Sequence[str]) -> list[UnreadWord]:
    """Return the words of a line of fio whose option is known, and whose value has no parameter."""
    own = _one_job(words)
    names = [name for name, _ in own]
    jobs = [name for name, _ in options_of(words).options[len(own) :] if name == "name"]
    files = [name for name in names if name == "filename"][1:]  # they add up
    ends = [] if _loops(own) else [name for name, value in own if name == "runtime" and fio_seconds(value) != 0]
    return [
        *(UnreadWord(as_typed(word), "another job; a step has one.") for word in jobs),
        *(UnreadWord(as_typed(word), ONE_FILE) for word in files),
        *(UnreadWord(as_typed(word), "needs --time_based: a step ends by its time or its size.") for word in ends),
        *([] if not own or "thread" in names else [THREADS]),
    ]


def _loops(options: Options) -> bool:
    """Return whether a job loops over its file until its runtime is over; without this, it ends with the file."""
    return dict(options).get("time_based", "0") in {"", "1"}


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


def _one(text: str) -> str:
    """Return the one name in a list that colons separate."""
    names = parts(text)
    if len(names) != 1:
        raise ParameterError(f"{text} is not one name.", ONE_FILE)
    return names[0]


def devices_typed(text: str) -> str:
    """Return the devices in a list of fio's, as the parameter has them."""
    names = parts(text)
    if not names or not all(name.startswith("/dev/") for name in names):
        raise ParameterError(f"{text} is not a device.", "Only a device: a step has files of its own.")
    return ":".join(names)


def _device(text: str) -> str:
    devices_typed(text)
    return _one(text)


FIO_TEXTS: Mapping[str, Callable[[str], str]] = {
    "device": _device,
    "directory": _one,
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

"""A step's fio commands as the job file that does the same."""

from collections.abc import Iterable, Mapping, Sequence

from suites.base import Command, Purpose
from suites.fio.commands import NAME

_NOT_OF_A_JOB = ("--output-format", "--status-interval", "--readonly")
"""Options of fio itself, which a job file cannot hold."""

MOST_OF_ONE = 2
"""Commands of a step that measures once: the layout and the measurement."""

_FILES = "filename_format"


def job_file_of(commands: Sequence[Command]) -> str:
    """Return `commands` as one job file: a section for each, one after the other, what they share in [global]."""
    sections = [(_name(command, len(commands)), _options(command)) for command in commands]
    if not any(name in options for _, options in sections for name in ("filename", _FILES)):
        # The files are named after the job; here the sections' names differ.
        for _, options in sections:
            options[_FILES] = f"{NAME}.$jobnum.$filenum"
    shared = {
        name: value
        for name, value in sections[0][1].items()
        if all(options.get(name) == value for _, options in sections)
    }
    lines = ["; Written by Benchwright. Run it with:", f"; {_line(commands)}", "[global]", *_lines(shared)]
    for number, (name, options) in enumerate(sections):
        own = {option: value for option, value in options.items() if option not in shared}
        lines += ["", f"[{name}]", *(["stonewall"] if number else []), *_lines(own)]
    return "\n".join(lines) + "\n"


def _line(commands: Iterable[Command]) -> str:
    words = [word for command in commands for word in command.argv if word.startswith(_NOT_OF_A_JOB)]
    return " ".join(["fio", *dict.fromkeys(words), "FILE"])


def _options(command: Command) -> dict[str, str]:
    """Return the options of the job by name; those without a value have none here either."""
    words = [word.removeprefix("--") for word in command.argv[1:] if not word.startswith(_NOT_OF_A_JOB)]
    found = dict(word.partition("=")[::2] for word in words)
    found.pop("name", None)
    return found


def _lines(options: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" if value else name for name, value in options.items()]


def _name(command: Command, commands: int) -> str:
    if command.purpose is Purpose.PREPARE:
        return "layout"
    options = _options(command)
    point = ", ".join(f"{name} {options[name]}" for name in ("bs", "numjobs", "iodepth") if name in options)
    return NAME if commands <= MOST_OF_ONE else point

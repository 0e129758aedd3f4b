"""fio job files: read as fio reads them, and each section's effective options, so that they can be judged before."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from suites.errors import BenchwrightError
from suites.facts import Facts, known

MAXIMUM_LINES = 2000

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "readwrite": "rw",
        "blocksize": "bs",
        "blocksize_range": "bsrange",
        "blockalign": "ba",
        "timeout": "runtime",
        "wait_for_previous": "stonewall",
        "iodepth_batch_submit": "iodepth_batch",
        "startdelay": "start_delay",
        "stopwhen": "exitall",
        "sync_file": "sync",
    }
)
"""Other spellings that fio accepts (options.c, alias)."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_KEYWORD = re.compile(r"\$(pagesize|mb_memory|ncpus)\b")
_SUM = re.compile(r"(\d{1,15})\s*([-+*/])\s*(\d{1,15})([kKmMgGtT]?)")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[^\s\x00-\x1f]*")


class JobFileError(BenchwrightError):
    """A job file cannot be read as fio reads one."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section with the options that rule it: its own over those of [global] before it.

    `options` are by fio's chief name; an option without a value is "1". `missing` are variables without a value.
    """

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    def number(self, name: str, default: int) -> int:
        """Return an option that is a whole number, of the first direction where it has several."""
        text = self.options.get(name, "").split(",")[0].strip()
        return int(text) if re.fullmatch(r"\d{1,9}", text) else default

    def flag(self, name: str) -> bool:
        """Return an option that is on or off; off where it is not given."""
        return self.options.get(name, "0").strip() not in {"0", "false"}


def read_job_file(text: str) -> tuple[Section, ...]:
    """Return the sections of a job file as they are written, in order; [global] is spread over those after it.

    Raises JobFileError naming the line that is none.
    """
    shared: dict[str, str] = {}
    found: list[tuple[str, dict[str, str]]] = []
    current: dict[str, str] | None = None
    for number, line in enumerate(_lines(text), 1):
        if not line:
            continue
        if line.startswith("["):
            name = _section_name(line, number)
            current = shared if name == "global" else dict(shared)
            if current is not shared:
                found.append((name, current))
        else:
            if current is None:
                raise JobFileError(f"Line {number} stands before any section: “{line[:60]}”.", "Begin with [global].")
            option, value = _option(line, number)
            current[option] = value
    if not found:
        raise JobFileError("The job file has no section.", "Add at least one, such as [job], with its options below.")
    return tuple(Section(name, options) for name, options in found)


def effective_sections(
    text: str, environment: Mapping[str, str] | None = None, facts: Facts | None = None
) -> tuple[Section, ...]:
    """Return the sections as they will run: variables from `environment`, `$ncpus` and its kin from `facts`.

    A keyword whose value the facts do not tell stays as it is written. Raises JobFileError.
    """
    keywords = _keywords(facts)
    return tuple(_expanded(section, environment or {}, keywords) for section in read_job_file(text))


def read_environment(text: str) -> dict[str, str]:
    """Return the variables in ``A=1 B=/data``; raise JobFileError for a word that sets none."""
    words = text.split()
    for word in words:
        if not _ASSIGNMENT.fullmatch(word):
            raise JobFileError(f"“{word[:60]}” sets no variable.", "Write NAME=value, and the next after a space.")
    return dict(word.split("=", 1) for word in words)


def _lines(text: str) -> Iterator[str]:
    """Yield the lines without comments, as strip_blank_end of fio's init.c leaves them."""
    lines = text.splitlines()
    if len(lines) > MAXIMUM_LINES:
        raise JobFileError(f"The job file has {len(lines)} lines.", f"At most {MAXIMUM_LINES} are read.")
    for line in lines:
        yield re.split("[;#]", line, maxsplit=1)[0].strip()


def _section_name(line: str, number: int) -> str:
    match = re.fullmatch(r"\[([^\]]{1,200})\]", line)
    if match is None:
        raise JobFileError(f"Line {number} is no section: “{line[:60]}”.", "Write [name], alone on its line.")
    return match[1].strip()


def _option(line: str, number: int) -> tuple[str, str]:
    if re.match(r"include\s", line):
        raise JobFileError(
            f"Line {number} includes another file: “{line[:60]}”.", "Put the content of that file in its place."
        )
    name, equals, value = line.partition("=")
    name = name.strip()
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise JobFileError(f"Line {number} is no option: “{line[:60]}”.", "Write name=value.")
    return ALIASES.get(name, name), value.strip() if equals else "1"


def _keywords(facts: Facts | None) -> dict[str, str]:
    if facts is None:
        return {}
    memory, cpus, page = known(facts.memory.total), known(facts.cpu.threads), known(facts.memory.page_size)
    found: dict[str, str] = {}
    if page is not None:
        found["pagesize"] = str(page)
    if memory is not None:
        found["mb_memory"] = str(memory // 2**20)
    if cpus is not None:
        found["ncpus"] = str(cpus)
    return found


def _expanded(section: Section, environment: Mapping[str, str], keywords: Mapping[str, str]) -> Section:
    missing: dict[str, None] = {}

    def variable(match: re.Match[str]) -> str:
        if match[1] not in environment:
            missing[match[1]] = None
        return environment.get(match[1], "")

    options = {}
    for name, value in section.options.items():
        given = _VARIABLE.sub(variable, value)
        options[name] = _calculated(_KEYWORD.sub(lambda match: keywords.get(match[1], match[0]), given))
    return Section(section.name, options, tuple(missing))


def _calculated(value: str) -> str:
    """Return the result of one sum, as fio has it from bc; anything else as it is."""
    match = _SUM.fullmatch(value.strip())
    if match is None or (match[2] == "/" and int(match[3]) == 0):
        return value
    one, other = int(match[1]), int(match[3])
    results = {"+": one + other, "-": one - other, "*": one * other, "/": one // other if other else 0}
    return f"{results[match[2]]}{match[4]}"

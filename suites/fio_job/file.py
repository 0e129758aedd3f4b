"""fio job files: read as fio reads them, and each section's effective options, so that they can be judged before."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from suites.errors import BenchwrightError
from suites.facts import Facts, known
from suites.fio_job.options import ALIASES

MAXIMUM_LINES = 2000

MAXIMUM_LINE = 4095
"""Bytes. fio takes what is beyond for a line of its own (OPT_LEN_MAX: 4096 before fio 3.6, 8192 since)."""

BLANKS = " \t\v\f\r"
"""What isspace(3) takes for blank in the C locale, which fio runs in; a no-break space or U+0085 is text to it."""

VARIABLE = re.compile(r"\$\{([^}]*)\}")
_KEYWORD = re.compile(r"\$(pagesize|mb_memory|ncpus)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SUM = re.compile(r"(\d{1,15})\s*([-+*/])\s*(\d{1,15})([kKmMgGtT]?)")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[^\s\x00-\x1f]*")
_LOADER = re.compile(r"LD_\w*|GLIBC_TUNABLES|GCONV_PATH|LOCPATH|NLSPATH|PATH|IFS|ENV|BASH_ENV|SHELLOPTS|PS4|TMPDIR")
"""Variables that decide which programs and libraries are run, or where files of fio's own go."""

PATHS = frozenset({"filename", "directory", "filename_format", "write_iolog", "mem", "name", "write_bw_log",
                   "write_lat_log", "write_iops_log", "write_hist_log"})  # fmt: skip
"""Options whose value is a path or a part of one."""

Option = tuple[str, str]


class JobFileError(BenchwrightError):
    """A job file cannot be read as fio reads one."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section with the options that rule it: its own over those of [global] before it.

    `options` are by fio's chief name; an option without a value is "1". `missing` are variables without a value.
    `bodies` are all of them in the order of the file, those of each [global] and last its own: file names add up.
    """

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    bodies: tuple[tuple[Option, ...], ...] = ()

    def number(self, name: str, default: int) -> int:
        """Return an option that is a whole number, of the first direction where it has several."""
        text = self.options.get(name, "").split(",")[0].strip()
        return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else default

    def flag(self, name: str) -> bool:
        """Return an option that is on or off; off where it is not given."""
        return self.options.get(name, "0").strip() not in {"0", "false"}

    def all_bodies(self) -> tuple[tuple[Option, ...], ...]:
        """Return the bodies; of a section that was read from no file, its options as one."""
        return self.bodies or (tuple(self.options.items()),)


def section_of(name: str, *bodies: Sequence[Option]) -> Section:
    """Return the section that consists of `bodies`, the last its own."""
    given = tuple(tuple((ALIASES.get(key, key), value) for key, value in body) for body in bodies)
    return Section(name, dict(option for body in given for option in body), bodies=given)


def read_job_file(text: str) -> tuple[Section, ...]:
    """Return the sections of a job file as they are written, in order; [global] is spread over those after it.

    Raises JobFileError naming the line that is none.
    """
    shared: list[tuple[Option, ...]] = []
    found: list[tuple[str, tuple[tuple[Option, ...], ...], list[Option]]] = []
    current: list[Option] | None = None
    in_global = False
    for number, line in _lines(text):
        if line.startswith("["):
            name = _section_name(line, number)
            if in_global and current is not None:
                shared.append(tuple(current))
            current, in_global = [], name.startswith("global")  # fio compares no more than these six letters
            if not in_global:
                found.append((name, tuple(shared), current))
        elif current is None:
            raise JobFileError(f"Line {number} stands before any section: “{line[:60]}”.", "Begin with [global].")
        else:
            current.append(_option(line, number))
    if not found:
        raise JobFileError("The job file has no section.", "Add at least one, such as [job], with its options below.")
    return tuple(_section(name, (*before, tuple(own))) for name, before, own in found)


def effective_sections(
    text: str, environment: Mapping[str, str] | None = None, facts: Facts | None = None
) -> tuple[Section, ...]:
    """Return the sections as they will run: variables from `environment`, `$ncpus` and its kin from `facts`.

    A keyword whose value the facts do not tell stays as it is written. Raises JobFileError.
    """
    keywords = _keywords(facts)
    return tuple(_expanded(section, environment or {}, keywords) for section in read_job_file(text))


def read_environment(text: str) -> dict[str, str]:
    """Return the variables in ``A=1 B=/data``; raise JobFileError for a word that sets none, or sets what must not be.

    A variable that chooses programs or libraries has no place in a job file.
    """
    words = text.split()
    for word in words:
        name, _, value = word.partition("=")
        if not _ASSIGNMENT.fullmatch(word):
            raise JobFileError(f"“{word[:60]}” sets no variable.", "Write NAME=value, and the next after a space.")
        if _LOADER.fullmatch(name):
            raise JobFileError(f"{name} decides which programs and libraries fio runs.", f"Remove {name} from it.")
        if re.search(r"[;#]|\$\{", value) or _KEYWORD.search(value):
            raise JobFileError(
                f"{name} has a sign that means something to fio: “{value[:60]}”.", "Write a plain value."
            )
    return dict(word.split("=", 1) for word in words)


def _section(name: str, bodies: tuple[tuple[Option, ...], ...], missing: tuple[str, ...] = ()) -> Section:
    return Section(name, dict(option for body in bodies for option in body), missing, bodies)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty with their numbers, as init.c and strip_blank_end of parse.c leave them.

    A line ends at a newline and nowhere else.
    """
    lines = text.removesuffix("\n").split("\n")
    if len(lines) > MAXIMUM_LINES:
        raise JobFileError(f"The job file has {len(lines)} lines.", f"At most {MAXIMUM_LINES} are read.")
    for number, whole in enumerate(lines, 1):
        if len(whole.encode("utf-8", "replace")) > MAXIMUM_LINE:
            raise JobFileError(f"Line {number} is longer than the {MAXIMUM_LINE} bytes that fio reads.", "Shorten it.")
        line = re.split("[;#]", whole, maxsplit=1)[0].strip(BLANKS)
        if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", line):
            raise JobFileError(f"Line {number} has a control character.", "Remove it.")
        if line:
            yield number, line


def _section_name(line: str, number: int) -> str:
    match = re.fullmatch(r"\[([^\]]{1,200})\]", line)
    if match is None or len(match[1].encode("utf-8", "replace")) > 200:
        raise JobFileError(f"Line {number} is no section: “{line[:60]}”.", "Write [name], alone on its line.")
    return match[1]


def _option(line: str, number: int) -> Option:
    if line.startswith("include"):  # whatever follows: fio looks no further
        raise JobFileError(
            f"Line {number} includes another file: “{line[:60]}”.", "Put the content of that file in its place."
        )
    name, equals, value = line.partition("=")
    name = ALIASES.get(name.rstrip(BLANKS), name.rstrip(BLANKS))
    if not _NAME.fullmatch(name):
        raise JobFileError(f"Line {number} is no option: “{line[:60]}”.", "Write name=value.")
    if "${" in VARIABLE.sub("", value):
        raise JobFileError(f"Line {number} has a variable without an end: “{line[:60]}”.", "Write ${NAME}.")
    if name in PATHS and _KEYWORD.search(value):
        raise JobFileError(f"Line {number} has a keyword in a path: “{line[:60]}”.", "Write the number.")
    return name, value.strip(BLANKS) if equals else "1"


def _expanded(section: Section, environment: Mapping[str, str], keywords: Mapping[str, str]) -> Section:
    """Return `section` with variables and keywords expanded as in options.c, fio_option_dup_subs and
    fio_keyword_replace; what has no value is noted as missing, and empty as in fio."""

    def expand(name: str, value: str) -> str:
        given = VARIABLE.sub(lambda match: environment.get(match[1], ""), value)
        replaced = _KEYWORD.sub(lambda match: keywords.get(match[1], match[0]), given)
        if "${" in given or (name in PATHS and replaced != given):
            raise JobFileError(
                f"[{section.name}] has {name}={value[:60]}, which is expanded twice.", "Write its value."
            )
        return _calculated(replaced) if replaced != given else given

    ruling = [*section.options.items(), *(option for body in section.bodies for option in body if option[0] in PATHS)]
    missing = [name for _, value in ruling for name in VARIABLE.findall(value) if name not in environment]
    bodies = tuple(tuple((name, expand(name, value)) for name, value in body) for body in section.bodies)
    return _section(section.name, bodies, tuple(dict.fromkeys(missing)))


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


def _calculated(value: str) -> str:
    """Return the result of one sum, as fio has it from bc; anything else as it is."""
    match = _SUM.fullmatch(value.strip(BLANKS))
    if match is None or (match[2] == "/" and int(match[3]) == 0):
        return value
    one, other = int(match[1]), int(match[3])
    results = {"+": one + other, "-": one - other, "*": one * other, "/": one // other if other else 0}
    return f"{results[match[2]]}{match[4]}"

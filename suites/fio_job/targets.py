"""Targets of a job file section: the files it opens and the programs it runs, and why some cannot be checked."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from suites.fio_job.file import (
    CHANGING_ENGINES,
    ENGINES,
    FILE_ENGINES,
    IDLE_ENGINES,
    KNOWN,
    REFUSED,
    Option,
    Section,
    fio_size,
)
from suites.targets import ANY_SIZE, Match, PathUse, Target, refused

_LOGS = {
    "write_bw_log": ("bw",),
    "write_iops_log": ("iops",),
    "write_lat_log": ("lat", "slat", "clat"),
    "write_hist_log": ("clat_hist",),
}
_RUNS = {"exec_prerun": "prerun", "exec_postrun": "postrun"}
_SINGLE_VALUED = frozenset({"rw", "ioengine", "directory", "filename_format", "mem", "name", "size", "filesize",
                            "offset", "write_iolog", "program", "arguments", *_LOGS, *_RUNS})  # fmt: skip
"""Options of which fio applies only one of several: the C library's qsort(3) decides which."""

_REMOVING = ("unlink", "unlink_each_loop")
_TRIMMING = ("trim_percentage", "trim_backlog", "trim_backlog_batch")
_NUMBERS = re.compile(r"\$(?:jobnum|filenum)", re.IGNORECASE)
_KEYWORDS = re.compile(r"\$(?:jobname|jobnum|filenum|clientuid)", re.IGNORECASE)
"""Keywords that fio replaces in generated names (init.c, make_filename)."""
_SHARE = re.compile(r"0*(?:[1-9]\d?|100)%")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.+-]+")


def targets_of(sections: Sequence[Section]) -> tuple[Target, ...]:
    """Return the targets of `sections` relative to fio's directory, including those that cannot be checked."""
    unjudged = tuple(refused(f"[{section.name}] {reason}.") for section in sections for reason in _refusals(section))
    return (*unjudged, *(target for section in sections for target in opened(section)))


def pattern_of(section: Section) -> str:
    """Return the rw pattern without suffixes: “randrw” for “randrw:8”."""
    pattern = section.options.get("rw", "read").split(":")[0].split(",")[0].strip()
    return {"readwrite": "rw"}.get(pattern, pattern)


def section_writes(section: Section) -> bool:
    """Whether the pattern writes or trims."""
    return pattern_of(section) not in {"read", "randread"}


def changes_files(section: Section) -> bool:
    """Whether the section writes, truncates or removes its files, whatever its pattern."""
    removes = any(section.flag(name) for name in _REMOVING)
    trims = any(section.flag(name) for name in _TRIMMING)
    engine = engine_of(section)
    return removes or engine in CHANGING_ENGINES or (engine not in IDLE_ENGINES and (trims or section_writes(section)))


def engine_of(section: Section) -> str:
    """Return the engine; fio's default on Linux if the section names none."""
    return section.options.get("ioengine", "psync")


def programs(section: Section) -> tuple[str, ...]:
    """Return the command lines that fio runs for the section, verbatim, and engines it loads."""
    found = [section.options[name] for name in _RUNS if name in section.options]
    engine = engine_of(section)
    if engine == "exec":
        found.append(f"{section.options.get('program', '')} {section.options.get('arguments', '')}".strip())
    elif engine not in ENGINES:
        found.append(f"ioengine={engine}")
    return tuple(found)


def names_of(section: Section) -> tuple[str, ...]:
    """Return every path that the section names or derives, joining directory and name as fio does."""
    return tuple(dict.fromkeys(target.path for target in _files(section, PathUse.WRITE, 0)))


def opened(section: Section) -> Iterator[Target]:
    """Yield the targets of a section that can be checked."""
    if changes_files(section):
        yield from _files(section, PathUse.WRITE, 0)
    elif engine_of(section) in FILE_ENGINES:
        yield from _files(section, PathUse.READ, laid_out(section))
    yield from map(Target, _outputs(section))
    for option, kinds in _LOGS.items():
        if option in section.options:
            for base in dict.fromkeys((section.options[option], _name(section))):
                yield from (Target(f"{base}_{kind}", match=Match.NUMBERED) for kind in kinds)


def external_dependencies(section: Section) -> Iterator[str]:
    """Yield why a section's targets depend on other files or the host; the text follows the section's name."""
    yield from (f"has {name}, which {why}" for name, why in REFUSED.items() if name in section.options)
    form = section.options.get("filename_format", "")
    if _KEYWORDS.search(section.name):
        yield "has a keyword of fio in its name, which fio replaces in file names; use another name"
    if re.search(r"\$clientuid", form, re.IGNORECASE):
        yield "has $clientuid in filename_format, which an fio server expands; remove it"
    number = _NUMBERS.search(form)
    if number and ("/" in form[number.start() :] or ".." in form[number.start() :]):
        yield "has a directory after a number in filename_format; put numbers after the last slash"


def _outputs(section: Section) -> Iterator[str]:
    """Yield the files that the section writes besides its data and its logs of figures."""
    options, name = section.options, _name(section)
    if "write_iolog" in options:
        yield options["write_iolog"]
    memory, _, path = options.get("mem", "").partition(":")
    if memory.startswith("mmap") and path:
        yield path.strip()
    yield from (f"{name}.{word}.txt" for option, word in _RUNS.items() if option in options)
    if engine_of(section) == "exec":
        yield from (f"{name}.stdout", f"{name}.stderr")


def _name(section: Section) -> str:
    """Return the name that log files begin with: one of [global] gives way to that in the brackets."""
    own = _values(section.all_bodies()[-1], "name")
    return own[-1] if own else section.name


def _files(section: Section, use: PathUse, size: int) -> Iterator[Target]:
    """Yield the data files and devices of a section. Names of [global] and of its own add up."""
    named = False
    directories = [""]
    for body in section.all_bodies():
        directories = [part for each in _values(body, "directory")[-1:] for part in parts(each)] or directories
        for value in _values(body, "filename"):
            for name in parts(value):
                named = True
                yield from (Target(_below(directory, name), use, size=size) for directory in directories)
    if not named:
        for directory in directories:
            # An existing file or device with the section's own name in fio's directory is used as the data file.
            yield Target(_below(directory, section.name), use, size=size)
            path, match = _file_name_prefix(section)
            yield Target(_below(directory, path), use, match, size)


def _file_name_prefix(section: Section) -> tuple[str, Match]:
    """Return the prefix of file names derived from the section's name, and what follows (init.c, make_filename)."""
    form = section.options.get("filename_format", "")
    if not form:
        return f"{section.name}.", Match.NUMBERED
    given = re.sub(r"\$jobname", lambda _: section.name, form, flags=re.IGNORECASE)
    number = _NUMBERS.search(given)
    return (given, Match.EXACT) if number is None else (given[: number.start()], Match.PREFIX)


def parts(value: str) -> tuple[str, ...]:
    r"""Return the names in `value`, which colons separate; “\\:” is a colon in a name (options.c, get_next_str)."""
    return tuple(name.replace("\\:", ":") for name in re.split(r"(?<!\\):", value.strip()) if name)


def _below(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _values(body: Sequence[Option], name: str) -> list[str]:
    return [value for key, value in body if key == name]


def laid_out(section: Section) -> int:
    """Return the minimum size of a file below which a read-only section lays it out again (setup_files)."""
    if section.flag("fill_device") or section.flag("file_append"):
        return ANY_SIZE
    size, named = section.options.get("size", ""), section.options.get("filesize", "").split("-")[-1]
    if named.endswith("%") or (size.endswith("%") and not _SHARE.fullmatch(size)):
        return ANY_SIZE
    sizes = [each for each in (size, named) if each and not each.endswith("%")]
    if not sizes:
        return 0
    start, step = (_bytes(section, section.options.get(name, "0")) for name in ("offset", "offset_increment"))
    longest = max(_bytes(section, each) for each in sizes)
    return min(
        ANY_SIZE, longest + start + step * section.number("numjobs", 1 if "numjobs" not in section.options else 10**6)
    )


def _bytes(section: Section, text: str) -> int:
    found = fio_size(text)
    if found is None:
        return ANY_SIZE
    other = fio_size(re.sub(r"[iI]?[bB]?$", "", text)) or found  # with another kb_base, k and Ki are swapped
    return max(found, other) if "kb_base" in section.options else found


def _refusals(section: Section) -> Iterator[str]:
    """Yield why a section cannot be checked; the text follows the section's name."""
    options = section.options
    yield from external_dependencies(section)
    unknown = [name for name in options if name not in KNOWN and name not in REFUSED]
    if unknown:
        yield f"has {', '.join(unknown[:5])}, unknown to Benchwright: its effect on files cannot be checked"
    engine = engine_of(section)
    if engine not in ENGINES:
        yield f"has ioengine={engine[:60]}: the files that engine opens cannot be checked"
    own = Counter(dict.fromkeys(section.all_bodies()[-1]).keys())
    repeated = Counter(name for name, _ in own if name in _SINGLE_VALUED)
    yield from (f"sets {name} more than once" for name, times in repeated.items() if times > 1)
    if any(name in options for name in _RUNS) and not _PLAIN_NAME.fullmatch(_name(section)):
        yield "runs programs, and its name would be part of their shell’s line; use letters, digits and dashes"

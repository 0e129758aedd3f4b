"""Read the outputs in files, folders and standard input."""

import codecs
import hashlib
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from app.events import OutputSource
from app.formats import facts_from_json, read_json
from app.output import SQLITE
from app.outputs.found import MAXIMUM_SIZE, MOST_OUTPUTS, Between, FoundOutput, Recognition, go_on
from app.outputs.judging import UNKNOWN_HOST, JudgedOutput, KnownHost, judged_output, not_read_text
from app.outputs.pasted_text import decoded
from app.outputs.recognition import recognise
from app.outputs.tables import MappingOf, TableRun, mapping_for, no_mapping, runs_in, unmapped_text
from app.store.embedded_library import is_report
from remote.local_file import read_bounded
from remote.telemetry.statistics_text import statistics_samples
from suites.errors import BenchwrightError
from suites.quantities import count_text, quantity
from suites.read_only.csv_table import TableContent, is_table, read_table
from suites.read_only.table_mapping import TableError, TableMapping
from suites.vocab import Sample

MOST_BESIDE = 64 * 2**20
"""Bytes of facts or telemetry beside an output."""

MOST_FILES = 100_000
"""Files and folders in folders that are read."""


GZIP = b"\x1f\x8b"
"""The bytes with which a gzip file begins, as flent’s data files do."""


class UnreadableOutputError(BenchwrightError):
    """A file cannot be read, or is too long."""


@dataclass(frozen=True, slots=True)
class JudgedFile:
    """The results in a file with their verdicts. `problem` is why there is none; `left_over` as in Recognition.

    `unmapped`: it is a table whose columns have no mapping. `mapping` is that of a table, `runs` are its runs.
    """

    source: OutputSource
    outputs: tuple[JudgedOutput, ...] = ()
    left_over: int = 0
    problem: str = ""
    unmapped: bool = False
    mapping: TableMapping | None = None
    runs: Sequence[TableRun] = ()

    @property
    def left_over_text(self) -> str:
        """How many lines beside the results were not read, and why; empty if there are none."""
        why = f"after the first {MOST_OUTPUTS:,} results" if len(self.outputs) >= MOST_OUTPUTS else "of no result"
        return f"{count_text(self.left_over, 'line')} not read: {why}." if self.outputs and self.left_over else ""


@dataclass(frozen=True, slots=True)
class OutputText:
    """A text that is no file: pasted, or from standard input."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class UnreadSource:
    """What a folder contains and is not read, and the `problem` that is why: a folder, a FIFO, a link to a folder."""

    name: str
    problem: str


Source = Path | OutputText | UnreadSource
"""What outputs are read from."""


def sources_in(sources: Iterable[Source]) -> list[Source]:
    """Return `sources` with each folder replaced by what is in it and below, in the order of the names.

    Links to folders are not followed. What is no file, or cannot be read, is an UnreadSource, so that every entry is
    counted; so is what exceeds MOST_FILES.
    """
    found: list[Source] = []
    for source in sources:
        if isinstance(source, Path) and os.path.isdir(source):  # noqa: PTH112 (is_dir() raises PermissionError)
            found += _inside(source, MOST_FILES - len(found))
        else:
            found.append(source)
    return found


def _inside(folder: Path, most: int) -> Iterator[Source]:
    """Yield at most `most` entries of a folder and those below, then one for the rest. The depth is not limited."""
    waiting, visited = [str(folder)], 0
    while waiting:
        path = waiting.pop()
        visited += 1
        if visited > most:
            yield UnreadSource(str(folder), f"More than {MOST_FILES:,} files: those after {path} are not read.")
            return
        name = os.path.basename(path)  # noqa: PTH119 (Path is slow for so many)
        try:
            mode = os.lstat(path).st_mode
            if stat.S_ISDIR(mode) or path == str(folder):
                with os.scandir(path) as entries:
                    waiting += sorted((one.path for one in islice(entries, most + 1)), reverse=True)
            elif stat.S_ISLNK(mode) and os.path.isdir(path):  # noqa: PTH112
                yield UnreadSource(name, "Symbolic link to a folder: not followed.")
            elif stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
                yield Path(path)
            else:
                yield UnreadSource(name, "No regular file: not read.")
        except OSError as error:
            yield UnreadSource(name, f"Cannot be read: {error.strerror}.")


def content_of(source: Source) -> tuple[str, bytes | str]:
    """Return the name and the content of a source, or instead of that why it cannot be read."""
    if isinstance(source, UnreadSource):
        return source.name, source.problem
    if isinstance(source, OutputText):
        return source.name, source.content
    try:
        if source.stat().st_size > MAXIMUM_SIZE:
            return source.name, _too_large()
        return source.name, read_bounded(source, MAXIMUM_SIZE)
    except OSError as error:
        return source.name, f"Cannot be read: {error.strerror}."


def _too_large(when: str = "") -> str:
    return f"Larger than {quantity(MAXIMUM_SIZE)}{when}."


def judged_source(
    source: Source, host: KnownHost = UNKNOWN_HOST, mappings: MappingOf = no_mapping, between: Between = go_on
) -> JudgedFile:
    """Return the results in a source with their verdicts; a problem is reported in the result."""
    name, content = content_of(source)
    if isinstance(content, str):
        return JudgedFile(OutputSource(name, ""), problem=content)
    return judged_bytes(name, content, host, mappings, between)


def judged_bytes(
    name: str,
    data: bytes,
    host: KnownHost = UNKNOWN_HOST,
    mappings: MappingOf = no_mapping,
    between: Between = go_on,
) -> JudgedFile:
    """Return the results in `data` with their verdicts; those of a table whose columns have a mapping through it."""
    source = OutputSource(name, hashlib.sha256(data).hexdigest())
    text, problem = _text_of(data)
    if problem:
        return JudgedFile(source, problem=problem)
    try:
        mapping, unreadable = mapping_for(text, mappings), ""
    except TableError as error:  # of the mappings, which most outputs do not need
        mapping, unreadable = None, f"{error.message} {error.remedy}"
    if mapping is not None:
        return _judged_table(source, text, mapping, host, between)
    read = recognise(text, between)
    outputs = _judged_outputs(read.found, source, host, between)
    if not outputs and not read.unread and is_table(text):
        return JudgedFile(source, problem=unreadable) if unreadable else _unmapped_table(source, text)
    return JudgedFile(source, outputs, read.left_over, "" if outputs else _missing(read))


def table_in(source: Source) -> TableContent:
    """Return the table in a source; raise UnreadableOutputError or TableError without one."""
    name, content = content_of(source)
    text, problem = ("", content) if isinstance(content, str) else _text_of(content)
    if problem:
        raise UnreadableOutputError(f"{name}: {problem}", "Check the file.")
    return read_table(text)


def _text_of(data: bytes) -> tuple[str, str]:
    """Return the text of a file, or the problem for which it has none."""
    if len(data) > MAXIMUM_SIZE:
        return "", _too_large()
    if data.startswith(GZIP):
        try:
            data = _unpacked(data)
        except zlib.error:
            return "", "Not a valid gzip file."
        if len(data) > MAXIMUM_SIZE:
            return "", _too_large(" when unpacked")
    if not data.strip():
        return "", "Empty."
    if archive := _archive(data):
        return "", f"{archive} archive: unpack it and give the files in it."
    return ("", "Binary: not the output of a tool as text.") if _is_binary(data) else (decoded(data), "")


def _unmapped_table(source: OutputSource, text: str) -> JudgedFile:
    """Return why there is no result in a table whose columns have no mapping."""
    try:
        return JudgedFile(source, problem=unmapped_text(text), unmapped=True)
    except TableError as error:
        return JudgedFile(source, problem=f"{error.message} {error.remedy}")


def _judged_outputs(
    found: Iterable[FoundOutput], source: OutputSource, host: KnownHost, between: Between
) -> tuple[JudgedOutput, ...]:
    outputs: list[JudgedOutput] = []
    for one in found:
        between()
        outputs.append(judged_output(one, source, host))
    return tuple(outputs)


def _judged_table(
    source: OutputSource, text: str, mapping: TableMapping, host: KnownHost, between: Between
) -> JudgedFile:
    """Return the results in a table, read through a mapping, with their verdicts."""
    try:
        runs = runs_in(text, mapping)
    except TableError as error:
        return JudgedFile(source, problem=f"{error.message} {error.remedy}", unmapped=True, mapping=mapping)
    outputs = _judged_outputs((one for run in runs for one in run.found), source, host, between)
    return JudgedFile(source, outputs, mapping=mapping, runs=runs)


SAMPLED = 2**16
"""Bytes at the beginning of a file by which binary data are recognised."""

_NO_TEXT = bytes(code for code in range(1, 32) if code not in b"\a\b\t\n\v\f\r\x1b")
"""Control characters without NUL, which are in no output: binary data have some 7 % of them, if they are compressed."""

MOST_CONTROLS, MOST_NULS = 0.03, 0.6
"""Shares of these characters, and of NUL, in text; UTF-16 without a byte order mark has 0.5 of NUL."""


_ARCHIVES = {b"PK\x03\x04": "ZIP", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"(\xb5/\xfd": "zstd", b"7z\xbc\xaf": "7-Zip"}


def _archive(data: bytes) -> str:
    """Return the kind of archive that `data` are; empty if they are none."""
    if data[257:262] == b"ustar":
        return "tar"
    return next((kind for begin, kind in _ARCHIVES.items() if data.startswith(begin)), "")


def _is_binary(data: bytes) -> bool:
    """Return whether `data` are no text. To search one for outputs takes 2 s for each megabyte."""
    first = data[:SAMPLED]
    if first.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    controls = len(first) - len(first.translate(None, _NO_TEXT))
    return controls > MOST_CONTROLS * len(first) or first.count(0) > MOST_NULS * len(first)


def _missing(read: Recognition) -> str:
    """Return why a text has no result."""
    if read.cut_off:
        return "Not read: a JSON document has no end. Give the whole document."
    if read.unread:
        first = read.unread[0]
        return not_read_text(first.format, first.line.number, first.line.text, first.notes)
    return "No output of a known tool was recognised."


def _unpacked(data: bytes) -> bytes:
    """Return the content of a gzip file, at most one byte more than is accepted; raise zlib.error."""
    return zlib.decompressobj(wbits=31).decompress(data, MAXIMUM_SIZE + 1)


def known_host(facts: Path | None, telemetry: Sequence[Path] = (), interval: float = 1.0) -> KnownHost:
    """Return what files say of the host: facts as JSON, and telemetry as text of vmstat, iostat -x or sar.

    The telemetry begins with the test, and has a report every `interval` seconds. Raises UnreadableOutputError for a
    file that cannot be read or has no telemetry, FormatError for one without facts.
    """
    read = None if facts is None else facts_from_json(read_json(_content(facts), facts.name))
    samples: list[Sample] = []
    for path in telemetry:
        found = statistics_samples(decoded(_content(path)), interval)
        if not found:
            raise UnreadableOutputError(
                f"{path} has no telemetry.", "Give the output of vmstat 1, iostat -x 1 or sar -u 1."
            )
        samples += found
    return KnownHost(read, tuple(samples))


def host_data(paths: Sequence[Path], interval: float = 1.0) -> KnownHost:
    """Return what files say of the host, each recognised by its content: facts as JSON, or telemetry as text.

    Raises UnreadableOutputError and FormatError like known_host(), and for the facts of two hosts.
    """
    facts = [path for path in paths if _content(path).lstrip()[:1] == b"{"]
    if len(facts) > 1:
        raise UnreadableOutputError("Two files have facts.", "Give the facts of the one host of the outputs.")
    return known_host(facts[0] if facts else None, [path for path in paths if path not in facts], interval)


def _content(path: Path) -> bytes:
    try:
        return read_bounded(path, MOST_BESIDE)
    except OSError as error:
        raise UnreadableOutputError(f"Cannot read {path}: {error.strerror}.", "Check the path.") from error


def has_library(path: Path) -> bool:
    """Return whether the file at `path` is a library or a report with one; a path that cannot be read may be one."""
    try:
        return not path.is_dir() and (is_report(path) or read_bounded(path, len(SQLITE))[: len(SQLITE)] == SQLITE)
    except OSError:
        return True

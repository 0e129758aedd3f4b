"""Outputs of tools that ran elsewhere: how an output is recognised, what it states, and what it leaves open."""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from suites.parameters import Value
from suites.vocab import Figure, Sample


@dataclass(frozen=True, slots=True)
class ParsedTrial:
    """Result of parsing a trial's whole output.

    `complete` is False if the tool failed or was cut off; a note then gives the reason. Figures present in the output
    are kept in either case. `tool_version` is the version and build that the output reports; None uses the host's
    facts.
    """

    figures: tuple[Figure, ...] = ()
    samples: tuple[Sample, ...] = ()
    notes: tuple[str, ...] = ()
    complete: bool = True
    tool_version: str | None = None


NO_DISK, ONLY_READ = "No disk is measured: ", "Rate of reads: "
"""How the note of an output begins whose command neither writes nor reads a disk, or only reads one."""

CACHE_DROPPED = "Page cache dropped before: "
"""How the note of an output begins above which the page cache of the host was dropped."""
LINES_CUT = "Lines are cut: "
"""How the note of an output begins whose lines a program cut within words and which could not be joined."""

OPEN_LOOP = "Open loop: "
"""How the note of an output begins whose latencies include the wait for a free thread or connection."""

_WITHOUT_DISK = re.compile(r"/dev/(?:zero|null|full|u?random|nullb\d+|ram\d+|zram\d+)|(?:/dev/shm|/run)(?:/.*)?")


def is_without_disk(path: str) -> bool:
    """Return whether a path is by its name in memory, computed or discarded, whatever the host."""
    return _WITHOUT_DISK.fullmatch(path) is not None


class TrialParser(Protocol):
    """Incremental parser of one trial's output. Accepts any bytes; never raises."""

    def feed(self, data: bytes, stream: str = "stdout") -> Iterable[Sample]:
        """Parse the next bytes of `stream` ("stdout" or "stderr", possibly merged); yield new samples."""
        ...

    def finish(self, exit_status: int | None = None) -> ParsedTrial:
        """Return the result of the whole output, with all samples. `exit_status` is None if not known."""
        ...


PIECE = 64 * 1024
"""Bytes of an output that are parsed at a time."""


def parse_whole(parser: TrialParser, output: bytes) -> ParsedTrial:
    """Return the result of a whole output, whose exit status is not known."""
    for start in range(0, len(output), PIECE):
        for _sample in parser.feed(output[start : start + PIECE]):
            pass  # finish() returns all samples
    return parser.finish(None)


MOST_POSSIBILITIES = 32
"""Combinations of unstated values for which an output is judged."""


@dataclass(frozen=True, slots=True)
class OutputStart:
    """The start that an output states, in UTC; without a `zone` in the output it is taken as UTC."""

    moment: datetime
    zone: bool


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """One result in an output: its figures, and the parameters of `suite_id` with which they were measured.

    `stated` are the values that the output or the command line before it states; the suite's defaults hold for the
    rest, as the tool's do. `unstated` are the values that a parameter may have had which the output does not state,
    by parameter, the likeliest first. `name` is the tool's own name of the job, if it has several. `seconds` is the
    measured time, None if unknown. `undecided` is why it cannot be judged at all, and what is missing. `begun` is None
    if the output does not state it. `line` is the number of lines of the text before its own.
    """

    suite_id: str
    parsed: ParsedTrial
    stated: Mapping[str, Value] = field(default_factory=dict)
    unstated: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    name: str = ""
    seconds: float | None = None
    undecided: str = ""
    begun: OutputStart | None = None
    line: int = 0

    def with_note(self, note: str) -> "ToolOutput":
        """Return the result with another note."""
        return replace(self, parsed=replace(self.parsed, notes=(*self.parsed.notes, note)))

    def possibilities(self) -> Iterator[dict[str, Value]]:
        """Yield each combination of the values, the likeliest first: one if everything is stated."""
        combined = itertools.product(*self.unstated.values())
        for values in itertools.islice(combined, MOST_POSSIBILITIES):
            yield {**self.stated, **dict(zip(self.unstated, values, strict=True))}


ReadOutput = Callable[[str, str | None], Iterable[ToolOutput]]
"""Reads a text and the command line before it, if there is one, into results; none if it has no figure."""


StartOf = Callable[[str], OutputStart | None]
"""Reads when an output was measured; None if it does not state it."""


def without_start(_text: str) -> None:
    """Return no start: the output states no time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutputFormat:
    """One format of a tool's output.

    `first` matches a line with which an output begins, `line` any line that only such an output has, so that a part
    of one is recognised. `keys` are names at the top of a JSON document, all of which one has; one that is a part of an
    output has one of the values of `parts` at its name. With `joined`, documents that follow one another are read
    together. `free_text` are names in it whose text the user wrote. `begun` reads the start of the earliest result.
    `broken` matches one of its lines and the next line if that is its end, which no tool prints by itself.
    `prints_dots`: the tool itself prints lines of dots alone, which otherwise stand for lines that were left out.
    `several`: one command prints several such outputs. `failed` matches a line, not within a sentence, that a tool
    which did not start prints instead of an output.
    """

    title: str
    read: ReadOutput
    first: re.Pattern[str] | None = None
    line: re.Pattern[str] | None = None
    broken: re.Pattern[str] | None = None
    keys: frozenset[str] = frozenset()
    parts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    joined: bool = False
    free_text: frozenset[str] = frozenset()
    begun: StartOf = without_start
    prints_dots: bool = False
    several: bool = False
    failed: re.Pattern[str] | None = None

    @property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """The patterns of its lines."""
        return tuple(one for one in (self.first, self.line, self.failed) if one is not None)

    def fails(self, line: str) -> bool:
        """Return whether the tool prints `line` instead of an output."""
        return self.failed is not None and self.failed.match(line) is not None

    def begins(self, line: str) -> bool:
        """Return whether `line` is one with which an output begins."""
        return self.first is not None and self.first.match(line) is not None

    def has(self, line: str) -> bool:
        """Return whether only an output of this format has `line`."""
        return any(pattern.match(line) for pattern in self.patterns)

    def is_document(self, content: object) -> bool:
        """Return whether a JSON document has this format."""
        if not isinstance(content, dict):
            return False
        whole = bool(self.keys) and self.keys <= content.keys()
        return whole or any(
            content.get(name) in values for name, values in self.parts.items() if _is_text(content, name)
        )

    def may_be_in(self, text: str) -> bool:
        """Return whether `text` has the names of a document of this format."""
        whole = bool(self.keys) and all(f'"{key}"' in text for key in self.keys)
        return whole or any(f'"{name}"' in text for name in self.parts)


def _is_text(content: Mapping[str, object], name: str) -> bool:
    return isinstance(content.get(name), str)

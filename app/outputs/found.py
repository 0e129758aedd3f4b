"""Results that were found in a text, and the limits of what is sought."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from app.outputs.pasted_text import Line, has_markup
from suites import registry
from suites.outputs import OutputFormat, ToolOutput

MAXIMUM_SIZE = 256 * 2**20
"""Largest accepted output in bytes: a day of fio with one JSON document a second."""

MOST_OUTPUTS = 1000
"""Outputs of one text that are read."""

Between = Callable[[], None]
"""Called between parts of work that takes a minute for the largest text; what it raises ends that."""


def go_on() -> None:
    """Continue with the next part."""


@cache
def formats() -> Mapping[OutputFormat, str]:
    """Return every format, and the name of its tool."""
    return registry.output_formats()


@dataclass(frozen=True, slots=True)
class FoundOutput:
    """A result in a text: its format, the text it was read from, its first line (from 1), and the command line.

    `command` is empty if the text has none before the output; one that is a loop precedes several.
    """

    format: str
    output: ToolOutput
    text: str
    first_line: int
    command: str = ""


@dataclass(frozen=True, slots=True)
class UnreadOutput:
    """Lines of a format without a figure that could be read: the format, the first of them, and what is missing."""

    format: str
    line: Line
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Recognition:
    """The results in a text, and the number of its lines, without empty ones, that belong to none.

    `cut_off`: it has a JSON document without an end. `own_lines` are the lines of known formats and command lines.
    `broken` are lines that are the end of the line before them.
    """

    found: tuple[FoundOutput, ...] = ()
    left_over: int = 0
    cut_off: bool = False
    unread: tuple[UnreadOutput, ...] = ()
    own_lines: int = 0
    broken: int = 0

    @property
    def score(self) -> tuple[int, ...]:
        """How much was read: whole lines, complete results, figures, plain names, stated values, samples, own lines."""
        outputs = [one.output for one in self.found]
        return (
            -self.broken,
            sum(one.parsed.complete and bool(one.parsed.figures) for one in outputs),
            sum(len(one.parsed.figures) for one in outputs),
            -sum(has_markup(one.name) for one in outputs),
            sum(len(one.stated) for one in outputs),
            sum(len(one.parsed.samples) for one in outputs),
            self.own_lines,
        )

    def has_as_much_as(self, other: "Recognition") -> bool:
        """Return whether results of the same tools have as much as in another reading, complete or not."""
        (broken, _, *rest), (other_broken, _, *other_rest) = self.score, other.score
        tools, other_tools = ([one.output.suite_id for one in each.found] for each in (self, other))
        return tools == other_tools and [broken, *rest] >= [other_broken, *other_rest]

    @property
    def values(self) -> list[object]:
        """The figures of each result, and the values that it states."""
        return [(one.output.parsed.figures, one.output.stated) for one in self.found]

    @property
    def is_whole(self) -> bool:
        """Whether nothing but documents was in the text, and each was read."""
        parsed = [one.output.parsed for one in self.found]
        return bool(parsed) and not (self.left_over or self.own_lines) and all(one.complete for one in parsed)

"""Command lines of a paste that wait for their outputs: each output has the command of its own tool."""

from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

from app.outputs.found import FoundOutput, UnreadOutput, formats
from app.outputs.text_outputs import SegmentLine
from app.outputs.tool_lines import is_loop, tools_of, tools_with, without_first

MOST_OWN = 20
"""Lines of an output by which its tool is known."""

Segment = list[SegmentLine]


class WaitingCommands:
    """Iterates over segments, and keeps the command lines above them whose outputs have not come.

    Command lines that follow one another wait together; one below an output or another text ends those before, as does
    an output that is quoted less often than the one before: another person wrote it.
    """

    def __init__(self, segments: Iterator[Segment]) -> None:
        self._segments = segments
        self._ahead = deque[Segment]()
        self._lines: list[str] = []
        self._are_last = False
        self._depth = 0

    def __iter__(self) -> Iterator[Segment]:
        """Yield each segment."""
        while segment := self._ahead.popleft() if self._ahead else next(self._segments, None):
            yield segment

    def command_of(self, segment: Segment) -> str:
        """Return the command line of the output in a segment; empty if none of its tool waits.

        Of those of one tool, the first; if fewer outputs follow, the last ones have outputs.
        """
        if typed := _command_in(segment):
            self._lines = [*(self._lines if self._are_last else ()), typed]
            after = segment[1 + max(at for at, line in enumerate(segment) if line.command) :]
            self._are_last = not any(line.text.strip() for line in after)
        printed = next((line.depth for line in segment if line.is_printed), None)
        if printed is not None:
            self._lines = self._lines if typed or printed >= self._depth else []
            self._depth = printed
        tools = self._tools(segment)
        own = [line for line in self._lines if tools & tools_of(line)]
        return own[-self._outputs(tools, len(own))] if len(own) > 1 else "".join(own)

    def have_output(self, command: str, results: Sequence[FoundOutput | UnreadOutput]) -> None:
        """Take the command of an output from those that wait, unless it may have others."""
        if not results or command not in self._lines:
            return
        self._are_last = False
        titles = {one.format for one in results}
        if not is_loop(command) and titles.isdisjoint(_several()):
            at = self._lines.index(command)
            tool = next(tool for each, tool in formats().items() if each.title in titles)
            self._lines[at : at + 1] = filter(None, [without_first(command, tool)])

    def _tools(self, segment: Segment) -> frozenset[str]:
        """Return the tools of the output in a segment that have a command which waits; none if there are none."""
        waiting = frozenset[str]().union(*map(tools_of, self._lines))
        own = (line.text for line in segment if line.is_printed) if waiting else iter(())
        return next(filter(None, (waiting & tools_with(text) for text in islice(own, MOST_OWN))), frozenset())

    def _outputs(self, tools: frozenset[str], most: int) -> int:
        """Return how many outputs of `tools` follow above the next command line, this one among them, up to `most`."""
        found, at = 1, 0
        while found < most:
            if at == len(self._ahead):
                segment = next(self._segments, None)
                if segment is None:
                    break
                self._ahead.append(segment)
            if _command_in(self._ahead[at]):
                break
            found += bool(tools & self._tools(self._ahead[at]))
            at += 1
        return found


def _command_in(segment: Segment) -> str:
    return next((line.command for line in reversed(segment) if line.command), "")


@cache
def _several() -> frozenset[str]:
    """Return the titles of the formats of which one command prints several outputs."""
    return frozenset(one.title for one in formats() if one.several)

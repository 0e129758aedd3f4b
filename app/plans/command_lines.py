"""Read a command line as the step of a plan: of the step's own suite, or of another one."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from suites.base import Context, Suite, complete_values
from suites.command_line import ParsedCommand, UnreadWord
from suites.parameters import Values


@dataclass(frozen=True, slots=True)
class CommandReading:
    """The suite of a command line and its values; `complete` is another reading that runs the whole line, if any."""

    suite: Suite
    parsed: ParsedCommand
    complete: "CommandReading | None" = None


def read_command(
    text: str, suite: Suite, values: Values, context: Context, *, any_program: bool = False
) -> CommandReading:
    """Return what `text` states, for `suite` if it starts its program, else for the suite of that program.

    If no suite has the program, it is a command of the user's own with `any_program`, else a word that was not read.
    """
    own = suite.parse_command(text, values, context)
    if own is not None and own.can_start and not _takes_any(suite):
        return CommandReading(suite, own)
    others = sorted(_others(text, suite, context), key=_fit)
    found = next((each for each in others if any_program or not _takes_any(each.suite)), None)
    if own is not None or found is None:
        unknown = UnreadWord(next(iter(text.split()), ""), "no known tool.")
        found = CommandReading(suite, own or ParsedCommand(values, (unknown,), bare=True))
    return replace(found, complete=_complete(found, others))


def _complete(found: CommandReading, others: Iterable[CommandReading]) -> CommandReading | None:
    """Return another reading of the whole line, if `found` is not one, or does not know its tool."""
    unknown_tool = _takes_any(found.suite)
    if found.parsed.can_start and not unknown_tool:
        return None
    usable = (each for each in others if each.suite != found.suite and each.parsed.can_start)
    return next((each for each in usable if not (unknown_tool and _takes_any(each.suite))), None)


def _others(text: str, suite: Suite, context: Context) -> list[CommandReading]:
    from suites.registry import SUITES

    parsed = (
        (other, other.parse_command(text, complete_values(other, {}), context)) for other in SUITES if other != suite
    )
    return [CommandReading(other, found) for other, found in parsed if found is not None]


def _fit(reading: CommandReading) -> tuple[bool, int]:
    """Return a key that is lower the better a suite reads a line."""
    return _takes_any(reading.suite), sum(each.blocks for each in reading.parsed.unread)


def _takes_any(suite: Suite) -> bool:
    return suite.needs_input

"""Read a command line as the step of a plan: of the step's own suite, or of another one."""

from dataclasses import dataclass

from suites.base import Context, Suite, complete_values
from suites.command_line import ParsedCommand
from suites.parameters import Values


@dataclass(frozen=True, slots=True)
class CommandReading:
    """The suite of a command line and its values; `complete` is another suite that reads all of its words, if any."""

    suite: Suite
    parsed: ParsedCommand
    complete: Suite | None = None


def read_command(
    text: str, suite: Suite, values: Values, context: Context, *, any_program: bool = False
) -> CommandReading | None:
    """Return what `text` states, for `suite` if it starts its program, else for the suite of that program.

    None if no suite has the program; with `any_program`, it is then a command of the user's own.
    """
    own = suite.parse_command(text, values, context)
    if own is not None:
        others = [] if not own.unread else [each for each in _others(text, suite, context) if not each.parsed.unread]
        return CommandReading(suite, own, others[0].suite if others else None)
    known = [each for each in _others(text, suite, context) if any_program or not _takes_any(each.suite)]
    return min(known, key=lambda each: (_takes_any(each.suite), len(each.parsed.unread)), default=None)


def _others(text: str, suite: Suite, context: Context) -> list[CommandReading]:
    from suites.registry import SUITES

    parsed = (
        (other, other.parse_command(text, complete_values(other, {}), context)) for other in SUITES if other != suite
    )
    return [CommandReading(other, found) for other, found in parsed if found is not None]


def _takes_any(suite: Suite) -> bool:
    return suite.needs_input

"""Parsing of captured output of a tool, without running it."""

from app.outputs.found import MAXIMUM_SIZE
from app.outputs.pasted_text import decoded
from app.outputs.recognition import recognise
from suites.base import complete_values
from suites.errors import BenchwrightError
from suites.outputs import ParsedTrial, parse_whole
from suites.quantities import quantity
from suites.registry import suite as find_suite

GUESSED_SIZE = 4 * 2**20
"""Largest output in bytes in which that of another tool is sought."""


class OutputTooLongError(BenchwrightError):
    """The output exceeds MAXIMUM_SIZE."""


def parse_output(suite_id: str, output: bytes) -> ParsedTrial:
    """Parse `output` of the suite's tool; stdout and stderr may be mixed.

    If nothing is found, note it, and name the suite of the tool whose output it is, if it is recognised.
    """
    if len(output) > MAXIMUM_SIZE:
        raise OutputTooLongError(f"The output is {quantity(len(output))}.", f"The limit is {quantity(MAXIMUM_SIZE)}.")
    chosen = find_suite(suite_id)
    if not output.strip():
        return ParsedTrial(notes=("The output is empty.",), complete=False)
    parsed = parse_whole(chosen.parser(complete_values(chosen, {})), output)
    if parsed.complete or parsed.figures or parsed.samples or len(output) > GUESSED_SIZE:
        return parsed
    for one in recognise(decoded(output)).found:
        other = find_suite(one.output.suite_id)
        if other.tool != chosen.tool and one.output.parsed.figures:
            note = f"Not output of {chosen.tool}, but of {other.tool}: use suite {other.id}."
            return ParsedTrial(notes=(note,), complete=False)
    return parsed

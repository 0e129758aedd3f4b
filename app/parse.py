"""Parsing of captured output of a tool, without running it."""

from app.outputs.recognition import MAXIMUM_SIZE
from suites import registry
from suites.base import Suite, complete_values
from suites.errors import BenchwrightError
from suites.outputs import ParsedTrial, parse_whole
from suites.quantities import quantity
from suites.registry import suite as find_suite

GUESSED_SIZE = 4 * 2**20
"""Largest output in bytes that is tried with the parsers of all other suites."""


class OutputTooLongError(BenchwrightError):
    """The output exceeds MAXIMUM_SIZE."""


def parse_output(suite_id: str, output: bytes) -> ParsedTrial:
    """Parse `output` of the suite's tool; stdout and stderr may be mixed.

    If nothing is found, note it, and name the suite whose parser reads the output completely, if one does.
    """
    if len(output) > MAXIMUM_SIZE:
        raise OutputTooLongError(f"The output is {quantity(len(output))}.", f"The limit is {quantity(MAXIMUM_SIZE)}.")
    chosen = find_suite(suite_id)
    if not output.strip():
        return ParsedTrial(notes=("The output is empty.",), complete=False)
    parsed = _read(chosen, output)
    if parsed.complete or parsed.figures or parsed.samples or len(output) > GUESSED_SIZE:
        return parsed
    for other in registry.SUITES:
        found = None if other.tool == chosen.tool else _read(other, output)
        if found is not None and found.complete and found.figures:
            note = f"Not output of {chosen.tool}, but of {other.tool}: use suite {other.id}."
            return ParsedTrial(notes=(note,), complete=False)
    return parsed


def _read(suite: Suite, output: bytes) -> ParsedTrial:
    return parse_whole(suite.parser(complete_values(suite, {})), output)

"""Captured output of a tool, read without running anything."""

from suites.base import Parsed, complete_values
from suites.errors import BenchwrightError
from suites.registry import suite as find_suite

MAXIMUM_SIZE = 256 * 2**20
"""Bytes of the longest output that is read: a day of fio at one document a second."""

PIECE = 64 * 1024


class OutputTooLongError(BenchwrightError):
    """The output is longer than any tool's."""


def parse_output(suite_id: str, output: bytes) -> Parsed:
    """Return what `output` says, as printed by the suite's tool; stdout and stderr may be mixed in it."""
    if len(output) > MAXIMUM_SIZE:
        raise OutputTooLongError(f"The output has {len(output)} bytes.", f"At most {MAXIMUM_SIZE} are read.")
    chosen = find_suite(suite_id)
    parser = chosen.parser(complete_values(chosen, {}))
    for start in range(0, len(output), PIECE):
        for _sample in parser.feed(output[start : start + PIECE]):
            pass  # all samples are given again at the end
    return parser.finish(None)

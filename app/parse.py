"""Captured output of a tool, read without running anything."""

from suites.base import Parsed, Suite, complete_values
from suites.errors import BenchwrightError
from suites.registry import SUITES
from suites.registry import suite as find_suite

MAXIMUM_SIZE = 256 * 2**20
"""Bytes of the longest output that is read: a day of fio at one document a second."""

PIECE = 64 * 1024

GUESSED_SIZE = 4 * 2**20
"""Bytes of the longest output in which the tools of all other suites are looked for: each reads it once more."""


class OutputTooLongError(BenchwrightError):
    """The output is longer than any tool's."""


def parse_output(suite_id: str, output: bytes) -> Parsed:
    """Return what `output` says, as printed by the suite's tool; stdout and stderr may be mixed in it.

    Of an output in which that tool says nothing it is said so, and whose it is where another suite can read it:
    what was never there was not cut off.
    """
    if len(output) > MAXIMUM_SIZE:
        raise OutputTooLongError(f"The output has {len(output)} bytes.", f"At most {MAXIMUM_SIZE} are read.")
    chosen = find_suite(suite_id)
    if not output.strip():
        return Parsed(notes=("The output is empty: nothing was printed, or nothing captured.",), complete=False)
    parsed = _read(chosen, output)
    if parsed.complete or parsed.figures or parsed.samples or len(output) > GUESSED_SIZE:
        return parsed
    for other in SUITES:
        if other.tool != chosen.tool and _is_whole(_read(other, output)):
            note = f"This is no output of {chosen.tool}; it reads as one of {other.tool}: give the suite {other.id}."
            return Parsed(notes=(note,), complete=False)
    return parsed


def _read(suite: Suite, output: bytes) -> Parsed:
    parser = suite.parser(complete_values(suite, {}))
    for start in range(0, len(output), PIECE):
        for _sample in parser.feed(output[start : start + PIECE]):
            pass  # all samples are given again at the end
    return parser.finish(None)


def _is_whole(parsed: Parsed) -> bool:
    return parsed.complete and bool(parsed.figures)

"""Every parser on what is no output of its tool, on cut-off and on garbled output: it says so, and never raises.

How the bytes of an output arrive makes no difference.
"""

import random
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest

from app.plans.plan import make_step
from suites.base import Suite
from suites.outputs import ParsedTrial, TrialParser
from suites.registry import SUITES
from tests.app.test_false_warnings import CHOSEN
from tests.suites.captured_outputs import DATA, WHOLE, capture, captures

NO_OUTPUT: dict[str, bytes] = {
    "nothing": b"",
    "zeros": b"\0" * 5000,
    "JSON of something else": b'{}\n[]\n{"a": 1}\n{"jobs": [{"jobname": "x", "error": NaN}]}\n',
    "deeper than can be read": b"[" * 100_000,
    "a number without end": b"9" * 100_000 + b"\n",
    "a page of a proxy": b"<html><body>502 Bad Gateway</body></html>\n" * 50,
    "help of another version": b"Usage: tool [OPTION]...\nunrecognized option '--foo'\nTry 'tool --help'.\n",
    "a missing tool": b"sh: 1: tool: not found\n",
    "a library that is too old": b"tool: /lib/libc.so.6: version `GLIBC_2.34' not found (required by tool)\n",
}

MATTERS_LITTLE = {"linpack": 50}
"""What is measured ends before the output does: HPL comes amid the other tests of hpcc. The share of it that is cut."""


def outputs(suite: Suite) -> Iterator[tuple[str, bytes]]:
    """Yield what is no whole output, by name: none at all, every kind of cut, and digits that are none."""
    lots = random.Random(4)
    yield from NO_OUTPUT.items()
    yield "random bytes", lots.randbytes(20_000)
    whole = WHOLE[suite.id].read_bytes()
    for share in (10, 25, 50, 75, 90):
        if share <= MATTERS_LITTLE.get(suite.id, 100):
            yield f"cut at {share} %", whole[: len(whole) * share // 100]
    yield "digits that are none", re.sub(rb"\d", b"x", whole)


def parser_of(suite: Suite) -> TrialParser:
    return suite.parser(make_step(suite.id, CHOSEN.get(suite.id, {})).values)


def read(suite: Suite, data: bytes, stream: str, status: int | None) -> ParsedTrial:
    parser = parser_of(suite)
    parser.feed(data, stream)
    return parser.finish(status)


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: str(suite.id))
def test_what_is_no_whole_output_is_incomplete_and_says_why(suite: Suite) -> None:
    for name, data in outputs(suite):
        for stream, status in (("stdout", None), ("stdout", 0), ("stderr", 127)):
            parsed = read(suite, data, stream, status)
            assert not parsed.complete, f"{name} passes for a whole output, with {len(parsed.figures)} figures"
            assert parsed.notes, f"{name}: nothing is said"
            assert all(note.strip() and len(note) < 3000 and note.isprintable() for note in parsed.notes), name


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: str(suite.id))
def test_bytes_changed_by_lot_never_raise(suite: Suite) -> None:
    lots = random.Random(5)
    whole = WHOLE[suite.id].read_bytes()
    for _round in range(5):
        data = bytearray(whole)
        for _change in range(len(data) // 50 + 1):
            data[lots.randrange(len(data))] = lots.randrange(256)
        for figure in read(suite, bytes(data), "stdout", 0).figures:
            assert figure.value == figure.value, "NaN is no figure"


def pieces(data: bytes) -> Iterator[bytes]:
    """Return `data` in pieces of a few bytes, a long output in a score of pieces."""
    lots, count = random.Random(6), len(data) // 7 if len(data) < 8000 else 20
    places = sorted({0, len(data), *(lots.randrange(len(data) + 1) for _ in range(count))})
    return (data[start:stop] for start, stop in pairwise(places))


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: str(suite.id))
def test_how_the_bytes_arrive_makes_no_difference(suite: Suite) -> None:
    tool, *_ = WHOLE[suite.id].relative_to(DATA).parts
    for name in captures(tool):
        output, parser = capture(name), parser_of(suite)
        for stream, data in (("stdout", output.stdout), ("stderr", output.stderr)):
            for piece in pieces(data):
                parser.feed(piece, stream)
        assert parser.finish(output.exit_status) == output.parse(parser_of(suite)), name

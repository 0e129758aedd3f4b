"""Every parser on what is no output of its tool, on cut-off and on garbled output: it says so, and never raises."""

import random
import re
from collections.abc import Iterator

import pytest

from app.plans.plan import make_step
from suites.base import ParsedTrial, Suite
from suites.registry import SUITES
from tests.app.test_false_warnings import CHOSEN
from tests.suites.captured_outputs import WHOLE

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


def read(suite: Suite, data: bytes, stream: str, status: int | None) -> ParsedTrial:
    parser = suite.parser(make_step(suite.id, CHOSEN.get(suite.id, {})).values)
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

"""Damaged outputs: bytes flipped, cut, lines repeated, two joined. None hangs, fails or makes a figure of 0."""

import random
import re
import time
from pathlib import Path

import pytest

from app.outputs.files import judged_bytes

DATA = Path(__file__).parents[1] / "data"
CAPTURES = sorted(
    path
    for pattern in ("*/*/*.stdout", "*/*/*.stderr", "yabs/documented-*")
    for path in DATA.glob(pattern)
    if 0 < path.stat().st_size < 12_000
)
LONGEST = 10.0
"""Seconds that one output of a few kilobytes may take on a busy machine."""

_ZERO = re.compile(rb"(?<![\d.])0+(?:[.,]0+)?(?:[eE][-+]?\d+)?(?!\.?\d*[1-9])")


def mutated(source: random.Random) -> bytes:
    """Return a capture with one to four kinds of damage."""
    data = bytearray(source.choice(CAPTURES).read_bytes())
    for _ in range(source.randint(1, 4)):
        kind = source.randrange(5)
        if kind == 0:
            for _flip in range(source.randint(1, 8)):
                if data:
                    data[source.randrange(len(data))] = source.randrange(256)
        elif kind == 1:
            del data[source.randrange(len(data) + 1) :]
        elif kind == 2:
            del data[: source.randrange(len(data) + 1)]
        else:
            lines = bytes(data).splitlines(keepends=True) or [b"\n"]
            if kind == 3:
                place = source.randrange(len(lines))
                lines[place:place] = [lines[place]] * source.randint(1, 50)
            else:
                lines += source.choice(CAPTURES).read_bytes().splitlines(keepends=True)
            data = bytearray(b"".join(lines))
    return bytes(data)


def assert_reads(data: bytes, what: object) -> int:
    """Judge `data`; return the number of its results."""
    began = time.monotonic()
    judged = judged_bytes("damaged", data)
    assert time.monotonic() - began < LONGEST, what
    assert judged.outputs or judged.problem, what
    zeros = [
        figure
        for one in judged.outputs
        for figure in one.found.output.parsed.figures
        if figure.value == 0 and not figure.metric.name.startswith(DERIVED)
    ]
    assert not zeros or _ZERO.search(data), (what, zeros)
    return len(judged.outputs)


DERIVED = ("latency_deviation", "time_deviation", "failed_responses", "socket_errors")
"""Metrics whose 0 is not printed: equal values have no deviation, and wrk prints errors only where there are some."""


def test_a_sample_of_damaged_outputs() -> None:
    source = random.Random(15)
    assert sum(assert_reads(mutated(source), number) for number in range(150)) > 50


@pytest.mark.slow
def test_ten_thousand_damaged_outputs() -> None:
    source = random.Random(10_000)
    assert sum(assert_reads(mutated(source), number) for number in range(10_000)) > 5000

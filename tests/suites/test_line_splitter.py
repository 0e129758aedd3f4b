"""The line splitter gives the same lines however the bytes arrive, and never keeps an endless one."""

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from suites.line_parser import MAXIMUM_LINE, LineSplitter


def split(chunks: list[bytes], maximum: int = MAXIMUM_LINE) -> list[str]:
    splitter = LineSplitter(maximum=maximum)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    return lines + splitter.rest()


@given(
    pieces=st.lists(st.sampled_from([b"a", b"bc", b"\r", b"\n", b"\r\n", b"0123456789abcdef", b"\xff"]), max_size=40),
    cuts=st.sets(st.integers(min_value=0, max_value=200), max_size=20),
)
def test_how_bytes_arrive_makes_no_difference(pieces: list[bytes], cuts: set[int]) -> None:
    data = b"".join(pieces)
    places = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
    chunks = [data[start:stop] for start, stop in pairwise(places)]
    assert split(chunks, maximum=10) == split([data], maximum=10)


def test_every_line_end_counts_once() -> None:
    assert split([b"one\r", b"\ntwo\nthree\r\rfive"]) == ["one", "two", "three", "", "five"]


def test_a_carriage_return_ends_its_line_at_once() -> None:
    assert LineSplitter().feed(b"10 %\r") == ["10 %"]


def test_a_line_without_end_is_cut_and_its_rest_dropped() -> None:
    splitter = LineSplitter()
    lines = [line for _ in range(100) for line in splitter.feed(b"x" * 10_000)]
    assert [len(line) for line in lines] == [MAXIMUM_LINE]
    assert splitter.feed(b"tail\nnext\n") == ["next"]


def test_streams_do_not_mix() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"out", "stdout") == []
    assert splitter.feed(b"err\n", "stderr") == ["err"]
    assert splitter.feed(b"put\n", "stdout") == ["output"]


def test_another_separator_leaves_carriage_returns_alone() -> None:
    splitter = LineSplitter(separators=re.compile(rb"\n"))
    assert splitter.feed(b"a\r") == []
    assert splitter.feed(b"\nb\n") == ["a\r", "b"]

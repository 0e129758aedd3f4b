"""A pattern that cuts a number out of a longer one gives no figure; a unit that it leaves out is noted."""

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from suites.command.number_edges import suffix_after, whole_number
from suites.command.output import _NUMBER
from tests.suites.captured_outputs import figures
from tests.suites.test_command import read

BEFORE = ("", "rate = ", "rate=", "rate: ", "rate:", "(", "| ", "mean ", "p99.9 ", "run-3 ", "a,")
AFTER = ("", " x", ")", ".", ", then", ";", " %", ":", "\t")


@st.composite
def numbers(draw: st.DrawFn) -> str:
    """Return a number as tools print it: plain, signed, with an exponent, or with separators of thousands."""
    value = draw(st.floats(0.001, 1e9) | st.integers(10, 10**9))
    style = draw(st.sampled_from(("{}", "-{}", "{:,}", "{:.2e}", "{:.3f}", "{:,.1f}", "\u2212{}", "{:_}")))
    if style == "{:_}" and isinstance(value, int):
        return f"{value:,}".replace(",", draw(st.sampled_from("'’_\u202f")))
    return (style if style != "{:_}" else "{}").format(value)


@given(numbers(), st.sampled_from(BEFORE), st.sampled_from(AFTER))
@example("12", "a,", ", then")
def test_a_whole_number_is_accepted_wherever_it_stands(number: str, before: str, after: str) -> None:
    line = f"{before}{number}{after}"
    assert whole_number(line, len(before), len(before) + len(number)) == ""


@given(numbers(), st.sampled_from(BEFORE[:-1]), st.sampled_from(AFTER), st.data())
def test_a_part_of_a_number_is_refused_with_the_whole(
    number: str, before: str, after: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(number) - 1))
    end = data.draw(st.integers(start + 1, len(number)))
    if (start, end) == (0, len(number)) or _NUMBER.fullmatch(number[start:end]) is None:
        return
    line = f"{before}{number}{after}"
    found = whole_number(line, len(before) + start, len(before) + end)
    assert found
    assert number[start:end].strip(".") in found


@pytest.mark.parametrize("after", [" %", " ms", " MB/s", " k", " M requests"])
def test_another_unit_after_a_blank_gives_no_figure(after: str) -> None:
    found = read(f"hit 45{after}\n".encode(), figure="pattern", pattern=r"(\d+)", metric="Rate", unit="1/s")
    assert "own_rate" not in figures(found)
    assert "is 1/s: no figure" in found.notes[0]


@pytest.mark.parametrize("after", [" workers", " requests", " times", " ops/s", " in all"])
def test_a_word_after_a_blank_that_is_no_unit_is_no_unit(after: str) -> None:
    found = read(f"hit 45{after}\n".encode(), figure="pattern", pattern=r"(\d+)", metric="Rate", unit="1/s")
    assert figures(found)["own_rate"] == 45.0


@pytest.mark.parametrize(
    ("line", "pattern", "whole"),
    [
        ("total 1,234,567.8", r"([\d.]+)$", "1,234,567.8"),
        ("total: 1,234,567.8", r"total: ([\d.]+)", "1,234,567.8"),
        ("iops=1,234 bw=3", r"iops=(\d+)", "1,234"),
        ("rate 12,5", r"rate (\d+)", "12,5"),
        ("rate 12,5", r"(\d+)$", "12,5"),
        ("rate 1.234,5", r"rate ([\d.]+)", "1.234,5"),
        ("rate 1e6", r"rate (\d+)", "1e6"),
        ("rate 1e-6", r"-(\d+)", "1e-6"),
        ("change -3", r"(\d+)", "-3"),
        ("at 0x1F", r"at (\d)", "0x1F"),
        ("0:01.23 elapsed", r":([\d.]+)", "0:01.23"),
        ("= .5", r"(\d)", ".5"),
    ],
)
def test_a_cut_number_gives_no_figure(line: str, pattern: str, whole: str) -> None:
    found = read(f"{line}\n".encode(), figure="pattern", pattern=pattern, metric="Rate")
    assert "own_rate" not in figures(found)
    assert (found.complete, whole in found.notes[0]) == (False, True)


@pytest.mark.parametrize(
    ("line", "pattern", "value"),
    [
        ("read,1234,567,ok", r"read,\d+,(\d+)", 567.0),  # fields of CSV
        ("1,2,3", r"1,(\d)", 2.0),
        ("lat=1.5,bw=12", r"lat=([\d.]+)", 1.5),
        ("cpu0:12.5", r":([\d.]+)", 12.5),
        ("version 1.2: 77 ops", r": (\d+)", 77.0),
        ("change -3", r"(-?\d+)", -3.0),
        ("rate 1e6", r"rate ([\de]+)", 1e6),
        ("rate  12 ", r"rate([ \d]+)", 12.0),
        ("range 10-30", r"-(\d+)", 30.0),
    ],
)
def test_a_whole_number_is_the_figure(line: str, pattern: str, value: float) -> None:
    assert figures(read(f"{line}\n".encode(), figure="pattern", pattern=pattern, metric="Rate"))["own_rate"] == value


@pytest.mark.parametrize(
    ("line", "unit", "noted"),
    [
        ("rate 12rows", "1/s", "“rows”"),
        ("rate 12Threads", "1", "“Threads”"),
        ("rate 12MB/s", "MB/s", None),
        ("rate 12k", "kB/s", None),
        ("took 12ms", "ms", None),
        ("took 12µs", "us", None),
        ("busy 12%", "%", None),
        ("took 12.", "s", None),
    ],
)
def test_a_unit_beside_the_number_that_is_not_the_steps_is_noted(line: str, unit: str, noted: str | None) -> None:
    found = read(f"{line}\n".encode(), figure="pattern", pattern=r" (\d+)", metric="Rate", unit=unit)
    assert figures(found)["own_rate"] == 12.0
    assert found.complete
    assert any(noted in note for note in found.notes) if noted else not any("follows" in note for note in found.notes)


SPELLINGS = {
    "s": ("s", "sec", "secs", "seconds", "s/run"),
    "ms": ("ms", "msec", "milliseconds", "ms/op"),
    "us": ("us", "µs", "usec", "microseconds"),
    "ns": ("ns", "nsec", "ns/op"),
    "1/s": (
        "ops/s",
        "tps",
        "qps",
        "IOPS",
        "Hz",
        "req/s",
        "Requests/sec",
        "/s",
        "/sec",
        "transactions/sec",
        "ops",
        "fps",
    ),
    "Mbit/s": ("Mbits/sec", "Mbps", "Mb/s", "Mbit/s", "M"),
    "bit/s": ("bits/sec", "bps"),
    "B": ("bytes", "B", "byte"),
    "B/s": ("bytes/sec", "B/s"),
    "MB/s": ("MB/s", "MB/sec", "MBytes/sec", "MBps"),
    "MiB/s": ("MiB/s", "MiB/sec"),
    "kB/s": ("kB/s", "KB/s", "KB/sec", "k"),
    "%": ("%", "percent"),
    "1": ("x",),
}


@pytest.mark.parametrize(("unit", "suffix"), [(unit, one) for unit, given in SPELLINGS.items() for one in given])
def test_a_spelling_of_the_unit_is_the_figure_without_a_note(unit: str, suffix: str) -> None:
    found = read(f"score 12.3{suffix} ok\n".encode(), figure="pattern", pattern=r"score ([\d.]+)", unit=unit)
    assert found.figures[0].value == 12.3
    assert found.complete
    assert not any("follows" in note for note in found.notes)


@pytest.mark.parametrize(
    ("suffix", "unit"),
    [("m", "ms"), ("m", "s"), ("b", "B"), ("b", "bit/s"), ("mb/s", "MB/s"), ("kbps", "kB/s"), ("Mb/s", "MB/s"),
     ("MB/s", "Mbit/s"), ("MB/s", "MiB/s"), ("ms/op", "ns"), ("sec", "ms"), ("kreq/s", "1/s"), ("tps", "s"),
     (" ms", "s"), (" sec", "ms"), (" usec", "ns"), (" Mbits/sec", "MB/s"), (" GiB/s", "MB/s"), (" GB/s", "MB/s"),
     (" Gbits/sec", "Mbit/s"), (" kops/s", "1/s"), (" minutes", "s"), (" m", "s"), (" KiB", "B")],
)  # fmt: skip
def test_another_unit_and_an_ambiguous_one_give_no_figure(suffix: str, unit: str) -> None:
    found = read(f"score 12{suffix} ok\n".encode(), figure="pattern", pattern=r"score (\d+)", metric="Score", unit=unit)
    assert "own_score" not in figures(found)
    assert f"“12{suffix}”" in found.notes[0]
    assert f"unit of the step is {unit}" in found.notes[0]


SUFFIXES = ("k", "K", "M", "G", "T", "Ki", "Mi", "kB", "MiB", "GB/s", "MiB/s", "Mbit/s", "Mbps", "kIOPS", "Mops", "m",
    "GFLOPS", "%", "‰", "ms", "us", "µs", "ns", "s", "min", "h", "sec", "ktps", "MHz", "K/s", "B")  # fmt: skip


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("pattern", [r"score ([0-9]+)", r"([\d.]+)", r" (\d+)\S*$"])
def test_a_suffix_that_scales_the_number_gives_no_figure(suffix: str, pattern: str) -> None:
    found = read(f"score 12{suffix}\n".encode(), figure="pattern", pattern=pattern, metric="Score", unit="1/s")
    assert "own_score" not in figures(found)
    assert (found.complete, f"“12{suffix}”" in found.notes[0]) == (False, True)
    assert "unit of the step is 1/s" in found.notes[0]


@pytest.mark.parametrize(
    "number",
    ["1'234", "1 234".replace(" ", "\u202f"), "1_234", "1.234.567", "12d6", "12 × 10^3", "12x10^3", "12·10³", "12½",
     "12²", "12:34", "12.5", "12,5", "12e+3"],
)  # fmt: skip
def test_every_way_to_continue_a_number_is_refused(number: str) -> None:
    found = read(f"score {number} ok\n".encode(), figure="pattern", pattern=r"score (\d+)", metric="Score")
    assert "own_score" not in figures(found)
    assert "cuts" in found.notes[0]


@pytest.mark.parametrize("filler", ["1", "1,", "x,", "é", "1'", "k"])
def test_a_line_of_a_megabyte_takes_no_second(filler: str) -> None:
    line = filler * (2**20 // len(filler))
    before = time.process_time()
    for at in (0, len(line) // 2, len(line) - 1):
        assert whole_number(line, at, at + 1).count(filler) < 200
        assert len(suffix_after(line, at + 1)) <= 24
    assert time.process_time() - before < 0.5


@given(st.text(max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_any_text_has_edges(line: str, one: int, other: int) -> None:
    start, end = sorted((min(one, len(line)), min(other, len(line))))
    whole = whole_number(line, start, end)
    assert isinstance(whole, str)
    assert suffix_after(line, end) == "" or re.match(r"\S", line[end:])

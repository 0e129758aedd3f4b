"""Texts of many lines: read once, in the way that their beginning shows, and given up when the user cancels."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from app.events import OutputSource
from app.outputs import recognition, text_outputs
from app.outputs.files import JudgedFile, judged_bytes
from app.outputs.found import MOST_OUTPUTS, FoundOutput
from app.outputs.recognition import recognise
from app.outputs.tool_lines import has_own

DATA = Path(__file__).parents[1] / "data"
CPU = (DATA / "sysbench/1.0.20/cpu_report_interval.stdout").read_text().splitlines()
FIRST_LIVE = next(index for index, line in enumerate(CPU) if line.startswith("[ 1s ]"))


@pytest.fixture(autouse=True)
def _little_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, lines in (
        (recognition, "MOST_TRIED", 400),
        (recognition, "BLOCK", 600),
        (text_outputs, "MOST_COUNTED", 100),
    ):
        monkeypatch.setattr(module, name, lines)


def long_output(lines: int) -> list[str]:
    """Return an output of sysbench with so many live lines."""
    live = [f"[ {number}s ] thds: 1 eps: {number % 90}.50 lat (ms,95%): 0.21" for number in range(1, lines)]
    return [*CPU[:FIRST_LIVE], *live, *(line for line in CPU[FIRST_LIVE:] if "thds: " not in line)]


def figures(found: Sequence[FoundOutput]) -> list[tuple[str, float]]:
    return [(figure.metric.name, figure.value) for one in found for figure in one.output.parsed.figures]


@pytest.mark.parametrize("number", [0, 3, 9])
def test_cancel_ends_the_recognition(number: int) -> None:
    class CancelledError(Exception):
        """The user has cancelled."""

    calls = 0

    def between() -> None:
        nonlocal calls
        calls += 1
        if calls > number:
            raise CancelledError

    with pytest.raises(CancelledError):
        judged_bytes("long", "\n".join(long_output(1500)).encode(), between=between)


PREFIXED: dict[str, Callable[[str], str]] = {
    "bare": lambda line: line,
    "a log": lambda line: f"Nov 29 10:00:07 web-1 bench[77]: {line}",
    "a quote": lambda line: f"> {line}",
}


@pytest.mark.parametrize("name", PREFIXED)
def test_a_long_output_is_read_as_a_short_one(name: str) -> None:
    lines = ["Here it is:", "", *map(PREFIXED[name], long_output(1500))]
    (found,) = recognise("\n".join(lines)).found
    assert figures([found]) == figures(recognise("\n".join(CPU)).found)
    assert found.output.parsed.complete
    assert found.first_line == 3


def test_an_output_after_long_prose_is_found() -> None:
    prose = [f"step {number}: nothing to see" for number in range(1500)]
    (found,) = recognise("\n".join([*prose, *(f"ci | {line}" for line in CPU)])).found
    assert found.first_line == 1501
    assert figures([found]) == figures(recognise("\n".join(CPU)).found)


def test_the_middle_of_an_endless_output_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_outputs, "MOST_OF_ONE", 50)
    (found,) = recognise("\n".join(long_output(1000))).found
    assert figures([found]) == figures(recognise("\n".join(CPU)).found)
    assert not found.output.parsed.complete
    own = [number for number, line in enumerate(long_output(1000), 1) if has_own(line)]
    assert f"{own[50]:,} to {own[-50] - 1:,}" in found.output.parsed.notes[0]


def test_lines_after_the_last_result_that_is_read_are_not_of_an_unknown_tool() -> None:
    text = "".join(
        f"{number} bytes (1 kB) copied, 1.{number} s, 9 kB/s\n" for number in range(1000, 2 * MOST_OUTPUTS + 9)
    )
    (one,) = judged_bytes("one", text.partition("\n")[0].encode()).outputs
    read = recognise(text)
    assert len(read.found) >= MOST_OUTPUTS
    known = JudgedFile(OutputSource("many", ""), (one,) * len(read.found), left_over=3)
    assert f"{MOST_OUTPUTS:,}" in known.left_over_text
    assert f"{MOST_OUTPUTS:,}" not in JudgedFile(OutputSource("two", ""), (one,), left_over=3).left_over_text

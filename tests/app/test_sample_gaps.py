"""Samples that are missing are counted by the interval of the others; a series without an interval has no gaps."""

import pytest

from app.runs.samples import gap_note, samples_of
from suites.outputs import ParsedTrial
from suites.vocab import Sample
from tests.app.run_events import IOPS
from tests.messages import messages

MESSAGES = messages("app", "test_sample_gaps")


def parsed(times: list[float]) -> ParsedTrial:
    return ParsedTrial((), tuple(Sample(time, IOPS, 1.0) for time in times))


def test_a_sample_that_is_missing_between_others_is_counted() -> None:
    times = [float(second) for second in range(1, 21) if second != 12]
    assert gap_note(parsed(times)) == MESSAGES["1_sample_missing_19_of_20"]
    assert samples_of(parsed(times), 20.2) == (19, 20)


@pytest.mark.parametrize(
    "times",
    [
        [],
        [1.0, 5.0],
        [float(second) for second in range(1, 21)],
        [second + (0.2 if second % 3 else 0.0) for second in range(1, 21)],
        [float(2**power) for power in range(12)],
        [*map(float, range(10)), *(float(x) for x in range(20, 200, 7))],
    ],
)
def test_what_is_whole_or_has_no_interval_has_no_gap(times: list[float]) -> None:
    assert gap_note(parsed(times)) == ""

"""Moments and ages in the words and figures that people and stored documents have for them."""

from datetime import UTC, datetime

import pytest

from app.timestamps import now
from suites.quantities import age_text

DAY = 86400.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3.0, "0 s"), (45.0, "45 s"), (119.0, "119 s"), (720.0, "12 min"), (5 * 3600.0, "5 h"), (3 * DAY, "3 d"),
     (729 * DAY, "729 d"), (11 * 365.25 * DAY, "11 years")],
)  # fmt: skip
def test_an_age_is_told_in_the_unit_that_people_would_use(seconds: float, text: str) -> None:
    assert age_text(seconds) == text


def test_now_is_a_moment_of_utc_to_the_millisecond() -> None:
    before = datetime.now(UTC)
    moment = datetime.fromisoformat(now())
    assert moment.utcoffset() == before.utcoffset()
    assert abs((moment - before).total_seconds()) < 60
    assert len(now()) == len("2026-01-31T12:00:00.000+00:00")

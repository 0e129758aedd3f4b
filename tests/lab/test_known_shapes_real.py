"""A rate that changes within a trial, of a real tool on a real device, is named for what it is."""

import pytest

from tests.lab.known_shapes import COURSES, NAMED_BY, run_course, shape_found
from tests.lab.staging import NotStagedError, Stage


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize("seconds", [30, 60, 120])
@pytest.mark.parametrize("name", COURSES)
def test_a_course_is_named(name: str, seconds: int, stage: Stage) -> None:
    try:
        record = run_course(stage, COURSES[name], seconds)
    except NotStagedError as reason:
        pytest.skip(f"not staged, because {reason}")
    assert shape_found(record) == ({NAMED_BY[name]} if name in NAMED_BY else frozenset())

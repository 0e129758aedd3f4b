"""At most one job of a run measures on a host, and nothing is lost or double, wherever Benchwright is killed."""

import itertools
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.app.model_host import Lab, assert_whole


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(tmp_path, monkeypatch)


def events_of_a_run(lab: Lab) -> int:
    """Return how often a run that nobody kills can be."""
    assert lab.run()
    return lab.power.count


def test_a_run_that_nobody_kills_is_whole(lab: Lab) -> None:
    assert events_of_a_run(lab) > 30
    assert_whole(lab)


def attach_to_the_end(lab: Lab) -> None:
    """Go on with the run, as often as that takes."""
    for _ in range(3):
        lab.host.arrive()
        if lab.attach():
            return
    pytest.fail("the run did not end")


@pytest.mark.parametrize("late", [False, True], ids=["at-once", "late"])
def test_a_kill_anywhere_is_survived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, late: bool) -> None:
    """Each commit and each request is a place to die, before and after it takes effect."""
    whole = tmp_path / "whole"
    whole.mkdir()
    count = events_of_a_run(Lab(whole, monkeypatch))
    for at, after in itertools.product(range(1, count + 1), (False, True)):
        folder = tmp_path / f"{at}-{after}"
        folder.mkdir()
        lab = Lab(folder, monkeypatch)
        lab.host.late = late
        lab.run(at, after=after)
        attach_to_the_end(lab)
        assert_whole(lab)

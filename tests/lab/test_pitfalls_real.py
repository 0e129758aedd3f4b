"""The stories of fooled people on the real tools: what has to be told is told, and nothing of their clean twins."""

import shutil
from collections.abc import Callable

import pytest

from app.checks.catalogue import catalogue
from suites.checks import CheckPhase
from tests.lab.pitfalls import CASES, Case, Seen, false_alarms, look, missed, run
from tests.lab.staging import NotStagedError, Stage

BEFORE = {entry.id for entry in catalogue() if entry.when == CheckPhase.BEFORE.value}
CORE = [case for case in CASES if case.core]
OTHERS = [case for case in CASES if not case.core]


def staged(case: Case, how: Callable[[Stage, Case], Seen], stage: Stage) -> Seen:
    """Return what is found of a case; skip, saying why, where it cannot be staged here."""
    reason_missing = [tool for tool in case.tools if shutil.which(tool) is None]
    if reason_missing:
        pytest.skip(f"{reason_missing[0]} is not installed")
    try:
        return how(stage, case)
    except NotStagedError as reason:
        pytest.skip(f"not staged, because {reason}")


@pytest.mark.parametrize("case", [case for case in CASES if case.local], ids=lambda case: case.name)
def test_what_can_be_told_before_is_told_and_nothing_else(case: Case, stage: Stage) -> None:
    if "host-busy" in case.finds:
        pytest.skip("what others do is looked at when it runs")
    found = staged(case, look, stage)
    assert set(case.finds) & BEFORE <= found.reported
    assert false_alarms(case, found) == []


@pytest.mark.alone
@pytest.mark.parametrize("case", CORE, ids=lambda case: case.name)
@pytest.mark.slow
def test_a_quick_story_is_told(case: Case, stage: Stage) -> None:
    found = staged(case, run, stage)
    assert missed(case, found) == [], found.summary
    assert false_alarms(case, found) == [], found.summary


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case.name)
def test_every_story_is_told_and_no_twin(case: Case, stage: Stage) -> None:
    found = staged(case, run, stage)
    assert missed(case, found) == [], found.summary
    assert false_alarms(case, found) == [], found.summary


def test_every_story_has_a_twin_and_finds_what_is_in_the_catalogue() -> None:
    known = {entry.id for entry in catalogue()}
    assert {name for case in CASES for name in (*case.finds, *case.besides)} <= known
    assert sum(case.clean for case in CASES) >= 14
    assert len({case.name for case in CASES}) == len(CASES)

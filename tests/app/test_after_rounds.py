"""The verdict on rounds: an error where the standard's window is not met, doubtful where two windows differ."""

from dataclasses import replace

import pytest

from app.checks import during_course
from app.checks.after_time import OF_A_TRIAL
from app.checks.during_words import RUNNING
from suites.base import Context, complete_values
from suites.checks import Outcome
from suites.evidence import TrialEvidence
from suites.fio.metrics import IOPS
from suites.fio.suite import Fio
from suites.snia.metrics import WINDOW_IOPS, window_figures
from suites.snia.steady import steady_round, window_of
from suites.snia.suite import FioSnia
from suites.verdict import Trust
from suites.vocab import Figure, Level, Sample

SNIA = FioSnia()
CHECKS = {check.id: check for check in OF_A_TRIAL}


def trial(values: list[float], *, both: bool = True, state: str = "done") -> TrialEvidence:
    window = window_of(values)
    assert window is not None
    after = steady_round(values, both=both)
    samples = tuple(
        Sample(60.0 * place, WINDOW_IOPS, value, warm_up=place < len(values) - 5) for place, value in enumerate(values)
    )
    return TrialEvidence(
        name="s", suite=SNIA, values=complete_values(SNIA, {}), context=Context(), host="h", samples=samples,
        figures=(Figure(WINDOW_IOPS, window.mean), *window_figures(window, after)), state=state,
    )  # fmt: skip


def said(evidence: TrialEvidence) -> Outcome | None:
    outcome = CHECKS["not-steady"].evaluate(evidence)
    assert outcome is None or isinstance(outcome, Outcome)
    return outcome


CASES = {
    "steady by both": ([1000.0] * 10, True, None),
    "a decay, given up": ([3000.0 - 100 * place for place in range(25)], True, (Level.ERROR, Trust.DOUBTFUL)),
    "two windows differ, given up": ([1300.0] * 5 + [1000.0] * 5, True, (Level.ERROR, Trust.DOUBTFUL)),
    "two windows differ, ended by the standard's": (
        [1300.0] * 5 + [1000.0] * 5,
        False,
        (Level.WARNING, Trust.DOUBTFUL),
    ),
    "ended by the standard's in five": ([1000.0] * 5, False, (None, Trust.CAVEATS)),
    "too few rounds": ([1000.0] * 3, True, (Level.ERROR, Trust.DOUBTFUL)),
}


@pytest.mark.parametrize(("values", "both", "expected"), CASES.values(), ids=CASES)
def test_what_the_last_rounds_leave_of_a_result(
    values: list[float],
    both: bool,  # noqa: FBT001 (a case, by name)
    expected: tuple[Level | None, Trust] | None,
) -> None:
    outcome = said(trial(values, both=both))
    assert (None if outcome is None else (outcome.level, outcome.trust)) == expected


def test_it_says_by_how_much_each_bound_was_missed() -> None:
    outcome = said(trial([1300.0] * 5 + [1000.0] * 5))
    assert outcome is not None
    assert outcome.measured == (
        "After 10 rounds, the last five range over 0 % of their mean (at most 20 %), change by 0 % (at most 10 %), "
        "differ from the five before by 23.1 % (at most 5 %)."
    )


def test_the_course_of_the_rounds_before_the_window_is_nothing_to_warn_of() -> None:
    evidence = trial([3000.0] * 15 + [1000.0] * 15)
    evidence = replace(evidence, samples=tuple(replace(one, warm_up=False) for one in evidence.samples))
    assert {name for name, check in CHECKS.items() if check.evaluate(evidence) is not None} == set()
    assert said(trial([1.0] * 3, state="partial")) is None
    running = replace(evidence, figures=(), state=RUNNING)
    assert {check.id for check in during_course.OF_A_TRIAL if check.evaluate(running) is not None} == set()
    other = replace(running, suite=Fio(), samples=tuple(replace(one, metric=IOPS) for one in running.samples))
    assert {check.id for check in during_course.OF_A_TRIAL if check.evaluate(other) is not None}

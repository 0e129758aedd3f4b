"""The verdict on rounds: an error where the standard's window is not met, doubtful where two windows differ."""

from dataclasses import replace

import pytest

from app.checks.evidence import RUNNING
from app.checks.timing import TRIAL_CHECKS
from suites.base import Context, complete_values
from suites.checks import CheckOutcome, CheckPhase, NotChecked
from suites.evidence import TrialEvidence
from suites.fio.metrics import IOPS
from suites.fio.suite import Fio
from suites.snia.output import WINDOW_IOPS, window_figures
from suites.snia.steady import steady_round, window_of
from suites.snia.suite import FioSnia
from suites.verdict import Trust
from suites.vocab import Figure, Sample, Severity
from tests.messages import messages

MESSAGES = messages("app", "test_round_checks")

SNIA = FioSnia()
DURING = [check for check in TRIAL_CHECKS if check.when is CheckPhase.DURING]
CHECKS = {check.id: check for check in TRIAL_CHECKS if check.when is CheckPhase.AFTER}


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


def shown(evidence: TrialEvidence) -> CheckOutcome | None:
    outcome = CHECKS["not-steady"].evaluate(evidence)
    assert outcome is None or isinstance(outcome, CheckOutcome)
    return outcome


CASES = {
    "steady by both": ([1000.0] * 10, True, None),
    "a decay, given up": ([3000.0 - 100 * place for place in range(25)], True, (Severity.ERROR, Trust.DOUBTFUL)),
    "two windows differ, given up": ([1300.0] * 5 + [1000.0] * 5, True, (Severity.ERROR, Trust.DOUBTFUL)),
    "two windows differ, ended by the standard's": (
        [1300.0] * 5 + [1000.0] * 5,
        False,
        (Severity.WARNING, Trust.DOUBTFUL),
    ),
    "ended by the standard's in five": ([1000.0] * 5, False, (None, Trust.CAVEATS)),
    "too few rounds": ([1000.0] * 3, True, (Severity.ERROR, Trust.DOUBTFUL)),
}


@pytest.mark.parametrize(("values", "both", "expected"), CASES.values(), ids=CASES)
def test_what_the_last_rounds_leave_of_a_result(
    values: list[float],
    both: bool,  # noqa: FBT001 (a case, by name)
    expected: tuple[Severity | None, Trust] | None,
) -> None:
    outcome = shown(trial(values, both=both))
    assert (None if outcome is None else (outcome.severity, outcome.trust)) == expected


def test_it_says_by_how_much_each_bound_was_missed() -> None:
    outcome = shown(trial([1300.0] * 5 + [1000.0] * 5))
    assert outcome is not None
    assert outcome.measured == (MESSAGES["after_10_rounds_the_last"])


def test_the_course_of_the_rounds_before_the_window_is_nothing_to_warn_of() -> None:
    evidence = trial([3000.0] * 15 + [1000.0] * 15)
    evidence = replace(evidence, samples=tuple(replace(one, warm_up=False) for one in evidence.samples))
    found = {name: check.evaluate(evidence) for name, check in CHECKS.items()}
    assert {name for name, one in found.items() if one is not None and not isinstance(one, NotChecked)} == set()
    assert shown(trial([1.0] * 3, state="partial")) is None
    running = replace(evidence, figures=(), state=RUNNING)
    assert {check.id for check in DURING if check.evaluate(running) is not None} == set()
    samples = tuple(replace(one, metric=IOPS) for one in running.samples)
    other = replace(running, suite=Fio(), values=complete_values(Fio(), {}), samples=samples)
    assert {check.id for check in DURING if check.evaluate(other) is not None}

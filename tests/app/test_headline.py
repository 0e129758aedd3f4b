"""The metric that leads a step: the suite's first, or what the user calls the figure of a command of their own."""

import pytest

from app.baselines.reference import step_metrics
from app.plans.plan import Step, make_step
from app.runs.schedule import deciding
from app.step_results import step_results
from app.summary import headline_metrics
from suites.base import Context
from suites.command.parameters import WALL_TIME, figure_metric
from suites.errors import UnknownSuiteError
from suites.evidence import TrialEvidence
from suites.vocab import Figure
from tests.app.run_events import run_record

OWN = make_step("command", {"command": "true", "figure": "pattern", "pattern": "([0-9]+)", "metric": "Jobs done"})


def test_the_users_figure_leads() -> None:
    assert OWN.headline.title == "Jobs done"
    assert make_step("command", {"command": "true"}).headline == WALL_TIME
    assert make_step("pgbench", {}).headline.name == "transactions_per_second"


def test_it_decides_and_is_shown_first_wherever_it_stands() -> None:
    own = figure_metric(OWN.values)
    figures = [Figure(WALL_TIME, 1.0), Figure(own, 7.0)]
    assert deciding(OWN, figures) == [Figure(own, 7.0)]
    assert headline_metrics(OWN, [WALL_TIME, own]) == {"own_jobs_done"}


def test_it_stands_for_the_trial_in_what_is_judged() -> None:
    own = figure_metric(OWN.values)
    figures = (Figure(WALL_TIME, 1.0), Figure(own, 7.0))
    judged = TrialEvidence(
        name="s", suite=OWN.suite, values=OWN.values, context=Context(), host="web-1", figures=figures
    )
    assert judged.headline == Figure(own, 7.0)
    assert step_metrics(OWN) == (own, WALL_TIME)


def test_a_suite_that_has_gone_has_none() -> None:
    with pytest.raises(UnknownSuiteError):
        _ = Step("s", "bonnie", {}).headline


def test_a_headline_that_is_the_tail_is_a_result_without_a_tail_of_its_own() -> None:
    step = make_step("fio", {"rw": "write", "ioengine": "sync", "fdatasync": 1}, name="log")
    assert step.headline.percentile == 99
    (result,) = step_results(run_record("a", (6e6,), step=step, metric=step.headline))
    assert (result.figure, result.detail) == ("6.00 ms", "")

"""On the same trials Benchwright's figures are those of scipy, benchstat and pyperf where they follow one method;
where the verdicts differ, the page of help says so, with these very figures."""

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import resources
from app.comparison.verdicts import ComparisonVerdict
from app.distributions.percentiles import TrialValues, ValueLevel, percentiles
from app.ranking.scores import Score, ratio_between
from tests.app import other_tools
from tests.app.other_tools import DATA, Benchstat, Pyperf, Trials
from tests.messages import messages

MESSAGES = messages("app", "test_other_tools")

BENCHSTAT = shutil.which("benchstat", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

PAGE = Path(resources.__file__).parent / "help" / "comparison.md"

WHAT = {
    "Far": "20 % apart",
    "Small": "2 % apart, and quiet",
    "Same": "the same twice",
    "Noisy": "9 % apart, and noisy",
    "Few": "30 % apart",
    "Odd": "12 % apart, with an outlier",
    "Unequal": "the same twice",
    "Busy": "sysbench twice in turns on a busy host",
}
"""What each set of trials is, as the page has it."""


@pytest.fixture(scope="module")
def trials() -> Trials:
    return other_tools.trials()


@pytest.fixture(scope="module")
def of_benchstat() -> dict[str, Benchstat]:
    return other_tools.benchstat((DATA / "benchstat.csv").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def of_pyperf(trials: Trials, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Pyperf], str]:
    return other_tools.pyperf(trials, tmp_path_factory.mktemp("pyperf"))


def printed(value: float, digits: int) -> str:
    return f"{value:.{digits}f}"


# Where the method is the same, the figures are


def test_interval_and_p_value_are_those_of_welchs_test_in_scipy(trials: Trials) -> None:
    for baseline, other in trials.values():
        expected = stats.ttest_ind(np.log(other), np.log(baseline), equal_var=False)
        interval = expected.confidence_interval(0.95)
        found = other_tools.ours(baseline, other)
        assert (found.low, found.high) == pytest.approx((math.exp(interval.low), math.exp(interval.high)))
        assert found.p == pytest.approx(expected.pvalue)
        assert found.ratio == pytest.approx(stats.gmean(other) / stats.gmean(baseline))


def test_the_median_and_its_interval_are_benchstats(trials: Trials, of_benchstat: dict[str, Benchstat]) -> None:
    for name, sides in trials.items():
        for values, median, reach in zip(sides, of_benchstat[name].medians, of_benchstat[name].reaches, strict=True):
            assert median == pytest.approx(np.median(values))
            ordered = np.sort(values)
            (found,) = (
                each
                for each in percentiles([TrialValues("", 1, "", ordered)], ValueLevel.TRIALS)
                if each.percentile == 50
            )
            low, high = found.low, found.high
            if len(values) == 8:  # ours leaves at most 2.5 % at each end, benchstat's 5 % at both together
                assert (low, high) == (ordered[0], ordered[-1])
                high = ordered[-2]
            reached = "∞" if low is None or high is None else f"{max(high / median - 1, 1 - low / median):.0%}"
            assert reach == reached


def test_benchstats_p_value_is_that_of_mann_and_whitney(trials: Trials, of_benchstat: dict[str, Benchstat]) -> None:
    for name, (baseline, other) in trials.items():
        assert of_benchstat[name].p == printed(stats.mannwhitneyu(other, baseline, method="exact").pvalue, 3)


def test_pyperfs_t_is_students_and_for_sides_alike_welchs(
    trials: Trials, of_pyperf: tuple[dict[str, Pyperf], str]
) -> None:
    for name, (baseline, other) in trials.items():
        t = of_pyperf[0][name].t
        if len(baseline) != len(other):
            assert of_pyperf[0][name].verdict == MESSAGES["error_when_testing_if_values"]
        elif t is not None:
            assert printed(t, 2) == printed(stats.ttest_ind(baseline, other).statistic, 2)
            assert printed(t, 2) == printed(stats.ttest_ind(baseline, other, equal_var=False).statistic, 2)


def test_the_geometric_mean_of_several_ratios_is_pyperfs(
    trials: Trials, of_pyperf: tuple[dict[str, Pyperf], str]
) -> None:
    # pyperf takes each side's mean, where a score takes the geometric mean of its trials: so the means are its values.
    other, baseline = (
        Score(tuple((math.log(np.mean(sides[place])) / len(trials),) for sides in trials.values())) for place in (1, 0)
    )
    assert of_pyperf[1] == f"{ratio_between(other, baseline).value:.2f}x slower"


# Where it is not, the page says what each says


def test_the_page_has_what_each_of_them_says(
    trials: Trials, of_benchstat: dict[str, Benchstat], of_pyperf: tuple[dict[str, Pyperf], str]
) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, (baseline, other) in trials.items():
        shown = of_pyperf[0][name]
        cells = (
            f"{len(other)} against {len(baseline)}: {WHAT[name]}",
            of_benchstat[name].text,
            f"{shown.change}, {shown.verdict.partition(' (')[0].lower().rstrip('!')}",
            other_tools.welch_text(baseline, other),
            other_tools.ours(baseline, other).text.partition(", margin")[0].rpartition(", ")[0],
        )
        assert f"| {' | '.join(cells)} |\n" in page


def test_the_margin_and_the_number_of_trials_are_what_sets_the_verdicts_apart(trials: Trials) -> None:
    found = {name: other_tools.ours(*sides).verdict for name, sides in trials.items()}
    assert found == {
        "Far": ComparisonVerdict.WORSE,
        "Small": ComparisonVerdict.SAME,
        "Same": ComparisonVerdict.SAME,
        "Noisy": ComparisonVerdict.UNDECIDED,
        "Few": ComparisonVerdict.UNDECIDED,
        "Odd": ComparisonVerdict.UNDECIDED,
        "Unequal": ComparisonVerdict.SAME,
        "Busy": ComparisonVerdict.UNDECIDED,
    }


@pytest.mark.skipif(
    BENCHSTAT is None,
    reason="benchstat is not installed" if shutil.which("go") else "no Go compiler builds benchstat here",
)
def test_benchstat_says_today_what_was_recorded() -> None:
    words = [str(BENCHSTAT), *other_tools.BENCHSTAT[1:]]
    shown = subprocess.run(words, cwd=DATA, check=True, capture_output=True, text=True).stdout
    assert shown == (DATA / "benchstat.csv").read_text(encoding="utf-8")

"""What a comparison says in words, and on which axis it is drawn. No window."""

import math
from collections.abc import Sequence

import pytest

from app.comparison.compare import compare
from app.comparison.comparison import Comparison, ComparisonRow, RelativeFigure
from app.comparison.verdicts import ComparisonVerdict
from app.margins import Margins
from tests.app.run_events import IOPS, P99, READ, run_record
from tests.messages import messages
from tests.widgets.library_runs import STEADY
from widgets.compare.cells import RatioScale, scale_for
from widgets.compare.messages import distinct_run_names, explain, interval_text, row_ratio_text, verdict_line
from widgets.library.run_rows import local_time

MESSAGES = messages("widgets-compare", "test_compare_messages")

SLOWER = [value * 0.9 for value in STEADY]
FAR = [value * 0.8 for value in STEADY]


def _compared(ours: Sequence[float], theirs: Sequence[float], margin: float = 0.05) -> tuple[Comparison, ComparisonRow]:
    """Compare two runs of one metric in which higher is better."""
    found = compare([run_record("one", ours), run_record("two", theirs)], Margins(margin))
    return found, found.rows[0]


def test_a_change_is_told_with_its_direction_and_size() -> None:
    found, row = _compared(STEADY, SLOWER)
    assert verdict_line(row.against[0], found.margin) == "worse ↓ 10 %"
    assert row_ratio_text(row.against[0]) == "0.90x"
    found, row = _compared(SLOWER, STEADY)
    assert verdict_line(row.against[0], found.margin) == "better ↑ 11 %"


def test_a_lower_latency_is_better_though_the_arrow_points_down() -> None:
    runs = [run_record(name, values, metric=P99) for name, values in (("one", STEADY), ("two", FAR))]
    found = compare(runs)
    assert verdict_line(found.rows[0].against[0], found.margin) == "better ↓ 20 %"


def test_the_margin_decides_and_the_explanation_says_where_it_would_tip() -> None:
    found, row = _compared(STEADY, SLOWER)
    reported = explain(found, row, 1)
    assert reported.verdict is ComparisonVerdict.WORSE
    assert MESSAGES["outside_the_margin_of"] in reported.why
    assert reported.change.startswith("A margin above 10.5 %")
    found, row = _compared(STEADY, SLOWER, 0.2)
    reported = explain(found, row, 1)
    assert reported.verdict is ComparisonVerdict.SAME
    assert reported.heading == MESSAGES["no_difference_larger_than_20"]
    assert reported.change.startswith("A margin below 11.7 %")


@pytest.mark.parametrize("edge", [0.8, 1.2])
def test_the_margin_that_is_named_really_tips_the_verdict(edge: float) -> None:
    _, row = _compared(STEADY, SLOWER)
    near = min(abs(math.log(end)) for end in (row.against[0].low or 1, row.against[0].high or 1))
    _, row = _compared(STEADY, SLOWER, math.expm1(near) * edge)
    assert row.against[0].verdict is (
        ComparisonVerdict.WORSE if edge < 1 else ComparisonVerdict.UNDECIDED if edge < 1.1 else ComparisonVerdict.SAME
    )


def test_too_few_trials_are_counted_for_whoever_wants_a_verdict() -> None:
    found, row = _compared(STEADY, STEADY[:3])
    reported = explain(found, row, 1)
    assert reported.heading == "undecided"
    assert "3 against 8" in reported.why
    assert reported.change == MESSAGES["at_least_6_trials_on_each"]


def test_what_would_change_it_says_as_many_more_as_the_verdict_and_of_which_side() -> None:
    noisy = (62e3, 62.5e3, 61.5e3, 22e3)
    found, row = _compared(noisy, (53e3, 53.5e3, 52.5e3, 70e3))
    assert row.against[0].text.startswith(f"undecided: at least {row.against[0].more} more trials on each side")
    assert explain(found, row, 1).change == f"At least {row.against[0].more} more trials on each side to decide it."
    found, row = _compared([1000.0, 1100.0] * 10, [1000.0, 1100.0] * 3)
    assert row.against[0].more == 3
    assert row.against[0].text.startswith("undecided: at least 3 more trials of this run, 6 against 20 trials")
    assert explain(found, row, 1).change == MESSAGES["about_3_more_trials_of_b"]


def test_of_groups_it_is_hosts_that_are_lacking() -> None:
    sides = [
        [run_record(f"{side}{host}", [level] * 3, host=f"{side}-{host}") for host, level in enumerate(levels)]
        for side, levels in (("a", (1000.0, 1010.0)), ("b", (1100.0, 1110.0)))
    ]
    found = compare(sides)
    assert explain(found, found.rows[0], 1).change == MESSAGES["at_least_3_hosts_on_each"]


def test_one_trial_has_no_interval_and_that_is_said() -> None:
    found, row = _compared(STEADY, STEADY[:1])
    reported = explain(found, row, 1)
    assert reported.compared[1].endswith("one trial")
    assert reported.why.startswith("No verdict: ")
    assert interval_text(row.against[0]) == "—"


def test_each_side_says_its_median_and_the_geometric_mean_that_the_ratio_is_of() -> None:
    found, row = _compared((62e3, 62.5e3, 61.5e3, 22e3), (53e3, 53.5e3, 52.5e3, 70e3))
    reported = explain(found, row, 1)
    assert [words.rpartition("trials, ")[2] for words in reported.compared] == [
        "geometric mean 48k IOPS",
        MESSAGES["geometric_mean_56_8k_iops"],
    ]
    assert reported.why.startswith(MESSAGES["the_ratio_of_the_geometric"])
    assert any(MESSAGES["the_other_way_round_at_0_86x"] in words for words in reported.weakened)


def test_what_measured_other_things_says_what_and_how_to_mend_it() -> None:
    other = run_record("two", SLOWER, version="fio-3.36")
    found = compare([run_record("one", STEADY), other])
    reported = explain(found, found.rows[0], 1)
    assert reported.verdict is ComparisonVerdict.NOT_COMPARABLE
    assert "3.36 against" in reported.why
    assert "tool version" in reported.change


def test_what_weakens_a_verdict_is_told_once_and_on_its_own() -> None:
    two_levels = [400e3, 401e3, 400e3, 500e3, 501e3, 500e3]
    found, row = _compared(STEADY[:6], two_levels)
    reported = explain(found, row, 1)
    assert any("bimodal" in words for words in reported.weakened)
    assert not any(words in reported.why for words in reported.weakened)


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0.95, 1.05, "0.95 to 1.05"), (1.018, 1.024, "1.018 to 1.024"), (None, None, "—")]
)
def test_an_interval_has_the_digits_that_tell_its_ends_apart(
    low: float | None, high: float | None, expected: str
) -> None:
    assert interval_text(RelativeFigure(ComparisonVerdict.UNDECIDED, "", 1.0, low, high)) == expected


def test_runs_are_told_apart_in_as_few_words_as_do() -> None:
    one, two = (run_record(name, STEADY).summary for name in ("one", "two"))
    whole = local_time(one.started)
    assert distinct_run_names([one, two]) == [f"{whole[5:]} · disk"] * 2
    other = run_record("three", STEADY, host="web-2").summary
    assert distinct_run_names([one, other])[1] == f"{whole[5:]} · disk · web-2"
    assert distinct_run_names([one]) == [f"{whole} · disk"]


def test_twice_and_half_lie_equally_far_from_one() -> None:
    axis = RatioScale(math.log(4))
    assert axis.position(1) == 0.5
    assert axis.position(2) - 0.5 == pytest.approx(0.5 - axis.position(0.5))
    assert axis.position(4) == pytest.approx(1)


def _against(ratio: float, low: float, high: float) -> RelativeFigure:
    return RelativeFigure(ComparisonVerdict.UNDECIDED, "", ratio, low, high)


def test_the_axis_holds_every_ratio_and_the_margin() -> None:
    found = [_against(1.5, 1.4, 1.6), _against(0.98, 0.97, 0.99)]
    axis = scale_for(found, 0.05)
    assert all(0 < axis.position(edge) < 1 for edge in (0.97, 1.6, 1 / 1.05, 1.05))
    assert 0 < axis.position(1 / axis.tick()) < axis.position(axis.tick()) < 1


def test_an_interval_of_no_use_does_not_squeeze_the_others() -> None:
    axis = scale_for([_against(1.02, 0.001, 900), _against(1.05, 1.04, 1.06)], 0.05)
    assert axis.position(1.06) - axis.position(1.04) > 0.04
    assert axis.position(900) > 1


@pytest.mark.parametrize("margin", [0.0, 0.05, 1.0])
def test_an_axis_without_any_ratio_is_still_one(margin: float) -> None:
    axis = scale_for([RelativeFigure(ComparisonVerdict.NOT_COMPARABLE, "no")], margin)
    assert 0 < axis.position(1 / (1 + margin)) <= 0.5 <= axis.position(1 + margin) < 1
    assert axis.tick() > 1


def test_labels_are_those_of_the_recorded_runs() -> None:
    _, row = _compared(STEADY, SLOWER)
    assert (row.metric, row.labels) == (IOPS, READ)

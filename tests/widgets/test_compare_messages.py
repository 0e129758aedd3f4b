"""What a comparison says in words, and on which axis it is drawn. No window."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from app.comparison.compare import compare
from app.comparison.comparison import Comparison, ComparisonRow, RelativeFigure
from app.comparison.verdicts import CAPPED, ComparisonVerdict
from app.margins import Margins
from app.records import RunRecord
from suites.quantities import count_text
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind
from tests.app.run_events import CPU_BUSY, IOPS, P99, READ, run_record, sessions
from tests.messages import messages
from tests.widgets.library_runs import STEADY
from widgets.compare.cells import RatioScale, scale_for
from widgets.compare.messages import (
    ICONS,
    distinct_run_names,
    explain,
    interval_text,
    row_ratio_text,
    short_run_name,
    sides_text,
    status_text,
    verdict_line,
)
from widgets.library.run_rows import local_time

MESSAGES = messages("widgets-compare", "test_compare_messages")

SLOWER = [value * 0.9 for value in STEADY]


def _compared(ours: Sequence[float], theirs: Sequence[float], margin: float = 0.05) -> tuple[Comparison, ComparisonRow]:
    """Compare two runs of one metric in which higher is better."""
    found = compare([run_record("one", ours), run_record("two", theirs)], Margins(margin))
    return found, found.rows[0]


def _of_sessions(factor: float, margin: float = 0.05, metric: Metric = IOPS) -> tuple[Comparison, ComparisonRow]:
    """Compare three sessions with three that are `factor` times as high."""
    found = compare(
        [sessions("a", STEADY, metric=metric), sessions("b", STEADY, factor, metric=metric)], Margins(margin)
    )
    return found, found.rows[0]


@pytest.mark.parametrize(
    ("factor", "line", "ratio"),
    [(0.9, "worse, −10 %", "0.90x"), (1.11, "better, +11 %", "1.11x"), (2.5, "better, 2.50x", "2.50x")],
)
def test_a_change_is_told_with_its_direction_and_size(factor: float, line: str, ratio: str) -> None:
    found, row = _of_sessions(factor)
    assert verdict_line(row.against[0], found.margin) == line
    assert row_ratio_text(row.against[0]) == ratio


def test_a_lower_latency_is_better() -> None:
    found, row = _of_sessions(0.8, metric=P99)
    assert verdict_line(row.against[0], found.margin) == "better, −20 %"


def test_single_sessions_differ_or_agree() -> None:
    found, row = _compared(STEADY, SLOWER)
    assert verdict_line(row.against[0], found.margin) == MESSAGES["differs"]
    assert explain(found, row, 1).change == MESSAGES["more_sessions"]
    found, row = _compared(STEADY, [value * 1.01 for value in STEADY])
    assert verdict_line(row.against[0], found.margin) == MESSAGES["agrees"]


def _of_hosts(moments: Sequence[float], before: Sequence[float]) -> tuple[Comparison, ComparisonRow]:
    """Compare four hosts in two studies of some sessions, each with a factor that its hosts share."""
    sides: list[list[RunRecord]] = []
    for name, factors in ("a", before), ("b", moments):
        sides.append([])
        for session, factor in enumerate(factors, 1):
            for host in range(4):
                own = factor * (1 + 0.001 * host * (session + (name == "b")))
                values = [value * own for value in STEADY]
                sides[-1].append(run_record(f"{name}{session}{host}", values, host=f"web-{host}"))
    found = compare(sides, moments={run.summary.id: run.summary.id[:2] for side in sides for run in side})
    return found, found.rows[0]


def test_hosts_of_single_sessions_differ_and_sessions_that_disagree_are_what_is_missing() -> None:
    found, row = _of_hosts([0.8], [1.0])
    assert verdict_line(row.against[0], found.margin) == MESSAGES["hosts_differ"]
    assert explain(found, row, 1).change == MESSAGES["sessions_of_hosts"]
    found, row = _of_hosts([0.9, 0.8], [1.0, 1.0])
    assert row.against[0].verdict is ComparisonVerdict.UNDECIDED
    assert explain(found, row, 1).change == MESSAGES["sessions_would_decide"]
    assert explain(found, row, 1).sentence == MESSAGES["sessions_lack"]


def test_a_descriptive_metric_says_how_to_test_it_or_that_another_is_the_same_number() -> None:
    found = compare([_with_mean_latency("one", STEADY), _with_mean_latency("two", SLOWER)])
    _, latency, busy = (row.against[0] for row in found.rows)
    assert verdict_line(latency, found.margin) == MESSAGES["same_number"]
    assert verdict_line(busy, found.margin) == "not tested"
    assert [explain(found, row, 1).change for row in found.rows[1:]] == ["", MESSAGES["include"]]


def _with_mean_latency(run_id: str, values: Sequence[float]) -> RunRecord:
    """Return a run with IOPS, the latency of 32 requests in flight, and an unrelated metric."""
    run = run_record(run_id, values)
    trials = [
        replace(
            record,
            figures=(*record.figures, Figure(MEAN, 32e6 / values[place], READ), Figure(CPU_BUSY, 10 + place % 3, ())),
        )
        for place, record in enumerate(run.trials)
    ]
    return replace(run, trials=tuple(trials))


MEAN = Metric("latency_mean", "Latency, mean", Unit.MICROSECOND, Better.LOWER, MetricKind.TIME)


def test_every_verdict_has_an_icon_of_its_own() -> None:
    assert set(ICONS) == set(ComparisonVerdict)
    alike = len({verdict for capped in CAPPED.values() for verdict in capped}) - 2  # of sessions, hosts, blocks
    assert len({icon for icon, _ in ICONS.values()}) == len(ICONS) - alike


def test_the_margin_decides_and_the_explanation_says_where_it_would_tip() -> None:
    found, row = _of_sessions(0.9)
    reported = explain(found, row, 1)
    assert reported.verdict is ComparisonVerdict.WORSE
    assert MESSAGES["outside_the_margin_of"] in reported.why
    assert reported.change.startswith("A margin above 9.6 %")
    found, row = _of_sessions(0.9, 0.2)
    reported = explain(found, row, 1)
    assert reported.verdict is ComparisonVerdict.SAME
    assert reported.heading == MESSAGES["no_difference_larger_than_20"]
    assert reported.change.startswith("A margin below 10.4 %")


@pytest.mark.parametrize("edge", [0.8, 1.2])
def test_the_margin_that_is_named_really_tips_the_verdict(edge: float) -> None:
    _, row = _of_sessions(0.9)
    near = min(abs(end - 1) for end in (row.against[0].low or 1, row.against[0].high or 1))
    _, row = _of_sessions(0.9, near * edge)
    assert row.against[0].verdict is (ComparisonVerdict.WORSE if edge < 1 else ComparisonVerdict.SAME)


def test_too_few_trials_are_counted_for_whoever_wants_a_verdict() -> None:
    found, row = _compared(STEADY, STEADY[:3])
    reported = explain(found, row, 1)
    assert reported.heading == "undecided"
    assert "3 against 8" in reported.why
    found = compare([sessions("a", STEADY), sessions("b", STEADY, count=2)])
    assert explain(found, found.rows[0], 1).change == MESSAGES["at_least_3_sessions"]


def test_what_would_change_it_says_as_many_more_as_the_verdict_and_of_which_side() -> None:
    noisy = [run_record(f"a{number}", [value] * 3) for number, value in enumerate((62e3, 60e3, 61e3, 58e3))]
    found = compare([noisy, [run_record(f"b{number}", [value] * 3) for number, value in enumerate((60e3, 55e3, 58e3))]])
    (row,) = found.rows
    more = row.against[0].more
    assert more is not None
    assert f"at least {count_text(more, 'more session')} on each side" in row.against[0].text
    assert explain(found, row, 1).change == f"At least {count_text(more, 'more session')} on each side would decide it."
    many, few = (
        [run_record(f"{side}{number}", [1000.0 + 60 * (number % 2)] * 3) for number in range(count)]
        for side, count in (("a", 16), ("b", 4))
    )
    found = compare([many, few])
    assert "of this run" in found.rows[0].against[0].text
    assert " of B would decide it." in explain(found, found.rows[0], 1).change


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


def test_each_side_says_its_mean_and_interval() -> None:
    found, row = _compared((62e3, 62.5e3, 61.5e3, 22e3), (53e3, 53.5e3, 52.5e3, 70e3))
    reported = explain(found, row, 1)
    assert list(reported.compared) == [MESSAGES["mean_a"], MESSAGES["mean_b"]]
    assert reported.why.startswith(MESSAGES["the_ratio_of_the_geometric"])


def test_a_trial_of_zero_is_the_reason_of_an_arithmetic_mean() -> None:
    found, row = _compared(STEADY, (0.0, *STEADY[1:]))
    reported = explain(found, row, 1)
    assert reported.compared[1].endswith(MESSAGES["arithmetic"])
    assert reported.change == MESSAGES["above_zero"]
    assert any(note.endswith(MESSAGES["arithmetic_note"]) for note in found.notes)


def test_the_reason_of_an_undecided_ratio_is_one_clause() -> None:
    found, row = _compared(STEADY, [value * (1 + 0.1 * (place % 3)) for place, value in enumerate(STEADY)])
    assert row.against[0].verdict is ComparisonVerdict.UNDECIDED
    why = explain(found, row, 1).why
    assert why.endswith(f": {row.against[0].ground}.")
    assert ", but" not in why.partition(row.against[0].ground)[0]


def test_what_measured_other_things_says_what_and_how_to_mend_it() -> None:
    other = run_record("two", SLOWER, version="fio-3.36")
    found = compare([run_record("one", STEADY), other])
    reported = explain(found, found.rows[0], 1)
    assert reported.verdict is ComparisonVerdict.NOT_COMPARABLE
    assert "3.36 against" in reported.sentence
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
    parts = [
        replace(run, chosen_steps=("scan",), chosen_hosts=run.hosts[:number]) for number, run in enumerate([one, other])
    ]
    assert distinct_run_names(parts) == [
        f"step scan · {whole[5:]} · disk · web-1",
        f"step scan, host web-2 · {whole[5:]} · disk",
    ]
    assert short_run_name(parts[1]) == f"disk · step scan, host web-2 · {whole}"


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


@pytest.mark.parametrize("noise", [0.001, 0.02])
@pytest.mark.parametrize("factor", [0.4, 0.93, 0.9976, 1.0149, 1.1034, 1.26, 2.5])
def test_a_change_has_the_same_digits_in_heading_and_sentence(factor: float, noise: float) -> None:
    steps = (1 - noise, 1 + noise, 1.0, 1 - noise, 1 + noise, 1.0)
    for margin in (0.011, 0.05, 0.10):
        found, row = _compared([100.0 * step for step in steps], [100.0 * factor * step for step in steps], margin)
        against = row.against[0]
        if against.verdict is ComparisonVerdict.UNDECIDED:
            continue
        change = verdict_line(against, margin).split(", ")[1].lstrip("+−")
        assert f" {change} " in against.text.replace("−", "").replace("+", ""), against.text
        assert change in explain(found, row, 1).heading


def test_groups_are_counted_in_runs_and_hosts() -> None:
    one, two, three = (run_record(name, STEADY).summary for name in ("one", "two", "three"))
    group, part = replace(one, id="one,two"), replace(one, id="one@a,one@b", hosts=("a", "b"), chosen_hosts=("a", "b"))
    part = replace(part, id="one,one")
    assert sides_text([one, two]) == "2 runs"
    assert sides_text([one, one]) == "2 sides, 1 run"
    assert sides_text([group, three]) == "2 sides, 3 runs"
    assert sides_text([group, group]) == "2 groups, 2 runs"
    assert distinct_run_names([group, part])[0].startswith("2 runs · ")
    assert distinct_run_names([group, part])[1].startswith("1 run on 2 hosts · ")
    assert "host" not in distinct_run_names([part, group])[0].partition(" · ")[2]
    assert " · 2 runs · " in short_run_name(group)


def test_a_metric_of_several_hosts_is_counted_once() -> None:
    sides = [[run_record(f"{side}-{host}", STEADY, host=host) for host in ("web-1", "web-2")] for side in "ab"]
    found = compare(sides)
    assert len(found.rows) == 3
    assert status_text(found) == f"{sides_text(found.runs)}, 1 metric"

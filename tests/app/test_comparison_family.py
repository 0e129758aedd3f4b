"""Which metrics of a comparison are tested: headline metrics, selected ones, and none that repeats another."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from app.cli.tables import print_comparison
from app.comparison.compare import compare
from app.comparison.comparison import Comparison
from app.comparison.family import ALL_METRICS, DESCRIPTIVE
from app.comparison.verdicts import ComparisonVerdict
from app.records import RunRecord
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind
from tests.app.run_events import CPU_BUSY, IOPS, READ, run_record
from tests.messages import messages

MESSAGES = messages("app", "test_comparison_family")
MEAN = Metric("latency_mean", "Latency, mean", Unit.MICROSECOND, Better.LOWER, MetricKind.TIME)
OTHER = replace(CPU_BUSY, name="other", title="Other")
BASE = (1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0, 998.0)
BUSY = (10.0, 12.0, 11.0, 10.0, 12.0, 10.5, 11.5)


def run_of(run_id: str, factor: float = 1.0, trials: int = len(BASE), busy: Sequence[float] = BUSY) -> RunRecord:
    """Return a run with IOPS, its inverse, and two metrics that have nothing to do with it but the factor."""
    run = run_record(run_id, [value * factor for value in BASE[:trials]])
    found = (
        replace(
            record,
            figures=(
                *record.figures,
                Figure(MEAN, 32e6 / (BASE[place] * factor), READ),
                Figure(CPU_BUSY, busy[place] * factor, ()),
                Figure(OTHER, busy[place] * factor * 2, ()),
            ),
        )
        for place, record in enumerate(run.trials)
    )
    return replace(run, trials=tuple(found))


def grounds(found: Comparison) -> list[str]:
    """Return the reason of each descriptive metric, empty for tested ones."""
    return ["" if row.tested else row.against[0].ground for row in found.rows]


SAME = MESSAGES["same_as_iops"]


def test_metrics_that_are_the_same_number_are_tested_once() -> None:
    found = compare([run_of("a"), run_of("b", 1.5)], tested=[ALL_METRICS])
    assert [row.metric.name for row in found.rows] == [IOPS.name, MEAN.name, CPU_BUSY.name, OTHER.name]
    assert grounds(found) == ["", SAME, "", MESSAGES["same_as_busy"]]
    assert found.rows[1].against[0].verdict is ComparisonVerdict.NOT_TESTED
    # A family of two: the smaller p-value is doubled, for IOPS and its inverse are one test.
    alone = compare([run_of("a"), run_of("b", 1.5)]).rows[0].against[0].p
    assert alone is not None
    assert found.rows[0].against[0].p == pytest.approx(2 * alone, rel=1e-6)


def test_a_common_change_does_not_make_metrics_the_same_number() -> None:
    assert grounds(compare([run_of("a"), run_of("b", 3.0)]))[2:] == [DESCRIPTIVE, DESCRIPTIVE]


def test_one_metric_is_selected_by_name() -> None:
    assert grounds(compare([run_of("a"), run_of("b")], tested=["other"])) == ["", SAME, MESSAGES["same_as_other"], ""]


def test_few_trials_show_no_common_number() -> None:
    assert grounds(compare([run_of("a", trials=2), run_of("b", trials=2)], tested=[ALL_METRICS])) == [""] * 4


def test_a_metric_with_a_zero_is_not_the_same_number_and_stays_descriptive() -> None:
    found = compare([run_of("a", busy=(0.0, *BUSY[1:])), run_of("b")])
    assert grounds(found) == ["", SAME, DESCRIPTIVE, DESCRIPTIVE]
    assert {row.against[0].verdict for row in found.rows[1:]} == {ComparisonVerdict.NOT_TESTED}


def test_the_command_line_prints_tested_metrics_and_counts_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    found = compare([run_of("a"), run_of("b")])
    print_comparison(found, everything=False)
    printed = capsys.readouterr().out
    assert IOPS.title in printed
    assert CPU_BUSY.title not in printed
    assert MESSAGES["left_out"] in printed
    print_comparison(found)
    printed = capsys.readouterr().out
    assert CPU_BUSY.title in printed
    assert MESSAGES["left_out"] not in printed


def test_the_next_command_has_the_selectors_that_were_given(capsys: pytest.CaptureFixture[str]) -> None:
    found = compare([run_of("a"), run_of("b", 1.01)])
    row = found.rows[0]
    undecided = replace(row.against[0], verdict=ComparisonVerdict.UNDECIDED)
    shown = replace(found, rows=(replace(row, against=(undecided,)),))
    print_comparison(shown, selectors=["first:a", "second@web-1"])
    assert MESSAGES["sample_size"] in capsys.readouterr().out
    sides = tuple(side and replace(side, halves=(True,) * side.n) for side in row.sides)
    duet = replace(found, rows=(replace(row, sides=sides, against=(undecided,)),))
    print_comparison(duet, selectors=["first:a", "first:b"])
    assert MESSAGES["sample_size_of_any"] not in capsys.readouterr().out

"""Figures of a trial as curves over the label that was swept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.scaling.sweeps import curves, curves_of, label_with_most_values, number_of
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, labels
from tests.app.run_events import run_record

IOPS = Metric("iops", "I/Os per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
LATENCY = Metric("latency_p99", "p99", Unit.NANOSECOND, Better.LOWER, MetricKind.TIME, 99.0)


def _figures(metric: Metric = IOPS, **fixed: str) -> list[Figure]:
    return [
        Figure(metric, value, labels(depth=depth, **fixed))
        for depth, value in (("1", 100.0), ("16", 990.0), ("4", 390.0), ("64", 1000.0))
    ]


def test_a_curve_has_its_points_in_the_order_of_the_number_and_a_knee() -> None:
    (curve,) = curves_of(_figures(operation="read"))
    assert [point.x for point in curve.points] == [1, 4, 16, 64]
    assert (curve.label, curve.rest, curve.sizes) == ("depth", (("operation", "read"),), False)
    assert curve.knee is curve.at(16)
    assert not curve.growing


def test_less_is_better_has_no_knee() -> None:
    (curve,) = curves_of(_figures(LATENCY))
    assert curve.knee is None


def test_the_trials_of_a_point_stay_apart() -> None:
    (curve,) = curves_of([*_figures(), *_figures()])
    assert curve.points[0].values == (100.0, 100.0)
    assert curve.points[0].value == 100.0


def test_each_label_that_was_swept_has_curves_and_the_longest_is_chosen() -> None:
    found = curves_of([*_figures(block="4 KiB"), *_figures(block="1 MiB")])
    assert {(curve.label, curve.rest) for curve in found} == {
        ("depth", (("block", "4 KiB"),)),
        ("depth", (("block", "1 MiB"),)),
        *(("block", (("depth", depth),)) for depth in ("1", "4", "16", "64")),
    }
    assert label_with_most_values(found) == "depth"
    sizes = next(curve for curve in found if curve.label == "block")
    assert sizes.sizes
    assert [point.x for point in sizes.points] == [4096, 2**20]


def test_words_and_single_values_make_no_curve() -> None:
    assert curves_of([Figure(IOPS, 1.0, labels(operation="read")), Figure(IOPS, 2.0, labels(operation="write"))]) == ()
    assert curves_of([Figure(IOPS, 1.0, labels(depth="1"))]) == ()
    assert curves_of([Figure(IOPS, 1.0)]) == ()
    assert label_with_most_values([]) is None


def test_a_label_that_only_some_figures_have_is_not_swept() -> None:
    assert curves_of([*_figures(), Figure(IOPS, 5.0)]) == ()


def test_a_run_without_a_sweep_has_no_curves() -> None:
    assert curves(run_record("r", [1.0, 2.0]), "random read") == ()


@pytest.mark.parametrize(
    ("text", "number"), [("8", 8.0), ("4 KiB", 4096.0), ("1.5 MiB", 1.5 * 2**20), ("read", None), ("", None)]
)
def test_labels_as_numbers(text: str, number: float | None) -> None:
    assert number_of(text) == number


@given(st.lists(st.tuples(st.text(max_size=4), st.floats(allow_nan=False, allow_infinity=False)), max_size=12))
def test_any_labels_at_all_are_taken(found: list[tuple[str, float]]) -> None:
    for curve in curves_of([Figure(IOPS, value, labels(threads=text)) for text, value in found]):
        assert [point.x for point in curve.points] == sorted(point.x for point in curve.points)

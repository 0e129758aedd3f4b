"""Strips of instances: every one is visible, and the odd ones are on top."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.chart import Chart, ChartMark, chart_table
from app.fleet.lemons import find_lemons
from app.fleet.strips import MOST_NAMED, MOST_STRIPS, group_strips, instance_strips
from app.fleet.study import FleetMetric
from app.report_image.plots import write_charts
from suites.vocab import Better
from tests.simulation.fleets import RATE, SimulatedFleet, fleet_of

SLOWER = {2: 0.5, 5: 0.5, 7: 0.7}


def fleet(instances: int = 12, types: int = 3) -> FleetMetric:
    return fleet_of(np.random.default_rng(1), SimulatedFleet(types, instances), SLOWER)


def dots(chart: Chart) -> int:
    return sum(len(one.xs) for one in chart.series if one.mark is ChartMark.DOTS)


def test_lemons_are_at_the_top_and_named_and_every_trial_is_a_point() -> None:
    one = fleet()
    chart = instance_strips(one, "type-0", find_lemons([one]).outliers)
    assert {name.partition(":")[0] for name in chart.y.names[:3]} == {"h0-2", "h0-5", "h0-7"}
    assert all(": lemon, 0." in name for name in chart.y.names[:3])
    assert not any("lemon" in name for name in chart.y.names[3:])
    assert dots(chart) == len(chart.y.names) == 12
    (trials,) = [series for series in chart.series if series.mark is ChartMark.POINTS]
    assert len(trials.xs) == 72
    (band,) = [series.cells[0] for series in chart.series if series.cells]
    assert band.low < 0
    assert band.right / band.left < 1.1  # without the lemons


def test_the_worst_are_on_top_without_outliers_too() -> None:
    one = fleet()
    assert instance_strips(one, "type-0").y.names[-1] not in {"h0-2", "h0-5", "h0-7"}
    less = replace(one, metric=replace(RATE, better=Better.LOWER))
    assert set(instance_strips(less, "type-0").y.names[-2:]) == {"h0-2", "h0-5"}


@pytest.mark.parametrize("instances", [12, 100])
def test_every_instance_is_a_dot_of_its_group(instances: int) -> None:
    one = fleet(instances)
    outliers = find_lemons([one]).outliers
    chart = group_strips(one, outliers)
    assert dots(chart) == 3 * instances
    assert chart.y.names[0] == f"type-0, n = {instances}"
    places = [(x, y) for series in chart.series for x, y in zip(series.xs, series.ys, strict=True)]
    assert len(set(places)) == len(places)
    named = [series.name for series in chart.series if "lemon" in series.name]
    assert len(named) == len({each.host for each in outliers}) <= MOST_NAMED


def test_more_instances_than_strips_are_counted() -> None:
    chart = instance_strips(fleet(MOST_STRIPS + 3), "type-0")
    assert (len(chart.y.names), chart.note[:2]) == (MOST_STRIPS, "3 ")


def test_the_charts_are_drawn_and_tabulated(tmp_path: Path) -> None:
    one = fleet()
    charts = [instance_strips(one, "type-0", find_lemons([one]).outliers), group_strips(one)]
    assert write_charts(charts, tmp_path / "strips.png").read_bytes().startswith(b"\x89PNG")
    assert sum(row[0] == "trials" for row in chart_table(charts[0])) == 72

"""Comparing groups takes time in proportion to their runs; `make bench comparison` measures how long."""

import time
from pathlib import Path

import pytest

from app.comparison.variance import SAMPLE, TRIAL
from app.comparison.verdicts import ComparisonVerdict
from tests.simulation.stored import store_of_groups

pytestmark = pytest.mark.slow


def test_the_time_to_compare_groups_grows_with_the_runs(tmp_path: Path) -> None:
    workstation, groups = store_of_groups(tmp_path, runs=100, metrics=10, samples=300)
    taken: dict[int, float] = {}
    for runs in (50, 100):
        words = [",".join(group[:runs]) for group in groups]
        comparison = workstation.compare(words)  # what is imported first is not what is measured
        times = []
        for _ in range(3):
            began = time.process_time()  # of this process alone: others run on the same computer
            comparison = workstation.compare(words)
            times.append(time.process_time() - began)
        taken[runs] = min(times)
    workstation.close()
    assert taken[100] / taken[50] < 2.5
    assert [row.against[0].verdict for row in comparison.rows] == [ComparisonVerdict.BETTER] * 10
    levels = comparison.rows[0].levels[0]
    assert levels is not None
    assert [(level.name, level.n) for level in levels.levels if level.name in {SAMPLE, TRIAL}] == [
        (SAMPLE, 30_000),
        (TRIAL, 100),
    ]

"""A start that differs is found and said; a steady trial is left in peace."""

import math
import random
import statistics

import pytest

from app.checks.catalogue import TRIAL_CHECKS
from app.checks.starts import MIN_SAMPLES, Start, start_of, start_text
from app.checks.timing import SHAPE_CHECKS
from tests.app.trial_evidence import READ, shown, trial
from tests.messages import messages

MESSAGES = messages("app", "test_unsteady_start")


def noise(count: int, coefficient: float = 0.0, seed: int = 1, spread: float = 0.05) -> list[float]:
    rng = random.Random(seed)
    value, found = rng.gauss(0, 1), []
    for _ in range(count):
        value = coefficient * value + math.sqrt(1 - coefficient**2) * rng.gauss(0, 1)
        found.append(1 + spread * value)
    return found


def slow_start(seconds: int = 20, count: int = 120, coefficient: float = 0.0, seed: int = 1) -> list[float]:
    """Return a figure that grows from 40 % to its level of 1000 in the first `seconds`."""
    shape = [0.4 + 0.6 * place / seconds if place < seconds else 1.0 for place in range(count)]
    return [1000 * one * other for one, other in zip(shape, noise(count, coefficient, seed), strict=True)]


def seconds(values: list[float]) -> list[float]:
    return [float(place + 1) for place in range(len(values))]


@pytest.mark.parametrize("coefficient", [0.0, 0.5, 0.8])
def test_a_slow_start_is_found_where_it_ends_and_what_it_costs_is_told(coefficient: float) -> None:
    found = []
    for seed in range(21):
        values = slow_start(coefficient=coefficient, seed=seed)
        start = start_of(seconds(values), values)
        if start is not None:
            found.append(start)
    assert len(found) >= 20
    assert 13 <= statistics.median(start.until for start in found) <= 30
    assert statistics.median(start.rest for start in found) == pytest.approx(1000, rel=0.02)
    assert statistics.median(start.whole for start in found) == pytest.approx(947.5, rel=0.02)
    assert statistics.median(start.change for start in found) == pytest.approx(0.055, abs=0.015)


def test_a_burst_at_the_start_is_found_as_well() -> None:
    values = [value * (3000 if place < 30 else 1000) for place, value in enumerate(noise(300))]
    start = start_of(seconds(values), values)
    assert start is not None
    assert start.until == pytest.approx(30, abs=5)
    assert start.change == pytest.approx(-1 / 6, abs=0.03)


@pytest.mark.parametrize(("coefficient", "most"), [(0.0, 0), (0.5, 4), (0.8, 10)])
def test_steady_trials_are_left_in_peace(coefficient: float, most: int) -> None:
    found = 0
    for seed in range(100):
        values = noise(60, coefficient, seed)
        found += start_of(seconds(values), values) is not None
    assert found <= most


def test_what_changes_at_the_end_is_no_start() -> None:
    values = [value * (400 if place > 220 else 1000) for place, value in enumerate(noise(300))]
    assert start_of(seconds(values), values) is None


def test_what_cannot_be_told_is_not_said() -> None:
    few = slow_start(5, MIN_SAMPLES - 1)
    assert start_of(seconds(few), few) is None
    assert start_of([], []) is None
    assert start_of(seconds([0.0] * 40), [0.0] * 40) is None
    assert start_of(seconds([7.0] * 40), [7.0] * 40) is None
    step = [900.0] * 10 + [1000.0] * 50  # not a breath of noise
    start = start_of(seconds(step), step)
    assert start is not None
    assert (start.until, round(start.whole, 1), start.rest) == (10.0, 983.3, 1000.0)


def test_the_words_say_what_leaving_it_out_would_do() -> None:
    assert start_text(Start(20.0, 100.0, 103.0)) == MESSAGES["the_first_20_s_left_out"]
    assert start_text(Start(90.0, 100.0, 88.0)) == MESSAGES["the_first_1_min_30_s_left"]


def test_a_finding_names_the_figure_and_says_that_nothing_was_left_out() -> None:
    (check,) = (one for one in TRIAL_CHECKS if one.id == "unsteady-start")
    assert check.remedy.endswith("Nothing was left out.")
    slow = [950.0 + place if place < 20 else 1000.0 for place in range(120)]
    slow = [one * other for one, other in zip(slow, noise(120, spread=0.002), strict=True)]
    words = shown(check, trial("fio", {"iops": 995.0}, at=READ, samples=slow))
    assert words is not None
    assert MESSAGES["left_out_would_change_the"] in words
    rising = trial("fio", {"iops": 950.0}, at=READ, samples=slow_start(60))
    assert any(shown(shape, rising) for shape in SHAPE_CHECKS)
    assert shown(check, rising) is None

"""A spread is attributed to the level it comes from."""

import random
import statistics

import pytest

from app.comparison.estimates import HOST, SAMPLE, TRIAL, levels_of
from app.sample_statistics import WithinTrial, within_of

DYESTUFF = (
    (1545, 1440, 1440, 1520, 1580), (1540, 1555, 1490, 1560, 1495), (1595, 1550, 1605, 1510, 1560),
    (1445, 1440, 1595, 1465, 1545), (1595, 1630, 1515, 1635, 1625), (1520, 1455, 1450, 1480, 1445),
)  # fmt: skip
"""Davies and Goldsmith 1972, table 6.3: yields of six batches, five samples each; lme4's first example."""


def variance(hosts: tuple[tuple[float, ...], ...], level: str) -> float:
    found = levels_of(hosts)
    assert found is not None
    mean = statistics.fmean(value for host in hosts for value in host)
    one = found.level(level)
    assert one is not None
    assert one.cov is not None
    return (one.cov * mean) ** 2


def test_a_textbooks_batches_give_the_textbooks_variances() -> None:
    assert variance(DYESTUFF, HOST) == pytest.approx(1764.05)
    assert variance(DYESTUFF, TRIAL) == pytest.approx(2451.25)
    found = levels_of(DYESTUFF)
    assert found is not None
    assert found.icc == pytest.approx(1764.05 / (1764.05 + 2451.25))
    assert [(level.name, level.n) for level in found.levels] == [(TRIAL, 30), (HOST, 6)]


def test_the_mean_squares_are_scipys() -> None:
    from scipy import stats

    found = levels_of(DYESTUFF)
    assert found is not None
    assert found.icc is not None
    # F = MSB / MSW = 1 + k icc / (1 - icc) for k trials a host.
    assert 1 + 5 * found.icc / (1 - found.icc) == pytest.approx(stats.f_oneway(*DYESTUFF).statistic)


def test_unequal_hosts_are_weighed_by_their_trials() -> None:
    rng = random.Random(5)
    hosts = []
    for number in range(200):
        own = rng.gauss(1000, 30)
        hosts.append(tuple(rng.gauss(own, 20) for _ in range(2 + number % 7)))
    assert variance(tuple(hosts), HOST) == pytest.approx(900, rel=0.15)
    assert variance(tuple(hosts), TRIAL) == pytest.approx(400, rel=0.15)


def test_samples_within_trials_explain_a_part_of_the_spread_between_them() -> None:
    rng = random.Random(6)
    trials, within = [], []
    for _ in range(300):
        own = rng.gauss(1000, 20)
        samples = [rng.gauss(own, 60) for _ in range(12)]
        trials.append(statistics.fmean(samples))
        one = within_of(samples)
        assert one is not None
        within.append(one)
    found = levels_of([trials], within)
    assert found is not None
    by_name = {level.name: level for level in found.levels}
    assert by_name[SAMPLE].cov == pytest.approx(0.06, rel=0.05)
    assert by_name[TRIAL].cov == pytest.approx(0.02, rel=0.25)  # what the samples alone leave, not their 1.7 % on top
    assert (by_name[SAMPLE].n, by_name[TRIAL].n, by_name[HOST].n) == (3600, 300, 1)
    assert by_name[HOST].cov is None


def test_samples_that_hang_together_are_worth_fewer() -> None:
    rng = random.Random(7)
    value, samples = 0.0, []
    for _ in range(4000):
        value = 0.8 * value + rng.gauss(0, 1)
        samples.append(value)
    one = within_of(samples)
    assert one is not None
    assert one.worth == pytest.approx(4000 * 0.2 / 1.8, rel=0.15)
    separate = within_of([rng.gauss(0, 1) for _ in range(4000)])
    assert separate is not None
    assert separate.worth == pytest.approx(4000, rel=0.1)


def test_what_cannot_be_told_is_left_open_and_nothing_is_negative() -> None:
    assert levels_of([]) is None
    assert levels_of([[0.0, 0.0]]) is None
    one = levels_of([[5.0]])
    assert one is not None
    assert [(level.name, level.n, level.cov, level.share) for level in one.levels] == [
        (TRIAL, 1, None, None), (HOST, 1, None, None),
    ]  # fmt: skip
    similar = levels_of([[10.0, 12.0], [12.0, 10.0]])
    assert similar is not None
    assert similar.icc == 0.0
    noisy = levels_of([[10.0, 10.1]], [WithinTrial(10, 10.0, 25.0, 10.0)] * 2)
    assert noisy is not None
    trial = noisy.level(TRIAL)
    assert trial is not None
    assert trial.cov == 0.0
    assert within_of([1.0]) is None

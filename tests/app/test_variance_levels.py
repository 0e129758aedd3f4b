"""A spread is attributed to the level it comes from."""

import random
import statistics
from collections.abc import Sequence

import pytest

from app.comparison.variance import (
    HOST,
    RUN,
    SAMPLE,
    TRIAL,
    VarianceLevels,
    hosts_text,
    levels_of,
)
from app.sample_statistics import WithinTrial, within_of
from tests.messages import messages

MESSAGES = messages("app", "test_variance_levels")

DYESTUFF = (
    (1545, 1440, 1440, 1520, 1580), (1540, 1555, 1490, 1560, 1495), (1595, 1550, 1605, 1510, 1560),
    (1445, 1440, 1595, 1465, 1545), (1595, 1630, 1515, 1635, 1625), (1520, 1455, 1450, 1480, 1445),
)  # fmt: skip
"""Davies and Goldsmith 1972, table 6.3: yields of six batches, five samples each; lme4's first example."""


def once(hosts: Sequence[Sequence[float]]) -> VarianceLevels | None:
    """Return the levels of hosts with one run each."""
    return levels_of([[host] for host in hosts])


def variance(hosts: Sequence[Sequence[float]], level: str) -> float:
    found = once(hosts)
    assert found is not None
    mean = statistics.fmean(value for host in hosts for value in host)
    one = found.level(level)
    assert one is not None
    assert one.cov is not None
    return (one.cov * mean) ** 2


def test_a_textbooks_batches_give_the_textbooks_variances() -> None:
    assert variance(DYESTUFF, HOST) == pytest.approx(1764.05)
    assert variance(DYESTUFF, TRIAL) == pytest.approx(2451.25)
    found = once(DYESTUFF)
    assert found is not None
    assert found.icc == pytest.approx(1764.05 / (1764.05 + 2451.25))
    assert [(level.name, level.n) for level in found.levels] == [(TRIAL, 30), (RUN, 6), (HOST, 6)]


def test_the_mean_squares_are_scipys() -> None:
    from scipy import stats

    found = once(DYESTUFF)
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
    found = levels_of([[trials]], within)
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
    assert once([[0.0, 0.0]]) is None
    one = once([[5.0]])
    assert one is not None
    assert [(level.name, level.n, level.cov, level.share) for level in one.levels] == [
        (TRIAL, 1, None, None), (RUN, 1, None, None), (HOST, 1, None, None),
    ]  # fmt: skip
    similar = once([[10.0, 12.0], [12.0, 10.0]])
    assert similar is not None
    assert similar.icc == 0.0
    noisy = levels_of([[[10.0, 10.1]]], [WithinTrial(10, 10.0, 25.0, 10.0)] * 2)
    assert noisy is not None
    trial = noisy.level(TRIAL)
    assert trial is not None
    assert trial.cov == 0.0
    assert within_of([1.0]) is None


PASTES = (
    ((62.8, 62.6), (60.1, 62.3), (62.7, 63.1)), ((60.0, 61.4), (57.5, 56.9), (61.1, 58.9)),
    ((58.7, 57.5), (63.9, 63.1), (65.4, 63.7)), ((57.1, 56.4), (56.9, 58.6), (64.7, 64.5)),
    ((55.1, 55.1), (54.7, 54.2), (58.8, 57.5)), ((63.4, 64.9), (59.3, 58.1), (60.5, 60.0)),
    ((62.5, 62.6), (61.0, 58.7), (56.9, 57.7)), ((59.2, 59.4), (65.2, 66.0), (64.8, 64.1)),
    ((54.8, 54.8), (64.0, 64.0), (57.7, 56.8)), ((58.3, 59.3), (59.2, 59.2), (58.9, 56.6)),
)  # fmt: skip
"""Davies and Goldsmith 1972, table 6.5: two assays each of three casks in ten deliveries; lme4's example of nesting."""


def test_a_textbooks_casks_in_deliveries_give_the_textbooks_components() -> None:
    found = levels_of(PASTES)
    assert found is not None
    mean = statistics.fmean(value for host in PASTES for run in host for value in run)
    # REML on balanced data is the method of moments: standard deviations 1.287, 2.904, 0.823.
    assert [(level.name, level.n) for level in found.levels] == [(TRIAL, 60), (RUN, 30), (HOST, 10)]
    assert [(level.cov or 0) * mean for level in found.levels] == pytest.approx([0.8234, 2.9041, 1.2874], abs=5e-4)
    assert found.icc == pytest.approx(1.2874**2 / (0.8234**2 + 2.9041**2 + 1.2874**2), rel=1e-3)
    assert found.icc_low == 0.0
    assert 0.4 < (found.icc_high or 0) < 0.7


def test_the_interval_of_the_intraclass_correlation_is_the_f_interval() -> None:
    from scipy import stats

    found = once(DYESTUFF)
    assert found is not None
    ratio = stats.f_oneway(*DYESTUFF).statistic
    for edge, quantile in ((found.icc_low, 0.975), (found.icc_high, 0.025)):
        scaled = ratio / stats.f.ppf(quantile, 5, 24)
        assert edge == pytest.approx((scaled - 1) / (scaled - 1 + 5))


def test_sessions_are_apart_from_hosts_only_where_they_are_repeated() -> None:
    rng = random.Random(8)
    hosts = [
        [[session, session] for session in (rng.gauss(own, 5) for _ in range(4))]
        for own in (rng.gauss(1000, 30) for _ in range(80))
    ]
    repeated = levels_of(hosts)
    assert repeated is not None
    assert [level.cov for level in repeated.levels] == pytest.approx([0.0, 0.005, 0.03], rel=0.2)
    single = levels_of([runs[:1] for runs in hosts])
    assert single is not None
    run, host = single.level(RUN), single.level(HOST)
    assert run is not None
    assert host is not None
    assert run.cov is None
    assert host.cov == pytest.approx(0.0304, rel=0.2)  # of host and session


def test_hosts_dominate_only_with_the_whole_interval() -> None:
    rng = random.Random(9)

    def text(spread: float, count: int) -> str:
        hosts = [[rng.gauss(own, 5) for _ in range(6)] for own in (rng.gauss(1000, spread) for _ in range(count))]
        found = once(hosts)
        assert found is not None
        return hosts_text(found, "A")

    assert text(40, 10).startswith("hosts dominate: ")
    uncertain = text(15, 3)
    assert uncertain[0].isdigit()
    assert MESSAGES["between_hosts"] in uncertain
    assert text(0, 10) == ""

"""Levels of replication: sessions and hosts are the values of a ratio, pairs are analysed in pairs, failures block."""

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from scipy import stats

from app.comparison.compare import compare
from app.comparison.comparison import RelativeFigure, comparison_to_json
from app.comparison.verdicts import ComparisonVerdict, Level, Scope
from app.events import State
from app.plans.plan import Order, Policy, Step
from app.plans.repetition import UntilVerdict
from app.records import RunRecord, TrialRecord
from suites.evidence import STOPPED
from suites.units import Unit
from suites.vocab import Better, Metric, MetricKind
from tests.app.run_events import STEP, run_record, sessions, trial
from tests.messages import messages

MESSAGES = messages("app", "test_replication")

BASE = (1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0, 998.0)
OTHER = replace(STEP, name="other", values={**STEP.values, "directory": "/mnt"})


def drawn(prefix: str, factor: float, count: int, *, between: float, seed: int) -> list[RunRecord]:
    """Return sessions of ten trials, 1 % within and `between` sessions."""
    rng = random.Random(seed)
    runs = []
    for number in range(count):
        level = 1000 * factor * (1 + rng.gauss(0, between))
        runs.append(run_record(f"{prefix}{number}", [level * (1 + rng.gauss(0, 0.01)) for _ in range(10)]))
    return runs


def one(*sides: RunRecord | Sequence[RunRecord]) -> RelativeFigure:
    (row,) = compare(sides).rows
    return row.against[0]


# Sessions


def test_trials_of_single_sessions_claim_nothing_beyond_them() -> None:
    against = one(run_record("a", BASE), run_record("b", [1.2 * value for value in BASE]))
    assert (against.verdict, against.level, against.scope) == (
        ComparisonVerdict.DIFFERS,
        Level.TRIAL,
        Scope.BETWEEN_SESSIONS,
    )
    assert against.text.startswith(MESSAGES["between_faster"])
    assert MESSAGES["three_sessions"] in against.reason
    similar = one(run_record("a", BASE), run_record("b", BASE[::-1]))
    assert similar.verdict is ComparisonVerdict.AGREES
    assert similar.text.startswith(MESSAGES["between_same"])


def test_an_undecided_single_session_asks_for_sessions_not_trials() -> None:
    noisy = (900.0, 1000.0, 1100.0, 950.0, 1050.0, 1020.0)
    against = one(run_record("a", noisy), run_record("b", [1.05 * value for value in noisy]))
    assert against.verdict is ComparisonVerdict.UNDECIDED
    assert against.more == 2
    assert MESSAGES["two_more"] in against.text
    fewer = one(run_record("a", noisy), run_record("b", [1.05 * value for value in noisy[:3]]))
    assert MESSAGES["two_more"] in fewer.text  # whichever side has fewer trials


def test_the_values_of_several_sessions_are_their_means() -> None:
    sides = drawn("a", 1.0, 4, between=0.03, seed=1), drawn("b", 1.2, 5, between=0.03, seed=2)
    against = one(*sides)
    assert (against.level, against.counts) == (Level.SESSION, (5, 4))
    assert against.verdict is ComparisonVerdict.BETTER
    assert "5 against 4 sessions" in against.text
    trials = one(run_record("a", BASE), run_record("b", BASE[::-1]))
    assert against.low is not None
    assert against.high is not None
    assert against.high / against.low > 1.05  # the sessions differ by 3 %, their fifty trials' means hardly
    assert trials.low is not None


def test_two_sessions_a_side_are_too_few() -> None:
    against = one(sessions("a", BASE, count=2), sessions("b", BASE, 1.5, count=2))
    assert against.verdict is ComparisonVerdict.UNDECIDED
    assert against.reason.startswith(MESSAGES["n_2_against_2"])
    assert against.more == 1


def test_one_session_against_two_has_no_verdict() -> None:
    against = one(sessions("a", BASE, count=2), run_record("b", [1.5 * value for value in BASE]))
    assert (against.level, against.counts, against.verdict) == (Level.SESSION, (1, 2), ComparisonVerdict.UNDECIDED)


def test_one_session_is_predicted_from_the_spread_of_several() -> None:
    against = one(drawn("a", 1.0, 6, between=0.03, seed=3), drawn("b", 1.2, 1, between=0.03, seed=4))
    assert (against.level, against.scope, against.counts) == (Level.SESSION, Scope.ONE_SESSION, (1, 6))
    assert against.verdict is ComparisonVerdict.DIFFERS
    near = one(drawn("a", 1.0, 6, between=0.03, seed=3), drawn("b", 1.04, 1, between=0.03, seed=4))
    assert near.verdict is ComparisonVerdict.UNDECIDED  # no session is claimed to differ that its siblings could be
    assert MESSAGES["two_more_of_this"] in near.text


def test_the_interval_of_one_session_is_the_prediction_interval_of_the_others() -> None:
    runs = drawn("a", 1.0, 6, between=0.03, seed=3)
    (row,) = compare([runs, drawn("b", 1.2, 1, between=0.03, seed=4)]).rows
    base, against = row.sides[0], row.against[0]
    assert base is not None
    logs = [math.log(value) for value in base.session_means.values()]
    reach = stats.t.ppf(0.975, 5) * statistics.stdev(logs) * math.sqrt(1 + 1 / 6)
    assert against.ratio is not None
    assert (against.low, against.high) == pytest.approx(
        (against.ratio * math.exp(-reach), against.ratio * math.exp(reach))
    )


def test_a_single_session_of_fewer_trials_has_a_wider_interval() -> None:
    runs = drawn("a", 1.0, 6, between=0.0, seed=3)
    whole = run_record("b", [1000 * (1 + 0.01 * (-1) ** number) for number in range(10)])
    brief = run_record("b", [990.0, 1010.0])
    reaches = [math.log((found.high or 0) / (found.low or 1)) for found in (one(runs, whole), one(runs, brief))]
    logs = [[math.log(figure.value) for each in run.trials for figure in each.figures] for run in (*runs, brief)]
    means = [statistics.fmean(trials) for trials in logs[:-1]]
    within = sum((len(trials) - 1) * statistics.variance(trials) for trials in logs) / (6 * 9 + 1)
    errors = [(statistics.variance(means) * (1 + 1 / 6), 5), (within * (1 / 2 - 1 / 10), 55)]
    freedom = sum(error for error, _ in errors) ** 2 / sum(error**2 / count for error, count in errors)
    expected = 2 * stats.t.ppf(0.975, freedom) * math.sqrt(sum(error for error, _ in errors))
    assert reaches[1] == pytest.approx(expected, rel=1e-6)
    assert reaches[1] > reaches[0]


def test_sessions_of_one_thing_are_not_called_different() -> None:
    wrong = 0
    for seed in range(200):
        against = one(
            drawn("a", 1.0, 3, between=0.03, seed=2 * seed), drawn("b", 1.0, 3, between=0.03, seed=2 * seed + 1)
        )
        wrong += against.verdict in {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE}
    assert wrong <= 2


def test_the_value_shown_is_that_of_the_ratio_at_every_level() -> None:
    sides = [drawn("a", 1.0, 3, between=0.05, seed=5), drawn("b", 1.1, 4, between=0.05, seed=6)]
    (row,) = compare(sides).rows
    base, other = row.sides
    assert base is not None
    assert other is not None
    assert row.against[0].ratio == pytest.approx(other.value / base.value)


# Pairs


def hosts_of(prefix: str, factor: float, seed: int) -> list[RunRecord]:
    """Return a run of six trials on each of ten hosts, which differ by 5 %; trials by 0.5 %."""
    machines, rng = random.Random(7), random.Random(seed)
    levels = [1000 * factor * (1 + machines.gauss(0, 0.05)) for _ in range(10)]
    return [
        run_record(f"{prefix}{number}", [level * (1 + rng.gauss(0, 0.005)) for _ in range(6)], host=f"web-{number}")
        for number, level in enumerate(levels)
    ]


def without_trials(runs: list[RunRecord]) -> list[RunRecord]:
    """Return the runs, the last of which has no result."""
    return [*runs[:-1], replace(runs[-1], trials=())]


def test_the_same_hosts_before_and_after_are_paired() -> None:
    rows = compare([hosts_of("a", 1.0, 1), hosts_of("b", 1.1, 2)]).rows
    assert [row.host for row in rows] == ["10 hosts", *(f"web-{number}" for number in range(10))]
    against = rows[0].against[0]
    assert (against.level, against.pairs, against.verdict) == (Level.HOST, "hosts", ComparisonVerdict.BETTER)
    fewer = compare([hosts_of("a", 1.0, 1), without_trials(hosts_of("b", 1.1, 2))]).rows[0].against[0]
    assert (fewer.pairs, fewer.counts, fewer.verdict) == ("hosts", (9, 9), ComparisonVerdict.BETTER)
    assert MESSAGES["unpaired_host"] in fewer.reason
    assert against.ratio == pytest.approx(1.1, rel=0.005)
    assert against.low is not None
    assert against.high is not None
    assert against.high / against.low < 1.01  # the hosts' own differences of 5 % cancel
    assert MESSAGES["pairs_of_hosts"] in against.text
    assert {row.against[0].verdict for row in rows[1:]} == {ComparisonVerdict.DIFFERS}


def two_steps(order: Order, ours: Sequence[float], theirs: Sequence[float], left_out: int | None = None) -> RunRecord:
    """Return a run of two steps, one trial of each a round; the trial `left_out` of the second failed."""
    run = run_record("r", ours)
    second = tuple(
        TrialRecord(
            replace(record.trial, id=100 + number, step="other"),
            State.FAILED if number == left_out else State.DONE,
            None,
            0,
            tuple(replace(figure, value=value) for figure in record.figures),
        )
        for number, (record, value) in enumerate(zip(run.trials, theirs, strict=True), 1)
    )
    steps: tuple[Step, ...] = (STEP, OTHER)
    return replace(run, plan=replace(run.plan, steps=steps, order=order), trials=(*run.trials, *second))


def halves(run: RunRecord) -> tuple[RunRecord, RunRecord]:
    from app.comparison.selectors import only_step

    return only_step(run, "random read"), only_step(run, "other")


DRIFT = [1000.0 * 1.03**number for number in range(10)]
JITTER = [1.0, 1.004, 0.997, 1.002, 0.996, 1.003, 0.999, 1.001, 1.0, 0.998]
FASTER = [1.1 * value * jitter for value, jitter in zip(DRIFT, JITTER, strict=True)]


@pytest.mark.parametrize("order", [Order.INTERLEAVED, Order.RANDOMISED, Order.ABBA])
def test_interleaved_steps_are_paired_by_round_so_that_drift_cancels(order: Order) -> None:
    against = one(*halves(two_steps(order, DRIFT, FASTER)))
    assert (against.pairs, against.scope, against.counts) == ("rounds", Scope.WITHIN_SESSION, (10, 10))
    assert against.verdict is ComparisonVerdict.BETTER
    assert against.text.startswith(MESSAGES["within_one"])
    assert "10 rounds" in against.text
    assert not {caveat.id for caveat in against.caveats}


def test_steps_one_after_the_other_are_not_paired() -> None:
    against = one(*halves(two_steps(Order.BLOCK, DRIFT, FASTER)))
    assert (against.pairs, against.verdict) == ("", ComparisonVerdict.UNDECIDED)
    assert MESSAGES["interleave"] in against.text


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.2, ComparisonVerdict.BLOCKS_DIFFER), (1.0, ComparisonVerdict.BLOCKS_AGREE)]
)
def test_blocks_of_one_session_claim_nothing_beyond_them(factor: float, verdict: ComparisonVerdict) -> None:
    against = one(*halves(two_steps(Order.BLOCK, BASE, [factor * value for value in BASE[::-1]])))
    assert (against.verdict, against.scope) == (verdict, Scope.BETWEEN_BLOCKS)
    assert against.text.startswith(MESSAGES["between_blocks"])
    assert MESSAGES["interleaved"] in against.reason


def later(run: RunRecord, step: str, minutes: int) -> RunRecord:
    """Return a run whose trials of `step` started later."""
    trials = tuple(
        replace(record, trial=replace(record.trial, started=moved(record.trial.started, minutes)))
        if record.trial.step == step
        else record
        for record in run.trials
    )
    return replace(run, trials=trials)


def moved(started: str, minutes: int) -> str:
    return (datetime.fromisoformat(started) + timedelta(minutes=minutes)).isoformat()


@pytest.mark.parametrize(("delays", "reported"), [((60, 60, 60), True), ((60, -60, 60), False), ((0, 0, 0), False)])
def test_a_side_that_ran_first_in_every_session_is_named(delays: tuple[int, ...], *, reported: bool) -> None:
    runs = [
        with_id(later(two_steps(Order.BLOCK, BASE, BASE[::-1]), "other", delay), f"r{number}")
        for number, delay in enumerate(delays)
    ]
    against = one(*([halves(run)[half] for run in runs] for half in (0, 1)))
    assert against.pairs == "sessions"
    texts = [caveat.text for caveat in against.caveats if caveat.id == "same-order"]
    assert texts == ([MESSAGES["ran_first"]] if reported else [])


def test_sessions_without_a_partner_are_left_out_of_pairs() -> None:
    levels = (1.0, 1.3, 0.8, 1.1, 0.9, 2.0)
    runs = [
        with_id(
            two_steps(Order.BLOCK, [level * value for value in BASE], [1.1 * level * value for value in BASE]), f"r{at}"
        )
        for at, level in enumerate(levels)
    ]
    against = one([halves(run)[0] for run in runs[:5]], [halves(run)[1] for run in runs])
    assert (against.pairs, against.counts) == ("sessions", (5, 5))
    assert against.ratio == pytest.approx(1.1)
    assert "unpaired" in {caveat.id for caveat in against.caveats}


def with_id(run: RunRecord, run_id: str) -> RunRecord:
    return replace(run, summary=replace(run.summary, id=run_id))


def until_verdict(prefix: str, values: Sequence[float]) -> RunRecord:
    run = run_record(prefix, values)
    repetition = replace(run.plan.repetition, policy=Policy.UNTIL_VERDICT, baseline="base", minimum=6, cap=30)
    return replace(run, plan=replace(run.plan, repetition=repetition))


def test_a_run_that_stopped_at_its_verdict_has_the_interval_of_its_rule() -> None:
    ours = [1.06 * value for value in BASE]
    against = one(run_record("a", BASE), until_verdict("b", ours))
    rule = UntilVerdict(BASE, Better.HIGHER, 0.05, 0.95, 6, 30)
    decision = rule.decide(ours)
    assert (against.low, against.high) == pytest.approx((decision.low, decision.high))
    assert MESSAGES["sequential"] in against.text
    single = one(run_record("a", BASE), run_record("b", ours))
    assert (single.verdict, against.verdict) == (ComparisonVerdict.DIFFERS, ComparisonVerdict.UNDECIDED)
    assert against.p is not None
    assert against.p >= 0.05  # as its interval says


def test_a_trial_without_a_partner_is_left_out_and_named() -> None:
    against = one(*halves(two_steps(Order.INTERLEAVED, DRIFT, FASTER, left_out=4)))
    assert against.counts == (9, 9)
    assert MESSAGES["unpaired"] in against.reason
    assert MESSAGES["one_failed"] in against.reason


# Failed trials


def with_failed(run: RunRecord, failed: int, state: State = State.FAILED, reason: str = "timeout") -> RunRecord:
    more = tuple(TrialRecord(trial(100 + number), state, None, None, (), (), reason) for number in range(failed))
    return replace(run, trials=(*run.trials, *more))


def test_a_selection_of_the_trials_that_did_not_fail_decides_nothing() -> None:
    sides = sessions("a", BASE), sessions("b", BASE[::-1])
    assert one(*sides).verdict is ComparisonVerdict.SAME
    against = one(sides[0], [with_failed(run, 14) for run in sides[1]])
    assert against.verdict is ComparisonVerdict.UNDECIDED
    assert against.reason.startswith(MESSAGES["42_of_63"])
    assert "repeat the run" in against.text
    assert "censored" in {caveat.id for caveat in against.caveats}
    (entry,) = comparison_to_json(compare([sides[0], [with_failed(run, 14) for run in sides[1]]]))
    assert entry["outcome"] == "undecided"


def test_few_failed_trials_are_a_caveat_and_stopped_ones_are_none() -> None:
    sides = sessions("a", BASE), sessions("b", BASE[::-1])
    against = one(sides[0], [with_failed(run, 1) for run in sides[1]])
    assert against.verdict is ComparisonVerdict.SAME
    assert MESSAGES["3_of_24"] in against.reason
    stopped = one(sides[0], [with_failed(run, 9, State.PARTIAL, STOPPED) for run in sides[1]])
    assert "censored" not in {caveat.id for caveat in stopped.caveats}


# Exact counters

INSTRUCTIONS = Metric("instructions", "Instructions", Unit.ONE, Better.LOWER, MetricKind.COUNT)


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict", "text"),
    [
        (1_200_000.0, 1_000_000.0, ComparisonVerdict.DIFFERS, MESSAGES["exact_worse"]),
        (1_000_000.0, 1_000_000.0, ComparisonVerdict.AGREES, MESSAGES["exact_same"]),
        (1_010_000.0, 1_000_000.0, ComparisonVerdict.AGREES, MESSAGES["exact_small"]),
        (0.0, 5.0, ComparisonVerdict.DIFFERS, MESSAGES["exact_zero"]),
        (0.0, 0.0, ComparisonVerdict.AGREES, MESSAGES["exact_same"]),
    ],
)
def test_counters_without_variance_are_compared_as_they_are(
    ours: float, theirs: float, verdict: ComparisonVerdict, text: str
) -> None:
    sides = run_record("a", [theirs] * 3, metric=INSTRUCTIONS), run_record("b", [ours] * 4, metric=INSTRUCTIONS)
    against = one(*sides)
    assert (against.verdict, against.low) == (verdict, None)
    assert against.text.startswith(f"{Scope.BETWEEN_SESSIONS}: {text}")
    assert "exact" in against.reason


def test_a_zero_of_trials_that_failed_too_often_is_no_verdict() -> None:
    sides = run_record("a", [0.0] * 3, metric=INSTRUCTIONS), run_record("b", [5.0] * 3, metric=INSTRUCTIONS)
    against = one(sides[0], with_failed(sides[1], 9))
    assert (against.verdict, against.ratio) == (ComparisonVerdict.UNDECIDED, None)
    assert against.text == MESSAGES["9_of_12"]


@pytest.mark.parametrize("trials", [3, 8])
def test_identical_times_and_rates_are_not_exact_but_coarse(trials: int) -> None:
    against = one(run_record("a", [0.01] * trials), run_record("b", [0.02] * trials))  # a clock of 10 ms
    assert against.verdict is ComparisonVerdict.UNDECIDED
    assert against.ratio == pytest.approx(2.0)
    assert trials == 3 or "variance unknown" in against.reason
    assert against.text.startswith(MESSAGES["coarse"])


def test_an_exact_change_equal_to_the_margin_is_within_it() -> None:
    base = run_record("a", [1000.0] * 3, metric=INSTRUCTIONS)
    for factor in (1.05, 0.95):
        against = one(base, run_record("b", [1000.0 * factor] * 3, metric=INSTRUCTIONS))
        assert against.verdict is ComparisonVerdict.AGREES
        assert MESSAGES["within"] in against.text


def test_two_trials_that_agree_may_agree_by_rounding() -> None:
    against = one(run_record("a", [1000.0] * 2), run_record("b", [1200.0] * 2))
    assert against.verdict is ComparisonVerdict.UNDECIDED

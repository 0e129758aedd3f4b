"""Duets compared: the crossover's ratio, the effect of the halves, their overlap, and what they compare with."""

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from app.centres import balanced_mean_of
from app.checks.goals import GOAL_MET
from app.comparison.comparability import Weight
from app.comparison.compare import compare
from app.comparison.comparison import CompareError, Comparison, RelativeFigure, comparison_to_json
from app.comparison.crossover import crossover_of, without_half_effect
from app.comparison.estimates import NO_VARIANCE, Ratio
from app.comparison.joined import join
from app.comparison.selectors import choose, duet_sides, only_step
from app.comparison.variance import RUN, TRIAL
from app.comparison.verdicts import ComparisonVerdict, Level, Scope
from app.distributions.analyses import _trial_figures
from app.events import FactsRead, Moment, RunEnded, RunStarted, State
from app.history import HistoryQuery, history_of, read_history
from app.plans.plan import Order, Plan, Repetition, Step, make_step
from app.ranking.candidates import RankingCriteria
from app.ranking.ranking import rank
from app.records import HistoryRow, RunRecord, TrialRecord
from app.store.store import Store
from app.summary import summaries
from app.verdict.stored import evidence_of, step_verdicts
from suites.checks import CheckOutcome
from suites.facts import Core
from suites.quantities import figure_text
from suites.verdict import Goal
from suites.vocab import Figure
from tests.app import run_events
from tests.app.run_events import IOPS, READ, facts, trial
from tests.messages import messages
from tests.simulation.duets import DuetWorld, coverages, estimates, widths

MESSAGES = messages("app", "test_duet_comparison")

ODD = [True, False] * 4
NOISE = (1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998, 1.0)

A, B = (make_step("sysbench-cpu", {"cpu_max_prime": prime}, name=name) for name, prime in (("a", 20000), ("b", 24000)))


def plan(*steps: Step, order: Order = Order.DUET) -> Plan:
    return Plan("duet", ("web-1",), steps or (A, B), repetition=Repetition(8), order=order)


def halves() -> tuple[Core, ...]:
    return tuple(Core(cpus=(cpu,), node=0, package=0) for cpu in range(4))


def duet_run(
    run_id: str, ours: Sequence[float], theirs: Sequence[float], *, given: Plan | None = None, late: float = 0.0
) -> RunRecord:
    """Return a run of a duet; the second step of each pair starts `late` seconds after the first and ends with it."""
    whole = given or plan()
    record = run_events.run_record(run_id, [1.0])
    trials: list[TrialRecord] = []
    for number, values in enumerate(zip(ours, theirs, strict=True), 1):
        for step, value in zip(whole.steps, values, strict=True):
            one = trial(number, step=step.name, version="1.0.20")
            begun = 100.0 * number + late * step.second
            placed = replace(one, id=len(trials) + 1, clock=begun)
            trials.append(
                TrialRecord(placed, State.DONE, None, 0, (Figure(IOPS, value, READ),), ended_clock=100.0 * number + 10)
            )
    read = facts("web-1")
    read = replace(read, cpu=replace(read.cpu, layout=halves()))
    summary = replace(record.summary, steps=tuple(step.name for step in whole.steps), suites=("sysbench-cpu",))
    return replace(record, summary=summary, plan=whole, trials=tuple(trials), facts_before={"web-1": read})


def compared(run: RunRecord) -> tuple[Comparison, RelativeFigure]:
    found = compare([only_step(run, name) for name in (step.name for step in run.plan.steps)])
    return found, found.rows[0].against[0]


def ratio_of(found: tuple[Ratio, Ratio | None] | str) -> tuple[Ratio, Ratio]:
    assert not isinstance(found, str)
    assert found[1] is not None
    return found[0], found[1]


@pytest.mark.parametrize("counts", [(3, 5), (5, 3), (2, 4)])
def test_joined_duets_keep_the_half_of_each_trial(counts: tuple[int, int]) -> None:
    runs = [
        duet_run(f"d{count}", [100.0 * (1.2 if place % 2 else 1 / 1.2) for place in range(count)], NOISE[:count])
        for count in counts
    ]
    parts = [only_step(run, "a") for run in runs]
    (found,) = summaries(join(parts, {run.summary.id: {} for run in parts})[0])
    assert found.value == pytest.approx(100.0)
    kept = dict(zip(found.trials, found.halves, strict=True))
    for count in counts:
        assert [half for (run, _), half in sorted(kept.items()) if run == f"d{count}"] == ODD[:count]


def test_a_duet_joined_with_another_run_keeps_its_halves() -> None:
    duet = only_step(duet_run("d", [120.0, 80.0, 120.0], NOISE[:3]), "a")
    other = replace(run_events.run_record("g", [200.0] * 4), plan=replace(plan(A, order=Order.BLOCK)))
    other = replace(other, trials=tuple(replace(one, trial=replace(one.trial, step="a")) for one in other.trials))
    (found,) = summaries(join([other, duet], {"g": {}, duet.summary.id: {}})[0])
    assert sorted(map(str, set(found.halves))) == ["False", "None", "True"]
    assert found.value == pytest.approx(math.sqrt(200.0 * math.sqrt(120.0 * 80.0)))


def test_the_noise_of_a_duet_is_that_of_its_trials_without_the_halves() -> None:
    rng = np.random.default_rng(3)
    squares = []
    for _ in range(400):
        values = [100.0 * (1.6 if place % 2 else 1.0) * math.exp(0.05 * rng.normal()) for place in range(4)]
        found = next(iter(summaries(duet_run("r", values, NOISE[:4]))))
        assert found.cov is not None
        squares.append(found.cov**2)
    assert math.sqrt(statistics.fmean(squares)) == pytest.approx(0.05, rel=0.1)
    shown = [float(trial.values[0]) for trial in _trial_figures(found)]
    assert max(shown) / min(shown) < 1.4
    two = next(iter(summaries(duet_run("r", [100.0, 120.0], NOISE[:2]))))
    assert (two.cov, two.interval, two.n) == (None, None, 2)
    assert two.noise_values == pytest.approx((math.sqrt(12000.0),))


# The estimate


def test_the_crossover_agrees_with_the_t_test_of_both_orientations() -> None:
    values = [110.0, 95.0, 112.0, 97.0, 108.0, 96.0, 111.0, 94.0]
    baseline = [100.0, 101.0, 99.0, 102.0, 100.0, 98.0, 101.0, 100.0]
    ratio, effect = ratio_of(crossover_of(values, baseline, ODD))
    logs = [math.log(one / two) for one, two in zip(values, baseline, strict=True)]
    first, second = logs[::2], logs[1::2]
    assert math.log(ratio.value) == pytest.approx((statistics.fmean(first) + statistics.fmean(second)) / 2)
    # The half effect is half the difference of the means: Student's t test of two samples.
    test = stats.ttest_ind(first, second)
    low, high = test.confidence_interval(0.95)
    assert effect.low is not None
    assert effect.high is not None
    assert (math.log(effect.low), math.log(effect.high)) == pytest.approx((low / 2, high / 2))
    assert effect.p == pytest.approx(test.pvalue)
    # The ratio is that of the same test with the second orientation negated.
    negated = stats.ttest_ind(first, [-one for one in second])
    assert ratio.p == pytest.approx(negated.pvalue)
    assert ratio.freedom == pytest.approx(6)


def test_an_unbalanced_crossover_weighs_orientations_and_not_trials() -> None:
    ratio, effect = ratio_of(crossover_of([120.0, 80.0, 121.0], [100.0, 100.0, 100.0], [True, False, True]))
    first, second = (math.log(1.2) + math.log(1.21)) / 2, math.log(0.8)
    assert math.log(ratio.value) == pytest.approx((first + second) / 2)
    assert math.log(effect.value) == pytest.approx((first - second) / 2)
    assert ratio.error == pytest.approx(math.sqrt(statistics.variance([math.log(1.2), math.log(1.21)]) * 1.5 / 4))


def test_pairs_of_one_orientation_have_no_interval() -> None:
    found = crossover_of([1.0, 2.0], [1.0, 1.0], [True, True])
    assert not isinstance(found, str)
    assert found[1] is None
    assert found[0].low is None
    assert found[0].reason == MESSAGES["one_orientation"]
    assert crossover_of([0.0, 1.0], [1.0, 1.0], [True, False]) == MESSAGES["zero"]
    same = ratio_of(crossover_of([1.1] * 4, [1.0] * 4, ODD[:4]))
    assert all(one.low is None and one.reason.endswith(NO_VARIANCE) for one in same)
    two = ratio_of(crossover_of([1.0, 2.0], [1.0, 1.0], [True, False]))
    assert [one.low for one in two] == [None, None]


def test_ratios_without_the_half_effect_do_not_alternate() -> None:
    values = [110.0, 90.0, 110.0, 90.0]
    assert without_half_effect(values, [100.0] * 4, [True, False] * 2) == pytest.approx([1.0] * 4)


def test_simulated_intervals_of_ratio_and_half_effect_cover_the_truth() -> None:
    for world in (DuetWorld(), DuetWorld(trials=7), DuetWorld(trials=6, ratio=0.8, half_effect=1.0)):
        for found in coverages(world, 2000):
            assert found.interval[0] <= 0.95 <= found.interval[1], found


def test_simulated_estimates_are_unbiased_whatever_the_half_effect() -> None:
    world = DuetWorld(trials=9, half_effect=1.5)
    found = list(estimates(world, 500))
    assert statistics.fmean(math.log(ratio.value) for ratio, _ in found) == pytest.approx(math.log(1.03), abs=0.002)
    assert statistics.fmean(math.log(effect.value) for _, effect in found) == pytest.approx(math.log(1.5), abs=0.002)


def test_simulated_disturbances_of_both_sides_cancel() -> None:
    found = widths(DuetWorld(), 300)
    assert found["crossover"] < found["unpaired"] / 3
    assert found["crossover"] < found["pairs"] / 2  # the half effect is no noise either


# The comparison


def test_the_two_steps_of_a_duet_are_compared_in_pairs_without_the_half_effect() -> None:
    ours = [100.0 * factor * (1.1 if odd else 1.0) for factor, odd in zip(NOISE, ODD, strict=True)]
    theirs = [80.0 * (1.0 if odd else 1.1) for odd in ODD]
    comparison, figure = compared(duet_run("r1", ours, theirs))
    assert figure.ratio == pytest.approx(0.8, rel=0.001)
    assert figure.verdict is ComparisonVerdict.WORSE
    assert (figure.pairs, figure.counts, figure.scope) == ("duets", (8, 8), Scope.WITHIN_SESSION)
    assert figure.half is not None
    # The second step is this side: it is on the first half in even trials.
    assert figure.half.ratio.value == pytest.approx(1.1, rel=0.01)
    assert figure.half.halves == MESSAGES["halves"]
    assert figure.half.overlap == 1.0
    assert any(MESSAGES["half_note"] in note for note in comparison.notes)
    assert not any(caveat.id == "overlap" for caveat in figure.caveats)
    published = comparison_to_json(comparison)[0]["half"]
    assert published["halves"] == MESSAGES["halves"]
    assert published["ratio"] == figure.half.ratio.value


def test_other_orders_have_no_half_effect() -> None:
    run = duet_run("r1", NOISE, NOISE[::-1], given=plan(order=Order.INTERLEAVED))
    figure = compare([only_step(run, "a"), only_step(run, "b")], overruled="another setting").rows[0].against[0]
    assert figure.pairs == "rounds"
    assert figure.half is None


def test_trials_that_overlap_little_have_a_caveat() -> None:
    _, figure = compared(duet_run("r1", NOISE, NOISE[::-1], late=3.0))
    (caveat,) = [one for one in figure.caveats if one.id == "overlap"]
    assert caveat.text == MESSAGES["overlap"]
    assert figure.half is not None
    assert figure.half.overlap == pytest.approx(0.7)


def test_a_trial_without_its_partner_is_left_out() -> None:
    run = duet_run("r1", NOISE, NOISE[::-1])
    trials = tuple(
        replace(one, state=State.PARTIAL) if (one.trial.step, one.trial.number) == ("b", 8) else one
        for one in run.trials
    )
    _, figure = compared(replace(run, trials=trials))
    assert figure.counts == (7, 7)
    assert any(one.id == "unpaired" for one in figure.caveats)


def test_both_steps_of_a_duet_are_its_sides() -> None:
    run = duet_run("r1", NOISE, NOISE)
    assert duet_sides(run) == ("r1:a", "r1:b")
    assert duet_sides(replace(run, plan=plan(order=Order.ABBA))) == ()
    assert duet_sides(replace(run, trials=run.trials[::2])) == ()
    several = [duet_run(name, NOISE, NOISE) for name in ("r1", "r2")]
    joined, _ = join(several, {"r1": {}, "r2": {}})
    assert duet_sides(joined) == ("r1:a,r2:a", "r1:b,r2:b")


def test_the_halves_are_no_noise() -> None:
    """30 % between the halves, 0.2 % between trials, 5 % between sessions."""
    runs = [unequal_halves(f"r{number}", 7, number) for number in range(4)]
    levels = [1.0, 1.05, 0.95, 1.02]
    scaled = [
        replace(
            run,
            trials=tuple(
                replace(one, figures=tuple(replace(figure, value=figure.value * level) for figure in one.figures))
                for one in run.trials
            ),
        )
        for run, level in zip(runs, levels, strict=True)
    ]
    row = compare([[only_step(run, name) for run in scaled] for name in "ab"]).rows[0]
    assert row.of_duets
    assert row.levels[0] is not None
    found = {level.name: level.cov for level in row.levels[0].levels}
    assert found[TRIAL] == pytest.approx(0.002, abs=0.0008)
    assert found[RUN] == pytest.approx(statistics.stdev(levels), rel=0.05)
    (alone, _) = summaries(runs[0])
    assert alone.cov == pytest.approx(0.002, abs=0.001)


def test_sessions_of_duets_are_paired_by_session() -> None:
    runs = [duet_run(f"r{number}", [one * (1 + number) for one in NOISE], NOISE) for number in range(3)]
    found = compare([[only_step(run, name) for run in runs] for name in "ab"])
    figure = found.rows[0].against[0]
    assert (figure.pairs, figure.counts, figure.half) == ("sessions", (3, 3), None)


# What a figure of a duet compares with


def solo(run_id: str, step: Step) -> RunRecord:
    return run_events.run_record(run_id, NOISE, step=step, version="1.0.20")


def fatal(baseline: RunRecord, other: RunRecord) -> list[str]:
    figure = compare([baseline, other]).rows[0].against[0]
    return [one.text for one in figure.differences if one.weight is Weight.FATAL]


def test_a_figure_of_a_duet_is_not_that_of_a_step_alone() -> None:
    run = only_step(duet_run("r1", NOISE, NOISE), "a")
    assert fatal(solo("r2", A), run) == [MESSAGES["alone"]]
    again = only_step(duet_run("r3", NOISE, NOISE), "a")
    assert fatal(run, again) == []


def test_a_figure_beside_another_partner_is_not_the_same() -> None:
    other = make_step("sysbench-cpu", {"cpu_max_prime": 30000}, name="b")
    run = only_step(duet_run("r1", NOISE, NOISE), "a")
    changed = only_step(duet_run("r2", NOISE, NOISE, given=plan(A, other)), "a")
    assert fatal(run, changed) == [MESSAGES["another"]]


def test_what_the_two_steps_differ_in_is_what_a_duet_compares() -> None:
    _, figure = compared(duet_run("r1", NOISE, NOISE[::-1]))
    (difference,) = [one for one in figure.differences if one.what == "cpu_max_prime"]
    assert difference.weight is Weight.EXPLAINS


def test_a_history_holds_apart_duets_and_steps_alone() -> None:
    rows = [
        HistoryRow(f"r{number}", f"2026-11-{number + 1:02d}", "alone" if number < 6 else "duet", "web-1", "a", None,
                   IOPS, READ, 1000.0 + number)
        for number in range(12)
    ]  # fmt: skip
    plans = {"alone": plan(A, order=Order.BLOCK), "duet": plan()}
    found = history_of(HistoryQuery(("web-1",), "iops"), rows, plans, lambda _run, _hosts: ())
    assert [point.run for point in found.points] == [f"r{number}" for number in range(6, 12)]
    assert any(MESSAGES["left_out"] in line for line in found.left_out)


def unequal_halves(run_id: str, count: int, seed: int) -> RunRecord:
    """Return a duet of the same thing twice, 30 % faster on the first half, with `count` trials."""
    rng = random.Random(seed)
    fast, slow = ([level * (1 + rng.gauss(0, 0.002)) for _ in range(count)] for level in (1300.0, 1000.0))
    odd = [number % 2 == 0 for number in range(count)]
    ours = [one if first else other for first, one, other in zip(odd, fast, slow, strict=True)]
    theirs = [other if first else one for first, one, other in zip(odd, fast, slow, strict=True)]
    return duet_run(run_id, ours, theirs)


def test_sessions_of_odd_duets_are_no_difference_of_the_halves() -> None:
    runs = [unequal_halves(f"r{number}", 3, number) for number in range(4)]
    found = compare([[only_step(run, name) for run in runs] for name in ("a", "b")]).rows[0]
    against = found.against[0]
    assert (against.pairs, against.level) == ("sessions", Level.SESSION)
    assert against.ratio == pytest.approx(1.0, abs=0.003)
    assert against.verdict is ComparisonVerdict.SAME


def test_the_values_of_an_odd_duet_have_its_ratio() -> None:
    found = compared(unequal_halves("r1", 7, 1))[0].rows[0]
    ours, theirs = found.sides
    assert ours is not None
    assert theirs is not None
    assert found.against[0].ratio == pytest.approx(theirs.value / ours.value)
    assert found.against[0].ratio == pytest.approx(1.0, abs=0.003)


def test_the_value_of_a_step_is_the_same_everywhere() -> None:
    run = unequal_halves("r1", 7, 1)
    row = compared(run)[0].rows[0]
    stored = {one.step: one for one in summaries(run)}
    for side, step, centre in zip(row.sides, ("a", "b"), reversed(row.against[0].centres or ()), strict=True):
        assert side is not None
        assert side.value == pytest.approx(stored[step].value)
        assert side.value == pytest.approx(centre)
        assert side.interval == stored[step].interval
        assert side.interval is not None
        assert side.interval.value == pytest.approx(side.value)


def stored_duet(path: Path, run: RunRecord) -> Store:
    """Return a library in which the duet was recorded."""
    store = Store(path)
    with store.recorder(run.summary.id) as recorder:
        recorder.record(RunStarted(run.summary.id, run.plan, run.summary.started))
        recorder.record(FactsRead("web-1", Moment.BEFORE, run.facts_before["web-1"]))
        for one in run.trials:
            for event in run_events.trial_events(one.trial, list(one.figures)):
                recorder.record(event)
        recorder.record(RunEnded(run.summary.id, State.DONE))
    return store


def test_library_history_and_verdict_have_the_value_of_the_step(tmp_path: Path) -> None:
    run = unequal_halves("20261120-141530-duet", 7, 1)
    value = summaries(run)[0]
    assert value.interval is not None
    store = stored_duet(tmp_path / "runs.sqlite3", run)
    (listed,) = store.runs()
    assert listed.headline == figure_text(IOPS, value.value, value.uncertainty)
    (point,) = read_history(store, HistoryQuery(("web-1",), "iops", step="a")).points
    assert (point.value, point.low, point.high) == pytest.approx((value.value, value.interval.low, value.interval.high))
    first = next(iter(step_verdicts(run, {}, {})))
    assert figure_text(IOPS, value.value, value.uncertainty) in first.verdict.summary
    goal = Goal("iops", at_least=1200.0, step="a")
    outcome = evidence_of(replace(run, plan=replace(run.plan, goals=(goal,))), {}, {}, run.plan.steps[0], "web-1")
    found = GOAL_MET.evaluate(outcome)
    assert isinstance(found, CheckOutcome)
    assert ": missed" in found.measured  # halves at 1300 and 1000 would leave it open
    store.close()


def test_the_interval_of_a_step_holds_no_difference_between_the_halves() -> None:
    values = [130.0, 100.0, 131.0, 101.0, 129.0, 99.0]
    found = balanced_mean_of(values, ODD[:6])
    logs = [math.log(value) for value in values]
    assert math.log(found.value) == pytest.approx(statistics.fmean(logs))
    error = math.sqrt((statistics.variance(logs[::2]) + statistics.variance(logs[1::2])) / 2 * (2 / 3) / 4)
    assert found.high is not None
    assert math.log(found.high / found.value) == pytest.approx(stats.t.ppf(0.975, 4) * error)


def test_a_ranking_refuses_a_duet() -> None:
    run = duet_run("r1", NOISE, NOISE)
    with pytest.raises(CompareError) as caught:
        rank(["r1:a", "r1:b"], [[only_step(run, name)] for name in "ab"], RankingCriteria({"iops": 1.0}))
    assert caught.value.message == MESSAGES["ranked"]


def test_the_steps_of_a_duet_may_have_any_name() -> None:
    steps = (replace(A, name="sleep a, b"), replace(B, name="c: d@e, f"))
    run = duet_run("r1", NOISE, NOISE, given=plan(*steps))

    def load(word: str) -> RunRecord:
        if word != "r1":
            raise CompareError(f"no run {word}", "")
        return run

    chosen = [choose(load, side) for side in duet_sides(run)]
    assert [one.plan.steps[0].name for (one,) in chosen] == [step.name for step in steps]

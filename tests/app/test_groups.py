"""Several runs stand together: joined trials on one host, and hosts taken together where no names are shared."""

import random
import statistics
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from app.baselines.baselines import bands_of_group, parts_of
from app.cli.tables import comparison_rows, run_lines
from app.comparison.compare import compare
from app.comparison.comparison import CompareError, comparison_to_json
from app.comparison.joined import join
from app.comparison.selectors import choose, parts_side_by_side
from app.comparison.sides import Side, step_hosts
from app.comparison.variance import HOST, RUN, TRIAL
from app.comparison.verdicts import ComparisonVerdict
from app.plans.plan import Plan
from app.records import RunRecord, TrialRecord
from app.sample_statistics import WithinTrial, WithinTrials
from app.summary import summaries
from suites.errors import BenchwrightError
from suites.verdict import Trust
from tests.app.run_events import FINDING, READ, STEP, run_record
from tests.app.test_invalid_results import judged
from tests.messages import messages

MESSAGES = messages("app", "test_groups")

BASE = (1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0, 998.0, 1003.0)


def fleet(prefix: str, centre: float, hosts: int, spread: float = 0.03, seed: int = 1) -> list[RunRecord]:
    """Return a run of five trials on each of several hosts of one type, which differ among themselves."""
    rng = random.Random(seed)
    found = []
    for number in range(hosts):
        own = centre * (1 + rng.gauss(0, spread))
        values = [own * (1 + rng.gauss(0, 0.005)) for _ in range(5)]
        found.append(run_record(f"{prefix}{number}", values, host=f"{prefix}-host-{number}"))
    return found


def test_runs_on_one_host_are_joined() -> None:
    halves = [run_record("a1", BASE[:4]), run_record("a2", BASE[4:])]
    other = [
        run_record("b1", [1.2 * value for value in BASE[:4]]),
        run_record("b2", [1.2 * value for value in BASE[4:]]),
    ]
    comparison = compare([halves, other])
    (row,) = comparison.rows
    assert [side.n for side in row.sides if side is not None] == [8, 8]
    assert (row.against[0].level, row.against[0].counts) == ("session", (2, 2))
    assert MESSAGES["2_against_2_sessions_same_host"] in row.against[0].text
    assert [run.id for run in comparison.runs] == ["a1,a2", "b1,b2"]
    assert comparison.runs[0].trials == 8
    assert compare([run_record("a", BASE), other]).rows[0].against[0].ratio == pytest.approx(1.2)


def test_the_verdict_of_joined_runs_has_no_figure_of_one_of_them() -> None:
    runs = [judged(f"a{number}", BASE, Trust.VALID) for number in (1, 2)]
    runs = [replace(run, verdicts=tuple(replace(one, summary="949.3 IOPS") for one in run.verdicts)) for run in runs]
    joined, _ = join(runs, {run.summary.id: {} for run in runs})
    assert {one.summary for one in joined.verdicts if one.step} == {MESSAGES["all_valid"]}


def test_the_verdict_of_joined_runs_counts_those_that_have_it() -> None:
    trusts = (Trust.VALID, Trust.VALID, Trust.INVALID)
    runs = [judged(f"a{number}", BASE, trust) for number, trust in enumerate(trusts)]
    joined, _ = join(runs, {run.summary.id: {} for run in runs})
    assert {one.summary for one in joined.verdicts if one.step} == {"Valid (2 of 3 runs)."}


def test_the_value_of_joined_runs_is_the_mean_of_their_sessions() -> None:
    runs = [run_record("u0", [100.0, 101.0] * 15), run_record("u1", [80.0, 81.0] * 3), run_record("u2", [79.0] * 6)]
    (found,) = summaries(join(runs, {run.summary.id: {} for run in runs})[0])
    (row,) = compare([runs, [run_record("b", BASE)]]).rows
    assert row.sides[0] is not None
    assert (found.value, found.interval) == (row.sides[0].value, row.sides[0].interval)
    assert (len(found.replicates), found.units_text) == (3, "3 sessions (42 trials)")


def test_the_noise_of_joined_runs_is_that_within_their_sessions() -> None:
    rng = np.random.default_rng(5)
    levels = [100.0, 130.0, 80.0, 110.0]
    runs = [
        run_record(f"u{number}", list(level * np.exp(0.01 * rng.normal(size=6)))) for number, level in enumerate(levels)
    ]
    (found,) = summaries(join(runs, {run.summary.id: {} for run in runs})[0])
    within = [
        statistics.variance(np.log([figure.value for one in run.trials for figure in one.figures])) for run in runs
    ]
    assert found.cov == pytest.approx(statistics.fmean(within) ** 0.5, rel=0.02)
    assert statistics.geometric_mean(found.noise_values) == pytest.approx(found.value)
    singles = [run_record(f"s{number}", [level]) for number, level in enumerate(levels)]
    (single,) = summaries(join(singles, {run.summary.id: {} for run in singles})[0])
    assert single.noise_values == tuple(levels)


def test_the_band_of_joined_runs_weighs_their_sessions_equally() -> None:
    runs = [run_record("u0", [100.0, 101.0] * 15), run_record("u1", [80.0, 81.0] * 3), run_record("u2", [79.0] * 6)]
    joined, series = join(runs, {run.summary.id: {} for run in runs})
    (band,) = bands_of_group("weekly", joined, [joined.trials], series)
    (found,) = summaries(joined)
    assert (band.figure, band.median, band.trials) == (found.value, 80.5, 42)


def test_hosts_that_share_no_name_are_taken_together_and_one_host_is_one_value() -> None:
    comparison = compare([fleet("a", 1000.0, 4), fleet("b", 1300.0, 5, seed=2)])
    (row,) = comparison.rows
    against = row.against[0]
    assert against.verdict is ComparisonVerdict.BETTER
    assert MESSAGES["5_against_4_hosts_margin_5"] in against.text
    assert [side.host for side in row.sides if side is not None] == ["4 hosts", "5 hosts"]
    assert [side.n for side in row.sides if side is not None] == [20, 25]
    assert [side.n_text for side in row.sides if side is not None] == ["4 hosts (20 trials)", "5 hosts (25 trials)"]
    assert [cells[5] for cells in comparison_rows(comparison)] == ["4 hosts (20 trials)", "5 hosts (25 trials)"]
    assert {caveat.id for caveat in against.caveats} == {"hosts-dominate"}
    assert MESSAGES["hosts_not_trials_decide"] in against.reason


def test_two_hosts_a_side_say_nothing_of_their_types() -> None:
    against = compare([fleet("a", 1000.0, 2), fleet("b", 2000.0, 2, seed=2)]).rows[0].against[0]
    assert against.verdict is ComparisonVerdict.UNDECIDED
    assert MESSAGES["1_more_host"] in against.text
    assert "other-instance" in {caveat.id for caveat in against.caveats}


def test_one_machine_against_another_is_compared_with_the_caveat_that_it_is_only_these_two() -> None:
    other = run_record("b", [1.2 * value for value in BASE], host="web-2")
    against = compare([run_record("a", BASE), other]).rows[0].against[0]
    assert against.verdict is ComparisonVerdict.DIFFERS
    assert "other host" in against.text
    assert MESSAGES["two_machines_of_one_type"] in against.reason


def test_many_hosts_of_one_type_are_not_called_different() -> None:
    """The trials of a host hang together: testing them pooled would call every second pair of fleets different."""
    wrong = 0
    for seed in range(40):
        against = compare([fleet("a", 1000.0, 4, seed=2 * seed), fleet("b", 1000.0, 4, seed=2 * seed + 1)]).rows[0]
        wrong += against.against[0].verdict in {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE}
    assert wrong <= 2


def test_hosts_of_both_sides_stand_against_each_other_by_name() -> None:
    ours = [*fleet("x", 1000.0, 2), *fleet("a", 1000.0, 2, seed=3)]
    theirs = [replace(run, summary=replace(run.summary, id=f"{run.summary.id}'")) for run in fleet("x", 1000.0, 2)]
    rows = compare([ours, [*theirs, *fleet("b", 1000.0, 3, seed=4)]]).rows
    assert [(row.host, row.sides[1].host if row.sides[1] else None) for row in rows] == [
        ("2 hosts", "2 hosts"),
        ("x-host-0", "x-host-0"),
        ("x-host-1", "x-host-1"),
        ("2 hosts", "3 hosts"),
    ]


def test_the_levels_of_each_side_are_kept() -> None:
    runs = fleet("a", 1000.0, 4)
    within: WithinTrials = {
        (run.summary.id, 1): {("iops", READ): WithinTrial(300, 1000.0, 2500.0, 300.0)} for run in runs
    }
    comparison = compare([runs, fleet("b", 1000.0, 4, seed=2)], within=within)
    first, second = comparison.rows[0].levels
    assert first is not None
    assert second is not None
    assert [(level.name, level.n) for level in first.levels] == [("sample", 1200), (TRIAL, 20), (RUN, 4), (HOST, 4)]
    assert [(level.name, level.n) for level in second.levels] == [(TRIAL, 20), (RUN, 4), (HOST, 4)]
    (entry,) = comparison_to_json(comparison)
    assert [level["level"] for level in entry["baseline"]["levels"]["levels"]] == ["sample", "trial", "run", "host"]
    assert entry["levels"]["icc"] > 0.5


@pytest.mark.parametrize("sides", [("a", "a"), (("a", "b"), "b"), (("a", "a"), "b")])
def test_a_run_stands_on_one_side_once(sides: Sequence[str | tuple[str, ...]]) -> None:
    given = [[run_record(run, BASE) for run in ((side,) if isinstance(side, str) else side)] for side in sides]
    with pytest.raises(CompareError, match="with itself"):
        compare(given)


def test_steps_of_a_group_answer_to_each_other_by_name_or_work() -> None:
    renamed = run_record("a2", BASE[4:], step=replace(STEP, name="renamed"))
    side = Side([run_record("a1", BASE[:4]), renamed])
    assert [step.name for step in side.steps] == ["random read"]
    assert len(side.trials(step_hosts(side)[0])) == 8


# Words on the command line


RUNS = {run: run_record(run, BASE) for run in ("a1", "a2", "odd,name", "web@night", "b:2")}


def load(run: str) -> RunRecord:
    if run not in RUNS:
        raise BenchwrightError(f"There is no run “{run}”.")
    return RUNS[run]


def two_hosts() -> RunRecord:
    one, other = run_record("two", BASE), run_record("two", BASE, host="web-2")
    plan = Plan("p", ("web-1", "web-2"), (STEP, replace(STEP, name="again")))
    return replace(one, plan=plan, trials=(*one.trials, *other.trials))


@pytest.mark.parametrize(
    ("word", "ids"),
    [
        ("a1", ["a1"]),
        ("a1,a2", ["a1", "a2"]),
        (" a1 , a2 ,", ["a1", "a2"]),
        ("odd,name", ["odd,name"]),
        ("web@night", ["web@night"]),
        ("b:2,a1", ["b:2", "a1"]),
    ],
)
def test_a_word_is_a_run_or_a_group(word: str, ids: list[str]) -> None:
    assert [run.summary.id for run in choose(load, word)] == ids


def test_a_part_of_a_run_is_its_host_or_its_step() -> None:
    RUNS["two"] = two_hosts()
    (host,) = choose(load, "two@web-2")
    assert host.plan.hosts == ("web-2",)
    assert {trial.trial.host for trial in host.trials} == {"web-2"}
    (step,) = choose(load, "two@web-1:again")
    assert ([one.name for one in step.plan.steps], step.trials) == (["again"], ())
    assert (host.summary.hosts, step.summary.steps) == (("web-2",), ("again",))
    comparison = compare([choose(load, "two@web-1:random read"), choose(load, "two@web-2:random read")])
    assert comparison.rows[0].against[0].verdict is ComparisonVerdict.HOSTS_AGREE


def legend(*words: str) -> list[str]:
    comparison = compare([choose(load, word) for word in words], overruled="x")
    return [line.partition("UTC")[2].strip() for line in run_lines(comparison)]


def test_the_legend_names_the_selected_step_and_host() -> None:
    RUNS["two"] = two_hosts()
    assert legend("two@web-1:random read", "two@web-2:random read") == [MESSAGES["web_1"], MESSAGES["web_2"]]
    assert legend("a1:random read", "two") == [MESSAGES["step"], ""]
    assert legend("a1", "two@web-1,two@web-2") == ["baseline", "hosts web-1, web-2"]
    assert legend("a1", "two:random read,two:again") == ["baseline", "steps random read, again"]
    assert legend("a1", "two@web-2,a2") == ["baseline", "hosts web-2, web-1"]
    assert Side(choose(load, "two@web-1,two@web-2,a1")).summary.ids == (RUNS["two"].summary.id, "a1")
    rows = comparison_to_json(compare([choose(load, word) for word in ("a1", "two@web-1,two@web-2")]))
    assert {(row["part"], row["baseline"]["part"]) for row in rows} == {("hosts web-1, web-2", None)}


def test_a_row_names_the_step_of_a_side_that_has_another() -> None:
    other = run_record("b", BASE, step=replace(STEP, name="scan"))
    lines = comparison_rows(compare([run_record("a", BASE), other], overruled="x"))
    assert [line[0] for line in lines] == ["random read", "scan"]
    assert [line[0] for line in comparison_rows(compare([run_record("a", BASE), run_record("c", BASE)]))][1] == ""


def test_a_part_of_a_run_has_the_findings_that_concern_it() -> None:
    hosts = (("random read", "web-1"), ("again", "web-1"), (None, "web-2"), (None, None), ("again", "peer"))
    findings = tuple(replace(FINDING, step=step, host=host) for step, host in hosts)
    RUNS["two"] = replace(two_hosts(), findings=findings, finding_trials=(1, 2, None, None, 3))
    (host,) = choose(load, "two@web-1")
    assert [one.trial for one in host.raised] == [1, 2, None, 3]
    (step,) = choose(load, "two@web-1:again")
    assert step.findings == (findings[1], findings[3], findings[4])


@pytest.mark.parametrize("name", ["4k; b@x:y", "a:b", "random read@web-2", ":x", "again:"])
def test_a_part_of_a_run_is_a_step_of_any_name(name: str) -> None:
    whole = two_hosts()
    first, *others = whole.plan.steps
    trials = tuple(
        replace(one, trial=replace(one.trial, step=name)) if one.trial.step == first.name else one
        for one in whole.trials
    )
    RUNS["odd"] = replace(whole, plan=replace(whole.plan, steps=(replace(first, name=name), *others)), trials=trials)
    for word in (f"odd:{name}@web-2", f"odd@web-2:{name}"):
        (part,) = choose(load, word)
        assert ([one.name for one in part.plan.steps], part.plan.hosts) == ([name], ("web-2",))
        assert parts_of(load, word) == ((part.summary.id, word.removeprefix("odd")),)


def test_a_host_without_a_valid_result_is_no_host_of_a_group() -> None:
    group = Side([judged("one", BASE, Trust.VALID), judged("other", BASE, Trust.INVALID, "web-2")])
    cell, _other = step_hosts(group)
    assert group.profile(replace(cell, hosts=("web-1", "web-2"))).hosts == ("web-1",)


def test_the_parts_of_a_run_that_answer_to_each_other_are_its_hosts_or_its_steps_of_one_suite() -> None:
    summary = replace(two_hosts().summary, id="two", suites=("fio",))
    assert parts_side_by_side(replace(summary, hosts=("a", "b"))) == ("two@a", "two@b")
    assert parts_side_by_side(replace(summary, steps=("one", "other"))) == ("two:one", "two:other")
    assert parts_side_by_side(replace(summary, steps=("one", "other"), suites=("fio", "ioping"))) == ()
    assert parts_side_by_side(replace(summary, steps=("one", "the:other"))) == ()
    assert parts_side_by_side(summary) == ()


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("nothing", "no run “nothing”"),
        ("a1,nothing", "no run “nothing”"),
        ("a1@web-9", "has no host “web-9”"),
        ("a1:other", "has no step “other”"),
    ],
)
def test_what_is_no_run_is_named(word: str, shown: str) -> None:
    with pytest.raises(BenchwrightError, match=shown):
        choose(load, word)


def test_every_trial_is_looked_at_once_however_many_hosts_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    trials_of = RunRecord.trials_of

    def counted(record: RunRecord, step: str, host: str | None = None) -> tuple[TrialRecord, ...]:
        asked.append(step)
        return trials_of(record, step, host)

    monkeypatch.setattr(RunRecord, "trials_of", counted)
    hosts = tuple(f"web-{number}" for number in range(12))
    runs = []
    for name in ("a", "b"):
        whole = run_record(name, BASE * 3)
        spread = (
            replace(one, trial=replace(one.trial, host=host)) for one, host in zip(whole.trials, hosts * 2, strict=True)
        )
        runs.append(replace(whole, plan=replace(whole.plan, hosts=hosts), trials=tuple(spread)))
    comparison = compare(runs)
    assert [row.host for row in comparison.rows] == ["12 hosts", *hosts]
    assert len(asked) == 2  # one step a run

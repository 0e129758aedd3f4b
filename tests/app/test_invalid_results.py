"""An invalid result competes nowhere, and a doubtful one carries its verdict in every table and file."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.baselines.baselines import InvalidBaselineError, pin, remarks, stored_baselines
from app.cli.main import benchwright
from app.cli.tables import comparison_rows
from app.comparison.compare import compare
from app.comparison.comparison import comparison_to_json
from app.comparison.joined import excluded_trials, join
from app.comparison.verdicts import ComparisonVerdict
from app.crosscheck.agreement import AgreementOutcome, agreements
from app.crosscheck.report import agreement_to_json
from app.events import State, VerdictReached
from app.history import HistoryQuery, history_of, history_to_json, read_history
from app.plans.plan import PlanError, Policy, Repetition
from app.ranking.candidates import RankingCriteria
from app.ranking.ranking import rank
from app.ranking.report import closing_lines, ranking_csv, ranking_rows, ranking_to_json, shown_columns
from app.records import HistoryRow, RunRecord
from app.report_image.report import _headlines_compared
from app.report_image.tables import rows_compared
from app.runs.policies import check_baseline, verdict_rules
from app.scaling.scaling import scaling_lines, scaling_of, scaling_rows, scaling_to_json
from app.scaling.sweeps import SweepCurve, SweepPoint
from app.store.store import Store
from app.summary import summaries
from app.verdict.listing import listed
from suites.verdict import Limiter, Trust, Verdict
from tests.app import run_events
from tests.app.run_events import FINDING, STEP, run_record
from tests.app.stores import record
from tests.app.test_crosscheck import of_disk
from widgets.compare.compare_rows import CompareLine, LineKind
from widgets.compare.compare_table import _trust_mark as mark_of_value
from widgets.compare.compare_table import _value_tip as tip_of_value

BASE = (1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0)
FASTER = tuple(3 * value for value in BASE)
WEAK = tuple(trust for trust in Trust if trust is not Trust.VALID)


def verdict(trust: Trust, host: str = "web-1") -> Verdict:
    findings = () if trust is Trust.VALID else (FINDING,)
    return Verdict(trust, Limiter.DEVICE, f"{trust.value.capitalize()}: a figure.", findings, STEP.name, host)


def judged(run_id: str, values: Sequence[float], trust: Trust, host: str = "web-1") -> RunRecord:
    whole = run_record(run_id, values, host=host)
    return replace(whole, verdicts=(verdict(trust, host),))


GOOD = judged("good", BASE, Trust.VALID)


def test_invalid_trials_do_not_lower_the_share_of_failed_ones() -> None:
    def with_failed(run: RunRecord) -> RunRecord:
        lost = (replace(one, state=State.FAILED, figures=()) for one in run.trials[4:])
        return replace(run, trials=(*run.trials[:4], *lost))

    good = [judged(f"b{number}", BASE, Trust.VALID) for number in range(3)]
    failed = [with_failed(judged(f"n{number}", BASE, Trust.VALID)) for number in range(3)]
    invalid = [with_failed(judged(f"i{number}", BASE * 3, Trust.INVALID)) for number in range(2)]
    for ours in (failed, [*failed, *invalid]):
        (row,) = compare([good, ours]).rows
        assert row.against[0].verdict is ComparisonVerdict.UNDECIDED
        assert f"{3 * len(BASE) - 12} of {3 * len(BASE)} trials failed" in row.against[0].reason


def test_a_report_image_of_several_hosts_names_them() -> None:
    runs = [judged(f"{run}-{host}", BASE, Trust.VALID, host) for run in ("a", "b") for host in ("web-1", "web-2")]
    comparison = compare([runs[:2], runs[2:]])
    names = [line.cells[1].text for line in rows_compared(comparison)]
    assert [name.partition(", web-")[2] for name in names] == ["", "", "1", "1", "2", "2"]
    texts = [text for _, _, text in _headlines_compared(comparison, comparison.rows[0].step)]
    assert [text.partition(": ")[0] for text in texts] == [row.host for row in comparison.rows]


def doubtful(trust: Trust = Trust.DOUBTFUL) -> RunRecord:
    return judged("other", FASTER, trust, "web-2")


@pytest.mark.parametrize("swapped", [False, True])
def test_an_invalid_run_is_not_compared_on_either_side(*, swapped: bool) -> None:
    pair = [GOOD, doubtful(Trust.INVALID)]
    comparison = compare(pair[::-1] if swapped else pair)
    (against,) = comparison.rows[0].against
    assert against.verdict is ComparisonVerdict.NOT_COMPARABLE
    assert against.ratio is None
    assert ("baseline" if swapped else "this run") in against.reason
    assert FINDING.title in against.reason
    assert any("other" in note and "invalid" in note for note in comparison.notes)


def test_an_invalid_run_is_compared_with_a_reason_that_is_shown() -> None:
    comparison = compare([GOOD, doubtful(Trust.INVALID)], overruled="to show the error")
    assert not [note for note in comparison.notes if "not compared" in note]
    (against,) = comparison.rows[0].against
    assert against.ratio == pytest.approx(3.0, rel=0.01)
    assert "to show the error" in against.text
    assert {caveat.id for caveat in against.caveats} >= {"invalid"}


def test_an_invalid_run_of_a_group_does_not_count() -> None:
    wrong = judged("wrong", FASTER, Trust.INVALID)
    comparison = compare([GOOD, (judged("again", BASE, Trust.VALID), wrong)])
    (row,) = comparison.rows
    assert row.sides[1] is not None
    assert (row.sides[1].n, row.sides[1].trust) == (len(BASE), Trust.VALID)
    assert row.against[0].ratio == pytest.approx(1.0)
    assert any("wrong" in note for note in comparison.notes)


@pytest.mark.parametrize("trust", WEAK)
def test_a_comparison_carries_the_verdict_everywhere(trust: Trust) -> None:
    comparison = compare([GOOD, doubtful(trust)])
    (row,) = comparison.rows
    mark = "caveats" if trust is Trust.CAVEATS else trust.value
    median = comparison_rows(comparison)[1][4]
    assert median.endswith(f"({mark})")
    assert not comparison_rows(comparison)[0][4].endswith(")")  # the valid one is not marked
    (entry,) = comparison_to_json(comparison)
    assert (entry["trust"], entry["baseline"]["trust"]) == (trust, Trust.VALID)
    assert [line.cells[2].text.endswith(f"({mark})") for line in rows_compared(comparison)] == [False, True]
    ((_, _, headline),) = _headlines_compared(comparison, row.step)
    assert f"({mark}) against A" in headline
    line = CompareLine(LineKind.RUN, row=row, number=1)
    assert FINDING.title in tip_of_value(line)
    assert mark_of_value(CompareLine(LineKind.BASELINE, row=row)) is None


def test_a_doubtful_side_is_a_caveat_and_one_with_caveats_is_not() -> None:
    found = {str(trust): compare([GOOD, doubtful(trust)]).rows[0].against[0] for trust in WEAK}
    for trust in (Trust.DOUBTFUL, Trust.UNDECIDED):
        assert trust.value in {caveat.id for caveat in found[trust].caveats}
    assert found[Trust.DOUBTFUL].verdict is ComparisonVerdict.DIFFERS
    for trust in (Trust.UNVERIFIED, Trust.CAVEATS):
        assert not set(Trust) & {caveat.id for caveat in found[trust].caveats}


def test_an_invalid_side_wins_nothing_even_when_overruled() -> None:
    against = compare([GOOD, doubtful(Trust.INVALID)], overruled="a look").rows[0].against[0]
    assert against.verdict is ComparisonVerdict.UNDECIDED
    assert against.ratio is not None
    assert against.reason.startswith("this run is invalid")


def test_an_invalid_candidate_is_not_the_best() -> None:
    third = judged("third", BASE, Trust.DOUBTFUL, "web-3")
    criteria = RankingCriteria({"iops": 1.0})
    runs = [[GOOD], [doubtful(Trust.INVALID)], [third]]
    ranking = rank(("good", "other", "third"), runs, criteria)
    assert {one.candidate.name for one in ranking.ranked} == {"web-1", "web-3"}
    assert ranking.left_out == (("web-2", f"invalid: {FINDING.title}"),)
    assert [line for line in closing_lines(ranking) if "web-2" in line] == [closing_lines(ranking)[0]]  # once
    assert [row[-1] for row in ranking_rows(ranking)].count("doubtful") == 1
    assert len(ranking_rows(ranking)[0]) - 1 in shown_columns(ranking)
    assert any("web-3" in note and FINDING.title in note for note in ranking.notes)
    published = ranking_to_json(ranking)
    assert {one["name"]: one["trust"] for one in published["candidates"]} == {"web-1": "valid", "web-3": "doubtful"}
    rows = list(csv.DictReader(io.StringIO(ranking_csv(ranking))))
    assert sorted(row["trust"] for row in rows) == ["doubtful", "valid"]
    overruled = rank(("good", "other"), runs[:2], replace(criteria, overruled="to see it"))
    assert overruled.ranked[0].trust is Trust.INVALID


def test_an_invalid_run_of_a_ranked_group_does_not_count_and_is_named() -> None:
    group = [GOOD, judged("wrong", FASTER, Trust.INVALID)]
    ranking = rank(("good,wrong", "weak"), [group, [doubtful()]], RankingCriteria({"iops": 1.0}))
    assert [one.n for one in ranking.ranked if one.trust is not Trust.DOUBTFUL] == [len(BASE)]
    (note,) = [note for note in ranking.notes if note.startswith("wrong: ")]
    assert FINDING.title in note
    assert note in ranking_to_json(ranking)["notes"]


def test_a_ranking_of_valid_candidates_has_no_column_of_verdicts() -> None:
    ranking = rank(("good",), [[GOOD]], RankingCriteria({"iops": 1.0}))
    assert shown_columns(ranking) == list(range(5))


def test_figures_of_a_run_carry_the_verdict_on_their_step_and_host() -> None:
    assert {one.trust for one in summaries(doubtful())} == {Trust.DOUBTFUL}
    assert {one.trust for one in summaries(run_record("old", BASE))} == {None}  # of a version without verdicts


@pytest.fixture
def library(tmp_path: Path) -> Store:
    """Return a library with a valid, a doubtful and an invalid run of the same step."""
    store = Store(tmp_path / "runs.sqlite3")
    trusts = (Trust.VALID, Trust.DOUBTFUL, Trust.INVALID)
    for number, (trust, factor) in enumerate(zip(trusts, (1.0, 1.01, 9.0), strict=True), 1):
        events = list(
            run_events.run_events(
                f"run-{number}", [factor * one for one in BASE], started=f"2026-11-2{number}T10:00:00+00:00"
            )
        )
        whole = replace(verdict(trust), step=None, host=None)
        record(
            store, f"run-{number}", [*events[:-1], VerdictReached(verdict(trust)), VerdictReached(whole), events[-1]]
        )
    return store


def test_an_invalid_run_is_no_point_of_a_history(library: Store) -> None:
    found = read_history(library, HistoryQuery(("web-1",), "iops"))
    assert [(point.run, point.trust) for point in found.points] == [("run-1", Trust.VALID), ("run-2", Trust.DOUBTFUL)]
    assert found.left_out == ("invalid: run-3 (random read on web-1)",)
    assert [point["trust"] for point in history_to_json(found)["points"]] == ["valid", "doubtful"]


def test_a_history_names_the_invalid_host_of_a_run(library: Store) -> None:
    plan = run_events.plan(hosts=("web-1", "web-2"))
    rows = [
        HistoryRow("both", "2026-11-25", "p", host, plan.steps[0].name, None, run_events.IOPS, (), 5.0, trust.value)
        for host, trust in (("web-1", Trust.VALID), ("web-2", Trust.INVALID))
    ]
    found = history_of(HistoryQuery(("web-1", "web-2"), "iops"), rows, {"p": plan}, lambda _run, _hosts: ())
    assert found.points == ()
    assert found.left_out == (f"invalid: both ({plan.steps[0].name} on web-2)",)


def test_a_history_of_invalid_runs_alone_has_no_point(library: Store) -> None:
    for run in ("run-1", "run-2"):
        library.delete(run)
    found = read_history(library, HistoryQuery(("web-1",), "iops"))
    assert (found.points, found.marked, found.left_out) == ((), (), ("invalid: run-3 (random read on web-1)",))


def test_an_invalid_run_is_pinned_with_consent_only(library: Store) -> None:
    with pytest.raises(InvalidBaselineError) as raised:
        pin(library, "run-1,run-3", "fleet")
    assert "run-3" in raised.value.message
    assert stored_baselines(library) == []
    pin(library, "run-3@web-1", "fleet", accept_invalid=True)
    pin(library, "run-2", "doubt")
    pin(library, "run-1", "sound")
    found = {one.name: list(remarks(one)) for one in stored_baselines(library)}
    assert found == {"fleet": ["invalid"], "doubt": ["doubtful"], "sound": []}


def test_a_baseline_of_one_host_has_the_trust_of_that_host(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite3")
    *events, ended = run_events.run_events("run-1", BASE)
    verdicts = [VerdictReached(verdict(Trust.VALID, "web-1")), VerdictReached(verdict(Trust.INVALID, "web"))]
    record(store, "run-1", [*events, *verdicts, ended])
    pin(store, "run-1@web-1", "one")
    assert [one.trust for one in stored_baselines(store)] == ["valid"]


def test_the_command_line_shows_the_verdicts(library: Store, tmp_path: Path) -> None:
    def run(*words: str) -> tuple[int, str]:
        reported = CliRunner().invoke(benchwright, ["--store", str(tmp_path / "runs.sqlite3"), *words])
        return reported.exit_code, reported.output

    status, text = run("baseline", "pin", "run-3", "odd")
    assert (status, "--accept-invalid" in text) == (2, True)
    assert run("baseline", "pin", "run-3", "odd", "--accept-invalid")[0] == 0
    (listed,) = (one for one in json.loads(run("baseline", "list", "--json")[1]) if one["name"] == "odd")
    assert (listed["trust"], listed["remarks"]) == ("invalid", ["invalid"])
    assert "not comparable" in run("compare", "run-1", "run-3")[1]
    assert "doubtful" in run("history", "web-1", "--metric", "iops")[1]
    shown = json.loads(run("show", "run-2", "--json")[1])
    assert {metric["trust"] for metric in shown["metrics"]} == {"doubtful"}


def test_an_invalid_result_is_no_noise(library: Store, tmp_path: Path) -> None:
    table = tmp_path / "noise.csv"
    words = ["--store", str(tmp_path / "runs.sqlite3"), "noise", "run-1", "run-2", "run-3"]
    found = json.loads(CliRunner().invoke(benchwright, [*words, "--json", "--csv", str(table)]).stdout)
    entries = [(one["run"], one["trust"]) for one in found["entries"] if one["level"] == "trial"]
    assert sorted(entries) == [("run-1", "valid"), ("run-2", "doubtful")]
    assert {one["name"]: one["trust"] for one in found["runs"]} == {"run-1": "valid", "run-2": "doubtful"}
    assert {one["trust"] for one in (*found["tests"], *found["hosts"])} == {"doubtful"}
    (excluded,) = found["excluded"]
    assert excluded.startswith("run-3: ")
    assert {row["trust"] for row in csv.DictReader(io.StringIO(table.read_text()))} == {"valid", "doubtful"}
    text = CliRunner().invoke(benchwright, words).stdout
    assert "doubtful" in text
    assert f"Note: {excluded}" in text
    sound = CliRunner().invoke(benchwright, [*words[:3], "run-1"]).stdout
    assert "Trust" not in sound


CURVE = SweepCurve(run_events.IOPS, "threads", (), tuple(SweepPoint(n, str(n), (100.0 * n,) * 3) for n in (1, 2, 4)))


@pytest.mark.parametrize("trust", Trust)
def test_a_curve_carries_its_verdict_and_an_invalid_one_is_not_analysed(trust: Trust) -> None:
    found = scaling_of("r", "s", "h", CURVE, verdict(trust))
    assert (found.base is None, found.efficiencies == ()) == (trust is Trust.INVALID,) * 2
    assert (FINDING.title in " ".join(scaling_lines(found))) is (trust is not Trust.VALID)
    assert {row["trust"] for row in scaling_rows([found])} == {trust}
    published = scaling_to_json([found])["curves"][0]
    assert (published["trust"], published["growing"]) == (trust, trust is not Trust.INVALID)


@pytest.mark.parametrize("trust", WEAK)
def test_tools_are_not_compared_by_an_invalid_result(trust: Trust) -> None:
    sides = of_disk(1.0)
    step = sides.plan.steps[1].name
    weak = replace(verdict(trust), step=step, host=sides.plan.hosts[0])
    (found,) = agreements(replace(sides, verdicts=(weak,)))
    assert (found.outcome is AgreementOutcome.UNDECIDED) is (trust is Trust.INVALID)
    assert (found.ratio is None) is (trust is Trust.INVALID)
    published = agreement_to_json(found)
    assert (published["ours"]["trust"], published["theirs"]["trust"]) == (None, trust)
    assert (FINDING.title in " ".join(published["why"])) is (trust is Trust.INVALID)
    assert trust.value.rpartition(" ")[2] in published["text"]


def test_a_plan_that_waits_for_a_verdict_does_not_count_invalid_runs_of_its_baseline() -> None:
    weak = judged("b", [1.01 * one for one in BASE], Trust.DOUBTFUL)
    runs = [GOOD, weak, judged("c", FASTER, Trust.INVALID)]
    joined, _ = join(runs, {run.summary.id: {} for run in runs})
    assert len(joined.trials) == 2 * len(BASE)
    repetition = Repetition(policy=Policy.UNTIL_VERDICT, baseline="fleet", minimum=6)
    plan = replace(run_events.plan(), repetition=repetition)
    rules = {mark: verdict_rules(plan, one, {}) for mark, one in (("doubtful", joined), ("", GOOD))}
    for mark, make in rules.items():
        assert make is not None
        reason = make((STEP.name, "web-1"), run_events.IOPS, run_events.READ).decide(BASE).reason
        assert ("baseline: doubtful" in reason) is bool(mark)
    check_baseline(plan, joined, 1)
    with pytest.raises(PlanError, match=FINDING.title):
        check_baseline(plan, runs[2], 1)
    alone = verdict_rules(plan, runs[2], {})
    assert alone is not None
    assert not alone((STEP.name, "web-1"), run_events.IOPS, run_events.READ).decide(BASE).settled


def test_several_runs_as_one_keep_their_findings_exclusions_and_verdict() -> None:
    """“The last finding of a check counts” holds within a run, not over the runs of a group."""
    runs = [
        replace(GOOD, findings=(replace(FINDING, measured=f"in {number}", step=STEP.name, host="web-1"),))
        for number in range(2)
    ]
    runs[1] = replace(runs[1], summary=replace(GOOD.summary, id="b"))
    runs.append(judged("c", FASTER, Trust.INVALID))
    joined, _ = join(runs, {run.summary.id: {} for run in runs})
    assert [one.measured for one in listed(joined) if one.id == FINDING.id][:2] == ["in 0", "in 1"]
    assert [line.partition(":")[0] for line in excluded_trials(joined)] == ["c"]
    assert joined.verdict is not None
    assert joined.verdict.trust == GOOD.verdicts[0].trust
    assert joined.telemetry_program == {}

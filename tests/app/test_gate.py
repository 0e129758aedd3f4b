"""A gate fails only on a regression that fresh trials confirm, and passes nothing that the trials do not show."""

import json
import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from app.cli.main import benchwright
from app.comparison.compare import compare
from app.comparison.comparison import Comparison
from app.comparison.gate import ConditionAnswer, GateOutcome, GateResult, answers_of, answers_of_groups, result_of
from app.comparison.gate_conditions import GateError, parse_conditions
from app.comparison.gate_report import gate_junit, gate_lines, gate_markdown, gate_to_json
from app.plans.plan import Plan, make_step
from app.plans.plan_file import write_plan
from app.store.errors import StoreFullError
from app.store.store import Store
from remote.errors import RemoteError
from suites.errors import BenchwrightError
from suites.verdict import NOT_JUDGED, Limiter, Trust, Verdict
from tests.app.run_events import FINDING, IOPS, P99, STEP, run_events, run_record
from tests.app.stores import record, store
from tests.messages import messages
from tests.simulation.gates import outcomes

__all__ = ["store"]

MESSAGES = messages("app", "test_gate")

BASE = (1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0, 998.0)
WORSE = tuple(0.85 * value for value in BASE)
HOSTS = ("web-1", "web-2")
OTHER = replace(STEP, name="another", values={**STEP.values, "block_size": 65536})
CONDITION = "iops worse by 5 %"
SYSBENCH = (Path(__file__).parents[1] / "data/sysbench/1.0.20/cpu_default.stdout").read_text()

POWER = [(0.005, 6), (0.02, 10), (0.03, 30), (0.05, 60), (0.1, 240)]
"""CoV of the trials, and most trials of a run."""


def answers(values: tuple[float, ...], *texts: str, run: str = "b") -> tuple[ConditionAnswer, ...]:
    conditions = parse_conditions(texts or (CONDITION,), [STEP])
    return answers_of(conditions, compare([run_record("a", BASE), run_record(run, values)]))


def gate(*runs: tuple[float, ...]) -> GateResult:
    names = [f"b{number}" for number in range(len(runs))]
    return result_of([answers(values, run=name) for values, name in zip(runs, names, strict=True)], names, "a")


@pytest.mark.parametrize(
    ("runs", "outcome"),
    [
        ((BASE,), GateOutcome.PASS),
        ((tuple(1.3 * value for value in BASE),), GateOutcome.PASS),
        ((WORSE,), GateOutcome.UNDECIDED),
        ((WORSE, WORSE), GateOutcome.FAIL),
        ((WORSE, BASE), GateOutcome.UNDECIDED),
        ((WORSE, BASE, BASE), GateOutcome.PASS),
        ((WORSE, BASE, WORSE), GateOutcome.FAIL),
        ((BASE[:5],), GateOutcome.UNDECIDED),
    ],
    ids=["same", "faster", "suspected", "confirmed", "disagree", "not confirmed", "two of three", "too few trials"],
)
def test_a_regression_fails_once_a_fresh_run_confirms_it(
    runs: tuple[tuple[float, ...], ...], outcome: GateOutcome
) -> None:
    assert gate(*runs).outcome is outcome


def test_a_change_at_the_limit_is_undecided() -> None:
    (found,) = answers(tuple(0.95 * value for value in reversed(BASE)))
    assert found.answer is GateOutcome.UNDECIDED
    assert found.reason == MESSAGES["at_the_limit"]


@pytest.mark.parametrize("trust", [Trust.UNDECIDED, Trust.DOUBTFUL, Trust.INVALID])
@pytest.mark.parametrize("side", ["a", "b"])
@pytest.mark.parametrize("values", [BASE, WORSE], ids=["same", "worse"])
def test_a_result_in_doubt_neither_passes_nor_fails(side: str, trust: Trust, values: tuple[float, ...]) -> None:
    verdict = Verdict(trust, Limiter.UNKNOWN, "", step=STEP.name, host="web-1")
    records = [run_record("a", BASE), run_record("b", values)]
    records = [replace(one, verdicts=(verdict,)) if one.summary.id == side else one for one in records]
    (found,) = answers_of(parse_conditions([CONDITION], [STEP]), compare(records))
    assert found.answer is GateOutcome.UNDECIDED
    assert str(trust) in found.reason
    assert found.lasting is (side == "a")


def test_a_result_in_doubt_hides_no_other_reason() -> None:
    doubtful = Verdict(Trust.DOUBTFUL, Limiter.UNKNOWN, "", step=STEP.name, host="web-1")
    new = replace(run_record("b", BASE), verdicts=(doubtful,))
    reasons = {"needs 5 more": run_record("a", BASE[:1]), "4 KiB against 64 KiB": run_record("a", BASE, step=OTHER)}
    for why, old in reasons.items():
        (found,) = answers_of(parse_conditions([CONDITION], [STEP]), compare([old, new]))[:1]
        assert found.answer is GateOutcome.UNDECIDED
        assert why in found.reason
        assert "doubtful" in found.reason


def test_of_several_hosts_the_one_in_doubt_is_named() -> None:
    hosts = {"web-1": Trust.VALID, "web-2": Trust.DOUBTFUL}
    sides = [
        [
            replace(
                run_record(f"{side}{host}", BASE, host=host),
                verdicts=(Verdict(trust, Limiter.UNKNOWN, "", step=STEP.name, host=host),),
            )
            for host, trust in hosts.items()
        ]
        for side in "ab"
    ]
    (found,) = answers_of_groups(parse_conditions([CONDITION], [STEP]), {"web": compare(sides, together=True)}, "b")
    assert found.answer is GateOutcome.UNDECIDED
    assert "the result on web-2" in found.reason
    assert "web-1" not in found.reason


def test_a_test_that_one_study_lacks_is_answered_once_for_all_hosts_of_a_group() -> None:
    old, new = (
        [run_record(f"{side}{step.name}{host}", BASE, host=host, step=step) for step in steps for host in HOSTS]
        for side, steps in (("a", (STEP, OTHER)), ("b", (STEP,)))
    )
    found = answers_of_groups(parse_conditions([CONDITION], [STEP]), {"web": compare([old, new], together=True)}, "b")
    assert [one.host for one in found] == ["web (2 hosts)"] * 2


@pytest.mark.parametrize("condition", [CONDITION, "iops < 50k"])
@pytest.mark.parametrize(("names", "needs"), [("xy", "in both: measure the same hosts"), ("vw", "measure more hosts")])
def test_two_hosts_of_a_group_answer_nothing(names: str, needs: str, condition: str) -> None:
    old, new = (
        [run_record(f"{side}{host}", BASE, host=host) for host in hosts] for side, hosts in (("a", "xyz"), ("b", names))
    )
    conditions = parse_conditions([condition], [STEP])
    (found,) = answers_of_groups(conditions, {"web": compare([old, new], together=True)}, "b")
    assert found.answer is GateOutcome.UNDECIDED
    assert found.host == "web (2 hosts)"
    assert "needs 1 more host" in found.reason
    assert (needs in found.reason) is (condition == CONDITION)


@pytest.mark.parametrize(
    ("old", "new", "shown"), [("xyz", "vw", "2 hosts"), ("xyz", "v", "v"), ("x", "vw", "2 hosts"), ("x", "v", "x")]
)
def test_the_hosts_of_the_run_are_named(old: str, new: str, shown: str) -> None:
    sides = [
        [run_record(f"{side}{host}", BASE, host=host) for host in hosts] for side, hosts in (("a", old), ("b", new))
    ]
    (found,) = answers_of(parse_conditions([CONDITION], [STEP]), compare(sides, together=True))
    assert found.host == shown


@pytest.mark.parametrize("side", ["a", "b"])
def test_a_pass_on_an_unverified_result_says_so_in_every_output(side: str) -> None:
    found = result_of([answers_of(parse_conditions([CONDITION], [STEP]), judged(Trust.UNVERIFIED, side))], ["b"], "a")
    assert found.outcome is GateOutcome.PASS
    assert json.loads(json.dumps(gate_to_json(found)))["unverified"] is True
    junit = gate_junit(found)
    assert ET.fromstring(junit.encode()).findtext("testsuite/testcase/system-out")  # noqa: S314 (own XML)
    remark = MESSAGES["unverified"].format("result" if side == "b" else "baseline")
    for text in ("\n".join(gate_lines(found)), gate_markdown(found), junit, json.dumps(gate_to_json(found))):
        assert remark in text
    assert "on unverified results" in next(gate_lines(found))
    plain = result_of([answers_of(parse_conditions([CONDITION], [STEP]), judged(Trust.VALID, side))], ["b"], "a")
    assert "unverified" not in gate_markdown(plain) + "".join(gate_lines(plain)) + gate_junit(plain)


def test_an_output_from_elsewhere_with_caveats_is_not_watched_either() -> None:
    imported = judged(Trust.CAVEATS, "b", "measured-elsewhere")
    own = judged(Trust.CAVEATS, "b", "short-runtime")
    for comparison, unverified in ((imported, True), (own, False)):
        found = result_of([answers_of(parse_conditions([CONDITION], [STEP]), comparison)], ["b"], "a")
        assert (found.outcome, found.unverified) == (GateOutcome.PASS, unverified)


def test_a_side_without_a_verdict_is_not_judged_yet() -> None:
    unjudged = [replace(run_record(name, BASE), verdicts=()) for name in ("a", "b")]
    (found,) = answers_of(parse_conditions([CONDITION], [STEP]), compare(unjudged))
    assert found.answer is GateOutcome.PASS
    assert found.remark == f"the result is {NOT_JUDGED}; the baseline is {NOT_JUDGED}"
    assert NOT_JUDGED in gate_markdown(result_of([[found]], ["b"], "a"))


def test_the_reason_names_the_finding_that_decides(tmp_path: Path) -> None:
    """The figures of an imported output contradict each other, and it has findings that weigh less."""
    library = tmp_path / "runs.sqlite3"
    for name, factor in (("good", 0.0001), ("bad", 1.0)):
        rates = [5125.12 * (1 + factor * number * number) for number in range(7)]
        (tmp_path / name).write_text("\n".join(SYSBENCH.replace("5125.12", f"{rate:.2f}") for rate in rates))
    names = [str(tmp_path / name) for name in ("bad", "good")]
    ran = CliRunner().invoke(benchwright, ["--store", str(library), "import", "--json", *names])
    bad, good = (one["run"] for one in json.loads(ran.stdout)["imported"])
    words = ["--run", bad, "--against", good, "--fail-if", "events_per_second worse by 5 %", "--json"]
    found = CliRunner().invoke(benchwright, ["--store", str(library), "gate", *words])
    (entry,) = json.loads(found.stdout)["conditions"]
    run = Store(library)
    record_ = run.load(bad)
    run.close()
    assert len(record_.findings) > 2
    assert entry["reason"] == MESSAGES["deciding"]


def judged(trust: Trust, side: str, check: str = FINDING.id) -> Comparison:
    findings = () if trust is Trust.VALID else (replace(FINDING, id=check, title="Measured elsewhere"),)
    verdict = Verdict(trust, Limiter.UNKNOWN, "", findings, step=STEP.name, host="web-1")
    records = [run_record("a", BASE), run_record("b", BASE)]
    return compare([replace(one, verdicts=(verdict,)) if one.summary.id == side else one for one in records])


def test_an_incomplete_run_and_a_metric_without_result_are_undecided() -> None:
    conditions = parse_conditions([CONDITION, "p99 worse by 5 %"], [STEP])
    comparison = compare([run_record("a", BASE), run_record("b", BASE)])
    iops, p99 = answers_of(conditions, comparison, incomplete="the run is failed")
    assert (iops.answer, iops.reason) == (GateOutcome.UNDECIDED, "the run is failed")
    assert (p99.answer, p99.reason) == (GateOutcome.UNDECIDED, "the run is failed")
    assert result_of([(iops, p99)], ["b"], "a").outcome is GateOutcome.UNDECIDED
    _, missing = answers_of(conditions, comparison)
    assert missing.reason == "not measured"
    assert result_of([answers_of(conditions, comparison)], ["b"], "a").outcome is GateOutcome.UNDECIDED


@pytest.mark.parametrize(
    ("text", "metric", "share"),
    [("p99 worse by 5 %", P99.name, 0.05), ("latency_p99 worse by 5%", P99.name, 0.05),
     ("iops worse by 10 %", IOPS.name, 0.1), ("random read: iops worse by 0.5 %", IOPS.name, 0.005),
     ("p99 worse by 150 %", P99.name, 1.5)],
)  # fmt: skip
def test_a_condition_is_parsed(text: str, metric: str, share: float) -> None:
    (found,) = parse_conditions([text], [STEP])
    assert found.metric == metric
    assert found.share == pytest.approx(share)


@pytest.mark.parametrize(
    ("titled", "named"),
    [
        ("I/Os per second worse by 5 %", "iops worse by 5 %"),
        ("I/Os per second < 900", "iops < 900"),
        ("disk: Completion latency, p99 > 2 ms", "disk: latency_p99 > 2 ms"),
    ],
)
def test_a_metric_is_named_by_its_title_too(titled: str, named: str) -> None:
    step = replace(STEP, name="disk")
    (found,), (wanted,) = (parse_conditions([text], [step]) for text in (titled, named))
    assert (found.text, replace(found, text=named)) == (titled, wanted)


@pytest.mark.parametrize(("text", "wanted"), [("iops > 900", "iops < 900."), ("p99 <= 5 ms", "p99 > 5 ms.")])
def test_a_condition_that_fails_better_results_is_turned_round(text: str, wanted: str) -> None:
    with pytest.raises(GateError, match="fails on better results") as refused:
        parse_conditions([text], [STEP])
    assert refused.value.remedy == f"Write {wanted}"
    assert parse_conditions([wanted.rstrip(".")], [STEP])


def test_no_condition_is_called_a_goal() -> None:
    with pytest.raises(GateError, match="is not a condition") as refused:
        parse_conditions(["iops < many"], [STEP])
    assert "<=" not in refused.value.remedy


def test_a_bound_is_a_goal_in_the_metrics_unit() -> None:
    (found,) = parse_conditions(["p99 > 10 ms"], [STEP])
    assert found.goal is not None
    assert found.goal.at_most == pytest.approx(10e6)  # fio measures in ns


@pytest.mark.parametrize(
    "text",
    ["", "p99 worse by 1000 %", "iops", "iops worse", "iops worse by 5", "iops worse by 0 %", "iops worse by 100 %",
     "iops worse by -5 %",
     "iops worse by 5 % or more", "nothing worse by 5 %", "latency worse by 5 %", "disk: iops worse by 5 %",
     "iops better by 5 %", "iops > 5 ms", "iops > 20k",
     "iops < 5; iops < 6", "p99 > ", "\x1b[31m < 5", "iops worse by 1.2.3 %"],
)  # fmt: skip
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(BenchwrightError) as refused:
        parse_conditions([text], [STEP])
    assert refused.value.remedy


def test_one_metric_has_one_condition_of_a_kind() -> None:
    with pytest.raises(GateError):
        parse_conditions([CONDITION, "iops worse by 10 %"], [STEP])
    assert len(parse_conditions([CONDITION, "iops < 900"], [STEP])) == 2


@pytest.mark.parametrize(("times", "outcome"), [(2.0, GateOutcome.PASS), (3.0, GateOutcome.FAIL)])
def test_latency_can_be_worse_by_more_than_all_of_it(times: float, outcome: GateOutcome) -> None:
    before = run_record("a", BASE, metric=P99)
    slower = run_record("b", tuple(times * value for value in BASE), metric=P99)
    found = answers_of(parse_conditions(["p99 worse by 150 %"], [STEP]), compare([before, slower]))
    assert [one.answer for one in found] == [outcome]


@pytest.mark.parametrize(
    ("bound", "outcome"), [("900", GateOutcome.PASS), ("1000", GateOutcome.UNDECIDED), ("1100", GateOutcome.FAIL)]
)
def test_a_bound_is_judged_by_its_interval(bound: str, outcome: GateOutcome) -> None:
    (found,) = answers(BASE, f"iops < {bound}")
    assert found.answer is outcome
    assert found.ratio == pytest.approx(math.prod(BASE) ** (1 / len(BASE)) / float(bound))
    assert None not in {found.low, found.ratio, found.high}
    assert (found.low or 0.0) < (found.ratio or 0.0) < (found.high or 0.0)


def test_several_conditions_share_one_error_rate() -> None:
    values = tuple(0.92 * value for value in (1000.0, 1060.0, 960.0, 1020.0, 950.0, 1040.0, 1000.0))
    (alone,) = answers(values)
    first, _ = answers(values, CONDITION, "iops < 900")
    assert alone.p is not None
    assert first.p == pytest.approx(2 * alone.p)


def test_every_output_has_ratio_interval_and_n() -> None:
    found = gate(WORSE, WORSE)
    lines = list(gate_lines(found))
    assert lines[0] == MESSAGES["failed"]
    (entry,) = gate_to_json(found)["conditions"]
    assert entry["outcome"] == "fail"
    assert entry["counts"] == [7, 7]
    assert entry["ratio"] == pytest.approx(0.85)
    assert (entry["low"] or 9) < 0.85 < (entry["high"] or 0)
    assert json.loads(json.dumps(gate_to_json(found)))["outcome"] == "fail"
    for text in (lines[1], gate_junit(found), gate_markdown(found)):
        assert "ratio 0.850" in text
        assert "95 % CI 0.8" in text
        assert "n = 7 against 7" in text


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (BASE, "read: 1000 IOPS, limit 900 IOPS, ratio 1.111 (95 % CI "),
        ((950.0,) * 7, "read: 950 IOPS, limit 900 IOPS, n = 7"),
        ((0.0, 950.0, 960.0, 970.0, 980.0, 990.0), "read: 0 IOPS to 990 IOPS, limit 900 IOPS, n = 6"),
    ],
)
def test_a_bound_has_the_value_before_the_limit_in_every_output(values: tuple[float, ...], shown: str) -> None:
    found = result_of([answers(values, "iops < 900")], ["b"], "a")
    for text in (*list(gate_lines(found))[1:2], gate_junit(found), gate_markdown(found)):
        assert shown in text


def test_junit_counts_failures_and_undecided_ones_as_errors() -> None:
    failed, undecided = (ET.fromstring(gate_junit(one).encode()) for one in (gate(WORSE, WORSE), gate(WORSE)))  # noqa: S314 (own XML)
    assert (failed.get("tests"), failed.get("failures"), failed.get("errors")) == ("1", "1", "0")
    assert failed.find("testsuite/testcase/failure") is not None
    assert (undecided.get("failures"), undecided.get("errors")) == ("0", "1")
    assert undecided.find("testsuite/testcase/error") is not None


def test_hostile_names_stay_text_in_every_output() -> None:
    (one,) = answers(BASE)
    found = result_of([[replace(one, host="<b>|`x`\x1b[31m\x00")]], ["b"], "a")
    assert ET.fromstring(gate_junit(found).encode()).find("testsuite/testcase") is not None  # noqa: S314 (own XML)
    assert "<b>" not in gate_markdown(found)
    assert "\x1b" not in gate_markdown(found) + gate_junit(found)


@pytest.mark.parametrize("cov", [0.02, *(pytest.param(each, marks=pytest.mark.slow) for each in (0.005, 0.05, 0.1))])
def test_at_most_one_in_twenty_comparisons_of_the_same_host_fails(cov: float) -> None:
    assert outcomes(cov, 200)[GateOutcome.FAIL] <= 10


@pytest.mark.parametrize(
    ("cov", "trials"), [pytest.param(*each, marks=pytest.mark.slow if each[1] > 30 else ()) for each in POWER]
)
def test_a_slowdown_of_10_percent_is_found_each_time(cov: float, trials: int) -> None:
    assert outcomes(cov, 50, factor=0.9, trials=trials)[GateOutcome.FAIL] == 50


@pytest.mark.parametrize(
    ("factors", "status", "outcome"),
    [((1.0,), 0, "pass"), ((0.8,), 3, "undecided"), ((0.8, 0.8), 1, "fail")],
    ids=["same", "suspected", "confirmed"],
)
def test_stored_runs_exit_by_their_outcome(
    tmp_path: Path, store: Store, factors: tuple[float, ...], status: int, outcome: str
) -> None:
    for number, factor in enumerate((1.0, *factors)):
        run = f"20261120-14153{number}-k3f9"
        record(store, run, run_events(run, [factor * value for value in BASE]))
    files = tmp_path / "gate.xml", tmp_path / "gate.md"
    words = [f"--run=20261120-14153{number}-k3f9" for number in range(1, len(factors) + 1)]
    words += ["--fail-if", CONDITION, "--junit", str(files[0]), "--markdown", str(files[1]), "--json"]
    found = gated(store, "--against", "20261120-141530-k3f9", *words)
    assert found.exit_code == status, found.output
    assert json.loads(found.stdout)["outcome"] == outcome
    assert all(file.stat().st_size for file in files)


@pytest.mark.parametrize(
    "words",
    [
        ("--fail-if", "iops worse", "--run", "20261120-141531-k3f9"),
        ("--fail-if", CONDITION),
        ("--fail-if", CONDITION, "--run", "20261120-141530-k3f9"),
        ("--fail-if", CONDITION, "--run", "20261120-141531-k3f9", "--run", "20261120-141531-k3f9"),
        ("--fail-if", CONDITION, "--run", "unknown"),
        ("--run", "20261120-141531-k3f9"),
    ],
    ids=["no condition", "nothing to judge", "itself", "twice", "unknown run", "no --fail-if"],
)
def test_bad_input_exits_with_2_and_prints_nothing(store: Store, words: tuple[str, ...]) -> None:
    for number in range(2):
        run = f"20261120-14153{number}-k3f9"
        record(store, run, run_events(run, BASE))
    found = gated(store, "--against", "20261120-141530-k3f9", *words)
    assert found.exit_code == 2
    assert found.stdout == ""


@pytest.mark.parametrize(
    "error", [RuntimeError("defect"), KeyboardInterrupt(), RemoteError("No route to host."), StoreFullError("Full.")],
    ids=["defect", "interrupted", "host", "disk full"],
)  # fmt: skip
def test_a_gate_that_ends_early_is_no_regression(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    record(store, "20261120-141530-k3f9", run_events("20261120-141530-k3f9", BASE))
    plan_file = tmp_path / "plan.toml"
    write_plan(Plan("disk", ("web-1",), (make_step(STEP.suite_id, {}),)), plan_file)

    def measured(*_words: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr("app.cli.gate.measure", measured)
    found = gated(store, str(plan_file), "--against", "20261120-141530-k3f9", "--fail-if", CONDITION)
    assert found.exit_code == 3, found.output
    assert found.stderr


@pytest.mark.parametrize("condition", ["events_per_second worse by 5 %", "events_per_second < 1"])
def test_a_baseline_of_another_suite_is_refused_before_anything_is_measured(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    record(store, "20261120-141530-k3f9", run_events("20261120-141530-k3f9", BASE))
    plan, output = tmp_path / "plan.toml", tmp_path / "cpu.txt"
    write_plan(Plan("cpu", ("web-1",), (make_step("sysbench-cpu", {}),)), plan)
    output.write_text("\n".join([SYSBENCH] * 6))
    monkeypatch.setattr("app.cli.gate.measure", lambda *_words, **_options: pytest.fail("measured"))
    ran = CliRunner().invoke(benchwright, ["--store", str(store.path), "import", str(output), "--json"])
    run = json.loads(ran.stdout)["imported"][0]["run"]
    for words in ((str(plan),), ("--run", run)):
        found = gated(store, *words, "--against", "20261120-141530-k3f9", "--fail-if", condition)
        assert (found.exit_code, found.stdout) == (2, "")
        assert all(title in found.stderr for title in ("sysbench CPU", STEP.suite.title))


def test_an_answer_names_the_step_of_the_run_not_of_the_baseline() -> None:
    renamed = replace(STEP, name="volume")
    baseline = run_record("a", BASE)
    baseline = replace(
        baseline,
        plan=replace(baseline.plan, steps=(renamed,)),
        trials=tuple(replace(one, trial=replace(one.trial, step="volume")) for one in baseline.trials),
    )
    conditions = parse_conditions([f"{STEP.name}: {CONDITION}"], [STEP])
    found = answers_of(conditions, compare([baseline, run_record("b", BASE)]))
    assert {one.step for one in found} == {STEP.name}
    assert {one.answer for one in found} == {GateOutcome.PASS}


def test_a_report_that_cannot_be_written_is_refused_before_the_measurement_and_changes_no_failure(
    store: Store, tmp_path: Path
) -> None:
    for number, factor in enumerate((1.0, 0.8, 0.8)):
        run = f"20261120-14153{number}-k3f9"
        record(store, run, run_events(run, [factor * value for value in BASE]))
    words = ["--against", "20261120-141530-k3f9", "--fail-if", CONDITION]
    runs = ["--run", "20261120-141531-k3f9", "--run", "20261120-141532-k3f9"]
    found = gated(store, *words, *runs, "--junit", "/proc/nothing/gate.xml")
    assert (found.exit_code, found.stdout) == (2, "")
    (tmp_path / "folder").mkdir()
    found = gated(store, *words, *runs, "--junit", str(tmp_path / "folder/gate.xml"), "--markdown", "/proc/gate.md")
    assert found.exit_code == 1
    assert "regression is shown" in found.stdout
    assert "/proc/gate.md" in found.stderr


@pytest.mark.parametrize(
    ("ours", "theirs", "missing", "side", "lasting"),
    [(1, 1, 5, "on each side", True), (1, 6, 5, "of this run", False), (6, 1, 5, "of the baseline", True)],
)
def test_one_trial_decides_nothing_and_the_reason_says_what_would(
    ours: int, theirs: int, missing: int, side: str, *, lasting: bool
) -> None:
    conditions = parse_conditions((CONDITION,), [STEP])
    (one,) = answers_of(conditions, compare([run_record("a", BASE[:theirs]), run_record("b", WORSE[:ours])]))
    assert (one.answer, one.low, one.p) == (GateOutcome.UNDECIDED, None, None)
    assert f"{missing} more trials {side}" in one.reason
    assert one.reason.startswith("one trial ")
    assert one.lasting is lasting  # no further run of the plan adds trials to the baseline


@pytest.mark.parametrize(
    ("factor", "status", "expected"), [(1.0, 0, ["pass", "pass"]), (0.5, 3, ["undecided", "undecided"])]
)
def test_runs_of_one_trial_joined_by_commas_are_sessions(
    store: Store, factor: float, status: int, expected: list[str]
) -> None:
    runs = [f"20261120-14153{number}-k3f9" for number in range(6)]
    for number, run in enumerate(runs):
        record(store, run, run_events(run, [BASE[number] * (factor if number > 2 else 1.0)]))
    words = ["--against", ",".join(runs[:3]), "--fail-if", CONDITION, "--fail-if", "iops < 900", "--json"]
    alone = json.loads(gated(store, *words, "--run", runs[3]).stdout)["conditions"]
    assert "1 against 3 sessions" in alone[0]["text"]
    found = gated(store, *words, "--run", ",".join(runs[3:]))
    assert found.exit_code == status, found.output
    conditions = json.loads(found.stdout)["conditions"]
    assert [one["outcome"] for one in conditions] == expected
    assert [one["counts"] for one in conditions] == [[3, 3], [3, 0]]
    again = gated(store, *words, "--run", ",".join(runs[3:]), "--run", runs[4])
    assert (again.exit_code, again.stdout) == (2, "")


def test_a_missing_folder_of_a_report_is_created(store: Store, tmp_path: Path) -> None:
    for number in range(2):
        run = f"20261120-14153{number}-k3f9"
        record(store, run, run_events(run, BASE))
    file = tmp_path / "new" / "folder" / "gate.xml"
    words = ["--against", "20261120-141530-k3f9", "--run", "20261120-141531-k3f9", "--fail-if", CONDITION]
    assert gated(store, *words, "--junit", str(file)).exit_code == 0
    assert ET.fromstring(file.read_text()).get("tests") == "1"  # noqa: S314 (own XML)


def gated(store: Store, *words: str) -> Result:
    return CliRunner().invoke(benchwright, ["--store", str(store.path), "gate", *words])


def test_copies_of_one_output_are_no_two_runs(store: Store, tmp_path: Path) -> None:
    library, output = ["--store", str(store.path)], tmp_path / "cpu.txt"
    rates = [5125.12 * (1 + 0.0001 * number) for number in range(7)]

    def imported(factor: float, *options: str) -> str:
        output.write_text("\n".join(SYSBENCH.replace("5125.12", f"{factor * rate:.2f}") for rate in rates))
        ran = CliRunner().invoke(benchwright, [*library, "import", str(output), "--json", *options])
        return str(json.loads(ran.stdout)["imported"][0]["run"])

    baseline, slow, copy, other = imported(1), imported(0.8), imported(0.8, "--again", "--host=b"), imported(0.801)
    words = ("--against", baseline, "--fail-if", "events_per_second worse by 5 %", "--run")
    for twice in ((*words, slow, "--run", copy), (*words, f"{slow},{copy}"), (*words, imported(1, "--again"))):
        found = gated(store, *twice)
        assert (found.exit_code, found.stdout) == (2, ""), twice
        assert MESSAGES["copies"] in found.stderr
    compared = CliRunner().invoke(benchwright, [*library, "compare", baseline, f"{slow},{copy}"])
    assert compared.exit_code == 2
    assert MESSAGES["copies"] in compared.stderr
    assert gated(store, *words, slow, "--run", other).exit_code != 2

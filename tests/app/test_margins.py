"""Margins: whose counts, what a metric has without one, how they are written, and where a run freezes them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from app.cli.main import benchwright
from app.comparison.compare import compare
from app.formats import plan_from_json, plan_to_json
from app.margins import DEFAULTS, PLANNED, YOURS, Margin, MarginError, Margins, parse_margins, with_margins
from app.plans.plan import Plan, Policy, Repetition, make_step
from app.plans.plan_file import format_plan, parse_plan
from app.plans.repetition import UntilVerdict
from app.plans.validation import validate
from app.runs.policies import verdict_rules
from app.saved_margins import SavedMargins
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind
from tests.app.run_events import READ, run_record
from tests.app.run_events import plan as a_plan
from tests.app.test_baselines import stored
from tests.messages import messages

MESSAGES = messages("app", "test_margins")

IOPS = Metric("iops", "IOPS", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
P95, P99, WORST = (
    Metric(f"latency_{name}", name, Unit.NANOSECOND, Better.LOWER, MetricKind.TIME, percentile)
    for name, percentile in (("p95", 95.0), ("p99", 99.0), ("max", 100.0))
)
UNTIL = Repetition(policy=Policy.UNTIL_VERDICT, baseline="gold")


def test_the_default_is_by_kind_of_metric() -> None:
    assert [DEFAULTS.of(metric) for metric in (IOPS, P95, P99, WORST)] == [
        Margin(0.05), Margin(0.05), Margin(0.10), Margin(0.10),
    ]  # fmt: skip
    assert DEFAULTS.widest([IOPS, P99]) == Margin(0.10)


def test_the_given_margin_precedes_the_plans_and_that_the_users_default() -> None:
    every, one = Margins(0.03, kept={"iops": 0.2}), Margins(given={"iops": 0.02}, kept={"iops": 0.2})
    planned = replace(UNTIL, margin=0.07)
    assert every.of(IOPS, [planned]) == Margin(0.03, YOURS)
    assert replace(every, given={"iops": 0.02}).of(IOPS) == Margin(0.02, YOURS)
    assert one.of(IOPS, [planned]) == Margin(0.02, YOURS)
    kept = Margins(kept={"iops": 0.2})
    assert kept.of(IOPS, [planned, replace(UNTIL, margin=0.06)]) == Margin(0.07, PLANNED)
    assert kept.of(IOPS, [Repetition(margin=0.07), UNTIL]) == Margin(0.2, YOURS)  # a fixed number has no margin
    assert kept.of(P99) == Margin(0.10)


def test_a_run_freezes_the_users_defaults_where_its_plan_gives_no_margin() -> None:
    plan = replace(a_plan(), repetition=UNTIL)
    frozen = with_margins(plan, Margins(kept={"iops": 0.2, "latency_p99": 0.3}))
    later = Margins(kept={"iops": 0.01})
    assert later.of(IOPS, [frozen.repetition]) == Margin(0.2, PLANNED)
    assert later.of(WORST, [frozen.repetition]) == Margin(0.10)
    assert frozen.hash() != plan.hash()
    assert plan_from_json(plan_to_json(frozen)) == frozen
    given = replace(plan, repetition=replace(UNTIL, margin=0.03))
    assert (with_margins(given, later), with_margins(a_plan(), later)) == (given, a_plan())


def test_a_plan_without_a_margin_hashes_as_with_the_former_default() -> None:
    plan = replace(a_plan(), repetition=UNTIL)
    assert plan.hash() == replace(plan, repetition=replace(UNTIL, margin=0.05)).hash()
    assert plan.hash() != replace(plan, repetition=replace(UNTIL, margin=0.04)).hash()


@pytest.mark.parametrize("margin", [None, 0.0, 0.05, 0.2])
def test_a_plan_file_has_the_margin_that_was_given(margin: float | None) -> None:
    plan = validate(Plan("disk", ("web-1",), (make_step("fio", {}),), repetition=replace(UNTIL, margin=margin)))
    text = format_plan(plan)
    assert ("margin =" in text) == (margin is not None)
    assert parse_plan(text).repetition == plan.repetition
    assert plan_from_json(plan_to_json(plan)).repetition == plan.repetition


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((), DEFAULTS),
        (("3",), Margins(0.03)),
        (("latency_p99=10 %", "2.5", "iops = 1"), Margins(0.025, {"latency_p99": 0.1, "iops": 0.01})),
    ],
)
def test_margins_are_written_in_percent(words: tuple[str, ...], found: Margins) -> None:
    assert parse_margins(words) == found


@pytest.mark.parametrize("word", ["", "x", "101", "-1", "nan", "=3", "iops=", "iops=inf"])
def test_what_is_no_margin_is_refused(word: str) -> None:
    with pytest.raises(MarginError, match="is not a margin"):
        parse_margins([word])


@pytest.mark.parametrize("margins", [{"every": -0.1}, {"given": {"iops": 1.5}}, {"kept": {"iops": -1.0}}])
def test_a_margin_is_a_share_of_at_most_one(margins: dict[str, object]) -> None:
    with pytest.raises(MarginError, match="out of range"):
        Margins(**margins)  # type: ignore[arg-type]


@given(st.dictionaries(st.sampled_from(["iops", "latency_p99", "a.b", 'say "x"']), st.floats(0, 1), max_size=3))
def test_the_file_keeps_the_users_margins(tmp_path_factory: pytest.TempPathFactory, shares: dict[str, float]) -> None:
    saved = SavedMargins(tmp_path_factory.mktemp("margins") / "margins.toml")
    for metric, share in shares.items():
        saved.keep(metric, share)
    assert saved.read() == pytest.approx(shares, abs=1e-8)
    for metric in shares:
        saved.forget(metric)
    assert saved.read() == {}


def test_a_margin_that_is_not_there_cannot_be_forgotten_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "margins.toml"
    saved = SavedMargins(path)
    with pytest.raises(MarginError, match="no margin of yours"):
        saved.forget("iops")
    for metric, share in (("", 0.1), ("a=b", 0.1), ("a\nb", 0.1), ("iops", 2.0)):
        with pytest.raises(MarginError, match="is not a margin"):
            saved.keep(metric, share)
    assert not path.exists()
    for text in ("iops = 'five'", "iops = 200", "iops = true", "iops = nan", "["):
        path.write_text(text)
        with pytest.raises(MarginError, match=r"margins\.toml"):
            saved.read()


def test_a_run_until_a_verdict_and_its_comparison_have_one_margin() -> None:
    baseline = run_record("gold", (1000.0,) * 6)
    (step,) = baseline.plan.steps
    kept = Margins(kept={"iops": 0.2})
    for repetition, share in ((UNTIL, 0.2), (replace(UNTIL, margin=0.03), 0.03)):
        plan = with_margins(replace(baseline.plan, repetition=repetition), kept)
        make = verdict_rules(plan, baseline, baseline.facts_before)
        assert make is not None
        rule = make((step.name, "web-1"), IOPS, READ)
        assert isinstance(rule, UntilVerdict)
        assert rule.margin == share
        done = replace(run_record("new", (1010.0, 1020.0, 1030.0, 1000.0, 1015.0, 1012.0)), plan=plan)
        (row,) = compare([run_record("gold", (1000.0, 1001.0, 999.0, 1002.0, 998.0, 1000.0)), done]).rows
        assert (row.against[0].margin, row.against[0].origin) == (share, PLANNED)


def test_margins_are_printed_as_they_were_set() -> None:
    sides = [
        run_record("a", (1000.0, 1001.0, 999.0, 1002.0, 998.0, 1000.0)),
        run_record("b", (1001.0,) * 5 + (1000.0,)),
    ]
    found = compare(sides, Margins(0.0124))
    assert "1.24 %" in found.margin_text
    assert "1.24 %" in found.rows[0].against[0].text


def test_the_command_line_lists_sets_and_forgets_margins(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    stored(library, {"20261101-r": ("web-1", (1000.0, 1001.0))}).close()

    def printed(*words: str) -> str:
        result = CliRunner().invoke(benchwright, ["--store", str(library), "margins", *words])
        assert result.exit_code == 0, result.output
        return result.output

    assert printed("set", "iops", "3") == ""
    assert printed("set", "iopz", "4").startswith(MESSAGES["unknown_metric"])
    assert [json.loads(printed("--json"))["margins"][metric] for metric in ("iops", "iopz")] == [0.03, 0.04]
    assert "yours" in printed()
    printed("forget", "iopz")
    assert list(json.loads(printed("--json"))["margins"]) == ["iops"]


def test_margins_name_the_titles_of_their_metrics() -> None:
    worst = replace(P99, title="Latency, p99")
    both = []
    for name in "ab":
        run = run_record(name, (1000.0, 1001.0, 999.0))
        trials = (replace(each, figures=(*each.figures, Figure(worst, 5.0, READ))) for each in run.trials)
        both.append(replace(run, trials=tuple(trials)))

    text = compare(both).margin_text

    assert text.endswith(f"({worst.title})")
    assert worst.name not in text

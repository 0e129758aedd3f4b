"""Baselines: versions, groups and published tables; what has aged or comes from elsewhere says so."""

import json
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import Connection

from app.baselines.baselines import Baseline, BaselineError, built_in, pin, remarks, stored_baselines
from app.cli.main import benchwright
from app.comparison.joined import join
from app.comparison.verdicts import ComparisonVerdict
from app.events import FactsRead, Moment, RunEnded, RunStarted, State, VerdictReached
from app.plans.plan import PlanError, Policy, Repetition
from app.records import Band, RunRecord, split_name
from app.runs.policies import verdict_rules
from app.services import Workstation
from app.store import record_reader
from app.store.store import Store
from suites.errors import BenchwrightError
from suites.facts import Facts
from suites.registry import suite
from suites.units import same_dimension
from suites.verdict import Trust, Verdict
from suites.vocab import Figure
from tests.app import run_events
from tests.messages import messages

MESSAGES = messages("app", "test_baselines")

STORES = Path(__file__).parents[1] / "data" / "store"
BASE = (1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0)
TABLE = """
title = "Somebody's disk"
source = "a page"
doubts = ["units doubtful"]
measured = 2020-01-31
[universe]
kernel = "4.1.10"
[[figure]]
suite = "fio"
metric = "iops"
unit = "1/s"
value = 500.0
labels = { operation = "read" }
doubt = "an anomaly"
"""


def stored(path: Path, runs: Mapping[str, tuple[str, tuple[float, ...]]]) -> Workstation:
    """Return a workstation with runs by id: the host each is of, and the IOPS of its trials."""
    store = Store(path)
    for run_id, (host, values) in runs.items():
        plan = run_events.plan(hosts=(host,), trials=len(values))
        with store.recorder(run_id) as recorder:
            recorder.record(RunStarted(run_id, plan, datetime.now(UTC).isoformat()))
            recorder.record(FactsRead(host, Moment.BEFORE, run_events.facts(host)))
            for number, value in enumerate(values, 1):
                figures = [Figure(run_events.IOPS, value, run_events.READ)]
                for event in run_events.trial_events(run_events.trial(number, host=host), figures):
                    recorder.record(event)
            recorder.record(RunEnded(run_id, State.DONE))
    store.close()
    return Workstation(path, path.with_suffix(".toml"))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a file with a published table."""
    path = tmp_path / "somebody.toml"
    path.write_text(TABLE, encoding="utf-8")
    return path


def test_a_store_of_format_3_keeps_its_pins_as_first_versions(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(STORES / "format-3.sqlite3", path)
    (found,) = stored_baselines(Store(path))
    assert (found.name, found.version, found.kind, found.pinned) == ("before the upgrade", 1, "run", None)
    assert found.parts == (Store(path).load("before the upgrade").summary.id,)
    assert pin(Store(path), "before the upgrade", "before the upgrade") == 2


def bands_on(workstation: Workstation, host: str, facts: Facts | None = None) -> list[Band]:
    plan = replace(run_events.plan(), hosts=(host,))
    (found,) = workstation.bands(plan, {} if facts is None else {host: facts}).values()
    return found


def test_bands_read_each_run_once_and_judge_comparable_ones_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = {f"2026110{number}-a": (f"host-{number}", BASE) for number in range(1, 4)}
    with_runs = stored(tmp_path / "runs.sqlite3", runs)
    store, plan = with_runs._store, run_events.plan()
    with_runs.pin("20261101-a,20261102-a", "fleet")
    with_runs.pin("20261103-a", "one")
    store.computed.clear()
    loaded: list[str] = []
    read = record_reader.record

    def counted(connection: Connection, run: str) -> RunRecord:
        loaded.append(run)
        return read(connection, run)

    monkeypatch.setattr(record_reader, "record", counted)
    other = replace(run_events.STEP, values={**run_events.STEP.values, "block_size": 8192})
    assert with_runs.bands(replace(plan, steps=(other,)), {}) == {(other.name, "web-1"): []}
    assert sorted(loaded) == sorted(runs)
    assert store.computed == {}  # nothing was judged for a test that they do not measure
    hosts = tuple(f"web-{number}" for number in range(20))
    found = with_runs.bands(replace(plan, hosts=hosts), {})
    assert [[band.name for band in found[run_events.STEP.name, host]] for host in hosts] == [["one", "fleet"]] * 20
    assert set(store.computed) == set(runs)
    count = len(loaded)
    assert count <= 3 * len(runs)
    with_runs.bands(plan, {})
    assert len(loaded) == count + len(runs)
    with_runs.close()


def test_an_invalid_run_of_a_baseline_is_in_no_band(tmp_path: Path) -> None:
    runs = {f"2026110{number}-a": (f"host-{number}", BASE) for number in (1, 2)}
    with_runs = stored(tmp_path / "runs.sqlite3", runs)
    store = with_runs._store
    with store.recorder("20261103-a") as recorder:
        *begun, ended = run_events.run_events("20261103-a", [9e9] * 6)
        for event in begun:
            recorder.record(event)
        recorder.record(VerdictReached(Verdict(Trust.INVALID, None, "", (), run_events.STEP.name, "web-1")))
        recorder.record(ended)
    with_runs.pin(",".join((*runs, "20261103-a")), "fleet", accept_invalid=True)
    found = {band.metric: band for band in bands_on(with_runs, "another")}
    assert found["iops"].high < 9e9
    assert "invalid" in found["iops"].note
    with_runs.close()


def test_a_group_is_a_baseline_whose_hosts_weigh_alike(tmp_path: Path) -> None:
    runs = {f"2026110{number}-a": (f"host-{number}", (100.0 * number,) * number) for number in range(1, 6)}
    with_runs = stored(tmp_path / "runs.sqlite3", runs)
    with_runs.pin(",".join(runs), "fleet")
    (band,) = bands_on(with_runs, "another")
    assert (band.low, band.median, band.high) == (200.0, 300.0, 400.0)
    assert band.figure == pytest.approx(260.517, abs=1e-3)  # the mean of the hosts
    (own,) = bands_on(with_runs, "host-5")
    assert own.median == 500.0
    baseline = with_runs.baseline("fleet")
    assert (baseline.kind, baseline.size) == ("group", 5)
    with closing(sqlite3.connect(tmp_path / "runs.sqlite3")) as connection:  # as versions before locks could
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("DELETE FROM runs WHERE id = '20261101-a'")
        connection.commit()
    assert list(remarks(with_runs.baseline("fleet"))) == [MESSAGES["1_of_its_5_runs_were_deleted"]]
    with pytest.raises(BenchwrightError, match="not a single run"):
        with_runs.load("fleet")
    with_runs.close()


def test_compare_takes_a_version_of_a_baseline_as_a_side(tmp_path: Path) -> None:
    runs = {"20261101-a": ("web-1", BASE), "20261102-b": ("web-1", BASE), "20261103-c": ("web-1", BASE)}
    with_runs = stored(tmp_path / "runs.sqlite3", runs)
    with_runs.pin("20261101-a", "gold")
    with_runs.pin("20261101-a,20261102-b", "gold")
    comparison = with_runs.compare(["baseline:gold", "20261103-c"])
    assert comparison.runs[0].id == "20261101-a,20261102-b"
    assert comparison.notes[0] == MESSAGES["baseline_gold_version_2_2"]
    old = with_runs.compare(["baseline:gold@1", "20261103-c"])
    assert old.runs[0].id == "20261101-a"
    assert old.notes[0].endswith(MESSAGES["version_1_not_the_newest"])
    with pytest.raises(BaselineError, match="no baseline “gold@3”"):
        with_runs.compare(["baseline:gold@3", "20261103-c"])
    with_runs.close()


def test_a_group_is_named_as_a_run_is_and_settles_no_plan(tmp_path: Path) -> None:
    runs = {"20261101-a": ("web-1", BASE), "20261102-b": ("web-1", BASE), "20261103-c": ("web-1", BASE)}
    with_runs = stored(tmp_path / "runs.sqlite3", runs)
    with_runs.pin("20261101-a,20261102-b", "fleet")
    with_runs.pin("20261101-a", "alone")
    assert with_runs.compare(["fleet", "20261103-c"]).runs[0].id == "20261101-a,20261102-b"
    assert len(with_runs.joined_record("fleet").trials) == 2 * len(BASE)
    repetition = Repetition(policy=Policy.UNTIL_VERDICT, baseline="alone")
    waited_for = with_runs.stopping_baseline(replace(run_events.plan(), repetition=repetition))
    assert waited_for is not None
    assert len(waited_for.trials) == len(BASE)
    fleet = replace(repetition, baseline="fleet")
    with pytest.raises(PlanError, match="has 2 sessions"):  # a session has one value beside them
        with_runs.stopping_baseline(replace(run_events.plan(), repetition=fleet))
    table = replace(repetition, baseline="t2-micro-cpu")
    with pytest.raises(BenchwrightError, match="is a published table"):
        with_runs.stopping_baseline(replace(run_events.plan(), repetition=table))
    with_runs.close()


def test_a_part_of_a_run_is_named_as_a_run_is_too(tmp_path: Path) -> None:
    with_runs = stored(tmp_path / "runs.sqlite3", {"20261101-a": ("web-1", BASE), "20261102-b": ("web-1", BASE)})
    with_runs.pin("20261101-a@web-1", "part")
    assert [run.id for run in with_runs.compare(["part", "20261102-b"]).runs] == ["20261101-a", "20261102-b"]
    repetition = Repetition(policy=Policy.UNTIL_VERDICT, baseline="part")
    waited_for = with_runs.stopping_baseline(replace(run_events.plan(), repetition=repetition))
    assert waited_for is not None
    assert len(waited_for.trials) == len(BASE)
    with_runs.close()


def test_a_plan_that_waits_for_a_verdict_on_hosts_is_told_that_trials_settle_none() -> None:
    hosts = [run_events.run_record(f"2026110{number}-a", BASE, host=f"web-{number}") for number in (1, 2, 3)]
    (baseline, _) = join(hosts, {run.summary.id: {} for run in hosts})
    repetition = Repetition(policy=Policy.UNTIL_VERDICT, baseline="fleet", minimum=6)
    same, other = (
        verdict_rules(replace(run_events.plan(hosts=(host,)), repetition=repetition), baseline, {})
        for host in ("web-2", "db-1")
    )
    assert same is not None
    assert same(("random read", "web-2"), run_events.IOPS, run_events.READ).decide(BASE).settled
    assert other is not None
    decision = other(("random read", "db-1"), run_events.IOPS, run_events.READ).decide([1.3 * value for value in BASE])
    assert (decision.stop, decision.settled) == (True, False)
    assert decision.reason.endswith(MESSAGES["no_verdict_can_come_it_rests"])


def test_every_built_in_figure_answers_to_a_metric_and_labels_of_its_suite() -> None:
    made: dict[str, set[tuple[str, ...]]] = {
        "compute": {("threads",)},
        "memory-blocks": {("block", "operation", "pattern", "threads")},
        "net-blocks": {("buffer", "direction", "protocol", "threads"), ("buffer", "protocol", "threads")},
        "iperf3": {("direction", "end"), ("direction",)},
    }
    for one in built_in():
        assert one.reference is not None
        for figure in one.reference.figures:
            metric = next(metric for metric in suite(figure.suite).metrics if metric.name == figure.metric)
            assert same_dimension(metric.unit, figure.unit)
            assert tuple(name for name, _ in figure.labels) in made[figure.suite]


@pytest.mark.parametrize("first", [True, False])
def test_a_published_table_gives_a_ratio_and_never_a_verdict(tmp_path: Path, table: Path, *, first: bool) -> None:
    with_runs = stored(tmp_path / "runs.sqlite3", {"20261101-a": ("web-1", BASE)})
    assert with_runs.import_baseline(table).version == 1
    words = ["baseline:somebody", "20261101-a"]
    (row,) = with_runs.compare(words if first else words[::-1]).rows
    (against,) = row.against
    assert against.verdict is ComparisonVerdict.UNDECIDED
    assert against.text == f"reference, no spread known: ratio only, {'2.00' if first else '0.50'}x"
    assert (against.low, against.high, against.p, against.more) == (None, None, None, None)
    assert [caveat.text for caveat in against.caveats] == ["an anomaly", "source: a page", "units doubtful"]
    assert {"kernel"} <= {each.what for each in against.differences}
    with_runs.close()


def test_a_published_table_is_a_band_that_tells_what_is_wrong_with_it(tmp_path: Path, table: Path) -> None:
    with_runs = stored(tmp_path / "runs.sqlite3", {"20261101-a": ("web-1", BASE)})
    with_runs.import_baseline(table)
    (band,) = bands_on(with_runs, "web-1", run_events.facts("web-1"))
    assert (band.low, band.median, band.high, band.reference) == (500.0, 500.0, 500.0, True)
    assert band.note.startswith("too old: measured ")
    assert band.note.endswith(MESSAGES["reference_no_spread_known"])
    with_runs.close()


def test_a_band_tells_that_the_kernel_is_another(tmp_path: Path) -> None:
    with_runs = stored(tmp_path / "runs.sqlite3", {"20261101-a": ("web-1", BASE)})
    with_runs.pin("20261101-a", "gold")
    (same,) = bands_on(with_runs, "web-1", run_events.facts("web-1"))
    (other,) = bands_on(with_runs, "web-2", run_events.facts("web-2", kernel="7.0"))
    assert (same.note, other.note) == ("", MESSAGES["another_universe_kernel_6_1"])
    assert other.label == MESSAGES["gold_another_universe_kernel"]
    with_runs.close()


def test_age_is_told_against_the_limit_it_was_pinned_with() -> None:
    now = datetime(2026, 11, 20, tzinfo=UTC)
    baseline = Baseline("gold", 1, None, ("a",), 1, measured=(now - timedelta(days=91)).isoformat())
    assert list(remarks(baseline, now)) == [MESSAGES["too_old_measured_91_d_ago"]]
    assert list(remarks(replace(baseline, oldest=92 * 86400.0), now)) == []
    assert list(remarks(replace(baseline, measured=""), now)) == []


def test_a_word_is_split_at_a_version_and_nowhere_else() -> None:
    assert split_name("baseline:gold@12") == ("gold", 12)
    assert split_name("gold@web-1") == ("gold@web-1", None)
    assert split_name("gold") == ("gold", None)


def test_the_built_in_tables_are_there_with_source_and_doubts(tmp_path: Path) -> None:
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    names = [one.name for one in workstation.baselines() if one.built_in]
    assert names == ["t2-micro-cpu", "t2-micro-iperf3", "t2-micro-memory", "t2-micro-network"]
    for name in names:
        table = workstation.baseline(name).reference
        assert table is not None
        assert table.source
        assert table.doubts
    with pytest.raises(BenchwrightError, match="No baseline"):
        workstation.unpin("t2-micro-cpu")
    assert workstation.pin("baseline:t2-micro-cpu", "cpu") == 1
    assert workstation.baseline("cpu").reference == workstation.baseline("t2-micro-cpu").reference
    workstation.close()


def test_an_interval_of_two_trials_far_apart_is_a_factor(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    stored(path, {"20261101-a": ("web-1", (100.0, 900.0))}).close()
    shown = CliRunner().invoke(benchwright, ["--store", str(path), "show", "last"]).output
    assert "×/÷ over 1,000" in shown


def test_the_command_line_pins_lists_shows_and_removes(tmp_path: Path, table: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    stored(path, {"20261101-a": ("web-1", BASE), "20261102-b": ("web-1", BASE)}).close()

    def shown(*words: str) -> str:
        result = CliRunner().invoke(benchwright, ["--store", str(path), "baseline", *words])
        assert result.exit_code == 0, result.output
        return result.output

    shown("pin", "20261101-a,20261102-b@web-1", "gold", "--max-age", "1")
    pinned = json.loads(shown("show", "gold", "--json"))
    assert (pinned["kind"], pinned["runs"], pinned["max_age"]) == ("group", ["20261101-a", "20261102-b@web-1"], 86400)
    assert MESSAGES["pinned_other_version_1_1"] in shown("import", str(table), "--name", "other")
    assert [one["name"] for one in json.loads(shown("list", "--json"))][:2] == ["other", "gold"]
    assert "units doubtful" in shown("show", "other")
    shown("remove", "gold")
    assert "gold" not in shown("list")

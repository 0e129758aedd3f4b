"""The library as rows: summaries that are written with a run, annotations, the bin, searches; and their verbs."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.events import Event, RunEnded, RunStarted, State
from app.history import HistoryQuery
from app.library_rows import NO_ANNOTATION, Annotation, row_to_json
from app.library_table import (
    COLUMNS,
    GROUPINGS,
    columns_of,
    differing_parameters,
    grouped,
    metric_column,
    sorted_rows,
)
from app.plans.plan_remarks import Acknowledged
from app.records import RunSummary
from app.services import Workstation
from app.store.errors import StoreError
from app.store.store import Store
from suites.errors import BenchwrightError
from suites.vocab import Figure
from tests.app import run_events
from tests.app.stores import RUN, any_store, execute, postgresql, record, store_in_both
from tests.perf.large_library import make_library
from tests.program import Ran, benchwright

__all__ = ["any_store", "postgresql", "store_in_both"]

STORES = Path(__file__).parents[1] / "data" / "store"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("list") / "runs.sqlite3"
    make_library(path, 14, recorded=10)
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "runs.sqlite3"))


@pytest.fixture
def workstation(path: Path) -> Iterator[Workstation]:
    opened = Workstation(path)
    yield opened
    opened.close()


def test_a_pipe_has_one_line_for_each_run(path: Path) -> None:
    names = "started,name,host,type,suite,step,headline,half,trials,verdict,limit,kernel,duration,tag,baseline"
    lines = benchwright("--store", path, "list", "--columns", names).out.splitlines()
    assert len(lines) == 16
    assert len({line.split()[0] for line in lines[2:]}) == 14


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (("-host:web-1",), "host!=web-1"),
        (("-web-1", "--sort", "-started"), "-host=web-1"),
        (("--json", "-tag:before"), "tag!=before"),
        (("--", "-tag:before"), "-tag:before"),
    ],
)
def test_a_negated_term_is_no_option(path: Path, words: tuple[str, ...], same: str) -> None:
    found = benchwright("--store", path, "list", *words).out
    with closing(Workstation(path)) as opened:
        wanted = {row.id for row in opened.matching(same)[1]}
    assert 0 < len(wanted) < 14
    assert all((row.id in found) == (row.id in wanted) for row in Store(path).library().rows)


def test_an_unknown_option_is_refused(path: Path) -> None:
    refused = benchwright("--store", path, "list", "--serach", "x")
    assert (refused.status, "--search" in refused.err) == (2, True)


def test_a_row_has_what_the_run_measured(store: Store) -> None:
    record(store, RUN, run_events.run_events(RUN, (1000.0, 1100.0, 1050.0)))
    (row,) = store.library().rows
    assert row.summary == store.load(RUN).summary
    assert (row.instance, row.kernel, row.metric) == ("c7i.2xlarge", "6.1.0", run_events.IOPS)
    assert row.value == pytest.approx(1049.2, abs=0.1)
    assert row.half == pytest.approx(131.8, abs=1)
    assert (row.errors, row.warnings, row.summary.trials) == (0, 1, 3)
    assert row.configurations[0].values["rw"].text == "randread"
    assert store.metric_values("latency_p99")[RUN][0] == pytest.approx(1e8 / 1049.2, rel=1e-3)
    store.change_acknowledged(RUN, lambda plan: replace(plan, acknowledged=(Acknowledged("page-cache", "known"),)))
    assert store.library().rows[0].warnings == 0


def test_the_trials_of_a_row_are_those_of_its_headline(store: Store) -> None:
    second = replace(run_events.STEP, name="random write")
    _, *events, ended = run_events.run_events(RUN, (1000.0, 1100.0))
    later = run_events.trial_events(replace(run_events.trial(3), step=second.name), [], [])
    started = RunStarted(RUN, run_events.plan(run_events.STEP, second, trials=2), "2026-11-20T14:15:30+00:00")
    record(store, RUN, [started, *events, *later, ended])
    (row,) = store.library().rows
    assert (row.summary.trials, row.trials, row_to_json(row)["trials"]) == (3, 2, 2)
    assert [one.text(row) for one in COLUMNS if one.name == "trials"] == ["2"]


def test_the_first_step_with_a_figure_has_the_headline(store: Store) -> None:
    second = replace(run_events.STEP, name="random write")

    def failed() -> Iterator[Event]:
        return run_events.trial_events(run_events.trial(1), [], state=State.FAILED)

    figures = [Figure(run_events.IOPS, 528.0)]
    good = run_events.trial_events(replace(run_events.trial(2), step=second.name, host="web-2"), figures)
    plan = run_events.plan(run_events.STEP, second, hosts=("web-1", "web-2"))
    other = f"{RUN}x"
    record(store, RUN, [RunStarted(RUN, plan, "2026-11-20T14:15:30+00:00"), *failed(), RunEnded(RUN, State.FAILED)])
    (row,) = store.library().rows
    assert (row.headline, row.trials) == ("", 0)
    started = RunStarted(other, plan, "2026-11-20T15:15:30+00:00")
    record(store, other, [started, *failed(), *good, RunEnded(other, State.PARTIAL)])
    row = store.library().rows[0]
    text = "528 IOPS (random write on web-2)"
    assert (row.headline, row.trials, row.value, row_to_json(row)["headline"]) == (text, 1, 528.0, text)
    assert store.load(other).summary.headline == text


def test_a_headline_with_others_beside_it_names_its_point(store: Store) -> None:
    figures = [Figure(run_events.IOPS, 100.0 * n, (("jobs", str(n)),)) for n in (1, 2)]
    events = run_events.trial_events(run_events.trial(1), figures)
    started = RunStarted(RUN, run_events.plan(), "2026-11-20T14:15:30+00:00")
    record(store, RUN, [started, *events, RunEnded(RUN, State.DONE)])
    assert store.library().rows[0].headline == "100 IOPS (jobs 1)"


def test_a_run_under_way_is_listed_with_its_plan(store: Store) -> None:
    with store.recorder(RUN) as recorder:
        recorder.record(RunStarted(RUN, run_events.plan(), "2026-11-20T14:15:30+00:00"))
        (row,) = store.library().rows
        assert (row.summary.status, row.summary.suites) == ("running", ("fio",))
        with pytest.raises(StoreError):
            store.annotate({RUN: Annotation(binned="2026-11-21")})
        store.annotate({RUN: Annotation("mine")})
        assert store.runs()[0].name == "mine"


def listed(store: Store) -> list[RunSummary]:
    """Return the runs without what only a summary has, and without the digits of the headline."""
    return [replace(run, suites=(), headline=run.headline.split(" ")[-1]) for run in store.runs()]


@pytest.mark.parametrize("number", range(1, 14))
def test_runs_of_older_formats_are_listed_at_once_and_completed(tmp_path: Path, number: int) -> None:
    store = Store(Path(shutil.copy(STORES / f"format-{number}.sqlite3", tmp_path / "runs.sqlite3")))
    before, found = listed(store), store.library()
    assert found.missing == len(found.rows) == len(before) > 0
    assert list(store.complete_summaries())[-1] == (found.missing, found.missing)
    after = store.library()
    assert after.missing == 0
    assert listed(store) == before
    assert all(row.configurations for row in after.rows)
    assert list(store.complete_summaries()) == []
    store.close()


def test_a_damaged_run_is_listed(store: Store) -> None:
    record(store, RUN, run_events.run_events(RUN))
    store.close()
    execute(store, "UPDATE runs SET plan = 'nothing'")
    execute(store, "DELETE FROM run_summaries")
    assert list(store.complete_summaries()) == [(1, 1)]
    assert [(row.id, row.value) for row in store.library().rows] == [(RUN, None)]


def test_what_was_deleted_is_in_the_bin_until_it_is_restored(workstation: Workstation) -> None:
    run = workstation.load("last").summary.id
    before = workstation.annotate({run: Annotation("kept", "a note", ("old",), "2026-11-21")})
    assert run not in {one.id for one in workstation.runs()}
    assert workstation.load("last").summary.id != run
    query = HistoryQuery(workstation.load(run).summary.hosts, "iops")
    assert run not in {point.run for point in workstation.history(query).points}
    assert [row.summary.name for row in workstation.matching("bin:yes name=kept")[1]] == ["kept"]
    assert workstation.load(run).summary.name == "kept"
    assert [row.id for row in workstation.matching("bin:yes tag:old note:note")[1]] == [run]
    workstation.annotate(before)
    assert workstation.load("last").summary.id == run
    with pytest.raises(StoreError):
        workstation.annotate({"nothing": Annotation("x")})


@pytest.mark.parametrize(
    "wrong", [Annotation("a\0b"), Annotation(note="\x1b[2J"), Annotation("x" * 501), Annotation(note="x" * 65_537),
              Annotation(tags=("x" * 61,)), Annotation(tags=("\x9b",)), Annotation(tags=tuple(map(str, range(101))))]
)  # fmt: skip
def test_annotations_are_bounded_text_and_old_ones_stay(workstation: Workstation, wrong: Annotation) -> None:
    run = workstation.load("last").summary.id
    good = Annotation("n\u200dm", "line\n\tline", ("tag",))
    workstation.annotate({run: good})
    with pytest.raises(StoreError, match="nothing was stored"):
        workstation.annotate({run: wrong})
    assert workstation.annotate({run: NO_ANNOTATION}) == {run: good}
    with workstation._store.database.writing() as connection:  # as by an older version
        connection.exec_driver_sql("INSERT INTO annotations (run_id, name, note, tags) VALUES (?, ?, ?, ?)",
                                   (run, wrong.name, wrong.note, json.dumps(wrong.tags)))  # fmt: skip
    workstation.annotate({run: replace(wrong, binned="2026-01-01")})
    assert workstation.annotate({run: wrong}) == {run: replace(wrong, binned="2026-01-01")}


def test_names_of_searches_and_reasons_of_locks_are_one_line_of_text(workstation: Workstation) -> None:
    run = workstation.load("last").summary.id
    for wrong in ("a\0b", "x" * 501):
        with pytest.raises(BenchwrightError, match="nothing was stored"):
            workstation.save_search(wrong, "host:web")
        with pytest.raises(BenchwrightError, match="nothing was stored"):
            workstation.lock([run], wrong)
    assert dict(workstation.library().searches) == {}


def test_columns_groups_and_differences(workstation: Workstation) -> None:
    library = workstation.library()
    rows = library.rows
    iops, depth, mode = columns_of(["iops", "iodepth", "rw"], library, workstation.metric_values)
    assert (iops.unit, {depth.text(row) for row in rows}) == ("k IOPS", {"1", "4"})
    assert {mode.text(row) for row in rows} == {"randread"}
    values = [
        row.value
        for row in sorted_rows(rows, columns_of(["headline"], library, workstation.metric_values)[0], descending=True)
    ]
    assert values == sorted(values, key=lambda value: -(value or 0))
    assert metric_column(library.metrics["iops"], {}).text(rows[0]) == ""
    assert metric_column(library.metrics["iops"], {}).title == library.metrics["iops"].title
    for by in GROUPINGS:
        assert sum(len(group.rows) for group in grouped(rows, by)) == len(rows)
    assert [group.title for group in grouped(rows, "series")] == ["no series"]
    assert "IOPS" in grouped(rows, "host")[0].span
    assert differing_parameters(rows) == [("iodepth", "iodepth")]
    like = workstation.matching(f"like:{rows[0].id}")[1]
    assert {row.summary.hosts for row in like} > {rows[0].summary.hosts}
    assert {row.fingerprints for row in like} == {rows[0].fingerprints}
    assert all(column.text(row) is not None and column.key(row) for column in COLUMNS for row in rows)
    with pytest.raises(BenchwrightError):
        columns_of(["nothing"], library, workstation.metric_values)


def run(path: Path, *words: str, status: int = 0) -> Ran:
    found = benchwright("--store", path, *words)
    assert found.status == status, found.err
    return found


def listed_ids(path: Path, *words: str) -> list[str]:
    return [one["id"] for one in run(path, "list", *words, "--json").json]


@pytest.mark.slow
def test_the_verbs_of_a_list(path: Path) -> None:
    every = listed_ids(path)
    table = run(path, "list", "host:web-1", "--columns", "host,iodepth,iops", "--group", "host", "--sort", "-iops").out
    assert "web-1: 3 runs" in table
    assert "iodepth" in table
    assert "iodepth" in run(path, "list", "--differences", "--columns", "name").out
    assert 0 < len(listed_ids(path, "--like", every[0])) < len(every)
    run(path, "annotate", every[0], every[1], "--tag", "before kernel", "--name", "mine")
    run(path, "searches", "mine", 'tag:"before kernel"')
    assert listed_ids(path, "--search", "mine") == every[:2]
    run(path, "delete", every[0])
    assert listed_ids(path, "--search", "mine") == every[1:2]
    assert listed_ids(path, "bin:yes") == every[:1]
    run(path, "restore", every[0])
    run(path, "annotate", every[0], "--untag", "before kernel", "--note", "second attempt")
    assert listed_ids(path, "note:second") == every[:1]
    run(path, "delete", every[0], "--for-good", "--yes")
    assert listed_ids(path) == every[1:]
    run(path, "searches", "mine", "--delete")
    assert run(path, "searches", "--json").json == {}


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("list", "iodept>3"), "iodepth?"),
        (("list", "--columns", "iodept"), "iodept"),
        (("list", "--search", "none"), "none"),
        (("searches", "one"), "filter"),
        (("searches", "one", "iodept>3"), "iodepth?"),
        (("annotate", "last", "--tag", "a,b"), "a,b"),
    ],
)
def test_bad_input_changes_nothing(path: Path, words: tuple[str, ...], fault: str) -> None:
    assert fault in run(path, *words, status=2).err

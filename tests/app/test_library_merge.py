"""Two libraries of one user become one: what is missing is added, what differs is named, nothing is changed."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.library_rows import Annotation
from app.plans.plan_remarks import Acknowledged
from app.services import Workstation
from app.store.errors import FREE_SPACE, StoreError, no_space
from app.store.library_merge import Merged
from app.store.retention import Deleted
from app.store.run_transfer import Imported
from tests.app.test_calibration import calibration
from tests.app.test_run_transfer import change, content
from tests.messages import messages
from tests.program import DONE, FAILED, benchwright
from tests.widgets.library_runs import FINDING, Made, record

MESSAGES = messages("app-store", "test_library_merge")
FIRST = Made("20260101-000000-0001", iops=(1000.0, 1010.0), samples=3, output=b"\x00raw \xff")
SECOND = Made("20260102-000000-0002", iops=(900.0, 905.0), samples=3, host="web-10")
OWN = Made("20260103-000000-0003", iops=(1.0,), samples=2)


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Workstation]:
    made = Workstation(tmp_path / "other.sqlite3", tmp_path / "other" / "hosts.toml")
    record(made, FIRST, SECOND)
    made.pin(FIRST.run_id, "nightly")
    made.pin(f"{FIRST.run_id},{SECOND.run_id}", "nightly", 86400.0)
    made.save_search("fast", "iops>1k")
    made._store.keep_calibration(calibration())
    made.saved_margins.keep("iops", 0.05)
    yield made
    made.close()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Workstation]:
    made = Workstation(tmp_path / "own.sqlite3", tmp_path / "own" / "hosts.toml")
    record(made, OWN)
    yield made
    made.close()


def merged(own: Workstation, path: Path, margins: Path | None = None) -> Merged:
    *_, last = own.merge_library(path, margins)
    return last


def test_what_is_missing_is_added_once(own: Workstation, other: Workstation, tmp_path: Path) -> None:
    path, before = tmp_path / "other.sqlite3", content(own, OWN.run_id)
    found = merged(own, path)
    assert found.whole
    assert set(found.runs.runs) == {FIRST.run_id, SECOND.run_id}
    assert found.added == ("baseline nightly@1", "baseline nightly@2", "1 calibration", "search fast")
    # The baseline's name is one of the run's row.
    for run in (FIRST.run_id, SECOND.run_id):
        assert content(own, run) == content(other, run)
    assert content(own, OWN.run_id) == before
    stored = [(one.name, one.version, one.parts, one.oldest) for one in own.baselines() if not one.built_in]
    assert stored == [(one.name, one.version, one.parts, one.oldest) for one in other.baselines() if not one.built_in]
    assert own.calibrations() == other.calibrations()
    assert own.library().searches == {"fast": "iops>1k"}
    again = merged(own, path)
    assert (again.whole, again.runs.runs, again.added, again.refused) == (True, (), (), ())
    assert len(own.calibrations()) == 1


def test_what_differs_is_named_and_unchanged(own: Workstation, other: Workstation, tmp_path: Path) -> None:
    record(own, Made(FIRST.run_id, iops=(5.0, 6.0), samples=3))
    own.pin(OWN.run_id, "nightly")
    own.save_search("fast", "iops>2k")
    own.saved_margins.keep("iops", 0.1)
    other.saved_margins.keep("bandwidth", 0.02)
    before = content(own, FIRST.run_id)
    found = merged(own, tmp_path / "other.sqlite3", tmp_path / "other" / "margins.toml")
    assert not found.whole
    assert found.runs.runs == (SECOND.run_id,)
    assert [run for run, _ in found.runs.refused] == [FIRST.run_id]
    assert found.refused == (
        MESSAGES["baseline_differs"],
        MESSAGES["search_differs"],
        MESSAGES["margin_differs"],
    )
    assert found.added == ("1 calibration", "margin bandwidth = 2 %")
    assert content(own, FIRST.run_id) == before
    assert own.library().searches == {"fast": "iops>2k"}
    assert own.saved_margins.read() == {"iops": 0.1, "bandwidth": 0.02}
    assert [(one.version, one.parts) for one in own.baselines() if one.name == "nightly"] == [(1, (OWN.run_id,))]


def test_what_the_user_added_to_a_run_of_both_is_added_or_named(
    own: Workstation, other: Workstation, tmp_path: Path
) -> None:
    third = Made("20260104-000000-0004", iops=(3.0,), samples=2)
    for each in (own, other):
        record(each, *([FIRST, SECOND] if each is own else []), third)
    other.annotate(
        {
            FIRST.run_id: Annotation("there", "an hour of work", ("cold", "there")),
            SECOND.run_id: Annotation("there", "an hour of work", ("cold",)),
            third.run_id: Annotation(binned="2026-01-05T00:00:00+00:00"),
        }
    )
    other.lock([FIRST.run_id, SECOND.run_id], "there")
    for each, run, reason in ((other, FIRST, "there"), (other, SECOND, "there"), (own, FIRST, "here")):
        each.acknowledge(run.run_id, [Acknowledged(FINDING.id, reason)])
    mine = Annotation("here", "mine", ("cold", "here"))
    own.annotate({FIRST.run_id: mine})
    own.lock([FIRST.run_id], "here")
    verbs = ("library", "merge"), ("import",)
    for words in verbs:
        done = benchwright("--store", tmp_path / "own.sqlite3", *words, tmp_path / "other.sqlite3")
        assert done.status == FAILED
        for differing in (
            f"{FIRST.run_id}: Differs in name, note, lock, acknowledgements:",
            f"{third.run_id}: Differs in bin (only there):",
        ):
            assert differing in done.out
        added = f"name, note, tags, lock, acknowledgements of {SECOND.run_id}, tags of {FIRST.run_id}"
        assert (added in done.out) is (words == verbs[0])
        rows = {row.id: row for row in own.library().rows}
        assert rows[FIRST.run_id].annotation == replace(mine, tags=("cold", "here", "there"))
        assert rows[SECOND.run_id].annotation == Annotation("there", "an hour of work", ("cold",))
        assert (rows[FIRST.run_id].lock, rows[SECOND.run_id].lock) == ("here", "there")
        assert not rows[third.run_id].binned
        reasons = [own.load(run.run_id).plan.acknowledged[0].reason for run in (FIRST, SECOND)]
        assert reasons == ["here", "there"]
    other.annotate({each: Annotation() for each in (FIRST.run_id, third.run_id)})
    other.unlock([FIRST.run_id])
    other.acknowledge(FIRST.run_id, [Acknowledged(FINDING.id, "")])
    assert merged(own, tmp_path / "other.sqlite3").runs.whole  # what is only here stays and is no difference
    assert {row.id: row for row in own.library().rows} == rows


def test_each_run_that_is_not_copied_is_named_with_what_to_do(own: Workstation, other: Workstation) -> None:
    refused = tuple((f"run-{number}", str(no_space("small.sqlite3"))) for number in range(13))
    found = Imported(14, ("run-13",), refused=(*refused, ("run-14", "Another reason.")), verb="copied")
    whole = Merged(found, finished=True).text
    assert all(f"run-{number}" in whole for number in (*range(13), 14))
    assert whole.count(FREE_SPACE) == 1
    assert f"run-0, run-1, run-2 and 10 more: {no_space('small.sqlite3')}" in found.text  # in the window
    assert "run-12" in Deleted(13, refused=refused).text


def test_a_baseline_whose_run_is_refused_is_refused(own: Workstation, other: Workstation, tmp_path: Path) -> None:
    other.close()
    change(tmp_path / "other.sqlite3", f"UPDATE figures SET value = 'x' WHERE run_id = '{SECOND.run_id}'")
    found = merged(own, tmp_path / "other.sqlite3")
    assert found.runs.runs == (FIRST.run_id,)
    assert found.refused == (f"baseline nightly: its run {SECOND.run_id} is not in this library",)
    assert not [one for one in own.baselines() if not one.built_in]


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE baselines SET reference = '{\"figure\": 3}'", "baseline nightly: malformed"),
        ("UPDATE baselines SET oldest = 'long ago'", "baseline nightly: malformed"),
        ("UPDATE calibrations SET content = '[]'", "calibrations: one is malformed"),
        ("UPDATE saved_searches SET search = 'a='", "search fast"),
        (
            "INSERT INTO session_series (id, plan, created) VALUES ('sabcde', '{}', '2026-01-01T00:00:00+00:00')",
            "session series sabcde: malformed",
        ),
    ],
)
def test_what_is_malformed_is_named_and_left_out(
    own: Workstation, other: Workstation, tmp_path: Path, statement: str, named: str
) -> None:
    other.close()
    change(tmp_path / "other.sqlite3", statement)
    found = merged(own, tmp_path / "other.sqlite3")
    (refused,) = found.refused
    assert refused.startswith(named)
    assert len(found.runs.runs) == 2
    own.baselines()
    own.calibrations()


def test_an_interrupted_merge_has_whole_runs_and_says_what_is_missing(
    own: Workstation, other: Workstation, tmp_path: Path
) -> None:
    merging = own.merge_library(tmp_path / "other.sqlite3")
    reached = next(one for one in merging if one.done == 1)
    merging.close()
    assert not reached.whole
    assert "Cancelled: 1 of 2 left." in reached.text
    assert "not merged" in reached.text
    (run,) = reached.runs.runs
    assert own.samples(run) == other.samples(run)
    assert {one.id for one in own.runs()} == {OWN.run_id, run}
    assert own.library().searches == {}
    assert merged(own, tmp_path / "other.sqlite3").whole


def test_the_command_merges_and_names_conflicts(own: Workstation, other: Workstation, tmp_path: Path) -> None:
    words = ("--store", tmp_path / "own.sqlite3", "library", "merge", tmp_path / "other.sqlite3")
    own.save_search("fast", "iops>2k")
    done = benchwright(*words)
    assert done.status == FAILED
    assert f"Not merged: {MESSAGES['search_differs']}." in done.out
    own.save_search("fast", "")
    assert (merging := benchwright(*words)).status == DONE
    assert merging.out.startswith("Merged 0 runs.")
    copied = benchwright("store", "copy", str(tmp_path / "other.sqlite3"), str(tmp_path / "copy.sqlite3"))
    assert copied.out.startswith("Copied 2 runs.")
    assert json.loads(benchwright(*words, "--json").out)["added"] == []
    missing = benchwright(*words, "--margins", tmp_path / "none.toml")
    assert "none.toml" in missing.err
    with pytest.raises(StoreError):
        merged(own, tmp_path / "none.sqlite3")

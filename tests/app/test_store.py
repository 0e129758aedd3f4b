"""The library gives back what was recorded, byte for byte, and says what it cannot."""

import json
import re
import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from app.baselines.baselines import BaselineError, bands, pin, stored_baselines
from app.events import (
    Event,
    FactsRead,
    FindingRaised,
    Moment,
    OutputRead,
    RunEnded,
    RunStarted,
    SampleRead,
    State,
    TrialEnded,
    TrialStarted,
)
from app.store.errors import StoreError
from app.store.ownership import new_run_id
from app.store.recorder import COMMIT_INTERVAL
from app.store.store import Store
from suites.outputs import ParsedTrial
from suites.vocab import Figure, Sample
from tests.app import run_events
from tests.app.run_events import IOPS, P99, READ
from tests.app.stores import RUN, any_store, execute, in_a_file, postgresql, record, store_in_both
from tests.messages import messages

MESSAGES = messages("app-store", "test_store")

__all__ = ["any_store", "postgresql", "store_in_both"]  # a fixture


def test_nothing_is_opened_before_first_use(tmp_path: Path) -> None:
    Store(tmp_path / "data" / "runs.sqlite3")
    assert not (tmp_path / "data").exists()


@in_a_file
def test_only_its_user_can_read_it(store: Store) -> None:
    assert store.runs() == []
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


def test_a_run_comes_back_as_it_was_recorded(store: Store) -> None:
    events = list(run_events.run_events(RUN, (1000.0, 1100.0, 1200.0)))
    record(store, RUN, events)
    found = store.load(RUN)
    assert found.plan == run_events.plan(trials=3)
    assert found.plan_hash == found.plan.hash()
    assert found.facts_before == found.facts_after == {"web-1": run_events.facts("web-1")}
    assert found.findings == (run_events.FINDING,)
    assert found.telemetry_cost == {"web-1": 0.002}
    assert [trial.trial for trial in found.trials] == [run_events.trial(number) for number in (1, 2, 3)]
    assert found.trials[1].figures == (Figure(IOPS, 1100.0, READ), Figure(P99, 1e8 / 1100.0, READ))
    assert (found.trials[0].state, found.trials[0].exit_status) == (State.DONE, 0)
    assert store.samples(RUN) == {
        number: tuple(run_events.samples(value)) for number, value in ((1, 1000.0), (2, 1100.0), (3, 1200.0))
    }
    assert [sample.time for sample in store.telemetry(RUN)["web-1"]] == [1000.0, 2000.0, 3000.0]
    assert store.output(RUN, 2) == {"stdout": b"fio: trial 2\n"}


def test_a_run_that_was_queued_as_a_whole_comes_back_as_well(store: Store) -> None:
    events = list(run_events.run_events(RUN, (1000.0, 1100.0)))
    with store.recorder(RUN) as recorder:
        for event in events:
            recorder.defer(event)
    assert store.load(RUN).summary.state is State.DONE
    assert store.output(RUN, 2) == {"stdout": b"fio: trial 2\n"}
    assert [sample.time for sample in store.telemetry(RUN)["web-1"]] == [1000.0, 2000.0]


def test_the_library_shows_one_line_for_a_run(store: Store) -> None:
    record(store, RUN, run_events.run_events(RUN, (1000.0, 1100.0, 1200.0)))
    (line,) = store.runs()
    assert (line.id, line.name, line.hosts, line.steps) == (RUN, "disk", ("web-1",), ("random read",))
    assert line.suites == ("fio",)
    assert (line.state, line.trials, line.headline, line.baseline) == (State.DONE, 3, "1097 IOPS", None)
    assert line.ended is not None


def test_raw_output_is_kept_byte_for_byte_by_stream(store: Store) -> None:
    pieces = [("stdout", b"\x00\xff"), ("stdout", b"a\r"), ("stderr", b"oh\n"), ("stdout", b"\nb")]
    events: list[Event] = [
        TrialStarted(run_events.trial(1), None),
        *(OutputRead(1, stream, data) for stream, data in pieces),
    ]
    record(store, RUN, [RunStarted(RUN, run_events.plan(), "2026"), *events])
    assert store.output(RUN, 1) == {"stdout": b"\x00\xffa\r\nb", "stderr": b"oh\n"}
    assert store.output(RUN, 7) == {}


def test_the_parsers_last_word_replaces_the_live_samples(store: Store) -> None:
    live = Sample(1.0, IOPS, 10.0, READ)
    whole = (Sample(1.0, IOPS, 10.0, READ), Sample(2.0, IOPS, 20.0, READ))
    events: list[Event] = [
        RunStarted(RUN, run_events.plan(), "2026"),
        TrialStarted(run_events.trial(1), None),
        SampleRead(1, live),
        TrialEnded(1, State.DONE, 0, ParsedTrial(samples=whole)),
    ]
    record(store, RUN, events)
    assert store.samples(RUN) == {1: whole}


def test_live_samples_stay_where_the_parser_has_none(store: Store) -> None:
    live = Sample(1.0, IOPS, 10.0, READ)
    ended = TrialEnded(1, State.FAILED, None, ParsedTrial(notes=("cut off",), complete=False), "fio was killed.")
    record(
        store,
        RUN,
        [
            RunStarted(RUN, run_events.plan(), "2026"),
            TrialStarted(run_events.trial(1), None),
            SampleRead(1, live),
            ended,
        ],
    )
    assert store.samples(RUN) == {1: (live,)}
    trial = store.load(RUN).trials[0]
    assert (trial.state, trial.notes, trial.reason, trial.exit_status) == (
        State.FAILED,
        ("cut off",),
        "fio was killed.",
        None,
    )


def test_what_is_no_number_is_missing_and_never_zero(store: Store) -> None:
    values = (float("nan"), float("inf"), 5.0)
    parsed = ParsedTrial(
        tuple(Figure(IOPS, value) for value in values), tuple(Sample(1.0, IOPS, value) for value in values)
    )
    record(
        store,
        RUN,
        [
            RunStarted(RUN, run_events.plan(), "2026"),
            TrialStarted(run_events.trial(1), None),
            TrialEnded(1, State.DONE, 0, parsed),
        ],
    )
    assert store.load(RUN).trials[0].figures == (Figure(IOPS, 5.0),)
    assert store.samples(RUN) == {1: (Sample(1.0, IOPS, 5.0),)}


def test_a_hosts_half_characters_do_not_stop_a_run(store: Store) -> None:
    finding = replace(run_events.FINDING, measured="file \udcff", changes={"directory": "\udcff"})
    record(store, RUN, [RunStarted(RUN, run_events.plan(name="\udcff"), "2026"), FindingRaised(finding)])
    assert store.load(RUN).findings[0].measured == "file ?"
    assert store.load(RUN).findings[0].changes == {"directory": "\udcff"}


def test_a_hosts_half_characters_in_labels_do_not_stop_a_run(store: Store) -> None:
    disk = (("device", "\udcff"),)
    parsed = ParsedTrial((Figure(IOPS, 1.0, disk),), (Sample(1.0, IOPS, 2.0, disk),))
    began: list[Event] = [RunStarted(RUN, run_events.plan(), "2026"), TrialStarted(run_events.trial(1), None)]
    record(store, RUN, [*began, SampleRead(1, parsed.samples[0]), TrialEnded(1, State.DONE, 0, parsed)])
    assert store.load(RUN).trials[0].figures == parsed.figures
    assert store.samples(RUN)[1] == parsed.samples


# What is on disk when


def rows(store: Store, table: str) -> int:
    """Count the rows that any other program would see now."""
    return int(execute(store, f"SELECT count(*) FROM {table}")[0][0])


def test_what_happened_once_is_on_disk_at_once(store: Store) -> None:
    with store.recorder(RUN) as recorder:
        recorder.record(RunStarted(RUN, run_events.plan(), "2026"))
        assert rows(store, "runs") == 1
        recorder.record(TrialStarted(run_events.trial(1), None))
        assert rows(store, "trials") == 1
        recorder.record(SampleRead(1, Sample(1.0, IOPS, 1.0)))
        assert rows(store, "sample_rows") == 0
        recorder.record(TrialEnded(1, State.DONE, 0, ParsedTrial()))
        assert rows(store, "sample_rows") == 1


def test_samples_are_gathered_for_half_a_second(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("app.store.recorder.time.monotonic", lambda: now[0])
    with store.recorder(RUN) as recorder:
        recorder.record(RunStarted(RUN, run_events.plan(), "2026"))
        now[0] += COMMIT_INTERVAL / 2
        recorder.record(SampleRead(1, Sample(1.0, IOPS, 1.0)))
        assert rows(store, "sample_rows") == 0
        now[0] += COMMIT_INTERVAL / 2
        recorder.record(SampleRead(1, Sample(2.0, IOPS, 1.0)))
        assert rows(store, "sample_rows") == 2
        recorder.record(OutputRead(1, "stdout", b"x"))
        recorder.flush()
        assert rows(store, "output") == 1


# Finding runs


def three_runs(store: Store) -> None:
    for day, suffix in ((18, "aaaa"), (19, "bbbb"), (20, "cccc")):
        run_id = f"202611{day}-141530-{suffix}"
        record(store, run_id, run_events.run_events(run_id, started=f"2026-11-{day}T14:15:30+00:00"))


def test_runs_are_found_by_id_beginning_name_and_last(store: Store) -> None:
    three_runs(store)
    assert [line.id[6:8] for line in store.runs()] == ["20", "19", "18"]
    pin(store, "20261118", "before the upgrade")
    for name, day in (("20261119-141530-bbbb", "19"), ("20261119", "19"), ("last", "20"), ("before the upgrade", "18")):
        assert store.load(name).summary.id[6:8] == day


def test_a_run_of_which_no_trial_counts_is_no_baseline(store: Store) -> None:
    three_runs(store)
    record(store, RUN, [RunStarted(RUN, run_events.plan(), "2026"), RunEnded(RUN, State.FAILED)])
    for word in (RUN, f"{RUN}@web-1", f"20261118,{RUN}"):
        with pytest.raises(BaselineError, match=f"{RUN} has no counted trial"):
            pin(store, word, "nothing")
    assert stored_baselines(store) == []


def test_an_ambiguous_beginning_lists_its_candidates(store: Store) -> None:
    three_runs(store)
    with pytest.raises(StoreError, match=r"20261120-141530-cccc, 20261119-141530-bbbb, 20261118"):
        store.load("202611")


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", ["nope", "", "%", "20261120-141530-cccc0"])
def test_an_unknown_run_is_said(store: Store, name: str) -> None:
    three_runs(store)
    with pytest.raises(StoreError, match="There is no run"):
        store.load(name)


def test_an_empty_library_has_no_last_run(store: Store) -> None:
    with pytest.raises(StoreError, match="has no runs"):
        store.load("last")


def test_deleting_a_run_leaves_nothing_of_it_and_the_others_alone(store: Store) -> None:
    three_runs(store)
    pin(store, "20261119", "x")
    with pytest.raises(StoreError, match="is part of the baseline x@1"):
        store.delete("20261119")
    store.unpin("x")
    store.delete("20261119")
    assert [line.id[6:8] for line in store.runs()] == ["20", "18"]
    assert stored_baselines(store) == []
    assert (rows(store, "runs"), rows(store, "series"), rows(store, "output")) == (2, 4, 2)
    assert (rows(store, "packed_samples"), rows(store, "sample_times"), rows(store, "sample_rows")) == (6, 6, 0)
    assert store.samples("20261120")


@in_a_file
def test_deleting_a_run_gives_its_space_back(store: Store) -> None:
    output = [OutputRead(1, "stdout", bytes(1_000_000))]
    record(store, RUN, [RunStarted(RUN, run_events.plan(), "2026"), *output, RunEnded(RUN, State.DONE)])
    assert store.path.stat().st_size > 1_000_000
    store.delete(RUN)
    assert store.path.stat().st_size < 400_000  # the empty tables


# Baselines


def test_a_run_that_was_deleted_meanwhile_is_not_pinned(store: Store) -> None:
    record(store, RUN, run_events.run_events(RUN))
    store.delete(RUN)
    with pytest.raises(StoreError, match=f"There is no run “{RUN}”"):
        store.pin("nightly", [(RUN, "")])
    assert store.baselines() == []


def test_a_name_pinned_anew_is_its_next_version_and_the_old_one_stays(store: Store) -> None:
    three_runs(store)
    assert pin(store, "20261118", "good") == 1
    pin(store, "20261119", "better")
    assert pin(store, "20261120", "good") == 2
    assert [(one.name, one.version, one.newest) for one in stored_baselines(store)] == [
        ("good", 2, True),
        ("better", 1, True),
        ("good", 1, False),
    ]
    assert store.load("good").summary.id == "20261120-141530-cccc"
    assert store.load("good@1").summary.id == "20261118-141530-aaaa"
    assert [line.baseline for line in store.runs()] == ["good", "better", None]
    store.unpin("good@2")
    assert store.load("good").summary.id == "20261118-141530-aaaa"
    store.unpin("good")
    assert [one.name for one in stored_baselines(store)] == ["better"]
    with pytest.raises(StoreError, match="No baseline"):
        store.unpin("good")


def test_names_that_cannot_be_told_apart_are_refused(store: Store) -> None:
    three_runs(store)
    for name in ("", "  ", "last", "x" * 81, "a\nb", "a@2", "baseline:a"):
        with pytest.raises(BaselineError, match="is not a valid baseline name"):
            pin(store, "20261118", name)


def test_bands_are_the_quartiles_of_samples_and_the_median_of_figures(store: Store) -> None:
    record(store, RUN, run_events.run_events(RUN, (1000.0, 1100.0, 1200.0)))
    assert bands(store, [run_events.STEP], ["web-1"], {}) == {(run_events.STEP.name, "web-1"): []}
    pin(store, RUN, "good")
    iops, p99 = bands(store, [run_events.STEP], ["another host"], {})[run_events.STEP.name, "another host"]
    # Of each trial the samples v+1 .. v+4 count: v+0 is warm-up.
    values = sorted(v + i for v in (1000, 1100, 1200) for i in (1, 2, 3, 4))
    assert (iops.name, iops.run_id, iops.metric, iops.labels, iops.unit) == ("good", RUN, "iops", READ, "1/s")
    assert (iops.low, iops.median, iops.high) == (values[2] + 0.75 * (values[3] - values[2]), 1102.5, 1201.25)
    assert iops.figure == pytest.approx(1096.96, abs=0.01)  # the mean of the figures
    assert p99.metric == "latency_p99"
    assert p99.median == 1e8 / 1100.0
    assert p99.figure == pytest.approx(1e8 / 1096.9613)


def test_a_step_that_measures_something_else_has_no_band(store: Store) -> None:
    record(store, RUN, run_events.run_events(RUN))
    pin(store, RUN, "good")
    other = replace(run_events.STEP, values={**run_events.STEP.values, "block_size": 16384})
    assert bands(store, [other], ["web-1"], {}) == {(other.name, "web-1"): []}


def test_bands_leave_out_warm_ups_and_failed_trials(store: Store) -> None:
    good, warm_up, failed = run_events.trial(1), run_events.trial(2, warm_up=True), run_events.trial(3)
    events: list[Event] = [
        RunStarted(RUN, run_events.plan(trials=3), "2026"),
        *run_events.trial_events(good, [Figure(IOPS, 100.0)]),
        *run_events.trial_events(warm_up, [Figure(IOPS, 1.0)]),
        *run_events.trial_events(failed, [Figure(IOPS, 2.0)], state=State.FAILED, reason="killed"),
    ]
    record(store, RUN, events)
    pin(store, RUN, "good")
    ((band,),) = bands(store, [run_events.STEP], ["web-1"], {}).values()
    assert (band.low, band.median, band.high, band.figure) == (100.0, 100.0, 100.0, 100.0)
    assert store.runs()[0].trials == 1


# Files that are no store of ours


@pytest.mark.parametrize("content", [b"x", b"not a database " * 500], ids=["short", "long"])
def test_a_file_that_is_no_store_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "runs.sqlite3"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged or not a library"):
        Store(path).runs()
    assert path.read_bytes() == content


def test_another_programs_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="database of another program"):
        Store(path).runs()
    assert path.read_bytes() == before


@in_a_file
def test_a_damaged_store_is_reported_and_not_changed(store: Store) -> None:
    record(store, RUN, run_events.run_events(RUN))
    content = bytearray(store.path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    store.path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"):
        Store(store.location).runs()
    assert store.path.read_bytes() == bytes(content)


def test_a_run_with_a_damaged_document_is_named(store: Store) -> None:
    three_runs(store)
    execute(store, "UPDATE runs SET plan = ? WHERE id = ?", json.dumps({"format": "other/1"}), "20261119-141530-bbbb")
    with pytest.raises(StoreError, match="20261119-141530-bbbb cannot be read"):
        store.load("20261119")
    assert len(store.runs()) == 3
    assert store.load("20261120").plan.name == "disk"


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be opened: (not a directory|file exists)"):
        Store(tmp_path / "file" / "runs.sqlite3").runs()


# Interrupted runs


def test_a_run_under_way_is_not_marked_and_not_deleted(store: Store) -> None:
    with store.recorder(RUN) as recorder:
        recorder.record(RunStarted(RUN, run_events.plan(), "2026"))
        assert Store(store.location).mark_interrupted() == []
        with pytest.raises(StoreError, match="in progress"):
            store.delete(RUN)


def test_a_run_whose_recorder_let_go_is_partial_with_the_reason(store: Store) -> None:
    record(store, RUN, [RunStarted(RUN, run_events.plan(), "2026"), TrialStarted(run_events.trial(1), None)])
    assert store.mark_interrupted() == [RUN]
    found = store.load(RUN)
    assert (found.summary.state, found.reason) == (State.PARTIAL, MESSAGES["benchwright_ended_while_it"])
    assert (found.trials[0].state, found.trials[0].reason) == (State.PARTIAL, MESSAGES["benchwright_ended_while_it"])
    assert store.mark_interrupted() == []


def test_runs_that_ended_stay_as_they_ended(store: Store) -> None:
    record(store, RUN, run_events.run_events(RUN))
    assert store.mark_interrupted() == []
    assert store.load(RUN).summary.state is State.DONE


def test_facts_of_both_moments_are_told_apart(store: Store) -> None:
    events: list[Event] = [
        RunStarted(RUN, run_events.plan(), "2026"),
        FactsRead("web-1", Moment.BEFORE, run_events.facts("web-1", "6.1")),
        FactsRead("web-1", Moment.AFTER, run_events.facts("web-1", "6.2")),
    ]
    record(store, RUN, events)
    found = store.load(RUN)
    assert (found.facts_before["web-1"].system.kernel, found.facts_after["web-1"].system.kernel) == ("6.1", "6.2")


# Names of runs


def test_run_ids_sort_by_time_and_are_utc() -> None:
    moment = datetime(2026, 11, 20, 15, 15, 30, tzinfo=timezone(timedelta(hours=1)))
    assert re.fullmatch(r"20261120-141530-[a-hjkmnp-z2-9]{8}", new_run_id(moment))
    assert len({new_run_id(moment) for _ in range(5_000)}) == 5_000


def test_several_make_the_library_at_the_same_moment(tmp_path: Path) -> None:
    for number in range(5):
        ready = threading.Barrier(4)

        def open_it(path: Path = tmp_path / f"{number}.sqlite3", ready: threading.Barrier = ready) -> int:
            with closing(Store(path)) as store:
                ready.wait()
                return len(store.runs())

        with ThreadPoolExecutor(4) as pool:
            opened = [pool.submit(open_it) for _ in range(4)]
        assert [one.result() for one in opened] == [0, 0, 0, 0]

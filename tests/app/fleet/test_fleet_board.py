"""The board of a study: values, distances from the group, the odd ones first; fast with many hosts."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from app.fleet.board import BoardReader, board_of
from app.fleet.results import results_of
from app.fleet.study import host_centre
from app.fleet_study import FleetStudy, HostRun, HostRunState, RunProgress
from app.margins import Margins
from app.plans.plan import Step
from suites.verdict import Trust
from suites.vocab import Severity
from tests.app.fleet.studies import CPU, fleet_plan, numbered, short_plan

KEY = (CPU.name, CPU.headline, ())


def study(size: int, sessions: int = 1) -> FleetStudy:
    return FleetStudy("f1", "short", fleet_plan(numbered(size), short_plan(sessions=sessions, trials=2)), "2026")


def done(found: FleetStudy) -> list[HostRun]:
    return [replace(one, state=HostRunState.DONE, run=f"r{one.number}") for one in found.plan.host_runs()]


def progress(values: Mapping[str, Sequence[float]], trust: Trust = Trust.VALID) -> dict[str, RunProgress]:
    return {
        run: RunProgress(ended=2, counted=2, figures={KEY: tuple(each)}, trusts={CPU.name: trust}, trust=trust)
        for run, each in values.items()
    }


def test_a_host_far_from_the_median_of_its_group_is_first() -> None:
    found = study(6)
    values = {f"r{n}": [100.0 + n, 100.0 + n] for n in range(1, 6)} | {"r6": [60.0, 62.0]}
    board = board_of(found, done(found), progress(values))
    first, *rest = board.rows
    assert (first.title, first.apart) == ("a6", True)
    assert first.value == pytest.approx(math.sqrt(60.0 * 62.0))
    assert first.off == pytest.approx(math.sqrt(60.0 * 62.0) / board.medians["a"] - 1)
    assert [row.title for row in rest] == ["a1", "a2", "a3", "a4", "a5"]
    assert not any(row.apart for row in rest)


def test_the_median_of_a_host_is_its_centre_in_the_results() -> None:
    found = FleetStudy("f1", "short", fleet_plan(numbered(1), short_plan(sessions=2)), "2026-11-20T10:00:00+00:00")
    values = progress({"r1": [100.0] * 9, "r2": [400.0]})
    (row,) = board_of(found, done(found), values).rows
    (metric,) = results_of(found, done(found), values, Margins(), [KEY[1].name]).metrics
    (centre,) = [host_centre(sessions) for sessions in metric.groups["a"].values()]
    assert row.value == pytest.approx(centre) == pytest.approx(200.0)
    zero = progress({"r1": [0.0, 2.0], "r2": [3.0]})
    (row,) = board_of(found, done(found), zero).rows
    assert row.value == 2.0


def test_an_invalid_result_counts_once_for_all_of_its_figures() -> None:
    found = study(1)
    other = (KEY[0], KEY[1], (("direction", "read"),))
    values = {"r1": replace(progress({"r1": [5.0]}, Trust.INVALID)["r1"], figures={KEY: (5.0,), other: (6.0,)})}
    notes = results_of(found, done(found), values, Margins(), [KEY[1].name]).notes
    assert [note for note in notes if note.startswith(f"{CPU.name}: 1 invalid")]


def test_the_unknown_suite_of_a_stored_plan_is_named() -> None:
    newer = Step("newer", "newer-suite", {})
    found = replace(study(1), plan=fleet_plan(numbered(1), short_plan(newer, CPU)))
    failed = HostRun(1, 1, "a1", "a", state=HostRunState.FAILED, reason="broken")
    (row,) = board_of(found, [failed], {}).rows
    assert row.doing == "newer-suite: unknown suite; broken"
    (note, *_) = reversed(results_of(found, [failed], {}, Margins()).notes)
    assert note.startswith("newer-suite: unknown suite")


def test_what_was_replaced_is_left_out_with_a_note() -> None:
    replaced = HostRun(1, 1, "a1", "a", state=HostRunState.SKIPPED, run="r1", reason="replaced by web-3.lan")
    found = results_of(study(2), [replaced], progress({"r1": [5.0]}), Margins())
    assert found.metrics == ()
    (note,) = found.notes
    assert "(replaced by web-3.lan)" in note


def test_few_hosts_have_no_distance_and_equal_ones_none() -> None:
    found = study(4)
    board = board_of(found, done(found), progress({f"r{n}": [float(n)] for n in range(1, 5)}))
    assert ({row.off for row in board.rows}, board.medians) == ({None}, {})
    found = study(6)
    equal = board_of(found, done(found), progress({f"r{n}": [5.0] for n in range(1, 7)}))
    assert {row.off for row in equal.rows} == {0.0}
    assert not any(row.apart for row in equal.rows)


def test_host_runs_that_results_leave_out_have_no_values() -> None:
    found = study(6)
    values = progress({f"r{n}": [float(n)] for n in range(1, 7)})
    states = dict(enumerate(HostRunState, 1))
    runs = [replace(one, state=states[one.number]) for one in done(found)]
    shown = {row.title for row in board_of(found, runs, values).rows if row.values}
    assert shown == {f"a{n}" for n, state in states.items() if state.active or state is HostRunState.DONE}


def test_invalid_values_are_no_values() -> None:
    found = study(1)
    (row,) = board_of(found, done(found), progress({"r1": [5.0]}, Trust.INVALID)).rows
    assert (row.values, row.value) == ((), None)


def test_failed_hosts_then_errors_come_first() -> None:
    found = study(3)
    runs = done(found)
    runs[2] = replace(runs[2], state=HostRunState.FAILED, reason="refused")
    read = progress({"r1": [1.0], "r2": [1.0]})
    read["r2"] = replace(read["r2"], severity=Severity.ERROR, finding="broken")
    rows = board_of(found, runs, read).rows
    assert [(row.title, row.doing, row.finding) for row in rows] == [
        ("a3", "refused", ""), ("a2", "", "broken"), ("a1", "", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("so_far", "shown"),
    [
        (RunProgress(), "before the first trial 0/2"),
        (RunProgress(step=CPU.name), f"{CPU.name} 0/2"),
        (RunProgress(ended=1), "between trials 1/2"),
    ],
)
def test_what_a_run_does_is_said(so_far: RunProgress, shown: str) -> None:
    found = study(1)
    runs = [replace(one, state=HostRunState.RUNNING, worker="w") for one in done(found)]
    (row,) = board_of(found, runs, {"r1": so_far}).rows
    assert row.doing == shown


def test_runs_that_ended_are_read_once() -> None:
    found, asked = study(2), []
    runs = done(found)
    runs[1] = replace(runs[1], state=HostRunState.RUNNING)

    def read(wanted: Sequence[str]) -> Mapping[str, RunProgress]:
        asked.append(list(wanted))
        return progress({run: [1.0] for run in wanted})

    reader = BoardReader(read)
    for _ in range(2):
        assert len(reader.board(found, runs).rows) == 2
    assert asked == [["r1", "r2"], ["r2"]]


def test_a_study_without_host_runs_or_values_has_a_board() -> None:
    found = study(1)
    assert board_of(found, [], {}).rows == ()
    (row,) = board_of(found, list(found.plan.host_runs()), {}).rows
    assert (row.state, row.doing, row.planned) == (HostRunState.WAITING, "", 2)


@pytest.mark.alone
def test_a_board_of_many_hosts_is_fast() -> None:
    found = study(200, sessions=4)
    runs = done(found)
    values = progress({one.run: [100.0 + one.number % 7] * 5 for one in runs})
    begun = time.process_time()
    board = board_of(found, runs, values)
    assert time.process_time() - begun < 0.3
    assert len(board.rows) == 200

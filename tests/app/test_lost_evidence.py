"""Evidence that a library lost never changes a verdict: the run keeps that which it had, and says why."""

import lzma
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.checks.evidence import NOT_WATCHED_THEN
from app.checks.version import CHECKS_VERSION
from app.rejudging import rejudge
from app.rejudging.rejudge import JudgedRun
from app.services import Workstation
from app.store.errors import StoreBusyError
from app.store.salvage import salvage, saved_text
from app.store.store import Store
from app.verdict import steps
from app.verdict.stored import evidence_of
from suites.verdict import Trust
from tests.app.test_rejudge import (
    NETWORK,
    REDACTED,
    SHARE,
    VALID,
    everything,
    judged_library,
    upgraded,
    with_check,
    workstation,
)
from tests.checks_digest import CAPTURED
from tests.messages import messages
from tests.program import FAILED, benchwright

__all__ = ["judged_library", "upgraded", "workstation"]

MESSAGES = messages("app-store", "test_lost_evidence")

BUSY, STOLEN = "20261128-192405-65am", "20261128-194123-sne8"
LOSSES = {
    "samples": "DELETE FROM sample_rows",
    "half of the samples": "DELETE FROM sample_rows WHERE id % 2",
    "series": "DELETE FROM series",
    "half of the series": "DELETE FROM series WHERE id % 2",
    "telemetry": "DELETE FROM series WHERE trial IS NULL",
    "facts": "DELETE FROM facts",
    "figures": "DELETE FROM figures",
    "findings": "DELETE FROM findings",
    "trials": "DELETE FROM trials",
}


def lose(workstation: Workstation, statement: str) -> None:
    with workstation._store.database.writing() as connection:
        connection.exec_driver_sql(statement)


def changed(judged: list[JudgedRun]) -> list[str]:
    return [one.run for one in judged if one.differs or one.recall is not None]


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    "statement",
    [
        pytest.param(each, id=name, marks=pytest.mark.slow if name.startswith("half") else ())
        for name, each in LOSSES.items()
    ],
)
def test_lost_evidence_changes_no_verdict(upgraded: Workstation, statement: str) -> None:
    before = everything(upgraded)
    lose(upgraded, statement)
    judged = list(upgraded.rejudge(every=True))
    assert changed(judged) == []
    kept = {one.run: one.problem for one in judged if one.problem}
    assert BUSY in kept
    assert MESSAGES["missing"] in kept[BUSY]
    for run, record in everything(upgraded).items():
        assert record.verdicts == before[run].verdicts
        assert record.unjudged == kept.get(run, "")


@pytest.mark.quick(2)
@pytest.mark.parametrize("lost", ["series", "series WHERE trial IS NULL", "facts", "findings", "samples"])
def test_what_was_lost_before_the_upgrade_raises_no_trust(tmp_path: Path, lost: str) -> None:
    """Its amount is not known then: a check that lacks its evidence now does not withdraw what it found."""
    path = tmp_path / "captured.sqlite3"
    path.write_bytes(lzma.decompress(CAPTURED.read_bytes()))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"DELETE FROM {lost}")
    with closing(Workstation(path, tmp_path / "hosts.toml")) as workstation:
        judged = list(workstation.rejudge(every=True))
        raised = [one for one in judged if one.recall and Trust(one.recall.now).rank < Trust(one.recall.was).rank]
        assert raised == []
        assert {one.run for one in judged if one.problem} >= {BUSY}


def test_telemetry_without_a_sample_in_the_measured_time_is_not_checked(upgraded: Workstation) -> None:
    from app.checks.host import TRIAL_CHECKS

    store = upgraded._store
    record = store.load(BUSY)
    step = record.plan.steps[0]
    found = evidence_of(record, store.samples(BUSY), store.telemetry(BUSY), step, record.plan.hosts[0])
    trial = next(one for one in found.trials if one.done)
    assert trial.watch is not None
    (others,) = (one for one in TRIAL_CHECKS if one.id == "other-process")
    assert others.outcome(trial) != NOT_WATCHED_THEN
    assert others.outcome(replace(trial, watch=replace(trial.watch, series={}))) == NOT_WATCHED_THEN


def test_a_run_without_a_verdict_gets_none_from_what_is_left(upgraded: Workstation) -> None:
    lose(upgraded, f"DELETE FROM verdicts WHERE run_id = '{BUSY}'")
    assert upgraded.load(BUSY).verdict is not None
    upgraded._store.computed.clear()
    lose(upgraded, f"DELETE FROM series WHERE run_id = '{BUSY}'")
    assert upgraded.load(BUSY).verdict is None


def test_evidence_goes_with_its_run_and_is_seen_missing_there(upgraded: Workstation, tmp_path: Path) -> None:
    *_, last = upgraded.export_library([BUSY], tmp_path / "bundle.sqlite3")
    assert last.whole
    with closing(Workstation(tmp_path / "bundle.sqlite3", tmp_path / "hosts.toml")) as other:
        assert other._store.missing_evidence() == {}
        lose(other, "DELETE FROM figures WHERE id % 2")
        assert "of 57 figures." in other._store.missing_evidence()[BUSY]


def test_a_salvaged_library_names_the_runs_that_lack_evidence(upgraded: Workstation, tmp_path: Path) -> None:
    list(upgraded.pack_samples())
    lose(upgraded, f"DELETE FROM series WHERE run_id = '{BUSY}'")
    upgraded.close()
    saved = salvage(upgraded.library_path, tmp_path / "saved.sqlite3")
    assert list(saved.short) == [BUSY]
    assert f"1 run without all evidence, not judged again: {BUSY}: " in saved_text(saved, tmp_path / "new")[0]


def damaged(path: Path) -> None:
    """Overwrite a page of the samples of a library of format 15."""
    path.write_bytes(lzma.decompress(CAPTURED.read_bytes()))
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT pageno FROM dbstat WHERE name = 'samples' AND pagetype = 'leaf' LIMIT 1 OFFSET 20"
        page = int(connection.execute(query).fetchone()[0])
        size = int(connection.execute("PRAGMA page_size").fetchone()[0])
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


def test_an_older_library_saved_in_parts_keeps_its_verdicts(tmp_path: Path) -> None:
    damaged(tmp_path / "damaged.sqlite3")
    saved = salvage(tmp_path / "damaged.sqlite3", tmp_path / "saved.sqlite3")
    assert saved.incomplete == ("samples",)
    with closing(Workstation(tmp_path / "saved.sqlite3", tmp_path / "hosts.toml")) as workstation:
        judged = list(workstation.rejudge())
        assert changed(judged) == []
        assert all("unknown parts" in one.problem for one in judged)


def test_what_cannot_be_judged_is_not_tried_at_each_start(upgraded: Workstation) -> None:
    lose(upgraded, f"DELETE FROM series WHERE run_id = '{BUSY}'")
    assert BUSY in upgraded.outdated_runs()
    list(upgraded.rejudge())
    assert upgraded.outdated_runs() == []
    assert list(upgraded.unjudged_runs()) == [BUSY]
    shown = benchwright("--store", upgraded.library_path, "show", BUSY).out
    assert MESSAGES["kept"] in shown
    assert [one.run for one in upgraded.rejudge([BUSY]) if one.lasting] == [BUSY]


def test_what_is_only_busy_is_tried_again(upgraded: Workstation, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(_self: Store, _run: str) -> None:
        raise StoreBusyError("locked")

    with monkeypatch.context() as locked:
        locked.setattr(Store, "samples", busy)
        assert {one.problem for one in upgraded.rejudge([VALID])} == {"locked"}
    assert VALID in upgraded.outdated_runs()
    list(upgraded.rejudge())
    assert upgraded.outdated_runs() == []


def test_a_defect_of_a_check_is_remembered_until_the_run_is_judged(
    upgraded: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_arguments: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr(rejudge, "new_verdicts", fails)
        list(upgraded.rejudge([VALID]))
    assert upgraded.unjudged_runs() == {VALID: "Internal error: ZeroDivisionError."}
    assert VALID not in upgraded.outdated_runs()
    list(upgraded.rejudge([VALID]))
    assert upgraded.unjudged_runs() == {}
    assert upgraded.load(VALID).unjudged == ""


def test_the_command_lists_what_it_could_not_judge_before(workstation: Workstation) -> None:
    list(workstation.rejudge())
    lose(workstation, f"DELETE FROM figures WHERE run_id = '{BUSY}'")
    path = workstation.library_path
    workstation.close()
    refused = benchwright("--store", path, "rejudge", BUSY)
    assert refused.status == FAILED
    assert f"{BUSY} keeps its verdict: {MESSAGES['figures']}" in refused.out
    again = benchwright("--store", path, "rejudge")
    assert again.status == 0
    assert f"{BUSY} keeps its verdict: " in again.out
    assert benchwright("--store", path, "rejudge", "--json").json["kept"] == {BUSY: MESSAGES["figures"]}
    assert REDACTED not in again.out


def test_a_notice_dismissed_meanwhile_stays_dismissed(upgraded: Workstation, monkeypatch: pytest.MonkeyPatch) -> None:
    with_check(monkeypatch)
    list(upgraded.rejudge())
    later = CHECKS_VERSION + 2
    for module in ("app.verdict.steps", "app.verdict.stored", "app.rejudging.rejudge", "app.checks.version"):
        monkeypatch.setattr(f"{module}.CHECKS_VERSION", later)
    reworded = (replace(one, why="Another reason.") if one is SHARE else one for one in steps.ENDED_TRIAL_CHECKS)
    monkeypatch.setattr(steps, "ENDED_TRIAL_CHECKS", tuple(reworded))
    assert upgraded.load(VALID).recall is not None
    written = rejudge._write

    def dismissed_first(*arguments: object) -> None:
        upgraded.dismiss_recalls([VALID, NETWORK])
        written(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(rejudge, "_write", dismissed_first)
    assert {one.run for one in upgraded.rejudge([VALID, NETWORK])} == {VALID, NETWORK}
    for run in (VALID, NETWORK):
        record = upgraded.load(run)
        assert record.recall is not None
        assert record.recall.dismissed is not None, "it came back"
        assert {one.checks for one in record.verdicts} == {later}

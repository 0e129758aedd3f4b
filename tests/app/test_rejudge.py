"""Stored runs are judged again by a later version of the checks, and what that changes is kept and told."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from app.checks.version import CHECKS_VERSION
from app.events import FindingRaised, State
from app.outputs.found import Between, Recognition
from app.outputs.recognition import recognise
from app.records import RunRecord
from app.rejudging import history_text, rejudge
from app.rejudging.recall_groups import notice_of, recall_groups
from app.services import Workstation
from app.store.errors import StoreError
from app.store.store import Store
from app.verdict import steps, stored
from app.verdict.listing import listed
from app.verdict.stored import seen_by_the_run
from suites.checks import CheckOutcome, after_check
from suites.evidence import TrialCheck, TrialEvidence
from suites.ioping import REQUESTS
from suites.verdict import Trust
from suites.vocab import Figure, Severity
from tests.app import run_events
from tests.app.stores import RUN, record
from tests.app.test_calibration import calibration
from tests.app.test_store_formats import STORES
from tests.checks_digest import captured
from tests.messages import messages
from tests.program import BAD_INPUT, DONE, FAILED, benchwright

MESSAGES = messages("app-store", "test_rejudge")
VALID, BRIEF, NETWORK = "20261128-192604-ce4h", "20261128-192616-5udf", "20261128-192622-a326"
IMPORTED, REDACTED = "20261128-194122-sms3", "20261128-193845-2ygs"
SHORT, SHORT_AND_DOUBTFUL = "20261128-194122-zx6q", "20261128-194122-cfgf"
"""Imported runs of seconds, to whose verdicts version 3 of the checks adds that; version 4 adds remarks to these and
IMPORTED.
"""


def _share(trial: TrialEvidence) -> CheckOutcome | None:
    ours = trial.suite.id in {"sysbench-cpu", "iperf3"} and not trial.elsewhere
    return CheckOutcome("58 % from memory.") if ours else None


SHARE: TrialCheck = after_check(
    id="cache-share",
    severity=Severity.ERROR,
    title="Page cache served part of the I/O",
    why="Why.",
    remedy="Remedy.",
    source="Source.",
    evaluate=_share,
)


@pytest.fixture
def workstation(tmp_path: Path) -> Iterator[Workstation]:
    captured(tmp_path).close()
    made = Workstation(tmp_path / "captured.sqlite3", tmp_path / "hosts.toml")
    yield made
    made.close()


@pytest.fixture(scope="session")
def judged_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the library as the present checks judged it, for each test to copy."""
    folder: Path = tmp_path_factory.mktemp("judged")
    captured(folder).close()
    with closing(Workstation(folder / "captured.sqlite3", folder / "hosts.toml")) as made:
        list(made.rejudge())
        made.dismiss_recalls([SHORT])
    return folder / "captured.sqlite3"


@pytest.fixture
def upgraded(judged_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workstation]:
    """The library as the present checks judged it, opened by a program whose checks are later."""
    shutil.copyfile(judged_library, tmp_path / judged_library.name)
    for module in (steps, stored, rejudge, history_text):
        monkeypatch.setattr(module, "CHECKS_VERSION", CHECKS_VERSION + 1)
    monkeypatch.setattr("app.checks.version.CHECKS_VERSION", CHECKS_VERSION + 1)
    with closing(Workstation(tmp_path / judged_library.name, tmp_path / "hosts.toml")) as made:
        yield made


def with_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "ENDED_TRIAL_CHECKS", (*steps.ENDED_TRIAL_CHECKS, SHARE))


def without_check(monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    kept = tuple(one for one in steps.ENDED_TRIAL_CHECKS if one.id != check)
    monkeypatch.setattr(steps, "ENDED_TRIAL_CHECKS", kept)


def everything(workstation: Workstation) -> dict[str, RunRecord]:
    return {row.id: workstation._store.load(row.id) for row in workstation.library().rows}


def test_judging_real_runs_again_changes_nothing_but_the_version(workstation: Workstation) -> None:
    before = everything(workstation)
    assert {one.checks for record in before.values() for one in record.verdicts} == {0}
    done = list(workstation.rejudge())
    assert {one.run for one in done} == before.keys() - {REDACTED}
    assert {one.run for one in done if one.recall} == {SHORT}
    assert {one.run for one in done if one.differs} == {SHORT, SHORT_AND_DOUBTFUL, IMPORTED}
    assert not [one for one in done if one.problem]
    after = everything(workstation)
    for run, old in before.items():
        if run in {SHORT, SHORT_AND_DOUBTFUL, IMPORTED}:
            continue
        assert after[run].verdicts == old.verdicts
        assert listed(after[run]) == listed(old)
        assert after[run].raised == old.raised
    assert {one.checks for run in before.keys() - {REDACTED} for one in after[run].verdicts} == {CHECKS_VERSION}
    assert workstation.outdated_runs() == []


@pytest.mark.quick(4)
@pytest.mark.parametrize("path", sorted(STORES.glob("*.sqlite3")), ids=lambda path: str(path.stem))
def test_a_run_of_any_format_is_judged_once(tmp_path: Path, path: Path) -> None:
    shutil.copy(path, tmp_path / "runs.sqlite3")
    with closing(Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")) as workstation:
        every = everything(workstation)
        before = {run: one for run, one in every.items() if one.summary.state is not State.RUNNING}
        assert {one.run for one in workstation.rejudge()} == before.keys()
        once = everything(workstation)
        assert not [one for one in workstation.rejudge(every=True) if one.differs or one.problem]
        assert everything(workstation) == once
        for run, old in every.items():
            new = once[run]
            assert new.trials == old.trials
            assert bool(new.verdicts) is (run in before)
            replaced = [one for one in reversed(old.verdicts) if one not in new.verdicts]
            assert [one.verdict for one in new.earlier] == replaced


@pytest.mark.slow
def test_what_only_the_run_could_see_is_kept(upgraded: Workstation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a host that was busy, the findings before the test and those seen during a trial stay as they were."""
    old = everything(upgraded)
    with_check(monkeypatch)
    list(upgraded.rejudge())
    timed = 0
    for run, new in everything(upgraded).items():
        kept = tuple(seen_by_the_run(old[run]))
        timed += sum(one.clock is not None for one in kept)
        assert tuple(seen_by_the_run(new)) == kept
    assert timed > 3


def test_a_later_check_recalls_runs_and_keeps_the_verdict_that_they_had(
    upgraded: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    was = upgraded.load(VALID)
    with_check(monkeypatch)
    assert VALID in {one.run for one in upgraded.rejudge() if one.recall is not None}
    now = upgraded.load(VALID)
    assert was.verdict is not None
    assert now.verdict is not None
    assert (was.verdict.trust, now.verdict.trust) == (Trust.VALID, Trust.DOUBTFUL)
    assert now.verdict.checks == CHECKS_VERSION + 1
    assert SHARE.id in {one.id for one in listed(now)}
    assert [one.verdict for one in now.earlier] == [was.verdict, was.verdicts[0]]
    assert {one.verdict.checks for one in now.earlier} == {CHECKS_VERSION}
    assert now.trials == was.trials
    assert now.recall is not None
    assert now.recall.past == f"was valid until checks version {CHECKS_VERSION + 1}"
    (row,) = (row for row in upgraded.library().rows if row.id == VALID)
    assert row.summary.trust == "doubtful"
    assert {VALID, NETWORK, SHORT} == {row.id for row in upgraded.matching("recall:yes")[1]}
    assert VALID in {row.id for row in upgraded.matching("verdict:doubtful")[1]}


def test_the_notice_names_baselines_first_and_its_filter_finds_its_runs(
    upgraded: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgraded.pin(NETWORK, "nightly")
    with_check(monkeypatch)
    list(upgraded.rejudge())
    first, *others = groups = recall_groups(upgraded.library().rows)
    assert [row.id for row in first.rows] == [NETWORK, VALID]
    assert first.text == MESSAGES["two_are_doubtful"]
    assert first.baseline_text == MESSAGES["baseline"]
    for name in ("before the upgrade", "before, the update"):
        upgraded.pin(NETWORK, name)
    (both, *_) = recall_groups(upgraded.library().rows)
    assert both.baseline_text == MESSAGES["baselines"]
    title, more = notice_of((both, *others))
    assert title == f"{first.text}."
    assert more.startswith(both.baseline_text)
    assert {row.id for row in upgraded.matching(str(first.filter))[1]} == {VALID, NETWORK}
    upgraded.dismiss_recalls([row.id for one in groups for row in one.rows])
    assert recall_groups(upgraded.library().rows) == ()
    assert {VALID, NETWORK} <= {row.id for row in upgraded.matching("recall:yes")[1]}
    assert others == [] or all(not one.baselines for one in others)


def test_a_check_that_no_longer_objects_gives_the_trust_back(
    upgraded: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_check(monkeypatch, "too-brief")
    (one,) = (one for one in upgraded.rejudge() if one.run == BRIEF)
    assert one.recall is not None
    assert (one.recall.was, one.recall.now) == ("doubtful", "valid")
    assert one.recall.reason.startswith("no longer “")
    assert "too-brief" not in {each.id for each in listed(upgraded.load(BRIEF))}
    assert not recall_groups(upgraded.library().rows)[0].worse


def test_a_recall_that_a_third_version_withdraws_is_no_recall(
    upgraded: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as second:
        with_check(second)
        list(upgraded.rejudge())
    for module in (steps, stored, rejudge):
        monkeypatch.setattr(module, "CHECKS_VERSION", CHECKS_VERSION + 2)
    monkeypatch.setattr("app.checks.version.CHECKS_VERSION", CHECKS_VERSION + 2)
    list(upgraded.rejudge())
    assert recall_groups(upgraded.library().rows) == ()
    record = upgraded.load(VALID)
    assert record.recall is None
    wholes = [one.verdict for one in record.earlier if one.verdict.step is None]
    assert [(one.trust, one.checks) for one in wholes] == [
        (Trust.DOUBTFUL, CHECKS_VERSION + 1), (Trust.VALID, CHECKS_VERSION),
    ]  # fmt: skip


def test_a_dry_run_stores_nothing(upgraded: Workstation, monkeypatch: pytest.MonkeyPatch) -> None:
    with_check(monkeypatch)
    before, waiting = everything(upgraded), upgraded.outdated_runs()
    assert [one.run for one in upgraded.rejudge(dry_run=True) if one.recall is not None]
    assert everything(upgraded) == before
    assert upgraded.outdated_runs() == waiting


def test_closed_before_its_end_it_goes_on_from_there(upgraded: Workstation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejudge, "WRITE_INTERVAL", 0.0)
    waiting = upgraded.outdated_runs()
    part = upgraded.rejudge()
    for _ in range(3):
        next(part)
    part.close()  # type: ignore[attr-defined]  # a generator
    assert upgraded.outdated_runs() == waiting[3:]
    assert [one.run for one in upgraded.rejudge()] == waiting[3:]


def test_two_processes_at_once_judge_each_run_once(upgraded: Workstation, monkeypatch: pytest.MonkeyPatch) -> None:
    with_check(monkeypatch)
    first = upgraded.rejudge()
    next(first)
    with closing(Workstation(upgraded.library_path, upgraded.library_path.with_name("h.toml"))) as other:
        list(other.rejudge())
        other.dismiss_recalls([VALID])
    list(first)
    record = upgraded.load(VALID)
    assert record.recall is not None
    assert record.recall.dismissed is not None, "the first wrote over what the other had stored"
    assert len(record.earlier) == len(record.verdicts), "each verdict was replaced once"
    assert len(record.findings) == len({(one.id, one.step, one.host) for one in record.findings})


def test_a_run_that_goes_on_or_was_deleted_meanwhile_is_left_alone(
    upgraded: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(upgraded._store, RUN, run_events.run_events(RUN))
    with_check(monkeypatch)
    monkeypatch.setattr(rejudge, "WRITE_INTERVAL", 1e9)
    judging = upgraded.rejudge([VALID, RUN, BRIEF])
    assert next(judging).run == VALID
    with upgraded._store.database.writing() as connection:
        connection.exec_driver_sql(f"UPDATE runs SET state = 'running' WHERE id = '{VALID}'")
    next(judging)
    upgraded.delete(RUN)
    list(judging)
    assert upgraded._store.load(VALID).earlier == ()
    assert RUN not in {row.id for row in upgraded.library().rows}
    assert upgraded._store.load(BRIEF).verdict is not None
    assert [one.problem for one in upgraded.rejudge([VALID])] == ["It has not ended."]


def test_a_verdict_of_later_checks_is_not_judged_by_earlier_ones(workstation: Workstation) -> None:
    with workstation._store.database.writing() as connection:
        connection.exec_driver_sql("UPDATE verdicts SET checks = 99")
    assert workstation.outdated_runs() == []
    assert list(workstation.rejudge()) == []


def test_locked_runs_are_judged_and_a_library_that_cannot_be_written_is_not(
    upgraded: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_check(monkeypatch)
    upgraded.lock([VALID], "evidence")
    refused = StoreError("read-only")
    with monkeypatch.context() as context:
        context.setattr(Store, "read_only", lambda _self: refused)
        with pytest.raises(StoreError):
            list(upgraded.rejudge())
        assert [one for one in upgraded.rejudge(dry_run=True) if one.recall]
    list(upgraded.rejudge())
    assert upgraded.load(VALID).recall is not None


def reads_otherwise(monkeypatch: pytest.MonkeyPatch, factor: float, added: tuple[Figure, ...] = ()) -> None:
    """Let the parser read the first figure of each result otherwise, and those of `added` as well."""

    def read(text: str, between: Between) -> Recognition:
        found = recognise(text, between)
        outputs = []
        for one in found.found:
            parsed = one.output.parsed
            first = replace(parsed.figures[0], value=parsed.figures[0].value * factor)
            parsed = replace(parsed, figures=(first, *parsed.figures[1:], *added))
            outputs.append(replace(one, output=replace(one.output, parsed=parsed)))
        return replace(found, found=tuple(outputs))

    monkeypatch.setattr("app.outputs.files.recognise", read)


def test_an_imported_file_that_is_read_otherwise_now_makes_its_figures_doubtful(
    upgraded: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = upgraded.load(IMPORTED)
    reads_otherwise(monkeypatch, 1.1)
    (one,) = (one for one in upgraded.rejudge() if one.run == IMPORTED)
    assert one.recall is not None
    assert (one.recall.was, one.recall.now) == ("unverified", "doubtful")
    now = upgraded.load(IMPORTED)
    assert now.trials == before.trials, "a figure never changes"
    (finding,) = (each for each in listed(now) if each.id == "read-otherwise")
    figure = before.trials[0].figures[0]
    assert "stored" in finding.measured
    assert figure.metric.title in finding.measured
    assert now.verdict is not None
    assert now.verdict.summary.startswith("Doubtful: ")


def test_a_figure_that_is_read_in_addition_makes_no_doubt(
    upgraded: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads_otherwise(monkeypatch, 1.0, (Figure(REQUESTS, 4.0),))
    (one,) = (one for one in upgraded.rejudge() if one.run == IMPORTED)
    assert one.recall is None
    assert "read-otherwise" not in {each.id for each in listed(upgraded.load(IMPORTED))}


def test_an_imported_run_whose_file_is_gone_keeps_its_verdict(upgraded: Workstation) -> None:
    before = upgraded.load(REDACTED)
    (one,) = upgraded.rejudge([REDACTED])
    assert one.problem == MESSAGES["no_file"]
    assert upgraded.load(REDACTED) == replace(before, unjudged=one.problem)


def test_a_finding_of_the_end_of_a_trial_is_not_taken_for_one_seen_during_it() -> None:
    seen = FindingRaised(run_events.FINDING, None)
    during = FindingRaised(replace(run_events.FINDING, id="other-process", measured="a"), 1, 12.0)
    ended = FindingRaised(replace(run_events.FINDING, id="other-process", measured="b"), 1)
    made = FindingRaised(replace(run_events.FINDING, id="other-process", measured="c"), 1, checks=1)
    run = run_events.run_record("a", (1.0,))
    assert tuple(seen_by_the_run(run.with_raised((seen, during, ended, made)))) == (seen, during)
    assert tuple(seen_by_the_run(run.with_raised((seen, made)))) == (seen,)
    old = FindingRaised(replace(ended.finding, measured="9 %. In 2 of 3 trials."), 1)
    assert tuple(seen_by_the_run(run.with_raised((seen, ended, old)))) == (seen, ended), "before format 13: kept"


def test_a_calibration_that_was_made_after_a_run_does_not_change_its_verdict() -> None:
    run = run_events.run_record("a", (1.0,))
    began = datetime.fromisoformat(run.summary.started)
    before, after = (
        replace(calibration(suite="fio"), made=(began + timedelta(days=days)).isoformat()) for days in (-1, 1)
    )
    assert rejudge._as_it_was(replace(run, calibrations=(after, before))).calibrations == (before,)


def test_the_command_shows_what_changes_before_it_stores_it(workstation: Workstation) -> None:
    """As a process of its own, on a library of an earlier version in which a verdict has been made to differ."""
    path = workstation.library_path
    with workstation._store.database.writing() as connection:
        connection.exec_driver_sql(f"UPDATE verdicts SET level = 'invalid' WHERE run_id = '{VALID}'")
    workstation.pin(NETWORK, "nightly")
    workstation.close()
    planned = benchwright("--store", path, "rejudge", "--dry-run")
    assert planned.status == DONE
    assert MESSAGES["one_is_valid"] in planned.out.splitlines()
    assert f"12 runs would be judged by checks version {CHECKS_VERSION}, the trust of 2 changed." in planned.out
    done = benchwright("--store", path, "rejudge", "--json").json
    (changed,) = [one for one in done["changed"] if one["run"] != SHORT]
    assert (changed["run"], changed["was"], changed["now"]) == (VALID, "invalid", "valid")
    assert (done["judged"], done["failed"], done["stored"]) == (12, {}, True)
    shown = benchwright("--store", path, "show", VALID).out
    assert f"Judged by checks version {CHECKS_VERSION}. Was invalid until checks version {CHECKS_VERSION}." in shown
    assert MESSAGES["earlier"] in shown
    assert len(benchwright("--store", path, "show", "--json", VALID).json["earlier_verdicts"]) == 2
    assert VALID in {one["id"] for one in benchwright("--store", path, "list", "--json", "recall:yes").json}
    refused = benchwright("--store", path, "rejudge", REDACTED)
    assert refused.status == FAILED
    assert f"{REDACTED} keeps its verdict: {MESSAGES['no_file']}" in refused.out
    assert benchwright("--store", path, "rejudge", "--all", VALID).status == BAD_INPUT


def test_what_was_replaced_goes_with_its_run(
    upgraded: Workstation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_check(monkeypatch)
    list(upgraded.rejudge())
    *_, last = upgraded.export_library([VALID], tmp_path / "bundle.sqlite3")
    assert last.whole
    with closing(Workstation(tmp_path / "bundle.sqlite3", tmp_path / "hosts.toml")) as other:
        ours, theirs = upgraded.load(VALID), other.load(VALID)
        assert theirs.earlier == ours.earlier
        assert theirs.recall == ours.recall
        assert [one.checks for one in theirs.raised] == [one.checks for one in ours.raised]
        other.delete(VALID)
        with other._store.database.reading() as connection:
            for table in ("earlier_verdicts", "recalls"):
                assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one() == 0

"""Runs go from one library to another as a file; what a stranger put into that file is not believed."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from app.library_rows import Annotation
from app.services import Workstation
from app.store.errors import StoreError
from app.store.run_transfer import Imported
from app.summary import run_to_json
from tests.program import DONE, FAILED, benchwright
from tests.widgets.library_runs import Made, record

FIRST = Made("20260101-000000-0001", iops=(1000.0, 1010.0), samples=3, output=b"\x00raw \xff")
SECOND = Made("20260102-000000-0002", iops=(900.0, 905.0), samples=3, host="web-10")


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Workstation]:
    made = Workstation(tmp_path / "source.sqlite3", tmp_path / "hosts.toml")
    record(made, FIRST, SECOND)
    made.annotate({FIRST.run_id: Annotation(note="kept", tags=("cold",))})
    yield made
    made.close()


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Workstation]:
    made = Workstation(tmp_path / "target.sqlite3", tmp_path / "hosts.toml")
    record(made, Made("20260103-000000-0003", iops=(1.0,), samples=2, cpu=(8000.0,)))  # its rows have other numbers
    yield made
    made.close()


def content(workstation: Workstation, run: str) -> object:
    """Return everything of a run that is seen."""
    record = workstation.load(run)
    row = next(row for row in workstation.library().rows if row.id == run)
    series = {trial: list(samples) for trial, samples in workstation.samples(run).items()}
    outputs = [workstation.output(run, trial.trial.id) for trial in record.trials]
    return run_to_json(record, workstation.within([run])), row, series, outputs, workstation.telemetry(run)


def written(workstation: Workstation, runs: Sequence[str], path: Path) -> Path:
    """Export runs as a library file and return it."""
    *_, last = workstation.export_library(runs, path)
    assert last.whole
    return path


def imported(workstation: Workstation, path: Path, runs: Sequence[str] = ()) -> Imported:
    """Import runs and return what was done."""
    *_, last = workstation.import_runs(path, runs)
    return last


def change(path: Path, statement: str) -> None:
    """Change a library behind the back of the program that wrote it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


def test_a_run_has_everything_in_another_library(source: Workstation, target: Workstation, tmp_path: Path) -> None:
    bundle = written(source, [FIRST.run_id], tmp_path / "bundle.sqlite3")
    before = bundle.read_bytes()
    assert [run.id for run in target.runs_to_import(bundle)] == [FIRST.run_id]
    assert imported(target, bundle).runs == (FIRST.run_id,)
    assert content(target, FIRST.run_id) == content(source, FIRST.run_id)
    assert imported(target, bundle).present == (FIRST.run_id,)
    assert bundle.read_bytes() == before
    assert sorted(path.name for path in tmp_path.glob("bundle*")) == ["bundle.sqlite3"]
    with pytest.raises(StoreError, match="exists"):
        written(source, [FIRST.run_id], bundle)


def test_a_transfer_that_is_cancelled_leaves_no_file_and_says_what_was_imported(
    source: Workstation, target: Workstation, tmp_path: Path
) -> None:
    exporting = source.export_library([FIRST.run_id, SECOND.run_id], tmp_path / "bundle.sqlite3")
    reached = next(exporting)
    assert (reached.done, reached.total, reached.whole) == (1, 2, False)
    exporting.close()
    assert list(tmp_path.glob("bundle*")) == []
    exporting = source.export_library([FIRST.run_id], tmp_path / "whole.sqlite3")
    assert next(exporting).whole
    exporting.close()  # cancelled too late: what is called written stays
    assert [run.id for run in target.runs_to_import(tmp_path / "whole.sqlite3")] == [FIRST.run_id]
    importing = target.import_runs(written(source, [FIRST.run_id, SECOND.run_id], tmp_path / "bundle.sqlite3"))
    assert [next(importing).done for _ in range(2)] == [0, 1]
    importing.close()
    assert len(target.runs()) == 2


def test_the_command_line_exports_and_imports(source: Workstation, target: Workstation, tmp_path: Path) -> None:
    bundle = tmp_path / "both.sqlite3"
    exported = benchwright("--store", source.library_path, "export", "last", FIRST.run_id, "--library", bundle)
    assert exported.status == DONE
    one = benchwright("--store", target.library_path, "import", bundle, SECOND.run_id, "--json")
    assert (one.status, one.json["runs"]) == (DONE, [SECOND.run_id])
    rest = benchwright("--store", target.library_path, "import", bundle)
    assert (rest.status, "1 run already" in rest.out) == (DONE, True)
    nothing = benchwright("--store", target.library_path, "import", tmp_path / "missing.sqlite3")
    assert (nothing.status, "missing.sqlite3" in nothing.err) == (FAILED, True) or nothing.status == 2


def test_what_may_be_on_hosts_stays_with_the_library_that_ran(source: Workstation, target: Workstation) -> None:
    change(
        source.library_path,
        "INSERT INTO changes (run_id, host, what, path, before, during, changed, problem) SELECT id, 'web-1', "
        "'governor', '/etc/passwd', 'x', 'y', 'z', '' FROM runs",
    )
    assert source.pending_changes()
    imported(target, source.library_path)
    assert target.pending_changes() == []
    assert target.detached_runs() == []


def test_a_run_under_way_is_refused(source: Workstation, target: Workstation, tmp_path: Path) -> None:
    change(source.library_path, f"UPDATE runs SET state = 'running' WHERE id = '{FIRST.run_id}'")
    assert [run.id for run in target.runs_to_import(source.library_path)] == [SECOND.run_id]
    with pytest.raises(StoreError, match="not ended"):
        written(source, [FIRST.run_id], tmp_path / "bundle.sqlite3")
    assert not (tmp_path / "bundle.sqlite3").exists()


@pytest.mark.quick(4)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE runs SET plan = '{' WHERE id = '{run}'",
        "UPDATE trials SET number = 'many' WHERE run_id = '{run}'",
        "UPDATE output SET data = 'text' WHERE run_id = '{run}'",
        "UPDATE metrics SET unit = 'parsec'",
        "UPDATE series SET metric = 99 WHERE run_id = '{run}'",
        "UPDATE runs SET id = '../../{run}' WHERE id = '{run}'",
        "UPDATE annotations SET tags = '{' WHERE run_id = '{run}'",
    ],
)
def test_a_malformed_run_is_refused_and_the_others_are_imported(
    source: Workstation, target: Workstation, statement: str
) -> None:
    change(source.library_path, statement.replace("{run}", FIRST.run_id))
    before = [run.id for run in target.runs()]
    found = imported(target, source.library_path)
    refused = [run for run, _ in found.refused]
    assert refused[-1].endswith(FIRST.run_id)
    assert [run.id for run in target.runs()] == [*before, *found.runs]
    for run in target.runs():
        target.load(run.id)


def test_a_damaged_file_is_named_as_its_owner_knows_it(
    source: Workstation, target: Workstation, tmp_path: Path
) -> None:
    cut = tmp_path / "cut.sqlite3"
    cut.write_bytes(written(source, [FIRST.run_id], tmp_path / "bundle.sqlite3").read_bytes()[:30_000])
    with pytest.raises(StoreError) as caught:
        imported(target, cut)
    assert str(cut) in f"{caught.value.message} {caught.value.remedy}"
    assert "/copy" not in f"{caught.value.message} {caught.value.remedy}"


@pytest.mark.parametrize("content", [None, b"", b"text that is no library"])
def test_what_is_no_library_is_refused_as_the_file_to_import(
    target: Workstation, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "bundle.sqlite3"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StoreError) as caught:
        imported(target, path)
    assert str(path) in caught.value.message
    assert "--store" not in caught.value.remedy


def test_a_library_with_code_is_not_read(source: Workstation, target: Workstation) -> None:
    change(source.library_path, "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END")
    with pytest.raises(StoreError, match="trigger t"):
        target.runs_to_import(source.library_path)
    with pytest.raises(StoreError, match="trigger t"):
        imported(target, source.library_path)

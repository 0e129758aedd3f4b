"""Export of the runs of a baseline."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli.main import benchwright
from app.store.store import Store
from tests.app.run_events import run_events
from tests.app.stores import record, store

__all__ = ["store"]

RUNS = [f"20261120-14153{number}-k3f9" for number in range(3)]


@pytest.fixture
def pinned(store: Store) -> Store:
    for run in RUNS:
        record(store, run, run_events(run, [1000.0, 1010.0, 990.0]))
    for name, run in (("one", RUNS[0]), ("two", f"{RUNS[1]},{RUNS[2]}")):
        assert call(store, "baseline", "pin", run, name, "--accept-invalid").exit_code == 0
    return store


def call(store: Store, *words: str) -> Result:
    return CliRunner().invoke(benchwright, ["--store", str(store.path), *words])


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("word", "runs", "redact"),
    [
        ("baseline:one@1", RUNS[:1], "--no-redact"),
        ("baseline:two", RUNS[1:], "--redact"),
        (f"{RUNS[0]},{RUNS[2]}", [RUNS[0], RUNS[2]], "--no-redact"),
    ],
)
def test_a_library_has_the_runs_of_a_baseline(
    pinned: Store, tmp_path: Path, word: str, runs: list[str], redact: str
) -> None:
    path = tmp_path / "exported.sqlite3"
    ran = call(pinned, "export", word, "--library", str(path), redact)
    assert ran.exit_code == 0, ran.output
    with closing(Store(path)) as exported:
        assert sorted(one.id for one in exported.runs()) == runs


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", ["run-json", "ticket"])
def test_a_file_of_one_run_takes_a_baseline_of_one(pinned: Store, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file.png"
    assert call(pinned, "export", "baseline:one", f"--{kind}", str(path)).exit_code == 0
    assert path.stat().st_size
    refused = call(pinned, "export", "baseline:two", f"--{kind}", str(tmp_path / "none.png"))
    assert refused.exit_code == 2
    assert all(run in refused.stderr for run in RUNS[1:])


def test_a_single_run_is_named_as_compare_names_it(pinned: Store) -> None:
    assert json.loads(call(pinned, "show", "baseline:one", "--json").stdout)["id"] == RUNS[0]


@pytest.mark.parametrize("word", ["baseline:none", "baseline:t2-micro-cpu"])
def test_a_baseline_without_runs_is_named(pinned: Store, tmp_path: Path, word: str) -> None:
    refused = call(pinned, "export", word, "--library", str(tmp_path / "none.sqlite3"))
    assert refused.exit_code == 2
    assert word.removeprefix("baseline:") in refused.stderr
    assert not list(tmp_path.glob("none*"))

"""The library as data frames: tidy, typed, documented, and the same figures as in the exported files."""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import resources
from app.cli.main import benchwright
from app.export import export_csv, export_parquet
from app.results import FACTS, METRICS, RUNS, SAMPLES, Library, open_library
from app.store.store import Store
from suites.errors import BenchwrightError
from tests.app import run_events

RUN = "20261120-141530-k3f9"
PAGE = (Path(resources.__file__).parent / "help" / "formats.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Results in Python\n")[2].partition("\n## ")[0]


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    store = Store(tmp_path / "runs.sqlite3")
    with store.recorder(RUN) as recorder:
        for event in run_events.run_events(RUN, (1000.0, 1100.0, 1200.0)):
            recorder.record(event)
    store.close()
    with open_library(tmp_path / "runs.sqlite3") as found:
        yield found


def types(frame: pd.DataFrame) -> dict[str, str]:
    return {str(name): str(kind) for name, kind in frame.dtypes.items()}


@pytest.mark.parametrize(("name", "columns"), [("metrics", METRICS), ("samples", SAMPLES), ("facts", FACTS)])
def test_frames_have_the_documented_columns_and_types(library: Library, name: str, columns: Mapping[str, str]) -> None:
    found = getattr(library, name)
    assert types(found("last")) == columns
    assert types(found()) == columns  # also without a row
    row = next(line for line in SECTION.splitlines() if line.startswith(f"| `{name}(RUN…)`"))
    assert re.findall(r"`(\w+)`", row.rpartition(" | ")[2]) == list(columns)


def test_runs_are_listed(library: Library) -> None:
    runs = library.runs()
    assert types(runs) == RUNS
    (row,) = runs.to_dict("records")
    assert (row["run"], row["hosts"], row["state"], row["trials"]) == (RUN, "web-1", "done", 3)
    assert row["started"] == pd.Timestamp("2026-11-20T14:15:30Z")
    line = next(line for line in SECTION.splitlines() if line.startswith("| `runs()`"))
    assert re.findall(r"`(\w+)`", line.rpartition(" | ")[2]) == list(RUNS)


def test_metrics_are_those_of_the_trials_and_of_all(library: Library) -> None:
    found = library.metrics("last")
    iops = found[found["metric"] == "iops"]
    assert iops[iops["trial"].notna()]["value"].tolist() == [1000.0, 1100.0, 1200.0]
    whole = iops[iops["trial"].isna()].iloc[0]
    assert (whole["median"], whole["n"], whole["minimum"], whole["maximum"]) == (1100.0, 3, 1000.0, 1200.0)
    assert whole["value"] == pytest.approx(1096.96, abs=0.01)
    assert whole["cov"] == pytest.approx(100 / 1100)
    assert (whole["ci95_low"], whole["ci95_high"]) == (pytest.approx(874.6, abs=0.1), pytest.approx(1375.9, abs=0.1))
    assert iops[iops["trial"].notna()]["ci95_low"].isna().all()
    assert set(iops["unit"]) == {"1/s"}


def test_samples_know_their_trial_and_the_warm_up(library: Library) -> None:
    found = library.samples(RUN)
    test = found[found["kind"] == "test"]
    assert test.groupby("trial").size().to_dict() == {1: 5, 2: 5, 3: 5}
    assert bool(test["warm_up"].iloc[0])
    watched = found[found["kind"] == "telemetry"]
    assert watched["trial"].isna().all()
    assert watched["unit"].tolist() == ["%"] * len(watched)


def test_facts_are_named_by_their_path_and_absent_ones_say_why(library: Library) -> None:
    found = library.facts("last")
    facts = {row["fact"]: row for row in found[found["moment"] == "before"].to_dict("records")}
    assert facts["cpu.threads"]["number"] == 8
    assert facts["cpu.model"]["value"] == "Xeon Platinum 8488C"
    assert pd.isna(facts["cpu.cores"]["value"])
    assert facts["cpu.cores"]["absent"] == "not read"


def test_the_example_of_the_help_page_runs(
    library: Library, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.paths.store_path", lambda: library._store.path)
    code = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    assert len(code) == 1
    exec(compile(code[0], "formats.md", "exec"), {})  # noqa: S102 (the page's own example)
    printed = capsys.readouterr().out
    assert "1100.0" in printed
    assert "time_s" in printed


def test_a_library_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(BenchwrightError, match="There is no library"):
        open_library(tmp_path / "none.sqlite3")
    assert not (tmp_path / "none.sqlite3").exists()


def test_parquet_holds_what_the_csv_holds(library: Library, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    runs = list(library._selection.read([RUN]))
    typed = export_parquet(runs, tmp_path / "run.parquet")
    text = export_csv(runs, tmp_path / "run.csv")
    assert [path.name for path in typed] == ["run.parquet", "run-samples.parquet"]
    for parquet, csv, columns in zip(typed, text, (METRICS, SAMPLES), strict=True):
        found, plain = pd.read_parquet(parquet), pd.read_csv(csv)
        assert list(found) == list(plain) == list(columns)
        assert found["value"].tolist() == plain["value"].tolist()
        assert found["metric"].tolist() == plain["metric"].tolist()
    metrics = pd.read_parquet(typed[0])
    assert metrics["trial"].isna().sum() == 2
    assert str(metrics["started"].dtype) == "datetime64[us, UTC]"


def test_without_pyarrow_parquet_says_what_is_missing(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    target = tmp_path / "run.parquet"
    words = ["--store", str(library._store.path), "export", "last", "--parquet", str(target)]
    found = CliRunner().invoke(benchwright, words)
    assert found.exit_code == 2
    assert "pyarrow" in found.output
    assert not target.exists()

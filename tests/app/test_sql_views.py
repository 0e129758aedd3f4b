"""The views of a library give other programs the figures that an export has, and no other view is believed."""

import csv
import hashlib
import json
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from app.baselines.baselines import pin
from app.events import FactsRead, FindingRaised, Moment, TelemetryRead, VerdictReached
from app.results import FACTS, Library
from app.services import Workstation
from app.store.errors import DamagedError
from app.store.salvage import salvage
from app.store.schema import FORMAT
from app.store.sql_views import STATEMENTS
from app.store.store import Store
from suites.verdict import Limiter, Trust, Verdict
from suites.vocab import Sample
from tests.app import run_events
from tests.app.stores import RUN, record, store
from tests.app.test_packed_samples import STORES, events
from tests.remote.test_facts_captured import captured, facts_of

__all__ = ["store"]  # a fixture

OTHER = "20261121-141530-k3f9"

ODD = (("operation", 'a "quoted" \\ é'), ("size", "4k"))
"""Labels that JSON escapes."""


@pytest.fixture
def filled(store: Store) -> Store:
    """Return a library with a packed run, and one under way whose samples are in rows."""
    facts = replace(facts_of(captured("aws-c7i")), host="web-1")
    for run in (RUN, OTHER):
        made = [replace_labels(event) for event in events(120, run)]
        verdict = Verdict(Trust.CAVEATS, Limiter.CPU, "Summary.", (), "random read", "web-1")
        more = [
            FactsRead("web-1", Moment.BEFORE, facts),
            FindingRaised(run_events.FINDING, 1),
            VerdictReached(verdict),
            VerdictReached(replace(verdict, step=None, host=None, limited_by=None)),
        ]
        record(store, run, [*made[:-1], *more, *made[-1:][: run == RUN]])
    return store


def replace_labels(event: Any) -> Any:
    """Return an event with labels that JSON escapes, in a trial's figures and in one of four samples."""
    if hasattr(event, "sample") and event.sample.labels and event.sample.time == int(event.sample.time):
        return replace(event, sample=replace(event.sample, labels=ODD))
    if hasattr(event, "parsed"):
        figures = [replace(one, value=0.1 + 0.2, labels=ODD) for one in event.parsed.figures]
        return replace(event, parsed=replace(event.parsed, figures=tuple(figures)))
    return event


def frame(store: Store, query: str) -> pd.DataFrame:
    """Return the result of a query as another program reads it."""
    with closing(sqlite3.connect(f"file:{store.path}?mode=ro", uri=True)) as connection:
        return pd.read_sql(query, connection)


def texts(found: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return rows as texts, absent values as empty, numbers in full, in any order."""
    return sorted(tuple(map(text, row)) for row in found.itertuples(index=False))


def text(value: Any) -> str:
    if pd.isna(value):
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return repr(float(value)) if isinstance(value, int | float) else str(value)


def exported(rows: Iterator[dict[str, str]], columns: dict[str, type]) -> list[tuple[str, ...]]:
    """Return the rows of a CSV file as texts()."""
    flags = {"True": "1", "False": "0", "true": "1", "false": "0"}
    return sorted(
        tuple(
            repr(float(row[name])) if kind is float and row[name] else repr(float(flags.get(row[name], row[name])))
            if kind is bool and row[name] else row[name]
            for name, kind in columns.items()
        )
        for row in rows
    )  # fmt: skip


@pytest.mark.parametrize("run", [RUN, OTHER])
def test_metrics_and_samples_are_those_of_the_csv_files(filled: Store, tmp_path: Path, run: str) -> None:
    with closing(Workstation(filled.path, tmp_path / "hosts.toml")) as workstation:
        metrics, samples = workstation.export_csv([run], tmp_path / "all.csv")
    columns: dict[str, type] = {
        "run": str, "host": str, "step": str, "trial": float, "kind": str, "time_s": float, "metric": str,
        "labels": str, "value": float, "unit": str, "warm_up": bool,
    }  # fmt: skip
    with samples.open(newline="") as file:
        expected = exported(csv.DictReader(file), columns)
    found = frame(filled, f"SELECT {', '.join(columns)} FROM results_samples WHERE run = '{run}'")
    assert len(expected) > 400
    assert texts(found) == expected
    columns = {
        "run": str, "started": str, "host": str, "step": str, "trial": float, "warm_up": bool, "state": str,
        "metric": str, "labels": str, "value": float, "unit": str, "better": str, "trust": str, "limited_by": str,
    }  # fmt: skip
    with metrics.open(newline="") as file:
        expected = exported((row for row in csv.DictReader(file) if row["trial"] != "all"), columns)
    found = frame(filled, f"SELECT {', '.join(columns)} FROM results_metrics WHERE run = '{run}'")
    assert len(expected) == 2
    assert texts(found) == expected


def test_facts_are_those_of_the_frames(filled: Store) -> None:
    with closing(Library(filled)) as library:
        expected = library.facts(RUN)
    found = frame(filled, f"SELECT {', '.join(FACTS)} FROM results_facts WHERE run = '{RUN}'")
    assert len(found) > 300
    expected["value"] = [as_sqlite(value) for value in expected["value"]]
    assert texts(found) == texts(expected)


def as_sqlite(value: Any) -> Any:
    """Return the text of a fact as SQLite writes it: lists without spaces, and 15 digits."""
    if pd.isna(value) or not value.startswith("["):
        return f"{float(value):.15g}" if re.fullmatch(r"\d+\.\d{6,}", str(value)) else value
    return json.dumps(json.loads(value), separators=(",", ":"), ensure_ascii=False)


def test_runs_and_findings(filled: Store) -> None:
    pin(filled, RUN, "good")
    with closing(Library(filled)) as library:
        expected = library.runs()
    shared = ["run", "name", "question", "hosts", "steps", "state", "headline", "trust", "limited_by"]
    found = frame(filled, f"SELECT {', '.join(shared)} FROM results_runs WHERE run = '{RUN}'")
    assert texts(found) == texts(expected.loc[expected["run"] == RUN, shared])
    assert found["trust"].to_list() == [Trust.CAVEATS.value]
    rows = frame(filled, "SELECT run, host, step, trial, finding, severity, title, measured FROM results_findings")
    one = run_events.FINDING
    for row, run in zip(sorted(rows.itertuples(index=False)), (RUN, OTHER), strict=True):
        assert tuple(row) == (run, one.host, one.step, 1, one.id, "warning", one.title, one.measured)


def test_the_shell_of_sqlite_reads_them(filled: Store) -> None:
    shell = shutil.which("sqlite3")
    if shell is None:
        pytest.skip("the shell of SQLite is not installed")
    query = f"SELECT count(*), min(time_s), max(time_s) FROM results_samples WHERE run = '{RUN}' AND trial = 1"
    ran = subprocess.run([shell, "-readonly", str(filled.path), query], capture_output=True, text=True, check=True)
    times = [sample.time for sample in filled.samples(RUN)[1]]
    number, low, high = ran.stdout.strip().split("|")
    assert (int(number), float(low), float(high)) == (len(times), min(times), max(times))


def test_the_queries_of_the_help_answer(filled: Store) -> None:
    page = (Path(__file__).parents[2] / "resources/help/library.md").read_text()
    queries = re.findall(r"```\n(SELECT .*?)```", page, re.DOTALL)
    cpu = replace(run_events.CPU_BUSY, name="cpu_user")
    later = "20261125-141530-k3f9"
    last = list(run_events.run_events(later, (1000.0, 2000.0), started="2026-11-25T14:15:30+00:00"))
    watched = TelemetryRead("web-1", (Sample(21.0, cpu, 10.0), Sample(29.0, cpu, 30.0)))
    verdict = VerdictReached(Verdict(Trust.VALID, None, "Summary.", (), "random read", "web-1"))
    record(filled, later, [*last[:2], watched, verdict, *last[2:]])
    means, percent, kernels = (frame(filled, query) for query in queries)
    (row,) = (row for row in means.itertuples() if row.labels == "operation=read")
    assert (row.host, row.step, row.trials, row.mean, row.unit) == ("web-1", "random read", 2, 1500.0, "1/s")
    assert percent.to_numpy().tolist() == [["web-1", 20, 20.0]]
    assert ["6.1.0", later, "web-1", 1500.0, "1/s"] in kernels.to_numpy().tolist()


def test_a_run_is_found_by_indexes(filled: Store) -> None:
    """A query about one run must not read the others: there may be 20,000."""
    with closing(sqlite3.connect(filled.path)) as connection:
        for name in ("metrics", "samples", "facts", "findings"):
            query = f"EXPLAIN QUERY PLAN SELECT * FROM results_{name} WHERE run = '{RUN}'"
            plan = [row[3] for row in connection.execute(query)]
            scans = [
                line for line in plan if line.startswith("SCAN") and "VIRTUAL" not in line and "CONSTANT" not in line
            ]
            assert scans == [], name


@pytest.mark.parametrize("file", sorted(STORES.glob("format-*.sqlite3")), ids=lambda path: path.stem)
def test_an_older_library_gets_the_views(tmp_path: Path, file: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(file, path)
    store = Store(path)
    runs = len(store.library().rows)
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        views = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'view'").fetchall())
        counts = [connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in views]
    assert views == STATEMENTS
    assert counts[list(views).index("results_runs")] == runs
    assert min(counts[list(views).index(f"results_{name}")] for name in ("metrics", "samples")) > 0


CHANGED = {
    "another text": ("results_runs", lambda sql: sql.replace("runs.question", "randomblob(1000000000) AS question")),
    "another case": ("results_facts", str.lower),
    "a space more": ("results_samples", lambda sql: sql.replace(" AS run", "  AS run", 1)),
    "a comment": ("results_findings", lambda sql: sql + " -- harmless"),
    "the text of another": (
        "results_findings",
        lambda _: STATEMENTS["results_runs"].replace("runs AS", "findings AS", 1),
    ),
    "another name": ("results_metrics", lambda sql: sql.replace("results_metrics", "results_more", 1)),
}


@pytest.mark.parametrize(("name", "change"), CHANGED.values(), ids=CHANGED)
def test_only_the_exact_views_are_accepted(filled: Store, name: str, change: Any) -> None:
    filled.close()
    with closing(sqlite3.connect(filled.path)) as connection:
        connection.execute(f"DROP VIEW {name}")
        connection.execute(change(STATEMENTS[name]))
        connection.commit()
        stored = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'view' AND sql = ?", (STATEMENTS[name],)
        )
        if change is not None and stored.fetchall():
            pytest.skip("SQLite keeps the same text")
    with pytest.raises(DamagedError, match="SQL code not written by Benchwright: view results_"):
        Store(filled.path).runs()


def test_views_stay_through_salvage_backup_and_export(filled: Store, tmp_path: Path) -> None:
    saved, copy, bundle = (tmp_path / f"{name}.sqlite3" for name in ("saved", "copy", "bundle"))
    list(filled.back_up(copy))
    list(filled.export_runs([RUN], bundle))
    filled.close()
    salvage(filled.path, saved)
    for path in (saved, copy, bundle):
        with closing(sqlite3.connect(path)) as connection:
            assert dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'view'")) == STATEMENTS
            assert connection.execute("SELECT count(*) FROM results_samples").fetchone()[0] > 400
        assert Store(path).load(RUN).trials


def test_views_change_only_with_the_format() -> None:
    """A library has the text of its own format: if this fails, read the docstring of sql_views."""
    digest = hashlib.sha256("\n".join(STATEMENTS.values()).encode()).hexdigest()
    assert (FORMAT, digest[:16]) == (18, "abbef7a56b13d22e")

"""A library that was carried here from another computer: what is in it is not believed."""

import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from operator import methodcaller
from pathlib import Path

import pytest
from sqlalchemy import update

from app.plans.plan import Plan, Step, make_step
from app.plans.validation import validate
from app.runs.control import Control
from app.services import Workstation
from app.store import schema
from app.store.errors import DamagedError, StoreError
from app.store.library_file import for_reading, for_writing
from app.store.salvage import salvage
from app.store.store import Store
from suites.errors import ParameterError
from tests.app.test_detached_runs import RUN, begun, record
from tests.lab_sshd import AnsweringAsker

Connect = Callable[[Path], sqlite3.Connection]

HOSTILE = [{"ioengine": "external:/tmp/x.so"}, {"directory": "relative\nrm"}, {"iodepth": 10**9}, {"size": "4k"}]
"""Values that no plan file, no form and no command line accepts."""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite3"
    record(Store(path), begun())
    return path


def written_into(path: Path, values: dict[str, object]) -> None:
    """Give the first step of the run in the library other values."""
    store = Store(path)
    plan = store.load(RUN).plan
    step = make_step("fio", {}, name=plan.steps[0].name)
    content = json.loads(_plan_text(store))
    content["steps"] = [{**content["steps"][0], "suite_id": "fio", "values": {**step.values, **values}}]
    with store.database.writing() as connection:
        connection.execute(update(schema.runs).values(plan=json.dumps(content)))


def _plan_text(store: Store) -> str:
    with store.database.reading() as connection:
        return str(connection.exec_driver_sql("select plan from runs").scalar_one())


@pytest.mark.parametrize("values", HOSTILE, ids=str)
def test_values_that_no_plan_may_have_are_not_run(library: Path, values: dict[str, object]) -> None:
    written_into(library, values)
    workstation = Workstation(library)
    with pytest.raises(ParameterError, match=next(iter(values))):
        list(workstation.attach(RUN, AnsweringAsker(), Control()))
    assert [left.id for left in workstation.detached_runs()] == [RUN]
    with pytest.raises(ParameterError):
        list(workstation.run(workstation.load(RUN).plan, AnsweringAsker(), Control()))
    workstation.close()


def test_a_plan_of_an_earlier_version_lacks_values_and_has_others() -> None:
    step = make_step("fio", {})
    values = {name: value for name, value in step.values.items() if name != "iodepth"}
    plan = Plan("plan", ("local",), (Step("fio", "fio", {**values, "no-more": "x"}),))
    assert validate(plan) is plan


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        *(("runs", "telemetry_program", text) for text in (
            "[]", "{", '{"local": 1}',
            '{"local": ["x"]}', '{"local": "' + "x" * 70_000 + '"}', '{"local": "\\u001b[2J"}',
            "[" * 5000, "null",
        )),
        *(("runs", "telemetry_cost", text) for text in
          ('{"local": "much"}', '{"local": NaN}', '{"local": 1e999}', "3")),
        *(("trials", column, value) for column in ("clock", "peer_clock", "origin", "ended_clock")
          for value in ("soon", float("inf"), -float("inf"), b"\\0")),
    ],
)  # fmt: skip
def test_numbers_and_programs_of_a_stranger_are_checked(library: Path, table: str, column: str, value: object) -> None:
    store = Store(library)
    assert store.load(RUN).trials
    with store.database.writing() as connection:
        connection.exec_driver_sql(f"update {table} set {column} = ?", (value,))
    with pytest.raises(StoreError, match=RUN) as caught:
        store.load(RUN)
    assert len(str(caught.value)) < 500


CODE = {
    "trigger": "CREATE TRIGGER t AFTER UPDATE ON runs BEGIN DELETE FROM runs; END",
    "trigger of a kind of its own": "CREATE TRIGGER t AFTER INSERT ON findings BEGIN SELECT load_extension('x'); END",
    "view": "CREATE VIEW v AS SELECT randomblob(1000000000)",
    "view in the place of a table": "CREATE VIEW v AS SELECT 1; ALTER TABLE calibrations RENAME TO c; "
    "CREATE VIEW calibrations AS WITH RECURSIVE e(x) AS (SELECT 1 UNION ALL SELECT x FROM e) SELECT x FROM e",
    "virtual table": "CREATE VIRTUAL TABLE v USING fts5(x)",
    "computed column": "ALTER TABLE runs ADD COLUMN x AS (hex(zeroblob(500000000))) VIRTUAL",
}


@pytest.mark.parametrize("code", CODE.values(), ids=CODE)
def test_sql_code_in_a_library_is_not_run(library: Path, code: str) -> None:
    with closing(sqlite3.connect(library)) as raw:
        raw.executescript(code)
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = library.read_bytes()
    for use in (
        Store.runs,
        Store.detached_runs,
        Store.mark_interrupted,
        methodcaller("take_over", RUN),
        Store.read_only,
    ):
        with pytest.raises(DamagedError, match="contains SQL code not written by Benchwright") as caught:
            use(Store(library))
        assert "benchwright salvage" in caught.value.remedy
    assert library.read_bytes() == before


def test_tables_without_their_triggers_are_salvaged(library: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(library)) as raw:
        raw.executescript(CODE["trigger"] + "; CREATE VIRTUAL TABLE v USING fts5(x)")
    saved = tmp_path / "saved.sqlite3"
    assert salvage(library, saved).runs == 1
    assert [run.id for run in Store(saved).runs()] == [RUN]


@pytest.mark.parametrize("connect", [for_reading, for_writing])
def test_a_library_is_opened_as_that_of_a_stranger(library: Path, connect: Connect) -> None:
    with closing(connect(library)) as connection:
        assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)
        assert connection.execute("PRAGMA cell_size_check").fetchone() == (1,)
        assert connection.getlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH) == 2**20
        if sys.version_info >= (3, 12):
            assert connection.getconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE)

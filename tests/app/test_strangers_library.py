"""A library that was carried here from another computer: what is in it is not believed."""

import json
from pathlib import Path

import pytest
from sqlalchemy import update

from app.plans.plan import Plan, Step, make_step, validate
from app.runs.control import Control
from app.services import Workstation
from app.store import Store, schema
from suites.errors import ParameterError
from tests.app.test_left_runs import RUN, begun, record
from tests.lab_sshd import AnsweringAsker

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
    with store._database.writing() as connection:
        connection.execute(update(schema.runs).values(plan=json.dumps(content)))


def _plan_text(store: Store) -> str:
    with store._database.reading() as connection:
        return str(connection.exec_driver_sql("select plan from runs").scalar_one())


@pytest.mark.parametrize("values", HOSTILE, ids=str)
def test_values_that_no_plan_may_have_are_not_run(library: Path, values: dict[str, object]) -> None:
    written_into(library, values)
    workstation = Workstation(library)
    with pytest.raises(ParameterError, match=next(iter(values))):
        list(workstation.attach(RUN, AnsweringAsker(), Control()))
    assert [left.id for left in workstation.left_runs()] == [RUN]
    with pytest.raises(ParameterError):
        list(workstation.run(workstation.load(RUN).plan, AnsweringAsker(), Control()))
    workstation.close()


def test_a_plan_of_an_earlier_version_lacks_values_and_has_others() -> None:
    step = make_step("fio", {})
    values = {name: value for name, value in step.values.items() if name != "iodepth"}
    plan = Plan("plan", ("local",), (Step("fio", "fio", {**values, "no-more": "x"}),))
    assert validate(plan) is plan

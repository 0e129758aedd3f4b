"""Designs of the next study by what a study measured: their time, their cost, and why there is none."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.fleet.planner import FleetGoal, FleetRequest
from app.fleet.proposals import NO_TIME, Proposals, propose_for
from app.fleet.results import FleetResults
from app.host_attributes import HostAttributes
from app.services import Workstation
from tests.app.fleet.measured_studies import measured_study

REQUEST = FleetRequest(FleetGoal.HALF_WIDTH, 0.05)
STATED = HostAttributes(price=0.36, currency="USD")


@pytest.fixture
def found(tmp_path: Path) -> Iterator[FleetResults]:
    """Return the results of a study of two groups."""
    made = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    study = measured_study(made, 3, {})
    yield made.fleet_results(study.id)
    made.close()


def with_stated(found: FleetResults, *stated: HostAttributes) -> FleetResults:
    """Return results whose hosts have the attributes `stated` in turn."""
    plan = found.study.plan
    hosts = tuple(replace(host, attributes=stated[number % len(stated)]) for number, host in enumerate(plan.hosts))
    return replace(found, study=replace(found.study, plan=replace(plan, hosts=hosts)))


def proposed(found: FleetResults) -> Proposals:
    return propose_for(found, found.metrics[0], REQUEST)


def test_the_time_of_a_trial_is_that_of_the_study(found: FleetResults) -> None:
    measured = found.metrics[0].record.seconds
    assert measured is not None
    assert measured > 0
    assert proposed(found).cost.effort.trial == measured + found.study.plan.plan.repetition.pause
    one = replace(found.metrics[0], record=replace(found.metrics[0].record, seconds=1000.0))
    slower = replace(found, metrics=(one, *found.metrics[1:]))
    assert proposed(slower).designs[0].hours > proposed(found).designs[0].hours
    assert NO_TIME not in proposed(found).notes


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ((STATED, replace(STATED, currency="EUR")), "No cost: Prices in USD and EUR cannot be compared."),
        ((STATED, HostAttributes()), "No cost: 4 hosts without a price."),
    ],
)
def test_why_there_is_no_cost_is_a_note(
    found: FleetResults, stated: tuple[HostAttributes, HostAttributes], reason: str
) -> None:
    proposals = proposed(with_stated(found, *stated))
    assert proposals.designs[0].cost is None
    assert reason in proposals.notes


def test_prices_in_one_currency_or_none_need_no_note(found: FleetResults) -> None:
    for stated in ((STATED, replace(STATED, currency="usd")), (HostAttributes(),)):
        assert not [note for note in proposed(with_stated(found, *stated)).notes if note.startswith("No cost")]


def test_a_goal_of_nothing_is_refused(found: FleetResults, tmp_path: Path) -> None:
    call = partial(CliRunner().invoke, benchwright)
    words = ["--store", str(tmp_path / "runs.sqlite3"), "fleet", "propose", found.study.id]
    for goal in ("--half-width", "--difference"):
        assert call([*words, goal, "0"]).exit_code == 2
        assert call([*words, goal, "5"]).exit_code == 0

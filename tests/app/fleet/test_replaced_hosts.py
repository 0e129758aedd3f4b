"""Replaced hosts of a study: what they measured counts, and what is stated of them is known."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from app.fleet.study import FleetError
from app.fleet_study import FleetHost, FleetStudy, HostRunState
from app.ranking.candidates import RankingCriteria, RankingGoal
from app.services import Workstation
from tests.app.fleet.measured_studies import measured_study
from tests.widgets.fleet_studies import SLOW, copied_study

NEW = "c7i-99"


@pytest.fixture
def study(workstation: Workstation) -> FleetStudy:
    """Return a study whose lemon was replaced by a host without a price."""
    study = copied_study(workstation)
    workstation._store.add_fleet_hosts(study.id, [FleetHost(NEW, "c7i")], SLOW)
    return workstation.fleet_study(study.id)


def test_a_replaced_lemon_has_a_ticket_and_facts(workstation: Workstation, study: FleetStudy) -> None:
    assert SLOW not in study.plan.by_name
    assert [host.name for host in study.replaced] == [SLOW]
    ticket = workstation.lemon_ticket(study.id, SLOW)
    assert "c7i.2xlarge" in ticket
    (lemon, *_) = workstation.fleet_results(study.id).search.lemons
    assert lemon.host == SLOW
    workstation.outlier_facts(study.id, lemon)
    (group,) = (one for one in workstation.fleet_sameness(study.id) if one.name == "c7i")
    assert SLOW in group.hosts


def test_results_and_the_report_name_it(workstation: Workstation, study: FleetStudy, tmp_path: Path) -> None:
    (note,) = (note for note in workstation.fleet_results(study.id).notes if "results count" in note)
    assert note == f"1 host replaced, their results count: {SLOW}."
    (path,) = workstation.export_fleet_report(study.id, [("markdown", tmp_path / "study.md")])
    text = path.read_text()
    assert note in text
    assert "| c7i | 12 | c7i.2xlarge |" in text


def test_its_trials_have_its_type_and_price(workstation: Workstation, study: FleetStudy, tmp_path: Path) -> None:
    path = workstation.export_fleet_trials(workstation.fleet_results(study.id), tmp_path / "trials.csv")
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["host"] == SLOW]
    assert {(row["type"], row["zone"], row["price"], row["currency"]) for row in rows} == {
        ("c7i.2xlarge", "eu-1a", "0.36", "USD")
    }


def test_a_group_with_a_replaced_host_is_ranked_by_price(workstation: Workstation, study: FleetStudy) -> None:
    criteria = RankingCriteria({"iops": 1.0}, goal=RankingGoal.PER_PRICE)
    found = workstation.rank([f"fleet:{study.id}:c7i", f"fleet:{study.id}:c7a"], criteria)
    assert len(found.ranked) == 2
    assert found.currency == "USD"


def test_its_runs_are_selected_by_its_name(workstation: Workstation, study: FleetStudy) -> None:
    record = workstation.joined_record(f"fleet:{study.id}@{SLOW}")
    assert record.plan.hosts == (SLOW,)


def test_a_host_that_has_done_all_is_replaced_by_one_that_runs(workstation: Workstation) -> None:
    study = measured_study(workstation, 3, {})
    assert study.ended is not None
    (old, *_) = study.plan.hosts
    (new,) = workstation._store.add_fleet_hosts(study.id, [FleetHost(NEW, old.group)], old.name)
    assert (new.host, new.session, new.state) == (NEW, study.plan.sessions, HostRunState.WAITING)
    after = workstation.fleet_study(study.id)
    assert (after.ended, after.left) == (None, 1)
    assert after.replaced == (old,)
    assert after.counts[HostRunState.DONE] == study.counts[HostRunState.DONE]


def test_the_verbs_carry_on_after_a_replacement(call: Callable[..., Result], tmp_path: Path) -> None:
    assert call("hosts", "add", NEW).exit_code == 0
    replaced = call("fleet", "replace", "last", SLOW, NEW)
    assert replaced.exit_code == 0, replaced.stderr
    assert "3 host-runs" in replaced.stderr
    assert call("fleet", "ticket", "last", SLOW).exit_code == 0
    assert call("fleet", "report", "last", "--markdown", str(tmp_path / "study.md")).exit_code == 0
    assert any("results count" in note for note in json.loads(call("fleet", "results", "--json").stdout)["notes"])


def test_a_host_that_was_never_in_the_study_has_no_ticket(workstation: Workstation, study: FleetStudy) -> None:
    with pytest.raises(FleetError, match="is not a host of"):
        workstation.lemon_ticket(study.id, "c7i-77")

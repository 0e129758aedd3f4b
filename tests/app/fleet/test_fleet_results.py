"""The results of a stored study: the line on its lemons, tickets, and facts in which outliers differ."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.fleet.facts import SeparatingFact
from app.fleet.lemons import BETTER, LemonSearch
from app.fleet.levels import FleetLevel
from app.fleet.results import lemons_text
from app.fleet.study import FleetError
from app.fleet_study import HostRunState
from app.ranking.candidates import RankingCriteria
from app.services import Workstation
from tests.widgets.fleet_studies import FAST, SLOW, copied_study


@pytest.fixture
def workstation(tmp_path: Path) -> Iterator[Workstation]:
    made = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    yield made
    made.close()


def test_the_lemons_are_named_or_the_tested_instances_are_counted(workstation: Workstation) -> None:
    found = workstation.fleet_results(copied_study(workstation).id)
    assert lemons_text(found) == f"1 lemon: {SLOW} (c7i)"
    clean = lemons_text(replace(found, search=LemonSearch(())))
    assert "36 instances" in clean
    assert "3 groups" in clean
    assert lemons_text(replace(found, metrics=(), levels=(), search=LemonSearch(()))).startswith("Not tested")


def test_only_a_lemon_has_a_ticket(workstation: Workstation, monkeypatch: pytest.MonkeyPatch) -> None:
    study = copied_study(workstation)
    found = workstation.fleet_results(study.id)
    assert SLOW in workstation.lemon_ticket(study.id, SLOW)
    with pytest.raises(FleetError, match="is no lemon"):
        workstation.lemon_ticket(study.id, FAST)
    better = tuple(replace(one, direction=BETTER) for one in found.search.outliers)
    praised = replace(found, search=replace(found.search, outliers=better))
    monkeypatch.setattr(Workstation, "fleet_results", lambda *_words: praised)
    with pytest.raises(FleetError, match="is no lemon"):
        workstation.lemon_ticket(study.id, SLOW)


def test_a_deleted_run_is_noted_and_ends_no_analysis(workstation: Workstation, tmp_path: Path) -> None:
    study = copied_study(workstation)
    done = [one for one in workstation.host_runs(study.id) if one.state is HostRunState.DONE]
    workstation.delete(done[-1].run)
    found = workstation.fleet_results(study.id)
    assert [note for note in found.notes if "deleted" in note] == [f"1 run deleted from the library: {done[-1].title}."]
    assert sorted(len(group.hosts) for group in workstation.fleet_sameness(study.id)) == [11, 12, 12]
    assert workstation.rank([f"fleet:{study.id}"], RankingCriteria({"iops": 1.0})).ranked
    assert workstation.export_fleet_report(study.id, [("html", tmp_path / "report.html")])
    groups = workstation.sessions_of_groups(f"fleet:{study.id}")
    assert sum(selector.count(",") + 1 for each in groups.values() for selector in each.values()) == len(done) - 1


def test_an_outlier_differs_in_no_fact_where_all_hosts_have_the_same(workstation: Workstation) -> None:
    study = copied_study(workstation)
    (one,) = workstation.fleet_results(study.id).search.lemons
    assert workstation.outlier_facts(study.id, one) == []


def test_a_level_has_an_interval_only_if_it_is_known() -> None:
    assert FleetLevel("host", 60, 0.037, 0.031, 0.045, 0.14).interval_text == "3.1 to 4.5 %"
    assert FleetLevel("host", 3, 0.037, 0.031, 90.0, 0.14).interval_text == "3.1 to over 1000 %"
    assert FleetLevel("host", 3, reason="one instance").interval_text == ""


def test_a_separating_fact_is_a_line() -> None:
    text = SeparatingFact("CPU · Model", "A", "B").text
    assert text.startswith("CPU · Model: A on ")
    assert text.endswith("B on the higher")

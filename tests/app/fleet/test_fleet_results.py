"""The results of a stored study: the line on its lemons, tickets, and facts in which outliers differ."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import update

from app.fleet.facts import SeparatingFact
from app.fleet.lemons import BETTER, LemonSearch, TwoPopulations
from app.fleet.levels import FleetLevel
from app.fleet.moments import MomentEffect
from app.fleet.results import lemons_text, ranking_notes, results_lines
from app.fleet.study import FleetError
from app.fleet_study import HostRunState
from app.host_attributes import HostAttributes
from app.json_converter import published
from app.library_rows import Annotation
from app.ranking.candidates import Price, RankingCriteria, RankingGoal
from app.services import Workstation
from app.store import schema
from app.store.rows import to_text
from tests.app.fleet.measured_studies import measured_study
from tests.widgets.fleet_studies import FAST, SLOW, copied_study


def test_the_lemons_are_named_or_the_tested_instances_are_counted(workstation: Workstation) -> None:
    found = workstation.fleet_results(copied_study(workstation).id)
    assert lemons_text(found) == f"1 lemon: {SLOW} (c7i)"
    clean = lemons_text(replace(found, search=LemonSearch(())))
    assert "36 instances" in clean
    assert "3 groups" in clean
    assert lemons_text(replace(found, metrics=(), levels=(), search=LemonSearch(()))).startswith("Not tested")


def test_the_test_and_the_tool_version_of_a_step_are_read(workstation: Workstation) -> None:
    record = workstation.fleet_results(copied_study(workstation).id).metrics[0].record
    assert record.step is not None
    assert record.versions[SLOW] == {"fio-3.33"}
    assert record.doubts == {}


def test_the_variance_between_instances_is_shown_without_outliers(workstation: Workstation) -> None:
    found = workstation.fleet_results(copied_study(workstation).id)
    text = found.text_without_outliers(found.metrics[0])
    assert text.startswith("instance, without ")
    assert any(text in line for line in results_lines(found))
    clean = replace(found, search=LemonSearch(()))
    assert clean.text_without_outliers(found.metrics[0]) == ""
    assert lemons_text(clean) in results_lines(clean)
    untested = replace(clean, metrics=(), levels=())
    assert lemons_text(untested) in results_lines(untested)


@pytest.mark.parametrize("price", [(0.0, "USD"), (0.3, "EUR")])
def test_groups_are_ranked_by_value_whatever_their_prices(workstation: Workstation, price: tuple[float, str]) -> None:
    study = copied_study(workstation)
    stated = HostAttributes(price=price[0], currency=price[1])
    table = schema.fleet_hosts
    with workstation._store.database.writing() as connection:
        chosen = table.c.host == study.plan.hosts[0].name
        connection.execute(update(table).where(chosen).values(attributes=to_text(published(stated))))
    ranking = workstation.rank([f"fleet:{study.id}"], RankingCriteria({"iops": 1.0}))
    assert len(ranking.ranked) == 3


def test_a_ranking_names_the_lemons_in_its_groups(workstation: Workstation) -> None:
    study = copied_study(workstation).id

    def notes(*selectors: str, metric: str = "iops") -> list[str]:
        found = workstation.rank([f"fleet:{study}{each}" for each in selectors], RankingCriteria({metric: 1.0})).notes
        return [note for note in found if SLOW in note]

    assert len(notes("")) == 1
    assert len(notes(":c7i", ":c7a")) == 1
    assert notes(":c7a", ":m7g") == []


def test_a_ranking_names_levels_and_moments_of_its_groups_only(workstation: Workstation) -> None:
    found = workstation.fleet_results(copied_study(workstation).id)
    (one,), (levels,) = found.metrics, found.levels
    assert levels is not None
    moments = tuple(MomentEffect(str(number), 36, ratio, 0.9, 1.1, 1e-6) for number, ratio in ((1, 1.1), (2, 0.9)))
    populations = (TwoPopulations("c7a", one.step, one.metric, one.labels, 1e5, 2e5, ("a",), ("b",)),)
    search = LemonSearch((), populations)
    groups = {
        group: {host: dict.fromkeys("12", next(iter(own.values()))) for host, own in hosts.items()}
        for group, hosts in one.groups.items()
    }
    metrics, of_moments = (replace(one, groups=groups),), (replace(levels, moments=moments),)
    mixed = replace(found, metrics=metrics, levels=of_moments, search=search)
    assert len(list(ranking_notes(mixed, ["c7a", "m7g"], ["iops"]))) == 2
    assert len(list(ranking_notes(mixed, ["m7g"], ["iops"]))) == 1
    assert list(ranking_notes(mixed, ["c7a"], ["latency_p99"])) == []
    once = {host: {"1": own["1"]} for host, own in groups["c7i"].items()}
    incomplete = replace(mixed, metrics=(replace(one, groups={**groups, "c7i": once}),))
    (note,) = [note for note in ranking_notes(incomplete, ["c7i", "m7g"], ["iops"]) if f"{len(once)} instances" in note]
    assert "m7g" not in note


def test_only_a_lemon_has_a_ticket(workstation: Workstation, monkeypatch: pytest.MonkeyPatch) -> None:
    study = copied_study(workstation)
    found = workstation.fleet_results(study.id)
    assert SLOW in workstation.lemon_ticket(study.id, SLOW)
    with pytest.raises(FleetError, match="is no lemon"):
        workstation.lemon_ticket(study.id, FAST)
    (one,) = found.metrics
    few = {group: dict(list(hosts.items())[:5]) for group, hosts in one.groups.items()}
    host = next(iter(few["m7g"]))
    for groups, shown in ((few, "was not tested: its group has 5 instances"), ({}, "has no result")):
        less = replace(found, metrics=(replace(one, groups=groups),), search=LemonSearch(()))
        with pytest.raises(FleetError, match=f"{host} {shown}"):
            workstation._ticket(less, host)
    better = tuple(replace(one, direction=BETTER) for one in found.search.outliers)
    praised = replace(found, search=replace(found.search, outliers=better))
    monkeypatch.setattr(Workstation, "fleet_results", lambda *_words: praised)
    with pytest.raises(FleetError, match="is no lemon"):
        workstation.lemon_ticket(study.id, SLOW)


def test_a_run_in_the_bin_does_not_count_until_it_is_restored(workstation: Workstation) -> None:
    study = copied_study(workstation)
    one = next(each for each in workstation.host_runs(study.id) if each.state is HostRunState.DONE)
    before = workstation.fleet_results(study.id)
    workstation.annotate({one.run: Annotation(binned="2026-11-30T08:00:00+00:00")})
    found = workstation.fleet_results(study.id)
    assert found.notes.count(f"1 run deleted from the library: {one.title}.") == 1
    assert len(list(found.metrics[0].sessions())) == len(list(before.metrics[0].sessions())) - 1
    assert one.run not in {each.run for each in workstation._store.measured_host_runs(study.id)}
    workstation.annotate({one.run: Annotation()})
    assert workstation.fleet_results(study.id).metrics == before.metrics


def test_a_host_whose_run_was_deleted_runs_again(workstation: Workstation) -> None:
    study = copied_study(workstation)
    one = next(each for each in workstation.host_runs(study.id) if each.state is HostRunState.DONE)
    workstation.delete(one.run)
    (again,) = workstation.retry_host_runs(study.id, [one.host])
    assert (again.number, again.state, again.run) == (one.number, HostRunState.WAITING, "")
    assert one.number not in {each.number for each in workstation.retry_host_runs(study.id)}


def test_a_ranking_has_the_prices_of_each_study(workstation: Workstation) -> None:
    cheap = measured_study(workstation, 3, {})
    dear = measured_study(workstation, 4, {})
    with workstation._store.database.writing() as connection:
        attributes = to_text(published(HostAttributes(price=36.0, currency="USD")))
        hosts = schema.fleet_hosts
        connection.execute(update(hosts).where(hosts.c.study == dear.id).values(attributes=attributes))
    criteria = RankingCriteria({"iops": 1.0}, goal=RankingGoal.PER_PRICE)
    words = [f"fleet:{study.id}:c7i" for study in (cheap, dear)]
    for order in (words, words[::-1]):
        found = workstation.rank(order, criteria)
        prices = {one.candidate.selector: one.price for one in found.ranked}
        assert prices == {words[0]: Price(0.36, "USD"), words[1]: Price(36.0, "USD")}
        assert found.ranked[0].candidate.selector == words[0]
    mine = replace(criteria, prices={host: Price(1.0, "USD") for host in cheap.plan.groups["c7i"]})
    assert {one.price for one in workstation.rank(words, mine).ranked} == {Price(1.0, "USD")}


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

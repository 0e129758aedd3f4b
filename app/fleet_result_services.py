"""Services on the results of fleet studies: variance, lemons, facts that differ, tickets, rankings, proposals."""

from __future__ import annotations

import re
from abc import ABC
from dataclasses import replace
from typing import TYPE_CHECKING

from app.fleet_services import FleetServices
from app.fleet_study import PREFIX, HostRunState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.fleet.changes import FleetChanges
    from app.fleet.facts import LemonFact, SeparatingFact
    from app.fleet.lemons import Lemon, TwoPopulations
    from app.fleet.planner import FleetRequest
    from app.fleet.proposals import Proposals
    from app.fleet.results import FleetResults
    from app.fleet.sameness import GroupSameness
    from app.ranking.candidates import Price, RankingCriteria
    from app.ranking.ranking import Ranking
    from suites.facts import Facts


class FleetResultServices(FleetServices, ABC):
    """What studies found. Threads, blocking and errors are as in app.services. `word` is a study's id or name."""

    def fleet_results(self, word: str, metrics: Sequence[str] = ()) -> FleetResults:
        """Return variance by level and lemons of a study, by the headline metrics of its steps and by `metrics`."""
        from app.fleet.results import results_of

        study = self._store.find_fleet_study(word)
        host_runs = self._store.host_runs_of(study.id)
        wanted = {*study.plan.headlines.values(), *metrics}
        progress = self._store.progress_of([one.run for one in host_runs if one.run], wanted)
        return results_of(study, host_runs, progress, self.margins(), metrics)

    def fleet_facts(self, word: str, hosts: Sequence[str] = ()) -> Mapping[str, Facts]:
        """Return the facts of the hosts of a study (all if empty), as its latest done runs read them."""
        study = self._store.find_fleet_study(word)
        done = [one for one in self._store.host_runs_of(study.id) if one.state is HostRunState.DONE]
        latest = {one.host: one.run for one in done if not hosts or one.host in hosts}
        with self._store.loading(tuple(latest.values())) as load:
            found = {host: load(run).facts_before.get(host) for host, run in latest.items()}
        return {host: facts for host, facts in found.items() if facts is not None}

    def population_facts(self, word: str, one: TwoPopulations) -> list[SeparatingFact]:
        """Return the facts that separate the two populations of a group of a study."""
        from app.fleet.facts import separating_facts

        facts = self.fleet_facts(word, (*one.low_hosts, *one.high_hosts))
        return separating_facts(one.low_hosts, one.high_hosts, facts)

    def fleet_sameness(self, word: str) -> tuple[GroupSameness, ...]:
        """Return which facts differ within the groups of a study, by the facts that its latest done runs read."""
        from app.fleet.sameness import sameness_of

        study = self._store.find_fleet_study(word)
        facts = self.fleet_facts(study.id)
        groups = {
            group: {host: facts[host] for host in hosts if host in facts} for group, hosts in study.plan.groups.items()
        }
        return sameness_of(groups, {host.name: host.attributes for host in study.plan.hosts})

    def propose_fleet(self, word: str, request: FleetRequest, metric: str = "") -> Proposals:
        """Return designs of the next study, by the variance of a metric of this one (its first headline metric).

        Raises FleetError without such a metric.
        """
        from app.fleet.proposals import propose_from

        return propose_from(self.fleet_results(word, [metric] if metric else ()), request, metric)

    def lemon_ticket(self, word: str, host: str, *, markdown: bool = False) -> str:
        """Return the ticket text for a lemon of a study. Raises FleetError for another instance."""
        from app.fleet.facts import differing_facts
        from app.fleet.lemon_ticket import lemon_ticket
        from app.fleet.study import FleetError

        found = self.fleet_results(word)
        own = [one for one in found.search.outliers if one.host == host]
        if not any(one.is_worse for one in own):
            raise FleetError(f"{host} is no lemon of {found.study.id}.", "List them: benchwright fleet results")
        hosts = found.study.plan.groups.get(own[0].group, ())
        stated = found.study.plan.by_name[host].attributes
        facts = differing_facts(host, self.fleet_facts(word, hosts))
        return lemon_ticket(own, stated.texts(), facts, markdown=markdown)

    def outlier_facts(self, word: str, one: Lemon) -> list[LemonFact]:
        """Return the facts in which an outlier of a study differs from the other hosts of its group."""
        from app.fleet.facts import differing_facts

        study = self._store.find_fleet_study(word)
        return differing_facts(one.host, self.fleet_facts(study.id, study.plan.groups.get(one.group, ())))

    def fleet_changes(self, previous: str, current: str) -> FleetChanges:
        """Return what changed from one study to another, by the headline metrics of both."""
        from app.fleet.changes import changes_since

        return changes_since(self.fleet_results(previous).metrics, self.fleet_results(current).metrics)

    def rank(self, selectors: Sequence[str], criteria: RankingCriteria) -> Ranking:
        """Rank runs, groups and baselines by `criteria`; a whole study by its groups, with the prices of its hosts."""
        words = [word for selector in selectors for word in self._groups_of(selector)]
        return super().rank(words, replace(criteria, prices={**self._fleet_prices(words), **criteria.prices}))

    def _groups_of(self, selector: str) -> list[str]:
        """Return the groups of a whole study as selectors; `selector` itself without one."""
        name = selector.removeprefix(PREFIX)
        if name == selector or set(name) & set("@:,"):
            return [selector]
        study = self._store.find_fleet_study(name)
        return [f"{PREFIX}{study.id}:{group}" for group in study.plan.groups]

    def _fleet_prices(self, selectors: Sequence[str]) -> dict[str, Price]:
        """Return the prices of the hosts of the studies that are selected, by host."""
        from app.ranking.candidates import Price

        parts = [part for word in selectors for part in word.split(",") if part.startswith(PREFIX)]
        names = dict.fromkeys(re.split("[@:]", part.removeprefix(PREFIX))[0] for part in parts)
        hosts = [host for name in names for host in self._store.find_fleet_study(name).plan.hosts]
        return {
            host.name: Price(host.attributes.price, host.attributes.currency)
            for host in hosts
            if host.attributes.price is not None
        }

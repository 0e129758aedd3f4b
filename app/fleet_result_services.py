"""Services on the results of fleet studies: variance, lemons, facts that differ, tickets, rankings, proposals."""

from __future__ import annotations

import re
from abc import ABC
from dataclasses import replace
from typing import TYPE_CHECKING

from app.fleet_services import FleetServices
from app.fleet_study import PREFIX
from suites.quantities import count_text, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from app.fleet.changes import FleetChanges
    from app.fleet.facts import LemonFact, SeparatingFact
    from app.fleet.lemons import Lemon, TwoPopulations
    from app.fleet.planner import FleetRequest
    from app.fleet.proposals import Proposals
    from app.fleet.results import FleetResults
    from app.fleet.sameness import GroupSameness
    from app.fleet_study import HostRun
    from app.ranking.candidates import Price, RankingCriteria
    from app.ranking.ranking import Ranking
    from app.sharing.sections import ReportSection
    from suites.facts import Facts

MOST_METRICS = 20
"""Metrics that are named to choose one of."""


def _studies_named(selectors: Sequence[str]) -> list[str]:
    """Return the names of the studies among selectors, each once."""
    parts = [part for word in selectors for part in word.split(",") if part.startswith(PREFIX)]
    return list(dict.fromkeys(re.split("[@:]", part.removeprefix(PREFIX))[0] for part in parts))


class FleetResultServices(FleetServices, ABC):
    """What studies found. Threads, blocking and errors are as in app.services. `word` is a study's id or name."""

    def fleet_results(self, word: str, metrics: Sequence[str] = ()) -> FleetResults:
        """Return variance by level and lemons of a study, by the headline metrics of its steps and by `metrics`.

        Raises FleetError for a metric that it has no result of, once it has results.
        """
        from app.fleet.study import FleetError

        found = self._fleet_results(word, metrics)
        missing = set(metrics) - {one.metric.name for one in found.metrics}
        if missing and found.metrics:
            measured = [one.run for one in self._store.measured_host_runs(found.study.id)]
            figures = {key[1].name for run in self._store.progress_of(measured).values() for key in run.figures}
            if unknown := sorted(missing - figures):  # one that is known was left out, for the reason in the notes
                raise FleetError(
                    f"{found.study.id} has no result of {unknown[0][:60]}.",
                    f"Its metrics: {listed(sorted(figures), MOST_METRICS)}.",
                )
        return found

    def _fleet_results(self, word: str, metrics: Sequence[str] = ()) -> FleetResults:
        from app.fleet.results import results_of

        study = self._store.find_fleet_study(word)
        host_runs = self._store.host_runs_of(study.id)
        wanted = {*study.plan.headlines.values(), *metrics}
        progress = self._store.progress_of([one.run for one in host_runs if one.run], wanted)
        return results_of(study, host_runs, progress, self.margins(), metrics)

    def fleet_facts(self, word: str, hosts: Sequence[str] = ()) -> Mapping[str, Facts]:
        """Return the facts of the hosts of a study (all if empty), as its latest done runs read them."""
        study = self._store.find_fleet_study(word)
        done = self._store.measured_host_runs(study.id)
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
            group: {host: facts[host] for host in hosts if host in facts}
            for group, hosts in study.with_replaced.groups.items()
        }
        return sameness_of(groups, {host.name: host.attributes for host in study.with_replaced.hosts})

    def propose_fleet(self, word: str, request: FleetRequest, metric: str = "") -> Proposals:
        """Return designs of the next study, by the variance of a metric of this one (its first headline metric).

        Raises FleetError without such a metric.
        """
        from app.fleet.proposals import propose_from

        return propose_from(self.fleet_results(word, [metric] if metric else ()), request, metric)

    def lemon_ticket(self, word: str, host: str, *, markdown: bool = False) -> str:
        """Return the ticket text for a lemon of a study. Raises FleetError for another instance."""
        return self._ticket(self.fleet_results(word), host, markdown=markdown)

    def _ticket(self, found: FleetResults, host: str, *, markdown: bool = False) -> str:
        from app.fleet.facts import differing_facts, differing_versions
        from app.fleet.lemon_ticket import lemon_ticket
        from app.fleet.study import FleetError

        own = [one for one in found.search.outliers if one.host == host]
        plan = found.study.with_replaced
        remedy = f"List them: benchwright fleet results {found.study.id}"
        if host not in plan.by_name:
            raise FleetError(f"{host} is not a host of {found.study.id}.", remedy)
        if not any(one.is_worse for one in own):
            raise FleetError(_no_lemon(found, host), remedy)
        hosts, stated = plan.groups.get(own[0].group, ()), plan.by_name[host].attributes
        steps = {one.step for one in own}
        metrics = [one for one in found.metrics if one.step in steps]
        facts = differing_facts(host, self.fleet_facts(found.study.id, hosts))
        doubts = {one.step: one.record.doubts[host] for one in metrics if host in one.record.doubts}
        differing = [*differing_versions(host, metrics), *facts]
        return lemon_ticket(own, stated.texts(), differing, doubts, markdown=markdown)

    def outlier_facts(self, word: str, one: Lemon) -> list[LemonFact]:
        """Return the facts in which an outlier of a study differs from the other hosts of its group."""
        from app.fleet.facts import differing_facts

        study = self._store.find_fleet_study(word)
        return differing_facts(one.host, self.fleet_facts(study.id, study.with_replaced.groups.get(one.group, ())))

    def fleet_changes(self, previous: str, current: str, metrics: Sequence[str] = ()) -> FleetChanges:
        """Return what changed from one study to another, by the headline metrics of both, and by `metrics`."""
        return self._changes(previous, self._fleet_results(current, metrics), metrics)

    def _changes(self, previous: str, found: FleetResults, metrics: Sequence[str] = ()) -> FleetChanges:
        """Return what changed from an earlier study to another; raise FleetError for one that is not earlier."""
        from app.fleet.changes import changes_since
        from app.fleet.study import FleetError

        before, remedy = self._fleet_results(previous, metrics), "Name an earlier one: benchwright fleet"
        if before.study.id == found.study.id:
            raise FleetError(f"{found.study.id} is both studies.", remedy)
        if before.study.created > found.study.created:
            raise FleetError(f"{before.study.id} began after {found.study.id}.", remedy)
        return changes_since(before.metrics, found.metrics)

    def fleet_sections(self, word: str, metrics: Sequence[str] = (), since: str = "") -> list[ReportSection]:
        """Return the report of a study as an ordered list of sections, with the changes since the study `since`."""
        from app.sharing.fleet_sections import ReportedStudy, fleet_sections

        found = self.fleet_results(word, metrics)
        study = found.study.id
        host_runs = self.host_runs(study)
        lemons = dict.fromkeys(one.host for one in found.search.lemons)
        tickets = {host: self._ticket(found, host) for host in lemons}
        changes = self._changes(since, found, metrics) if since else None
        commands = self._commands_of(self._store.measured_host_runs(study))
        idle = self.idle_since(found.study, host_runs) is not None
        reported = ReportedStudy(found, host_runs, self.fleet_sameness(study), tickets, commands, changes, since, idle)
        return fleet_sections(reported)

    def _commands_of(self, measured: Sequence[HostRun]) -> list[str]:
        """Return the commands of the first of some host-runs, with its host; none without one."""
        from app.sharing.run_content import command_lines

        return [f"# {measured[0].title}", *command_lines(self.load(measured[0].run))] if measured else []

    def export_fleet_report(
        self, word: str, files: Sequence[tuple[str, Path]], metrics: Sequence[str] = (), since: str = ""
    ) -> list[Path]:
        """Write the report of a study to files, each with its format, html, markdown or pdf; return them.

        Nothing in it is redacted: it names the instances. Raises WriteError.
        """
        from app.output import write_whole
        from app.sharing.html_report import html_report, sharing_text
        from app.sharing.section_texts import sections_markdown, sections_sheet

        sections, title = self.fleet_sections(word, metrics, since), self.fleet_study(word).name
        footer = sharing_text(redacted=False)
        makers: Mapping[str, Callable[[], bytes]] = {
            "html": lambda: html_report((), {}, b"", redacted=False, title=title, sections=sections),
            "markdown": lambda: sections_markdown(title, sections, footer).encode("utf-8", "replace"),
            "pdf": lambda: sections_sheet(title, sections, footer).drawn("pdf"),
        }
        return [write_whole(path, makers[kind]()) for kind, path in files]

    def export_fleet_trials(self, found: FleetResults, path: Path) -> Path:
        """Write every counted trial of results with its host, group, session and run as CSV. Raises WriteError."""
        from app.export import write_csv
        from app.fleet.trial_rows import TRIAL_COLUMNS, trial_rows

        return write_csv(trial_rows(found, self.host_runs(found.study.id)), TRIAL_COLUMNS, path)

    def sessions_of_groups(self, selector: str) -> Mapping[str, Mapping[int, str]]:
        """Return for each group of ``fleet:STUDY``, or of ``fleet:STUDY:GROUP``, a selector of each session.

        It names the done runs of the hosts. Empty for another selector. Raises StoreError for an unknown study.
        """
        name, _, chosen = selector.removeprefix(PREFIX).partition(":")
        if not selector.startswith(PREFIX) or set(f"{name}{chosen}") & set("@:,"):
            return {}
        study = self._store.find_fleet_study(name)
        if chosen and chosen not in study.plan.groups:
            return {}
        found: dict[str, dict[int, list[str]]] = {}
        for one in self._store.measured_host_runs(study.id):
            if chosen in {"", one.group}:
                found.setdefault(one.group, {}).setdefault(one.session, []).append(one.run)
        return {group: {session: ",".join(runs) for session, runs in each.items()} for group, each in found.items()}

    def rank(self, selectors: Sequence[str], criteria: RankingCriteria) -> Ranking:
        """Rank runs, groups and baselines by `criteria`; a whole study by its groups, with the prices of its hosts."""
        words = [word for selector in selectors for word in self._groups_of(selector)]
        prices = {**self._fleet_prices(words, criteria), **criteria.prices}
        found = super().rank(words, replace(criteria, prices=prices))
        return replace(found, notes=(*found.notes, *self._fleet_notes(words, criteria)))

    def _fleet_notes(self, selectors: Sequence[str], criteria: RankingCriteria) -> list[str]:
        """Return the notes on the groups of studies among the selectors."""
        from app.fleet.results import ranking_notes

        chosen: dict[str, list[str]] = {}
        for word in selectors:
            name, _, group = word.removeprefix(PREFIX).partition(":")
            if word.startswith(PREFIX) and group and not set(f"{name}{group}") & set("@,:"):
                chosen.setdefault(name, []).append(group)
        studies = [(self._fleet_results(name, list(criteria.weights)), groups) for name, groups in chosen.items()]
        return [note for found, groups in studies for note in ranking_notes(found, groups, criteria.weights)]

    def _groups_of(self, selector: str) -> list[str]:
        """Return the groups of a whole study as selectors; `selector` itself without one."""
        name = selector.removeprefix(PREFIX)
        if name == selector or set(name) & set("@:,"):
            return [selector]
        study = self._store.find_fleet_study(name)
        return [f"{PREFIX}{study.id}:{group}" for group in study.plan.groups]

    def _fleet_prices(self, selectors: Sequence[str], criteria: RankingCriteria) -> dict[str, Price]:
        """Return the prices of the hosts of the studies that are selected, by selector and host: SELECTOR@HOST.

        Two studies may have different ones. Those that `criteria` give for a host or its type, those of a host that one
        selector has with two prices, and, where the goal needs none, those in several currencies are left out.
        """
        from app.ranking.candidates import Price, RankingGoal, price_key

        stated: dict[str, set[Price]] = {}
        for word in selectors:
            for study in map(self._store.find_fleet_study, _studies_named([word])):
                for host in study.with_replaced.hosts:
                    own = host.attributes
                    if own.price and not {host.name, own.instance_type} & criteria.prices.keys():
                        stated.setdefault(price_key(word, host.name), set()).add(Price(own.price, own.currency))
        found = {key: next(iter(prices)) for key, prices in stated.items() if len(prices) == 1}
        several = len({price.currency for price in found.values()}) > 1
        return {} if several and criteria.goal is RankingGoal.HIGHEST else found


def _no_lemon(found: FleetResults, host: str) -> str:
    """Return that a host of a study is no lemon, or why it was not tested."""
    from app.fleet.distances import FEWEST_PER_GROUP

    sizes = [len(hosts) for one in found.metrics for hosts in one.groups.values() if host in hosts]
    if not sizes:
        return f"{host} has no result in {found.study.id}."
    if max(sizes) < FEWEST_PER_GROUP:
        count = count_text(max(sizes), "instance")
        return f"{host} was not tested: its group has {count} with results, a lemon needs {FEWEST_PER_GROUP}."
    return f"{host} is no lemon of {found.study.id}."

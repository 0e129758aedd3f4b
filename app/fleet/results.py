"""Results of a study: its metrics by group, host and session, their variance by level, lemons, and charts."""

import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.chart import Chart
from app.comparison.estimates import Ratio
from app.comparison.sentences import claim_text, interval_text
from app.comparison.variance import HOST
from app.fleet.distances import FEWEST_PER_GROUP
from app.fleet.drift import Orders, drift_notes
from app.fleet.lemons import Lemon, LemonKind, LemonSearch, find_lemons, p_text
from app.fleet.levels import FleetLevels, fleet_levels
from app.fleet.odd_sessions import odd_session_notes
from app.fleet.strips import group_strips, instance_strips
from app.fleet.study import FleetError, FleetMetric, StepRecord
from app.fleet_study import (
    FigureKey,
    FleetPlan,
    FleetStudy,
    HostOrder,
    HostRun,
    HostRunState,
    RunProgress,
    Topology,
    needs_peer,
)
from app.margins import Margins
from app.natural_order import natural_key
from suites.quantities import count_text, listed, metric_text
from suites.verdict import Trust

MOST_NAMED = 8
"""Hosts named in a note."""

ONE_AFTER_THE_OTHER = "Groups started one after the other: drift counts as a difference of types."

PAIRED = "A network test measures two hosts at once: it has no variance by level."

Progress = Mapping[str, RunProgress]


@dataclass(frozen=True, slots=True)
class FleetResults:
    """What a study shows. `metrics` are the headline metrics of its steps, and those asked for; `levels` are theirs.

    A network test between two hosts of the study counts for both: it has no variance levels, None. `notes` say what
    was left out and why.
    """

    study: FleetStudy
    metrics: tuple[FleetMetric, ...]
    levels: tuple[FleetLevels | None, ...]
    search: LemonSearch
    notes: tuple[str, ...] = ()

    def outliers_of(self, one: FleetMetric) -> tuple[Lemon, ...]:
        """Return the outliers of a metric."""
        return tuple(each for each in self.search.outliers if (each.step, each.metric.name, each.labels) == one.key)

    def text_without_outliers(self, one: FleetMetric) -> str:
        """Return the variance between instances without the outliers of a metric; empty without one."""
        odd = {each.host for each in self.outliers_of(one) if each.kind is LemonKind.LEVEL}
        if not odd:
            return ""
        groups = {
            name: {host: own for host, own in group.items() if host not in odd} for name, group in one.groups.items()
        }
        level = fleet_levels(replace(one, groups=groups)).level(HOST)
        if level.cov is None:
            return ""
        return f"instance, without {count_text(len(odd), 'outlier')}: {level.cov_text}"

    @property
    def tested(self) -> Mapping[str, int]:
        """The number of instances by group, of the groups with enough of them to find a lemon."""
        found: dict[str, int] = {}
        for one in self.metrics:
            for group, hosts in one.groups.items():
                if len(hosts) >= FEWEST_PER_GROUP:
                    found[group] = max(len(hosts), found.get(group, 0))
        return found

    def charts(self) -> list[Chart]:
        """Return for each metric the strips of its groups, then those of each group with a lemon."""
        return [chart for one in self.metrics for chart in self.charts_of(one)]

    def charts_of(self, one: FleetMetric) -> list[Chart]:
        """Return the strips of the groups of a metric, then those of each group with an outlier."""
        outliers = self.outliers_of(one)
        groups = [group for group in one.groups if any(each.group == group for each in outliers)]
        alone = list(one.groups) if len(one.groups) == 1 else []
        return [group_strips(one, outliers), *(instance_strips(one, group, outliers) for group in groups or alone)]


def results_of(
    study: FleetStudy,
    host_runs: Sequence[HostRun],
    progress: Progress,
    margins: Margins,
    names: Collection[str] = (),
) -> FleetResults:
    """Return the results of a study from the progress of its runs; `names` are metrics beside the headline metrics."""
    notes = [
        *_left_out(host_runs),
        *_deleted(host_runs, progress),
        *_replaced(study, host_runs, progress),
        *(f"{suite}: unknown suite, left out." for suite in study.plan.unknown_suites),
    ]
    metrics = []
    plan = study.plan
    records = _records(plan, host_runs, progress)
    for key, groups in _by_figure(study, host_runs, progress, names, notes).items():
        step, metric, labels = key
        try:
            metrics.append(FleetMetric(step, metric, labels, groups, margins.of(metric).share, records[step]))
        except FleetError as error:
            notes.append(str(error))
    notes += dict.fromkeys(note for one in metrics for note in _record_notes(one))
    orders = _orders(host_runs)
    notes += [note for one in metrics for note in drift_notes(one, orders)]
    notes += [note for one in metrics for note in odd_session_notes(one)]
    if plan.order is HostOrder.GROUPED and len(plan.groups) > 1:
        notes.append(ONE_AFTER_THE_OTHER)
    known = [step for step in plan.plan.steps if step.name in plan.headlines and plan.topology is not Topology.FIXED]
    paired = {step.name for step in known if needs_peer(step)}
    levels = tuple(None if one.step in paired else fleet_levels(one) for one in metrics)
    return FleetResults(study, tuple(metrics), levels, find_lemons(metrics), tuple(notes))


def _records(plan: FleetPlan, host_runs: Iterable[HostRun], progress: Progress) -> Mapping[str, StepRecord]:
    """Return how each step was measured, by the runs that are done."""
    versions: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
    doubts: dict[str, dict[str, str]] = defaultdict(dict)
    seconds: dict[str, list[float]] = defaultdict(list)
    for one in host_runs:
        run = progress.get(one.run)
        if run is None or one.state is not HostRunState.DONE:
            continue
        for step, taken in run.seconds.items():
            seconds[step].append(taken)
        for step, found in run.versions.items():
            trust = run.trusts.get(step)
            if trust is Trust.INVALID:
                continue
            for host in one.hosts:
                versions[step][host] = versions[step].get(host, found) | found if found else found
                if trust is not None and trust.in_doubt:
                    doubts[step][host] = f"{trust.value}{f': {run.finding}' if run.finding else ''}"
    medians = {step: statistics.median(own) for step, own in seconds.items()}
    return {
        step.name: StepRecord(step, versions[step.name], doubts[step.name], medians.get(step.name))
        for step in plan.plan.steps
    }


def _orders(host_runs: Iterable[HostRun]) -> Orders:
    """Return the places of hosts in the order of start, by session, without pairs of hosts."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for one in host_runs:
        if one.peer is None:
            found[str(one.session)][one.host] = one.number
    return found


def _record_notes(one: FleetMetric) -> Iterator[str]:
    """Yield what is mixed or in doubt among the values of a metric."""
    for name, group in one.groups.items():
        hosts: dict[str, int] = {}
        for version in (version for host in group for version in one.record.versions.get(host, ())):
            hosts[version] = hosts.get(version, 0) + 1
        if len(hosts) > 1:
            each = listed(
                [f"{version} ({count_text(count, 'instance')})" for version, count in hosts.items()], MOST_NAMED
            )
            yield f"{one.step}, {name}: {each}: tool versions measure differently."
    doubted = [host for group in one.groups.values() for host in group if host in one.record.doubts]
    if doubted:
        texts = [f"{host} ({one.record.doubts[host]})" for host in sorted(doubted, key=natural_key)]
        yield f"{one.step}: results in doubt count, of {listed(texts, MOST_NAMED)}."


Groups = dict[str, dict[str, dict[str, list[float]]]]
"""Trials by group, host and session."""


def _by_figure(
    study: FleetStudy, host_runs: Sequence[HostRun], progress: Progress, names: Collection[str], notes: list[str]
) -> Mapping[FigureKey, Groups]:
    """Return the values that count by figure; add to `notes` what is invalid."""
    wanted = {step: {headline, *names} for step, headline in study.plan.headlines.items()}
    order, paired = study.with_replaced.by_name, study.plan.topology is not Topology.FIXED
    found: dict[FigureKey, Groups] = defaultdict(lambda: defaultdict(lambda: defaultdict(lambda: defaultdict(list))))
    invalid: dict[str, dict[int, str]] = defaultdict(dict)
    for one in host_runs:
        run = progress.get(one.run)
        if run is None or one.state is not HostRunState.DONE:
            continue
        for key, values in run.figures.items():
            if key[1].name not in wanted.get(key[0], ()):
                continue
            if run.trusts.get(key[0]) is Trust.INVALID:
                invalid[key[0]][one.number] = one.title
                continue
            for host in one.hosts if paired else (one.host,):
                group = order[host].group if host in order else one.group
                found[key][group][host][str(one.session)] += values
    for step, titles in invalid.items():
        hosts = sorted(dict.fromkeys(titles.values()), key=natural_key)
        notes.append(f"{step}: {count_text(len(titles), 'invalid result')} left out, of {listed(hosts, MOST_NAMED)}.")
    return found


def _left_out(host_runs: Iterable[HostRun]) -> Iterable[str]:
    """Yield a note on the host-runs without a result, by state, and those skipped by the reason."""
    hosts: dict[HostRunState, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for one in host_runs:
        reason = one.reason.partition(". ")[0] if one.state is HostRunState.SKIPPED else ""
        hosts[one.state][reason if reason != one.state.value else ""].append(one.title)
    for state in (HostRunState.FAILED, HostRunState.SKIPPED, HostRunState.WAITING, HostRunState.RUNNING):
        for reason, titles in hosts[state].items():
            names = listed(sorted(dict.fromkeys(titles), key=natural_key), MOST_NAMED)
            why = f" ({reason})" if reason else ""
            yield f"{count_text(len(titles), 'host-run')} {state.value}{why}: {names}."


def _deleted(host_runs: Iterable[HostRun], progress: Progress) -> Iterable[str]:
    """Yield a note on the host-runs whose runs were deleted after they were done."""
    titles = [one.title for one in host_runs if one.state is HostRunState.DONE and one.run not in progress]
    if titles:
        names = listed(sorted(dict.fromkeys(titles), key=natural_key), MOST_NAMED)
        yield f"{count_text(len(titles), 'run')} deleted from the library: {names}."


def _replaced(study: FleetStudy, host_runs: Iterable[HostRun], progress: Progress) -> Iterable[str]:
    """Yield a note on the replaced hosts whose results count."""
    names = {host.name for host in study.replaced}
    done = {one.host for one in host_runs if one.state is HostRunState.DONE and one.run in progress}
    if counted := sorted(names & done, key=natural_key):
        yield f"{count_text(len(counted), 'host')} replaced, their results count: {listed(counted, MOST_NAMED)}."


def results_lines(found: FleetResults) -> list[str]:
    """Return the results as lines of text."""
    lines = []
    for one, levels in zip(found.metrics, found.levels, strict=True):
        lines.append(f"{one.title}: variance by level")
        if levels is None:
            lines.append(f"  {PAIRED}")
            continue
        lines += [f"  {level.text}" for level in levels.levels]
        lines += [f"  {text}" for text in (found.text_without_outliers(one), *levels.moment_lines) if text]
    lines.append(lemons_text(found))
    lines += [f"  {outlier_text(each)}" for each in found.search.outliers]
    lines += [f"  {each.text}" for each in found.search.populations]
    lines += [f"  not tested: {text}" for text in found.search.untested]
    lines += [f"Note: {text}" for text in found.notes]
    return lines


def ranking_notes(found: FleetResults, groups: Collection[str], metrics: Collection[str]) -> Iterator[str]:
    """Yield what is in the values of ranked groups besides their type: lemons, two levels, and shared moments."""
    own = {group for one in found.metrics if one.metric.name in metrics for group in one.groups if group in groups}
    lemons = [one for one in found.search.lemons if one.group in own and one.metric.name in metrics]
    if names := dict.fromkeys(f"{one.host} ({one.group})" for one in lemons):
        yield f"Lemons count in the values of their groups: {listed(tuple(names), MOST_NAMED)}."
    if len(own) > 1 and ONE_AFTER_THE_OTHER in found.notes:
        yield ONE_AFTER_THE_OTHER
    for each in found.search.populations:
        if each.group in own and each.metric.name in metrics:
            yield f"{each.text}: its value is between them."
    for one, levels in zip(found.metrics, found.levels, strict=True):
        named = one.metric.name in metrics and own & one.groups.keys()
        if levels is not None and named and levels.moments_matter(one.margin):
            differ = f"sessions differ for all hosts ({levels.moment_text})"
            yield f"{one.title}: {differ}: at other moments, values can be outside their intervals."
            yield from _missing_sessions_note(one, own)


def _missing_sessions_note(one: FleetMetric, groups: Collection[str]) -> Iterator[str]:
    """Yield the groups whose hosts lack a session that others have."""
    ranked = {name: group for name, group in one.groups.items() if name in groups}
    every = {session for group in ranked.values() for own in group.values() for session in own}
    few = {name: sum(len(own) < len(every) for own in group.values()) for name, group in ranked.items()}
    texts = [f"{count_text(count, 'instance')} of {name}" for name, count in few.items() if count]
    if texts:
        yield f"{one.title}: {listed(texts, MOST_NAMED)} without every session: its moment is in their values."


def lemons_text(found: FleetResults) -> str:
    """Return the lemons by name, ``2 lemons: web-3 (c5), web-9 (c5)``, or how many instances were tested."""
    lemons = dict.fromkeys(f"{each.host} ({each.group})" for each in found.search.lemons)
    if lemons:
        return f"{count_text(len(lemons), 'lemon')}: {listed(tuple(lemons), MOST_NAMED)}"
    if not (tested := found.tested):
        return f"Not tested for lemons: a group needs {FEWEST_PER_GROUP} instances with results"
    instances = count_text(sum(tested.values()), "instance")
    return f"No lemon: {instances} tested in {count_text(len(tested), 'group')}"


def outlier_text(one: Lemon) -> str:
    """Return an outlier in one line: ``web-3 (c5): 48 % lower (95 % CI …), IOPS, read of fio; p < 0.0001``."""
    ratio = Ratio(one.ratio, one.low, one.high)
    what = f"{metric_text(one.metric, one.labels)} of {one.step}"
    if one.kind is LemonKind.SPREAD:
        claim = f"spread {interval_text(ratio)} that of the others"
    else:
        claim = claim_text(ratio, one.metric)
    return f"{one.host} ({one.group}): {what}: {claim}; n = {one.trials}, {p_text(one.p_adjusted)}"

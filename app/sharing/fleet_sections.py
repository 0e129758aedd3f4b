"""The report of a fleet study as sections: groups, variance by level, strips, lemons with tickets, sameness, runs."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.fleet.board import study_state
from app.fleet.changes import FleetChanges, changes_lines
from app.fleet.lemons import METHOD, Lemon, LemonKind, p_text
from app.fleet.levels import FleetLevels
from app.fleet.results import PAIRED, FleetResults, lemons_text
from app.fleet.sameness import GroupSameness
from app.fleet.sameness_report import MOST_DEPARTING, departure_rows, fact_value_rows, summary_text, unread_lines
from app.fleet.study import FleetMetric, host_centre
from app.fleet_study import FleetHost, FleetStudy, HostRun
from app.host_attributes import HostAttributes
from app.sharing.sections import ReportSection, SectionTable
from suites.quantities import count_text, direction_text, figure_text, listed, metric_text, share_text, times_text

MOST_ROWS = 2000
"""Host-runs with a row of their own: 200 hosts in ten sessions."""

MOST_VALUES = 3
"""Values of an attribute that are named of a group."""

MOST_NOTES = 20


@dataclass(frozen=True, slots=True)
class ReportedStudy:
    """What a report shows of a study. `tickets` are texts by lemon, `commands` those of one of its runs.

    `changes` are those since the study `since`, None without one. `idle`: it is open, and no process runs it.
    """

    results: FleetResults
    host_runs: Sequence[HostRun]
    sameness: Sequence[GroupSameness] = ()
    tickets: Mapping[str, str] = field(default_factory=dict)
    commands: Sequence[str] = ()
    changes: FleetChanges | None = None
    since: str = ""
    idle: bool = False


def fleet_sections(one: ReportedStudy) -> list[ReportSection]:
    """Return the report of a study. Each figure is of the runs that its last table names."""
    found = one.results
    sections = [_study(found, idle=one.idle)]
    for metric, levels in zip(found.metrics, found.levels, strict=True):
        sections.append(_metric(found, metric, levels))
    sections.append(_lemons(found))
    sections += [ReportSection(f"Ticket for {host}", code=text.rstrip()) for host, text in one.tickets.items()]
    if one.changes is not None:
        sections.append(ReportSection(f"Changes since {one.since}", notes=tuple(changes_lines(one.changes))))
    sections += [_sameness(each) for each in one.sameness]
    if found.notes:
        sections.append(ReportSection("Notes", notes=found.notes))
    return [*sections, _runs(found.study, one.host_runs), _method(one.commands)]


def _study(found: FleetResults, *, idle: bool) -> ReportSection:
    study, measured = found.study, {host for one in found.metrics for group in one.groups.values() for host in group}
    hosts = [host for host in study.with_replaced.hosts if host.name in measured or host.name in study.plan.by_name]
    steps = ", ".join(step.name for step in study.plan.plan.steps)
    begun = f"Begun {_moment(study.created)}" + (f", ended {_moment(study.ended)}" if study.ended else "")
    rows = [_group_row(group, [host for host in hosts if host.group == group], len(names))
            for group, names in study.plan.groups.items()]  # fmt: skip
    lines = (
        f"Study {study.id}: {study_state(study, idle=idle)}. {begun}.",
        f"{count_text(len(study.plan.hosts), 'host')}, {count_text(study.plan.sessions, 'session')}; tests: {steps}.",
    )
    head = ("Group", "Hosts", "Type", "Zone", "Price an hour", "Image")
    return ReportSection("Study", lines=lines, table=SectionTable(head, tuple(rows), (1,)))


def _moment(text: str) -> str:
    return f"{text[:16].replace('T', ' ')} UTC"


def _group_row(group: str, hosts: Sequence[FleetHost], now: int) -> tuple[str, ...]:
    """Return the row of a group: of its hosts, with those replaced that have results, it has so many `now`."""

    def values(of: Mapping[str, None]) -> str:
        return listed([text for text in of if text], MOST_VALUES)

    stated: list[HostAttributes] = [host.attributes for host in hosts]
    return (
        group,
        str(now),
        values(dict.fromkeys(each.instance_type for each in stated)),
        values(dict.fromkeys(each.zone for each in stated)),
        values(dict.fromkeys(each.price_text for each in stated)),
        values(dict.fromkeys(each.image for each in stated)),
    )


def _metric(found: FleetResults, one: FleetMetric, levels: FleetLevels | None) -> ReportSection:
    """Return the groups of a metric, its variance by level, and the strips."""
    trials = sum(len(values) for values in one.sessions())
    lines = [
        f"{direction_text(one.metric.better)}; margin {share_text(one.margin)}; {count_text(trials, 'trial')}.",
        *([] if levels is None else (level.text for level in levels.levels)),
        *filter(None, [found.text_without_outliers(one)]),
    ]
    if levels is None:
        lines.append(PAIRED)
    notes = () if levels is None else levels.moment_lines
    head = ("Group", "Instances", "Median", "Lowest", "Highest")
    table = SectionTable(head, tuple(_group_values(one)), (1, 2, 3, 4))
    return ReportSection(one.title, lines=tuple(lines), table=table, notes=notes, charts=tuple(found.charts_of(one)))


def _group_values(one: FleetMetric) -> Iterator[tuple[str, ...]]:
    for group, hosts in one.groups.items():
        centres = [host_centre(sessions) for sessions in hosts.values()]
        figures = (statistics.median(centres), min(centres), max(centres))
        yield group, str(len(centres)), *(figure_text(one.metric, value) for value in figures)


def _lemons(found: FleetResults) -> ReportSection:
    head = ("Host", "Group", "Metric", "Differs", "Ratio", "95 % interval", "p", "Trials")
    rows = tuple(_outlier_row(one) for one in found.search.outliers)
    notes = [each.text for each in found.search.populations]
    notes += [f"Not tested: {text}" for text in found.search.untested]
    table = SectionTable(head, rows, (4, 7)) if rows else None
    return ReportSection("Lemons", lines=(f"{lemons_text(found)}.",), table=table, notes=_shortened(notes))


def _outlier_row(one: Lemon) -> tuple[str, ...]:
    differs = "spread" if one.kind is LemonKind.SPREAD else one.direction
    p_value = p_text(one.p_adjusted).removeprefix("p ").removeprefix("= ")
    return (
        one.host, one.group, f"{metric_text(one.metric, one.labels)} of {one.step}", differs, times_text(one.ratio),
        f"{times_text(one.low)} to {times_text(one.high)}", p_value, str(one.trials),
    )  # fmt: skip


def _sameness(one: GroupSameness) -> ReportSection:
    head = ("Fact", "Value", "Hosts", "Names")
    rows = tuple(map(tuple, fact_value_rows(one)))
    departing = [f"{host} departs in {count}: {facts}" for host, count, facts in departure_rows(one, MOST_DEPARTING)]
    unread = [f"Not read: {line}" for line in unread_lines(one)]
    notes = _shortened([*(departing if len(one.hosts) > 2 else []), *unread])
    table = SectionTable(head, rows, (2,)) if rows else None
    return ReportSection(f"Sameness of {one.name}", lines=(summary_text(one),), table=table, notes=notes)


def _shortened(notes: Sequence[str]) -> tuple[str, ...]:
    more = len(notes) - MOST_NOTES
    return (*notes[:MOST_NOTES], *([f"{more} more: see --json"] if more > 0 else []))


def _runs(study: FleetStudy, host_runs: Sequence[HostRun]) -> ReportSection:
    """Return a row for each host-run: the run that its figures are of, or why there is none."""
    rows = tuple(
        (one.title, one.group, str(one.session), one.state.value, one.run, one.reason) for one in host_runs[:MOST_ROWS]
    )
    more = len(host_runs) - MOST_ROWS
    notes = (f"{more} more: benchwright fleet show {study.id} --json",) if more > 0 else ()
    head = ("Host", "Group", "Session", "State", "Run", "Reason")
    return ReportSection("Runs", table=SectionTable(head, rows, (2,)), notes=notes)


def _method(commands: Sequence[str]) -> ReportSection:
    lines = (
        "An instance is the median of its sessions, on logarithms. Results judged invalid do not count.",
        f"Lemons: {METHOD[0].lower()}{METHOD[1:]}.",
    )
    return ReportSection("Method", lines=lines, code="\n".join(commands))

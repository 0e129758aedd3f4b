"""benchwright fleet results, report, sameness, ticket, propose: what studies found."""

from functools import partial
from pathlib import Path

import click

from app.cli.common import (
    Number,
    OutputFile,
    Whole,
    given_files,
    json_verb,
    plain,
    print_file,
    print_json,
    print_note,
    verb,
)
from app.cli.sameness import print_sameness
from app.cli.studies import Study, study
from app.fleet.board import study_state
from app.fleet.changes import changes_lines
from app.fleet.planner import FleetGoal, FleetRequest
from app.fleet.proposals import MOST_INSTANCES
from app.fleet.results import results_lines
from app.fleet.results_json import proposals_to_json, results_to_json
from app.fleet.sameness_report import sameness_to_json
from app.sample_size.designs import DesignLimits
from app.services import Workstation
from app.verb_results import WrittenFiles
from suites.errors import BenchwrightError

_metrics = click.option(
    "--metric", "metrics", multiple=True, metavar="NAME", help="Include this metric of each step; repeatable."
)
_since = click.option("--since", default="", metavar="STUDY", help="Show what changed since this study.")


@click.command("results")
@click.argument("name", metavar="STUDY", default="last")
@_metrics
@_since
@study(
    "fleet-results",
    csv="Write every trial with its host, group, session and run to this file.",
    png="Write the strips of groups and instances to this file.",
)
def results(workstation: Workstation, name: str, metrics: tuple[str, ...], since: str) -> Study:
    """Show what STUDY found: variance by level (trial, session, instance, type), and lemons.

    A lemon is an instance that is slower, or varies more, than the others of its group. Rank the groups with
    “benchwright best fleet:STUDY --metric NAME”, compare them with “benchwright compare fleet:STUDY:GROUP …”.
    """
    found = workstation.fleet_results(name, metrics)
    changes = workstation.fleet_changes(since, found.study.id, metrics) if since else None

    def show() -> None:
        idle = workstation.idle_since(found.study, workstation.host_runs(found.study.id)) is not None
        state = study_state(found.study, idle=idle)
        click.echo(plain(f"Study {found.study.id}, {found.study.name}: {state}"))
        for line in results_lines(found):
            click.echo(plain(line))
        for one in found.search.populations:
            for fact in workstation.population_facts(name, one):
                click.echo(plain(f"{one.group}, {fact.text}"))
        if changes is not None:
            click.echo(plain(f"Changes since {since}"))
            for line in changes_lines(changes):
                click.echo(plain(f"  {line}"))

    def write(path: Path) -> None:
        workstation.export_fleet_trials(found, path)

    return Study(show, partial(results_to_json, found, since, changes), write, found.charts)


@click.command("report")
@click.argument("name", metavar="STUDY", default="last")
@_metrics
@_since
@click.option("--html", type=OutputFile(), help="HTML with the strips, in one file.")
@click.option("--markdown", type=OutputFile(), help="Markdown, without the strips.")
@click.option("--pdf", type=OutputFile(), help="PDF with the strips.")
@json_verb("files")
def report(
    workstation: Workstation,
    name: str,
    metrics: tuple[str, ...],
    since: str,
    *,
    as_json: bool,
    **paths: Path | None,
) -> None:
    """Write the report of STUDY: groups, variance by level, strips, lemons with tickets, sameness, and every run.

    It names the hosts: nothing in it is redacted.
    """
    given = given_files(paths)
    if not given:
        raise BenchwrightError("No output file given.", "Add --html, --markdown or --pdf with a FILE.")
    written = workstation.export_fleet_report(name, given, metrics, since)
    if as_json:
        print_json(WrittenFiles(files=[str(path) for path in written]))
        return
    for path in written:
        print_note(f"Wrote {path}.")


@click.command("sameness")
@click.argument("name", metavar="STUDY", default="last")
@json_verb("sameness")
def sameness(workstation: Workstation, name: str, *, as_json: bool) -> None:
    """Show which facts differ within the groups of STUDY, by what its runs read, the odd host first."""
    found = workstation.fleet_sameness(name)
    if as_json:
        print_json(sameness_to_json(found, {}))
    else:
        print_sameness(found)


_WANTED = Number(0, 100, min_open=True)


@click.command("propose")
@click.argument("name", metavar="STUDY", default="last")
@click.option("--half-width", type=_WANTED, metavar="PERCENT", help="Half width of the interval of each type's mean.")
@click.option("--difference", type=_WANTED, metavar="PERCENT", help="Difference between two types to show.")
@click.option("--metric", default="", metavar="NAME", help="Metric.  [default: the first headline metric]")
@click.option(
    "--most-instances", type=Whole(3, 1000), default=MOST_INSTANCES, show_default=True, help="Most instances of each."
)
@json_verb("fleet-propose")
def propose(
    workstation: Workstation,
    name: str,
    half_width: float | None,
    difference: float | None,
    metric: str,
    most_instances: int,
    *,
    as_json: bool,
) -> None:
    """Propose instances x sessions x trials of the next study from the variance of STUDY, the cheapest first."""
    if (half_width is None) == (difference is None):
        raise click.UsageError("Give --half-width or --difference.")
    goal = FleetGoal.DIFFERENCE if half_width is None else FleetGoal.HALF_WIDTH
    wanted = (difference if half_width is None else half_width) or 0.0
    request = FleetRequest(goal, wanted / 100, limits=DesignLimits(hosts=most_instances))
    found = workstation.propose_fleet(name, request, metric)
    if as_json:
        print_json(proposals_to_json(found))
        return
    click.echo(plain(f"{found.one.title}, {goal.value} {wanted:g} %"))
    for line in found.lines(MOST_DESIGNS):
        click.echo(plain(line))
    if not found.designs:
        click.echo(plain(f"No design with at most {most_instances} instances reaches it."))
    for note in found.notes:
        print_note(note)


MOST_DESIGNS = 5
"""Designs that are printed."""


@click.command("ticket")
@click.argument("name", metavar="STUDY")
@click.argument("host")
@click.option("--markdown", is_flag=True, help="Print Markdown.")
@verb
def ticket(workstation: Workstation, name: str, host: str, *, markdown: bool) -> None:
    """Print the ticket text for HOST, an instance of STUDY that differs from its group."""
    print_file(workstation.lemon_ticket(name, host, markdown=markdown))

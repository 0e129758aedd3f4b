"""benchwright history: a metric over time, where its level changed, and what else changed then."""

import click

from app.cli.common import json_option, pass_workstation, plain, print_json, print_table, speaks_to_people
from app.history.history import History, Wanted
from app.history.history_json import history_to_json
from app.history.history_text import SHOWN, notes_of
from app.services import Workstation
from app.wording import direction_text, figure_text, range_text
from suites.errors import BenchwrightError
from suites.vocab import Labels


@click.command()
@click.argument("host")
@click.option("--metric", required=True, metavar="NAME", help="The name of the metric, as “show --json” has it.")
@click.option("--step", default="", metavar="NAME", help="The step, where several have the metric.")
@click.option(
    "--label", "given", multiple=True, metavar="NAME=VALUE", help="Which figure of the metric; may be given again."
)
@json_option
@pass_workstation
@speaks_to_people
def history(
    workstation: Workstation,
    host: str,
    metric: str,
    step: str,
    given: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show a metric of HOST over all comparable runs, and where its level changed.

    HOST may be several joined by commas: a group, whose hosts weigh alike.
    """
    hosts = tuple(name.strip() for name in host.split(",") if name.strip())
    found = workstation.history(Wanted(hosts, metric, step, labels_of(given)))
    if as_json:
        print_json(history_to_json(found))
    else:
        print_history(found)


def labels_of(given: tuple[str, ...]) -> Labels | None:
    """Return the labels that are asked for, None for whichever come first."""
    pairs = [word.partition("=") for word in given]
    if any(not name or not mark for name, mark, _ in pairs):
        raise BenchwrightError("A label is no NAME=VALUE.", "Write --label operation=read, for example.")
    return tuple(sorted((name, value) for name, _, value in pairs)) if pairs else None


def print_history(found: History) -> None:
    """Print a history for people."""
    click.echo(plain(f"{found.title}; {direction_text(found.metric.better)}"))
    marks = {marked.change.place: marked for marked in found.marked}
    first = max(0, len(found.points) - SHOWN)
    rows = []
    for place, point in enumerate(found.points[first:], first):
        reach = ""
        if point.low is not None and point.high is not None:
            reach = range_text(found.metric, point.low, point.high) + ("" if point.interval else " (range)")
        moment = point.started[:16].replace("T", " ")
        mark = marks[place].text if place in marks else ""
        rows.append([point.run, moment, figure_text(found.metric, point.value), reach, str(point.n), mark])
    print_table(["Run", "Started (UTC)", "Value", "95 % interval", "n", "What changed"], rows, right=[2, 4])
    if first:
        click.echo(plain(f"The newest {SHOWN} of {len(found.points)} runs; --json has all."))
    for line in notes_of(found):
        click.echo(plain(f"Note: {line}"))

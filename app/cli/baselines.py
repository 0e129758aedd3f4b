"""benchwright baseline: pin, import, show and remove baselines."""

from pathlib import Path

import click

from app.baselines.baselines import HEAD, Baseline, baseline_row, baseline_to_json, remarks, title
from app.baselines.reference import Reference, ReferenceFigure
from app.cli.common import Number, json_verb, plain, print_json, print_table, verb
from app.services import Workstation
from suites.quantities import figure_text, label_text
from suites.vocab import Better, Metric, MetricKind

DAY = 86400.0

age_option = click.option(
    "--max-age",
    type=Number(0, 36500, min_open=True),
    metavar="DAYS",
    help="Age in days from which the baseline counts as too old.  [default: 90]",
)


@click.group()
def baseline() -> None:
    """Pin runs, groups of runs and published tables to compare against.

    Pinning a name again adds a version. Write baseline:NAME or baseline:NAME@VERSION where compare and best take
    runs.
    """


@baseline.command("list")
@json_verb("baselines")
def list_baselines(workstation: Workstation, *, as_json: bool) -> None:
    """List all versions of all baselines, the newest first, then the published tables."""
    found = workstation.baselines()
    if as_json:
        print_json([baseline_to_json(one) for one in found])
        return
    print_table(HEAD, [baseline_row(one) for one in found], right=[1])


@baseline.command("show")
@click.argument("name")
@json_verb("baseline")
def show(workstation: Workstation, name: str, *, as_json: bool) -> None:
    """Show the contents of the baseline NAME, or NAME@VERSION."""
    found = workstation.baseline(name)
    if as_json:
        print_json(baseline_to_json(found, whole=True))
        return
    click.echo(plain(title(found)))
    for line in remarks(found):
        click.echo(plain(f"Note: {line}"))
    for part in found.parts:
        click.echo(plain(part))
    if found.reference is not None:
        _print_reference(found.reference)


@baseline.command("pin")
@click.argument("run")
@click.argument("name")
@age_option
@click.option("--accept-invalid", is_flag=True, help="Pin a run although its verdict is invalid.")
@json_verb("baseline")
def pin(
    workstation: Workstation, run: str, name: str, *, max_age: float | None, accept_invalid: bool, as_json: bool
) -> None:
    """Pin RUN as the next version of the baseline NAME.

    RUN may be several runs joined by commas, each with @HOST or :STEP: they form a group. It may also be
    baseline:NAME, which shows a published table in live plots.
    """
    oldest = None if max_age is None else max_age * DAY
    version = workstation.pin(run, name, oldest, accept_invalid=accept_invalid)
    _print_pinned(workstation.baseline(f"{name.strip()}@{version}"), as_json=as_json)


@baseline.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", default="", help="Name of the baseline.  [default: the name in the file, or the file's name]")
@age_option
@json_verb("baseline")
def import_table(workstation: Workstation, file: Path, *, name: str, max_age: float | None, as_json: bool) -> None:
    """Import the table of figures in FILE as the next version of a baseline.

    The help page on baselines describes the formats.
    """
    oldest = None if max_age is None else max_age * DAY
    _print_pinned(workstation.import_baseline(file, name, oldest), as_json=as_json)


@baseline.command("remove")
@click.argument("name")
@verb
def remove(workstation: Workstation, name: str) -> None:
    """Remove the baseline NAME with all its versions, or NAME@VERSION alone; the runs stay."""
    workstation.unpin(name)


@baseline.command("unpin")
@click.argument("name")
@verb
def unpin(workstation: Workstation, name: str) -> None:
    """Remove the baseline NAME; the same as remove."""
    workstation.unpin(name)


def _print_pinned(found: Baseline, *, as_json: bool) -> None:
    if as_json:
        print_json(baseline_to_json(found, whole=True))
    else:
        click.echo(plain(f"Pinned {title(found)}"))


def _print_reference(table: Reference) -> None:
    click.echo(plain(f"{table.title}. Source: {table.source or 'not given'}"))
    for doubt in table.doubts:
        click.echo(plain(f"Doubt: {doubt}"))
    shared = {
        suite: set.intersection(*(set(one.parameters) for one in table.figures if one.suite == suite))
        for suite in {one.suite for one in table.figures}
    }
    rows = [
        [
            figure.suite,
            figure.metric,
            label_text((*figure.labels, *(pair for pair in figure.parameters if pair not in shared[figure.suite]))),
            figure_text(_metric(figure), figure.value),
            figure.doubt,
        ]
        for figure in table.figures
    ]
    print_table(["Suite", "Metric", "Of", "Value", "Doubt"], rows, right=[3])


def _metric(figure: ReferenceFigure) -> Metric:
    """Return a metric for formatting a figure's value; its direction is not used."""
    return Metric(figure.metric, figure.metric, figure.unit, Better.HIGHER, MetricKind.RATE)

"""benchwright baseline: what is compared against, pinned under a name."""

from pathlib import Path

import click

from app.baselines.baseline_json import baseline_to_json
from app.baselines.baselines import Baseline, remarks, title
from app.baselines.reference import Reference, ReferenceFigure
from app.cli.common import json_option, pass_workstation, plain, print_json, print_table, speaks_to_people
from app.moments import age_text
from app.services import Workstation
from app.wording import figure_text, label_text
from suites.vocab import Better, Kind, Metric

DAY = 86400.0

age_option = click.option(
    "--max-age",
    type=click.FloatRange(min=0, min_open=True, max=36500),
    metavar="DAYS",
    help="Days after which it says that it is too old.  [default: 90]",
)


@click.group()
def baseline() -> None:
    """Pin runs, groups of runs and published tables to compare against.

    A name pinned anew is its next version; the old one stays. Write baseline:NAME or baseline:NAME@VERSION where
    compare and best take runs.
    """


@baseline.command("list")
@json_option
@pass_workstation
@speaks_to_people
def list_baselines(workstation: Workstation, *, as_json: bool) -> None:
    """List every version of every baseline, the newest pinned first, then the published tables."""
    found = workstation.baselines()
    if as_json:
        print_json([baseline_to_json(one) for one in found])
        return
    rows = [[one.name, str(one.version), _what(one), _age(one), "; ".join(remarks(one))] for one in found]
    print_table(["Baseline", "Version", "What", "Measured", "To know"], rows, right=[1])


@baseline.command("show")
@click.argument("name")
@json_option
@pass_workstation
@speaks_to_people
def show(workstation: Workstation, name: str, *, as_json: bool) -> None:
    """Show what the baseline NAME, or NAME@VERSION, is made of."""
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
@json_option
@pass_workstation
@speaks_to_people
def pin(workstation: Workstation, run: str, name: str, *, max_age: float | None, as_json: bool) -> None:
    """Pin RUN as the next version of the baseline NAME.

    RUN may be several joined by commas, each with @HOST or :STEP behind it: they stand together. It may be
    baseline:NAME as well: a published table is then shown in live plots.
    """
    version = workstation.pin(run, name, None if max_age is None else max_age * DAY)
    _said(workstation.baseline(f"{name.strip()}@{version}"), as_json=as_json)


@baseline.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", default="", help="What it is called; else what the file says, or the file's own name.")
@age_option
@json_option
@pass_workstation
@speaks_to_people
def import_table(workstation: Workstation, file: Path, *, name: str, max_age: float | None, as_json: bool) -> None:
    """Keep the table of figures in FILE, TOML or CSV, as the next version of a baseline."""
    oldest = None if max_age is None else max_age * DAY
    _said(workstation.import_baseline(file, name, oldest), as_json=as_json)


@baseline.command("remove")
@click.argument("name")
@pass_workstation
@speaks_to_people
def remove(workstation: Workstation, name: str) -> None:
    """Remove the baseline NAME with all its versions, or NAME@VERSION alone; the runs stay."""
    workstation.unpin(name)


@baseline.command("unpin")
@click.argument("name")
@pass_workstation
@speaks_to_people
def unpin(workstation: Workstation, name: str) -> None:
    """Do what remove does."""
    workstation.unpin(name)


def _said(found: Baseline, *, as_json: bool) -> None:
    if as_json:
        print_json(baseline_to_json(found, whole=True))
    else:
        click.echo(plain(f"Pinned {title(found)}"))


def _what(found: Baseline) -> str:
    return title(found).rpartition(", ")[2] + (", built in" if found.built_in else "")


def _age(found: Baseline) -> str:
    age = found.age()
    return "not known" if age is None else f"{age_text(age)} ago"


def _print_reference(table: Reference) -> None:
    click.echo(plain(f"{table.title}. Source: {table.source or 'not said'}"))
    for doubt in table.doubts:
        click.echo(plain(f"Doubt: {doubt}"))
    rows = [
        [
            figure.suite,
            figure.metric,
            label_text(figure.labels),
            figure_text(_metric(figure), figure.value),
            figure.doubt,
        ]
        for figure in table.figures
    ]
    print_table(["Suite", "Metric", "Of", "Value", "Doubt"], rows, right=[3])


def _metric(figure: ReferenceFigure) -> Metric:
    """Return a metric for the words of a figure's value; which way is better is not shown."""
    return Metric(figure.metric, figure.metric, figure.unit, Better.HIGHER, Kind.RATE)

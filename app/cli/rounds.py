"""benchwright rounds: how a test that goes on until it is steady came there."""

from pathlib import Path

import click

from app.cli.common import pass_workstation, plain, speaks_to_people
from app.services import Workstation


@click.command()
@click.argument("run")
@click.option(
    "--png",
    "path",
    type=click.Path(path_type=Path),
    required=True,
    help="Write the picture here; it has a chart a trial.",
)
@pass_workstation
@speaks_to_people
def rounds(workstation: Workstation, run: str, *, path: Path) -> None:
    """Draw what each trial of RUN tracked over its rounds, with the last five: their range and their fitted line.

    A window that is within its range while the line still falls is a slow decay; the five rounds before tell.
    """
    from app.picture.chart import write_charts

    charts = workstation.describing.rounds(run)
    if not charts:
        click.echo("No trial of the run went on round by round: those of fio-snia do.", err=True)
        return
    write_charts(charts, path)
    for chart in charts:
        click.echo(plain(f"{chart.title}: {chart.note}"))
    click.echo(plain(f"Wrote {path}."), err=True)

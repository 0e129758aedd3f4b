"""benchwright heatmap: every request of a run by its moment and its latency."""

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
    help="Write the picture here; it has a map a trial.",
)
@pass_workstation
@speaks_to_people
def heatmap(workstation: Workstation, run: str, *, path: Path) -> None:
    """Draw how the latencies of each trial of RUN lie in time, where its tool counts every request.

    Two modes, a stall every few seconds, a tail that grows: what percentiles put into one figure stands apart here.
    """
    from app.picture.chart import write_charts

    charts = workstation.describing.heat(run)
    if not charts:
        click.echo("No trial of the run has a histogram of latencies: fio's have.", err=True)
        return
    write_charts(charts, path)
    for chart in charts:
        click.echo(plain(f"{chart.title}: {chart.note.partition('. ')[0]}."))
    click.echo(plain(f"Wrote {path}."), err=True)

"""benchwright scaling: what more threads, depth, jobs or streams give."""

from collections.abc import Sequence
from pathlib import Path

import click

from app.cli.common import json_option, pass_workstation, plain, print_json, print_table, speaks_to_people
from app.plans.plan import host_words
from app.scaling import Scaling
from app.scaling.scaling import Efficiency
from app.scaling.to_json import scaling_to_json, write_scaling
from app.scaling.words import scaling_lines
from app.services import Workstation
from app.wording import figure_text, metric_text, range_text


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--all", "everything", is_flag=True, help="Every metric, not only the first of each step.")
@click.option("--csv", "csv_path", type=click.Path(path_type=Path), help="Write the points here.")
@click.option("--png", "png_path", type=click.Path(path_type=Path), help="Write the picture here.")
@json_option
@pass_workstation
@speaks_to_people
def scaling(
    workstation: Workstation,
    runs: tuple[str, ...],
    *,
    everything: bool,
    csv_path: Path | None,
    png_path: Path | None,
    as_json: bool,
) -> None:
    """Show how what RUNS measured grows: knee, efficiency, and a model where the points carry one.

    Runs joined by commas are one: their steps are the points where they differ in one parameter.
    """
    found = [one for run in runs for one in workstation.describing.scaling(run, everything=everything)]
    if csv_path is not None:
        write_scaling(found, csv_path)
    if png_path is not None:
        from app.picture.chart import write_charts
        from app.scaling.chart import scaling_charts

        write_charts([chart for one in found for chart in scaling_charts(one)], png_path)
    if as_json:
        print_json(scaling_to_json(found))
        return
    print_scaling(found)


def print_scaling(found: Sequence[Scaling]) -> None:
    """Print curves for people."""
    if not found:
        click.echo("Nothing was swept: no metric has figures that differ in one number alone.")
    for number, one in enumerate(found):
        if number:
            click.echo("")
        curve = one.curve
        click.echo(plain(f"{metric_text(curve.metric, curve.rest)}, {one.step} on {host_words(one.host)} ({one.run})"))
        head = (curve.label.replace("_", " ").capitalize(), "Median", "Lowest to highest", "n", "Efficiency")
        print_table(head, _rows(one), right=range(5))
        for line in scaling_lines(one):
            click.echo(plain(line))


def _rows(one: Scaling) -> list[list[str]]:
    efficient = {each.x: each for each in one.efficiencies}
    metric = one.curve.metric
    return [
        [
            point.text,
            figure_text(metric, point.median, (point.high - point.low) / 2 or None),
            range_text(metric, point.low, point.high) if len(point.values) > 1 else "",
            str(len(point.values)),
            _efficiency(efficient.get(point.x)),
        ]
        for point in one.curve.points
    ]


def _efficiency(found: Efficiency | None) -> str:
    if found is None:
        return ""
    text = f"{100 * found.value:.0f} %"
    if found.low is None or found.high is None:
        return text
    return f"{text} ({100 * found.low:.0f} to {100 * found.high:.0f})"

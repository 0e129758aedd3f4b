"""benchwright noise: which test, host or run is the most repeatable."""

from pathlib import Path

import click

from app.cli.common import json_option, pass_workstation, plain, print_json, print_table, speaks_to_people
from app.noise.noise import Noise, NoiseEntry, NoiseLevel, Pooled, Spread
from app.noise.noise_chart import TITLES
from app.noise.noise_json import noise_to_json, write_noise
from app.plans.plan import host_words
from app.services import Workstation
from app.wording import metric_text, share_text

_FIGURES = ("n", "CoV", "95 % interval", "(max - min) / median")


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--all", "everything", is_flag=True, help="Every metric, not only the first of each step.")
@click.option("--csv", "csv_path", type=click.Path(path_type=Path), help="Write the entries here.")
@click.option("--png", "png_path", type=click.Path(path_type=Path), help="Write the picture here.")
@json_option
@pass_workstation
@speaks_to_people
def noise(
    workstation: Workstation,
    runs: tuple[str, ...],
    everything: bool,
    csv_path: Path | None,
    png_path: Path | None,
    as_json: bool,
) -> None:
    """Rank what RUNS measured by how repeatable it is. Runs joined by commas are one group."""
    found = workstation.describing.noise(runs, everything=everything)
    if csv_path is not None:
        write_noise(found, csv_path)
    if png_path is not None:
        from app.noise.noise_chart import noise_charts
        from app.picture.chart import write_charts

        write_charts(noise_charts(found), png_path)
    if as_json:
        print_json(noise_to_json(found))
        return
    print_noise(found)


def print_noise(found: Noise) -> None:
    """Print a noise study for people."""
    if not found.entries:
        click.echo("Nothing spreads: there are fewer than two trials of everything.")
        return
    for level in NoiseLevel:
        entries = found.at(level)
        if entries:
            click.echo(plain(TITLES[level]))
            head = ("Rank", "Run", "Step", "Host", "Metric", *_FIGURES)
            print_table(head, [_row(entry) for entry in entries], right=(0, 5, 6, 7, 8))
            click.echo("")
    for title, pooled in (("Test", found.tests), ("Host", found.hosts), ("Run", found.runs)):
        if len(pooled) > 1:
            print_table(("Rank", title, *_FIGURES), [_pooled(title, one) for one in pooled], right=(0, 2, 3, 4, 5))
            click.echo("")
    click.echo(plain(f"{found.method}."))


def _row(entry: NoiseEntry) -> list[str]:
    named = metric_text(entry.metric, entry.labels)
    return [str(entry.rank), entry.run, entry.step, host_words(entry.host), named, *spread_cells(entry.spread)]


def _pooled(title: str, one: Pooled) -> list[str]:
    return [str(one.rank), host_words(one.name) if title == "Host" else one.name, *spread_cells(one.spread)]


def spread_cells(spread: Spread) -> list[str]:
    """Return a spread in words: how many, the CoV, its interval, the range."""
    reach = "" if spread.range is None else share_text(spread.range)
    return [str(spread.n), share_text(spread.cov), _interval(spread), reach]


def _interval(spread: Spread) -> str:
    if spread.low is None:
        return "not known"
    if spread.high is None:
        return f"{share_text(spread.low)} or more"
    return f"{share_text(spread.low)} to {share_text(spread.high)}"

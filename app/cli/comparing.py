"""benchwright compare: runs and groups of runs side by side, what differs between them, and what may be said."""

import click

from app.cli.common import json_option, pass_workstation, plain, print_json, print_table, speaks_to_people
from app.cli.comparison_table import (
    GATE_HEAD,
    HEAD,
    LEVELS_HEAD,
    RIGHT_ALIGNED,
    closing_lines,
    comparison_rows,
    gate_rows,
    levels_rows,
    run_lines,
)
from app.cli.distribution_table import say_distributions
from app.comparing.comparison import Comparison
from app.comparing.comparison_json import comparison_to_json
from app.services import Workstation
from suites.errors import BenchwrightError

margin_option = click.option(
    "--margin",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="What does not matter to you (default: the host's own where it is calibrated, else 5).",
)
overrule_option = click.option(
    "--overrule", default="", metavar="REASON", help="Compare what differs in what it measures, and say why."
)


def share_of(percent: float | None) -> float | None:
    """Return a margin in per cent as a share; None where none was given."""
    return None if percent is None else percent / 100


@click.command()
@click.argument("runs", nargs=-1, required=True)
@margin_option
@overrule_option
@click.option("--levels", is_flag=True, help="Show on which level each figure spreads: samples, trials, hosts.")
@click.option("--distribution", metavar="METRIC", help="Show percentiles of METRIC, and how far apart they lie.")
@json_option
@pass_workstation
@speaks_to_people
def compare(
    workstation: Workstation,
    runs: tuple[str, ...],
    margin: float | None,
    overrule: str,
    levels: bool,
    distribution: str | None,
    as_json: bool,
) -> None:
    """Compare RUNS with the first of them.

    A side is a run, or several joined by commas. RUN@HOST and RUN:STEP are the part of a run on one host, and of one
    step; baseline:NAME and baseline:NAME@VERSION are a baseline.
    """
    if len(runs) < 2:
        raise BenchwrightError(
            "One run alone has nothing to be compared with.", "Name two or more; the first is the baseline."
        )
    if distribution is not None:
        say_distributions(workstation.describing.distributions(runs, distribution, overrule), as_json=as_json)
        return
    comparison = workstation.compare(runs, share_of(margin), overrule)
    if as_json:
        print_json(comparison_to_json(comparison))
        return
    print_comparison(comparison, levels=levels)


def print_comparison(comparison: Comparison, *, levels: bool = False) -> None:
    """Print a comparison for people: what differs, each figure with its spread, and what may be said."""
    for line in run_lines(comparison):
        click.echo(plain(line))
    click.echo("")
    gate = gate_rows(comparison)
    if gate:
        print_table(GATE_HEAD, gate)
        click.echo("")
    print_table(HEAD, comparison_rows(comparison), right=RIGHT_ALIGNED)
    click.echo("")
    if levels:
        print_table(("Step", "Host", "Metric", "Run", *LEVELS_HEAD), levels_rows(comparison), right=(4, 5, 6, 7))
        click.echo("")
    for line in closing_lines(comparison):
        click.echo(plain(line))

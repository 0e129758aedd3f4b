"""benchwright margins: the user's own margins by metric."""

import click

from app.cli.common import (
    PERCENT,
    json_option,
    pass_workstation,
    print_json,
    print_note,
    print_table,
    report_errors,
    verb,
)
from app.margins import DEFAULT_MARGIN, TAIL_FROM, TAIL_MARGIN
from app.saved_margins import FORMAT, MarginsJson
from app.services import Workstation
from suites.quantities import exact_share_text, share_text


@click.group(invoke_without_command=True)
@json_option("margins")
@pass_workstation
@click.pass_context
@report_errors
def margins(context: click.Context, workstation: Workstation, *, as_json: bool) -> None:
    """List the margins of metrics: differences up to them do not matter.

    compare, best, agree and runs until a verdict use them, unless --margin or the plan of a run gives another.
    """
    if context.invoked_subcommand is not None:
        return
    kept = workstation.saved_margins.read()
    if as_json:
        print_json(MarginsJson(format=FORMAT, margins=kept, default=DEFAULT_MARGIN, tail=TAIL_MARGIN))
        return
    rows = [[metric, exact_share_text(share), "yours"] for metric, share in sorted(kept.items())]
    rows.append([f"percentiles from p{TAIL_FROM:g}", share_text(TAIL_MARGIN), "default"])
    rows.append(["other metrics", share_text(DEFAULT_MARGIN), "default"])
    print_table(("Metric", "Margin", "Origin"), rows, right=(1,))


@margins.command("set")
@click.argument("metric")
@click.argument("percent", type=PERCENT)
@verb
def keep(workstation: Workstation, metric: str, percent: float) -> None:
    """Set your margin of METRIC to PERCENT."""
    workstation.saved_margins.keep(metric, percent / 100)
    if metric not in workstation.metric_names():
        print_note(f"No run in the library has “{metric[:60]}”: see “show --json” for the names of metrics.")


@margins.command("forget")
@click.argument("metric")
@verb
def forget(workstation: Workstation, metric: str) -> None:
    """Delete your margin of METRIC."""
    workstation.saved_margins.forget(metric)

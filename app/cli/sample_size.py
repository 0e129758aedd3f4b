"""benchwright sample-size: hosts x sessions x trials that show a difference, and their cost."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from app.cli.common import Number, Whole, plain, print_note, print_table
from app.cli.studies import Study, labels_of, margin_option, runs_argument, study
from app.comparison.estimates import FEWEST_TRIALS
from app.comparison.power import POWER, PlannedTest, SampleDesign
from app.margins import Margins
from app.ranking.candidates import parse_price
from app.sample_size.designs import DesignLimits, Effort, SampleSizeRequest
from app.sample_size.pilot import Pilot, PilotQuery, missing_hosts_text, plan_of
from app.sample_size.report import (
    COMPONENT_HEAD,
    SampleSize,
    SampleSizeError,
    component_rows,
    design_head,
    design_rows,
    sample_size,
    sample_size_chart,
    sample_size_given,
    sample_size_lines,
    sample_size_to_json,
    title_text,
)
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.parameters import parse_duration
from suites.units import ungrouped

LIMITS = DesignLimits()
MOST_ROWS = 10
"""Designs that are printed."""

_MOST = Whole(1, 1000)


class Duration(click.ParamType[float]):
    """A duration in seconds, as in 90, 5min or 1d."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds."""
        if isinstance(value, float):
            return value
        try:
            return parse_duration(ungrouped(str(value)))
        except (ValueError, BenchwrightError):
            self.fail(f"{value!r} is not a duration; write 90, 5min or 1d.", param, ctx)


_OPTIONS = (
    click.option("--step", default="", metavar="NAME", help="Step of the runs.  [default: the first]"),
    click.option("--metric", default="", metavar="NAME", help="Metric, as in “show --json”.  [default: the headline]"),
    click.option("--label", "labels", multiple=True, metavar="NAME=VALUE", help="Label of the figure; repeatable."),
    click.option("--detect", metavar="PERCENT", help="Difference to show, as in 5%.  [default: the metric's margin]"),
    click.option("--power", metavar="PERCENT", default=f"{100 * POWER:g}%", show_default=True,
                 help="Share of comparisons that show it."),
    click.option("--paired", is_flag=True, help="Both sides use the same hosts, before and after a change."),
    click.option("--tests", type=_MOST, metavar="N",
                 help="Metrics that the comparison tests together.  [default: as compare with RUNS]"),
    click.option("--most-hosts", type=_MOST, default=LIMITS.hosts, show_default=True, help="Most hosts of each side."),
    click.option("--most-sessions", type=_MOST, default=LIMITS.sessions, show_default=True,
                 help="Most sessions on each host."),
    click.option("--most-trials", type=_MOST, default=LIMITS.trials, show_default=True,
                 help="Most trials of a session."),
    click.option("--hosts", type=_MOST, help="Show what a design with this many hosts on each side detects."),
    click.option("--sessions", type=_MOST, help="Likewise, with this many sessions on each host."),
    click.option("--trials", type=_MOST, help="Likewise, with this many trials of a session."),
    click.option("--price", metavar="PRICE", help="Price of a host and hour: 0.34 or “0.34 USD”."),
    click.option("--trial-time", type=Duration(), metavar="TIME", help="Time of a trial.  [default: as in RUNS]"),
    click.option("--setup-time", type=Duration(), metavar="TIME",
                 help="Time of a session besides its trials.  [default: as in RUNS]"),
    click.option("--every", type=Duration(), metavar="TIME", help="Time between sessions.  [default: 1d]"),
    click.option("--plan", "plan_path", type=click.Path(path_type=Path), metavar="FILE",
                 help="Write a plan with the recommended design."),
)  # fmt: skip


def _sample_size_options(command: Any) -> Any:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command("sample-size")
@runs_argument
@_sample_size_options
@margin_option
@study("sample-size", png="Write the chart to this file.")
def sample_size_command(
    workstation: Workstation,
    /,
    runs: tuple[str, ...],
    margins: Margins,
    plan_path: Path | None,
    **given: Any,
) -> Study:
    """Propose hosts x sessions x trials that show a difference, from the variance of RUNS, and their cost.

    Each of RUNS is one configuration, as in compare: a run, runs joined by commas, series:NAME or baseline:NAME. Runs
    of one configuration are its sessions; a level that they do not repeat is not known.
    """
    query = PilotQuery(given["step"], given["metric"], labels_of(given["labels"]))
    found = _found(workstation.sample_pilot(runs, query, margins), given)
    if plan_path is not None:
        _write_plan(workstation, found, plan_path)
    return Study(
        partial(_print, found), partial(sample_size_to_json, found), charts=lambda: [sample_size_chart(found)]
    )  # fmt: skip


def _found(pilot: Pilot, given: dict[str, Any]) -> SampleSize:
    request = _request(pilot, given)
    counts = [given[name] for name in ("hosts", "sessions", "trials")]
    if all(count is None for count in counts):
        return sample_size(pilot, request)
    hosts, sessions, trials = (
        count if count is not None else fewest for count, fewest in zip(counts, (1, 1, FEWEST_TRIALS), strict=True)
    )
    return sample_size_given(pilot, request, SampleDesign(hosts, sessions, trials))


def _request(pilot: Pilot, given: dict[str, Any]) -> SampleSizeRequest:
    wanted = pilot.margin.share if given["detect"] is None else share_of(given["detect"], "--detect", 0.01, 1000)
    limits = DesignLimits(given["most_hosts"], given["most_sessions"], given["most_trials"])
    power = share_of(given["power"], "--power", 50, 99)
    test = PlannedTest(power, given["paired"], given["tests"] or pilot.tested)
    return SampleSizeRequest(wanted, pilot.margin.share, _effort(pilot, given), test, limits)


def _effort(pilot: Pilot, given: dict[str, Any]) -> Effort:
    names = {"trial": "trial_time", "setup": "setup_time", "every": "every"}
    times = {name: given[option] for name, option in names.items() if given[option] is not None}
    price = None if given["price"] is None else parse_price(given["price"])
    return replace(pilot.effort, price=price, **times)


def share_of(text: str, what: str, least: float, most: float) -> float:
    """Return the share written as ``5`` or ``5%``, from `least` to `most` percent."""
    try:
        return float(Number(least, most).convert(text.strip().removesuffix("%").strip(), None, None)) / 100
    except click.BadParameter:
        raise BenchwrightError(
            f"{what} is “{text[:40]}”.", f"Write a number from {least:g} to {most:g} percent, as in 5%."
        ) from None


def _write_plan(workstation: Workstation, found: SampleSize, path: Path) -> None:
    if found.recommended is None:
        raise SampleSizeError("No design within the limits: no plan was written.", "Widen the limits, or --detect.")
    design = found.recommended.design
    made = plan_of(found.pilot, design, found.request.effort.every)
    workstation.save_plan(made, path)
    print_note(f"Wrote {path}: {design.sessions} x {design.trials} on {', '.join(made.hosts)}. Run it for each side.")
    if missing := missing_hosts_text(made, design):
        print_note(missing)


def _print(found: SampleSize) -> None:
    click.echo(plain(title_text(found)))
    print_table(COMPONENT_HEAD, component_rows(found.pilot), right=(1, 2, 3, 4))
    click.echo()
    if found.designs:
        head = design_head(found)
        print_table(head, design_rows(found)[:MOST_ROWS], right=range(len(head)))
        if len(found.designs) > MOST_ROWS:
            click.echo(plain(f"The {MOST_ROWS} cheapest of {len(found.designs)} designs; --json has all."))
        click.echo()
    for line in sample_size_lines(found):
        click.echo(plain(line))

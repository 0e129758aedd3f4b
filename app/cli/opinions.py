"""benchwright second-opinion, agree: the same question asked of another tool, and whether both say the same."""

import click

from app.cli.asking import TerminalAsker, agrees, asks
from app.cli.common import FAILED, json_option, pass_workstation, plain, print_json, speaks_to_people
from app.cli.comparing import share_of
from app.cli.runs import measure
from app.cli.telling import minds_others
from app.comparing.intervals import FEWEST_TRIALS
from app.events import State
from app.opinion.agreement import Agreement
from app.opinion.to_json import agreement_to_json, proposal_to_json
from app.opinion.words import agreement_line, proposal_lines, why_lines
from app.plans.plan import MAXIMUM_TRIALS, host_words
from app.runs.control import Busy
from app.services import Workstation
from suites.errors import BenchwrightError


@click.command("second-opinion")
@click.argument("run")
@click.option("--step", default="", help="The step to check (default: the first that another tool can).")
@click.option("--with", "other", default="", metavar="SUITE", help="Ask this suite (default: the nearest).")
@click.option(
    "--trials", type=click.IntRange(1, MAXIMUM_TRIALS), default=FEWEST_TRIALS, show_default=True, help="Trials of each."
)
@click.option("--run", "runs", is_flag=True, help="Run it; without, the plan is shown.")
@asks
@agrees
@minds_others
@json_option
@pass_workstation
@speaks_to_people
def second_opinion(
    workstation: Workstation,
    run: str,
    step: str,
    other: str,
    trials: int,
    asker: TerminalAsker,
    busy: Busy,
    *,
    runs: bool,
    as_json: bool,
) -> None:
    """Check what RUN says with another tool: both are asked the same, interleaved, in one plan."""
    found = workstation.second_opinion(run, step, other, trials)
    if not runs:
        if as_json:
            print_json(proposal_to_json(found))
            return
        for line in proposal_lines(found):
            click.echo(plain(line))
        click.echo("Add --run to run it.")
        return
    for line in () if as_json else proposal_lines(found):
        click.echo(plain(line), err=True)
    run_id, state = measure(workstation, found.plan, asker, quiet=as_json, busy=busy)
    _say(workstation.agreements(run_id), run_id, as_json=as_json)
    if state is not State.DONE:
        raise SystemExit(FAILED)


@click.command()
@click.argument("run")
@click.option("--margin", type=click.FloatRange(0, 100), help="Percent that do not matter to you.")
@json_option
@pass_workstation
@speaks_to_people
def agree(workstation: Workstation, run: str, margin: float | None, *, as_json: bool) -> None:
    """Say whether the tools of RUN agree, and why: of any two that ask one question."""
    found = workstation.agreements(run, share_of(margin))
    if not found:
        raise BenchwrightError(
            f"No two tools of {run} ask the same.", f"“benchwright second-opinion {run}” proposes another one."
        )
    _say(found, workstation.load(run).summary.id, as_json=as_json)


def _say(found: tuple[Agreement, ...], run_id: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"run": run_id, "agreements": [agreement_to_json(one) for one in found]})
        return
    click.echo(plain(f"Run {run_id}"))
    print_agreements(found)


def print_agreements(found: tuple[Agreement, ...]) -> None:
    """Print what the tools of a run say of each other, and why."""
    for one in found:
        click.echo(plain(f"{host_words(one.host)}: {agreement_line(one)}"))
        for line in why_lines(one):
            click.echo(plain(f"  {line}"))

"""benchwright run, quick: measure, with what is happening on standard error and the result on standard output."""

from pathlib import Path

import click

from app.cli.asking import TerminalAsker, agrees, asks
from app.cli.common import (
    FAILED,
    json_option,
    pass_workstation,
    plain,
    print_json,
    speaks_to_people,
)
from app.cli.library import print_run
from app.cli.plans import facts_for
from app.cli.remarking import Answers, answered, answers_findings, say_changes
from app.cli.telling import follow, minds_others
from app.events import State
from app.paths import reports_path
from app.plans.plan import LOCAL, Plan
from app.run_json import run_to_json
from app.runs.control import Busy, Control
from app.services import Workstation
from app.writing import make_folder


@click.command()
@click.argument("file", metavar="PLAN", type=click.Path(path_type=Path))
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="HOST",
    help="Run on this host instead of those the plan names; may be given again.",
)
@click.option(
    "--destroy",
    multiple=True,
    metavar="SERIAL",
    help="Everything on the device with this serial number may be lost; may be given again.",
)
@answers_findings
@asks
@agrees
@minds_others
@json_option
@pass_workstation
@speaks_to_people
def run(
    workstation: Workstation,
    file: Path,
    hosts: tuple[str, ...],
    destroy: tuple[str, ...],
    answers: Answers,
    asker: TerminalAsker,
    busy: Busy,
    *,
    as_json: bool,
) -> None:
    """Run the plan in the file PLAN. Ctrl+C stops it; what was measured is kept."""
    from dataclasses import replace

    asker.destroy = destroy
    workstation.check_writable()  # before a host is asked for anything
    plan = workstation.load_plan(file)
    if hosts:
        plan = replace(plan, hosts=hosts)
    workstation.consents.settle(plan, asker)  # before a host hears of it
    if answers:
        before, plan = plan, answered(workstation, plan, facts_for(workstation, plan, (), asker), answers)
        workstation.consents.made_here(plan, before)
        say_changes(plan)
    run_id, state = measure(workstation, plan, asker, quiet=as_json, busy=busy)
    say_run(workstation, run_id, as_json=as_json)
    if state is not State.DONE:
        raise SystemExit(FAILED)


@click.command()
@click.argument("host", default=LOCAL)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The folder for the CSV and the PNG.")
@asks
@minds_others
@json_option
@pass_workstation
@speaks_to_people
def quick(
    workstation: Workstation, host: str, output: Path | None, asker: TerminalAsker, busy: Busy, *, as_json: bool
) -> None:
    """Benchmark HOST (by default this computer) in two minutes, and write the report."""
    run_quick(workstation, host, output or reports_path(), asker, as_json=as_json, busy=busy)


def run_quick(
    workstation: Workstation,
    host: str,
    folder: Path,
    asker: TerminalAsker,
    *,
    as_json: bool,
    busy: Busy = Busy.REFUSE,
) -> None:
    """Run the quick benchmark, print its table and findings, write CSV and PNG into `folder`."""
    workstation.check_writable()
    make_folder(folder, "Name another with --output.")  # before two minutes are spent
    plan = workstation.quick_plan(host, workstation.facts(host, asker))
    run_id, state = measure(workstation, plan, asker, quiet=as_json, busy=busy)
    files = _reports(workstation, run_id, folder)
    say_run(workstation, run_id, as_json=as_json, files=files)
    if state is not State.DONE:
        raise SystemExit(FAILED)


def _reports(workstation: Workstation, run_id: str, folder: Path) -> list[Path]:
    csv = workstation.export_csv([run_id], folder / f"{run_id}.csv")
    return [*csv, workstation.export_png([run_id], folder / f"{run_id}.png")]


def say_run(workstation: Workstation, run_id: str, *, as_json: bool, files: list[Path] | None = None) -> None:
    """Print a stored run, and the `files` that were written of it."""
    record, within = workstation.load(run_id), workstation.within([run_id])
    if as_json:
        print_json({**run_to_json(record, within), **({"files": [str(path) for path in files]} if files else {})})
        return
    print_run(record, within)
    for path in files or []:
        click.echo(plain(f"Wrote {path}"))


def measure(
    workstation: Workstation, plan: Plan, asker: TerminalAsker, *, quiet: bool, busy: Busy = Busy.REFUSE
) -> tuple[str, State]:
    """Run `plan` to its end, or until Ctrl+C; return the run's id and how it ended."""
    workstation.consents.settle(plan, asker)  # while Ctrl+C still ends the question
    control = Control(busy)
    return follow(workstation.run(plan, asker, control), control, quiet=quiet)

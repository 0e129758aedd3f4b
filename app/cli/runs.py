"""benchwright run, quick: measure, with what is happening on standard error and the result on standard output."""

import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click

from app.cli.asking import TerminalAsker, asks
from app.cli.common import (
    FAILED,
    json_option,
    pass_workstation,
    plain,
    print_json,
    speaks_to_people,
)
from app.cli.library import print_run
from app.control import Control
from app.decision_words import decision_text, forecast_text
from app.events import (
    Activity,
    Event,
    PolicyDecided,
    Progress,
    RunEnded,
    RunStarted,
    SampleRead,
    State,
    TrialEnded,
    TrialStarted,
)
from app.paths import reports_path
from app.plan import LOCAL, Plan, Policy
from app.run_json import run_to_json
from app.services import Workstation
from app.wording import duration_text, figure_text
from suites.errors import BenchwrightError


@click.command()
@click.argument("file", metavar="PLAN", type=click.Path(path_type=Path))
@click.option(
    "--host", "hosts", multiple=True, help="Run on this host instead of those the plan names; may be given again."
)
@asks
@json_option
@pass_workstation
@speaks_to_people
def run(workstation: Workstation, file: Path, hosts: tuple[str, ...], asker: TerminalAsker, *, as_json: bool) -> None:
    """Run the plan in the file PLAN. Ctrl+C stops it; what was measured is kept."""
    from dataclasses import replace

    plan = workstation.load_plan(file)
    if hosts:
        plan = replace(plan, hosts=hosts)
    run_id, state = measure(workstation, plan, asker, quiet=as_json)
    _say(workstation, run_id, as_json=as_json)
    if state is not State.DONE:
        raise SystemExit(FAILED)


@click.command()
@click.argument("host", default=LOCAL)
@click.option("--output", type=click.Path(path_type=Path), help="The folder for the CSV and the PNG.")
@asks
@json_option
@pass_workstation
@speaks_to_people
def quick(workstation: Workstation, host: str, output: Path | None, asker: TerminalAsker, *, as_json: bool) -> None:
    """Benchmark HOST (by default this computer) in two minutes, and write the report."""
    run_quick(workstation, host, output or reports_path(), asker, as_json=as_json)


def run_quick(workstation: Workstation, host: str, folder: Path, asker: TerminalAsker, *, as_json: bool) -> None:
    """Run the quick benchmark, print its table and findings, write CSV and PNG into `folder`."""
    _make_folder(folder)  # before two minutes are spent on what could not be written there
    plan = workstation.quick_plan(host, workstation.facts(host, asker))
    run_id, state = measure(workstation, plan, asker, quiet=as_json)
    files = _reports(workstation, run_id, folder)
    _say(workstation, run_id, as_json=as_json, files=files)
    if state is not State.DONE:
        raise SystemExit(FAILED)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fault = f"The folder {folder} cannot be made: {(error.strerror or str(error)).lower()}."
        raise BenchwrightError(fault, "Name another with --output.") from error


def _reports(workstation: Workstation, run_id: str, folder: Path) -> list[Path]:
    csv = workstation.export_csv([run_id], folder / f"{run_id}.csv")
    return [*csv, workstation.export_png([run_id], folder / f"{run_id}.png")]


def _say(workstation: Workstation, run_id: str, *, as_json: bool, files: list[Path] | None = None) -> None:
    record, within = workstation.load(run_id), workstation.within([run_id])
    if as_json:
        print_json({**run_to_json(record, within), **({"files": [str(path) for path in files]} if files else {})})
        return
    print_run(record, within)
    for path in files or []:
        click.echo(f"Wrote {path}")


def measure(workstation: Workstation, plan: Plan, asker: TerminalAsker, *, quiet: bool) -> tuple[str, State]:
    """Run `plan` to its end, or until Ctrl+C; return the run's id and how it ended."""
    control = Control()
    run_id, state = "", State.FAILED
    teller = _Teller(live=sys.stderr.isatty() and not quiet, quiet=quiet)
    with _ctrl_c_stops(control), closing(workstation.run(plan, asker, control)) as events:
        for event in events:
            teller.tell(event)
            if isinstance(event, RunStarted):
                run_id = event.run_id
            elif isinstance(event, RunEnded):
                state = event.state
    return run_id, state


def _decided(event: PolicyDecided) -> str:
    """Return what the trials of a step on a host say so far, and what is still to come."""
    said = decision_text(event.metric, event.labels, event.decision)
    ahead = forecast_text(event.decision)
    return f"{event.step} on {event.host}: {said}{f'; {ahead}' if ahead else ''}"


@contextmanager
def _ctrl_c_stops(control: Control) -> Iterator[None]:
    """Let Ctrl+C or a TERM stop the run in order; a second Ctrl+C interrupts as usual."""

    def stop(_number: int, _frame: object) -> None:
        click.echo("\nStopping: ending the processes on the host, keeping what was measured.", err=True)
        control.stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Teller:
    """Says on standard error what is happening; on a terminal the newest sample moves in place."""

    def __init__(self, *, live: bool, quiet: bool) -> None:
        self._live, self._quiet = live, quiet
        self._moving = False
        self._remaining: float | None = None
        self._plan: Plan | None = None

    def tell(self, event: Event) -> None:
        """Say what `event` means, if anything."""
        if self._quiet:
            return
        match event:
            case Activity(text=text):
                self._line(text)
            case RunStarted(plan=plan):
                self._plan = plan
            case PolicyDecided() if self._plan is not None and self._plan.repetition.policy is not Policy.FIXED:
                self._line(_decided(event))
            case Progress(done=done, total=total, remaining=remaining, exact=exact):
                self._remaining = remaining
                left = "remaining time not known" if remaining is None else f"about {duration_text(remaining)} left"
                of_all = "" if total is None else f" of {total}" if exact else f" of about {total}"
                plural = "" if done == 1 and total in {None, 1} else "s"
                self._line(f"{done}{of_all} trial{plural} done, {left}")
            case TrialStarted(trial=trial):
                kind = "warm-up" if trial.warm_up else "trial"
                self._line(f"{trial.step} on {trial.host}: {kind} {trial.number}")
            case SampleRead(sample=sample) if self._live:
                said = figure_text(sample.metric, sample.value)
                click.echo(f"\r\x1b[K  {sample.time:6.1f} s  {sample.metric.title} {said}", nl=False, err=True)
                self._moving = True
            case TrialEnded(state=state, reason=reason) if state is not State.DONE:
                self._line(f"{state}: {reason}")
            case RunEnded(state=state, reason=reason):
                self._line(f"{state}. {reason}".strip())

    def _line(self, text: str) -> None:
        if self._moving:
            click.echo("\r\x1b[K", nl=False, err=True)
            self._moving = False
        click.echo(plain(text), err=True)

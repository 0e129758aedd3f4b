"""benchwright run, quick, attach, second-opinion: measure, with progress on standard error."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from app.checks.goals import goal_missed
from app.cli.common import FAILED, Number, Whole, json_verb, plain, print_json, print_note
from app.cli.library import print_card, print_run
from app.cli.plan_options import Answers, answered, answers_findings, print_changes
from app.cli.plans import facts_for
from app.cli.progress import busy_options, follow
from app.cli.prompts import TerminalAsker, agrees, with_asker
from app.cli.side_by_side import QueuedRun, SideBySide
from app.cli.studies import agreement_study, print_study
from app.cli.tables import print_comparison
from app.comparison.comparison import comparison_to_json
from app.comparison.estimates import FEWEST_TRIALS
from app.crosscheck.report import proposal_lines, proposal_to_json
from app.detached_runs import DetachedRun
from app.events import State
from app.output import make_folder
from app.paths import reports_path
from app.plans.plan import LOCAL, MAXIMUM_TRIALS, QUICK_LOOK, Plan
from app.plans.plan_names import on_hosts
from app.plans.presets import ends_with_card
from app.queue.queue_json import detached_to_json
from app.runs.control import BusyPolicy, Control
from app.runs.messages import detached_detail, detached_text
from app.services import Workstation
from app.summary import run_to_json
from app.verb_results import ForgottenRun, QueuedRunJson


@click.command()
@click.argument("files", metavar="PLAN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--host", "hosts", multiple=True, metavar="HOST", help="Run on this host instead of the plan's hosts; repeatable."
)
@click.option(
    "--destroy",
    multiple=True,
    metavar="SERIAL",
    help="Confirm the loss of all data on the device with this serial number; repeatable.",
)
@click.option("--quick", is_flag=True, help="Quick look: one trial per step, without an interval.")
@click.option(
    "--interval",
    type=Number(0.1, 10.0),
    metavar="SECONDS",
    help="Time between telemetry samples; 0.1 shows short disturbances.  [default: the plan’s, 1]",
)
@click.option("--no-wait", is_flag=True, help="Of a plan with several sessions, run the first and do not wait.")
@answers_findings
@with_asker
@agrees
@busy_options
@json_verb("run", "queue-run")
def run(
    workstation: Workstation,
    files: tuple[Path, ...],
    hosts: tuple[str, ...],
    destroy: tuple[str, ...],
    answers: Answers,
    asker: TerminalAsker,
    busy: BusyPolicy,
    *,
    interval: float | None,
    quick: bool,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Run the plans in the files PLAN. Ctrl+C stops all of them and keeps the results so far.

    Several plans run side by side where their hosts differ; those that share a host, or a peer of a network test, wait
    for each other. Waits for the later sessions of a single plan that has several, except with --json.

    A step that an error of a check blocks is not started, also with --yes; the reason names the error and its remedy.

    The exit status is 1 if a run is not done, also for a blocked step, or if its trials show that a goal of its plan is
    missed.
    """
    asker.destroy = destroy
    workstation.check_writable()  # before connecting to a host
    plans = []
    for file in files:
        plan = workstation.load_plan(file)
        if hosts:
            plan = on_hosts(plan, hosts)
        if quick:
            plan = replace(plan, repetition=QUICK_LOOK)
        if interval is not None:
            plan = replace(plan, telemetry_interval=interval)
        plans.append(plan)
    for plan in plans:
        workstation.consents.settle(plan, asker)  # before connecting to a host
    plans = [_with_answers(workstation, plan, answers, asker) for plan in plans]
    if len(plans) > 1:
        run_side_by_side(workstation, plans, asker, busy, as_json=as_json)
        return
    (plan,) = plans
    run_id, state = measure(workstation, plan, asker, quiet=as_json, busy=busy)
    print_stored_run(workstation, run_id, as_json=as_json)
    record = workstation.load(run_id)
    session = record.summary.session
    if session is not None:
        from app.cli.sessions import SeriesRunner

        runner = SeriesRunner(workstation, session.series, asker, busy)
        runner.after_first(state, wait=not no_wait and not as_json)
        state = State.FAILED if runner.failed else state
    if state is not State.DONE or goal_missed(record.verdicts):
        raise SystemExit(FAILED)


def _with_answers(workstation: Workstation, plan: Plan, answers: Answers, asker: TerminalAsker) -> Plan:
    """Return `plan` with the `answers` to its findings, and print what they changed."""
    if not answers:
        return plan
    changed = answered(workstation, plan, facts_for(workstation, plan, (), asker), answers)
    workstation.consents.remember_made(changed, plan)
    print_changes(changed)
    return changed


def run_side_by_side(
    workstation: Workstation, plans: Sequence[Plan], asker: TerminalAsker, busy: BusyPolicy, *, as_json: bool
) -> None:
    """Run `plans` at once where their hosts differ, print each result; exit with status 1 unless all are done."""
    queue, library, wait = workstation.queue, workstation.library_location, busy is BusyPolicy.WAIT
    policy = BusyPolicy.REFUSE if wait else busy  # a host in use is left free while its run waits
    entries = [queue.add(plan, library, busy=policy, waits=wait, stays=False) for plan in plans]
    print_queued_runs(workstation, SideBySide(workstation, asker, quiet=as_json).run(entries), as_json=as_json)


def print_queued_runs(workstation: Workstation, runs: Sequence[QueuedRun], *, as_json: bool) -> None:
    """Print the result of each run in order; exit with status 1 unless all are done and none misses a goal."""
    stored = [run for run in runs if run.run_id and run.state is not State.RUNNING and run.error is None]
    if as_json:
        print_json([queued_run_to_json(workstation, run, stored=run in stored) for run in runs])
    for run in () if as_json else stored:
        click.echo()
        print_stored_run(workstation, run.run_id, as_json=False)
    missed = any(goal_missed(workstation.load(run.run_id).verdicts) for run in stored)
    if missed or any(run.state is not State.DONE for run in runs):
        raise SystemExit(FAILED)


def queued_run_to_json(workstation: Workstation, run: QueuedRun, *, stored: bool) -> QueuedRunJson:
    """Return the outcome of one of several runs as JSON; `run` is null if it is not stored."""
    record = workstation.load(run.run_id) if stored else None
    return {
        "plan": run.entry.plan.name,
        "hosts": list(run.entry.plan.hosts),
        "state": "detached" if run.state is State.RUNNING else run.state,
        "error": None if run.error is None else str(run.error),
        "run": (
            None
            if record is None
            else run_to_json(record, workstation.within([run.run_id]), workstation.energy(record))
        ),
    }


@click.command()
@click.argument("host", default=LOCAL)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for the CSV and PNG files.")
@with_asker
@busy_options
@json_verb("run")
def quick(
    workstation: Workstation, host: str, output: Path | None, asker: TerminalAsker, busy: BusyPolicy, *, as_json: bool
) -> None:
    """Benchmark HOST (default: this computer) in 90 s, and write a report."""
    run_quick(workstation, host, output or reports_path(), asker, as_json=as_json, busy=busy)


def run_quick(
    workstation: Workstation,
    host: str,
    folder: Path,
    asker: TerminalAsker,
    *,
    as_json: bool,
    busy: BusyPolicy = BusyPolicy.REFUSE,
) -> None:
    """Run the quick benchmark, print its results, write card, report and CSV into `folder`."""
    workstation.check_writable()
    make_folder(folder, "Choose another with --output.")  # fail before the benchmark, not after
    plan = workstation.quick_plan(host, workstation.facts(host, asker))
    run_id, state = measure(workstation, plan, asker, quiet=as_json, busy=busy)
    files = _reports(workstation, run_id, folder)
    if as_json:
        print_stored_run(workstation, run_id, as_json=True, files=files)
    else:
        print_card(workstation.load(run_id))
        click.echo(plain(f"Details: benchwright show {run_id}"))
        for path in files:
            click.echo(plain(f"Wrote {path}"))
    if state is not State.DONE:
        raise SystemExit(FAILED)


def _reports(workstation: Workstation, run_id: str, folder: Path) -> list[Path]:
    csv = workstation.export_csv([run_id], folder / f"{run_id}.csv")
    card = workstation.export_card(run_id, folder / f"{run_id}-card.png")
    return [card, workstation.export_image([run_id], folder / f"{run_id}.png"), *csv]


def print_stored_run(workstation: Workstation, run_id: str, *, as_json: bool, files: list[Path] | None = None) -> None:
    """Print a stored run and the paths of its exported `files`."""
    record, within = workstation.load(run_id), workstation.within([run_id])
    sides = workstation.duet_sides(run_id)
    comparison = workstation.compare(sides) if sides else None
    if as_json:
        duet = {} if comparison is None else {"duet": comparison_to_json(comparison)}
        written = {"files": [str(path) for path in files]} if files else {}
        print_json({**run_to_json(record, within, workstation.energy(record)), **duet, **written})
        return
    if ends_with_card(record.plan):
        print_card(record)
        details = f"Details: benchwright show {run_id}"
        click.echo(plain(f"{details}. Picture: benchwright export {run_id} --card FILE.png"))
        return
    print_run(record, within)
    if comparison is not None:
        click.echo()
        print_comparison(comparison, everything=False)
    for path in files or []:
        click.echo(plain(f"Wrote {path}"))


def measure(
    workstation: Workstation,
    plan: Plan,
    asker: TerminalAsker,
    *,
    quiet: bool,
    busy: BusyPolicy = BusyPolicy.REFUSE,
) -> tuple[str, State]:
    """Run `plan` until it ends or Ctrl+C; return the run's id and state."""
    workstation.consents.settle(plan, asker)  # before follow() takes over Ctrl+C
    control = Control(busy)
    return follow(workstation.run(plan, asker, control), control, quiet=quiet)


@click.command()
@click.argument("run", required=False)
@click.option("--list", "only_list", is_flag=True, help="List the detached runs.")
@click.option("--stop", is_flag=True, help="Stop the run in order and keep its results.")
@click.option("--forget", is_flag=True, help="Abandon the run without connecting to its hosts.")
@with_asker
@agrees
@busy_options
@json_verb("run", "detached", "attach-forget")
def attach(
    workstation: Workstation,
    /,
    run: str | None,
    asker: TerminalAsker,
    busy: BusyPolicy,
    *,
    as_json: bool,
    **flags: bool,
) -> None:
    """Attach to the detached run RUN and continue it. Without RUN, attach to the only one, or list several.

    Reads the output written since the run was detached, then runs the rest of the plan.
    """
    if run is None:
        detached = workstation.detached_runs()
        if flags["only_list"] or len(detached) != 1:
            _list(detached, as_json=as_json)
            return
        run = detached[0].id
    if flags["forget"]:
        run = workstation.load(run).summary.id
        hosts = [host for detached in workstation.detached_runs() if detached.id == run for host in detached.hosts]
        forgotten = workstation.forget(run)
        summary = workstation.load(forgotten).summary
        how = "Abandoned" if summary.state is State.PARTIAL else "Ended: all trials are complete"
        hosts = list(dict.fromkeys(hosts or summary.hosts))
        where = " and ".join(f"benchwright hosts leftovers {shlex.quote(host)}" for host in hosts)
        print_note(f"{how}: {forgotten}. List its leftovers with: {where}")
        if as_json:
            print_json(ForgottenRun(run=forgotten, state=summary.state, hosts=hosts))
        return
    _continue(workstation, run, asker, busy, as_json=as_json, stop=flags["stop"])


def _continue(
    workstation: Workstation, run: str, asker: TerminalAsker, busy: BusyPolicy, *, as_json: bool, stop: bool
) -> None:
    control = Control(busy)
    if stop:
        control.stop()
    run_id, state = follow(workstation.attach(run, asker, control), control, quiet=as_json, attached=True)
    if state is not State.RUNNING:
        print_stored_run(workstation, run_id, as_json=as_json)
    if state is not State.DONE:
        raise SystemExit(FAILED)


def _list(detached: list[DetachedRun], *, as_json: bool) -> None:
    if as_json:
        print_json([detached_to_json(run) for run in detached])
        return
    if not detached:
        click.echo("No detached runs.")
    for run in detached:
        click.echo(plain(f"{run.id}  {detached_text(run)}.\n    {detached_detail(run)}"))


@click.command("second-opinion")
@click.argument("run")
@click.option("--step", default="", help="Step to cross-check.  [default: the first with an equivalent tool]")
@click.option("--with", "other", default="", metavar="SUITE", help="Suite to compare with.  [default: the closest]")
@click.option(
    "--trials",
    type=Whole(1, MAXIMUM_TRIALS),
    default=FEWEST_TRIALS,
    show_default=True,
    help="Trials per tool.",
)
@click.option("--run", "runs", is_flag=True, help="Run the cross-check instead of showing its plan.")
@with_asker
@agrees
@busy_options
@json_verb("second-opinion", "agree")
def second_opinion(
    workstation: Workstation,
    run: str,
    step: str,
    other: str,
    trials: int,
    asker: TerminalAsker,
    busy: BusyPolicy,
    *,
    runs: bool,
    as_json: bool,
) -> None:
    """Cross-check RUN with another tool: run both on equivalent settings, interleaved in one plan."""
    found = workstation.cross_check(run, step, other, trials)
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
    print_study(agreement_study(workstation.agreements(run_id), run_id), as_json=as_json)
    if state is not State.DONE:
        raise SystemExit(FAILED)

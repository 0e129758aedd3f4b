"""benchwright queue: list the runs that wait and those under way, add, order, pause, remove and run them."""

from collections.abc import Sequence
from pathlib import Path

import click

from app.cli.common import (
    Whole,
    json_option,
    json_verb,
    pass_workstation,
    plain,
    print_json,
    print_note,
    print_table,
    report_errors,
    verb,
)
from app.cli.prompts import TerminalAsker, agrees, with_asker
from app.cli.runs import print_queued_runs
from app.cli.side_by_side import SideBySide
from app.detached_runs import DetachedRun
from app.plans.plan import host_label
from app.plans.plan_names import on_hosts
from app.queue.entries import EntryState, QueuePlace
from app.queue.queue_json import queue_to_json
from app.services import Workstation
from suites.quantities import count_text


@click.group(invoke_without_command=True)
@json_option("queue")
@pass_workstation
@click.pass_context
@report_errors
def queue(context: click.Context, workstation: Workstation, *, as_json: bool) -> None:
    """List the runs under way, those that wait for their hosts, and the detached ones of this library.

    The first two are those of every Benchwright of this user here.
    """
    if context.invoked_subcommand is not None:
        return
    _print_queue(workstation, workstation.detached_runs(), as_json=as_json)


def _print_queue(workstation: Workstation, detached: Sequence[DetachedRun] | None = None, *, as_json: bool) -> None:
    places = workstation.queue.places()
    if as_json:
        print_json(queue_to_json(places, detached))
        return
    rows = [*map(_row, places), *map(_detached_row, detached or ())]
    if rows:
        print_table(["Entry", "Plan", "Hosts", "State", "Run", "Done", "Waits"], rows)
    else:
        click.echo("The queue is empty, and no run is under way.")


def _detached_row(run: DetachedRun) -> list[str]:
    summary = run.record.summary
    hosts, attach = ", ".join(map(host_label, summary.hosts)), plain(f"benchwright attach {run.id}")
    return ["", summary.name, hosts, summary.status, run.id, str(summary.trials), attach]


def _row(place: QueuePlace) -> list[str]:
    entry = place.entry
    hosts = ", ".join(map(host_label, entry.plan.hosts))
    return [entry.id, entry.plan.name, hosts, entry.state.value, entry.run, entry.done, place.waits]


@queue.command("add")
@click.argument("files", metavar="PLAN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--host", "hosts", multiple=True, metavar="HOST", help="Run on this host instead of the plan's hosts; repeatable."
)
@json_verb("queue")
def add(workstation: Workstation, files: tuple[Path, ...], hosts: tuple[str, ...], *, as_json: bool) -> None:
    """Add the plans in the files PLAN. They start with “benchwright queue run”, or in the window."""
    plans = [workstation.load_plan(file) for file in files]
    for plan in plans:
        chosen = on_hosts(plan, hosts) if hosts else plan
        workstation.queue.add(chosen, workstation.library_location, owned=False)
    _print_queue(workstation, as_json=as_json)
    if not as_json:
        print_note("Start them with: benchwright queue run")


LAST_POSITION = 1000
"""Bound of a position; later ones are the last."""


@queue.command("move")
@click.argument("entry")
@click.argument("position", type=Whole(1, LAST_POSITION))
@json_verb("queue")
def move(workstation: Workstation, entry: str, position: int, *, as_json: bool) -> None:
    """Move the waiting ENTRY to POSITION; 1 is the front."""
    workstation.queue.move(entry, position)
    _print_queue(workstation, as_json=as_json)


@queue.command("pause")
@click.argument("entries", metavar="ENTRY...", nargs=-1, required=True)
@click.option("--off", is_flag=True, help="Resume them.")
@json_verb("queue")
def pause(workstation: Workstation, entries: tuple[str, ...], *, off: bool, as_json: bool) -> None:
    """Pause each waiting ENTRY: it keeps its place, and others pass."""
    for entry in entries:
        workstation.queue.pause(entry, paused=not off)
    _print_queue(workstation, as_json=as_json)


@queue.command("remove")
@click.argument("entries", metavar="ENTRY...", nargs=-1, required=True)
@verb
def remove(workstation: Workstation, entries: tuple[str, ...]) -> None:
    """Remove each waiting ENTRY."""
    for entry in entries:
        removed = workstation.queue.remove(entry)
        print_note(f"Removed: {removed.id} ({removed.plan.name})")


def _others(workstation: Workstation) -> str:
    """Return which entries wait all the same, as a sentence; else how to add one."""
    others = [place.entry for place in workstation.queue.places() if place.entry.state is not EntryState.RUNNING]
    if not others:
        return "Add plans with: benchwright queue add PLAN"
    paused = sum(one.state is EntryState.PAUSED for one in others)
    parts = [f"{count_text(paused, 'entry', 'entries')} paused"] if paused else []
    if elsewhere := len(others) - paused:
        parts.append(f"{count_text(elsewhere, 'entry', 'entries')} of another Benchwright or library")
    return f"The queue has {' and '.join(parts)}."


@queue.command("run")
@click.option(
    "--destroy",
    multiple=True,
    metavar="SERIAL",
    help="Confirm the loss of all data on the device with this serial number; repeatable.",
)
@with_asker
@agrees
@json_verb("queue-run")
def run(workstation: Workstation, asker: TerminalAsker, destroy: tuple[str, ...], *, as_json: bool) -> None:
    """Run the waiting entries of this library, side by side where their hosts differ, until all are over.

    Paused entries, and those that another Benchwright starts, are left out.
    """
    asker.destroy = destroy
    workstation.check_writable()
    entries = workstation.queue.adopt(workstation.library_location)
    if not entries:
        if as_json:
            print_json([])
        click.echo(plain(f"No entry waits to be started. {_others(workstation)}"), err=as_json)
        return
    for entry in entries:
        workstation.consents.settle(entry.plan, asker)  # before connecting to a host
    print_queued_runs(workstation, SideBySide(workstation, asker, quiet=as_json).run(entries), as_json=as_json)

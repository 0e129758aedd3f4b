"""benchwright attach, hosts leftovers: detached runs, and what runs left on hosts."""

import shlex
from typing import Any

import click

from app.cli.asking import TerminalAsker, agrees, asks
from app.cli.common import (
    FAILED,
    json_option,
    pass_workstation,
    plain,
    print_json,
    print_table,
    say,
    speaks_to_people,
)
from app.cli.runs import say_run
from app.cli.telling import follow, minds_others
from app.events import State
from app.hosts.leftovers import Leftover, Whose
from app.moments import age_text
from app.runs.control import Busy, Control
from app.runs.left import LeftRun
from app.runs.left_words import left_detail, left_text
from app.services import Workstation
from app.wording import bytes_text


@click.command()
@click.argument("run", required=False)
@click.option("--list", "only_list", is_flag=True, help="Only list the detached runs.")
@click.option("--stop", is_flag=True, help="End it in order, keeping what was measured.")
@click.option("--forget", is_flag=True, help="Give it up without looking at its hosts.")
@asks
@agrees
@minds_others
@json_option
@pass_workstation
@speaks_to_people
def attach(
    workstation: Workstation, /, run: str | None, asker: TerminalAsker, busy: Busy, *, as_json: bool, **flags: bool
) -> None:
    """Attach to the detached run RUN and go on with it. Without RUN, attach to the only one, or list several.

    Output that was written meanwhile is read from the byte where the library ends; then the rest of the plan
    is run.
    """
    if run is None:
        left = workstation.left_runs()
        if flags["only_list"] or len(left) != 1:
            _list(left, as_json=as_json)
            return
        run = left[0].id
    if flags["forget"]:
        run = workstation.load(run).summary.id
        hosts = [host for left in workstation.left_runs() if left.id == run for host in left.hosts]
        forgotten = workstation.forget(run)
        given_up = workstation.load(forgotten).summary.state is State.PARTIAL
        how = "Given up" if given_up else "Ended, for every trial was made"
        where = " and ".join(
            f"benchwright hosts leftovers {shlex.quote(host)}"
            for host in dict.fromkeys(hosts or workstation.load(forgotten).summary.hosts)
        )
        say(f"{how}: {forgotten}. List what is still on a host with: {where}")
        return
    _go_on(workstation, run, asker, busy, as_json=as_json, stop=flags["stop"])


def _go_on(workstation: Workstation, run: str, asker: TerminalAsker, busy: Busy, *, as_json: bool, stop: bool) -> None:
    control = Control(busy)
    if stop:
        control.stop()
    run_id, state = follow(workstation.attach(run, asker, control), control, quiet=as_json, attached=True)
    if state is not State.RUNNING:
        say_run(workstation, run_id, as_json=as_json)
    if state is not State.DONE:
        raise SystemExit(FAILED)


def _list(left: list[LeftRun], *, as_json: bool) -> None:
    if as_json:
        print_json([left_to_json(run) for run in left])
        return
    if not left:
        click.echo("No run is detached.")
    for run in left:
        click.echo(plain(f"{run.id}  {left_text(run)}.\n    {left_detail(run)}"))


def left_to_json(left: LeftRun) -> dict[str, Any]:
    """Return a detached run as ``attach --list --json`` prints it."""
    trials = [{"id": one.trial.id, "step": one.trial.step, "host": one.trial.host} for one in left.under_way]
    return {
        "run": left.id,
        "name": left.record.summary.name,
        "hosts": list(left.hosts),
        "since": left.since,
        "by_choice": left.by_choice,
        "trial": next(iter(trials), None),  # as published before there could be several
        "trials": trials,
    }


@click.command("leftovers")
@click.argument("host")
@click.option("--remove", is_flag=True, help="Remove those that are ours and whose run has ended.")
@asks
@json_option
@pass_workstation
@speaks_to_people
def leftovers(workstation: Workstation, host: str, asker: TerminalAsker, *, remove: bool, as_json: bool) -> None:
    """List what runs left on HOST: their private directories and leases, whose they are, and what still runs in them.

    Nothing is ever removed but directories and leases of this library whose run has ended.
    """
    found = workstation.leftovers(host, asker)
    if remove:
        ours = [leftover.nonce for leftover in found if leftover.whose is Whose.OURS]
        rest = workstation.remove_leftovers(host, asker, ours) if ours else found
        kept = {leftover.nonce for leftover in rest}
        click.echo(plain(f"Removed {sum(nonce not in kept for nonce in ours)} from {host}."), err=True)
        found = rest
    if as_json:
        print_json([_leftover_to_json(leftover) for leftover in found])
        return
    if not found:
        click.echo(plain(f"Nothing of Benchwright is left on {host}."))
        return
    print_table(
        ["Directory", "Whose", "Account", "Age", "Size", "Processes"], [_row(left) for left in found], [3, 4, 5]
    )


def _row(leftover: Leftover) -> list[str]:
    of = f"lease of {leftover.run_id}" if leftover.is_lease else leftover.run_id
    whose = leftover.whose.value if of is None else f"{leftover.whose.value} ({of})"
    age = "" if leftover.age is None else age_text(leftover.age)
    size = "" if leftover.size is None else bytes_text(leftover.size)
    return [leftover.path, whose, leftover.account, age, size, str(leftover.processes)]


def _leftover_to_json(leftover: Leftover) -> dict[str, Any]:
    return {
        "host": leftover.host,
        "path": leftover.path,
        "lease": leftover.is_lease,
        "whose": leftover.whose.value,
        "run": leftover.run_id,
        "account": leftover.account,
        "age": leftover.age,
        "size": leftover.size,
        "processes": leftover.processes,
    }

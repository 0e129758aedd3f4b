"""benchwright fleet: estimate, run, show and change studies of many hosts."""

from collections import defaultdict
from collections.abc import Sequence

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
from app.cli.fleet_board import MOST_ROWS, print_study, worker_command
from app.cli.fleet_options import plans_fleet
from app.cli.fleet_progress import carry_on
from app.cli.fleet_results import propose, report, results, sameness, ticket
from app.cli.host_keys import accept_option, trusting_asker
from app.cli.prompts import TerminalAsker, agrees, with_asker
from app.fleet.board import study_state
from app.fleet.estimate import estimate_lines
from app.fleet.fleet_json import estimate_to_json, watched_study_to_json
from app.fleet_study import MOST_HOST_RUNS, FleetPlan, FleetStudy, HostRun, HostRunState
from app.services import Workstation
from app.store.errors import listed
from remote.questions import Asker
from suites.quantities import count_text

_MOST_NAMED = 5
"""Hosts of a worker that are named."""


@click.group(invoke_without_command=True)
@json_option("fleet")
@pass_workstation
@click.pass_context
@report_errors
def fleet(context: click.Context, workstation: Workstation, *, as_json: bool) -> None:
    """List the studies: plans measured on every host of some groups."""
    if context.invoked_subcommand is not None:
        return
    studies = workstation.fleet_studies()
    idle = {one.study.id: one.since for one in workstation.idle_fleet_studies(studies)}
    if as_json:
        print_json([watched_study_to_json(one, idle.get(one.id)) for one in studies])
    elif studies:
        rows = [_study_row(one, idle=one.id in idle) for one in studies]
        print_table(["Study", "Plan", "Hosts", "Sessions", "Host-runs", "State"], rows)
    else:
        click.echo("There is no fleet study. Begin one with: benchwright fleet run PLAN GROUP…")


def _study_row(study: FleetStudy, *, idle: bool) -> list[str]:
    done = study.counts.get(HostRunState.DONE, 0)
    return [
        study.id, study.name, str(len(study.plan.hosts)), str(study.plan.sessions), f"{done}/{study.total}",
        study_state(study, idle=idle),
    ]  # fmt: skip


@fleet.command("estimate")
@json_verb("fleet-estimate")
@plans_fleet
def estimate(workstation: Workstation, plan: FleetPlan, *, as_json: bool) -> None:
    """Print the time, the cost and the volumes of a study before its start."""
    found = workstation.fleet_estimate(plan)
    if as_json:
        print_json(estimate_to_json(found))
        return
    for line in estimate_lines(found):
        click.echo(plain(line))


@fleet.command("run")
@click.option("--by-workers", is_flag=True, help="Leave it to the workers of a library in PostgreSQL.")
@accept_option
@with_asker
@agrees
@json_verb("fleet-board")
@plans_fleet
def run(
    workstation: Workstation,
    plan: FleetPlan,
    asker: TerminalAsker,
    *,
    by_workers: bool,
    accept_new: bool,
    as_json: bool,
) -> None:
    """Run PLAN on every host of each GROUP: a group, host, pattern or KEY=VALUE of the inventory.

    A host that fails never ends the others. Ctrl+C stops what is under way, a closed terminal detaches it; “fleet
    resume” continues. The exit status is 1 if a host-run failed, or if the study is not over.
    """
    if not as_json:
        for line in estimate_lines(workstation.fleet_estimate(plan)):
            print_note(line)
    workstation.check_writable()
    trusting: Asker = asker
    if not by_workers:
        trusting = trusting_asker(workstation, _every_host(plan), asker, accept=accept_new)
    study = workstation.begin_fleet_study(plan, asker, by_workers=by_workers)
    print_note(f"Study {study.id}")
    if not by_workers:
        carry_on(workstation, study.id, trusting, quiet=as_json)
    print_study(workstation, study.id, as_json=as_json, carried=True)


def _every_host(plan: FleetPlan) -> list[str]:
    peers = [step.peer for step in plan.network_steps if step.peer is not None]
    return list(dict.fromkeys([*plan.by_name, *peers]))


@fleet.command("resume")
@click.argument("study", default="last")
@accept_option
@with_asker
@agrees
@json_verb("fleet-board")
def resume(workstation: Workstation, study: str, asker: TerminalAsker, *, accept_new: bool, as_json: bool) -> None:
    """Resume STUDY: attach the host-runs that continue on their hosts, and start those that wait."""
    found = workstation.pause_fleet_study(study, paused=False)
    if not found.by_workers:
        trusting = trusting_asker(workstation, _every_host(found.plan), asker, accept=accept_new)
        carry_on(workstation, found.id, trusting, quiet=as_json)
    print_study(workstation, found.id, as_json=as_json, carried=True)


@fleet.command("show")
@click.argument("study", default="last")
@click.option("--top", type=Whole(1, MOST_HOST_RUNS), default=MOST_ROWS, show_default=True, help="Rows to print.")
@json_verb("fleet-board")
def show(workstation: Workstation, study: str, top: int, *, as_json: bool) -> None:
    """Show the board of STUDY: each host with its state and values, the odd ones first."""
    print_study(workstation, study, as_json=as_json, top=top)


@fleet.command("workers")
@click.argument("study", default="last")
@verb
def workers(workstation: Workstation, study: str) -> None:
    """List the workers that carry host-runs of STUDY, and how many take host-runs of the library."""
    carried: dict[str, list[str]] = defaultdict(list)
    for one in workstation.host_runs(study):
        if one.state is HostRunState.RUNNING:
            carried[one.worker or "none: it waits for another worker"].append(one.title)
    if carried:
        rows = [[name, str(len(titles)), listed(titles, _MOST_NAMED)] for name, titles in sorted(carried.items())]
        print_table(["Worker", "Host-runs", "Hosts"], rows, right=[1])
    alive = workstation.workers_alive()
    print_note(f"{count_text(alive, 'worker')} alive. Start more: {worker_command(workstation)}")


@fleet.command("pause")
@click.argument("study", default="last")
@verb
def pause(workstation: Workstation, study: str) -> None:
    """Pause STUDY: nothing more starts, what is under way continues. Resume it with “fleet resume”."""
    found = workstation.pause_fleet_study(study)
    print_note(f"Paused: {found.id}")


@fleet.command("end")
@click.argument("study", default="last")
@click.option("--stop", is_flag=True, help="Stop what is under way, too, also on workers.")
@verb
def end(workstation: Workstation, study: str, *, stop: bool) -> None:
    """End STUDY: what waits is skipped, what is under way continues."""
    found = workstation.end_fleet_study(study, stop=stop)
    idle = workstation.idle_since(found, workstation.host_runs(found.id)) is not None
    print_note(f"Ended: {found.id}, {study_state(found, idle=idle)}")
    if idle:
        what = "Stop what is under way" if stop else "Attach what is under way"
        print_note(f"No process runs it. {what} with: benchwright fleet resume {found.id}")


@fleet.command("delete")
@click.argument("study")
@verb
def delete(workstation: Workstation, study: str) -> None:
    """Delete STUDY, which has to be over; its runs stay in the library."""
    found = workstation.delete_fleet_study(study).study
    print_note(f"Deleted: {found.id}, {found.name}. Its runs stay in the library.")


TO_RUN = "to run again"
SKIPPED = "skipped"


@fleet.command("retry")
@click.argument("study")
@click.argument("hosts", metavar="[HOST]…", nargs=-1)
@verb
def retry(workstation: Workstation, study: str, hosts: tuple[str, ...]) -> None:
    """Let the failed host-runs of STUDY wait again, those of each HOST also if skipped or if their run was deleted."""
    _print_changed(workstation, study, workstation.retry_host_runs(study, hosts), TO_RUN)


@fleet.command("skip")
@click.argument("study")
@click.argument("hosts", metavar="HOST…", nargs=-1, required=True)
@verb
def skip(workstation: Workstation, study: str, hosts: tuple[str, ...]) -> None:
    """Skip the waiting host-runs of each HOST."""
    _print_changed(workstation, study, workstation.skip_host_runs(study, hosts), SKIPPED)


@fleet.command("add")
@click.argument("study")
@click.argument("words", metavar="GROUP…", nargs=-1, required=True)
@verb
def add(workstation: Workstation, study: str, words: tuple[str, ...]) -> None:
    """Add the hosts of each GROUP to STUDY, for the sessions that are not over."""
    _print_changed(workstation, study, workstation.add_fleet_hosts(study, workstation.fleet_hosts(words)), "added")


@fleet.command("replace")
@click.argument("study")
@click.argument("old", metavar="HOST")
@click.argument("new", metavar="NEW-HOST")
@verb
def replace_host(workstation: Workstation, study: str, old: str, new: str) -> None:
    """Measure NEW-HOST in place of HOST in STUDY, in the group of HOST; what HOST has measured stays.

    It runs the sessions that HOST has not done, or, if there are none, those of an added host.
    """
    _print_changed(workstation, study, workstation.replace_fleet_host(study, old, new), "added")


def _print_changed(workstation: Workstation, study: str, changed: Sequence[HostRun], how: str) -> None:
    found = workstation.fleet_study(study)
    hosts = {host for one in changed for host in one.hosts}
    print_note(f"{count_text(len(changed), 'host-run')} of {count_text(len(hosts), 'host')} {how}")
    if not changed and how == TO_RUN and _some_skipped(workstation, found):
        print_note("Skipped host-runs run again by the names of their hosts: see benchwright fleet retry --help")
    if changed and how != SKIPPED and found.ended is None and not found.by_workers:
        print_note(f"Run them with: benchwright fleet resume {found.id}, unless it is under way")


def _some_skipped(workstation: Workstation, study: FleetStudy) -> bool:
    """Return whether a host-run was skipped whose hosts were not replaced."""
    gone = {host.name for host in study.replaced}
    every = workstation.host_runs(study.id)
    return any(one.state is HostRunState.SKIPPED and not gone & {*one.hosts} for one in every)


for command in (results, report, sameness, ticket, propose):
    fleet.add_command(command)

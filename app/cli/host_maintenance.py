"""benchwright hosts install, restore, log, leftovers: change a host, and clean up after runs."""

from collections.abc import Sequence
from pathlib import Path

import click

from app.cli.common import FAILED, json_verb, plain, print_json, print_table, verb
from app.cli.prompts import TerminalAsker, with_asker
from app.hosts.hosts import HostsError
from app.hosts.leftovers import HEAD, LeftoverOwner, leftover_row, recorded_text, still_changed
from app.hosts.packages import has_program, installation_of, package_manager, works_without
from app.json_converter import published
from app.plans.plan import host_label
from app.plans.tuning import path_title
from app.records import HostAction
from app.services import Workstation
from suites import registry
from suites.base import complete_values
from suites.errors import BenchwrightError
from suites.facts import Facts, known
from suites.programs import Program
from suites.quantities import quantity
from suites.units import Unit


@click.command("limits")
@click.argument("host")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--device",
    default="",
    metavar="NAME",
    help="Disk that is the volume in FILE, such as nvme1n1; found by the id of EBS volumes.",
)
@click.option("--type", "instance_type", default="", metavar="TYPE", help="Instance type to choose from FILE.")
@click.option("--forget", is_flag=True, help="Delete the stored limits of HOST.")
@verb
def cloud_limits(
    workstation: Workstation, host: str, file: Path | None, *, device: str, instance_type: str, forget: bool
) -> None:
    """Store the limits of HOST's instance type or volume, and list them; verdicts then name how far they were used.

    FILE is the JSON of aws ec2 describe-instance-types or describe-volumes, gcloud compute disks describe, az vm
    list-skus or az disk show.
    """
    stored = workstation.cloud_limits
    if file is None and (device or instance_type):
        raise click.UsageError("--device and --type choose from FILE: name it.")
    if host not in {entry.name for entry in workstation.hosts()}:
        raise HostsError(f"No host is named {host[:60]}.", "benchwright hosts lists their names; hosts add saves one.")
    if forget:
        stored.forget(host)
    found = stored.of(host) if file is None else stored.add(host, file, device, instance_type)
    print_table(
        ["Limit", "Value", "Disk"], [[one.name, quantity(one.value, Unit(one.unit)), one.disk] for one in found]
    )


@click.command("install")
@click.argument("host")
@click.argument("tools", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Run the command without confirmation.")
@with_asker
@verb
def install_tools(
    workstation: Workstation, host: str, tools: tuple[str, ...], asker: TerminalAsker, *, yes: bool
) -> None:
    """Install TOOLS (such as fio or gcc) on HOST with its package manager, after you confirm the command."""
    wanted = list(dict.fromkeys(program for tool in tools for program in _programs(tool)))
    facts = workstation.facts(host, asker)
    missing = [program for program in wanted if not has_program(program, facts)]
    _print_versions([program for program in wanted if program not in missing], facts)
    if not missing:
        return
    command = _command(missing, host, facts)
    click.echo(plain(f"On {host_label(host)}, this will run:\n  {command}"), err=True)
    if not yes:
        click.confirm("Run it", abort=True, err=True)
    names = ", ".join(program.names[0] for program in missing)
    for line in workstation.install(host, command, asker, f"install {names}"):
        click.echo(plain(line))
    after = workstation.facts(host, asker)
    _print_versions(missing, after)
    if not all(has_program(program, after) for program in missing):
        raise SystemExit(FAILED)


def _programs(tool: str) -> tuple[Program, ...]:
    """Return the program named `tool`, or the programs that the suite of that name needs by default."""
    found = next((suite for suite in registry.SUITES if tool == suite.id), None)
    if found is not None:
        return found.programs(complete_values(found, {}), None) or (found.program,)
    programs = registry.programs()
    program = next((program for program in programs if tool in program.names), None)
    if program is None:
        names = ", ".join(program.names[0] for program in programs)
        raise BenchwrightError(f"Unknown tool “{tool[:60]}”.", f"Known tools: {names}.")
    return (program,)


def _command(missing: Sequence[Program], host: str, facts: Facts) -> str:
    way = installation_of(missing, facts)
    if way.note:
        click.echo(plain(way.note), err=True)
    if way.command is None:
        names = ", ".join(program.title for program in missing)
        raise BenchwrightError(
            f"No known package for {names} on {host_label(host)}: {_why_not(facts)}.",
            f"Install it with the host's own tools. {works_without(facts)}",
        )
    return way.command


def _why_not(facts: Facts) -> str:
    system = known(facts.system.distribution) or "its distribution"
    if package_manager(facts) is None:
        return f"{system} has no supported package manager"
    return f"not listed for {system}"


def _print_versions(programs: Sequence[Program], facts: Facts) -> None:
    for program in programs:
        found = [(name, facts.tool(name)) for name in program.names]
        versions = [(name, known(tool.version) or known(tool.path)) for name, tool in found]
        name, version = next(((name, version) for name, version in versions if version), (program.names[0], None))
        click.echo(plain(f"{name}: {version}" if version else f"{name} is still not found."))


@click.command("restore")
@click.argument("host")
@click.option("--yes", is_flag=True, help="Restore the settings without confirmation.")
@with_asker
@json_verb("hosts-restore")
def restore(workstation: Workstation, host: str, asker: TerminalAsker, *, yes: bool, as_json: bool) -> None:
    """Restore settings that a run changed on HOST and did not restore, as after a crash."""
    found = workstation.host_notes(host, asker)
    for note in found:
        click.echo(plain(recorded_text(note)), err=True)
    if found and not yes:
        click.confirm("Restore these settings", abort=True, err=True)
    done = workstation.restore(host, asker)
    if as_json:
        print_json([published(each) for each in done])
    elif not done:
        click.echo(plain(f"No changed settings recorded on {host_label(host)}."))
    for each in () if as_json else done:
        click.echo(plain(f"{path_title(each.path)}: {each.problem or 'restored'}"))
    if any(each.kept for each in done):
        raise SystemExit(FAILED)


@click.command("log")
@click.argument("host")
@click.option("--output", "whole", is_flag=True, help="Include each command's output.")
@json_verb("hosts-log")
def show_log(workstation: Workstation, host: str, *, whole: bool, as_json: bool) -> None:
    """Show the commands you confirmed on HOST: tools installed, settings restored."""
    actions = workstation.host_log(host)
    if as_json:
        print_json([{**published(action), "output": action.output.decode("utf-8", "replace")} for action in actions])
        return
    if not actions:
        click.echo(plain(f"Nothing was installed or restored on {host_label(host)}."))
        return
    if not whole:
        print_table(["Started (UTC)", "Action", "Command", "Outcome"], [_row(action) for action in actions])
        return
    for action in reversed(actions):
        click.echo(plain("  ".join(_row(action))))
        click.echo(plain(action.output.decode("utf-8", "replace")))


def _row(action: HostAction) -> list[str]:
    status = "" if action.exit_status is None else f"exit status {action.exit_status}"
    outcome = action.reason or status or "unfinished"
    return [action.started[:19].replace("T", " "), action.what, action.command, outcome]


@click.command("leftovers")
@click.argument("host")
@click.option("--remove", is_flag=True, help="Remove directories and leases of this library whose run has ended.")
@with_asker
@json_verb("hosts-leftovers")
def leftovers(workstation: Workstation, host: str, asker: TerminalAsker, *, remove: bool, as_json: bool) -> None:
    """List what runs left on HOST: private directories, leases, changed settings and running processes.

    --remove removes only directories and leases of this library whose run has ended.
    """
    found = workstation.leftovers(host, asker)
    if remove:
        own = [leftover.nonce for leftover in found if leftover.owner is LeftoverOwner.ENDED_RUN]
        rest = workstation.remove_leftovers(host, asker, own) if own else found
        remaining = {leftover.nonce for leftover in rest}
        click.echo(plain(f"Removed {sum(nonce not in remaining for nonce in own)} from {host_label(host)}."), err=True)
        found = rest
    if as_json:
        print_json([published(leftover) for leftover in found])
        return
    if not found:
        click.echo(plain(f"No leftovers on {host_label(host)}."))
        return
    print_table(HEAD, [leftover_row(leftover) for leftover in found], right=[3, 4, 5])
    for line in still_changed(host, found):
        click.echo(plain(line))

"""benchwright hosts install, restore, log: what is done to a host because the user says so, and what became of it."""

from collections.abc import Sequence

import click

from app.cli.asking import TerminalAsker, asks
from app.cli.common import (
    FAILED,
    json_option,
    pass_workstation,
    plain,
    print_json,
    print_table,
    speaks_to_people,
)
from app.hosts.packages import has_program, installation_of, package_manager, tool_of, works_without
from app.hosts.restoring import note_text
from app.moments import age_text
from app.plans.tuning import path_title
from app.records import HostAction
from app.services import Workstation
from suites.base import complete_values, programs_of
from suites.errors import BenchwrightError
from suites.facts import Facts, known
from suites.programs import PROGRAMS, Program
from suites.registry import SUITES


@click.command("install")
@click.argument("host")
@click.argument("tools", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask before the command runs.")
@asks
@pass_workstation
@speaks_to_people
def install_tools(
    workstation: Workstation, host: str, tools: tuple[str, ...], asker: TerminalAsker, *, yes: bool
) -> None:
    """Install TOOLS (such as fio or gcc) on HOST, with its own package manager, once you have agreed to the command."""
    wanted = list(dict.fromkeys(program for tool in tools for program in _programs(tool)))
    facts = workstation.facts(host, asker)
    missing = [program for program in wanted if not has_program(program, facts)]
    _say_versions([program for program in wanted if program not in missing], facts)
    if not missing:
        return
    command = _command(missing, host, facts)
    click.echo(plain(f"On {host}, this will run:\n  {command}"), err=True)
    if not yes:
        click.confirm("Run it", abort=True, err=True)
    names = ", ".join(program.names[0] for program in missing)
    for line in workstation.install(host, command, asker, f"install {names}"):
        click.echo(plain(line))
    after = workstation.facts(host, asker)
    _say_versions(missing, after)
    if not all(has_program(program, after) for program in missing):
        raise SystemExit(FAILED)


def _programs(tool: str) -> tuple[Program, ...]:
    """Return the programs that `tool` stands for: a tool alone, or what the suite of that name needs by default."""
    found = next((suite for suite in SUITES if tool == suite.id), None)
    if found is not None:
        needed = programs_of(found, complete_values(found, {}), None)
        return needed or (tool_of(found),)
    found = next((suite for suite in SUITES if tool == suite.tool), None)
    if found is not None:
        return (tool_of(found),)
    program = next((program for program in PROGRAMS if tool in program.names), None)
    if program is None:
        known_names = [*(suite.tool for suite in SUITES), *(program.names[0] for program in PROGRAMS)]
        names = ", ".join(dict.fromkeys(known_names))
        raise BenchwrightError(f"“{tool[:60]}” is no tool of a test.", f"There are {names}.")
    return (program,)


def _command(missing: Sequence[Program], host: str, facts: Facts) -> str:
    way = installation_of(missing, facts)
    if way.note:
        click.echo(plain(way.note), err=True)
    if way.command is None:
        names = ", ".join(program.title for program in missing)
        raise BenchwrightError(
            f"No package is known for {names} on {host}: {_why_not(facts)}.",
            f"Install it with the host's own tools. {works_without(facts)}",
        )
    return way.command


def _why_not(facts: Facts) -> str:
    system = known(facts.system.distribution) or "its distribution"
    if package_manager(facts) is None:
        return f"{system} has none of the package managers known here"
    return f"no package of {system} is known to have it"


def _say_versions(programs: Sequence[Program], facts: Facts) -> None:
    for program in programs:
        found = [(name, facts.tool(name)) for name in program.names]
        versions = [(name, known(tool.version) or known(tool.path)) for name, tool in found]
        name, version = next(((name, version) for name, version in versions if version), (program.names[0], None))
        click.echo(plain(f"{name}: {version}" if version else f"{name} is still not found."))


@click.command("restore")
@click.argument("host")
@click.option("--yes", is_flag=True, help="Do not ask before the settings are put back.")
@asks
@json_option
@pass_workstation
@speaks_to_people
def restore(workstation: Workstation, host: str, asker: TerminalAsker, *, yes: bool, as_json: bool) -> None:
    """Put back the settings that a run changed on HOST and left behind, as after a crash."""
    found = workstation.host_notes(host, asker)
    for note in found:
        age = "" if note.age is None else f", {age_text(note.age)} ago"
        click.echo(plain(f"{note_text(note)} (run {note.run} of {note.workstation}{age})"), err=True)
    if found and not yes:
        click.confirm("Put this back", abort=True, err=True)
    done = workstation.restore(host, asker)
    if as_json:
        print_json([{"path": each.path, "run": each.run, "problem": each.problem} for each in done])
    elif not done:
        click.echo(plain(f"Nothing on {host} is noted down as changed."))
    for each in () if as_json else done:
        click.echo(plain(f"{path_title(each.path)}: {each.problem or 'put back'}"))
    if any(each.kept for each in done):
        raise SystemExit(FAILED)


@click.command("log")
@click.argument("host")
@click.option("--output", "whole", is_flag=True, help="Print what each command printed, too.")
@json_option
@pass_workstation
@speaks_to_people
def show_log(workstation: Workstation, host: str, *, whole: bool, as_json: bool) -> None:
    """Show what was run on HOST because you agreed to it: tools installed, settings put back."""
    actions = workstation.host_log(host)
    if as_json:
        print_json([_action(action) for action in actions])
        return
    if not actions:
        click.echo(plain(f"Nothing was installed or put back on {host}."))
        return
    if not whole:
        print_table(["Started (UTC)", "What", "Command", "Outcome"], [_row(action) for action in actions])
        return
    for action in reversed(actions):
        click.echo(plain("  ".join(_row(action))))
        click.echo(plain(action.output.decode("utf-8", "replace")))


def _row(action: HostAction) -> list[str]:
    status = "" if action.exit_status is None else f"exit status {action.exit_status}"
    outcome = action.reason or status or "not ended"
    return [action.started[:19].replace("T", " "), action.what, action.command, outcome]


def _action(action: HostAction) -> dict[str, object]:
    return {
        "host": action.host,
        "what": action.what,
        "command": action.command,
        "started": action.started,
        "ended": action.ended,
        "exit_status": action.exit_status,
        "reason": action.reason,
        "output": action.output.decode("utf-8", "replace"),
    }

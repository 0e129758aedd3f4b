"""benchwright hosts, facts: where to measure, and what is there."""

import shlex
from dataclasses import asdict

import click

from app.cli.asking import TerminalAsker, asks
from app.cli.attach import leftovers
from app.cli.common import (
    FAILED,
    json_option,
    pass_workstation,
    plain,
    print_json,
    print_table,
    speaks_to_people,
)
from app.cli.facts_table import facts_rows
from app.cli.host_work import install_tools, restore, show_log
from app.formats import facts_to_json
from app.hosts.hosts import HostEntry, Origin
from app.services import Workstation
from remote.errors import Outcome


@click.group(invoke_without_command=True)
@json_option
@pass_workstation
@click.pass_context
@speaks_to_people
def hosts(context: click.Context, workstation: Workstation, *, as_json: bool) -> None:
    """List the hosts: this computer, the saved ones, the aliases of ~/.ssh/config."""
    if context.invoked_subcommand is not None:
        return
    entries = workstation.hosts()
    if problem := workstation.hosts_problem():
        click.echo(plain(problem), err=True)
    if as_json:
        print_json([asdict(entry) for entry in entries])
        return
    rows = [
        [entry.name, entry.origin, entry.host_name or "", entry.user or "", str(entry.port or "")] for entry in entries
    ]
    print_table(["Host", "From", "Address", "User", "Port"], rows)


@hosts.command("add")
@click.argument("name")
@click.option("--address", "host_name", help="Host name or IP address; by default the name itself.")
@click.option("--port", type=click.IntRange(1, 65535))
@click.option("--user")
@click.option("--identity-file", help="The private key to use.")
@click.option("--jump", help="Jump hosts, as in ProxyJump: user@host:port,…")
@pass_workstation
@speaks_to_people
def add_host(workstation: Workstation, /, name: str, **given: str | int | None) -> None:
    """Save the host NAME; what was saved under that name before is replaced."""
    workstation.save_host(HostEntry(name, Origin.SAVED, **given))  # type: ignore[arg-type]  # click has checked the types
    click.echo(plain(f"Saved. Try it with: benchwright hosts test {shlex.quote(name)}"))


@hosts.command("remove")
@click.argument("name")
@pass_workstation
@speaks_to_people
def remove_host(workstation: Workstation, name: str) -> None:
    """Forget the saved host NAME; its runs stay."""
    workstation.remove_host(name)


@hosts.command("test")
@click.argument("name")
@click.option("--remember", is_flag=True, help="Keep the password or passphrase that worked in the system keyring.")
@asks
@json_option
@pass_workstation
@speaks_to_people
def test_host(workstation: Workstation, name: str, asker: TerminalAsker, *, remember: bool, as_json: bool) -> None:
    """Connect to the host NAME and say how it went."""
    asker.keep_secrets = remember
    report = workstation.test_connection(name, asker)
    if as_json:
        print_json(asdict(report))
    else:
        click.echo(plain(f"{report.message} {report.remedy}".strip()))
    if report.outcome is not Outcome.CONNECTED:
        raise SystemExit(FAILED)


@hosts.command("forget")
@click.argument("name")
@pass_workstation
@speaks_to_people
def forget_secrets(workstation: Workstation, name: str) -> None:
    """Forget the password and passphrases of the host NAME that the system keyring keeps."""
    count = workstation.forget_secrets(name)
    click.echo(plain(f"Forgot {count} of {name}." if count else f"The keyring keeps nothing for {name}."))


@click.command()
@click.argument("host")
@click.option("--directory", "directories", multiple=True, help="A directory that a disk test is to write in.")
@click.option("--device", "devices", multiple=True, help="A raw device that a disk test is to use.")
@asks
@json_option
@pass_workstation
@speaks_to_people
def facts(
    workstation: Workstation,
    host: str,
    directories: tuple[str, ...],
    devices: tuple[str, ...],
    asker: TerminalAsker,
    *,
    as_json: bool,
) -> None:
    """Read the facts of HOST ("local" is this computer)."""
    read = workstation.facts(host, asker, directories, devices)
    if as_json:
        print_json(facts_to_json(read))
    else:
        print_table(["Fact", "Value"], facts_rows(read))


for command in (install_tools, restore, show_log, leftovers):
    hosts.add_command(command)

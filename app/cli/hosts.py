"""benchwright hosts, facts: manage hosts, and read their facts."""

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from app.cli.common import (
    FAILED,
    Whole,
    json_option,
    json_verb,
    pass_workstation,
    plain,
    print_error,
    print_json,
    print_note,
    print_table,
    report_errors,
    show_part,
    verb,
)
from app.cli.host_maintenance import cloud_limits, install_tools, leftovers, restore, show_log
from app.cli.prompts import TerminalAsker, with_asker
from app.fleet.host_selection import selected_once
from app.fleet.inventory import InventoryError
from app.formats import facts_to_json
from app.hosts.facts_rows import compared_facts
from app.hosts.host_lines import host_lines
from app.hosts.hosts import HostsError, Origin, ssh_address
from app.json_converter import published
from app.services import Workstation
from remote.errors import ConnectOutcome
from remote.questions import Asker
from suites.errors import BenchwrightError
from suites.facts import Facts
from suites.quantities import count_text, listed

MOST_NAMED = 5
"""Hosts that a question names."""


@click.group(invoke_without_command=True)
@json_option("hosts")
@pass_workstation
@click.pass_context
@report_errors
def hosts(context: click.Context, workstation: Workstation, *, as_json: bool) -> None:
    """List the hosts: this computer, the saved ones, the aliases of ~/.ssh/config."""
    if context.invoked_subcommand is not None:
        return
    entries = workstation.hosts()
    if problem := workstation.hosts_problem():
        click.echo(plain(problem), err=True)
    resolved = workstation.resolved_hosts()
    if as_json:
        print_json([{**published(entry), "resolved": resolved.get(entry.name)} for entry in entries])
        return
    print_table(
        ["Host", "Source", "Address"],
        [[entry.name, entry.origin, resolved.get(entry.name, entry.host_name or "")] for entry in entries],
    )


@hosts.command("add")
@click.argument("destinations", nargs=-1, required=True, metavar="HOST…")
@click.option("--name", help="Name of the host in Benchwright.  [default: its alias or address]")
@click.option("--address", "host_name", help="Host name or IP address.  [default: that of HOST]")
@click.option("--port", type=Whole(1, 65535))
@click.option("--user", metavar="NAME", help="Account on the host.  [default: that of ssh]")
@click.option("--identity-file", help="The private key to use.")
@click.option("--jump", help="Jump hosts, as in ProxyJump: user@host:port,…")
@click.option("--replace", "replacing", is_flag=True, help="Replace saved hosts of the same name.")
@verb
def add_hosts(
    workstation: Workstation, /, destinations: tuple[str, ...], name: str | None, *, replacing: bool, **given: Any
) -> None:
    """Save each HOST.

    HOST is an alias of ~/.ssh/config, user@host:port, an ssh:// URL, or an ssh command in quotes. The options apply to
    all of them.
    """
    if name is not None and len(destinations) > 1:
        raise HostsError("--name names one host.", "Add the hosts one by one, or without --name.")
    lines = host_lines("\n".join(destinations))
    if wrong := next((line for line in lines if line.entry is None), None):
        raise HostsError(f"{re.sub(':[^@]*@', ':…@', wrong.text)[:80]}: {wrong.fault}", "")
    set_values = {key: value for key, value in given.items() if value is not None}
    found = [replace(line.entry, **set_values) for line in lines if line.entry is not None]
    if name is not None:
        found = [replace(entry, name=name, host_name=entry.host_name or entry.name) for entry in found]
    if not found:
        raise HostsError("No host given.", "Name an alias, user@host:port, an ssh:// URL, or an ssh command in quotes.")
    before = {entry.name: entry for entry in workstation.hosts() if entry.origin is Origin.SAVED}
    if other := next((entry for entry in found if before.get(entry.name, entry) != entry and not replacing), None):
        raise HostsError(
            f"{other.name} is saved already: {ssh_address(before[other.name])}.",
            "Give the new one a name with --name, or replace the saved one with --replace.",
        )
    workstation.save_hosts(*found)
    for entry in found:
        old = before.get(entry.name, entry)
        done = f"Saved {entry.name}" if old == entry else f"Replaced {entry.name}, which was {ssh_address(old)}"
        click.echo(plain(f"{done}. Test it with: benchwright hosts test {shlex.quote(entry.name)}"))


@hosts.command("remove")
@click.argument("words", nargs=-1, required=True, metavar="HOST…")
@click.option("--yes", is_flag=True, help="Remove the hosts of a group or pattern without confirmation.")
@verb
def remove_hosts(workstation: Workstation, words: tuple[str, ...], *, yes: bool) -> None:
    """Remove each saved HOST: a host, group, pattern or KEY=VALUE of the inventory. Runs stay."""
    saved = {entry.name for entry in workstation.hosts() if entry.origin is Origin.SAVED}
    names: Sequence[str] = words
    if not saved.issuperset(words):
        chosen = selected_once(words, workstation.hosts(), workstation.inventory.read())
        names = [name for name in chosen if name in saved] or words
        if not yes and saved.issuperset(names):
            if not sys.stdin.isatty():
                raise InventoryError("Nothing was removed: no terminal to confirm on.", "Pass --yes.")
            click.confirm(plain(f"Remove {listed(names, MOST_NAMED)}"), abort=True, err=True)
    for name in dict.fromkeys(names):
        workstation.remove_host(name)
    if len(names) > 1:
        print_note(f"Removed {count_text(len(names), 'host')}.")


@hosts.command("test")
@click.argument("name")
@click.option("--remember", is_flag=True, help="Store the accepted password or passphrase in the system keyring.")
@with_asker
@json_verb("hosts-test")
def test_host(workstation: Workstation, name: str, asker: TerminalAsker, *, remember: bool, as_json: bool) -> None:
    """Test the connection to the host NAME."""
    asker.keep_secrets = remember
    report = workstation.test_connection(name, asker)
    if as_json:
        print_json(published(report))
    else:
        click.echo(plain(f"{report.message} {report.remedy}".strip()))
    if report.outcome is not ConnectOutcome.CONNECTED:
        raise SystemExit(FAILED)


@hosts.command("forget")
@click.argument("name")
@verb
def forget_secrets(workstation: Workstation, name: str) -> None:
    """Delete the password and passphrases of the host NAME from the system keyring."""
    count = workstation.forget_secrets(name)
    click.echo(plain(f"Secrets of {name} deleted: {count}" if count else f"The keyring has no secrets of {name}."))


@click.command()
@click.argument("hosts", nargs=-1, required=True, metavar="HOST…")
@click.option("--directory", "directories", multiple=True, help="Also read this directory (for disk tests).")
@click.option("--device", "devices", multiple=True, help="Also read this raw device (for disk tests).")
@click.option("--search", default="", metavar="TEXT", help="Show only facts whose name or value contains TEXT.")
@click.option("--all", "every", is_flag=True, help="Of several hosts, show also the facts that do not differ.")
@with_asker
@json_verb("facts", "facts-of-hosts")
def facts(
    workstation: Workstation,
    hosts: tuple[str, ...],
    directories: tuple[str, ...],
    devices: tuple[str, ...],
    search: str,
    asker: TerminalAsker,
    *,
    every: bool,
    as_json: bool,
) -> None:
    """Read the facts of HOST ("local" is this computer); of several, show those that differ."""
    hosts = tuple(dict.fromkeys(hosts))
    if len(hosts) == 1:
        read = {hosts[0]: workstation.facts(hosts[0], asker, directories, devices)}
    else:
        read, _ = read_all(workstation, hosts, asker, directories, devices)
    if as_json:
        print_json([facts_to_json(one) for one in read.values()] if len(hosts) > 1 else facts_to_json(read[hosts[0]]))
    elif read:
        found = [fact for fact in compared_facts([*read.values()]) if every or fact.differs or len(hosts) == 1]
        rows = [row for fact in found if _matches(row := [fact.title, *fact.values], search)]
        if rows:
            print_table(["Fact", *(["Value"] if len(hosts) == 1 else read)], rows)
        else:
            click.echo(plain(f"No fact contains “{search}”." if search else "No fact differs."))
    if len(read) < len(hosts):
        raise SystemExit(FAILED)


def read_all(
    workstation: Workstation,
    hosts: Sequence[str],
    asker: Asker,
    directories: Sequence[str] = (),
    devices: Sequence[str] = (),
    *,
    watch: bool = True,
) -> tuple[dict[str, Facts], dict[str, str]]:
    """Return the facts of the hosts that are read, in their order, and the errors of the others, which are printed."""
    problems: dict[str, str] = {}
    found: dict[str, Facts] = {}
    readings = workstation.facts_of_all(hosts, asker, directories, devices, watch=watch)
    for number, (host, facts) in enumerate(readings, 1):
        if isinstance(facts, BenchwrightError):
            print_error(f"{host} was not read: {facts}")
            problems[host] = str(facts)
        else:
            found[host] = facts
        show_part("Reading facts", number, len(hosts))
    return {host: found[host] for host in hosts if host in found}, problems


def _matches(row: Sequence[str], text: str) -> bool:
    return text.casefold() in "\n".join(row).casefold()


for command in (install_tools, cloud_limits, restore, show_log, leftovers):
    hosts.add_command(command)

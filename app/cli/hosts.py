"""benchwright hosts, facts: manage hosts, and read their facts."""

import shlex
from collections.abc import Iterator
from dataclasses import Field, fields, is_dataclass
from typing import Any

import click

from app.cli.common import (
    FAILED,
    json_option,
    json_verb,
    pass_workstation,
    plain,
    print_json,
    print_table,
    report_errors,
    verb,
)
from app.cli.host_maintenance import install_tools, leftovers, restore, show_log
from app.cli.prompts import TerminalAsker, with_asker
from app.formats import facts_to_json
from app.hosts.hosts import HostEntry, Origin
from app.json_converter import published
from app.services import Workstation
from remote.errors import ConnectOutcome
from suites.facts import Absent, Facts, known
from suites.quantities import offset_text, quantity
from suites.units import Unit


@click.group(invoke_without_command=True)
@json_option
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
    if as_json:
        print_json([published(entry) for entry in entries])
        return
    rows = [
        [entry.name, entry.origin, entry.host_name or "", entry.user or "", str(entry.port or "")] for entry in entries
    ]
    print_table(["Host", "Source", "Address", "User", "Port"], rows)


@hosts.command("add")
@click.argument("name")
@click.option("--address", "host_name", help="Host name or IP address.  [default: NAME]")
@click.option("--port", type=click.IntRange(1, 65535))
@click.option("--user", metavar="NAME", help="Account on the host.  [default: that of ssh]")
@click.option("--identity-file", help="The private key to use.")
@click.option("--jump", help="Jump hosts, as in ProxyJump: user@host:port,…")
@verb
def add_host(workstation: Workstation, /, name: str, **given: Any) -> None:
    """Save the host NAME, replacing an existing one."""
    workstation.save_host(HostEntry(name, Origin.SAVED, **given))
    click.echo(plain(f"Saved. Test it with: benchwright hosts test {shlex.quote(name)}"))


@hosts.command("remove")
@click.argument("name")
@verb
def remove_host(workstation: Workstation, name: str) -> None:
    """Remove the saved host NAME; its runs stay."""
    workstation.remove_host(name)


@hosts.command("test")
@click.argument("name")
@click.option("--remember", is_flag=True, help="Store the accepted password or passphrase in the system keyring.")
@with_asker
@json_verb
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
@click.argument("host")
@click.option("--directory", "directories", multiple=True, help="Also read this directory (for disk tests).")
@click.option("--device", "devices", multiple=True, help="Also read this raw device (for disk tests).")
@with_asker
@json_verb
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


_SINGULAR = {
    "cpu caches": "cpu cache",
    "cpu layout": "cpu core with CPUs",
    "measured foreign processes": "process of others",
    "measured foreign disks": "disk use by others:",
    "block devices": "block device",
    "file systems": "file system",
    "directories": "directory",
    "devices": "device",
    "interfaces": "interface",
    "tools": "tool",
}


def facts_rows(facts: Facts) -> list[tuple[str, str]]:
    """Return (name, value) of every fact by group, with the reason for absent ones."""
    return list(_rows("", facts))


def _rows(prefix: str, group: Any) -> Iterator[tuple[str, str]]:
    for field in fields(group):
        value = getattr(group, field.name)
        name = f"{prefix}{field.name}".replace("_", " ")
        if is_dataclass(value) and not isinstance(value, Absent):
            yield from _rows(f"{name} ", value)
        elif isinstance(value, tuple) and value and is_dataclass(value[0]):
            for item in value:
                yield f"{_SINGULAR.get(name, name)} {_title(item)}", _line(item)
        elif field.name == "clock_offset" and not isinstance(value, Absent):
            yield name, offset_text(value, known(group.clock_offset_uncertainty))
        elif field.name != "clock_offset_uncertainty":
            yield name, _value_text(value, field)


def _title(item: Any) -> str:
    first = getattr(item, fields(item)[0].name)
    return ",".join(map(str, first)) if isinstance(first, tuple) else str(first)


def _line(item: Any) -> str:
    parts = []
    for field in fields(item)[1:]:
        value = getattr(item, field.name)
        if not isinstance(value, Absent) and not field.metadata.get("internal"):
            parts.append(f"{field.name.replace('_', ' ')} {_value_text(value, field)}")
    absent = [field for field in fields(item)[1:] if isinstance(getattr(item, field.name), Absent)]
    if not parts and absent:
        return _value_text(getattr(item, absent[0].name), absent[0])
    return ", ".join(parts)


def _value_text(value: Any, field: "Field[Any]") -> str:
    if isinstance(value, Absent):
        return f"— ({value.reason})"
    unit = field.metadata.get("unit", "")
    if unit == "B" and isinstance(value, int) and field.name != "mtu":
        return quantity(value)
    if unit in set(Unit) and isinstance(value, float):
        return quantity(float(value), Unit(unit))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ("; " if any(" " in str(each) for each in value) else " ").join(map(str, value)) or "none"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f"{text} {unit}" if unit and unit != "1" else text


for command in (install_tools, restore, show_log, leftovers):
    hosts.add_command(command)

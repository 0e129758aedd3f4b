"""benchwright inventory: hosts with their attributes and groups, and their import."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from app.cli.common import (
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
from app.fleet.host_selection import all_groups, members_of, selected_once
from app.fleet.inventory import Inventory, InventoryError
from app.fleet.inventory_import import ImportAction, ImportedHost, ImportOptions, ImportPreview
from app.fleet.inventory_json import import_to_json, inventory_to_json
from app.fleet.inventory_sources.found import FoundInventory
from app.fleet.inventory_sources.sources import LARGEST, Source, inventory_in, read_inventory
from app.host_attributes import HostAttributes, currency_code
from app.hosts.hosts import ssh_address
from app.ranking.candidates import parse_price
from app.services import Workstation
from suites.quantities import count_text, listed

MOST_SHOWN = 5
"""Hosts that a row of a group names."""

STANDARD_INPUT = Path("-")


@click.group(invoke_without_command=True)
@json_option("inventory")
@pass_workstation
@click.pass_context
@report_errors
def inventory(context: click.Context, workstation: Workstation, *, as_json: bool) -> None:
    """List the hosts with their attributes (type, zone, price, image, launch) and groups.

    The verbs on groups of hosts take words: a group, a host, a pattern such as 'web-*', KEY=VALUE of an attribute
    (type, zone, image, storage, link, id), NAME:=WORD,WORD to name a group, and by=KEY for a group of each value.
    """
    if context.invoked_subcommand is not None:
        return
    entries, stated = workstation.hosts(), workstation.inventory.read()
    if as_json:
        print_json(inventory_to_json(entries, stated))
        return
    groups = all_groups([entry.name for entry in entries], stated)
    members = members_of(groups)
    rows = [[entry.name, *_row(stated.of(entry.name)), " ".join(members.get(entry.name, []))] for entry in entries]
    print_table(["Host", "Type", "Zone", "Price an hour", "Image", "Launched", "Groups"], rows)
    if groups:
        click.echo()
        print_table(["Group", "Patterns", "Hosts"], [_group_row(name, groups[name], stated) for name in groups])


def _row(one: HostAttributes) -> list[str]:
    return [one.instance_type, one.zone, one.price_text, one.image, one.launched.partition("T")[0]]


def _group_row(name: str, hosts: Sequence[str], stated: Inventory) -> list[str]:
    return [name, " ".join(stated.groups.get(name, ())), f"{len(hosts)}: {listed(hosts, MOST_SHOWN)}" if hosts else "0"]


@inventory.command("import")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE|-")
@click.option(
    "--from",
    "source",
    type=click.Choice([one.value for one in Source]),
    help="What wrote FILE.  [default: recognised by its content]",
)
@click.option("--private", is_flag=True, help="Prefer private addresses.")
@click.option("--group", default="", metavar="NAME", help="Add all hosts to this group.")
@click.option("--user", metavar="NAME", help="Account on hosts for which FILE states none.")
@click.option("--identity-file", help="Private key for hosts for which FILE states none.")
@click.option("--jump", help="Jump hosts, as in ProxyJump, for hosts for which FILE states none.")
@click.option("--replace", "replaces", is_flag=True, help="Replace saved hosts of the same name, and their groups.")
@click.option("--dry-run", is_flag=True, help="Print what would change, and store nothing.")
@click.option("--yes", is_flag=True, help="Store the hosts without confirmation.")
@json_verb("inventory-import")
def import_hosts(
    workstation: Workstation,
    file: Path,
    source: str | None,
    *,
    private: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Save the hosts in FILE with their attributes and groups.

    FILE is the output of ansible-inventory --list, aws ec2 describe-instances, gcloud compute instances list
    --format=json, az vm list --show-details, terraform output -json or terraform show -json, or a CSV table with a
    header row.
    """
    recognised, found = _read(file, None if source is None else Source(source), private=private)
    preview = workstation.preview_import(found, ImportOptions(**options))
    if not as_json:
        _show(preview, recognised)
    stores = bool(preview.writes) and not dry_run
    if stores and not yes:
        if not sys.stdin.isatty():
            raise InventoryError("Nothing was stored: no terminal to confirm on.", "Pass --yes, or --dry-run.")
        click.confirm(plain(f"Store {count_text(len(preview.writes), 'host')}"), abort=True, err=True)
    if stores:
        workstation.store_import(preview)
    if as_json:
        print_json(import_to_json(recognised, preview, stored=stores))
    elif stores:
        print_note(f"Stored {count_text(len(preview.writes), 'host')}.")


def _read(file: Path, source: Source | None, *, private: bool) -> tuple[Source, FoundInventory]:
    if file != STANDARD_INPUT:
        return read_inventory(file, source, private=private)
    content = sys.stdin.buffer.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise InventoryError("Standard input is larger than 64 MiB.", "Import fewer hosts at once.")
    try:
        return inventory_in(content.decode("utf-8-sig"), source, private=private)
    except UnicodeDecodeError as error:
        raise InventoryError("Standard input is not text in UTF-8.", "Give JSON or CSV in UTF-8.") from error


def _show(preview: ImportPreview, source: Source) -> None:
    counts = [f"{len(found)} {action}" for action in ImportAction if (found := preview.of(action))]
    click.echo(plain(f"Source: {source}. Hosts: {', '.join(counts)}."))
    shown = [one for one in preview.hosts if one.action is not ImportAction.UNCHANGED]
    if shown:
        print_table(
            ["Host", "Action", "Address", "Type", "Zone", "Groups", "Note"], [_import_row(one) for one in shown]
        )
    for note in preview.notes:
        print_note(note)
    if any(one.is_saved_elsewhere for one in shown):
        print_note("Saved hosts are replaced with --replace.")


def _import_row(one: ImportedHost) -> list[str]:
    address = ssh_address(one.entry) if one.entry.host_name else ""
    stated = one.attributes
    return [one.entry.name, one.action, address, stated.instance_type, stated.zone, " ".join(stated.groups), one.note]


@inventory.command("set")
@click.argument("words", nargs=-1, required=True, metavar="HOST…")
@click.option("--type", "instance_type", help="Instance type.")
@click.option("--zone", help="Availability zone.")
@click.option("--price", help="Price of an hour, such as 0.34 or “0.34 USD”.")
@click.option("--currency", help="Currency of the price.")
@click.option("--image", help="Image, such as ami-0a1b.")
@click.option("--launched", metavar="TIME", help="Time of launch in ISO 8601; UTC without an offset.")
@click.option("--storage", metavar="NAME", help="Storage that the hosts share with others.")
@click.option("--link", metavar="NAME", help="Network link that the hosts share with others.")
@click.option("--group", "groups", multiple=True, metavar="NAME", help="Add the hosts to this group; repeatable.")
@click.option("--not-in", "left", multiple=True, metavar="NAME", help="Take the hosts out of this group; repeatable.")
@verb
def set_attributes(
    workstation: Workstation,
    words: tuple[str, ...],
    price: str | None,
    groups: tuple[str, ...],
    left: tuple[str, ...],
    **given: str | None,
) -> None:
    """State attributes of each HOST: a host, group, pattern or KEY=VALUE. An empty text deletes an attribute."""
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if price is not None:
        parsed = parse_price(price) if price.strip() else None
        changes["price"] = parsed and parsed.amount
        own = parsed.currency if parsed else ""
        if own and currency_code(changes.get("currency", own)) != own:
            raise click.UsageError(f"--price is in {own}, --currency is {changes['currency']}.")
        if own or parsed is None:
            changes.setdefault("currency", own)
    if changes.get("currency"):
        parse_price(f"1 {changes['currency']}")  # raises an error for what is no currency
    if not changes and not groups and not left:
        raise click.UsageError("Give an attribute, such as --price 0.34.")
    before = workstation.inventory.read()
    hosts = selected_once(words, workstation.hosts(), before)
    stated = {host: replace(before.of(host), **changes) for host in hosts}
    workstation.inventory.put({
        host: replace(one, groups=tuple(name for name in (*one.groups, *groups) if name not in left))
        for host, one in stated.items()
    })  # fmt: skip
    print_note(f"Changed {count_text(len(hosts), 'host')}: {listed(hosts, MOST_SHOWN)}.")


@inventory.command("group")
@click.argument("name")
@click.argument("patterns", nargs=-1, metavar="PATTERN…")
@click.option("--remove", is_flag=True, help="Delete the group NAME; its hosts stay.")
@verb
def name_group(workstation: Workstation, name: str, patterns: tuple[str, ...], *, remove: bool) -> None:
    """Name a group of the hosts that match a PATTERN (* and ?), less those of a pattern with a leading “!”."""
    if remove == bool(patterns):
        raise click.UsageError("Give patterns of host names, such as 'web-*', or --remove.")
    if remove:
        workstation.inventory.remove_group(name)
        return
    workstation.inventory.put_group(name, patterns)
    hosts = all_groups([entry.name for entry in workstation.hosts()], workstation.inventory.read())[name]
    print_note(f"The group {name} has {count_text(len(hosts), 'host')}: {listed(hosts, MOST_SHOWN)}."
               if hosts else f"No host matches the group {name} now.")  # fmt: skip

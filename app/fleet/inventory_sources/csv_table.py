"""Hosts in a CSV table with a header row."""

import csv
import io
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from types import MappingProxyType

from app.fleet.inventory import MOST_HOSTS, InventoryError
from app.fleet.inventory_sources.found import (
    FoundInventory,
    StatedHost,
    chosen_address,
    found_inventory,
    groups_of,
    note_on,
    text_of,
)
from app.host_attributes import HostAttributes
from app.ranking.candidates import parse_price
from suites.errors import BenchwrightError

COLUMNS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "name": ("name", "host", "hostname"),
    "address": ("address", "host_name", "ip", "ip_address", "public_ip"),
    "private_address": ("private_address", "private_ip"),
    "port": ("port",),
    "user": ("user", "username"),
    "identity_file": ("identity_file", "key_file"),
    "jump": ("jump", "jump_host", "proxy_jump"),
    "groups": ("group", "groups"),
    "type": ("type", "instance_type", "machine_type"),
    "zone": ("zone", "availability_zone"),
    "price": ("price",),
    "currency": ("currency",),
    "image": ("image", "ami"),
    "launched": ("launched", "launch_time"),
    "age": ("age", "age_days"),
    "instance_id": ("instance_id", "id"),
    "storage": ("storage",),
    "link": ("link",),
})  # fmt: skip
"""The columns, each with its other names."""

_KNOWN = {name: column for column, names in COLUMNS.items() for name in names}
_SEPARATORS = ",;\t"


def csv_table(text: str, now: datetime, *, private: bool = False) -> FoundInventory:
    """Return the hosts of a table of COLUMNS; `now` is the time at which an age in days is counted from.

    Raises InventoryError for a table without a name or address, and for what is not CSV.
    """
    header = text.lstrip().partition("\n")[0]
    separator = max(_SEPARATORS, key=header.count)
    reader = csv.reader(io.StringIO(text.lstrip()), delimiter=separator, strict=True)
    try:
        rows = list(reader)
    except csv.Error as error:
        line = f"not valid CSV (line {reader.line_num}): {error}."
        raise InventoryError(line, "Save the table as CSV in UTF-8.") from error
    head = [name.strip().casefold().replace(" ", "_") for name in rows[0]] if rows else []
    columns = [_KNOWN.get(name, "") for name in head]
    _check(head, columns)
    rows = [[cell.strip() for cell in row] for row in rows[1:]]
    hosts = [
        _host(dict(zip(columns, row, strict=False)), now, long=len(row) > len(head), private=private)
        for row in rows[: MOST_HOSTS + 1]
        if any(row) and not row[0].startswith("#")
    ]
    unknown = [name or "(no name)" for name, column in zip(head, columns, strict=True) if not column]
    return found_inventory(hosts, note_on("Unknown columns were left out", [name[:40] for name in unknown]))


def is_header(line: str) -> bool:
    """Return whether a line is the header of such a table."""
    separator = max(_SEPARATORS, key=line.count)
    head = {_KNOWN.get(name.strip().casefold().replace(" ", "_")) for name in line.split(separator)}
    return bool(head & {"name", "address", "private_address"})


def _check(head: list[str], columns: list[str]) -> None:
    if not {"name", "address", "private_address"} & set(columns):
        raise InventoryError("the header lacks host and address.", "Start the file with host,address,type,zone,price.")
    for column in filter(None, columns):
        if columns.count(column) > 1:
            names = " and ".join(name for name, one in zip(head, columns, strict=True) if one == column)
            raise InventoryError(f"the columns {names[:80]} are the same.", "Remove one of them.")


def _host(row: Mapping[str, str], now: datetime, *, long: bool, private: bool) -> StatedHost:
    public, name = row.get("address", ""), row.get("name", "")
    address = chosen_address(public, row.get("private_address", ""), prefer_private=private)
    attributes, problem = _attributes(row, now)
    return StatedHost(
        name=name or address,
        address=address or name,
        port=row.get("port", ""),
        user=row.get("user", ""),
        identity_file=row.get("identity_file", ""),
        jump=row.get("jump", ""),
        attributes=attributes,
        problem="more cells than the header has" if long else problem,
    )


def _attributes(row: Mapping[str, str], now: datetime) -> tuple[HostAttributes, str]:
    """Return the attributes, and what is wrong with them."""
    found = {key: text_of(row.get(key, "")) for key in ("zone", "image", "instance_id", "storage", "link")}
    launched, amount, currency, problem = text_of(row.get("launched", "")), None, "", ""
    if age := row.get("age", ""):
        try:
            since = (now - timedelta(days=float(age))).date()
        except (ValueError, OverflowError):
            since = date.max
        if since > now.date():
            problem = f"“{age[:40]}” is not an age in days"
        launched = launched or since.isoformat()  # the same at each import of a day
    if price := row.get("price", ""):
        try:
            parsed = parse_price(f"{price} {row.get('currency', '')}".strip())
            amount, currency = parsed.amount, parsed.currency
        except BenchwrightError as error:
            problem = error.message.rstrip(".")
    groups = groups_of(*row.get("groups", "").replace(";", " ").replace(",", " ").split())
    kind = text_of(row.get("type", ""))
    return (
        HostAttributes(instance_type=kind, price=amount, currency=currency, launched=launched, groups=groups, **found),
        problem,
    )

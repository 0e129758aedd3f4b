"""What an import changes: hosts that are added, changed, unchanged or skipped, each with the reason."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from app.fleet.inventory import Inventory, checked_group
from app.fleet.inventory_sources.found import FoundHost, FoundInventory, check_connection, reached_by
from app.host_attributes import HostAttributes
from app.hosts.hosts import HostEntry, Origin, ssh_address
from suites.quantities import count_text, listed

MOST_NAMED = 5
"""Saved instances that a note names."""


class ImportAction(StrEnum):
    """What an import does with a host."""

    ADDED = "added"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class ImportedHost:
    """A host of an import; `note` is what changes, or why it is skipped. `saves` is whether its entry is stored."""

    action: ImportAction
    entry: HostEntry
    attributes: HostAttributes
    note: str = ""
    saves: bool = True
    is_saved_elsewhere: bool = False
    """Whether it is skipped because a saved host of this name has another address or account."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What an import adds to hosts that state no value of their own.

    `replaces`: replace saved hosts of the same name with another address, and the groups of hosts.
    """

    group: str = ""
    user: str | None = None
    identity_file: str | None = None
    jump: str | None = None
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """All hosts of an import in the order of its source, and notes on what was left out."""

    hosts: tuple[ImportedHost, ...]
    notes: tuple[str, ...] = ()

    def of(self, *actions: ImportAction) -> tuple[ImportedHost, ...]:
        """Return the hosts of some actions."""
        return tuple(one for one in self.hosts if one.action in actions)

    @property
    def writes(self) -> tuple[ImportedHost, ...]:
        """The hosts that are stored."""
        return self.of(ImportAction.ADDED, ImportAction.CHANGED)


def import_preview(
    found: FoundInventory, entries: Iterable[HostEntry], inventory: Inventory, options: ImportOptions
) -> ImportPreview:
    """Return what an import of `found` changes. Attributes that are stated already stay unless it states others.

    A host of ~/.ssh/config gets attributes only. Raises InventoryError for an invalid option.
    """
    check_connection(options.user, options.identity_file, options.jump)
    if options.group:
        checked_group(options.group)
    known = {entry.name: entry for entry in entries}
    reached = {reached_by(entry): entry.name for entry in known.values()}
    owners = {one.instance_id: host for host, one in inventory.attributes.items() if one.instance_id and host in known}
    hosts = tuple(_imported(_completed(one, options), known, inventory, owners, options) for one in found.hosts)
    return ImportPreview(
        tuple(_with_name_note(one, each, reached) for one, each in zip(hosts, found.hosts, strict=True)),
        (*found.notes, *_gone(found, inventory, owners)),
    )


def _gone(found: FoundInventory, inventory: Inventory, owners: Mapping[str, str]) -> Iterator[str]:
    """Yield a note on the saved instances that the source, which has others of their zones, does not have."""
    ids = {one.attributes.instance_id for one in found.hosts}
    zones = {one.attributes.zone for one in found.hosts if one.attributes.instance_id and one.attributes.zone}
    gone = [host for one, host in owners.items() if one not in ids and inventory.of(host).zone in zones]
    if gone:
        remove = "Remove those that no longer exist on Hosts, or with: benchwright hosts remove NAME"
        names = listed(gone, MOST_NAMED)
        yield f"{count_text(len(gone), 'saved instance')} in these zones not in the source: {names}. {remove}"


def _with_name_note(one: ImportedHost, found: FoundHost, reached: Mapping[tuple[object, ...], str]) -> ImportedHost:
    """Return a new host with its name in the source, and a known host of the same address."""
    if one.action is not ImportAction.ADDED:
        return one
    known = reached.get(reached_by(one.entry), "")
    notes = (one.note, found.note, f"same address as {known}" if known else "")
    return replace(one, note="; ".join(filter(None, notes)))


def _completed(found: FoundHost, options: ImportOptions) -> FoundHost:
    """Return a host with the options where it states nothing."""
    entry, groups = found.entry, found.attributes.groups
    entry = replace(
        entry,
        user=entry.user or options.user,
        identity_file=entry.identity_file or options.identity_file,
        jump=entry.jump or options.jump,
    )
    groups = tuple(dict.fromkeys([*groups, *([options.group] if options.group else [])]))
    return replace(found, entry=entry, attributes=replace(found.attributes, groups=groups))


def _imported(
    found: FoundHost,
    known: Mapping[str, HostEntry],
    inventory: Inventory,
    owners: Mapping[str, str],
    options: ImportOptions,
) -> ImportedHost:
    entry, old = found.entry, known.get(found.entry.name)
    owner = owners.get(found.attributes.instance_id, entry.name)
    if found.problem or owner != entry.name:
        note = found.problem or f"the instance is saved as {owner}"
        return ImportedHost(ImportAction.SKIPPED, entry, found.attributes, note, saves=False)
    before = inventory.of(entry.name)
    attributes = _merged(before, found.attributes, replaces=options.replaces)
    changes = _changes(before, attributes)
    if old is None:
        return ImportedHost(ImportAction.ADDED, entry, attributes)
    if old.origin is Origin.SAVED and old != entry:
        if not options.replaces:
            note = f"saved as {ssh_address(old)}"
            return ImportedHost(ImportAction.SKIPPED, entry, attributes, note, saves=False, is_saved_elsewhere=True)
        return ImportedHost(ImportAction.CHANGED, entry, attributes, "; ".join([f"was {ssh_address(old)}", *changes]))
    of_config = ["its settings are those of ~/.ssh/config"] if old.origin is Origin.SSH_CONFIG else []
    action = ImportAction.CHANGED if changes else ImportAction.UNCHANGED
    return ImportedHost(action, old, attributes, "; ".join([*changes, *of_config]), saves=False)


def _merged(before: HostAttributes, stated: HostAttributes, *, replaces: bool) -> HostAttributes:
    """Return the attributes with those that are stated now in place of the earlier ones; groups are added."""
    named = {name: value for name, value in asdict(stated).items() if value not in {"", None, ()}}
    groups = stated.groups if replaces else tuple(dict.fromkeys([*before.groups, *stated.groups]))
    if stated.price is not None:
        named["currency"] = stated.currency
    return replace(before, **{**named, "groups": groups})


def _changes(before: HostAttributes, after: HostAttributes) -> Sequence[str]:
    """Return the changed attributes: ``zone eu-1a → eu-1b``."""
    old, new = asdict(before), asdict(after)
    return [
        f"{name.replace('_', ' ')} {_text(old[name])} → {_text(new[name])}" for name in old if old[name] != new[name]
    ]


def _text(value: object) -> str:
    return " ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value or "none")

"""Services on hosts: saved hosts, connections, facts, installation, and settings to restore."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from app.fleet.inventory import InventoryError
from app.hosts.hosts import ConnectReport, HostsError
from app.session_services import SessionServices
from remote.errors import ConnectError, ConnectOutcome
from suites.errors import BenchwrightError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

    from app.fleet.facts_reading import Reading
    from app.fleet.inventory import SavedInventory
    from app.fleet.inventory_import import ImportOptions, ImportPreview
    from app.fleet.inventory_sources.found import FoundInventory
    from app.host_attributes import HostAttributes
    from app.hosts.cloud_limits import SavedCloudLimits
    from app.hosts.hosts import HostEntry, Hosts
    from app.records import ChangeRecord, HostAction
    from remote.local_file import FileStamp
    from remote.questions import Asker, HostKeyQuestion
    from remote.tuning import RestoredSetting, SettingNote
    from suites.facts import CloudLimit, Facts


class HostServices(SessionServices):
    """The services that need hosts and no run. Threads, blocking and errors are as in app.services."""

    _hosts: Hosts
    """The hosts of the user, which Workstation sets."""

    _cloud_limits: SavedCloudLimits
    _removed_limits: dict[str, tuple[CloudLimit, ...]]
    """Of removed hosts, for restore_hosts()."""

    _inventory: SavedInventory
    _removed_attributes: dict[str, HostAttributes]
    """Of removed hosts, for restore_hosts()."""

    def hosts(self) -> list[HostEntry]:
        """Return this computer, the saved hosts, and the aliases of ~/.ssh/config, in this order."""
        return self._hosts.entries()

    def hosts_stamps(self) -> tuple[FileStamp | None, ...]:
        """Return what changes when a process changes the files of hosts. Included files are not watched."""
        return (*self._hosts.stamps(), self._inventory.stamp())

    def hosts_problem(self) -> str:
        """Return why the aliases of ~/.ssh/config are missing from the hosts, or an empty string."""
        return self._hosts.problem()

    def resolved_hosts(self) -> Mapping[str, str]:
        """Return where ssh connects to for each host: ``ann@192.0.2.14:2222 via bastion``."""
        return self._hosts.resolved()

    def save_hosts(self, *entries: HostEntry, instead: Sequence[str] = ()) -> list[HostEntry]:
        """Add or replace hosts, and those named in `instead`; return what was replaced. None if one is invalid."""
        replaced = self._hosts.saved.save(*entries, instead=instead)
        self._move_stated(replaced, entries)
        return replaced

    def restore_hosts(self, *before: HostEntry, after: Sequence[HostEntry] = ()) -> None:
        """Undo a change of saved hosts, which left `after`; raise HostsError if they were changed since."""
        self._hosts.saved.restore(*before, after=after)
        self._move_stated(after, before)
        for entry in before:
            if limits := self._removed_limits.pop(entry.name, ()):
                self._cloud_limits.put_back(entry.name, limits)
            if (attributes := self._removed_attributes.pop(entry.name, None)) is not None:
                self._inventory.put_back(entry.name, attributes)

    def _move_stated(self, before: Sequence[HostEntry], after: Sequence[HostEntry]) -> None:
        """Move the stated limits and attributes of a host that was renamed; a damaged file of them is left alone."""
        old, new = ({entry.name for entry in entries} for entries in (before, after))
        if len(old - new) == len(new - old) == 1:
            with suppress(HostsError):
                self._cloud_limits.move(*(old - new), *(new - old))
            with suppress(InventoryError):
                self._inventory.move(*(old - new), *(new - old))

    def remove_host(self, name: str) -> list[HostEntry]:
        """Delete a saved host and return it. Its runs stay in the library."""
        removed = self._hosts.saved.remove(name)
        with suppress(HostsError):
            self._removed_limits[name] = self._cloud_limits.forget(name)
        with suppress(InventoryError):
            self._removed_attributes[name] = self._inventory.forget(name)
        return removed

    def forget_secrets(self, name: str) -> int:
        """Delete the password and passphrases of a host, also from the system's keyring; return their number."""
        return self._hosts.forget_secrets(name)

    def unknown_host_keys(self, hosts: Sequence[str], trusted: Sequence[HostKeyQuestion] = ()) -> list[HostKeyQuestion]:
        """Return the question about each unknown host key beside those `trusted`; connects to every host."""
        from app.hosts.host_keys import unknown_host_keys

        return unknown_host_keys(hosts, self._hosts.connect, trusted)

    def test_connection(self, name: str, asker: Asker, entry: HostEntry | None = None) -> ConnectReport:
        """Connect and report the outcome; never raises for a failure to connect.

        With `entry`, use it instead of the host saved under `name`.
        """
        began = time.monotonic()
        try:
            with closing(self._hosts.connect(name, asker, entry)):
                seconds = time.monotonic() - began
                return ConnectReport(name, ConnectOutcome.CONNECTED, f"Connected to {name}.", "", seconds)
        except ConnectError as error:
            return ConnectReport(name, error.outcome, error.message, error.remedy, time.monotonic() - began)
        except BenchwrightError as error:
            return ConnectReport(name, ConnectOutcome.PROTOCOL, error.message, error.remedy, time.monotonic() - began)

    def facts(
        self,
        name: str,
        asker: Asker,
        directories: Sequence[str] = (),
        devices: Sequence[str] = (),
        *,
        watch: bool = True,
    ) -> Facts:
        """Read the facts of a host, of the `directories` for disk tests, and of raw `devices`.

        Without `watch`, background load is counted for an instant only.
        """
        from remote.devices import read_devices
        from remote.probe import read_facts

        with closing(self._hosts.connect(name, asker)) as session:
            facts = read_facts(session, tuple(directories), watch=watch)
            found = read_devices(session, devices)
        return replace(facts, devices=found, cloud_limits=self._cloud_limits.of(name))

    def facts_of_all(
        self,
        hosts: Iterable[str],
        asker: Asker,
        directories: Sequence[str] = (),
        devices: Sequence[str] = (),
        *,
        watch: bool = True,
    ) -> Generator[Reading]:
        """Read the facts of hosts at once, as facts() does; yield each host with them, or with its error."""
        from app.fleet.facts_reading import facts_of_all

        def read(name: str, relayed: Asker) -> Facts:
            return self.facts(name, relayed, directories, devices, watch=watch)

        yield from facts_of_all(hosts, read, asker)

    @property
    def cloud_limits(self) -> SavedCloudLimits:
        """The limits of instances and volumes that the user stored."""
        return self._cloud_limits

    @property
    def inventory(self) -> SavedInventory:
        """The attributes of hosts and the named groups."""
        return self._inventory

    def selected_hosts(self, words: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the hosts of each group that `words` select; raise InventoryError as selected() does."""
        from app.fleet.host_selection import selected

        return selected(words, self.hosts(), self._inventory.read())

    def preview_import(self, found: FoundInventory, options: ImportOptions) -> ImportPreview:
        """Return what an import of hosts changes; raise InventoryError and HostsError for damaged files."""
        from app.fleet.inventory_import import import_preview

        return import_preview(found, self.hosts(), self._inventory.read(), options)

    def store_import(self, preview: ImportPreview) -> None:
        """Store the hosts and attributes that an import adds and changes."""
        self._inventory.put({one.entry.name: one.attributes for one in preview.writes})
        if entries := [one.entry for one in preview.writes if one.saves]:
            self._hosts.saved.save(*entries)

    def install(self, name: str, command: str, asker: Asker, what: str = "install") -> Generator[str]:
        """Run the command that installs a tool, with the user's consent; yield its output line by line.

        Output and exit status are recorded with the purpose `what`: see host_log().
        """
        from app.hosts.packages import InstallCommand

        self.check_writable()
        with closing(self._hosts.connect(name, asker)) as session:
            yield from InstallCommand(session, asker, self._store, command, what).lines()

    def host_log(self, name: str) -> list[HostAction]:
        """Return the commands run on a host with the user's consent, newest first."""
        return self._store.actions(name)

    def pending_changes(self, name: str | None = None) -> list[ChangeRecord]:
        """Return the settings that runs changed and did not restore, of one host or all."""
        return self._store.pending_changes(name)

    def host_notes(self, name: str, asker: Asker) -> tuple[SettingNote, ...]:
        """Return the notes on a host about settings that runs changed there; needs no root."""
        from remote.tuning import notes

        with closing(self._hosts.connect(name, asker)) as session:
            return notes(session)

    def restore(self, name: str, asker: Asker) -> tuple[RestoredSetting, ...]:
        """Restore every setting that runs left changed on a host, as root; return the outcome of each."""
        from app.hosts.leftovers import restore

        self.check_writable()
        with closing(self._hosts.connect(name, asker)) as session:
            return restore(session, asker, self._store)

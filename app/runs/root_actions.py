"""Work of a run as root: apply the plan's settings, recorded before and restored after; drop page caches."""

import shlex
from collections.abc import Collection, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event as Flag

from app.events import Activity, Event, FindingRaised, HostChange, HostChanged, SettingRestored
from app.hosts.leftovers import NO_NOTE
from app.plans.plan import Plan, host_label
from app.plans.tuning import path_title, setting_title
from app.runs.control import BusyPolicy
from app.runs.findings import host_changed, host_tuned, not_tuned
from app.runs.run_hosts import RunHosts
from app.timestamps import now
from remote.devices import read_devices
from remote.privilege import PrivilegeError, RootSession, as_root
from remote.questions import Asker
from remote.session import Session
from remote.tuning import DROP_PATH, AppliedSetting, Setting, TuningError, apply, drop_caches, notes, restore_settings
from suites.errors import BenchwrightError
from suites.facts import Facts, known


@dataclass(slots=True)
class RootWork:
    """Root work of the run `run_id`; opens `hosts.roots`, only where the plan needs them."""

    run_id: str
    plan: Plan
    asker: Asker
    hosts: RunHosts
    changed: dict[str, set[str]] = field(default_factory=dict)  # paths to be restored, by host
    _applied: dict[str, Flag] = field(default_factory=dict)  # by host; set once apply() has ended there

    def open(self, host: str, purposes: list[str]) -> Iterator[Event]:
        """Open a root session on `host` for `purposes`, if any; asks for a password only if sudo needs one.

        Raises PrivilegeError if that fails, unless the plan's tuning is optional.
        """
        if not purposes:
            return
        yield Activity(f"becoming root on {host_label(host)}", host)
        try:
            become = partial(as_root, self.hosts.sessions[host], self.asker, ", ".join(purposes))
            self.hosts.roots[host] = yield from self.hosts.queue.during(become)
        except PrivilegeError as error:
            if not self.plan.tuning.optional:
                raise
            yield FindingRaised(not_tuned(host, error.message))

    def facts_as_root(self, facts: Facts) -> Generator[Event, None, Facts]:
        """Return `facts` with devices as read by root, keeping the user's own read and write permissions."""
        root = self.hosts.roots.get(facts.host)
        if root is None or not facts.devices:
            return facts
        paths = [device.path for device in facts.devices]
        seen = yield from self.hosts.queue.during(partial(read_devices, root, paths))
        both = zip(seen, facts.devices, strict=True)
        devices = [replace(all_of_it, readable=own.readable, writable=own.writable) for all_of_it, own in both]
        return replace(facts, devices=tuple(devices))

    def find_leftovers(self, host: str, facts: Facts) -> Iterator[Event]:
        """Report settings that earlier runs left changed on `host`; restore them if a root session is available,
        unless this run shares the host with another.
        """
        found = yield from self.hosts.queue.during(partial(notes, self.hosts.sessions[host]))
        others = [note for note in found if note.run != self.run_id]
        if not others:
            return
        own = self.hosts.sessions[host] if known(facts.system.user) == "root" else None
        root = self.hosts.roots.get(host, own)
        if root is None or self.hosts.control.busy is BusyPolicy.ANYWAY:
            yield FindingRaised(host_changed(host, others))
            return
        yield Activity(f"restoring settings of an earlier run on {host_label(host)}", host)
        for run in dict.fromkeys(note.run for note in others):
            yield from self._restore(host, root, run)

    def apply(self, host: str) -> Iterator[Event]:
        """Apply the plan's settings on `host`.

        Raises TuningError for a setting that cannot be changed, unless the plan's tuning is optional.
        """
        root = self.hosts.roots.get(host)
        if root is not None and self.plan.tuning.changes_hosts:
            yield Activity(f"changing settings of {host_label(host)}", host)
            yield from self._apply(host, root)

    def _apply(self, host: str, root: Session) -> Iterator[Event]:
        tuning = self.plan.tuning
        ended = self._applied[host] = Flag()

        def apply_all() -> tuple[tuple[AppliedSetting, ...], Mapping[Setting, str]]:
            try:
                return apply(root, self.run_id, tuning.settings)
            finally:
                ended.set()

        applied, failed = yield from self.hosts.queue.during(apply_all)
        changes = [HostChange(host, path_title(done.path), done.path, done.before, done.during) for done in applied]
        for change in changes:
            self.changed.setdefault(host, set()).add(change.path)
            yield HostChanged(change, now())
        yield FindingRaised(host_tuned(host, changes, drops_caches=tuning.drop_caches))
        for setting, reason in failed.items():
            what = f"{setting_title(setting)} on {host_label(host)}"
            message = f"The {what} could not be set to {setting.value}: {reason}."
            if not self.plan.tuning.optional:
                raise TuningError(message, "Remove it from the plan, or set “Continue without tuning”.", host=host)
            yield FindingRaised(not_tuned(host, message))

    def before_trial(self, host: str, trial: int) -> Iterator[Event]:
        """Drop the page cache of `host` if the plan sets it; raise TuningError if that fails and is not optional."""
        root = self.hosts.roots.get(host)
        if root is None or not self.plan.tuning.drop_caches:
            return
        yield Activity(f"dropping the page cache of {host_label(host)}", host)
        try:
            yield from self.hosts.queue.during(partial(drop_caches, root), until_over=True)
        except TuningError as error:
            if not self.plan.tuning.optional:
                raise
            yield FindingRaised(not_tuned(host, error.message), trial)
            return
        yield HostChanged(HostChange(host, "page cache dropped", DROP_PATH, None, "3", trial), now())

    def restore(self, hosts: Collection[str] | None = None) -> Generator[Event, None, list[str]]:
        """Restore the settings that this run changed, on `hosts` or all; return failures as messages."""
        problems: list[str] = []
        roots = {host: root for host, root in self.hosts.roots.items() if hosts is None or host in hosts}
        for host, root in roots.items() if self.plan.tuning.settings else ():
            try:
                if host in self._applied:  # after Stop, apply() may still run in its thread
                    yield from self.hosts.queue.during(self._applied[host].wait)
                yield from self._restore(host, root, self.run_id)
                for path in sorted(self.changed.pop(host, ())):
                    yield SettingRestored(host, path, now(), NO_NOTE)
            except BenchwrightError as error:
                problems.append(
                    f"Settings of {host_label(host)} were not restored: {error.message} "
                    f"Run: benchwright hosts restore {shlex.quote(host)}"
                )
        return problems

    def _restore(self, host: str, root: Session, run: str) -> Iterator[Event]:
        for back in (yield from self.hosts.queue.during(partial(restore_settings, root, run))):
            other_run = "" if back.run == self.run_id else back.run
            self.changed.get(host, set()).discard(back.path)
            yield SettingRestored(host, back.path, now(), back.problem, back.kept, other_run)

    def close(self) -> None:
        """Discard every password."""
        for session in self.hosts.roots.values():
            if isinstance(session, RootSession):
                session.close()

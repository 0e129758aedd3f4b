"""What a run does as root on its hosts: only what its plan asks for, noted down before, put back after."""

import shlex
from collections.abc import Collection, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event as Flag

from app.events import Activity, Event, FindingRaised, HostChange, HostChanged, HostPutBack
from app.hosts.restoring import NO_NOTE
from app.moments import now
from app.plans.plan import Plan, host_words
from app.plans.tuning import path_title, setting_title
from app.runs.control import Busy
from app.runs.root_findings import host_changed, host_tuned, not_tuned
from app.runs.run_hosts import RunHosts
from remote.devices import read_devices
from remote.privilege import PrivilegeError, RootSession, as_root
from remote.questions import Asker
from remote.session import Session
from remote.tuning import DROP_PATH, Applied, Setting, TuningError, apply, drop_caches, notes, put_back
from suites.errors import BenchwrightError
from suites.facts import Facts


@dataclass(slots=True)
class RootWork:
    """The root side of the run `run_id`: its sessions are the `roots` of `hosts`; where the plan needs none, none."""

    run_id: str
    plan: Plan
    asker: Asker
    hosts: RunHosts
    changed: dict[str, set[str]] = field(default_factory=dict)  # paths that are to be put back, by host
    _applied: dict[str, Flag] = field(default_factory=dict)  # by host; set once its settings change no more

    def open(self, host: str, purposes: list[str]) -> Iterator[Event]:
        """Become root on `host` for `purposes`, where there are any, asking for a password only if sudo needs one.

        Raises PrivilegeError where that is not possible, unless the plan says to go on without.
        """
        if not purposes:
            return
        yield Activity(f"becoming root on {host_words(host)}", host)
        try:
            become = partial(as_root, self.hosts.sessions[host], self.asker, ", ".join(purposes))
            self.hosts.roots[host] = yield from self.hosts.mailbox.during(become)
        except PrivilegeError as error:
            if not self.plan.tuning.optional:
                raise
            yield FindingRaised(not_tuned(host, error.message))

    def seen(self, facts: Facts) -> Generator[Event, None, Facts]:
        """Return `facts` with what root sees of the devices that are to be used; what the user may do there stays."""
        root = self.hosts.roots.get(facts.host)
        if root is None or not facts.devices:
            return facts
        paths = [device.path for device in facts.devices]
        seen = yield from self.hosts.mailbox.during(partial(read_devices, root, paths))
        both = zip(seen, facts.devices, strict=True)
        devices = [replace(all_of_it, readable=own.readable, writable=own.writable) for all_of_it, own in both]
        return replace(facts, devices=tuple(devices))

    def find_leftovers(self, host: str) -> Iterator[Event]:
        """Tell what earlier runs left changed on `host`; with root, put it back, unless somebody measures there."""
        found = yield from self.hosts.mailbox.during(partial(notes, self.hosts.sessions[host]))
        others = [note for note in found if note.run != self.run_id]
        if not others:
            return
        root = self.hosts.roots.get(host)
        if root is None or self.hosts.control.busy is Busy.ANYWAY:
            yield FindingRaised(host_changed(host, others))
            return
        yield Activity(f"putting back what an earlier run changed on {host_words(host)}", host)
        for run in dict.fromkeys(note.run for note in others):
            yield from self._put_back(host, root, run)

    def apply(self, host: str) -> Iterator[Event]:
        """Change the settings that the plan asks for on `host`.

        Raises TuningError naming what cannot be changed, unless the plan says to go on without.
        """
        root = self.hosts.roots.get(host)
        if root is not None and self.plan.tuning.changes_hosts:
            yield Activity(f"changing settings of {host_words(host)}", host)
            yield from self._apply(host, root)

    def _apply(self, host: str, root: Session) -> Iterator[Event]:
        tuning = self.plan.tuning
        ended = self._applied[host] = Flag()

        def apply_all() -> tuple[tuple[Applied, ...], Mapping[Setting, str]]:
            try:
                return apply(root, self.run_id, tuning.settings)
            finally:
                ended.set()

        applied, failed = yield from self.hosts.mailbox.during(apply_all)
        changes = [HostChange(host, path_title(done.path), done.path, done.before, done.during) for done in applied]
        for change in changes:
            self.changed.setdefault(host, set()).add(change.path)
            yield HostChanged(change, now())
        yield FindingRaised(host_tuned(host, changes, drops_caches=tuning.drop_caches))
        for setting, reason in failed.items():
            message = f"The {setting_title(setting)} on {host} could not be set to {setting.value}: {reason}."
            if not self.plan.tuning.optional:
                raise TuningError(message, "Take it out of the plan, or say there to go on without.", host=host)
            yield FindingRaised(not_tuned(host, message))

    def before_trial(self, host: str, trial: int) -> Iterator[Event]:
        """Drop the page cache of `host`, where the plan asks for it; raise TuningError where that is refused."""
        root = self.hosts.roots.get(host)
        if root is None or not self.plan.tuning.drop_caches:
            return
        yield Activity(f"dropping the page cache of {host_words(host)}", host)
        try:
            yield from self.hosts.mailbox.during(partial(drop_caches, root), until_over=True)
        except TuningError as error:
            if not self.plan.tuning.optional:
                raise
            yield FindingRaised(not_tuned(host, error.message), trial)
            return
        yield HostChanged(HostChange(host, "page cache dropped", DROP_PATH, None, "3", trial), now())

    def put_back(self, hosts: Collection[str] | None = None) -> Generator[Event, None, list[str]]:
        """Put back whatever this run changed, on `hosts` or all; return in words what could not be."""
        problems: list[str] = []
        roots = {host: root for host, root in self.hosts.roots.items() if hosts is None or host in hosts}
        for host, root in roots.items() if self.plan.tuning.settings else ():
            try:
                if host in self._applied:  # at Stop, what changes them is left to itself
                    yield from self.hosts.mailbox.during(self._applied[host].wait)
                yield from self._put_back(host, root, self.run_id)
                for path in sorted(self.changed.pop(host, ())):
                    yield HostPutBack(host, path, now(), NO_NOTE)
            except BenchwrightError as error:
                problems.append(
                    f"The settings of {host} were not put back: {error.message} "
                    f"Do it with: benchwright hosts restore {shlex.quote(host)}"
                )
        return problems

    def _put_back(self, host: str, root: Session, run: str) -> Iterator[Event]:
        for back in (yield from self.hosts.mailbox.during(partial(put_back, root, run))):
            whose = "" if back.run == self.run_id else back.run
            self.changed.get(host, set()).discard(back.path)
            yield HostPutBack(host, back.path, now(), back.problem, back.kept, whose)

    def close(self) -> None:
        """Forget every password."""
        for session in self.hosts.roots.values():
            if isinstance(session, RootSession):
                session.close()

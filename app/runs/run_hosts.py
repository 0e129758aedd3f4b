"""Hosts of a run: a reconnecting session, a lease and telemetry for each."""

import contextlib
import logging
import shlex
import statistics
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from app.events import Activity, Event, FindingRaised, LinkChanged
from app.plans.plan import host_label
from app.runs.control import DISCONNECT_TIME, BusyPolicy, Control, EndingTimeError
from app.runs.event_queue import TICK, EventQueue
from app.runs.findings import connection_lost, holder_text, holders_text, host_in_use, no_lease
from app.runs.phase import RunPhase
from remote.connection_state import PATIENCE, Link, LinkState, ReconnectPolicy
from remote.errors import ConnectError, ConnectOutcome
from remote.jobs.job import RemoteJob, Workspace
from remote.jobs.lease import FRESH, Claim, claim, live_holder, mark_unwatched, others, release, withdraw
from remote.privilege import PrivilegeError
from remote.reconnect import ReconnectingSession
from remote.script import new_mark
from remote.session import Session
from remote.telemetry.telemetry import Telemetry
from suites.errors import BenchwrightError

log = logging.getLogger(__name__)

RETRY_INTERVAL = 5.0
"""Seconds between checks whether a host in use is free."""

AWAY_AFTER = 15.0
"""Seconds without a connection after which trials on other hosts no longer wait; most connections are back by then."""


Admit = Callable[[str, str], str]
"""Return which run of this queue uses the machine of a host with a boot id; empty if none does."""


@dataclass(slots=True)
class _Lease:
    """Lease on a host: `nonce` names it, `path` is None while there is none.

    `connection` is the number of the connection over which it was last verified; `reported` whether its finding was
    raised, `in_use` whether that of another run was.
    """

    nonce: str = field(default_factory=new_mark)
    path: str | None = None
    architecture: str = ""
    connection: int = 0
    reported: bool = False
    in_use: bool = False


class Leases:
    """Leases of the run `run_id` on its hosts."""

    def __init__(
        self,
        run_id: str,
        queue: EventQueue,
        control: Control,
        sessions: Mapping[str, ReconnectingSession],
        admit: Admit = lambda _host, _boot: "",
    ) -> None:
        self._run_id, self._queue, self._control, self._sessions = run_id, queue, control, sessions
        self._admit = admit
        self._leases: dict[str, _Lease] = {}
        self._not_removed: dict[str, str] = {}  # messages by host

    def path(self, host: str) -> str:
        """Return the path of the lease on `host`, empty if there is none."""
        return self._leases[host].path or "" if host in self._leases else ""

    def architecture(self, host: str) -> str:
        """Return the architecture of `host`, empty if it was not reported with a lease."""
        return self._leases[host].architecture if host in self._leases else ""

    def not_removed(self) -> list[str]:
        """Return messages about the leases that could not be removed."""
        return list(dict(self._not_removed).values())

    def claim(self, host: str) -> Generator[Event, None, str]:
        """Claim `host`; return why it cannot be measured, empty if it can.

        Another run's lease is refused, waited for, or reported and ignored, by `control.busy`. A host already claimed
        is claimed again only over a new connection.
        """
        session = self._sessions[host]
        lease = self._leases.setdefault(host, _Lease())
        reported = ""
        while lease.connection != session.connections and not self._control.over:
            anyway = self._control.busy is BusyPolicy.ANYWAY
            connection = session.connections
            claimed, in_use = yield from self._queue.during(partial(self._look, host, session, lease, anyway=anyway))
            if anyway or not in_use:
                lease.path, lease.connection = None, connection
                if claimed.lease is not None:
                    lease.path, lease.architecture = claimed.lease.path, claimed.lease.architecture
                yield from self._findings(host, lease, in_use)
                return ""
            if self._control.busy is BusyPolicy.REFUSE:
                return in_use
            if in_use != reported:
                reported = in_use
                yield Activity(f"waiting: {in_use}", host, waits_for=in_use)
            yield from self._queue.pause(RETRY_INTERVAL)
        return ""

    def _look(self, host: str, session: Session, lease: _Lease, *, anyway: bool) -> tuple[Claim, str]:
        """Claim `host`; return the claim, and what else measures there or on the same machine, empty for none."""
        claimed = claim(session, self._run_id, nonce=lease.nonce, anyway=anyway)
        by_queue = self._admit(host, claimed.boot)
        return claimed, holders_text(claimed, host) if claimed.blocked else by_queue

    def _findings(self, host: str, lease: _Lease, in_use: str) -> Iterator[Event]:
        if lease.path is None and not lease.reported:
            lease.reported = True
            yield FindingRaised(no_lease(host))
        if in_use:
            lease.in_use = True
            yield FindingRaised(host_in_use(host, in_use))

    def look(self, host: str) -> Iterator[Event]:
        """Report another run that has begun to measure `host` since it was claimed, once."""
        lease = self._leases.get(host)
        if lease is None or lease.path is None or lease.in_use:
            return
        with contextlib.suppress(BenchwrightError):
            look = partial(others, self._sessions[host], self._run_id, lease.nonce)
            holders = yield from self._queue.during(look)
            if holders:
                lease.in_use = True
                yield FindingRaised(host_in_use(host, holder_text(holders[0], host)))

    def other_lease_holder(self, host: str) -> Generator[Event, None, str]:
        """Return the text of another live process that keeps a lease of this run on `host`; empty if there is none.

        It is refused, waited for or ignored, by `control.busy`.
        """
        reported = ""
        own = {lease.nonce for lease in self._leases.values()}  # two host names may be one machine
        look = partial(live_holder, self._sessions[host], self._run_id, own)
        while self._control.busy is not BusyPolicy.ANYWAY:
            holder = yield from self._queue.during(look)
            if holder is None:
                return ""
            if self._control.busy is BusyPolicy.REFUSE or self._control.over:
                return holder_text(holder, host)
            if not reported:
                reported = holder_text(holder, host)
                yield Activity(f"waiting: {reported}", host, waits_for=reported)
            yield from self._queue.pause(RETRY_INTERVAL)
        return ""

    def end(self, host: str, end: Callable[[Session, str], None]) -> None:
        """Call `end` for the lease on `host`; a failure is reported by not_removed()."""
        lease, session = self._leases.pop(host, None), self._sessions.get(host)
        if lease is None:
            return
        if lease.path is not None:
            self._not_removed[host] = _not_removed_text(host)
        try:
            if session is not None:
                end(session, lease.nonce)
            self._not_removed.pop(host, None)
        except BenchwrightError as error:
            log.info("the lease on %s was not removed: %s", host, error)


class HostTelemetry:
    """Telemetry of a run's hosts. Errors are ignored: a run without telemetry is valid."""

    def __init__(self, queue: EventQueue, sessions: Mapping[str, Session], leases: Leases, interval: float) -> None:
        """`interval` is in seconds."""
        self._queue, self._sessions, self._leases, self._interval = queue, sessions, leases, interval
        self._running: dict[str, Telemetry] = {}
        self._costs: dict[str, list[float]] = {}  # of stopped telemetry, by host (share of one core)
        self._loops: dict[str, tuple[str, ...]] = {}
        self.programs: dict[str, str] = {}
        """By host: the SHA-256 of the telemetry's program, or ``script``; of the latest start that printed anything."""
        self.closing = False  # no more samples are reported
        self.last_sample: dict[str, float] = {}
        """Time of the last sample by host, on the host's monotonic clock (seconds)."""

    def start(self, host: str) -> Iterator[Event]:
        """Start the telemetry of `host`."""
        with contextlib.suppress(BenchwrightError):
            loops = self._loops.get(host, ())
            lease, architecture = self._leases.path(host), self._leases.architecture(host)
            start = partial(Telemetry.start, self._sessions[host], self._interval, lease, loops)
            started = yield from self._queue.during(partial(start, architecture=architecture))
            self._running[host] = started
            self._queue.watch(host, started, lambda: self.closing or self._running.get(host) is not started)

    def watch_loops(self, host: str, loops: tuple[str, ...]) -> Iterator[Event]:
        """Add the loop devices `loops` of `host`, known once its facts are read; restarts the telemetry."""
        if loops != self._loops.get(host, ()):
            self._loops[host] = loops
            if host in self._running:
                yield from self.switch(host, on=False)
                yield from self.switch(host, on=True)

    def covers(self, host: str, clock: float) -> bool:
        """Return whether samples of `host` reach `clock` (its monotonic clock), or no more will come."""
        return self.closing or host not in self._running or self.last_sample.get(host, 0.0) >= clock

    def switch(self, host: str, *, on: bool) -> Iterator[Event]:
        """Pause or resume the telemetry of `host`."""
        if on and host in self._costs and host not in self._running:
            yield from self.start(host)
        elif not on and host in self._running:
            self.stop(host)

    def stop(self, host: str) -> None:
        """Stop the telemetry of `host`."""
        stopped = self._running.pop(host, None)
        if stopped is not None:
            self._costs.setdefault(host, []).extend([] if stopped.cost is None else [stopped.cost])
            self.programs |= {} if stopped.instrument is None else {host: stopped.instrument}
            with contextlib.suppress(BenchwrightError):  # a lost host is reported by its link
                stopped.stop()

    def costs(self) -> Mapping[str, float]:
        """Return the share of one core that telemetry used, by host, where measured."""
        return {host: statistics.fmean(costs) for host, costs in self._costs.items() if costs}


@dataclass(frozen=True, slots=True)
class _Loss:
    """A lost connection: the time it was lost, and the time of the last data with the reported detail."""

    since: float  # monotonic seconds
    last_received: float | None = None  # monotonic seconds
    detail: str = ""


class RunHosts:
    """Sessions, leases and telemetry of the hosts of the run `run_id`; `connect` opens a session."""

    def __init__(
        self,
        run_id: str,
        connect: Callable[[str], Session],
        queue: EventQueue,
        control: Control,
        phase: RunPhase | None = None,
        *,
        interval: float = 1.0,
        patience: ReconnectPolicy = PATIENCE,
        admit: Admit = lambda _host, _boot: "",
    ) -> None:
        self.run_id, self.queue, self.control, self.phase = run_id, queue, control, phase or RunPhase()
        self.sessions: dict[str, ReconnectingSession] = {}
        self.roots: dict[str, Session] = {}  # root sessions, where the plan needs them
        self.leases = Leases(run_id, queue, control, self.sessions, admit)
        self.telemetry = HostTelemetry(queue, self.sessions, self.leases, interval)
        self._connect, self._patience = connect, patience
        self.link_changes = 0  # of all hosts so far
        self._losses: dict[str, _Loss] = {}  # hosts without a connection
        self._occupied: dict[str, str] = {}  # hosts where a command of the run may still run, with the message
        self._closing = False
        self._registering = threading.Lock()

    def open(self, host: str) -> Iterator[Event]:
        """Connect to `host`; raise ConnectError if that fails."""
        try:
            yield from self.queue.during(partial(self._open, host), lasting=False)
        except EndingTimeError as error:
            raise ConnectError(
                ConnectOutcome.TIMED_OUT, f"{host_label(host)} is not connected: {error.message}", host=host
            ) from error

    def _open(self, host: str) -> None:
        session = ReconnectingSession(
            lambda: self._connect(host),
            report=lambda link: self._note_link(host, link),
            over=lambda: self._closing or self.control.over,
            patience=self._patience,
            waited_since=lambda: self.phase.waiting_since,
        )
        with self._registering:
            if not self._closing:
                self.sessions[host] = session
                return
        session.close()  # the run ended meanwhile

    def is_lost(self, host: str) -> bool:
        """Return whether the connection to `host` is lost."""
        return host in self._losses

    def any_lost(self) -> bool:
        """Return whether the connection to any host is lost."""
        return bool(self._losses)

    def is_away(self, host: str) -> bool:
        """Return whether the connection to `host` has been lost for more than AWAY_AFTER."""
        loss = self._losses.get(host)
        return loss is not None and time.monotonic() - loss.since > AWAY_AFTER

    def _note_link(self, host: str, link: Link) -> None:
        """Report a change of the link; called on any thread."""
        self.link_changes += 1
        loss = self._losses.get(host)
        if link.state in {LinkState.LOST, LinkState.RECONNECTING}:
            known = loss or _Loss(time.monotonic())
            if link.state is LinkState.LOST and known.last_received is None and not self._closing:
                known = replace(known, last_received=link.since, detail=link.detail)
            self._losses[host] = known
        else:
            self._losses.pop(host, None)
        if self._closing:
            return
        self.queue.put(LinkChanged(host, link.state, link.since, link.attempt, link.detail, link.restarted))
        back = link.state is LinkState.BACK and not link.restarted  # after a restart, nothing of the test continued
        if back and loss is not None and loss.last_received is not None:
            self.queue.put(FindingRaised(connection_lost(host, time.monotonic() - loss.last_received, loss.detail)))

    def session(self, host: str, *, root: bool) -> Session:
        """Return the session on `host`, or its root session; raise PrivilegeError if there is none."""
        if not root:
            return self.sessions[host]
        if host not in self.roots:
            raise PrivilegeError(
                f"This command needs root on {host_label(host)}, and no root session is open.",
                "Sign in as root, or allow the account to use sudo.",
                host=host,
            )
        return self.roots[host]

    def unfit(self, host: str) -> Generator[Event, None, str]:
        """Return why no further trial can run on `host`, empty if one can."""
        session = self.sessions[host]
        if session.restarted:
            return f"{host_label(host)} restarted {session.restarted}: its remaining trials were not run."
        if host in self._occupied:
            return f"{self._occupied[host]}: the remaining trials on {host_label(host)} were not run."
        in_use = yield from self.leases.claim(host)
        return f"{in_use}: the remaining trials on {host_label(host)} were not run." if in_use else ""

    def check_remaining(self, host: str, workspace: Workspace) -> Iterator[Event]:
        """Check whether a command still runs in a directory that could not be removed; unfit() then reports it."""
        session = self.roots.get(host, self.sessions[host])
        try:
            running = yield from self.queue.during(partial(RemoteJob.under_way, session, workspace))
        except BenchwrightError as error:
            self._occupied[host] = f"A command of this run may still run on {host_label(host)} ({error.message})"
        else:
            if running:
                self._occupied[host] = f"A command of this run still runs on {host_label(host)}"

    # The end

    def withdraw(self, host: str) -> Iterator[Event]:
        """Disconnect from `host`, on which nothing of the run remains; end its lease and telemetry."""
        with contextlib.suppress(EndingTimeError):
            yield from self.queue.during(partial(self._disconnect, host, withdraw))
        root = self.roots.pop(host, None)
        if root is not None:
            root.close()  # discards its password
        self.sessions.pop(host, None)

    def _disconnect(self, host: str, end: Callable[[Session, str], None]) -> None:
        """Stop the telemetry of `host`, call `end` for its lease and close its session."""
        self.telemetry.stop(host)
        self.leases.end(host, end)
        if host in self.sessions:
            self.sessions[host].close()

    def stop_reconnecting(self) -> None:
        """Stop reconnecting to lost hosts and reporting telemetry: the run ends."""
        with self._registering:
            self._closing = self.telemetry.closing = True

    def close(self, *, keep: bool, refused: bool = False) -> tuple[Mapping[str, float], list[str]]:
        """Disconnect from every host; return the cost of telemetry by host (share of one core) and messages about
        leases that could not be removed.

        `keep` leaves the leases to commands that still run there. `refused` removes only the leases of this process:
        others may belong to the process that continues the run.
        """
        self.stop_reconnecting()
        end = withdraw if refused else mark_unwatched if keep else self._release
        # In daemon threads: a host that hangs delays neither the others nor the exit of the program.
        disconnecting = [
            threading.Thread(target=self._disconnect, args=(host, end), name=f"disconnect {host}", daemon=True)
            for host in list(self.sessions)
        ]
        for thread in disconnecting:
            thread.start()
        while any(thread.is_alive() for thread in disconnecting) and self.control.remaining(DISCONNECT_TIME):
            next((thread for thread in disconnecting if thread.is_alive()), disconnecting[0]).join(TICK)
        self.queue.join(min(5.0, self.control.remaining(DISCONNECT_TIME)))
        return self.telemetry.costs(), [] if keep else self.leases.not_removed()

    def _release(self, session: Session, _nonce: str) -> None:
        release(session, self.run_id)


def _not_removed_text(host: str) -> str:
    return (
        f"Lease on {host_label(host)} not removed: it blocks other runs until {FRESH:.0f} s after the "
        "host ends the connection and the commands of this run. "
        f"Run: benchwright hosts leftovers {shlex.quote(host)} --remove"
    )

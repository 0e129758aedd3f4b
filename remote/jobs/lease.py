"""Leases on a host: files that show every Benchwright who is measuring there."""

import getpass
import re
import socket
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from remote.script import new_mark, query_script
from remote.session import Session

SCRIPT = "lease.sh"

FRESH = 15.0
"""Seconds after its last touch for which a lease counts; telemetry touches it every second."""

ESTABLISHED = 5.0
"""Seconds after which a claim is final: it is no longer withdrawn for another."""

PATIENCE = 2 * ESTABLISHED
"""Seconds for which two simultaneous claims are resolved."""

WATCH_SECONDS = 3.5
"""Seconds to wait for a touch of a lease: the telemetry of a watching Benchwright touches it every second."""

PAUSE = 0.3
"""Seconds between two reads of the leases."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease of this Benchwright. `path` is its directory on the host, whose `architecture` is that of `uname -m`."""

    path: str
    nonce: str
    architecture: str = ""


@dataclass(frozen=True, slots=True)
class Holder:
    """Holder of a lease. `account` is reported by the host; `run` and `workstation` were written by the holder.

    `age` and `silent` are the seconds since its start and its last touch. `working`: its command runs, so that the
    lease counts regardless of `silent`. `settled`: it is not withdrawn for a simultaneous claim. Unknown values are
    empty or None.
    """

    nonce: str
    account: str
    run: str
    workstation: str
    age: float | None
    silent: float
    working: bool
    settled: bool = False
    touched: float = 0.0  # the last touch, host's wall clock

    @property
    def counts(self) -> bool:
        """Whether the lease is in force."""
        return self.working or abs(self.silent) <= FRESH


@dataclass(frozen=True, slots=True)
class Claim:
    """Result of a claim: a lease, or the holders of the host; both if it was claimed `anyway`.

    Neither means that no lease can be created on the host. `unread`: not all leases could be read in time, so there may
    be other holders. `boot` is the boot id of the host's kernel, empty if unknown.
    """

    lease: Lease | None
    holders: tuple[Holder, ...]
    unread: bool = False
    boot: str = field(default="", compare=False)

    @property
    def blocked(self) -> bool:
        """Whether another run measures on the host, or may."""
        return bool(self.holders) or self.unread


def claim(session: Session, run: str, *, nonce: str = "", anyway: bool = False) -> Claim:
    """Claim the session's host for `run`. Of simultaneous claims one succeeds: that with the smallest nonce.

    `nonce` is that of an earlier claim, to renew it. `anyway` keeps the claim although the host has holders. Leases of
    the same run do not conflict.
    """
    nonce = nonce or new_mark()
    reply = query_script(session, SCRIPT, "claim", nonce, run, workstation_name())
    holders = _holders(reply, run)
    path = reply.get("taken")
    lease = None if path is None else Lease(path, nonce, reply.get("architecture", ""))
    unread, boot = "cut" in reply or (lease is not None and "now" not in reply), reply.get("boot", "")
    if lease is None or anyway:
        return Claim(lease, holders, unread, boot)
    deadline = time.monotonic() + PATIENCE
    while holders and time.monotonic() < deadline:
        if any(holder.nonce < nonce or holder.settled or (holder.age or 0.0) > ESTABLISHED for holder in holders):
            break
        # All others have greater nonces and withdraw when they see this claim.
        time.sleep(PAUSE)
        reply = query_script(session, SCRIPT, "look", nonce)
        holders, unread = _holders(reply, run), "cut" in reply or "now" not in reply
    if not holders and not unread:
        query_script(session, SCRIPT, "settle", nonce)
        return Claim(lease, (), boot=boot)
    withdraw(session, nonce)
    return Claim(None, holders, unread, boot)


def others(session: Session, run: str, nonce: str) -> tuple[Holder, ...]:
    """Return who else measures the session's host now, under leases in force of other runs than `run`."""
    return _holders(query_script(session, SCRIPT, "look", nonce), run)


def live_holder(session: Session, run: str, own: Collection[str]) -> Holder | None:
    """Return the holder of a lease of `run`, other than the `own` nonces, that a Benchwright keeps alive; else None.

    A lease that only a job keeps is not touched: a touch within WATCH_SECONDS proves that a Benchwright watches the
    host. Leases of other accounts are ignored.
    """
    first = _run_leases(session, run, own)
    if not any(holder.counts for holder in first.values()):
        return None
    deadline = time.monotonic() + WATCH_SECONDS
    while time.monotonic() < deadline:
        time.sleep(PAUSE)
        for holder in _run_leases(session, run, own).values():
            if holder.nonce in first and holder.touched > first[holder.nonce].touched:
                return holder
    return None


def _run_leases(session: Session, run: str, own: Collection[str]) -> dict[str, Holder]:
    reply = query_script(session, SCRIPT, "kept", new_mark(), run)
    return {holder.nonce: holder for holder in _parse_leases(reply) if holder.nonce not in own}


def account_leases(session: Session) -> tuple[tuple[str, Holder], ...]:
    """Return all leases of this account on the session's host, also expired ones, with their paths."""
    reply = query_script(session, SCRIPT, "own", new_mark())
    paths = {path.rpartition("-")[2]: path for key, path in reply.items() if re.fullmatch(r"path\d{1,3}", key)}
    return tuple((paths[holder.nonce], holder) for holder in _parse_leases(reply) if holder.nonce in paths)


def mark_unwatched(session: Session, nonce: str) -> None:
    """Record that no Benchwright watches the host under this lease; a job may keep it."""
    query_script(session, SCRIPT, "leave", nonce)


def withdraw(session: Session, nonce: str) -> None:
    """Remove this lease."""
    query_script(session, SCRIPT, "withdraw", nonce)


def release(session: Session, run: str) -> None:
    """Remove all leases of `run` on the session's host."""
    query_script(session, SCRIPT, "release", new_mark(), run)


def sweep(session: Session) -> None:
    """Remove this account's leases of aborted runs."""
    query_script(session, SCRIPT, "sweep", new_mark())


def workstation_name() -> str:
    """Return the name of this computer and its user in a lease."""
    return re.sub(r"[^A-Za-z0-9._@-]", "-", f"{getpass.getuser()}@{socket.gethostname()}")[:64]


_LINE = re.compile(r"([0-9a-f]{16}) ([^ ]{1,64}) (\d{1,12}) ([01]) (.{0,2000})")
_NAME = re.compile(r"(run|from|since|settled)=([A-Za-z0-9._@-]{1,64})")


def _holders(reply: Mapping[str, str], run: str) -> tuple[Holder, ...]:
    """Return the holders of leases in force, except those of `run`."""
    return tuple(holder for holder in _parse_leases(reply) if holder.counts and holder.run != run)


def _parse_leases(reply: Mapping[str, str]) -> list[Holder]:
    """Return every lease in `reply`. Lease files of other users may contain anything."""
    now = reply.get("now", "")
    if not re.fullmatch(r"\d{1,12}", now):
        return []
    lines = [value for key, value in reply.items() if re.fullmatch(r"lease\d{1,3}", key)]
    return [holder for line in lines for holder in _holder(line, int(now))]


def _holder(line: str, now: int) -> Iterator[Holder]:
    match = _LINE.fullmatch(line)
    if match is None:
        return
    nonce, account, touched, working, names = match.groups()
    fields = dict(reversed([pair for name in names.split(" ") for pair in _NAME.findall(name)]))
    since = fields.get("since", "")
    yield Holder(
        nonce=nonce,
        account=account,
        run=fields.get("run", ""),
        workstation=fields.get("from", ""),
        age=float(now - int(since)) if since.isdecimal() and len(since) <= 12 else None,
        silent=float(now - int(touched)),
        working=working == "1",
        settled="settled" in fields,
        touched=float(touched),
    )

"""The machines of a plan, known by address and boot id rather than by the spelling of a host."""

import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.plans.plan import LOCAL, Plan
from suites.errors import BenchwrightError

if TYPE_CHECKING:
    from remote.ssh.target import SshTarget

BOOT = "boot:"
"""Prefix of a key that is a boot id. Two kernels never share one; containers of one kernel do.

Not the machine id (machine-id(5)): clones of one disk image often share it.
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine behind the host `name`. Two machines are one if they share a key: an address or a boot id."""

    name: str
    keys: frozenset[str]

    def known(self, boots: Mapping[str, str]) -> "Machine":
        """Return it with the boot ids that `boots` has for its addresses."""
        return Machine(self.name, self.keys | {BOOT + boots[key] for key in self.keys if key in boots})


def hosts_of(plan: Plan) -> tuple[str, ...]:
    """Return every host that a run of `plan` occupies: its hosts, and the peers of its network tests."""
    return tuple(dict.fromkeys([*plan.hosts, *(step.peer for step in plan.steps if step.peer is not None)]))


def machines_of(plan: Plan, target: Callable[[str], "SshTarget"]) -> tuple[Machine, ...]:
    """Return the machines that a run of `plan` occupies; `target` resolves a host. May look up names.

    A network test occupies both of its ends, so that two tests over one link, or with one peer, wait for each other.
    """
    return tuple(Machine(host, frozenset(_keys(host, target))) for host in hosts_of(plan))


def _keys(host: str, target: Callable[[str], "SshTarget"]) -> Iterable[str]:
    if host == LOCAL:
        return {BOOT + Path("/proc/sys/kernel/random/boot_id").read_text().strip()}
    try:
        found = target(host)
    except BenchwrightError:  # connecting will report why
        return {f"name:{host}"}
    via = " ".join(f"{hop.host_name}:{hop.port}" for hop in found.jumps)
    via = via if found.proxy is None else f"{via} {found.proxy.command}".strip()
    names = {found.host_name.lower()}
    if not via:  # a private address behind one jump host is not that behind another
        with suppress(OSError, UnicodeError):
            names |= {str(found[4][0]) for found in socket.getaddrinfo(found.host_name, found.port)}
    return {f"{name}:{found.port}{f' via {via}' if via else ''}" for name in names}

"""The context of a step: facts of its host and of its peer."""

from collections.abc import Mapping

from app.plans.plan import LOCAL, Plan, Step
from suites.base import Context, Suite, own_directories
from suites.disk import LOOP, lowest_device
from suites.facts import Directory, Facts, known
from suites.parameters import Values

LOOPBACK = "127.0.0.1"

ON_EVERY_HOST = "/tmp"  # noqa: S108 (the private directory made in it has mode 0700)
"""Parent of the private directory on a host without a known writable directory."""

ROOM = 32 * 2**20
"""Bytes that a directory without a test's own files should have free: the output of its tool, and probes."""


def step_context(
    step: Step, host: str, facts: Mapping[str, Facts], addresses: Mapping[str, str] | None = None
) -> Context:
    """Return the context of `step` on `host`. `addresses` are those at which this computer reaches each host."""
    own = facts.get(host)
    if step.peer is None:
        return Context(own)
    return Context(own, facts.get(step.peer), _peer_address(step.peer, host, own, addresses or {}))


def _peer_address(peer: str, host: str, own: Facts | None, addresses: Mapping[str, str]) -> str | None:
    if peer == host:
        return LOOPBACK
    if peer != LOCAL:
        return addresses.get(peer)
    # The host sees this computer at the address that its SSH connection comes from.
    return None if own is None else known(own.system.workstation_address)


def loops_below(plan: Plan, host: str, facts: Facts) -> tuple[str, ...]:
    """Return the loop devices of `host` that the steps of `plan` read or write."""
    steps = plan.steps_on(host) if host in plan.hosts else ()
    found = (lowest_device(step.suite, part, facts) for step in steps for part in step.suite.volumes(step.values))
    return tuple(dict.fromkeys(name for name in found if name is not None and name.startswith(LOOP)))


def work_directory(suite: Suite, values: Values, facts: Facts | None) -> str:
    """Return the parent of a step's private directory on a host with these facts."""
    chosen = () if suite.device(values) else own_directories(suite, values)
    return (chosen[0] if chosen else "") or writable_directory(facts)


def writable_directory(facts: Facts | None) -> str:
    """Return the first writable directory of a host with these facts, else ON_EVERY_HOST.

    Full directories come later, and those in which other accounts may replace files last: nothing runs there.
    """
    writable = [found for found in (() if facts is None else facts.directories) if found.writable is True]
    best = min(writable, key=lambda found: (found.unsafe, _is_full(found)), default=None)
    return ON_EVERY_HOST if best is None else best.path


def _is_full(found: Directory) -> bool:
    free = known(found.free)
    return free is not None and free < ROOM

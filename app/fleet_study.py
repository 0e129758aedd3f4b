"""Fleet studies: one plan measured on every host of some groups, in sessions; its host-runs and their states.

A host-run is one run of the plan on one host, or of its network tests between two. Times are UTC, ISO 8601.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import chain, combinations, zip_longest

from app.host_attributes import HostAddress, HostAttributes
from app.plans.plan import MAXIMUM_SEED, Plan, PlanError, Step, known_headline
from suites.verdict import Trust
from suites.vocab import Labels, Metric, Severity

FORMAT = "benchwright-fleet/1"

PREFIX = "fleet:"
"""Prefix of a selector of the runs of a study: ``fleet:STUDY``, ``fleet:STUDY:GROUP``, ``fleet:STUDY@HOST``."""

STUDY_INITIAL = "f"
"""First letter of the ids of studies."""

MOST_HOSTS = 20_000
"""Most hosts of a study."""

MOST_HOST_RUNS = 500_000
"""Most host-runs of a study; a mesh of 1,000 hosts has 499,500 in a session."""

MOST_RETRIES = 100
"""Most further attempts of a host-run that could not connect."""

AT_ONCE = 16
"""Default limit of host-runs at once. Each takes a connection, some threads and about 1 % of a processor here."""


class HostOrder(StrEnum):
    """Order in which the hosts of a session start.

    INTERLEAVED: the first host of each group, then the second of each, so that groups share every moment. RANDOMISED:
    a random order in each session, from the seed. GROUPED: one group after the other.
    """

    INTERLEAVED = "interleaved"
    RANDOMISED = "randomised"
    GROUPED = "grouped"


class Topology(StrEnum):
    """Which hosts the network tests connect.

    FIXED: each host with the peer of the step, one after the other. PAIRS: each host of a group with another one, in
    each session with a different one. MESH: every two hosts of a group.
    """

    FIXED = "fixed"
    PAIRS = "pairs"
    MESH = "mesh"


class HostRunState(StrEnum):
    """State of a host-run. READY: may start, and waits for a worker. FAILED: also one that was stopped alone.

    SKIPPED: by the user, with its replaced host, or with its study that was ended, also one under way that was stopped.
    """

    WAITING = "waiting"
    READY = "ready"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"

    @property
    def over(self) -> bool:
        """Whether it ended or will not run."""
        return self in {HostRunState.DONE, HostRunState.FAILED, HostRunState.SKIPPED}

    @property
    def active(self) -> bool:
        """Whether it occupies its hosts."""
        return self in {HostRunState.READY, HostRunState.RUNNING}


@dataclass(frozen=True, slots=True)
class FleetHost:
    """A host of a study, in one group. `address` is None for one that ~/.ssh/config or its name reaches."""

    name: str
    group: str
    attributes: HostAttributes = field(default_factory=HostAttributes)
    address: HostAddress | None = None


@dataclass(frozen=True, slots=True)
class FleetLimits:
    """How many host-runs may be under way at once: in all, and of each group, zone and shared storage; None: no limit.

    Two host-runs never share a host, and two network tests never share a link.
    """

    at_once: int = AT_ONCE
    per_group: int | None = None
    per_zone: int | None = None
    per_storage: int | None = 1


@dataclass(frozen=True, slots=True)
class HostRun:
    """A host-run. `number` is its place in the order of start, from 1; `due`: it does not start before.

    `epoch` increases whenever another process takes it over; only the process with the current epoch changes it. `run`
    is its latest run, `attempts` how often it was started, `worker` the process that carries it, `changed` when its
    state changed, `reason` why it failed, waits again or was skipped.
    """

    number: int
    session: int
    host: str
    group: str
    peer: str | None = None
    due: str = ""
    state: HostRunState = HostRunState.WAITING
    epoch: int = 0
    run: str = ""
    attempts: int = 0
    worker: str = ""
    changed: str = ""
    reason: str = ""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host, and the peer."""
        return (self.host,) if self.peer is None else (self.host, self.peer)

    @property
    def title(self) -> str:
        """The host, or ``web-1 – web-2``."""
        return " – ".join(self.hosts)


@dataclass(frozen=True)
class FleetPlan:
    """Groups x plan x sessions, frozen. `plan` has no hosts of its own; its repetition has the sessions.

    `seed` is that of the random order of hosts. A host-run that could not connect is tried again `retries` times.
    """

    plan: Plan
    hosts: tuple[FleetHost, ...]
    topology: Topology = Topology.FIXED
    order: HostOrder = HostOrder.INTERLEAVED
    seed: int = 0
    limits: FleetLimits = field(default_factory=FleetLimits)
    retries: int = 2

    @cached_property
    def by_name(self) -> Mapping[str, FleetHost]:
        """The hosts by name."""
        return {host.name: host for host in self.hosts}

    @cached_property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the hosts of each group."""
        found: dict[str, list[str]] = defaultdict(list)
        for host in self.hosts:
            found[host.group].append(host.name)
        return {group: tuple(names) for group, names in found.items()}

    @cached_property
    def unknown_suites(self) -> tuple[str, ...]:
        """The ids of the suites that this version does not have, in a plan stored by a newer one."""
        return tuple(dict.fromkeys(step.suite_id for step in self.plan.steps if known_headline(step) is None))

    @cached_property
    def headlines(self) -> Mapping[str, str]:
        """The names of the headline metrics by step, of the suites that this version has."""
        return {step.name: known.name for step in self.plan.steps if (known := known_headline(step)) is not None}

    @property
    def sessions(self) -> int:
        """The number of sessions."""
        return self.plan.repetition.sessions

    @cached_property
    def solo_steps(self) -> tuple[Step, ...]:
        """The steps that run on one host alone."""
        return tuple(step for step in self.plan.steps if not needs_peer(step))

    @cached_property
    def network_steps(self) -> tuple[Step, ...]:
        """The steps that run between two hosts."""
        return tuple(step for step in self.plan.steps if needs_peer(step))

    def plan_of(self, host_run: HostRun) -> Plan:
        """Return the plan of a host-run: of one host and one session."""
        chosen = self.solo_steps
        if host_run.peer is not None:
            fixed = self.topology is Topology.FIXED
            chosen = tuple(step for step in self.network_steps if not fixed or step.peer == host_run.peer)
            chosen = tuple(replace(step, peer=host_run.peer) for step in chosen)
        seed = self.plan.seed
        if seed is not None:
            seed = (seed + host_run.number) % (MAXIMUM_SEED + 1)
        return replace(
            self.plan,
            hosts=(host_run.host,),
            steps=tuple(step.on(host_run.host) for step in chosen),
            repetition=self.plan.repetition.one_session,
            seed=seed,
        )

    def host_runs(self) -> Iterator[HostRun]:
        """Yield every host-run in the order of start; `due` is empty."""
        number = 0
        for session in range(1, self.sessions + 1):
            for names in self._session(session):
                number += 1
                peer = names[1] if len(names) > 1 else None
                yield HostRun(number, session, names[0], self.by_name[names[0]].group, peer)

    def unpaired(self) -> int:
        """Return how many hosts have no partner in a session: one in each group of odd size, or the only fixed peer."""
        if not self.network_steps:
            return 0
        if self.topology is Topology.PAIRS:
            return sum(len(names) % 2 for names in self.groups.values())
        peers = {str(step.peer) for step in self.network_steps}
        return sum({host.name} == peers for host in self.hosts) if self.topology is Topology.FIXED else 0

    def _session(self, session: int) -> Sequence[tuple[str, ...]]:
        by_group = [
            [*((name,) for name in names if self.solo_steps), *self._pairs(names, session)]
            for names in self.groups.values()
        ]
        if self.order is HostOrder.INTERLEAVED:
            rounds = zip_longest(*by_group)
            return [one for one in chain.from_iterable(rounds) if one is not None]
        found = list(chain.from_iterable(by_group))
        if self.order is HostOrder.RANDOMISED:
            random.Random(self.seed * 1_000_003 + session).shuffle(found)  # noqa: S311 (an order, not a secret)
        return found

    def _pairs(self, names: Sequence[str], session: int) -> Sequence[tuple[str, ...]]:
        if not self.network_steps:
            return []
        if self.topology is Topology.FIXED:
            peers = dict.fromkeys(str(step.peer) for step in self.network_steps)
            return [(name, peer) for name in names for peer in peers if peer != name]
        return list(combinations(names, 2)) if self.topology is Topology.MESH else _tournament_round(names, session)


def _tournament_round(names: Sequence[str], number: int) -> list[tuple[str, str]]:
    """Return the pairs of round `number` of a round-robin tournament (circle method); of odd sizes one host rests."""
    seats: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    if len(seats) < 2:
        return []
    first, *rest = seats
    turned = (number - 1) % len(rest)
    seats = [first, *rest[turned:], *rest[:turned]]
    half = len(seats) // 2
    pairs = zip(seats[:half], reversed(seats[half:]), strict=True)
    return [(one, other) for one, other in pairs if one is not None and other is not None]


def needs_peer(step: Step) -> bool:
    """Return whether a step is a network test between two hosts."""
    return step.peer is not None or step.suite.needs_peer


@dataclass(frozen=True)
class FleetStudy:
    """A fleet plan as executed. `ended`: complete, or ended by the user; `paused`: nothing more starts.

    `stopped`: what is under way is stopped, too. `by_workers`: workers carry its host-runs, not the process that began
    it. `counts` are its host-runs by state. `replaced` are hosts that others have replaced; the plan has them no more.
    """

    id: str
    name: str
    plan: FleetPlan
    created: str
    ended: str | None = None
    paused: str | None = None
    stopped: str | None = None
    by_workers: bool = False
    counts: Mapping[HostRunState, int] = field(default_factory=Counter)
    replaced: tuple[FleetHost, ...] = ()

    @cached_property
    def with_replaced(self) -> FleetPlan:
        """The plan with the replaced hosts too: what they measured before counts."""
        return replace(self.plan, hosts=(*self.plan.hosts, *self.replaced))

    @property
    def total(self) -> int:
        """The number of its host-runs."""
        return sum(self.counts.values())

    @property
    def left(self) -> int:
        """The number of its host-runs that are not over."""
        return sum(count for state, count in self.counts.items() if not state.over)

    @property
    def over(self) -> bool:
        """Whether every host-run is over."""
        return not self.left


def check_fleet(plan: FleetPlan) -> FleetPlan:
    """Return `plan` if its hosts, limits and pairs are valid; raise PlanError naming the fault. See also validate()."""
    _check_hosts(plan)
    check_terms(plan)
    _check_pairs(plan)
    if (number := _number_of_host_runs(plan)) > MOST_HOST_RUNS:
        raise PlanError(f"The study has {number:,} host-runs.", f"Use fewer hosts: at most {MOST_HOST_RUNS:,}.")
    return plan


def check_terms(plan: FleetPlan) -> None:
    """Raise PlanError for a limit, a seed or a number of retries out of bounds."""
    limits = plan.limits
    for limit in (limits.at_once, limits.per_group, limits.per_zone, limits.per_storage):
        if limit is not None and limit < 1:
            raise PlanError(f"A limit of {limit} lets nothing start.", "Set 1 or more.")
    if not 0 <= plan.retries <= MOST_RETRIES:
        raise PlanError(f"The study has {plan.retries} retries.", f"Set 0 to {MOST_RETRIES}.")
    if not 0 <= plan.seed <= MAXIMUM_SEED:
        raise PlanError(f"The seed of the order is {plan.seed}.", f"Set 0 to {MAXIMUM_SEED}.")


def _check_hosts(plan: FleetPlan) -> None:
    counts = Counter(host.name for host in plan.hosts)
    if not counts:
        raise PlanError("The study has no host.", "Name groups, hosts or patterns: see benchwright inventory.")
    if len(counts) > MOST_HOSTS:
        raise PlanError(f"The study has {len(counts):,} hosts.", f"A study has at most {MOST_HOSTS:,}.")
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise PlanError(f"{twice} is in two groups of the study.", "Choose one of them.")


def _check_pairs(plan: FleetPlan) -> None:
    if plan.topology is not Topology.FIXED:
        if not plan.network_steps:
            raise PlanError(f"The plan has no network test for {plan.topology}.", "Add iperf3, for example.")
        single = next((group for group, names in plan.groups.items() if len(names) < 2), None)
        if single is not None:
            raise PlanError(f"The group {single} has one host: no pair.", "Add a host to it, or leave it out.")
    elif lonely := next((step for step in plan.network_steps if step.peer is None), None):
        raise PlanError(f"{lonely.name} needs a peer.", "Choose pairs or a mesh, or set the peer of the step.")
    elif not plan.solo_steps and plan.unpaired() == len(plan.hosts):
        peer = plan.hosts[0].name
        raise PlanError(f"{peer} is the peer of the network test, and the only host.", "Add another host.")


def _number_of_host_runs(plan: FleetPlan) -> int:
    sizes = [len(names) for names in plan.groups.values()]
    solo = sum(sizes) if plan.solo_steps else 0
    pairs = 0
    if plan.network_steps and plan.topology is Topology.FIXED:
        pairs = sum(sizes) * len({step.peer for step in plan.network_steps})
    elif plan.network_steps:
        pairs = sum(size * (size - 1) // 2 if plan.topology is Topology.MESH else size // 2 for size in sizes)
    return (solo + pairs) * plan.sessions


FigureKey = tuple[str, Metric, Labels]
"""Step, metric and labels."""


@dataclass(frozen=True, slots=True)
class RunProgress:
    """What is stored of a run so far: trials that ended well, the one under way, and what it found.

    `figures` are the values of counted trials by figure, in their order. `versions` are those of the tool by step,
    empty for a step with a trial of an unknown one. `seconds` are those of a counted trial by step. `trusts` are the
    verdicts by step; `trust` is that of the run, None before it ended. `finding` is the title of its most severe
    finding, empty without a warning.
    """

    ended: int = 0
    counted: int = 0
    step: str = ""
    trial: int = 0
    figures: Mapping[FigureKey, tuple[float, ...]] = field(default_factory=dict)
    versions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    trusts: Mapping[str, Trust] = field(default_factory=dict)
    trust: Trust | None = None
    finding: str = ""
    severity: Severity | None = None

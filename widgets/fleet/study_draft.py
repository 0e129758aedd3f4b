"""What the user enters for a fleet study, and its preview. No Qt."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.fleet.estimate import estimate_lines
from app.fleet_study import AT_ONCE, FleetHost, FleetLimits, FleetPlan, HostOrder, Topology, needs_peer
from app.plans.plan import Plan, PlanError, with_seed
from app.plans.plan_names import on_hosts
from app.plans.variation import varied
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.parameters import parse_duration
from suites.quantities import count_text

SEED_LIMIT = 2**31
"""Above the largest random seed."""

LISTED = 3
"""Hosts of a group that are named at its begin and its end."""

NO_PLAN = BenchwrightError("No plan is chosen.", "Choose one, or open a file.")


@dataclass(frozen=True, slots=True)
class StudyDraft:
    """The entries of the dialog. `words` select the hosts; a limit of 0 is none; `every` is a duration as text.

    `vary` are the parameters with several values, as varied() takes them, separated by blanks.
    """

    plan: Plan | None = None
    words: str = ""
    vary: str = ""
    sessions: int = 1
    every: str = "1 d"
    order: HostOrder = HostOrder.INTERLEAVED
    topology: Topology = Topology.FIXED
    at_once: int = AT_ONCE
    per_group: int = 0
    per_zone: int = 0
    per_storage: int = 1
    retries: int = 2
    seed: int = field(default_factory=lambda: secrets.randbelow(SEED_LIMIT))

    @property
    def has_network_test(self) -> bool:
        """Whether the plan has a test between two hosts."""
        return self.plan is not None and any(map(needs_peer, self.plan.steps))

    def fleet_plan(self, hosts: Sequence[FleetHost]) -> FleetPlan:
        """Return the plan of the study on `hosts`.

        Raises PlanError for an interval that is no duration, and what varied() raises.
        """
        if self.plan is None:
            raise NO_PLAN
        plan = on_hosts(varied(self.plan, self.vary.split()), [host.name for host in hosts])
        repetition = replace(self.plan.repetition, sessions=self.sessions)
        if self.sessions > 1:
            repetition = replace(repetition, every=_seconds(self.every))
        plan = with_seed(replace(plan, repetition=repetition))
        limits = FleetLimits(self.at_once, self.per_group or None, self.per_zone or None, self.per_storage or None)
        topology = self.topology if self.has_network_test else Topology.FIXED
        return FleetPlan(replace(plan, hosts=()), tuple(hosts), topology, self.order, self.seed, limits, self.retries)


def _seconds(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError:
        raise PlanError(f"“{text[:40]}” is not a time between sessions.", "Write 1 h, or 1 d.") from None


@dataclass(frozen=True, slots=True)
class StudyPreview:
    """Hosts and estimate of a draft, or the fault that keeps it from starting."""

    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    plan: FleetPlan | None = None
    lines: Sequence[str] = ()
    fault: BenchwrightError | None = None


def preview_of(workstation: Workstation, draft: StudyDraft) -> StudyPreview:
    """Return the preview of a draft; may block."""
    groups: Mapping[str, Sequence[str]] = {}
    try:
        hosts = workstation.fleet_hosts(draft.words.split())
        groups = by_group(hosts)
        plan = draft.fleet_plan(hosts)
        return StudyPreview(groups, plan, estimate_lines(workstation.fleet_estimate(plan)))
    except BenchwrightError as fault:
        return StudyPreview(groups, fault=fault)


def by_group(hosts: Iterable[FleetHost]) -> Mapping[str, Sequence[str]]:
    """Return the names of hosts by group."""
    groups: dict[str, list[str]] = {}
    for host in hosts:
        groups.setdefault(host.group, []).append(host.name)
    return groups


def groups_text(groups: Mapping[str, Sequence[str]]) -> str:
    """Return a line for each group: ``web: 20 hosts (web-1, web-2, web-3 … web-20)``."""
    return "\n".join(f"{group}: {count_text(len(names), 'host')} ({_names(names)})" for group, names in groups.items())


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= LISTED + 1 else f"{', '.join(names[:LISTED])} … {names[-1]}"


def plan_text(plan: Plan) -> str:
    """Return the tests of a plan in a line: ``fio randread 4k, sysbench-cpu; 6 trials each``."""
    steps = ", ".join(step.name for step in plan.steps)
    repetition = plan.repetition
    most = repetition.most
    trials = "trials as needed" if most != repetition.fewest or most is None else count_text(most, "trial")
    return f"{steps}; {trials} each"

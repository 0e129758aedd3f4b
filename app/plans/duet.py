"""Duets: two steps at once on disjoint halves of a host's CPUs, sides swapped by trial (Bulej et al. 2020)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from app.plans.plan import Order, Plan
from suites.base import Command, Purpose
from suites.facts import Absent, Core, Facts, known

PINNED = frozenset({Purpose.MEASURE, Purpose.SERVE})
"""Purposes of the commands that are pinned; preparation and clean-up use all CPUs."""


@dataclass(frozen=True, slots=True)
class Halves:
    """The CPUs of both halves, as many in each, and those that neither uses.

    `one_core`: the halves are threads of one physical core.
    """

    cpus: tuple[tuple[int, ...], tuple[int, ...]]
    unused: tuple[int, ...] = ()
    one_core: bool = False

    @property
    def text(self) -> str:
        """Both halves: ``CPUs 0-1 against 2-3``."""
        return f"CPUs {cpu_list(self.cpus[0])} against {cpu_list(self.cpus[1])}"


def cpu_list(cpus: Iterable[int]) -> str:
    """Return CPUs as a kernel list: ``0-3,8``."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1].append(cpu)
        else:
            runs.append([cpu])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def halves_of(facts: Facts) -> Halves | str:
    """Return the halves of the CPUs that the account may use, or why there are none.

    Whole NUMA nodes where their number is even; the siblings of a core stay together; each half has as many cores with
    the same number of siblings as the other. Of what cannot be divided, the rest stays unused.
    """
    layout = facts.cpu.layout
    if isinstance(layout, Absent):
        return f"CPU topology not read: {layout.reason}"
    if len(layout) == 1 and len(layout[0].cpus) > 1:
        threads = layout[0].cpus
        middle = len(threads) // 2
        return Halves((threads[:middle], threads[middle : 2 * middle]), threads[2 * middle :], one_core=True)
    if len(layout) < 2:
        return "the account may use one CPU"
    nodes = list(dict.fromkeys(core.node for core in layout))
    first = set(nodes[: len(nodes) // 2])
    by_node = [core for core in layout if core.node in first], [core for core in layout if core.node not in first]
    chosen = (None if len(nodes) % 2 else _alike(*by_node)) or _alike(*_dealt(layout)) or _single(layout)
    used = {cpu for half in chosen for cpu in half}
    return Halves(chosen, tuple(cpu for core in layout for cpu in core.cpus if cpu not in used))


def _dealt(layout: Sequence[Core]) -> tuple[list[Core], list[Core]]:
    """Return the first and the second half of the cores of each number of siblings, in their order."""
    first: list[Core] = []
    second: list[Core] = []
    for siblings in dict.fromkeys(len(core.cpus) for core in layout):
        alike = [core for core in layout if len(core.cpus) == siblings]
        first += alike[: len(alike) // 2]
        second += alike[len(alike) // 2 :]
    return first, second


def _alike(first: Sequence[Core], second: Sequence[Core]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the CPUs of as many cores of each number of siblings on both sides; None if there are none."""
    counts = [Counter(len(core.cpus) for core in side) for side in (first, second)]
    kept = counts[0] & counts[1]
    found = tuple(_taken(side, Counter(kept)) for side in (first, second))
    return (found[0], found[1]) if kept else None


def _taken(cores: Iterable[Core], left: Counter[int]) -> tuple[int, ...]:
    taken: list[int] = []
    for core in cores:
        if left[len(core.cpus)]:
            left[len(core.cpus)] -= 1
            taken += core.cpus
    return tuple(sorted(taken))


def _single(layout: Sequence[Core]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return one CPU of each core, half of the cores on each side: no two cores have as many siblings."""
    cpus, middle = [core.cpus[0] for core in layout], len(layout) // 2
    return tuple(cpus[:middle]), tuple(cpus[middle : 2 * middle])


def on_first_half(plan: Plan, step: str, number: int) -> bool:
    """Return whether `step` runs on the first half in trial `number`: the first step in odd trials, the other in even.

    A plan that was restricted to one of its steps has no place of it: see Step.second.
    """
    return plan.step(step).second == (number % 2 == 0)


def halves_of_trials(plan: Plan, step: str, numbers: Iterable[int]) -> tuple[bool, ...]:
    """Return whether each trial of a duet's step was measured on the first half; empty for every other plan."""
    return tuple(on_first_half(plan, step, number) for number in numbers) if plan.order is Order.DUET else ()


def cpus_of_trial(plan: Plan, step: str, number: int, facts: Facts | None) -> tuple[int, ...]:
    """Return the CPUs that a trial is pinned to; empty if the plan is no duet or the halves are unknown."""
    halves = None if plan.order is not Order.DUET or facts is None else halves_of(facts)
    return halves.cpus[not on_first_half(plan, step, number)] if isinstance(halves, Halves) else ()


def pinned(commands: Iterable[Command], cpus: tuple[int, ...]) -> tuple[Command, ...]:
    """Return `commands`, those that measure or serve on the host itself pinned to `cpus`; unchanged without CPUs."""
    prefix = ("taskset", "-c", cpu_list(cpus))
    return tuple(
        replace(command, argv=(*prefix, *command.argv))
        if cpus and not command.on_peer and command.purpose in PINNED
        else command
        for command in commands
    )


def facts_seen(plan: Plan, facts: Mapping[str, Facts]) -> Mapping[str, Facts]:
    """Return the facts as the steps of `plan` see them: in a duet, the usable CPUs of its hosts are those of a half."""
    return seen_in_order(plan.order, plan.hosts, facts)


def seen_in_order(order: Order, hosts: Sequence[str], facts: Mapping[str, Facts]) -> Mapping[str, Facts]:
    """Return the facts as the steps of a plan of this order on `hosts` see them; see facts_seen()."""
    if order is not Order.DUET:
        return facts
    return {host: _of_half(found) if host in hosts else found for host, found in facts.items()}


def _of_half(facts: Facts) -> Facts:
    halves = halves_of(facts)
    if not isinstance(halves, Halves):
        return facts
    usable = min(known(facts.cpu.usable) or len(halves.cpus[0]), len(halves.cpus[0]))
    return replace(facts, cpu=replace(facts.cpu, usable=usable))

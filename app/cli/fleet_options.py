"""The plan, the hosts and the options of a fleet study on the command line."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from app.cli.common import Whole
from app.fleet_study import AT_ONCE, MOST_HOSTS, MOST_RETRIES, FleetLimits, FleetPlan, HostOrder, Topology
from app.plans.plan import MAXIMUM_SEED, PlanError, with_seed
from app.plans.plan_file import read_repetition
from app.plans.plan_names import on_hosts
from app.plans.validation import MOST_SESSIONS
from app.plans.variation import varied
from app.services import Workstation

_LIMIT = Whole(1, MOST_HOSTS)

_OPTIONS = (
    click.option("--at-once", type=_LIMIT, default=AT_ONCE, show_default=True, help="Most host-runs at once."),
    click.option("--per-group", type=_LIMIT, help="Most host-runs of one group at once."),
    click.option("--per-zone", type=_LIMIT, help="Most host-runs in one zone at once."),
    click.option(
        "--per-storage",
        type=_LIMIT,
        default=1,
        show_default=True,
        help="Most host-runs on one shared storage.",
    ),
    click.option(
        "--order",
        type=click.Choice([one.value for one in HostOrder]),
        default=HostOrder.INTERLEAVED.value,
        show_default=True,
        help="Order of the hosts in a session.",
    ),
    click.option("--seed", type=Whole(0, MAXIMUM_SEED), help="Seed of a random order.  [default: random]"),
    click.option(
        "--network",
        type=click.Choice([one.value for one in Topology]),
        default=Topology.FIXED.value,
        show_default=True,
        help="Hosts between which network tests run: each and the step's peer, pairs, or a mesh.",
    ),
    click.option(
        "--vary",
        multiple=True,
        metavar="[STEP.]NAME=VALUE,VALUE",
        help="Run the tests with each value; repeatable: with each combination.",
    ),
    click.option("--sessions", type=Whole(1, MOST_SESSIONS), help="Runs on each host, spread over time."),
    click.option("--every", metavar="TIME", help="Time between the starts of two sessions, as in 1d."),
    click.option(
        "--retries", type=Whole(0, MOST_RETRIES), default=2, show_default=True, help="Further attempts to connect."
    ),
)


def plans_fleet(command: Callable[..., None]) -> Callable[..., None]:
    """Add the plan, the hosts and the options of a fleet to a command, passed as `plan`: a FleetPlan."""

    @wraps(command)
    def planning(workstation: Workstation, file: Path, words: tuple[str, ...], *arguments: Any, **named: Any) -> None:
        given = {name: named.pop(name) for name in _NAMES}
        command(workstation, _fleet_plan(workstation, file, words, given), *arguments, **named)

    made: Callable[..., None] = planning
    for option in reversed(_OPTIONS):
        made = option(made)
    made = click.argument("words", metavar="GROUP…", nargs=-1, required=True)(made)
    return click.argument("file", metavar="PLAN", type=click.Path(path_type=Path))(made)


_NAMES = (
    "at_once", "per_group", "per_zone", "per_storage", "order", "seed", "network", "vary", "sessions", "every",
    "retries",
)  # fmt: skip


def _fleet_plan(workstation: Workstation, file: Path, words: Sequence[str], given: Mapping[str, Any]) -> FleetPlan:
    hosts = workstation.fleet_hosts(words)
    names = [host.name for host in hosts]
    plan = on_hosts(varied(workstation.load_plan(file, hosts=names), given["vary"]), names)
    repetition = plan.repetition
    if given["sessions"] is not None:
        repetition = replace(repetition, sessions=given["sessions"])
    if given["every"] is not None:
        if repetition.sessions == 1:
            raise PlanError("--every has no effect on one session.", "Add --sessions.")
        repetition = replace(repetition, every=read_repetition({"every": given["every"]}).every)
    limits = FleetLimits(given["at_once"], given["per_group"], given["per_zone"], given["per_storage"])
    plan = with_seed(replace(plan, repetition=repetition))
    return workstation.check_fleet(
        FleetPlan(
            replace(plan, hosts=()),
            hosts,
            Topology(given["network"]),
            HostOrder(given["order"]),
            _seed(given["seed"]),
            limits,
            given["retries"],
        )
    )


def _seed(given: int | None) -> int:
    return secrets.randbelow(2**31) if given is None else given

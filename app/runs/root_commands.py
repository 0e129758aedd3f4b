"""Commands of a plan that run as root, listed before the run."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.plans.context import step_context
from app.plans.duet import cpus_of_trial, facts_seen, pinned
from app.plans.plan import Plan
from app.plans.tuning import setting_command
from remote.tuning import DROP_CACHES
from suites.facts import Facts


@dataclass(frozen=True, slots=True)
class RootCommand:
    """A command line that runs as root on a host; `when` includes whether its change is restored."""

    host: str
    line: str
    when: str


def root_commands(
    plan: Plan, facts: Mapping[str, Facts], addresses: Mapping[str, str] | None = None
) -> tuple[RootCommand, ...]:
    """Return every command that runs as root on the hosts of `plan`."""
    return tuple(command for host in plan.hosts for command in _on(plan, host, facts, addresses))


def _on(
    plan: Plan, host: str, facts: Mapping[str, Facts], addresses: Mapping[str, str] | None
) -> Iterator[RootCommand]:
    for setting in plan.tuning.settings:
        yield RootCommand(host, setting_command(setting), "before the first trial; restored after the last")
    if plan.tuning.drop_caches:
        yield RootCommand(host, DROP_CACHES, "before each trial")
    for step in plan.steps_on(host):
        commands = step.suite.commands(step.values, step_context(step, host, facts_seen(plan, facts), addresses))
        for command in pinned(commands, cpus_of_trial(plan, step.name, 1, facts.get(host))):
            if command.root:
                yield RootCommand(host, shlex.join(command.argv), f"in each trial of {step.name}")

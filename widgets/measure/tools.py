"""Which programs the hosts have, and the one command that installs the missing ones. No Qt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.hosts.packages import has_program, installation_of, tool_of
from suites.base import BringsTool, Suite, complete_values, programs_of
from suites.facts import Facts, known
from suites.parameters import Values
from widgets.parts.names import host_words

FOUND = "installed"
"""Said of a tool that is there and does not tell its version."""


@dataclass(frozen=True, slots=True)
class Missing:
    """What a host does not have. `install` is the command that would install it, None where none is known."""

    program: str
    host: str
    install: str | None


def missing_programs(
    suite: Suite, steps: Sequence[Values], hosts: Sequence[str], facts: Mapping[str, Facts]
) -> tuple[Missing, ...]:
    """Return what the hosts lack, as far as their facts are known, of what steps of `suite` with these values need.

    Without a step: the suite's tool, unless it brings that. A program that nobody looked for is not missing.
    """
    tool = (
        () if isinstance(suite, BringsTool) and not suite.needs_tool(complete_values(suite, {})) else (tool_of(suite),)
    )
    found = []
    for host in hosts:
        if host not in facts:
            continue
        of_steps = [program for values in steps for program in programs_of(suite, values, facts[host])]
        needed = dict.fromkeys(of_steps if steps else tool)
        missing = [program for program in needed if has_program(program, facts[host]) is False]
        if missing:
            titles = " and ".join(program.title for program in missing)
            found.append(Missing(titles, host, installation_of(missing, facts[host]).command))
    return tuple(found)


def tool_words(suite: Suite, hosts: Sequence[str], facts: Mapping[str, Facts]) -> str:
    """Return which version of the suite's tool the hosts have: ``fio-3.33``, or by host where they differ."""
    versions: dict[str, list[str]] = {}
    for host in hosts:
        if host in facts and (version := _version(suite, facts[host])) is not None:
            versions.setdefault(version, []).append(host_words(host))
    if len(versions) == 1 and sum(len(names) for names in versions.values()) == len(hosts):
        return next(iter(versions))
    places = {version: names[0] if len(names) == 1 else f"{len(names)} hosts" for version, names in versions.items()}
    return "; ".join(f"{version} on {place}" for version, place in places.items())


def _version(suite: Suite, facts: Facts) -> str | None:
    tool = facts.tool(suite.tool)
    return known(tool.version) or (FOUND if known(tool.path) is not None else None)

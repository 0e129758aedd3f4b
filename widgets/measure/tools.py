"""Which tools the hosts have, and the one command that installs a missing one. No Qt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.hosts.packages import has_tool, installation
from suites.base import Suite
from suites.facts import Facts, known
from widgets.parts.names import host_words

FOUND = "installed"
"""Said of a tool that is there and does not tell its version."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A tool that a host does not have. `install` is the command that would install it, None where none is known."""

    tool: str
    host: str
    install: str | None


def missing_tools(suite: Suite, hosts: Sequence[str], facts: Mapping[str, Facts]) -> tuple[Missing, ...]:
    """Return the hosts, as far as their facts are known, that lack the suite's tool.

    A tool that nobody looked for is not missing.
    """
    return tuple(
        Missing(suite.tool, host, installation([suite], facts[host]).command)
        for host in hosts
        if host in facts and has_tool(suite, facts[host]) is False
    )


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

"""Findings that say the same of several hosts, shown once. No Qt."""

from collections.abc import Iterable
from dataclasses import replace

from suites.vocab import Finding
from widgets.parts.names import host_words


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return `findings` with those that differ in nothing but the host made one, which names every host.

    What would be installed stays apart: consent is given for one host at a time.
    """
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        key = finding if finding.install else replace(finding, host=None)
        groups.setdefault(repr(key), []).append(finding)
    return tuple(_one(group) for group in groups.values())


def _one(group: list[Finding]) -> Finding:
    hosts = [finding.host for finding in group if finding.host]
    if len(group) == 1:
        return group[0]
    shown = ", ".join(host_words(host) for host in hosts[:3])
    more = f" and {len(hosts) - 3} more" if len(hosts) > 3 else ""
    return replace(group[0], host=f"{shown}{more}")

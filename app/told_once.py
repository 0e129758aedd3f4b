"""What one check found again and again at one place, told once."""

from collections.abc import Sequence
from dataclasses import replace

from suites.vocab import Finding


def told_once(findings: Sequence[Finding]) -> list[Finding]:
    """Return `findings` in their order, of those that differ only in what was measured the first, with their number."""
    alike: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        place = (finding.id, finding.level, finding.title, finding.why, finding.remedy, finding.step, finding.host)
        alike.setdefault(place, []).append(finding)
    return [_first_of(found) for found in alike.values()]


def _first_of(found: Sequence[Finding]) -> Finding:
    different = list(dict.fromkeys(finding.measured for finding in found))
    if len(different) == 1:
        return found[0]
    first = found[0].measured.rstrip(".")
    return replace(found[0], measured=f"{first}. Found {len(different)} times; this is the first.")

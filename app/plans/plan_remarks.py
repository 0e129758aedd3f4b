"""Remarks of a plan on its findings: acknowledgements with reasons, and values changed by remedies."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from suites.vocab import Finding, Severity

LONGEST = 500
"""Characters of a reason, and of every other text of a remark."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """An acknowledged finding and the reason; `step` None covers all steps."""

    finding: str
    reason: str
    step: str | None = None

    def covers(self, finding: Finding) -> bool:
        """Whether `finding` is covered. Errors never are: without a result there is nothing to accept."""
        return (
            finding.severity is not Severity.ERROR and finding.id == self.finding and self.step in {None, finding.step}
        )


@dataclass(frozen=True, slots=True)
class RemediedValue:
    """A value of a step changed by a finding's remedy; `before` and `after` are formatted."""

    finding: str
    step: str
    parameter: str
    before: str
    after: str


def with_reason_for(findings: Iterable[Finding], reason: str) -> list[Acknowledged]:
    """Return the acknowledgement of `findings` in each of their steps; an empty reason withdraws it."""
    return list(dict.fromkeys(Acknowledged(one.id, reason, one.step) for one in findings))


def reason_of(acknowledged: Iterable[Acknowledged], finding: Finding) -> str:
    """Return the last reason for which `finding` is acknowledged; empty if it is not."""
    reasons = [given.reason for given in acknowledged if given.covers(finding)]
    return reasons[-1] if reasons else ""


def with_reason(acknowledged: Iterable[Acknowledged], new: Acknowledged) -> tuple[Acknowledged, ...]:
    """Return `acknowledged` with `new` replacing its predecessor; an empty reason withdraws it.

    Withdrawing the finding of one step also withdraws the acknowledgement for all steps; withdrawing that for all
    steps withdraws those of each step.
    """
    others = [given for given in acknowledged if given.finding != new.finding]
    same = [given for given in acknowledged if given.finding == new.finding]
    if new.reason:
        return (*others, *(given for given in same if given.step != new.step), new)
    remaining = [given for given in same if new.step is not None and given.step not in {new.step, None}]
    return (*others, *remaining)


def with_remedied(old: Sequence[RemediedValue], new: Iterable[RemediedValue]) -> tuple[RemediedValue, ...]:
    """Merge `old` and `new` changes: a value changed twice keeps its first `before`."""
    found = {(each.step, each.parameter): each for each in old}
    for each in new:
        first = found.pop((each.step, each.parameter), each)
        if first.before != each.after:
            found[each.step, each.parameter] = RemediedValue(
                each.finding, each.step, each.parameter, first.before, each.after
            )
    return tuple(found.values())

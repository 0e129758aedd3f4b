"""What is kept beside a plan about its findings: which are acknowledged and why, and what their remedies changed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from suites.vocab import Finding, Level

LONGEST = 500
"""Characters of a reason, as of everything that is kept beside a plan."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A finding that somebody has seen and lets stand, and why. With `step` None it is meant wherever it is raised."""

    finding: str
    reason: str
    step: str | None = None

    def covers(self, finding: Finding) -> bool:
        """Whether `finding` is meant. An error never is: it says that there is no such figure."""
        return finding.level is not Level.ERROR and finding.id == self.finding and self.step in {None, finding.step}


@dataclass(frozen=True, slots=True)
class Remedied:
    """A value of a step that a finding's remedy changed; `before` and `after` are written as a person does."""

    finding: str
    step: str
    parameter: str
    before: str
    after: str


def reason_of(acknowledged: Iterable[Acknowledged], finding: Finding) -> str:
    """Return the reason for which `finding` is acknowledged, the last one given; empty where it is not."""
    reasons = [given.reason for given in acknowledged if given.covers(finding)]
    return reasons[-1] if reasons else ""


def with_reason(acknowledged: Iterable[Acknowledged], new: Acknowledged) -> tuple[Acknowledged, ...]:
    """Return `acknowledged` with `new` in place of what was said of the same; without a reason it is taken back.

    Taking back the finding of a step takes back what was said of the finding wherever it is raised, too; and taking it
    back wherever it is raised, what was said of it in each step.
    """
    others = [given for given in acknowledged if given.finding != new.finding]
    same = [given for given in acknowledged if given.finding == new.finding]
    if new.reason:
        return (*others, *(given for given in same if given.step != new.step), new)
    kept = [given for given in same if new.step is not None and given.step not in {new.step, None}]
    return (*others, *kept)


def with_remedied(old: Sequence[Remedied], new: Iterable[Remedied]) -> tuple[Remedied, ...]:
    """Return `old` and `new` changes as one list: a value that was changed twice keeps what stood there at first."""
    found = {(each.step, each.parameter): each for each in old}
    for each in new:
        first = found.pop((each.step, each.parameter), each)
        if first.before != each.after:
            found[each.step, each.parameter] = Remedied(
                each.finding, each.step, each.parameter, first.before, each.after
            )
    return tuple(found.values())

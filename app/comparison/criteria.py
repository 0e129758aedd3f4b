"""What a comparison is made with: margins, a reason to overrule differences, the metrics with a verdict."""

from collections.abc import Collection
from dataclasses import dataclass

from app.margins import DEFAULTS, Margins


@dataclass(frozen=True, slots=True)
class ComparisonCriteria:
    """How runs are compared.

    `margins` are those given for this comparison; the user's own defaults are added. `overruled` is the reason to
    ignore fatal differences; the comparison repeats it. `tested` are the names of metrics, or ALL_METRICS, that get a
    verdict besides the headline and tail metrics. With `together`, all hosts of a side are compared as one, in pairs if
    most are on both sides; without, each host that both have, these as one, and the others as one.
    """

    margins: Margins = DEFAULTS
    overruled: str = ""
    tested: Collection[str] = frozenset()
    together: bool = False


DEFAULT_CRITERIA = ComparisonCriteria()

"""The verdict on a result: how far to trust it, and what limited it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from suites.vocab import Finding, Severity


class Trust(StrEnum):
    """Trust in a result, the highest first.

    VALID: no objection. UNVERIFIED: no objection in an output from elsewhere, whose host was not watched. CAVEATS:
    correct if quoted with its caveats. UNDECIDED: what is known does not decide it. DOUBTFUL: it may well measure
    something else. INVALID: it does not measure what it claims, or the test never ran.
    """

    VALID = "valid"
    UNVERIFIED = "unverified"
    CAVEATS = "valid with caveats"
    UNDECIDED = "cannot tell"
    DOUBTFUL = "doubtful"
    INVALID = "invalid"

    @property
    def rank(self) -> int:
        """Return 0 for the most trusted, increasing from there."""
        return tuple(Trust).index(self)

    @property
    def in_doubt(self) -> bool:
        """Whether the result may not measure what it claims, so that it decides nothing."""
        return self.rank >= Trust.UNDECIDED.rank


def worst(given: "tuple[Trust, ...]") -> Trust:
    """Return the least trusted of `given`; VALID if there is none."""
    return max(given, key=lambda trust: trust.rank, default=Trust.VALID)


class Limiter(StrEnum):
    """What limited a result: a closed list, part of the public formats.

    OTHERS is CPU time taken by other processes of the host, STEAL by other guests. SHAPED is a rate limit on the
    network path, WINDOW the bytes in flight by the round-trip time, LOSS packets lost on the path, RECEIVER those
    dropped at the receiving host, CLIENT the load generator's own CPU. SYNC is the latency of fsync or fdatasync.
    """

    CPU = "cpu"
    ONE_THREAD = "lock or single thread"
    OTHERS = "other processes"
    STEAL = "steal"
    MEMORY_BANDWIDTH = "memory bandwidth"
    SWAP = "swap"
    DEVICE = "device"
    QUEUE_DEPTH = "queue depth"
    PROVISIONED = "provisioned limit"
    QUOTA = "quota"
    SYNC = "sync latency"
    LINK = "link"
    SHAPED = "shaping on the path"
    WINDOW = "window and round trip"
    LOSS = "packet loss"
    RECEIVER = "receiver"
    CLIENT = "client"
    RATE = "the rate that was asked for"
    TOOL = "the tool itself"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Goal:
    """Goal of a figure: at least or at most `value`, in the metric's unit.

    `step` is None if it applies to every step with the metric. Exactly one of the two bounds is set.
    """

    metric: str
    at_least: float | None = None
    at_most: float | None = None
    step: str | None = None

    @property
    def bound(self) -> float:
        """The one bound."""
        return self.at_least if self.at_least is not None else self.at_most or 0.0

    @property
    def sign(self) -> str:
        """The comparison with the bound, as it is written."""
        return ">=" if self.at_least is not None else "<="

    def is_met(self, value: float) -> bool:
        """Return whether `value` is within the bound."""
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A quotable summary of a result in one sentence, with the findings it rests on.

    `limited_by` is None if nothing was measured. `step` and `host` are None for a whole run. `checks` is the version of
    the checks that judged it, 0 if unknown.
    """

    trust: Trust
    limited_by: Limiter | None
    summary: str
    findings: tuple[Finding, ...] = ()  # those that reduce the trust come first
    step: str | None = None
    host: str | None = None
    checks: int = field(default=0, compare=False)  # the same verdict of another version is no other verdict

    @property
    def text(self) -> str:
        """The trust and what reduces it: ``doubtful: Page cache serves the reads``."""
        reduced = self.trust is not Trust.VALID and self.findings
        return f"{self.trust.value}: {self.findings[0].title}" if reduced else self.trust.value


NOT_JUDGED = "not judged yet"
"""Shown in place of the trust of an ended run that has no verdict, so that one is not taken for a change of it."""


def trust_mark(trust: Trust | None) -> str:
    """Return the word that marks a value of this trust in a table; empty for a valid one and for None."""
    return "" if trust in {None, Trust.VALID} else "caveats" if trust is Trust.CAVEATS else str(trust)


def least_trusted(given: Iterable[Verdict]) -> Verdict | None:
    """Return the verdict with the lowest trust; None if there is none."""
    return max(given, key=lambda verdict: verdict.trust.rank, default=None)


_BY_SEVERITY = {Severity.INFO: Trust.VALID, Severity.WARNING: Trust.CAVEATS, Severity.ERROR: Trust.DOUBTFUL}


def trust_of(severity: Severity) -> Trust:
    """Return the trust that a finding of `severity` leaves, where its check does not define it."""
    return _BY_SEVERITY[severity]

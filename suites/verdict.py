"""The verdict on a result: may it be believed, and what limited it."""

from dataclasses import dataclass
from enum import StrEnum

from suites.vocab import Finding, Level


class Trust(StrEnum):
    """How far a result may be believed, the most first.

    VALID: nothing speaks against it. CAVEATS: true, if what is said with it is quoted along. DOUBTFUL: it may well be
    something else than what it is called. INVALID: it is not what it is called, or it never happened.
    """

    VALID = "valid"
    CAVEATS = "valid with caveats"
    DOUBTFUL = "doubtful"
    INVALID = "invalid"

    @property
    def rank(self) -> int:
        """Return 0 for the most believable, growing from there."""
        return tuple(Trust).index(self)


def worst(given: "tuple[Trust, ...]") -> Trust:
    """Return the least believable of `given`; VALID where there is none."""
    return max(given, key=lambda trust: trust.rank, default=Trust.VALID)


class Limiter(StrEnum):
    """What kept a result from being better: a closed list, part of the public formats."""

    CPU = "cpu"
    ONE_THREAD = "lock or single thread"
    MEMORY_BANDWIDTH = "memory bandwidth"
    DEVICE = "device"
    QUEUE_DEPTH = "queue depth"
    PROVISIONED = "provisioned limit"
    QUOTA = "quota"
    LINK = "link"
    RATE = "the rate that was asked for"
    TOOL = "the tool itself"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Goal:
    """What a figure has to reach so that it answers the question: at least or at most `value`, in the metric's unit.

    `step` is None where it is asked of every step that has the metric. Exactly one of the two bounds is given.
    """

    metric: str
    at_least: float | None = None
    at_most: float | None = None
    step: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What may be said of a result, in a sentence to be quoted, with the findings it rests on.

    `limited_by` is None where nothing was measured. `step` and `host` are None for a whole run.
    """

    level: Trust
    limited_by: Limiter | None
    summary: str
    findings: tuple[Finding, ...] = ()
    step: str | None = None
    host: str | None = None


_BY_LEVEL = {Level.INFO: Trust.VALID, Level.WARNING: Trust.CAVEATS, Level.ERROR: Trust.DOUBTFUL}


def trust_of(level: Level) -> Trust:
    """Return what a finding of `level` leaves of a result, where its check does not say."""
    return _BY_LEVEL[level]

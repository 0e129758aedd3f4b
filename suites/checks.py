"""What a check is: a pure function from evidence to an outcome, with the words that explain it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Protocol, TypeAlias, TypeVar

from suites.base import Context, Suite
from suites.evidence import StepOutcomeEvidence, TrialEvidence
from suites.facts import Facts
from suites.parameters import Value, Values
from suites.verdict import Limiter, Trust, trust_of
from suites.vocab import Finding, Level


class Evidence(Protocol):
    """What a check looks at: one step on one host, a host, or a plan as a whole."""

    @property
    def name(self) -> str | None:
        """Return the name of the step; None where it is about no single one."""
        ...

    @property
    def host(self) -> str | None:
        """Return the name of the host; None where it is about all of the plan's."""
        ...


E = TypeVar("E", bound=Evidence)


class When(StrEnum):
    """At what point of a run a check can speak."""

    BEFORE = "before"
    DURING = "during"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class StepEvidence:
    """What a check of *before* may look at: one step, its frozen values, and what is known of the host.

    `earlier` are the steps that the plan runs before this one; `earlier_files_stay` where their files are still
    there when it runs, because the trials of all steps take turns.
    """

    name: str
    suite: Suite
    values: Values
    context: Context
    host: str
    trials: int = 1
    earlier: tuple["StepEvidence", ...] = ()
    earlier_files_stay: bool = False


@dataclass(frozen=True, slots=True)
class HostEvidence:
    """What a check of *before* may look at that speaks of a host once, whatever steps run there."""

    host: str
    facts: Facts | None
    steps: tuple[StepEvidence, ...] = ()
    tuned: frozenset[str] = frozenset()
    """Names of the settings that the plan changes on the host while it runs, such as ``governor``."""
    name: None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check found: the evidence in words with units, and how to mend it.

    `remedy`, `why`, `level` and `trust`, where given, stand in for the check's own. `changes` are parameter values
    that apply the remedy; `install` a command line that would. `limiter` is what it names as the limit.
    """

    measured: str
    remedy: str | None = None
    why: str | None = None
    level: Level | None = None
    changes: Mapping[str, Value] = field(default_factory=dict)
    install: str | None = None
    trust: Trust | None = None
    limiter: Limiter | None = None


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The check has no evidence to speak from. It is said, and never counted as a pass or a finding."""

    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Generic[E]):
    """One thing that is known to fool people. `needs` says in words what evidence it speaks from.

    `trust` is what its finding leaves of a result; None where that follows from the level.
    """

    id: str
    level: Level
    title: str
    why: str
    remedy: str
    source: str
    evaluate: Callable[[E], Outcome | CannotTell | None]
    when: When = When.BEFORE
    needs: str = ""
    trust: Trust | None = None

    def finding(self, evidence: E) -> Finding | CannotTell | None:
        """Return the finding for `evidence`, None where there is nothing to say, or why it cannot tell."""
        outcome = self.evaluate(evidence)
        if outcome is None or isinstance(outcome, CannotTell):
            return outcome
        return self.worded(outcome, evidence)

    def leaves(self, outcome: Outcome) -> Trust:
        """Return how far a result may still be believed of which `outcome` was found."""
        return outcome.trust or (trust_of(outcome.level or self.level) if self.trust is None else self.trust)

    def worded(self, outcome: Outcome, evidence: E) -> Finding:
        """Return `outcome` as the finding about `evidence`."""
        return Finding(
            id=self.id,
            level=outcome.level or self.level,
            title=self.title,
            measured=outcome.measured,
            why=outcome.why or self.why,
            remedy=self.remedy if outcome.remedy is None else outcome.remedy,
            source=self.source,
            step=evidence.name,
            host=evidence.host,
            changes=dict(outcome.changes),
            install=outcome.install,
        )


StepCheck: TypeAlias = Check[StepEvidence]
"""A check that speaks of a step before anything runs."""

HostCheck: TypeAlias = Check[HostEvidence]
"""A check that speaks of a host before anything runs."""

TrialCheck: TypeAlias = Check[TrialEvidence]
"""A check that speaks of one trial after it."""

OutcomeCheck: TypeAlias = Check[StepOutcomeEvidence]
"""A check that speaks of all trials of a step on a host after them."""

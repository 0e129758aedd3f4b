"""Checks: pure functions from evidence to an outcome, with the texts that explain it."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Generic, Protocol, TypeVar

from suites.parameters import Value
from suites.verdict import Limiter, Trust, trust_of
from suites.vocab import Finding, Severity


class Evidence(Protocol):
    """Evidence of a check: one step on one host, a host, or a whole plan."""

    @property
    def name(self) -> str | None:
        """Return the name of the step; None if it is not about a single one."""
        ...

    @property
    def host(self) -> str | None:
        """Return the name of the host; None if it is about all hosts of the plan."""
        ...


log = logging.getLogger(__name__)

E = TypeVar("E", bound=Evidence)


class CheckPhase(StrEnum):
    """Phase of a run in which a check is evaluated."""

    BEFORE = "before"
    DURING = "during"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """Outcome of a check: the measured evidence with units, and the remedy.

    `remedy`, `why`, `severity` and `trust` override the check's own. `changes` are parameter values that apply the
    remedy; `install` a command line that would. `limiter` is the limit that it identifies. Of a running trial, what
    `lacks_names` is replaced once the causes have names.
    """

    measured: str
    remedy: str | None = None
    why: str | None = None
    severity: Severity | None = None
    changes: Mapping[str, Value] = field(default_factory=dict)
    install: str | None = None
    trust: Trust | None = None
    limiter: Limiter | None = None
    lacks_names: bool = False


@dataclass(frozen=True, slots=True)
class NotChecked:
    """The check lacks its evidence. Shown as such; counts neither as passed nor as a finding.

    With `defect`, the check itself failed.
    """

    because: str
    defect: bool = False


FACTS_NOT_READ = NotChecked("The host's facts have not been read.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Generic[E]):
    """One known cause of misleading results. `needs` describes the evidence it uses.

    `trust` is the verdict that its finding leaves of a result; None derives it from the severity. With `blocks`, a step
    with an error of this check is not started. Without `of_result` it concerns the start, the cost or the secrets of a
    run only, and its warning is no caveat of the result.
    """

    id: str
    severity: Severity = Severity.WARNING
    title: str
    why: str
    remedy: str
    source: str
    evaluate: Callable[[E], CheckOutcome | NotChecked | None]
    when: CheckPhase = CheckPhase.BEFORE
    needs: str = ""
    trust: Trust | None = None
    blocks: bool = False
    of_result: bool = True

    def outcome(self, evidence: E) -> CheckOutcome | NotChecked | None:
        """Return the outcome of `evaluate`; of a check that raises an exception, that it failed."""
        try:
            return self.evaluate(evidence)
        except Exception as error:  # a defect of one check must not cost the measurement, or the other checks
            log.exception("check %s failed", self.id)
            return NotChecked(f"The check failed: {type(error).__name__}: {error}".rstrip(": ") + ".", defect=True)

    def finding(self, evidence: E) -> Finding | NotChecked | None:
        """Return the finding for `evidence`, None if there is none, or why it was not checked."""
        outcome = self.outcome(evidence)
        if outcome is None or isinstance(outcome, NotChecked):
            return outcome
        return self.finding_for(outcome, evidence)

    def leaves(self, outcome: CheckOutcome) -> Trust:
        """Return the verdict that `outcome` leaves of a result."""
        return outcome.trust or (trust_of(outcome.severity or self.severity) if self.trust is None else self.trust)

    @property
    def trust_left(self) -> Trust | None:
        """The verdict that its findings leave of a result where their evidence sets none; None: by their severity."""
        start_only = not self.of_result and self.severity is not Severity.ERROR  # what an error refuses is not measured
        return Trust.VALID if self.trust is None and start_only else self.trust

    def finding_for(self, outcome: CheckOutcome, evidence: E) -> Finding:
        """Return `outcome` as a finding about `evidence`."""
        return Finding(
            id=self.id,
            severity=outcome.severity or self.severity,
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


blocking_check = partial(Check, severity=Severity.ERROR, blocks=True)
"""Makes a check whose finding keeps the step from being started."""

after_check = partial(Check, when=CheckPhase.AFTER)
"""Makes a check after the trials."""

during_check = partial(Check, when=CheckPhase.DURING)
"""Makes a check of a running trial, made once more at its end."""

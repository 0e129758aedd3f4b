"""Issues: the findings of several hosts and steps in one line each, with their age, what is gone, and their counts."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from app.checks.catalogue import before_ids
from app.plans.plan import host_label
from suites.quantities import age_text
from suites.vocab import Finding, Severity

Reason = Callable[[Finding], str]
"""Returns why a finding is acknowledged; empty if it is not."""

FindingKey = tuple[str, str | None, str | None]
"""Check id, step and host of a finding."""

JUST_NOW = 1.5
"""Seconds below which an age is *just now*."""

WORDS: Mapping[Severity, str] = {Severity.ERROR: "Error", Severity.WARNING: "Warning", Severity.INFO: "Note"}


def not_acknowledged(_finding: Finding) -> str:
    """Return no reason."""
    return ""


def key_of(finding: Finding) -> FindingKey:
    """Return what identifies a finding while its figure changes."""
    return finding.id, finding.step, finding.host


@dataclass(frozen=True, slots=True)
class Issue:
    """Findings that differ in step, host, figure and changed values only.

    `reason` is why they are acknowledged. `at` is when they were measured, and `gone` when the condition was found to
    be gone, in seconds since the epoch; None if it is not known, and if they are not gone.
    """

    findings: tuple[Finding, ...]
    reason: str = ""
    at: float | None = None
    gone: float | None = None

    @property
    def first(self) -> Finding:
        """The first finding, whose title, reason and remedy are those of all."""
        return self.findings[0]

    @property
    def key(self) -> tuple[str, Severity, str, str]:
        """What identifies the issue while its figures change, or it is acknowledged."""
        return self.first.id, self.first.severity, self.first.title, self.first.remedy

    @property
    def is_open(self) -> bool:
        """Whether it is neither acknowledged nor gone."""
        return not self.reason and self.gone is None

    @property
    def fixable(self) -> tuple[Finding, ...]:
        """The findings whose remedy changes parameters."""
        return tuple(one for one in self.findings if one.changes and self.is_open)

    @property
    def places(self) -> tuple[str, ...]:
        """The hosts and steps: ``web-1 · fio``."""
        return tuple(dict.fromkeys(filter(None, map(place_of, self.findings))))

    @property
    def scope(self) -> str:
        """The host and step in short; of several, their number: ``3 steps · web-1``."""
        hosts = tuple(dict.fromkeys(host_label(one.host) for one in self.findings if one.host))
        steps = tuple(dict.fromkeys(one.step for one in self.findings if one.step))
        return " · ".join(filter(None, (_short(hosts, "hosts"), _short(steps, "steps"))))

    @property
    def evidence(self) -> tuple[str, ...]:
        """What was measured, a line for each host and step; the places stand before it where there are several."""
        measured = Counter((place_of(one), one.measured) for one in self.findings)
        several = len(measured) > 1 and len(self.places) > 1
        return tuple(
            (f"{place}: " if several and place else "") + text + (f" ({count} times)" if count > 1 else "")
            for (place, text), count in measured.items()
        )

    def age(self, now: float) -> str:
        """Return its age, or since when it is gone: ``2 s ago``, ``just now``, ``gone 3 s ago``; empty if unknown."""
        if self.gone is not None:
            return f"gone {_ago(now - self.gone)}"
        return "" if self.at is None else _ago(now - self.at)


def _ago(seconds: float) -> str:
    return "just now" if seconds < JUST_NOW else f"{age_text(seconds)} ago"


def place_of(finding: Finding) -> str:
    """Return the host and the step of a finding: ``web-1 · fio``."""
    return " · ".join(filter(None, (host_label(finding.host) if finding.host else "", finding.step)))


def _short(names: Sequence[str], many: str) -> str:
    return f"{len(names)} {many}" if len(names) > 1 else "".join(names)


def counts_text(issues: Iterable[Issue]) -> str:
    """Return the number of open issues by severity, and of acknowledged ones: ``2 warnings, 1 acknowledged``."""
    listed = tuple(issues)
    acknowledged = sum(bool(one.reason) for one in listed)
    parts = [count_of(severity, count) for severity, count in open_counts(listed)]
    return ", ".join([*parts, *([f"{acknowledged} acknowledged"] if acknowledged else [])])


def count_of(severity: Severity, count: int) -> str:
    """Return a number of issues of one severity: ``2 warnings``."""
    return f"{count} {WORDS[severity].lower()}{'s' if count > 1 else ''}"


def open_counts(issues: Sequence[Issue]) -> tuple[tuple[Severity, int], ...]:
    """Return the number of open issues of each severity that there is, the highest first."""
    counts = Counter(one.first.severity for one in issues if one.is_open)
    return tuple((severity, counts[severity]) for severity in reversed(Severity) if counts[severity])


@dataclass(frozen=True, slots=True)
class SeenFinding:
    """A finding, when it was measured and since when it is gone (seconds since the epoch)."""

    finding: Finding
    at: float | None = None
    gone: float | None = None


def issues_of(findings: Iterable[Finding | SeenFinding], reason_of: Reason = not_acknowledged) -> tuple[Issue, ...]:
    """Return `findings` as issues: the most severe first, then the newest; gone and acknowledged ones last."""
    groups: dict[tuple[object, ...], list[SeenFinding]] = {}
    for one in (each if isinstance(each, SeenFinding) else SeenFinding(each) for each in findings):
        found = one.finding
        key = (found.id, found.severity, found.title, found.why, found.remedy, found.install, reason_of(found))
        groups.setdefault((*key, one.gone is None), []).append(one)
    return tuple(sorted((_issue(group, reason_of) for group in groups.values()), key=_order))


def _issue(group: Sequence[SeenFinding], reason_of: Reason) -> Issue:
    ages = [one.at for one in group if one.at is not None]
    return Issue(
        tuple(one.finding for one in group), reason_of(group[0].finding), max(ages, default=None), group[0].gone
    )


def _order(issue: Issue) -> tuple[bool, bool, int, float]:
    return bool(issue.reason), issue.gone is not None, -issue.first.severity.rank, -(issue.at or 0.0)


@dataclass(frozen=True, slots=True)
class HostReading:
    """Outcome of pre-run checks that were made again on `host` at `at` (seconds since the epoch).

    `checks` are the ids of those made; `skipped` the ids and steps of those without evidence.
    """

    host: str
    at: float
    findings: tuple[Finding, ...]
    checks: frozenset[str]
    skipped: frozenset[tuple[str, str | None]] = frozenset()

    def covers(self, finding: Finding) -> bool:
        """Whether `finding` was checked again."""
        checked = finding.host == self.host and finding.id in self.checks
        return checked and not self.skipped & {(finding.id, None), (finding.id, finding.step)}


class IssueHistory:
    """The findings that are shown, with their age, and those that are gone. Times are seconds since the epoch."""

    def __init__(self) -> None:
        self.clear()

    def issues(self, reason_of: Reason = not_acknowledged) -> tuple[Issue, ...]:
        """Return the issues."""
        return issues_of((*self._present().values(), *self._gone.values()), reason_of)

    def clear(self) -> None:
        """Forget everything: the findings of another run or plan follow."""
        self._shown: dict[FindingKey, SeenFinding] = {}
        self._gone: dict[FindingKey, SeenFinding] = {}
        self._readings: dict[tuple[str, frozenset[str]], HostReading] = {}

    def show(
        self,
        findings: Iterable[Finding],
        read_at: Mapping[str, float] | None = None,
        now: float | None = None,
        *,
        keep_gone: bool = False,
    ) -> None:
        """Show `findings` at `now` (None: their age is not known); `read_at` is when the facts of each host were read.

        What was gone is dropped. With `keep_gone` those that are no longer among them are shown as gone.
        """
        read_at, before = read_at or {}, self._present()
        self._readings = {
            key: reading for key, reading in self._readings.items() if reading.at > read_at.get(reading.host, 0.0)
        }
        self._shown = {key_of(one): self._aged(one, read_at, now) for one in findings}
        self._gone = self._lost(before, now) if keep_gone else {}

    def take(self, reading: HostReading) -> None:
        """Update what `reading` covers: a finding has its new figure, or is gone."""
        before = self._present()
        self._readings[reading.host, reading.checks] = reading
        self._gone |= self._lost(before, reading.at)
        self._gone = {key: one for key, one in self._gone.items() if key not in self._present()}

    def _aged(self, finding: Finding, read_at: Mapping[str, float], now: float | None) -> SeenFinding:
        """Return the age of a host's finding from its facts, and of a trial's from when it was first shown."""
        if now is None or finding.host is None:
            return SeenFinding(finding)
        if finding.id in before_ids():
            return SeenFinding(finding, None if finding.step else read_at.get(finding.host))
        earlier = self._shown.get(key_of(finding))
        return earlier if earlier is not None and earlier.finding == finding else SeenFinding(finding, now)

    def _present(self) -> dict[FindingKey, SeenFinding]:
        found = self._shown
        for reading in sorted(self._readings.values(), key=lambda one: one.at):
            found = {key: one for key, one in found.items() if not reading.covers(one.finding)}
            found |= {key_of(one): SeenFinding(one, reading.at) for one in reading.findings}
        return found

    def _lost(self, before: Mapping[FindingKey, SeenFinding], now: float | None) -> dict[FindingKey, SeenFinding]:
        present = self._present()
        return {key: replace(one, gone=now) for key, one in before.items() if key not in present and now is not None}

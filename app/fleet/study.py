"""The measurements of a fleet study: a metric by group, host, session and trial."""

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.comparison.comparability import Profile
from app.margins import DEFAULT_MARGIN
from app.plans.plan import Step
from suites.errors import BenchwrightError
from suites.quantities import metric_text
from suites.vocab import Labels, Metric

Sessions = Mapping[str, Sequence[float]]
"""The trials of the sessions of a host, by the name of the session, in order of time."""

Group = Mapping[str, Sessions]
"""The sessions of the hosts of a group (an instance type), by host."""


class FleetError(BenchwrightError):
    """A fleet study cannot be read."""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """How a study measured a step: by host the versions of its tool, empty if one is unknown, and verdicts in doubt.

    `doubts` are texts: ``doubtful: Host is busy``. `seconds` are those of a trial, from its set-up to its end. `step`
    and `seconds` are None if they are not known.
    """

    step: Step | None = None
    versions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    doubts: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None

    def profile(self, hosts: Collection[str]) -> Profile | None:
        """Return what decides on comparability of `hosts`; None without the step."""
        if self.step is None:
            return None
        own = [self.versions.get(host, frozenset()) for host in hosts]
        return Profile((self.step,), tuple(hosts), frozenset().union(*own) if all(own) else frozenset())


@dataclass(frozen=True, slots=True)
class FleetMetric:
    """A metric of a step in a fleet study. Sessions of one name are of one moment, on whichever hosts.

    Empty sessions, hosts and groups are left out: failed hosts and missing sessions need no entry. `margin` is that of
    the metric, as a share. Raises FleetError for a value that is not above zero, or a host in two groups.
    """

    step: str
    metric: Metric
    labels: Labels
    groups: Mapping[str, Group] = field(hash=False)
    margin: float = DEFAULT_MARGIN
    record: StepRecord = field(default_factory=StepRecord, hash=False)

    def __post_init__(self) -> None:
        """Drop what is empty, and check the values."""
        groups = {name: found for name, group in self.groups.items() if (found := _without_empty(group))}
        object.__setattr__(self, "groups", groups)
        if not all(value > 0 and math.isfinite(value) for one in self.sessions() for value in one):
            raise FleetError(f"{self.title} is not above zero in every trial.", "Choose another metric.")
        hosts = Counter(host for group in groups.values() for host in group)
        if hosts and (most := hosts.most_common(1)[0])[1] > 1:
            raise FleetError(f"{most[0][:60]} is in two groups.", "Give each host one group.")

    @property
    def title(self) -> str:
        """The metric, its labels and its step: ``IOPS, read of random read``."""
        return f"{metric_text(self.metric, self.labels)} of {self.step}"

    @property
    def key(self) -> tuple[str, str, Labels]:
        """What identifies the metric in another study."""
        return self.step, self.metric.name, self.labels

    def sessions(self) -> Iterator[Sequence[float]]:
        """Yield the trials of every session."""
        for group in self.groups.values():
            for host in group.values():
                yield from host.values()

    def nested(self) -> list[list[list[list[float]]]]:
        """Return the trials by group, host and session, without names."""
        return [[[list(run) for run in host.values()] for host in group.values()] for group in self.groups.values()]


def _without_empty(group: Group) -> dict[str, dict[str, tuple[float, ...]]]:
    found = {
        host: {name: tuple(trials) for name, trials in sessions.items() if len(trials)}
        for host, sessions in group.items()
    }
    return {host: sessions for host, sessions in found.items() if sessions}


def session_means(host: Sessions) -> dict[str, float]:
    """Return the geometric mean of the trials of each session, by its name."""
    return {name: statistics.geometric_mean(trials) for name, trials in host.items()}


def host_centre(host: Sessions) -> float:
    """Return the median of the medians of the sessions: an outlier of a trial or a session does not move it.

    It is computed on logarithms, so that of two it is the geometric mean.
    """
    medians = (statistics.median(map(math.log, trials)) for trials in host.values())
    return math.exp(statistics.median(medians))

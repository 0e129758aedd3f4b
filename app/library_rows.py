"""Rows of the library: what a list of runs shows, filters and groups, without reading plans or facts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, TypedDict

from app.json_converter import Json, publish, published
from app.plans.plan import host_label
from app.records import Recall, RunSummary
from suites.quantities import uncertainty_text
from suites.units import Unit
from suites.vocab import Metric


@dataclass(frozen=True, slots=True)
class ParameterValue:
    """A parameter of a step: the tool's own token, the value as text, and as a number in its base unit if it is one."""

    token: str
    text: str
    number: float | None = None


@dataclass(frozen=True, slots=True)
class Configuration:
    """A suite with all values of a step. Steps of the same `fingerprint` measure the same thing."""

    suite: str
    fingerprint: str
    values: Mapping[str, ParameterValue]  # by the name of the parameter


@dataclass(frozen=True, slots=True)
class Annotation:
    """What the user added to a run: a name in place of the plan's, a note, tags. `binned` is when it was deleted."""

    name: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    binned: str | None = None


NO_ANNOTATION = Annotation()

LONGEST_NAME, LONGEST_NOTE, LONGEST_TAG, MOST_TAGS = 500, 64 * 1024, 60, 100
"""Bounds of new annotations, in characters."""


@dataclass(frozen=True)
class HeadlineFigure:
    """The value of a run's headline metric, and the distance of the upper end of its 95 % interval, in `unit`."""

    name: str
    value: float
    half: float | None
    unit: Unit


@dataclass(frozen=True, slots=True)
class LibraryRow:
    """A run in a list. `value` is that of its headline metric, `half` the distance of the upper end of its 95 %
    interval; both None without one. Issues are those that are not acknowledged."""

    summary: RunSummary
    plan_hash: str = ""
    annotation: Annotation = NO_ANNOTATION
    instance: str = ""  # of its hosts, as virtualisation and kernel; empty if unknown
    virtualisation: str = ""
    kernel: str = ""
    metric: Metric | None = None
    value: float | None = None
    half: float | None = None
    errors: int = 0
    warnings: int = 0
    duration: float | None = None  # seconds
    baselines: tuple[str, ...] = ()  # the newest first
    configurations: tuple[Configuration, ...] = ()  # of its steps
    headline_trials: int | None = None  # those of the value
    lock: str = ""  # why it cannot be deleted; empty if it can, or if only a baseline pins it
    recall: Recall | None = None
    _searched: str | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def id(self) -> str:
        """The run's id."""
        return self.summary.id

    @property
    def binned(self) -> bool:
        """Whether it was deleted and can be restored."""
        return self.annotation.binned is not None

    @property
    def headline(self) -> str:
        """The value of the headline metric with its unit, and its step if that is not the first; empty without one."""
        return self.summary.headline

    @property
    def headline_metric(self) -> HeadlineFigure | None:
        """The headline metric with its value; None without one."""
        if self.metric is None or self.value is None:
            return None
        return HeadlineFigure(self.metric.name, self.value, self.half, self.metric.unit)

    @property
    def parameters(self) -> tuple[Mapping[str, str], ...]:
        """The text of each parameter's value, by name, of each step."""
        return tuple({name: value.text for name, value in one.values.items()} for one in self.configurations)

    @property
    def half_text(self) -> str:
        """The distance of the farther end of the interval with the prefix of the value; empty without one."""
        if self.metric is None or self.value is None or not self.half:
            return ""
        return uncertainty_text(self.metric, self.value, self.half)

    @property
    def result(self) -> str:
        """The headline with interval, number of trials and verdict: ``528/s ×/÷ 1.23, n=3, doubtful``."""
        figure = f"{self.headline} {self.half_text}".rstrip()
        return ", ".join(filter(None, (figure, f"n={self.trials}" if figure else "", self.summary.trust)))

    @property
    def trials(self) -> int:
        """The trials of the headline value; of all steps if an older version wrote it."""
        if self.headline_trials is None:
            return self.summary.trials if self.headline else 0
        return self.headline_trials

    @property
    def platform(self) -> str:
        """The instance type, else the virtualisation."""
        return self.instance or self.virtualisation

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """What its steps measure."""
        return tuple(one.fingerprint for one in self.configurations)

    @property
    def searched(self) -> str:
        """Its case-folded text for a search; made once, without a dictionary, which garbage collections would visit."""
        if self._searched is None:
            object.__setattr__(self, "_searched", self._search_text())
        return self._searched or ""

    def _search_text(self) -> str:
        run, added = self.summary, self.annotation
        texts = (
            run.name, *run.hosts, *map(host_label, run.hosts), *run.steps, *run.suites, run.status, run.status_text,
            run.trust, self.headline, *self.baselines, run.question, run.id, run.started[:10], added.note, *added.tags,
            self.instance, self.virtualisation, self.kernel, run.session.series if run.session else "",
        )  # fmt: skip
        return "\n".join(filter(None, texts)).casefold()


publish(
    LibraryRow,
    "trials instance virtualisation kernel plan_hash duration headline_metric errors warnings baselines "
    "tags=annotation.tags note=annotation.note deleted=annotation.binned lock parameters",
)

LibraryRowJson = Annotated[Json, RunSummary, LibraryRow]


def row_to_json(row: LibraryRow) -> LibraryRowJson:
    """Return the public JSON of a run in a list."""
    return {**published(row.summary), **published(row)}


class AnnotationJson(TypedDict):
    """What the user added to a run."""

    name: str
    note: str
    tags: list[str]


@dataclass(frozen=True, slots=True)
class LibraryRows:
    """The runs of a library, newest first, those in the bin included, and its saved searches by name.

    `missing` is the number of runs whose summary an older Benchwright did not write.
    """

    rows: tuple[LibraryRow, ...] = ()
    configurations: tuple[Configuration, ...] = ()  # of all runs, each once
    metrics: Mapping[str, Metric] = field(default_factory=dict)  # that any run has, by name
    searches: Mapping[str, str] = field(default_factory=dict)
    missing: int = 0

"""The result of a comparison, and its public JSON."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, NotRequired, TypedDict

from app.comparison.caveats import Caveat
from app.comparison.comparability import Difference
from app.comparison.crossover import HalfEffect
from app.comparison.estimates import Ratio
from app.comparison.moments import Moments
from app.comparison.variance import VarianceLevels
from app.comparison.verdicts import ComparisonVerdict, Level, Scope, VerdictEvidence
from app.json_converter import Json, publish, published
from app.margins import DEFAULT_MARGIN, Margins
from app.records import RunSummary
from app.summary import MetricSummary
from suites.errors import BenchwrightError
from suites.quantities import exact_share_text
from suites.verdict import Trust
from suites.vocab import Labels, Metric

METHOD = (
    "values and ratios are geometric means; 95 % intervals by Student's t on logarithms (Welch's, or paired) at the "
    "highest replicated level: trials of single sessions, else sessions, else hosts, with the error of sessions that "
    "hosts share; Holm's correction over all tested ratios; a percentile of several trials is the mean of the trials' "
    "percentiles"
)

NOTHING_COMPARED = "Nothing to compare: no counted trials."
"""The result of a comparison without rows."""

MOST_NAMES = 3
"""Metrics that are named beside a margin that is not that of most metrics."""


class CompareError(BenchwrightError):
    """An invalid comparison."""


@dataclass(frozen=True, slots=True)
class RelativeFigure:
    """A metric of one side relative to the baseline. `ratio`, `low` and `high` can be None; `reason` then says why.

    `text` is the verdict as a sentence, `ground` its reason without the `caveats`. `level` is that of the values of the
    ratio, `counts` their numbers on this side and the baseline, in pairs of `pairs` if not empty, and `scope` what the
    claim may speak of. `more` is the least number of further values on each side (sessions, for single ones) that would
    settle an undecided ratio. `p` and `p_same` are the p-values of a ratio beyond and within the margin, corrected for
    all tested ratios. `margin` is None if nothing was compared; `origin` is who set it,
    empty for a default. `centres` are the means of this side and of the baseline whose ratio it is, in the row's unit.
    """

    verdict: ComparisonVerdict
    ground: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    text: str = ""
    caveats: tuple[Caveat, ...] = ()
    differences: tuple[Difference, ...] = ()
    more: int | None = None
    p: float | None = None
    p_same: float | None = None
    margin: float | None = None
    origin: str = ""
    centres: tuple[float, float] | None = None
    level: Level = Level.TRIAL
    scope: Scope = Scope.ACROSS
    pairs: str = ""
    counts: tuple[int, int] | None = None
    half: HalfEffect | None = None  # of a duet
    estimate: Ratio | None = None  # with `evidence` the inputs of the verdict, for rules of another margin
    evidence: VerdictEvidence | None = None
    exact: bool = False  # counters that are identical in every trial of a side

    @property
    def sessions(self) -> tuple[int, int] | None:
        """The sessions that hosts share, of this side and of the baseline, if the interval has their error."""
        of = None if self.evidence is None else self.evidence.moments
        return None if of is None else of.counts

    @property
    def reason(self) -> str:
        """The reason of the verdict, and the caveats."""
        return "; ".join([self.ground, *(caveat.text for caveat in self.caveats)])


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One metric of one step on one host. `sides` has an entry for every side, None for a side without it;
    `against` one for every side but the first; `levels` has the variance levels of each side. `tested` is False
    for a descriptive metric."""

    step: str
    host: str
    metric: Metric
    labels: Labels
    sides: tuple[MetricSummary | None, ...]
    against: tuple[RelativeFigure, ...]
    levels: tuple[VarianceLevels | None, ...] = ()
    tested: bool = True

    @property
    def of_duets(self) -> bool:
        """Whether a side was measured in duets, which no sample size plans."""
        return any(side is not None and bool(side.halves) for side in self.sides)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Sides compared with the first, the baseline. `runs` has one summary a side; that of a group names all its runs.
    `notes` are excluded trials, differences that are not fatal, and caveats. `overruled` is the reason to ignore fatal
    differences, empty without one. `moments` are those of compare()."""

    runs: tuple[RunSummary, ...]
    margins: Margins
    rows: tuple[ComparisonRow, ...]
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # the notes that repeat `differences`
    repeated: tuple[str, ...] = ()  # the notes that repeat `caveats` and `overruled`
    method: str = METHOD
    overruled: str = ""
    moments: Moments = field(default_factory=dict, hash=False)

    def margin_of(self, row: ComparisonRow, against: RelativeFigure) -> float:
        """Return the margin of one side of a row."""
        return self.margins.of(row.metric).share if against.margin is None else against.margin

    def margin_in(self, row: ComparisonRow) -> float:
        """Return the widest margin of a row."""
        return max((self.margin_of(row, against) for against in row.against), default=self.margins.of(row.metric).share)

    @property
    def margin(self) -> float:
        """The widest margin."""
        return max(map(self.margin_in, self.rows), default=DEFAULT_MARGIN)

    @property
    def margin_text(self) -> str:
        """The distinct margins with their origins, the most frequent first: ``5 %; 10 % (Latency, p99)``."""
        names: dict[tuple[float, str], dict[str, None]] = {}
        for row in self.rows:
            for each in row.against:
                names.setdefault((self.margin_of(row, each), each.origin), {})[row.metric.title] = None
        texts: list[str] = []
        for (share, origin), metrics in sorted(names.items(), key=lambda found: -len(found[1])):
            named = "; ".join([*list(metrics)[:MOST_NAMES], *(["…"] if len(metrics) > MOST_NAMES else [])])
            text = f"{exact_share_text(share)}, {origin}" if origin else exact_share_text(share)
            texts.append(f"{text} ({named})" if texts else text)
        return "; ".join(texts)


def run_letter(number: int) -> str:
    """Return the short name of run `number`: A to Z, then ``run 27``."""
    return chr(ord("A") + number) if number < 26 else f"run {number + 1}"


def run_letters(numbers: Iterable[int]) -> str:
    """Return the distinct letters of runs in order: ``B, C and D``."""
    *others, last = map(run_letter, sorted(set(numbers)))
    return f"{', '.join(others)} and {last}" if others else last


def run_name(number: int) -> str:
    """Return the short name of run `number`; run 0 is marked as the baseline."""
    return f"{run_letter(number)}, baseline" if number == 0 else run_letter(number)


publish(Caveat, "id text")
publish(ComparisonRow, "metric=metric.name unit=metric.unit better=metric.better step labels")
publish(
    RelativeFigure,
    "ratio low high verdict=text reason outcome=verdict more p p_same level scope paired=pairs counts sessions caveats "
    "differences",
)


class SideJson(TypedDict):
    """One side of a comparison."""

    run: str
    part: str | None
    host: str | None
    n: int
    value: float | None
    median: float | None
    trust: Trust | None
    geometric_mean: float | None
    levels: Annotated[Json, VarianceLevels] | None


class ComparisonKeys(TypedDict):
    """Keys of a metric of a side beside those of ComparisonRow, RelativeFigure and SideJson. `half` is of a duet."""

    margin: float
    margin_of: str | None
    half: NotRequired[Annotated[Json, HalfEffect]]
    overruled: str | None
    baseline: SideJson


ComparisonJson = Annotated[Json, ComparisonRow, RelativeFigure, SideJson, ComparisonKeys]


def comparison_to_json(comparison: Comparison) -> list[ComparisonJson]:
    """Return one entry for each metric of each side but the baseline."""
    return [
        _entry(comparison, row, against, number)
        for row in comparison.rows
        for number, against in enumerate(row.against, 1)
    ]


def _entry(comparison: Comparison, row: ComparisonRow, against: RelativeFigure, number: int) -> ComparisonJson:
    baseline, side = row.sides[0], row.sides[number]
    return {
        **published(row),
        **published(against),
        "n": 0 if side is None else side.n,
        "margin": comparison.margin_of(row, against),
        "margin_of": against.origin or None,
        **({} if against.half is None else {"half": published(against.half)}),
        "overruled": comparison.overruled or None,
        "host": row.host if side is None else side.host,
        "run": comparison.runs[number].id,
        "part": comparison.runs[number].part or None,
        "value": None if side is None else side.value,
        "median": None if side is None else side.median,
        "trust": None if side is None else side.trust,
        "geometric_mean": None if against.centres is None else against.centres[0],
        "levels": published(row.levels[number]),
        "baseline": {
            "run": comparison.runs[0].id,
            "part": comparison.runs[0].part or None,
            "host": None if baseline is None else baseline.host,
            "n": 0 if baseline is None else baseline.n,
            "value": None if baseline is None else baseline.value,
            "median": None if baseline is None else baseline.median,
            "trust": None if baseline is None else baseline.trust,
            "geometric_mean": None if against.centres is None else against.centres[1],
            "levels": published(row.levels[0]),
        },
    }

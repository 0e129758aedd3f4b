"""What a comparison says: rows of metrics, and what may be said of each side against the first."""

from dataclasses import dataclass

from app.comparing.assumptions import Caveat
from app.comparing.gate import Difference
from app.comparing.levels import Levels
from app.comparing.verdicts import Verdict
from app.records import RunSummary
from app.summary import MetricSummary
from app.wording import share_text
from suites.errors import BenchwrightError
from suites.vocab import Labels, Metric

METHOD = (
    "ratio of the geometric means of trials; 95 % interval by Welch's t on their logarithms; one trial is one value; "
    "of several metrics each has to outlast Holm's correction"
)


class CompareError(BenchwrightError):
    """These runs cannot be put side by side at all."""


@dataclass(frozen=True, slots=True)
class Against:
    """One side's figure against the baseline's. `ratio`, `low` and `high` are None for `reason`.

    `text` is the verdict as a sentence, `reason` why it is this one and what weakens it, `caveats` the latter alone.
    `differences` are what the gate found, `more` the trials a side (or hosts, where these were taken together) that
    would settle an undecided ratio, and `p` the p-value of no difference, corrected for all metrics of this side.
    `margin` is the one it was judged by where that is the hosts' own, and `origin` says so. `centres` are what the
    ratio is of: the geometric means of this side and of the baseline, in the row's unit.
    """

    verdict: Verdict
    reason: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    text: str = ""
    caveats: tuple[Caveat, ...] = ()
    differences: tuple[Difference, ...] = ()
    more: int | None = None
    p: float | None = None
    margin: float | None = None
    origin: str = ""
    centres: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one step on one host. `sides` has an entry for every side, None where one has no figure;
    `against` one for every side but the first; `levels` tell where the spread of each comes from."""

    step: str
    host: str
    metric: Metric
    labels: Labels
    sides: tuple[MetricSummary | None, ...]
    against: tuple[Against, ...]
    levels: tuple[Levels | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Sides next to each other; the first is the baseline. `runs` has a line for each side, of a group one that names
    all its runs. `notes` say what differs without forbidding to compare; `overruled` is why what forbids was let by,
    empty where nothing was."""

    runs: tuple[RunSummary, ...]
    margin: float
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # those of the notes that the gate's differences say as well
    method: str = METHOD
    overruled: str = ""

    def margin_of(self, against: Against) -> float:
        """Return the margin by which one side was judged."""
        return self.margin if against.margin is None else against.margin

    def margin_in(self, row: Row) -> float:
        """Return the widest margin by which a side was judged in one row."""
        return max((self.margin_of(against) for against in row.against), default=self.margin)

    @property
    def origins(self) -> tuple[str, ...]:
        """The margins that are hosts' own, each once, in words: ``3 %, this host’s own of 12 Nov``."""
        found = {
            f"{share_text(against.margin)}, {against.origin}": None
            for row in self.rows
            for against in row.against
            if against.margin is not None
        }
        return tuple(found)

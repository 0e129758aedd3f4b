"""Baselines: runs, groups of runs or published tables, pinned under a name in versions; and their bands."""

import itertools
import json
import re
import shlex
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, TypedDict

import resources
from app.baselines.reference import NO_SPREAD, Reference, ReferenceFigure, facts_of, step_metrics
from app.baselines.reference_file import ReferenceJson, parse_toml, reference_from, reference_to_json
from app.comparison.comparability import Profile, Weight, differences
from app.comparison.joined import join
from app.comparison.selectors import Load, choose, pieces_of, run_and_marks
from app.json_converter import Json, publish, published
from app.numeric import mean_of
from app.plans.plan import Step, host_label
from app.records import PREFIX, Band, BaselineRow, RunRecord, SampleSeries, TrialRecord, lowest_trust, split_name
from app.summary import summaries
from app.verdict.stored import computed_trust, judged, loading_judged
from suites.errors import BenchwrightError
from suites.facts import Facts
from suites.quantities import age_text
from suites.units import same_dimension
from suites.verdict import Trust
from suites.vocab import Labels, Metric

if TYPE_CHECKING:
    from app.store.store import Store

TOO_OLD = 90 * 86400.0
"""Default age limit of a baseline in seconds: 90 days, in which hosts get other kernels, microcode and neighbours. A
convention, not measured."""

LONGEST_NAME = 80


class BaselineError(BenchwrightError):
    """An unknown baseline, or one that cannot be pinned."""


class InvalidBaselineError(BaselineError):
    """A run with an invalid result, which is pinned with consent only."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """One version of a baseline. `parts` are selectors of its runs (app.comparison.sides.choose()); `size` is their
    number when pinned, so that deleted ones are noticed. `pinned` is the time of pinning, None if not recorded.
    `measured` is the start of its newest run, `oldest` the age limit in seconds. `built_in` ones are read-only.
    """

    name: str
    version: int
    pinned: str | None
    parts: tuple[str, ...] = ()
    size: int = 0
    reference: Reference | None = None
    measured: str = ""
    oldest: float = TOO_OLD
    newest: bool = True
    built_in: bool = False
    trust: str = ""  # the lowest of the verdicts on its parts; empty without one

    @property
    def selector(self) -> str:
        """The selector of this version."""
        return f"{PREFIX}{self.name}@{self.version}"

    @property
    def kind(self) -> str:
        """The kind: ``run``, ``group`` or ``reference``."""
        if self.reference is not None:
            return "reference"
        return "run" if self.size == 1 else "group"

    @property
    def runs(self) -> tuple[str, ...]:
        """The distinct ids of its runs."""
        return tuple(dict.fromkeys(re.split("[@:]", selector, maxsplit=1)[0] for selector in self.parts))

    def age(self, now: datetime | None = None) -> float | None:
        """Return its age in seconds, None without a date."""
        try:
            moment = datetime.fromisoformat(self.measured)
        except ValueError:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return ((now or datetime.now(UTC)) - moment).total_seconds()

    def too_old(self) -> bool:
        """Return whether it is older than its limit."""
        age = self.age()
        return age is not None and age > self.oldest


def remarks(baseline: Baseline, now: datetime | None = None, *, dated: bool = True) -> Iterator[str]:
    """Yield the remarks on a baseline: too old (`dated`: with its age), its trust if it is not valid, a published
    table, runs deleted, replaced."""
    age = baseline.age(now)
    if age is not None and age > baseline.oldest:
        yield f"too old: {f'measured {age_text(age)} ago, ' if dated else ''}limit {age_text(baseline.oldest)}"
    if baseline.trust not in {"", Trust.VALID}:
        yield baseline.trust
    if baseline.reference is not None:
        yield NO_SPREAD
    elif len(baseline.parts) < baseline.size:
        yield f"{baseline.size - len(baseline.parts)} of its {baseline.size} runs were deleted"
    if not baseline.newest:
        yield f"version {baseline.version}, not the newest"


def content_text(baseline: Baseline) -> str:
    """Return what a baseline contains: ``one run``, ``5 runs``, ``12 published figures``."""
    texts = {"run": "one run", "group": f"{len(baseline.parts)} runs", "reference": _counted(baseline.reference)}
    return texts[baseline.kind]


def title(baseline: Baseline) -> str:
    """Return name, version and content of a baseline in a line."""
    return f"{baseline.name}, version {baseline.version}, {content_text(baseline)}"


HEAD = ("Baseline", "Version", "Contents", "Measured", "Remarks")
"""Column titles of baseline_row()."""


def baseline_row(baseline: Baseline) -> list[str]:
    """Return the cells of a baseline in the order of HEAD; the age is in its own cell only."""
    age = baseline.age()
    measured = "unknown" if age is None else f"{age_text(age)} ago"
    contents = content_text(baseline) + (", built in" if baseline.built_in else "")
    return [baseline.name, str(baseline.version), contents, measured, "; ".join(remarks(baseline, dated=False))]


def _counted(reference: Reference | None) -> str:
    count = 0 if reference is None else len(reference.figures)
    return f"{count} published figure{'' if count == 1 else 's'}"


def check_name(name: str) -> str:
    """Return the stripped `name`; raise BaselineError for one that is ambiguous with another selector."""
    chosen = name.strip()
    wrong = not chosen or len(chosen) > LONGEST_NAME or not chosen.isprintable() or chosen == "last"
    if wrong or split_name(chosen)[1] is not None or chosen.startswith(PREFIX):
        raise BaselineError(
            f"“{name[:LONGEST_NAME]}” is not a valid baseline name.",
            f"Use at most {LONGEST_NAME} characters, not “last”, and no @ with a number at the end.",
        )
    return chosen


def stored_baselines(store: "Store") -> list[Baseline]:
    """Return every version of every pinned baseline, the newest pinned first."""
    return [_baseline(replace(row, trust=_trust(store, row))) for row in store.baselines()]


def _trust(store: "Store", row: BaselineRow) -> str:
    """Return the trust of the parts of a baseline, also of runs without a stored verdict."""
    return row.trust or lowest_trust(computed_trust(store, {run for run, _ in row.parts}), row.parts)


def _baseline(row: BaselineRow) -> Baseline:
    table = None if row.reference is None else reference_from(json.loads(row.reference), "reference")
    parts, measured = tuple(f"{run}{part}" for run, part in row.parts), table.measured if table else row.begun
    oldest = TOO_OLD if row.oldest is None else row.oldest
    return Baseline(
        row.name, row.version, row.pinned, parts, row.size, table, measured, oldest, row.newest, trust=row.trust
    )


def pin(store: "Store", selector: str, name: str, oldest: float | None = None, *, accept_invalid: bool = False) -> int:
    """Pin a run, or runs joined by commas, as the next version of the baseline `name`; return the version.

    `oldest` is the age limit in seconds, by default TOO_OLD. Raises StoreError for an unknown run, BaselineError for
    one without a counted trial, InvalidBaselineError for one with an invalid result unless `accept_invalid`.
    """
    with loading_judged(store) as load:
        parts = parts_of(load, selector)
        for run in dict.fromkeys(run for run, _ in parts):
            _refuse_empty(load(run))
        for run, part in () if accept_invalid else parts:
            _refuse_invalid(choose(load, f"{run}{part}"), f"{shlex.quote(selector)} {shlex.quote(name)}")
    return store.pin(check_name(name), parts, oldest=oldest)


def pin_reference(store: "Store", table: Reference, name: str, oldest: float | None = None) -> int:
    """Store a published table as the next version of the baseline `name`; return the version."""
    content = json.dumps(reference_to_json(table), allow_nan=False)
    return store.pin(check_name(name), reference=content, oldest=oldest)


def _refuse_empty(record: RunRecord) -> None:
    if not record.summary.trials:
        raise BaselineError(
            f"Run {record.summary.id} has no counted trial, so nothing to compare with.", "Pin a run with results."
        )


def _refuse_invalid(runs: Sequence[RunRecord], words: str) -> None:
    for record in runs:
        for verdict in record.verdicts:
            if verdict.trust is Trust.INVALID and verdict.step is not None:
                raise InvalidBaselineError(
                    f"{verdict.step} on {host_label(verdict.host or '')} of run {record.summary.id} is {verdict.text}.",
                    "Pin another run, its valid part (RUN@HOST or RUN:STEP), or accept the invalid result: "
                    f"“benchwright baseline pin --accept-invalid {words}”.",
                )


def parts_of(load: Load, selector: str) -> tuple[tuple[str, str], ...]:
    """Return the full run ids of a selector, each with its part: ``@HOST``, ``:STEP`` or empty."""
    found = (run_and_marks(load, piece) for piece in pieces_of(load, selector))
    return tuple(dict.fromkeys((run.summary.id, "".join(itertools.chain(*marks))) for run, marks in found))


def by_name(found: Sequence[Baseline], selector: str, built_in: Callable[[], Sequence[Baseline]]) -> Baseline:
    """Return the baseline ``NAME@VERSION``, or the newest version of ``NAME``."""
    whole = selector.removeprefix(PREFIX)
    name, version = split_name(selector)
    for one in (*found, *built_in()):
        if (one.name == whole and one.newest) or (one.name == name and one.version == version):
            return one
    names = ", ".join(dict.fromkeys(one.name for one in found)) or "none"
    raise BaselineError(f"There is no baseline “{whole[:LONGEST_NAME]}”.", f"Baselines: {names}.")


LIMIT = 365 * 86400.0
"""Age limit of a published table in seconds."""


@lru_cache(maxsize=1)
def built_in() -> tuple[Baseline, ...]:
    """Return the tables in resources/references, by name."""
    folder = files(resources).joinpath("references")
    texts = sorted((file.name, file.read_text(encoding="utf-8")) for file in folder.iterdir())
    tables = [parse_toml(text, name.removesuffix(".toml")) for name, text in texts if name.endswith(".toml")]
    return tuple(
        Baseline(table.name, 1, None, reference=table, measured=table.measured, oldest=LIMIT, built_in=True)
        for table in tables
    )


publish(Baseline, "name version kind newest built_in pinned max_age=oldest runs=parts size trust")


class BaselineKeys(TypedDict):
    """Keys of a baseline beside those of Baseline."""

    measured: str | None
    too_old: bool
    remarks: list[str]


class BaselineReference(TypedDict):
    """Keys of a whole baseline: its published table."""

    reference: ReferenceJson | None


BaselineJson = Annotated[Json, Baseline, BaselineKeys]
WholeBaselineJson = Annotated[BaselineJson, BaselineReference]


def baseline_to_json(baseline: Baseline, *, whole: bool = False) -> BaselineJson:
    """Return the public JSON of a baseline; `whole` with the figures of a published table."""
    found: Json = {
        **published(baseline),
        "measured": baseline.measured or None,
        "too_old": baseline.too_old(),
        "remarks": list(remarks(baseline)),
    }
    if whole:
        found["reference"] = None if baseline.reference is None else reference_to_json(baseline.reference)
    return found


HANDLED = frozenset({"host", "instance"})
"""Differences that are not another environment: baselines of another host are normal."""


def bands_of(name: str, run_id: str, trials: Sequence[TrialRecord], series: SampleSeries) -> Iterator[Band]:
    """Yield a band for every metric of `trials`, the counted ones of the run `run_id`.

    It spans the quartiles of the samples within the trials, without warm-up; for a metric without samples, those of
    the trials' figures.
    """
    figures: dict[tuple[Metric, Labels], list[float]] = defaultdict(list)
    samples: dict[tuple[Metric, Labels], list[float]] = defaultdict(list)
    for trial in trials:
        for figure in trial.figures:
            figures[figure.metric, figure.labels].append(figure.value)
        for sample in series.get(trial.trial.id, ()):
            if not sample.warm_up:
                samples[sample.metric, sample.labels].append(sample.value)
    for key in figures | samples:
        metric, labels = key
        low, median, high = _quartiles(samples.get(key) or figures[key])
        whole = mean_of(figures[key]) if key in figures else None
        own = tuple(figures.get(key, ()))
        yield Band(
            run_id, name, metric.name, labels, metric.unit.value, median, low, high, whole, trials=len(own), values=own
        )


def _quartiles(values: list[float]) -> tuple[float, float, float]:
    """Return the quartiles, by linear interpolation between the values (R's type 7, numpy's default)."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, median, high


def bands_of_group(
    name: str, record: RunRecord, hosts: Sequence[Sequence[TrialRecord]], series: SampleSeries
) -> Iterator[Band]:
    """Yield a band for every metric of several hosts' trials, which are of `record`.

    The sessions of a host, then the hosts, have equal weight, whatever their number of trials: the median and the
    quartiles are the medians of theirs, widened to the quartiles of their medians. The figure is the mean of the hosts'
    values.
    """
    values = {(one.step, one.host, one.metric.name, one.labels): one.value for one in summaries(record)}
    for (metric, labels), band in _combined([_of_host(name, record, trials, series) for trials in hosts]).items():
        cells = dict.fromkeys((one.trial.step, one.trial.host, metric, labels) for trials in hosts for one in trials)
        figures = [values[cell] for cell in cells if cell in values]
        yield replace(band, figure=mean_of(figures) if figures else None)


_Bands = dict[tuple[str, Labels], Band]


def _of_host(name: str, record: RunRecord, trials: Sequence[TrialRecord], series: SampleSeries) -> _Bands:
    sessions: dict[str, list[TrialRecord]] = {}
    for one in trials:
        source = record.sources.get(one.trial.id)
        sessions.setdefault("" if source is None else source.run, []).append(one)
    made = (bands_of(name, record.summary.id, own, series) for own in sessions.values())
    return _combined([{(band.metric, band.labels): band for band in found} for found in made])


def _combined(each: Sequence[_Bands]) -> _Bands:
    """Return the bands of several sessions or hosts as one; a single one is unchanged."""
    found: _Bands = {}
    for key in dict.fromkeys(key for bands in each for key in bands):
        own = [bands[key] for bands in each if key in bands]
        low, median, high = (
            statistics.median(edges) for edges in zip(*((b.low, b.median, b.high) for b in own), strict=True)
        )
        if len(own) > 1:  # include the variance between them
            lowest, _, highest = _quartiles([band.median for band in own])
            low, high = min(low, lowest), max(high, highest)
        values = own[0].values if len(own) == 1 else ()
        trials = sum(band.trials for band in own)
        found[key] = replace(own[0], low=low, median=median, high=high, trials=trials, values=values)
    return found


def counts_text(trials: int, band: Band) -> str:
    """Return the counts behind a ratio to a band, which has no interval and so no verdict."""
    return ", ".join([*([f"{trials} against {band.trials} trials"] if band.trials else []), "no interval"])


def bands_of_reference(name: str, figures: Sequence[ReferenceFigure], metrics: Sequence[Metric]) -> Iterator[Band]:
    """Yield the published figures of `metrics`: a line, or a band if the table has low and high.

    Figures in a unit of another kind are omitted.
    """
    known = {metric.name: metric for metric in metrics}
    for figure in figures:
        if figure.metric not in known or not same_dimension(figure.unit, known[figure.metric].unit):
            continue
        low, high = (figure.value if edge is None else edge for edge in (figure.low, figure.high))
        yield Band(
            "", name, figure.metric, figure.labels, figure.unit.value, figure.value, low, high, figure.value,
            reference=True,
        )  # fmt: skip


def bands(
    store: "Store", steps: Sequence[Step], hosts: Sequence[str], facts: Mapping[str, Facts]
) -> dict[tuple[str, str], list[Band]]:
    """Return the bands of the newest version of every baseline comparable with each step, by step and host.

    Each run is read once. Verdicts are computed for comparable runs only: it may be called while a run starts.
    """
    found: dict[tuple[str, str], list[Band]] = {(step.name, host): [] for step in steps for host in hosts}
    with store.loading() as loading:
        load = cache(loading)
        for row in store.baselines():
            for step in steps if row.newest else ():
                if row.reference is None and not any(_names(load(run), step) for run, _ in row.parts):
                    continue
                baseline = _baseline(replace(row, trust=_trust(store, row)))
                bands_on, theirs = _bands(store, load, baseline, step)
                for host in hosts:
                    note = "; ".join([*remarks(baseline), *_environment(step, host, facts.get(host), theirs)])
                    made = (replace(band, note=note, step=step.name, host=host) for band in bands_on(host))
                    found[step.name, host].extend(made)
    return found


def _bands(
    store: "Store", load: Load, baseline: Baseline, step: Step
) -> tuple[Callable[[str], Iterable[Band]], list[Facts]]:
    """Return what gives the bands of a baseline for a host, and the facts of the baseline's hosts."""
    if (table := baseline.reference) is not None:
        published = tuple(bands_of_reference(baseline.name, table.of(step), step_metrics(step)))
        return lambda _host: published, [facts_of(table)]
    runs = [run for part in baseline.parts for run in choose(lambda one: judged(store, load(one)), part)]
    fitting = [run for run in runs if _names(run, step)]
    if not fitting:
        return lambda _host: (), []
    record, series = join(fitting, {run.summary.id: store.samples(run.summary.id) for run in fitting})
    return (
        lambda host: bands_of_group(baseline.name, record, _hosts(record, step, host), series),
        [each for run in fitting for each in run.facts_before.values()],
    )


def _names(run: RunRecord, step: Step) -> list[str]:
    wanted = step.fingerprint()
    return [known.name for known in run.plan.steps if known.fingerprint() == wanted]


def _hosts(record: RunRecord, step: Step, host: str) -> list[list[TrialRecord]]:
    """Return the comparable trials by host; only those of `host` if it has any."""
    by_host: dict[str, list[TrialRecord]] = {}
    for name in _names(record, step):
        for trial in record.trials_of(name):
            by_host.setdefault(trial.trial.host, []).append(trial)
    return [by_host[host]] if host in by_host else list(by_host.values())


def _environment(step: Step, host: str, facts: Facts | None, theirs: Sequence[Facts]) -> Iterator[str]:
    """Yield the environment of a baseline's hosts where it differs: kernel, instance type, .."""
    if facts is None:
        return
    found = differences(Profile((step,), (host,), facts=(facts,)), Profile((step,), (host,), facts=tuple(theirs)))
    relevant = [each for each in found if each.weight is not Weight.HARMLESS and each.what not in HANDLED]
    others = [f"{each.label} {each.baseline}" for each in relevant if each.baseline]
    if others:
        yield f"other environment: {', '.join(others)}"

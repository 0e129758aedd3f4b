"""The figures of a step as a table, beside a baseline or against the first run."""

from collections.abc import Iterator, Sequence

from app.comparing.compare import Against, Comparison, Row, Verdict, verdict_text
from app.comparing.intervals import CONFIDENCE
from app.picture.curves import Shown
from app.picture.look import BODY, ERROR, GOOD, QUIET, STRONG, Style
from app.picture.matrix import Matrix
from app.picture.table import Cell, Column, Line
from app.plans.plan import host_words
from app.records import Band
from app.summary import MetricSummary, summaries
from app.wording import (
    direction_text,
    edges_text,
    figure_text,
    metric_text,
    range_text,
    ratio_text,
    run_name,
    share_text,
)
from suites.vocab import Labels, Metric

COMPARED = (
    Column("Metric", least=250, widest=260),
    Column("Run", least=80, widest=180),
    Column("Median", right=True, least=90),
    Column("Lowest to highest", right=True, least=120, widest=200),
    Column("n", right=True, least=24),
    Column("Ratio to A", right=True),
    Column(f"{share_text(CONFIDENCE)} interval", right=True, widest=120),
    Column("Verdict", least=180, widest=330),
)


def columns_alone(shown: Shown) -> tuple[Column, ...]:
    """Return the columns of a single run; the baseline is named in the head where there is one alone."""
    names = _baselines(shown)
    return (
        Column("Metric", least=290, widest=330),
        Column("Host", widest=180),
        Column("Median", right=True, least=110),
        Column("Lowest to highest", right=True, least=170),
        Column("CoV", right=True, least=50),
        Column("n", right=True, least=24),
        Column(f"Against “{names[0]}”" if len(names) == 1 else "Against the baseline", least=130, widest=240),
        Column("Direction", widest=140),
    )


def _baselines(shown: Shown) -> list[str]:
    names = {step.name for step in shown.steps if step is not None}
    found = (band_of(summary, shown.bands) for summary in summaries(shown.records[0]) if summary.step in names)
    return list(dict.fromkeys(band.name for band in found if band is not None))


def rows_alone(shown: Shown, made: Sequence[Matrix] = ()) -> list[Line]:
    """Return the rows of a single run: every metric over its trials, with the ratio to a pinned baseline.

    What stands in the tables `made` of it, and is held against no baseline, is not said again.
    """
    names = {step.name for step in shown.steps if step is not None}
    found = [
        summary
        for record in shown.records
        for summary in summaries(record)
        if summary.step in names and (band_of(summary, shown.bands) or not any(one.covers(summary) for one in made))
    ]
    several = len({summary.host for summary in found}) > 1
    lines = []
    before: tuple[Metric, Labels] | None = None
    for summary in sorted(found, key=lambda summary: _rank(found, summary)) if several else found:
        opens = (summary.metric, summary.labels) != before
        before = (summary.metric, summary.labels)
        cells = (
            Cell(metric_text(summary.metric, summary.labels) if opens else ""),
            Cell(host_words(summary.host) if several else "", QUIET),
            *_spread(summary),
            Cell(f"{summary.n}"),
            Cell(_against_band(summary, shown.bands, named=len(_baselines(shown)) > 1)),
            Cell(direction_text(summary.metric.better) if opens else "", QUIET),
        )
        lines.append(Line(cells, opens))
    return lines


def _rank(found: Sequence[MetricSummary], summary: MetricSummary) -> int:
    """Return where the metric of `summary` came first, so that its hosts stand together."""
    same = (each for each in found if (each.metric, each.labels) == (summary.metric, summary.labels))
    return found.index(next(same))


def _spread(summary: MetricSummary) -> Iterator[Cell]:
    metric = summary.metric
    yield Cell(figure_text(metric, summary.median, summary.uncertainty), STRONG)
    spread = range_text(metric, summary.minimum, summary.maximum, summary.uncertainty)
    yield Cell(spread if summary.n > 1 else "", QUIET)
    yield Cell("" if summary.cov is None else share_text(summary.cov), QUIET)


def _against_band(summary: MetricSummary, bands: Sequence[Band], *, named: bool) -> str:
    band = band_of(summary, bands)
    if band is None or not band.figure:
        return ""
    ratio = ratio_text(summary.median / band.figure, summary.metric.better)
    if band.reference:  # without a spread nothing is better or worse
        ratio = ratio.partition(",")[0]
    return f"{ratio} (“{band.name}”)" if named else ratio


def band_of(summary: MetricSummary, bands: Sequence[Band]) -> Band | None:
    """Return the newest pinned baseline's band for a figure."""
    wanted = (summary.metric.name, summary.labels, summary.metric.unit.value)
    return next(
        (
            band
            for band in bands
            if (band.metric, band.labels, band.unit) == wanted
            and band.step in {"", summary.step}
            and band.host in {"", summary.host}
        ),
        None,
    )


def rows_compared(comparison: Comparison, step: str) -> list[Line]:
    """Return the rows of several runs: under every metric the baseline, then each run against it.

    A reason that holds for every metric of a run is given once.
    """
    told: set[tuple[int, str]] = set()
    return [line for row in comparison.rows if row.step == step for line in _compared(row, comparison, told)]


def _compared(row: Row, comparison: Comparison, told: set[tuple[int, str]]) -> Iterator[Line]:
    hosts = len({side.host for side in row.sides if side is not None}) > 1
    titles = {0: Cell(metric_text(row.metric, row.labels)), 1: Cell(direction_text(row.metric.better), QUIET)}
    for number, side in enumerate(row.sides):
        against = row.against[number - 1] if number else None
        reason = "" if against is None or (number, against.reason) in told else against.reason
        told.add((number, reason))
        where = f", {host_words(side.host)}" if hosts and side is not None else ""
        yield Line(
            (
                titles.get(number, Cell("")),
                Cell(run_name(number) + where, QUIET),
                *_side(side),
                *_judged(row, against, comparison, reason),
            ),
            opens=number == 0,
        )


def _side(side: MetricSummary | None) -> Iterator[Cell]:
    if side is None:
        yield Cell("not measured", QUIET)
        yield from (Cell(""), Cell("0"))
        return
    median, spread, _ = _spread(side)
    yield from (median, spread, Cell(f"{side.n}"))


def _judged(row: Row, against: Against | None, comparison: Comparison, reason: str) -> Iterator[Cell]:
    if against is None:
        yield from (Cell(""), Cell(""), Cell(""))
        return
    yield Cell("" if against.ratio is None else ratio_text(against.ratio, row.metric.better).split(",")[0], STRONG)
    known = against.low is not None and against.high is not None
    yield Cell(" to ".join(edges_text(against.low or 1.0, against.high or 1.0, 3)) if known else "", QUIET)
    words = verdict_text(against.verdict, comparison.margin_of(against))
    if reason and against.verdict in {Verdict.UNDECIDED, Verdict.NOT_COMPARABLE}:
        words += f": {reason}"
    yield Cell(words, toned(against.verdict))


def toned(verdict: Verdict) -> Style:
    """Return body text in the colour of a verdict; the words say it as well."""
    colour = {Verdict.BETTER: GOOD, Verdict.WORSE: ERROR}.get(verdict, BODY.colour)
    return Style(BODY.size, BODY.leading, colour)

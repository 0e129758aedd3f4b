"""A comparison as lines of text."""

from collections.abc import Iterator
from string import ascii_uppercase

from app.compare import Against, Comparison, Row, verdict_text
from app.summary import MetricSummary
from app.wording import direction_text, figure_text, metric_text, ratio_text, spread_text
from suites.vocab import Better

HEAD = ("Step", "Host", "Metric", "Run", "Median", "n", "Ratio", "95 % interval", "Verdict")

RIGHT_ALIGNED = (4, 5)


def run_lines(comparison: Comparison) -> list[str]:
    """Return which run each letter stands for; the first is the baseline."""
    lines = [
        f"{_letter(number)}  {run.id}  {run.name}  {run.started[:16].replace('T', ' ')} UTC"
        for number, run in enumerate(comparison.runs)
    ]
    return [f"{lines[0]}  baseline", *lines[1:]]


def comparison_rows(comparison: Comparison) -> list[list[str]]:
    """Return a line for each metric of the baseline, and below it one for each other run."""
    return [line for row in comparison.rows for line in _lines(comparison, row)]


def closing_lines(comparison: Comparison) -> list[str]:
    """Return what has to be known to read the table."""
    directions = ", ".join(map(direction_text, Better))
    notes = [f"Note: {note}" for note in comparison.notes]
    return [*notes, f"Median ± half the range of its trials; {directions}; {comparison.method}."]


def _letter(number: int) -> str:
    return ascii_uppercase[number] if number < len(ascii_uppercase) else str(number + 1)


def _lines(comparison: Comparison, row: Row) -> Iterator[list[str]]:
    baseline, *others = row.sides
    metric = f"{metric_text(row.metric, row.labels)} {direction_text(row.metric.better)[0]}"
    yield [row.step, row.host, metric, _letter(0), *_value(baseline), "", "", ""]
    for number, (side, against) in enumerate(zip(others, row.against, strict=True), 1):
        host = "" if side is None or side.host == row.host else side.host
        yield ["", host, "", _letter(number), *_value(side), *_against(row, against, comparison.margin)]


def _value(side: MetricSummary | None) -> tuple[str, str]:
    """Return the median with half the range of its trials, and how many those are."""
    if side is None:
        return "—", "0"
    half = side.uncertainty
    text = spread_text(side.metric, side.median, half) if half else figure_text(side.metric, side.median)
    return text, str(side.n)


def _against(row: Row, against: Against, margin: float) -> tuple[str, str, str]:
    ratio = "" if against.ratio is None else ratio_text(against.ratio, row.metric.better)
    interval = "" if against.low is None or against.high is None else f"{against.low:.3f} to {against.high:.3f}"
    verdict = verdict_text(against.verdict, margin)
    return ratio, interval, f"{verdict}: {against.reason}" if against.reason else verdict

"""A comparison as lines of text."""

from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from app.comparing.compare import Against, Comparison, Row
from app.comparing.gate import Weight
from app.comparing.levels import HOST, SAMPLE, TRIAL, Level, Levels
from app.plans.plan import host_words
from app.records import RunSummary
from app.summary import MetricSummary
from app.wording import direction_text, figure_text, metric_text, ratio_text, share_text, spread_text
from suites.vocab import Better

HEAD = ("Step", "Host", "Metric", "Run", "Median", "n", "Ratio", "Verdict")

RIGHT_ALIGNED = (4, 5)


def run_lines(comparison: Comparison) -> list[str]:
    """Return which run each letter stands for; the first is the baseline."""
    lines = [
        f"{_letter(number)}  {run.id}  {run.name}  {_moment(run.started)}{part}".rstrip()
        for number, (run, part) in enumerate(zip(comparison.runs, _parts(comparison.runs), strict=True))
    ]
    return [f"{lines[0]}  baseline", *lines[1:]]


def _parts(runs: Sequence[RunSummary]) -> list[str]:
    """Return which part of its run each side is, where one run is on several sides."""
    if len({run.id for run in runs}) == len(runs):
        return [""] * len(runs)
    return [f"  {', '.join(run.steps)} on {', '.join(map(host_words, run.hosts))}" for run in runs]


def _moment(started: str) -> str:
    """Return when a run began; a published table has a day at best."""
    return f"{started[:16].replace('T', ' ')} UTC" if len(started) > len("2026-01-31") else started


def comparison_rows(comparison: Comparison) -> list[list[str]]:
    """Return a line for each metric of the baseline, and below it one for each other run."""
    return [line for row in comparison.rows for line in _lines(row)]


def closing_lines(comparison: Comparison) -> list[str]:
    """Return what has to be known to read the table."""
    directions = ", ".join(map(direction_text, Better))
    notes = [f"Note: {note}" for note in comparison.notes if note not in comparison.remarks]
    own = [f"Margin {origin}." for origin in comparison.origins]
    return [*notes, *own, f"Median ± half the range of its trials; {directions}; {comparison.method}."]


def _letter(number: int) -> str:
    return ascii_uppercase[number] if number < len(ascii_uppercase) else str(number + 1)


def _lines(row: Row) -> Iterator[list[str]]:
    baseline, *others = row.sides
    metric = f"{metric_text(row.metric, row.labels)} {direction_text(row.metric.better)[0]}"
    yield [row.step, host_words(row.host), metric, _letter(0), *_value(baseline), "", ""]
    for number, (side, against) in enumerate(zip(others, row.against, strict=True), 1):
        host = "" if side is None or side.host == row.host else host_words(side.host)
        yield ["", host, "", _letter(number), *_value(side), *_against(row, against)]


def _value(side: MetricSummary | None) -> tuple[str, str]:
    """Return the median with half the range of its trials, and how many those are."""
    if side is None:
        return "—", "0"
    half = side.uncertainty
    text = spread_text(side.metric, side.median, half) if half else figure_text(side.metric, side.median)
    return text, str(side.n)


def _against(row: Row, against: Against) -> tuple[str, str]:
    # The verdict says what it means; beside “undecided” a “worse” would contradict it.
    ratio = "" if against.ratio is None else ratio_text(against.ratio, row.metric.better).partition(",")[0]
    return ratio, against.text


GATE_HEAD = ("Differs", "Step", "Host", "What", "Run", "Baseline", "What it means")


def gate_rows(comparison: Comparison) -> list[list[str]]:
    """Return a line for everything that differs between the places of two sides, the gravest first."""
    rows: dict[tuple[str, ...], None] = {}
    for row in comparison.rows:
        for number, against in enumerate(row.against, 1):
            for each in against.differences:
                run = f"{_letter(number)}: {each.ours}" if each.ours else _letter(number)
                rows[each.weight.value, row.step, host_words(row.host), each.what, run, each.baseline, each.why] = None
    order = [weight.value for weight in Weight]
    return sorted(map(list, rows), key=lambda row: order.index(row[0]))


LEVELS_HEAD = ("Within a trial", "Between trials", "Between hosts", "ICC")


def levels_rows(comparison: Comparison) -> list[list[str]]:
    """Return a line for each side of each metric: how much it spreads on each level, and how many stand there."""
    return [
        [row.step, host_words(row.host), metric_text(row.metric, row.labels), _letter(number), *level_cells(levels)]
        for row in comparison.rows
        for number, levels in enumerate(row.levels)
        if levels is not None
    ]


def level_cells(levels: Levels) -> list[str]:
    """Return the levels of a spread in words, from the innermost: ``2.1 % (n = 300)``."""
    return [*(_level(levels.level(name)) for name in (SAMPLE, TRIAL, HOST)), _icc(levels)]


def _level(level: Level | None) -> str:
    if level is None:
        return "—"
    return f"{'—' if level.cov is None else share_text(level.cov)} (n = {level.n})"


def _icc(levels: Levels) -> str:
    return "" if levels.icc is None else f"{levels.icc:.2f}"

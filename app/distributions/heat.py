"""Latency heat maps: how many I/Os took how long in each second, as charts. What percentiles hide stands in them."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from app.chart import Axis, Cell, Chart, Mark, Series
from app.plans.plan import host_words
from app.records import RunRecord
from app.wording import label_text
from suites.fio.heat import Slice, latency_slices
from suites.fio.metrics import LATENCY_MAX
from suites.vocab import Labels

HEATS = dict.fromkeys(("fio", "fio-sweep", "fio-job"), latency_slices)
"""Suites whose tools count every request by its latency each second, and how that is read of their output."""

ROWS_A_DECADE = 8
"""Bins of latency for each factor of ten: narrow enough for two modes to part, wide enough to be seen."""

MOST_COLUMNS = 160
"""Intervals across; more are put together."""

MOST_OF_A_STEP = 4
"""Heat maps of one step in a report: it has to stay a page."""

NOTE = "Each column is an interval, each row a range of latencies; the stronger its colour, the more I/Os."


def heat_charts(output: bytes, suite: str, title: str) -> list[Chart]:
    """Return a heat map for each operation and job of a trial's raw `output`; none where its tool has no histogram."""
    read = HEATS.get(suite)
    slices = read(output) if read is not None else []
    by_labels: dict[Labels, list[Slice]] = {}
    for one in slices:
        by_labels.setdefault(one.labels, []).append(one)
    return [heat_chart(found, f"Latency, {label_text(marks)}: {title}") for marks, found in by_labels.items()]


def last_heats(record: RunRecord, output: Callable[[int], Mapping[str, bytes]]) -> dict[str, list[Chart]]:
    """Return by step the heat maps of its last trial that counts on each host; `output` reads a trial's raw output."""
    found: dict[str, list[Chart]] = {}
    for step in record.plan.steps:
        if step.suite_id not in HEATS:
            continue
        last = {trial.trial.host: trial.trial for trial in record.trials_of(step.name)}
        charts = [
            chart
            for host, trial in last.items()
            for chart in heat_charts(
                output(trial.id).get("stdout", b""), step.suite_id, f"{host_words(host)}, trial {trial.number}"
            )
        ]
        found[step.name] = charts[:MOST_OF_A_STEP]
    return found


def heat_chart(slices: Sequence[Slice], title: str) -> Chart:
    """Return `slices`, which are of one thing, as one heat map."""
    cells = _cells(_columns(slices))
    most = max((count for *_, count in cells), default=1)
    total = sum(count for *_, count in cells)
    drawn = tuple(
        Cell(left, right, low, high, math.log1p(count) / math.log1p(most), count)
        for left, right, low, high, count in cells
    )
    series = Series("", (), (), Mark.HEAT, cells=drawn)
    note = f"{total:,} I/Os, at most {most:,} in one field. {NOTE}"
    return Chart(title, Axis("seconds"), Axis("latency", LATENCY_MAX, logarithmic=True), (series,), note)


def _columns(slices: Sequence[Slice]) -> list[tuple[float, float, dict[int, int]]]:
    """Return intervals with the I/Os by row, neighbours put together where there are too many."""
    together = -(-len(slices) // MOST_COLUMNS)
    found = []
    for place in range(0, len(slices), together or 1):
        group = slices[place : place + together]
        found.append((group[0].start, group[-1].end, _rows(one.bins for one in group)))
    return found


def _rows(several: Iterable[Mapping[int, int]]) -> dict[int, int]:
    rows: dict[int, int] = {}
    for bins in several:
        for latency, count in bins.items():
            row = math.floor(ROWS_A_DECADE * math.log10(max(1, latency)))
            rows[row] = rows.get(row, 0) + count
    return rows


def _cells(columns: Sequence[tuple[float, float, Mapping[int, int]]]) -> list[tuple[float, float, float, float, int]]:
    return [
        (left, right, 10 ** (row / ROWS_A_DECADE), 10 ** ((row + 1) / ROWS_A_DECADE), count)
        for left, right, rows in columns
        for row, count in rows.items()
    ]

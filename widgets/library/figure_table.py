"""Table of a run's results: every metric over the counted trials, grouped by step and host."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Signal

from app.records import RunRecord
from app.summary import MetricSummary, headline_metrics, summaries
from suites.quantities import better_text, figure_text, metric_text, share_text
from widgets.library.run_rows import half_interval_text
from widgets.parts.names import MISSING, step_host_label
from widgets.parts.severity import doubt_icon
from widgets.parts.table import Table
from widgets.parts.table_model import RIGHT, TableColumn, TableModel
from widgets.parts.text import sheet_text


@dataclass(frozen=True, slots=True)
class FigureLine:
    """A heading, or a metric over its trials. `is_headline` marks a headline metric of the step."""

    heading: str
    summary: MetricSummary | None = None
    is_headline: bool = False

    @property
    def figure(self) -> MetricSummary:
        """The summary; TypeError for a heading."""
        if self.summary is None:
            raise TypeError("a heading has no figure")
        return self.summary


def figure_lines(record: RunRecord) -> list[FigureLine]:
    """Return the metrics of `record` under a heading for each step and host, headline metrics first."""
    found = summaries(record)
    lines: list[FigureLine] = []
    for step in record.plan.steps:
        for host in dict.fromkeys(summary.host for summary in found if summary.step == step.name):
            here = [summary for summary in found if (summary.step, summary.host) == (step.name, host)]
            first = headline_metrics(step, [summary.metric for summary in here])
            ordered = sorted(here, key=lambda summary: summary.metric.name not in first)
            lines.append(FigureLine(step_host_label(step.name, host)))
            lines += [FigureLine("", summary, summary.metric.name in first) for summary in ordered]
    return lines


def _range(line: FigureLine) -> str:
    one = line.figure
    return one.range_text if one.n > 1 else MISSING


def _metric_tip(line: FigureLine) -> str:
    one = line.figure
    return f"{metric_text(one.metric, one.labels)}\n{one.metric.name}, {one.metric.unit.value}"


def _trials(line: FigureLine) -> str:
    one = line.figure
    listed = ", ".join(figure_text(one.metric, value, one.uncertainty) for value in one.values[:20])
    more = f", and {one.n - 20} more" if one.n > 20 else ""
    verdict = f"\nVerdict: {one.verdict.text}" if one.verdict is not None and one.doubt else ""
    return f"Trials in order: {listed}{more}{verdict}"


FIGURE_COLUMNS: tuple[TableColumn[FigureLine], ...] = (
    TableColumn(
        "Metric", lambda line: metric_text(line.figure.metric, line.figure.labels), more=_metric_tip,
        stretch=True, least=230,
    ),
    TableColumn(
        "Value", lambda line: figure_text(line.figure.metric, line.figure.value, line.figure.uncertainty),
        align=RIGHT, tip="Geometric mean of the trials", more=_trials, bold=lambda line: line.is_headline,
        mark=lambda line: doubt_icon(line.figure.trust), topic="verdicts",
    ),
    TableColumn(
        "±", lambda line: half_interval_text(line.figure), align=RIGHT, tone="muted",
        tip="95 % interval of the value, from the trials of this session",
        more=lambda line: _trials(line) if line.figure.n > 1 else "No interval: one trial", topic="repetition",
    ),
    TableColumn(
        "CoV", lambda line: MISSING if line.figure.cov is None else share_text(line.figure.cov), align=RIGHT,
        tip="Coefficient of variation: standard deviation / mean of the trials", more=_trials, tone="muted",
        hide_order=3, topic="analyses",
    ),
    TableColumn(
        "n", lambda line: str(line.figure.n), align=RIGHT, tone="muted", more=_trials,
        tip="Counted trials, without warm-ups and failed trials",
    ),
    TableColumn(
        "Range", _range, align=RIGHT, tone="muted", tip="Lowest and highest trial", more=_trials,
        hide_order=2,
    ),
    TableColumn(
        "Better", lambda line: better_text(line.figure.metric.better), tone="muted", tip="Direction of improvement",
        more=_trials, hide_order=1,
    ),
)  # fmt: skip


class FigureTable(Table[FigureLine]):
    """Table of a run's metrics; the selection emits its step and host."""

    chosen_step_key = Signal(object)  # a StepKey

    def __init__(self) -> None:
        super().__init__("Figures of the run", TableModel(FIGURE_COLUMNS, heading=lambda line: line.heading))
        self.selectionModel().currentRowChanged.connect(self._choose)

    def show_run(self, record: RunRecord) -> None:
        """Show the results of `record`."""
        self.show_rows(figure_lines(record))

    def as_text(self) -> str:
        """Return all results as tab-separated text, unrounded, with units."""
        return sheet_text(_sheet(self.content.rows))

    def _choose(self) -> None:
        line = self.current()
        if line is not None:
            self.chosen_step_key.emit((line.figure.step, line.figure.host))


def _sheet(lines: Sequence[FigureLine]) -> Iterator[Sequence[str | float | None]]:
    yield (
        "step",
        "host",
        "metric",
        "labels",
        "value",
        "median",
        "unit",
        "lowest",
        "highest",
        "cov",
        "n",
        "better",
        "trust",
    )
    for found in (line.summary for line in lines if line.summary is not None):
        metric = found.metric
        labelled = ";".join(f"{name}={value}" for name, value in found.labels)
        spread = (found.minimum, found.maximum, found.cov, found.n)
        yield (
            found.step, found.host, metric.name, labelled, found.value, found.median, metric.unit.value, *spread,
            metric.better.value, str(found.trust or ""),
        )  # fmt: skip

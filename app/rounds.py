"""The rounds of tests that go on until they are steady, as charts: the window, what it may range over, its slope."""

from collections.abc import Iterator, Mapping, Sequence

from app.chart import Axis, Chart, Mark, Series
from app.records import RunRecord, SampleSeries, TrialRecord
from app.wording import metric_text
from suites.snia.metrics import ROUNDS
from suites.snia.steady import PTS_RANGE, WINDOW, window_of
from suites.snia.words import window_words
from suites.vocab import Sample

MOST_OF_A_STEP = 4
"""Charts of one step in a report: it has to stay a page."""


def rounds_charts(record: RunRecord, samples: SampleSeries) -> dict[str, list[Chart]]:
    """Return by step a chart for each trial of `record` that went on round by round; `samples` are the run's."""
    several = len(record.summary.hosts) > 1
    found: dict[str, list[Chart]] = {}
    for trial in record.trials:
        tracked = _tracked(trial, samples.get(trial.trial.id, ()))
        if tracked:
            where = f"{trial.trial.host}, " if several else ""
            chart = rounds_chart(tracked, f"{where}trial {trial.trial.number}")
            found.setdefault(trial.trial.step, []).append(chart)
    return found


def in_report(
    rounds: Mapping[str, Sequence[Chart]], others: Mapping[str, Sequence[Chart]]
) -> dict[str, tuple[Chart, ...]]:
    """Return the charts of each step for a report: its rounds, and then the others."""
    return {
        step: (*tuple(rounds.get(step, ()))[-MOST_OF_A_STEP:], *others.get(step, ()))
        for step in dict.fromkeys((*rounds, *others))
    }


def _tracked(trial: TrialRecord, samples: Sequence[Sample]) -> list[Sample]:
    """Return what was tracked, one sample for each round; nothing of a trial that has no rounds."""
    if not any(figure.metric == ROUNDS for figure in trial.figures):
        return []
    leading = trial.figures[0]
    return [one for one in samples if one.metric == leading.metric and one.labels == leading.labels]


def rounds_chart(tracked: Sequence[Sample], title: str) -> Chart:
    """Return what was tracked over its rounds, with the last five: what they may range over, and their fitted line."""
    values = [sample.value for sample in tracked]
    metric, labels = tracked[0].metric, tracked[0].labels
    whole = Series("each round", tuple(map(float, range(1, len(values) + 1))), tuple(values))
    series = (whole, *_window(values))
    window = window_of(values)
    note = "" if window is None else f"{window_words(window).capitalize()}."
    axis = Axis(metric_text(metric, labels), metric, from_zero=True)
    return Chart(f"Rounds: {title}", Axis("round"), axis, series, note)


def _window(values: Sequence[float]) -> Iterator[Series]:
    """Yield the last five rounds as a band and a line, and the mean of the five before."""
    window = window_of(values)
    if window is None or len(window.values) < WINDOW:
        return
    first = window.rounds - WINDOW + 1
    rounds = tuple(float(first + place) for place in range(WINDOW))
    half = PTS_RANGE / 2 * window.mean
    yield Series(
        "mean of the last five, and a range of 20 %", rounds, (window.mean,) * WINDOW, Mark.LINE, 2,
        low=(window.mean - half,) * WINDOW, high=(window.mean + half,) * WINDOW,
    )  # fmt: skip
    line = tuple(window.intercept + place * window.step for place in range(WINDOW))
    yield Series("their fitted line", rounds, line, Mark.LINE, 1, dashed=True)
    if window.before is not None:
        earlier = tuple(place - WINDOW for place in rounds)
        yield Series("mean of the five before", earlier, (window.before,) * WINDOW, Mark.LINE, None, dashed=True)

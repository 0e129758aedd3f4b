"""Export of results as CSV and Parquet (metrics, and samples in a second file), and as hyperfine's JSON."""

import re
import statistics
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from io import BytesIO
from itertools import product
from pathlib import Path

from app.numeric import pd
from app.output import escaped, json_text, write_whole
from app.plans.plan import host_label
from app.records import RunRecord, SampleSeries, TrialRecord
from app.results import METRICS, SAMPLES, Row, Telemetry, frame, metric_rows, sample_rows
from suites.errors import BenchwrightError
from suites.vocab import Labels

Read = tuple[RunRecord, SampleSeries, Telemetry]
"""A run with its samples and the telemetry of its hosts."""


def export_csv(runs: Sequence[Read], path: Path) -> list[Path]:
    """Write the metrics of `runs` to `path` and the samples beside it; return both paths.

    Rows over all counted trials have "all" as `trial`. Raises WriteError; the old file of that name is then unchanged.
    """
    metrics = [{"trial": "all", **row} for run in runs for row in metric_rows(*run)]
    samples = [row for run in runs for row in sample_rows(*run)]
    return [write_csv(metrics, list(METRICS), path), write_csv(samples, list(SAMPLES), _samples_path(path, ".csv"))]


def export_parquet(runs: Sequence[Read], path: Path) -> list[Path]:
    """Write the metrics of `runs` to `path` and the samples beside it, typed as in app.results; return both paths.

    Raises BenchwrightError if pyarrow is not installed, and WriteError.
    """
    if find_spec("pyarrow") is None:
        raise BenchwrightError(
            "Parquet needs pyarrow, which is not installed.", "Run pip install pyarrow (55 MB), or export CSV."
        )
    metrics = (row for run in runs for row in metric_rows(*run))
    samples = (row for run in runs for row in sample_rows(*run))
    tables = ((path, metrics, METRICS), (_samples_path(path, ".parquet"), samples, SAMPLES))
    written = []
    for target, rows, columns in tables:
        content = BytesIO()
        frame(rows, columns).to_parquet(content, engine="pyarrow", index=False)
        written.append(write_whole(target, content.getvalue()))
    return written


def _samples_path(path: Path, ending: str) -> Path:
    return path.with_name(f"{path.stem}-samples{path.suffix or ending}")


def export_hyperfine(records: Sequence[RunRecord], path: Path) -> Path:
    """Write the timed commands of runs as hyperfine's --export-json does, without the CPU times, which are not read.

    Commands of several runs and hosts have the name of their run, or of their host. Raises WriteError, and
    BenchwrightError if no command was timed.
    """
    found = [
        (record.summary.id, host, values[0], values[1], times)
        for record in records
        for step, host in product(record.plan.steps, record.plan.hosts)
        for values in step.suite.timed_commands(step.whole_values()).items()
        if (times := _wall_times(record.trials_of(step.name, host), values[0]))
    ]
    if not found:
        raise BenchwrightError("No trial of these runs timed a command.", "Export runs of a command of your own.")
    several = len(records) > 1, len({host for _, host, *_ in found}) > 1
    results = []
    for run, host, given, command, times in found:
        origin = [text for text, needed in zip((run, host_label(host)), several, strict=True) if needed]
        result: dict[str, object] = {
            "command": f"{command} ({', '.join(origin)})" if origin else command,
            "mean": statistics.fmean(times),
            "stddev": statistics.stdev(times) if len(times) > 1 else None,
            "median": statistics.median(times),
            "min": min(times),
            "max": max(times),
            "times": times,
        }
        results.append(result | ({"parameters": dict(given)} if given else {}))
    return write_whole(path, (json_text({"results": results}) + "\n").encode("utf-8", "replace"))


def _wall_times(trials: Iterable[TrialRecord], given: Labels) -> list[float]:
    figures = (figure for trial in trials for figure in trial.figures)
    return [figure.value for figure in figures if figure.metric.name == "wall_time" and figure.labels == given]


def write_csv(rows: Iterable[Row], columns: Sequence[str], path: Path) -> Path:
    """Write rows as CSV; return `path`."""
    return write_whole(path, csv_text(rows, columns).encode("utf-8", "replace"))


def csv_text(rows: Iterable[Row], columns: Sequence[str]) -> str:
    """Return rows as CSV, missing cells empty, formulas escaped (see _cell())."""
    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    return pd.DataFrame(cells, columns=list(columns), dtype=object).to_csv(index=False, lineterminator="\n")


_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")


def _cell(value: object) -> object:
    r"""Return `value`, prefixed with ' if a spreadsheet would evaluate it as a formula; numbers are unchanged.

    Text comes from hosts and is not trusted. Control and bidirectional characters are escaped, also the carriage
    return, which many CSV readers take for the end of a line.
    """
    if not isinstance(value, str):
        return value
    text = escaped(value, but="\n\t")
    return f"'{text}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else text

"""Export of results as CSV and Parquet: metrics, and samples in a second file."""

import re
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

from app.numeric import pd
from app.output import escaped, write_whole
from app.records import RunRecord, SampleSeries
from app.results import METRICS, SAMPLES, Row, Telemetry, frame, metric_rows, sample_rows
from suites.errors import BenchwrightError

Read = tuple[RunRecord, SampleSeries, Telemetry]
"""A run with its samples and the telemetry of its hosts."""


def export_csv(runs: Sequence[Read], path: Path) -> list[Path]:
    """Write the metrics of `runs` to `path` and the samples beside it; return both paths.

    Rows over all counted trials have "all" as `trial`. Raises WriteError; the old file of that name is then unchanged.
    """
    metrics = [{"trial": "all", **row} for record, *_ in runs for row in metric_rows(record)]
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
    metrics = (row for record, *_ in runs for row in metric_rows(record))
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

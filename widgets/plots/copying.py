"""A plot's figures as a table for a spreadsheet: tab separated, units in the head, missing left empty."""

from collections.abc import Hashable, Iterable, Mapping

import numpy as np

from app.records import Band
from suites.units import Unit
from widgets.parts.sheet_text import sheet_cell
from widgets.plots.axis import TimeAxis
from widgets.plots.lines import Line


def as_table(lines: Iterable[Line], bands: Mapping[Hashable, Band], unit: Unit, axis: TimeAxis) -> str:
    """Return one row for each place of `axis` at which any line has a point. Figures are whole, not as drawn."""
    shown = [line for line in lines if len(line.buffer)]
    moments = np.unique(np.concatenate([line.buffer.times() - line.offset for line in shown])) if shown else np.empty(0)
    columns = [_column(line, moments) for line in shown]
    heads = [sheet_cell(axis.head), *(f"{sheet_cell(line.title)} [{unit.value}]" for line in shown)]
    for band in bands.values():
        for words, value in (("median", band.median), ("low", band.low), ("high", band.high)):
            heads.append(f"{sheet_cell(band.name)} {words} [{band.unit}]")
            columns.append([f"{value:.9g}"] * len(moments))
    rows = zip((sheet_cell(axis.cell(float(moment))) for moment in moments), *columns, strict=True)
    return "\n".join("\t".join(row) for row in [tuple(heads), *rows]) + "\n"


def _column(line: Line, moments: np.ndarray) -> list[str]:
    cells = [""] * len(moments)
    places = np.searchsorted(moments, line.buffer.times() - line.offset)
    for place, value in zip(places, line.buffer.values() * line.factor, strict=True):
        if np.isfinite(value):
            cells[int(place)] = f"{value:.9g}"
    return cells

"""Reference tables read from TOML and CSV files, and kept as JSON; a file may be anybody's."""

import csv
import io
import math
import tomllib
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from app.baselines.reference import UNIVERSE, Reference, ReferenceFigure, ReferenceTableError
from remote.local_file import read_bounded
from suites.errors import BenchwrightError
from suites.units import unit
from suites.vocab import Labels

FORMAT = "benchwright-reference/1"

MAXIMUM_SIZE = 1024 * 1024
MOST_FIGURES = 5000
LONGEST = 500
"""Characters of a text; names of metrics and labels are shorter."""
LONGEST_NAME = 80
MOST_LABELS = 8
MOST_DOUBTS = 20

_FIGURE_KEYS = frozenset({"suite", "metric", "unit", "value", "low", "high", "n", "labels", "doubt"})
_COLUMNS = _FIGURE_KEYS - {"doubt"} | {"source", "doubts"}


def read_reference(path: Path, name: str = "") -> Reference:
    """Return the table in the TOML or CSV file at `path`, called `name`, or as the file says or is called itself.

    Raises ReferenceTableError naming the file and what is wrong in it.
    """
    try:
        content = read_bounded(path, MAXIMUM_SIZE)
        if len(content) > MAXIMUM_SIZE:
            raise ReferenceTableError(f"{path} is larger than 1 MiB; a table of figures is shorter.")
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise ReferenceTableError(
            f"{path} cannot be read: {error.strerror}.", "Check the name and its permissions."
        ) from error
    except UnicodeDecodeError as error:
        raise ReferenceTableError(f"{path} is not a text file.", "A table is TOML or CSV in UTF-8.") from error
    parse = parse_csv if path.suffix.lower() == ".csv" else parse_toml
    try:
        return parse(text, name or path.stem, named=bool(name))
    except BenchwrightError as error:
        raise ReferenceTableError(f"{path}: {error.message}", error.remedy) from error


def parse_toml(text: str, name: str, *, named: bool = False) -> Reference:
    """Return the table written in `text`. `name` is what it is called where it says nothing, or always if `named`."""
    try:
        content = tomllib.loads(text)
    except RecursionError as error:
        raise ReferenceTableError("nested deeper than any table is.") from error
    except ValueError as error:  # TOMLDecodeError, and integers of absurd length
        raise ReferenceTableError(
            f"not valid TOML: {str(error)[:200]}.", "The help page about formats has one."
        ) from error
    return reference_from(content, name, named=named)


def reference_from(content: Mapping[str, Any], name: str, *, named: bool = False) -> Reference:
    """Return the table that `content`, as TOML or our own JSON gives it, holds."""
    known = {"format", "name", "title", "source", "doubts", "measured", "universe", "figure"}
    _refuse_unknown(content, known, "a reference")
    if content.get("format", FORMAT) != FORMAT:
        raise ReferenceTableError(
            f"format is {str(content['format'])[:60]!r}; this program reads {FORMAT!r}.",
            "Use the version that wrote it.",
        )
    called = name if named else _text(content.get("name", name), "name", LONGEST_NAME)
    rows = content.get("figure", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ReferenceTableError("figure is not a list of tables.", "Write [[figure]] before each.")
    universe = content.get("universe", {})
    if not isinstance(universe, dict):
        raise ReferenceTableError("universe is not a table.", "Write [universe] and a line for each of its words.")
    _refuse_unknown(universe, set(UNIVERSE), "universe")
    doubts = content.get("doubts", [])
    if not isinstance(doubts, list) or len(doubts) > MOST_DOUBTS:
        raise ReferenceTableError(f"doubts is not a list of at most {MOST_DOUBTS} texts.")
    return Reference(
        called,
        _text(content.get("title", called), "title"),
        _checked(_figure(row, number) for number, row in enumerate(_few(rows), 1)),
        _text(content.get("source", ""), "source"),
        tuple(_text(doubt, "doubts") for doubt in doubts),
        _moment(content.get("measured", "")),
        {key: _text(value, f"universe.{key}") for key, value in universe.items()},
    )


def parse_csv(text: str, name: str, *, named: bool = True) -> Reference:
    """Return the table in `text`: a head with metric, unit and value, and a line for each figure.

    `labels` are written ``threads=1;operation=copy``. `source` and `doubts` are gathered from all lines.
    """
    del named  # a CSV file has no name of its own
    try:
        reader = csv.DictReader(io.StringIO(text), strict=True)
        head = [str(column).strip().lower() for column in reader.fieldnames or ()]
        reader.fieldnames = head
        _refuse_unknown(dict.fromkeys(head), set(_COLUMNS), "the head")
        if lacking := {"metric", "unit", "value"} - set(head):
            raise ReferenceTableError(
                f"the head lacks {', '.join(sorted(lacking))}.", "metric, unit and value are needed."
            )
        rows = _few([row for _, row in zip(range(MOST_FIGURES + 1), reader, strict=False)])
    except csv.Error as error:
        raise ReferenceTableError(f"not valid CSV: {error}.") from error
    figures = _checked(_figure(_from_cells(row, number), number) for number, row in enumerate(rows, 1))
    sources, doubts = (
        list(dict.fromkeys(_text(row[key].strip(), key) for row in rows if (row.get(key) or "").strip()))
        for key in ("source", "doubts")
    )
    return Reference(name, name, figures, "; ".join(sources)[:LONGEST], tuple(doubts[:MOST_DOUBTS]))


def reference_to_json(reference: Reference) -> dict[str, Any]:
    """Return a table in the form that reference_from() reads."""
    return {
        "format": FORMAT,
        "name": reference.name,
        "title": reference.title,
        "source": reference.source,
        "doubts": list(reference.doubts),
        "measured": reference.measured,
        "universe": dict(reference.universe),
        "figure": [_figure_to_json(figure) for figure in reference.figures],
    }


def _figure_to_json(figure: ReferenceFigure) -> dict[str, Any]:
    """Return a figure with what is known of it."""
    whole = {
        "suite": figure.suite or None,
        "metric": figure.metric,
        "unit": figure.unit.value,
        "value": figure.value,
        "low": figure.low,
        "high": figure.high,
        "n": figure.n,
        "labels": dict(figure.labels),
        "doubt": figure.doubt or None,
    }
    return {key: value for key, value in whole.items() if value is not None}


def _from_cells(row: Mapping[str | None, Any], number: int) -> dict[str, Any]:
    """Return a line of CSV as a figure of TOML is written."""
    if None in row:
        raise ReferenceTableError(f"line {number + 1} has more cells than the head.")
    cells = {key: (value or "").strip() for key, value in row.items() if key in _FIGURE_KEYS}
    found: dict[str, Any] = {key: cells[key] for key in ("suite", "metric", "unit") if key in cells}
    for key in ("value", "low", "high", "n"):
        if cells.get(key):
            found[key] = _cell_number(cells[key], f"{key} in line {number + 1}")
    if "n" in found:
        found["n"] = int(found["n"]) if found["n"] == int(found["n"]) else found["n"]
    pairs = [pair.partition("=") for pair in cells.get("labels", "").split(";") if pair.strip()]
    found["labels"] = {key.strip(): value.strip() for key, _, value in pairs}
    return found


def _cell_number(text: str, what: str) -> float:
    try:
        found = float(text) if len(text) <= 40 else math.nan
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ReferenceTableError(f"{what} is {text[:40]!r}, which is no number.")
    return found


def _figure(row: Mapping[str, Any], number: int) -> ReferenceFigure:
    where = f"figure {number}"
    _refuse_unknown(row, set(_FIGURE_KEYS), where)
    if lacking := {"metric", "unit", "value"} - set(row):
        raise ReferenceTableError(f"{where} has no {' and no '.join(sorted(lacking))}.")
    value, low, high = (_number(row.get(key), f"{key} of {where}") for key in ("value", "low", "high"))
    count = row.get("n")
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 10**6):
        raise ReferenceTableError(f"n of {where} is no count from 1 to 1,000,000.")
    if value is None or (low is not None and low > value) or (high is not None and high < value):
        raise ReferenceTableError(f"{where} does not lie between its own low and high.")
    if (low is None) != (high is None):
        raise ReferenceTableError(f"{where} has only one of low and high.")
    return ReferenceFigure(
        _text(row["metric"], f"metric of {where}", LONGEST_NAME),
        unit(_text(row["unit"], f"unit of {where}", LONGEST_NAME)),
        value,
        _labels(row.get("labels", {}), where),
        _text(row.get("suite", ""), f"suite of {where}", LONGEST_NAME),
        low,
        high,
        count,
        _text(row.get("doubt", ""), f"doubt of {where}"),
    )


def _labels(given: object, where: str) -> Labels:
    if not isinstance(given, dict) or len(given) > MOST_LABELS:
        raise ReferenceTableError(f"labels of {where} is not a table of at most {MOST_LABELS} words.")
    return tuple(
        sorted(
            (_text(key, "a label", LONGEST_NAME), _text(value, "a label", LONGEST_NAME)) for key, value in given.items()
        )
    )


def _number(value: object, what: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300 or not math.isfinite(value):
        raise ReferenceTableError(f"{what} is no number.")
    return float(value)


def _text(value: object, name: str, longest: int = LONGEST) -> str:
    if not isinstance(value, str) or len(value) > longest or not value.isprintable():
        raise ReferenceTableError(f"{name} is not a plain text of at most {longest} characters.")
    return value


def _moment(value: object) -> str:
    """Return a date as ISO 8601 writes it; TOML has dates of its own."""
    text = value.isoformat() if isinstance(value, date) else _text(value, "measured", LONGEST_NAME)
    if text:
        try:
            date.fromisoformat(text[:10])
        except ValueError:
            raise ReferenceTableError(f"measured is {text!r}, which is no date.", "Write 2016-01-31.") from None
    return text


def _few(rows: list[Any]) -> list[Any]:
    if not rows or len(rows) > MOST_FIGURES:
        raise ReferenceTableError(
            f"it has {'no figure' if not rows else 'too many figures'}.", f"Give 1 to {MOST_FIGURES}."
        )
    return rows


def _checked(figures: Iterable[ReferenceFigure]) -> tuple[ReferenceFigure, ...]:
    """Return the figures; raise where two say what the same thing is."""
    found: dict[tuple[str, str, Labels], ReferenceFigure] = {}
    for figure in figures:
        key = (figure.suite, figure.metric, figure.labels)
        if key in found:
            raise ReferenceTableError(f"it gives {figure.metric} twice with the same labels.")
        found[key] = figure
    return tuple(found.values())


def _refuse_unknown(content: Mapping[Any, Any], accepted: set[str], where: str) -> None:
    for key in content:
        if key not in accepted:
            raise ReferenceTableError(f"{where} has no “{str(key)[:60]}”.", f"It has {', '.join(sorted(accepted))}.")

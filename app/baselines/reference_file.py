"""Reading of reference tables from untrusted TOML and CSV files, and their JSON."""

import csv
import io
import math
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from app.baselines.reference import UNIVERSE, Reference, ReferenceFigure, ReferenceTableError
from app.json_converter import Json, publish, published
from remote import local_file
from suites.units import Unit, unit
from suites.vocab import Labels
from suites.yabs import is_yabs, table_of_yabs

FORMAT = "benchwright-reference/1"

MAXIMUM_SIZE = 1024 * 1024
MOST_FIGURES = 5000
LONGEST = 500
"""Longest text in characters; names of metrics and labels have LONGEST_NAME."""
LONGEST_NAME = 80
MOST_LABELS = 8
MOST_DOUBTS = 20

_FIGURE_KEYS = frozenset({"suite", "metric", "unit", "value", "low", "high", "n", "labels", "doubt", "parameters"})
_COLUMNS = _FIGURE_KEYS - {"doubt", "parameters"} | {"source", "doubts"}


def read_reference(path: Path, name: str = "") -> Reference:
    """Read a table from a TOML or CSV file, or a result of yabs.sh; without `name` it has the name in the file, or of
    the file.

    Raises ReferenceTableError naming the file and the fault.
    """
    parse = PARSERS.get(path.suffix.lower(), _parse_any)
    hint = "A table is TOML or CSV in UTF-8, or the result of yabs.sh."
    return local_file.read_file(
        path, MAXIMUM_SIZE, ReferenceTableError, hint, lambda text: parse(text, name or path.stem, named=bool(name))
    )


def _parse_any(text: str, name: str, *, named: bool = False) -> Reference:
    if is_yabs(text):
        return reference_from(table_of_yabs(text), name)
    return parse_toml(text, name, named=named)


def parse_toml(text: str, name: str, *, named: bool = False) -> Reference:
    """Parse a TOML table. `name` is its name if the text has none, or always if `named`."""
    content = local_file.parse_toml(text, ReferenceTableError, "See the help page on baselines for an example.")
    return reference_from(content, name, named=named)


def reference_from(content: Mapping[str, Any], name: str, *, named: bool = False) -> Reference:
    """Return the table in parsed TOML, or in the JSON of reference_to_json()."""
    known = {"format", "name", "title", "source", "doubts", "measured", "universe", "figure"}
    _refuse_unknown(content, known, "a reference")
    if content.get("format", FORMAT) != FORMAT:
        raise ReferenceTableError(
            f"format is {str(content['format'])[:60]!r}; this program reads {FORMAT!r}.",
            "Use the version that wrote it.",
        )
    own_name = name if named else _text(content.get("name", name), "name", LONGEST_NAME)
    rows = content.get("figure", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ReferenceTableError("figure is not a list of tables.", "Write [[figure]] before each.")
    universe = content.get("universe", {})
    if not isinstance(universe, dict):
        raise ReferenceTableError("universe is not a table.", "Write [universe] with one key on each line.")
    _refuse_unknown(universe, set(UNIVERSE), "universe")
    doubts = content.get("doubts", [])
    if not isinstance(doubts, list) or len(doubts) > MOST_DOUBTS:
        raise ReferenceTableError(f"doubts is not a list of at most {MOST_DOUBTS} texts.")
    return Reference(
        own_name,
        _text(content.get("title", own_name), "title"),
        _checked(_figure(row, number) for number, row in enumerate(_few(rows), 1)),
        _text(content.get("source", ""), "source"),
        tuple(_text(doubt, "doubts") for doubt in doubts),
        _moment(content.get("measured", "")),
        {key: _text(value, f"universe.{key}") for key, value in universe.items()},
    )


def parse_csv(text: str, name: str, *, named: bool = True) -> Reference:
    """Parse a CSV table: a header with metric, unit and value, and a line for each figure.

    `labels` have the form ``threads=1;operation=copy``. `source` and `doubts` are collected from all lines.
    """
    del named  # a CSV file contains no name
    try:
        reader = csv.DictReader(io.StringIO(text), strict=True)
        head = [str(column).strip().lower() for column in reader.fieldnames or ()]
        reader.fieldnames = head
        _refuse_unknown(dict.fromkeys(head), set(_COLUMNS), "the header")
        if absent := {"metric", "unit", "value"} - set(head):
            raise ReferenceTableError(
                f"the header lacks {', '.join(sorted(absent))}.", "Required: metric, unit and value."
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


publish(Reference, "name title source doubts measured universe figure=figures")
publish(ReferenceFigure, "suite metric unit value low high n labels doubt parameters")


class ReferenceFigureJson(TypedDict):
    """A figure of a table, without unknown fields."""

    suite: NotRequired[str]
    metric: str
    unit: Unit
    value: float
    low: NotRequired[float]
    high: NotRequired[float]
    n: NotRequired[int]
    labels: Mapping[str, str]
    doubt: NotRequired[str]
    parameters: NotRequired[Mapping[str, str]]


class ReferenceKeys(TypedDict):
    """Keys of a table beside those of Reference."""

    format: Annotated[str, FORMAT]
    figure: list[ReferenceFigureJson]


ReferenceJson = Annotated[Json, Reference, ReferenceKeys]


def reference_to_json(reference: Reference) -> ReferenceJson:
    """Return the JSON of a table, for reference_from(); figures are without unknown fields."""
    found = {"format": FORMAT, **published(reference)}
    known = []
    for figure in found["figure"]:
        figure["parameters"] = dict(figure["parameters"]) or None
        known.append({key: value for key, value in figure.items() if value not in (None, "")})
    return found | {"figure": known}


def _from_cells(row: Mapping[str | None, Any], number: int) -> dict[str, Any]:
    """Return a line of CSV in the form of a TOML figure."""
    if None in row:
        raise ReferenceTableError(f"line {number + 1} has more cells than the header.")
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
        raise ReferenceTableError(f"{what} is {text[:40]!r}, which is not a number.")
    return found


def _figure(row: Mapping[str, Any], number: int) -> ReferenceFigure:
    where = f"figure {number}"
    _refuse_unknown(row, set(_FIGURE_KEYS), where)
    if absent := {"metric", "unit", "value"} - set(row):
        raise ReferenceTableError(f"{where} has no {' and no '.join(sorted(absent))}.")
    value, low, high = (_number(row.get(key), f"{key} of {where}") for key in ("value", "low", "high"))
    count = row.get("n")
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 10**6):
        raise ReferenceTableError(f"n of {where} is not a whole number from 1 to 1,000,000.")
    if value is None or (low is not None and low > value) or (high is not None and high < value):
        raise ReferenceTableError(f"value of {where} is not between its low and high.")
    if (low is None) != (high is None):
        raise ReferenceTableError(f"{where} has only one of low and high.")
    found = ReferenceFigure(
        _text(row["metric"], f"metric of {where}", LONGEST_NAME),
        unit(_text(row["unit"], f"unit of {where}", LONGEST_NAME)),
        value,
        _labels(row.get("labels", {}), where),
        _text(row.get("suite", ""), f"suite of {where}", LONGEST_NAME),
        low,
        high,
        count,
        _text(row.get("doubt", ""), f"doubt of {where}"),
        _labels(row.get("parameters", {}), where, "parameters"),
    )
    found.values()  # refuse what no step can have
    return found


def _labels(given: object, where: str, what: str = "labels") -> Labels:
    if not isinstance(given, dict) or len(given) > MOST_LABELS:
        raise ReferenceTableError(f"{what} of {where} is not a table of at most {MOST_LABELS} {what}.")
    return tuple(
        sorted(
            (_text(key, "a label", LONGEST_NAME), _text(value, "a label", LONGEST_NAME)) for key, value in given.items()
        )
    )


def _number(value: object, what: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300 or not math.isfinite(value):
        raise ReferenceTableError(f"{what} is not a finite number.")
    return float(value)


def _text(value: object, name: str, longest: int = LONGEST) -> str:
    if not isinstance(value, str) or len(value) > longest or not value.isprintable():
        raise ReferenceTableError(f"{name} is not one line of text of at most {longest} characters.")
    return value


def _moment(value: object) -> str:
    """Return a date in ISO 8601; TOML parses dates itself."""
    text = value.isoformat() if isinstance(value, date) else _text(value, "measured", LONGEST_NAME)
    if text:
        try:
            date.fromisoformat(text[:10])
        except ValueError:
            raise ReferenceTableError(
                f"measured is {text!r}, which is not a date.", "Write a date such as 2016-01-31."
            ) from None
    return text


def _few(rows: list[Any]) -> list[Any]:
    if not rows or len(rows) > MOST_FIGURES:
        raise ReferenceTableError(
            f"the table has {'no figure' if not rows else 'too many figures'}.", f"The limits are 1 to {MOST_FIGURES}."
        )
    return rows


def _checked(figures: Iterable[ReferenceFigure]) -> tuple[ReferenceFigure, ...]:
    """Return the figures; raise for duplicates."""
    found: dict[tuple[str, str, Labels, Labels], ReferenceFigure] = {}
    for figure in figures:
        key = (figure.suite, figure.metric, figure.labels, figure.parameters)
        if key in found:
            raise ReferenceTableError(f"{figure.metric} occurs twice with the same labels.")
        found[key] = figure
    return tuple(found.values())


def _refuse_unknown(content: Mapping[Any, Any], accepted: set[str], where: str) -> None:
    for key in content:
        if key not in accepted:
            raise ReferenceTableError(
                f"{where} has no “{str(key)[:60]}”.", f"Its keys are {', '.join(sorted(accepted))}."
            )


PARSERS = {".toml": parse_toml, ".csv": parse_csv}
"""The parser of each file format by file name suffix; a file with another suffix is a result of yabs.sh or TOML."""

"""What a filter of the library means: fields, parameters and metrics of a row, and the values that exist."""

import difflib
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from app.events import State
from app.library_rows import Configuration, LibraryRow, LibraryRows, ParameterValue
from app.natural_order import natural_key
from app.plans.plan import host_label
from app.run_filter import FilterError, RunFilter, Term
from suites.errors import BenchwrightError
from suites.parameters import parse_duration, parse_size
from suites.quantities import parse_quantity
from suites.units import Unit, convert, same_dimension, ungrouped
from suites.verdict import Trust
from suites.vocab import Metric

Test = Callable[[LibraryRow], bool]
Selection = Callable[[Iterable[LibraryRow]], list[LibraryRow]]
_MEANT = {"date": "started", "day": "started", "time": "started", "label": "tag", "instance": "type",
          "headline": "value", "run": "id"}  # fmt: skip
"""Fields by other names that people try."""

_WRITTEN = {State.PARTIAL.text: State.PARTIAL.value}
"""Texts that exports write otherwise."""

MetricReader = Callable[[str], Mapping[str, tuple[float, ...]]]
"""Returns the values of a metric by run."""

TEXTS: Mapping[str, Callable[[LibraryRow], Iterable[str]]] = {
    "host": lambda row: row.summary.hosts,
    "type": lambda row: filter(None, (row.instance, row.virtualisation)),
    "suite": lambda row: row.summary.suites,
    "verdict": lambda row: filter(None, (row.summary.trust,)),
    "limit": lambda row: filter(None, (row.summary.limited_by,)),
    "tag": lambda row: row.annotation.tags,
    "baseline": lambda row: row.baselines,
    "state": lambda row: (row.summary.status_text,),
    "name": lambda row: (row.summary.name,),
    "step": lambda row: row.summary.steps,
    "kernel": lambda row: filter(None, (row.kernel,)),
    "note": lambda row: filter(None, (row.annotation.note,)),
    "lock": lambda row: filter(None, (row.lock,)),
    "recall": lambda row: () if row.recall is None else (row.recall.text,),
    "series": lambda row: () if row.summary.session is None else (row.summary.session.series,),
    "plan": lambda row: (row.plan_hash,),
    "id": lambda row: (row.id,),
}
"""Fields with texts, in the order of menus. ``yes`` and ``no``: with and without one."""

NUMBERS: Mapping[str, Callable[[LibraryRow], float | None]] = {
    "trials": lambda row: row.trials,
    "duration": lambda row: row.duration,
    "errors": lambda row: row.errors,
    "warnings": lambda row: row.warnings,
    "issues": lambda row: row.errors + row.warnings,
    "session": lambda row: None if row.summary.session is None else row.summary.session.number,
}

OTHERS = ("value", "started", "since", "until", "bin", "like")
"""The value of the headline metric; moments; the bin, which other filters exclude; runs like one."""

_VERDICTS = frozenset(Trust)
"""Verdicts, one of which contains another: ``verdict:valid`` is not “valid with caveats”."""

_PLAIN = (Unit.PER_SECOND, Unit.PERCENT, Unit.ONE)
"""Units of plain numbers. A latency of 5 may be 5 ms or 5 µs."""

_PREFIXED = (Unit.BYTES_PER_SECOND, Unit.BYTE, Unit.SECOND)
"""Units of numbers with nothing but a prefix: 500M is 500 MB/s; of a rate in bits, 500 Mbit/s."""

_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le, "=": operator.eq, ":": operator.eq,
}  # fmt: skip
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_NUMBER = re.compile(r"([+-]?\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*([kKMG]?)(?:(?:IO|FL)?OPS)?", re.IGNORECASE)
_ORDERS = frozenset({">", "<", ">=", "<="})
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+")
_TO_SECONDS = len("2026-11-20T14:15:30")
_AGE = re.compile(r"(\d{1,6})\s*(min|h|d|w|y)")
_SECONDS = {"min": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}
_TRUE, _FALSE = {"yes", "true"}, {"no", "false", "none"}


def matcher(wanted: RunFilter, library: LibraryRows, values_of: MetricReader, now: datetime) -> Selection:
    """Return what selects the rows that match. Raises FilterError for a name or a value that means nothing."""
    tests = [_test(term, library, values_of, now) for term in wanted.terms]
    if not any(term.name == "bin" for term in wanted.terms):
        tests.insert(0, lambda row: row.annotation.binned is None)

    def select(rows: Iterable[LibraryRow]) -> list[LibraryRow]:
        found = list(rows)
        for test in tests:  # one test after the other: the later ones see fewer rows
            found = [row for row in found if test(row)]
        return found

    return select


def configurations_of(rows: Iterable[LibraryRow]) -> tuple[Configuration, ...]:
    """Return the configurations of rows, each once."""
    return tuple({id(one): one for row in rows for one in row.configurations}.values())


def metric_names(wanted: RunFilter, library: LibraryRows) -> tuple[str, ...]:
    """Return the metrics whose values a filter needs."""
    named = parameter_names(library.configurations)
    used = (term.name for term in wanted.terms if term.name in library.metrics and term.name not in named)
    own = [name for name in used if name not in {*TEXTS, *NUMBERS, *OTHERS}]
    return tuple(dict.fromkeys(one for name in own for one in _with_total(name, library)))


def _with_total(name: str, library: LibraryRows) -> list[str]:
    """Return a metric and its total over reads and writes, which is the headline of a mixed run."""
    return [one for one in (name, f"total_{name}") if one in library.metrics]


def parameter_names(configurations: Iterable[Configuration]) -> Mapping[str, str]:
    """Return the parameter names by the tools' own tokens, and by themselves."""
    found: dict[str, str] = {}
    for one in configurations:
        for name, value in one.values.items():
            found[name] = name
            found.setdefault(value.token, name)
    return found


def values_of_field(rows: Iterable[LibraryRow], name: str) -> list[tuple[str, int]]:
    """Return the values that a field or parameter has in rows, with the number of the rows, the most frequent first."""
    counted: Counter[str] = Counter()
    for row in rows:
        if name in TEXTS:
            counted.update(set(TEXTS[name](row)))
        else:
            counted.update({one.values[name].text for one in row.configurations if name in one.values})
    return sorted(counted.items(), key=lambda item: (-item[1], natural_key(item[0])))


def _test(term: Term, library: LibraryRows, values_of: MetricReader, now: datetime) -> Test:
    if term.operator in _ORDERS:
        whole = ",".join(term.values)
        if len(term.values) > 1 and _GROUPED.fullmatch(whole):
            raise FilterError(
                f"“{whole[:60]}” is several values", f"Write {whole.replace(',', '')[:60]}.", *_span(term)
            )
        with suppress(BenchwrightError):
            term = replace(term, values=tuple(map(ungrouped, term.values)))
    test = _positive(term, library, values_of, now)
    return (lambda row: not test(row)) if term.negated else test


def _positive(term: Term, library: LibraryRows, values_of: MetricReader, now: datetime) -> Test:
    names = {*TEXTS, *NUMBERS, *OTHERS}
    if term.name not in names and term.name.casefold() in names:
        term = replace(term, name=term.name.casefold())
    name = term.name
    if not name:
        words = [value.casefold() for value in term.values]
        return lambda row: any(word in row.searched for word in words)
    if name in TEXTS:
        return _text_test(term)
    if name in NUMBERS:
        return _number_test(term)
    if name in OTHERS:
        return _like_test(term, library) if name == "like" else _other_test(term, now)
    parameters = parameter_names(library.configurations)
    if name in parameters:
        return _parameter_test(replace(term, name=parameters[name]))
    if name in library.metrics:
        found = map(values_of, _with_total(name, library))
        return _metric_test(term, library.metrics[name], list(found))
    raise _unknown(term, [*TEXTS, *NUMBERS, *OTHERS, *parameters, *library.metrics])


def _other_test(term: Term, now: datetime) -> Test:
    if term.name in {"started", "since", "until"}:
        return _moment_test(term, now)
    return _bin_test(term) if term.name == "bin" else _value_test(term)


def _like_test(term: Term, library: LibraryRows) -> Test:
    """Return the test for runs with the tests and parameters of a run, given by the beginning of its id."""
    found = [row.fingerprints for row in library.rows if row.id.startswith(term.values) and row.configurations]
    if not found:
        raise FilterError(f"There is no run “{term.values[0][:60]}” to be like", "Write like:ID.", *_span(term))
    wanted = set(found)
    return lambda row: row.fingerprints in wanted


def _unknown(term: Term, names: Iterable[str]) -> FilterError:
    like = _MEANT.get(term.name) or next(iter(difflib.get_close_matches(term.name, list(names), 1)), "")
    remedy = f"Did you mean {like}?" if like else f"Put it in quotes to search for the text: “{term}”."
    return FilterError(f"“{term.name}” is not a field, parameter or metric of this library", remedy, *_span(term))


def _span(term: Term) -> tuple[int, int]:
    return term.start, term.end


def _text_test(term: Term) -> Test:
    if term.operator not in {":", "="}:
        raise FilterError(f"“{term.name}” is text and has no order", f"Write {term.name}:VALUE.", *_span(term))
    read, exact = TEXTS[term.name], term.operator == "="
    wanted = [value.casefold() for value in term.values]
    if term.name == "verdict":
        _reject_unless(term, lambda value: any(value in one for one in Trust), f"Verdicts: {', '.join(Trust)}.")
    known: dict[tuple[str, ...], bool] = {}  # many rows have the same texts

    def matches(row: LibraryRow) -> bool:
        texts = tuple(read(row))
        if texts not in known:
            found = [each.casefold() for one in texts for each in (one, host_label(one), _WRITTEN.get(one, one))]
            known[texts] = any(_matches_text(value, found, same=exact or value in _VERDICTS) for value in wanted)
        return known[texts]

    return matches


def _matches_text(value: str, found: Sequence[str], *, same: bool) -> bool:
    if value in _TRUE and found:
        return True
    if value in _FALSE:
        return not found
    return value in found if same else any(value in one for one in found)


def _number_test(term: Term) -> Test:
    read, compare = NUMBERS[term.name], _COMPARE[term.operator]
    wanted = [_seconds(term, one) if term.name == "duration" else _plain(term, one) for one in term.values]

    def matches(row: LibraryRow) -> bool:
        value = read(row)
        return value is not None and any(compare(value, one) for one in wanted)

    return matches


def _value_test(term: Term) -> Test:
    """Return the test of the headline value; a row whose metric has another dimension does not match."""
    compare = _COMPARE[term.operator]
    limits: dict[Metric, list[float]] = {}
    given = [_quantity(term, one) for one in term.values]

    def matches(row: LibraryRow) -> bool:
        if row.metric is None or row.value is None:
            return False
        if row.metric not in limits:
            limits[row.metric] = [limit for one in given if (limit := _in_unit(one, row.metric)) is not None]
        value = row.value
        return any(compare(value, limit) for limit in limits[row.metric])

    return matches


def _metric_test(term: Term, metric: Metric, found: Sequence[Mapping[str, tuple[float, ...]]]) -> Test:
    compare, limits = _COMPARE[term.operator], []
    for given in (_quantity(term, one) for one in term.values):
        limit = _in_unit(given, metric)
        if limit is None:
            needs = "needs a unit" if given[1] is Unit.ONE else f"is in {metric.unit}, not in {given[1]}"
            raise FilterError(f"“{term.name}” {needs}", f"Write a value in {metric.unit}.", *_span(term))
        limits.append(limit)
    return lambda row: any(
        compare(value, limit) for values in found for value in values.get(row.id, ()) for limit in limits
    )


def _quantity(term: Term, text: str) -> tuple[float, Unit | None]:
    """Return a number and its unit: ONE for a plain number, None for one with a prefix."""
    with suppress(BenchwrightError):
        number = _prefixed(text)
        if number is None:
            return parse_quantity(text)
        return number, Unit.ONE if text[-1].isdigit() else None
    raise FilterError(f"“{text[:60]}” is not a quantity", "Write 100k, 1.2ms or 500MB/s.", *_span(term))


def _in_unit(given: tuple[float, Unit | None], metric: Metric) -> float | None:
    """Return a quantity in the unit of a metric; None if their dimensions differ, or if it needs a unit."""
    value, unit = given
    if value == 0 or (metric.unit in _PLAIN and unit in {None, Unit.ONE}):
        return value
    bare = (Unit.BITS_PER_SECOND,) if "bit" in metric.unit else _PREFIXED
    units = bare if unit is None else (unit,)
    return next((convert(value, one, metric.unit) for one in units if same_dimension(one, metric.unit)), None)


def _prefixed(text: str) -> float | None:
    """Return a number with an SI prefix: ``100k``; None for other texts."""
    found = _NUMBER.fullmatch(text) if len(text) < 60 else None
    return None if found is None else float(found[1].replace("_", "")) * _PREFIXES[found[2]]


def _plain(term: Term, text: str) -> float:
    number = _prefixed(text)
    if number is None:
        raise FilterError(f"“{text[:60]}” is not a number", f"Write {term.name}>10.", *_span(term))
    return number


def _seconds(term: Term, text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError:
        remedy = f"Write {term.name}>5min."
        raise FilterError(f"“{text[:60]}” is not a duration", remedy, *_span(term)) from None


def _parameter_test(term: Term) -> Test:
    known: dict[int, bool] = {}

    def matches(row: LibraryRow) -> bool:
        for one in row.configurations:
            if id(one) not in known:
                value = one.values.get(term.name)
                known[id(one)] = value is not None and any(_holds(term, value, given) for given in term.values)
            if known[id(one)]:
                return True
        return False

    if term.operator in _ORDERS and all(_number_of(given, "") is None for given in term.values):
        raise FilterError(f"“{term.values[0]}” is not a number", f"Write {term.name}>=32.", *_span(term))
    return matches


def _holds(term: Term, value: ParameterValue, given: str) -> bool:
    if term.operator == ":":
        return given.casefold() in value.text.casefold()
    number = None if value.number is None else _number_of(given, value.text)
    if number is None or value.number is None:
        return term.operator == "=" and given.casefold() == value.text.casefold()
    return _COMPARE[term.operator](value.number, number)


def _number_of(given: str, like: str) -> float | None:
    """Return a number as the parameter's text `like` is read: sizes in bytes, durations in seconds."""
    if like.endswith("B") or not like:
        with suppress(ValueError):
            return float(parse_size(given))
    if like[-1:].isalpha() or not like:
        with suppress(ValueError):
            return parse_duration(given)
    return _prefixed(given)


def _reject_unless(term: Term, known: Callable[[str], bool], remedy: str) -> None:
    """Raise FilterError for a value that nothing can have, neither a `known` one nor yes or no."""
    for value in term.values:
        if not (value.casefold() in _TRUE | _FALSE or known(value.casefold())):
            raise FilterError(f"“{term.name}” has no value “{value[:60]}”", remedy, *_span(term))


def _bin_test(term: Term) -> Test:
    _reject_unless(term, lambda _value: False, "Write bin:yes or bin:no.")
    wanted = {value.casefold() in _TRUE for value in term.values}
    return lambda row: (row.annotation.binned is not None) in wanted


def _moment_test(term: Term, now: datetime) -> Test:
    if len(term.values) > 1 or (term.name != "started" and term.operator not in {":", "="}):
        raise FilterError(f"“{term.name}” takes one moment", f"Write {term.name}:7d.", *_span(term))
    first, end = (_utc(one) for one in _moments(term, term.values[0].casefold(), now))
    sign = {"since": ">=", "until": "<="}.get(term.name, term.operator)
    least = end if sign == ">" else first if sign in {">=", "=", ":"} else ""
    limit = first if sign == "<" else end if sign in {"<=", "=", ":"} else "~"  # after any time
    return lambda row: least <= row.summary.started[:_TO_SECONDS] < limit


def _utc(moment: datetime) -> str:
    """Return a moment as runs are stored: in UTC, where the texts have the order of the times."""
    return moment.astimezone(UTC).isoformat()[:_TO_SECONDS]


def _moments(term: Term, text: str, now: datetime) -> tuple[datetime, datetime]:
    """Return the beginning and the end of a day, or twice a moment in local time or an age before now."""
    if found := _AGE.fullmatch(text):
        with suppress(OverflowError):
            return (now - timedelta(seconds=int(found[1]) * _SECONDS[found[2]]),) * 2
    midnight = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    days = {"today": midnight, "yesterday": midnight - timedelta(days=1)}
    with suppress(ValueError, OverflowError):
        day = days.get(text) or datetime.fromisoformat(text).astimezone()
        whole = text in days or len(text) == len("2026-11-01")
        return day, day + timedelta(days=1) if whole else day
    raise FilterError(
        f"“{text[:60]}” is not a moment", f"Write {term.name}:7d or {term.name}:2026-11-01.", *_span(term)
    )

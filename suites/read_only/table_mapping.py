"""Mappings of tables: what each column has, in which unit, and whether higher or lower is better."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from suites.errors import BenchwrightError
from suites.quantities import first_upper
from suites.units import Unit, typed_unit
from suites.vocab import Better, Metric, MetricKind

METRIC_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")
"""The names of metrics that a mapping may give."""

_PERCENTILE = re.compile(r"(?:.*_)?p(\d{1,2}(?:_\d{1,3})?)$")
_TIMES = frozenset({Unit.SECOND, Unit.MILLISECOND, Unit.MICROSECOND, Unit.NANOSECOND})


class TableError(BenchwrightError):
    """A table or its mapping cannot be used."""


class Role(StrEnum):
    """What a column has, unless it has the values of a metric."""

    HOST = "host"
    DATE = "date"
    TEST = "test"
    CONFIGURATION = "config"
    METRIC = "metric"
    VALUE = "value"
    UNIT = "unit"
    IGNORED = "ignore"


class Decimal(StrEnum):
    """The decimal separator."""

    POINT = "point"
    COMMA = "comma"


ROLE_SYNTAX = "NAME:UNIT:higher, NAME:UNIT:lower, host, date, date:FORMAT, test, config, metric, value, unit or ignore"

_BETTER = frozenset(Better)
_DECIMAL, _COLUMN, _IN_ROWS, _MEASURED = "decimal ", "column ", "row ", "measured "
"""How the lines of a stored mapping begin. What the user wrote is after an equals sign, where redaction finds it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The metric of a column, and the multiple of its unit in which the cells are."""

    metric: Metric
    multiple: float


@dataclass(frozen=True, slots=True)
class TableMapping:
    """The role of each column by its name: see ROLE_SYNTAX; where a column has names of metrics, also that of these.

    `header` are the names of the columns, in any order. `decimal` is the decimal separator, None if it was not given.
    `name` is the mapping's own.
    """

    header: frozenset[str]
    columns: Mapping[str, str]
    decimal: Decimal | None = None
    name: str = ""

    def text(self) -> str:
        """Return the mapping without its name as text, the same for the same mapping."""
        lines = [_DECIMAL + self.decimal] if self.decimal else []
        for column, role in sorted(self.columns.items()):
            where = _COLUMN if column in self.header else _IN_ROWS
            name, _, rest = role.partition(":")
            if _is_role(role):
                lines.append(f"{where}{role}={column}")
            else:
                lines.append(f"{where}{_MEASURED}{rest}={name}={column}")
        return "\n".join(lines)

    def named(self, role: Role) -> list[str]:
        """Return the columns with a role."""
        return [name for name, given in self.columns.items() if given.partition(":")[0] == role and _is_role(given)]

    def measured(self) -> dict[str, Measured]:
        """Return what is measured by the name of its column; raise TableError for a role that is not one."""
        found = {name: _measured(name, role) for name, role in self.columns.items() if not _is_role(role)}
        name, count = next(iter(Counter(one.metric.name for one in found.values()).most_common(1)), ("", 0))
        if count > 1:
            raise TableError(f"{count} columns are the metric {name}.", "Give each metric a name of its own.")
        return found

    def check(self) -> None:
        """Raise TableError unless each column has a role, and the roles can be used together."""
        for name in sorted(self.columns.keys() - self.header) if not self.named(Role.METRIC) else ():
            raise TableError(
                f"The table has no column “{name[:60]}”.", f"Its columns: {', '.join(sorted(self.header))[:400]}."
            )
        for name in sorted(self.header - self.columns.keys()):
            raise TableError(
                f"Column “{name[:60]}” has no role.", f"Give one: --map '{name[:60]}=ROLE', {ROLE_SYNTAX}."
            )
        for role in (Role.HOST, Role.DATE, Role.TEST, Role.METRIC, Role.VALUE, Role.UNIT):
            if len(self.named(role)) > 1:
                raise TableError(f"{len(self.named(role))} columns are the {role}.", "Give this role to one column.")
        measured = self.measured()
        if bool(self.named(Role.METRIC)) != bool(self.named(Role.VALUE)):
            raise TableError("The roles metric and value go together.", "Give both, or neither.")
        if self.named(Role.UNIT) and not self.named(Role.METRIC):
            raise TableError("The role unit belongs to a column with the role value.", "Ignore the column.")
        if not measured:
            raise TableError("No metric is given.", "Give one: --map COLUMN=NAME:UNIT:higher or lower.")
        if self.named(Role.METRIC) and (beside := sorted(measured.keys() & self.header)):
            raise TableError(f"Column “{beside[0][:60]}” is a metric beside metric and value.", "Ignore the column.")


def mapping_of(text: str) -> TableMapping:
    """Return the mapping that text() wrote; raise TableError for another text."""
    columns: dict[str, str] = {}
    header, decimal = set(), None
    try:
        for line in text.splitlines():
            if line.startswith(_DECIMAL):
                decimal = Decimal(line.removeprefix(_DECIMAL))
                continue
            where = _COLUMN if line.startswith(_COLUMN) else _IN_ROWS
            role, _, column = line.removeprefix(where).partition("=")
            if role.startswith(_MEASURED):
                name, _, column = column.partition("=")
                role = f"{name}:{role.removeprefix(_MEASURED)}"
            columns[column] = role
            if where == _COLUMN:
                header.add(column)
        mapping = TableMapping(frozenset(header), columns, decimal)
        mapping.check()
    except ValueError as error:
        raise TableError("Not a mapping of a table.", "Give it again.") from error
    return mapping


def _is_role(text: str) -> bool:
    return text in set(Role) or (text.startswith(f"{Role.DATE}:") and text.rpartition(":")[2] not in _BETTER)


def _measured(column: str, text: str) -> Measured:
    parts = text.split(":")
    example = f"Give name, unit and direction: --map '{column[:60]}=latency_p99:ms:lower'."
    if len(parts) == 1 or (len(parts) == 2 and parts[1] in _BETTER):
        raise TableError(f"Column “{column[:60]}”: “{text[:60]}” has no unit.", example)
    if len(parts) != 3 or parts[2] not in _BETTER:
        raise TableError(
            f"Column “{column[:60]}”: “{text[:60]}” does not state whether higher or lower is better.", example
        )
    name, unit, better = parts
    if not METRIC_NAME.fullmatch(name):
        raise TableError(f"“{name[:60]}” is not a name of a metric.", "Use letters, digits and _, as in latency_p99.")
    known = typed_unit(unit)
    if known is None:
        raise TableError(
            f"Column “{column[:60]}”: “{unit[:30]}” is not a unit.", f"Use one of {', '.join(Unit)}, IOPS."
        )
    typed, name = name, name.lower()
    kind = MetricKind.TIME if known[1] in _TIMES else MetricKind.SHARE if known[1] is Unit.PERCENT else MetricKind.RATE
    match = _PERCENTILE.match(name) if kind is MetricKind.TIME else None
    percentile = float(match[1].replace("_", ".")) if match else None
    title = _title(typed, f"{column} {unit}")
    return Measured(Metric(name, title, known[1], Better(better), kind, percentile, least=None), known[0])


def _title(name: str, beside: str) -> str:
    """Return the title of a metric: its name as typed; words in lower case as they are `beside`: IOPS for iops."""
    spelled = {word.lower(): word for word in re.findall(r"[A-Za-z0-9]+", beside)}
    words = [spelled.get(word, word) for word in name.split("_") if word]
    title = " ".join(words)
    return first_upper(title) if words[0].isalpha() else title  # not “P99”

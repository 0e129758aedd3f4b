"""Tables of results as outputs: a run of each host and date, read through a mapping of the columns."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.outputs.found import FoundOutput
from suites.read_only.csv_table import SUITE, TableResult, header_of, read_table, table_results
from suites.read_only.table_mapping import Decimal, TableError, TableMapping, mapping_of

MappingOf = Callable[[Collection[str]], TableMapping | None]
"""Returns the mapping of a table with these columns; None if they have none."""

OTHERS = "*"
"""The column of a mapping that is each one not named."""


def no_mapping(_header: Collection[str]) -> TableMapping | None:
    """Return no mapping."""
    return None


@dataclass(frozen=True, slots=True)
class GivenMapping:
    """The roles that the user gives to columns, whatever other columns the table has."""

    columns: Mapping[str, str]
    decimal: Decimal | None = None
    name: str = ""

    def of(self, header: Collection[str]) -> TableMapping | None:
        """Return the mapping of a table; OTHERS gives its role to each column without one."""
        columns = {" ".join(name.split()): role for name, role in self.columns.items() if name != OTHERS}
        if OTHERS in self.columns:
            columns |= dict.fromkeys(set(header) - columns.keys(), self.columns[OTHERS])
        return TableMapping(frozenset(header), columns, self.decimal, self.name)


@dataclass(frozen=True, slots=True)
class TableRun:
    """The results of a host and a date in a table; None where it has no column of them."""

    host: str | None
    date: datetime | None
    found: Sequence[FoundOutput]


def mapping_for(text: str, mappings: MappingOf) -> TableMapping | None:
    """Return the mapping with which `text` is read as a table; None if its first line has none.

    Raises TableError if the mappings cannot be read.
    """
    header = header_of(text)
    return mappings(header) if header else None


def has_mapping(text: str, mappings: MappingOf) -> bool:
    """Return whether `text` is read as a table; not if the mappings cannot be read."""
    try:
        return mapping_for(text, mappings) is not None
    except TableError:
        return False


def runs_in(text: str, mapping: TableMapping) -> list[TableRun]:
    """Return the runs in a table, in the order of their rows; raise TableError."""
    by_run: dict[tuple[str | None, datetime | None], list[TableResult]] = {}
    for one in table_results(read_table(text), mapping):
        by_run.setdefault((one.host, one.date), []).append(one)
    return [
        TableRun(host, date, [FoundOutput("CSV table", one.output, one.text, one.line) for one in results])
        for (host, date), results in by_run.items()
    ]


def stored_mapping(suite: str, values: Mapping[str, object]) -> TableMapping | None:
    """Return the mapping with which a stored step was read; None if it is of no table, or its mapping was redacted."""
    try:
        return mapping_of(str(values["mapping"])) if suite == SUITE else None
    except (KeyError, TableError):
        return None


def unmapped_text(text: str) -> str:
    """Return how to import a table; raise TableError for one that cannot be read with any mapping."""
    read_table(text)
    columns = ", ".join(f"“{name[:40]}”" for name in header_of(text)[:20])
    return (
        f"A table with the columns {columns}, which have no mapping. "
        "Give each a role: benchwright import FILE --map 'COLUMN=NAME:UNIT:lower' (see import --help)."
    )

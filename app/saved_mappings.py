"""The mappings of tables that are remembered by the names of their columns, in a TOML file."""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypedDict

from app.output import WriteError, write_whole
from remote.local_file import parse_toml, read_file
from suites.read_only.table_mapping import Decimal, TableError, TableMapping

MAPPINGS_FILE = "mappings.toml"
"""Its name, in the folder of the saved hosts."""

LARGEST = 2**22
"""Size limit of the file, in bytes."""

LONGEST_NAME = 60

_REMEDY = "Fix or move the file."


FORMAT = "benchwright-mappings/1"


class MappingJson(TypedDict):
    """A mapping with its roles by column."""

    name: str
    header: list[str]
    columns: Mapping[str, str]
    decimal: Decimal | None


class MappingsJson(TypedDict):
    """The remembered mappings."""

    format: Annotated[str, FORMAT]
    mappings: list[MappingJson]


def mappings_to_json(kept: Iterable[TableMapping]) -> MappingsJson:
    """Return the public JSON of mappings."""
    return {
        "format": FORMAT,
        "mappings": [
            {"name": one.name, "header": sorted(one.header), "columns": dict(one.columns), "decimal": one.decimal}
            for one in kept
        ],
    }


class SavedMappings:
    """The mappings by name. The file has a table for each: ``header``, ``decimal`` and ``columns``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def read(self) -> list[TableMapping]:
        """Return the mappings, by name; raise TableError for a damaged file; a missing one has none."""
        with self._lock:
            return sorted(self._read().values(), key=lambda one: one.name)

    def finder(self) -> Callable[[Collection[str]], TableMapping | None]:
        """Return a function that returns the mapping of a table with these columns, in any order; None without one.

        It reads the file once, at its first call, which raises TableError for a damaged file.
        """
        read = cache(lambda: {one.header: one for one in self.read()})
        return lambda header: read().get(frozenset(header))

    def keep(self, mapping: TableMapping) -> TableMapping:
        """Store a mapping in place of that of the same columns; return it with the name under which it is stored."""
        mapping.check()
        with self._lock:
            known = {name: one for name, one in self._read().items() if one.header != mapping.header}
            wanted = "".join(filter(str.isprintable, mapping.name)).strip()[:LONGEST_NAME] or "table"
            name, number = wanted, 1
            while name in known:
                number += 1
                name = f"{wanted} {number}"
            kept = TableMapping(mapping.header, mapping.columns, mapping.decimal, name)
            self._write({**known, name: kept})
        return kept

    def forget(self, name: str) -> None:
        """Delete a mapping; raise TableError if there is none of this name."""
        with self._lock:
            known = self._read()
            if name not in known:
                raise TableError(f"No mapping is named “{name[:60]}”.", "List them: benchwright mappings")
            del known[name]
            self._write(known)

    def _read(self) -> dict[str, TableMapping]:
        try:
            return read_file(self._path, LARGEST, TableError, _REMEDY, _mappings)
        except TableError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return {}
            raise

    def _write(self, mappings: Mapping[str, TableMapping]) -> None:
        import tomlkit  # takes time, and is only needed to save

        document = {
            name: {
                "header": sorted(one.header),
                **({"decimal": one.decimal.value} if one.decimal else {}),
                "columns": dict(one.columns),
            }
            for name, one in sorted(mappings.items())
        }
        try:
            write_whole(self._path, tomlkit.dumps(document).encode(), private=True)
        except WriteError as error:
            raise TableError(f"Cannot save the mapping: {error.message}", error.remedy) from error


def _mappings(text: str) -> dict[str, TableMapping]:
    content = parse_toml(text, TableError, _REMEDY)
    return {name: _mapping(name, found) for name, found in content.items()}


def _mapping(name: str, content: Any) -> TableMapping:
    try:
        columns = {str(column): str(role) for column, role in content["columns"].items()}
        decimal = Decimal(content["decimal"]) if "decimal" in content else None
        mapping = TableMapping(frozenset(map(str, content["header"])), columns, decimal, name)
        mapping.check()
    except (KeyError, TypeError, AttributeError, ValueError, TableError) as error:
        reason = error.message if isinstance(error, TableError) else "Not a mapping."
        raise TableError(f"Mapping “{name[:60]}”: {reason}", _REMEDY) from error
    return mapping

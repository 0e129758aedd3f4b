"""No files import each other in a circle, counting imports inside functions and those for types alone."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("app", "remote", "suites", "widgets")
IMPORT = re.compile(r"^[ \t]*(?:from ([\w.]+) import (\([^)]*\)|[^(\n]*)|import ([^\n]*))", re.MULTILINE)


def modules() -> dict[str, Path]:
    """Return the file of every module."""
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


def imported(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Yield the modules that a file imports anywhere in it."""
    for module, names, plain in IMPORT.findall(path.read_text(encoding="utf-8")):
        parts = (f"{module}.{name}" for name in re.findall(r"\w+", names))
        yield from (part if part in known else module for part in parts)
        yield from re.findall(r"[\w.]+", plain)


def circles(graph: dict[str, set[str]]) -> set[str]:
    """Return what remains once every module is taken away that imports, or is imported by, nothing that remains."""
    while True:
        wanted = set().union(*graph.values())
        idle = {name for name, needs in graph.items() if not needs or name not in wanted}
        if not idle:
            return set(graph)
        graph = {name: needs - idle for name, needs in graph.items() if name not in idle}


def test_no_files_import_each_other_in_a_circle() -> None:
    known = modules()
    found = {name: set(imported(path, known)) & known.keys() - {name} for name, path in known.items()}
    assert circles(found) == set()


def test_a_circle_is_found_behind_what_leads_to_it() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"d"}}
    assert circles({name: set(needs) for name, needs in graph.items()}) == {"b", "c"}

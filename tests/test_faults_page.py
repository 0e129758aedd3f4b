"""The tables of faults and hostile input name tests that exist, and leave nothing out."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import resources

TESTS = Path(__file__).parent
PROGRAM = ("app", "remote", "suites", "widgets")
UNPACKERS = frozenset({"zipfile", "tarfile", "gzip", "bz2", "lzma", "zlib"})
OWN = frozenset({"app/store/run_connection.py", "remote/telemetry/telemetry.py", "app/sharing/html_report.py"})
"""Files that unpack only what they packed themselves, or pack what Benchwright ships."""

BOUNDED = frozenset({"app/outputs/files.py", "app/store/embedded_library.py", "app/sharing/replacement.py"})
"""Files that unpack one stream of gzip or zlib up to a limit: outputs, the library in a report, packed raw output."""


def rows(section: str) -> list[list[str]]:
    """Return the rows of the table under a heading of the page."""
    text = resources.read_text("help/faults.md").partition(f"## {section}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def named(section: str) -> Iterator[tuple[str, str]]:
    """Yield each test that the table names: its file, and its function as words."""
    for row in rows(section):
        for file, words in re.findall(r"`([\w/]+\.py)` ([\w ]+)", row[-1]):
            yield file, "test_" + words.strip().replace(" ", "_")


@cache
def functions(file: str) -> set[str]:
    """Return the functions of a test file."""
    return {node.name for node in ast.walk(ast.parse((TESTS / file).read_text())) if isinstance(node, ast.FunctionDef)}


def test_every_test_that_is_named_exists() -> None:
    wanted = {*named("Hostile input"), *named("Faults")}
    assert len(wanted) > 100
    assert {
        (file, name) for file, name in wanted if not (TESTS / file).is_file() or name not in functions(file)
    } == set()


@pytest.mark.parametrize(("section", "count", "columns"), [("Hostile input", 28, 3), ("Faults", 89, 4)])
def test_each_row_has_a_promise_and_proof(section: str, count: int, columns: int) -> None:
    found = rows(section)
    assert [int(row[0].partition(".")[0]) for row in found] == list(range(1, count + 1))
    for row in found:
        assert len(row) == columns
        assert all(row)
        assert ".py` " in row[-1]
        proofs = [proof.strip() for proof in row[-1].split(";")]
        assert all(re.fullmatch(r"`[\w/]+\.py` [\w ]+", proof) for proof in proofs), row[0]


@pytest.mark.parametrize("folder", PROGRAM)
def test_no_archive_is_ever_unpacked(folder: str) -> None:
    imported: set[str] = set()
    for path in (TESTS.parent / folder).rglob("*.py"):
        if str(path.relative_to(TESTS.parent)) in OWN | BOUNDED:
            continue
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if any(name in text for name in UNPACKERS) else ():
            if isinstance(node, ast.Import):
                imported |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).partition(".")[0])
    assert imported & UNPACKERS == set()


@pytest.mark.parametrize("path", sorted(BOUNDED))
def test_what_is_unpacked_is_bounded(path: str) -> None:
    calls = [
        node
        for node in ast.walk(ast.parse((TESTS.parent / path).read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "decompress"
    ]
    assert calls
    assert all(len(call.args) == 2 for call in calls), "the largest size that is unpacked"

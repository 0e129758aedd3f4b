"""Sentences that tests expect are kept in tests/data/messages, not in the assertions."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.messages import FOLDER, messages
from tests.test_repository import ROOT

COMPARING = {"startswith", "endswith", "removesuffix"}
"""Methods whose argument is what a test expects; any other call is given its input."""


def is_sentence(text: str) -> bool:
    """Return whether a text is prose: four words at least, most of it letters, and no command line or path."""
    if (
        len(text) < 25
        or len(text.split()) < 4
        or text.count("\n") > 3
        or "--" in text
        or text.startswith("benchwright")
    ):
        return False
    if re.match(r"^[\w./-]+(=|:| /|/)", text):
        return False
    return sum(letter.isalpha() or letter == " " for letter in text) / len(text) > 0.75


def inputs(expression: ast.expr) -> Iterator[ast.AST]:
    """Yield the parts of an assertion that are no expectation: keys, formatted texts, and arguments of calls."""
    for node in ast.walk(expression):
        if isinstance(node, ast.JoinedStr):
            yield from ast.walk(node)
        elif isinstance(node, ast.Subscript):
            yield from ast.walk(node.slice)
        elif isinstance(node, ast.Call) and not (isinstance(node.func, ast.Attribute) and node.func.attr in COMPARING):
            yield from (each for each in (*node.args, *(word.value for word in node.keywords)))


def pinned(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assert):
            skipped = {id(each) for each in inputs(node.test)}
            for each in ast.walk(node.test):
                if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in skipped:
                    yield from [each.value] if is_sentence(each.value) else []


def test_no_assertion_pins_a_sentence() -> None:
    found = {(path.name, text) for path in (ROOT / "tests").rglob("test_*.py") for text in pinned(path)}
    assert found == set()


def test_a_pinned_sentence_is_found(tmp_path: Path) -> None:
    path = tmp_path / "test_x.py"
    path.write_text(
        'assert shown == "Host is busy: 97 % CPU before the test."\nassert f(x="Host is busy before it all.")\n'
    )
    assert list(pinned(path)) == ["Host is busy: 97 % " + "CPU before the test."]


def test_every_sentence_is_expected_by_a_test() -> None:
    """A sentence that no test looks up any more is taken out."""
    for page in FOLDER.glob("*.toml"):
        for module in re.findall(r"^\[(\w+)\]$", page.read_text(encoding="utf-8"), re.MULTILINE):
            area = page.stem.partition("-")[0]
            path = (ROOT / "tests" / f"{module}.py") if area == "project" else (ROOT / "tests" / area / f"{module}.py")
            used = set(re.findall(r'MESSAGES\["(\w+)"\]', path.read_text(encoding="utf-8")))
            assert set(messages(page.stem, module)) == used, module

"""Sentences that tests expect are kept in tests/data/messages, not in the assertions."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click

from app.cli.main import benchwright
from tests.messages import FOLDER, messages
from tests.test_repository import ROOT

LAYERS = ("app", "remote", "suites", "widgets")

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


def texts(path: Path) -> Iterator[str]:
    """Yield the literal texts of a module, but docstrings, with X for what is formatted."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(each) for each in node.values}
            yield "".join(str(each.value) if isinstance(each, ast.Constant) else "X" for each in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.value


def incomplete(text: str) -> Iterator[str]:
    """Yield the commands in a text that lack an argument, with what they lack."""
    for match in re.finditer(r"\bbenchwright ([a-z-]+(?: [^”)\n,;]*)?)", text):
        words = match[1].rstrip(".:").split()
        verb: click.Command = benchwright
        while words and isinstance(verb, click.Group) and (found := verb.get_command(click.Context(verb), words[0])):
            verb, words = found, words[1:]
        needed = [each.name for each in verb.params if isinstance(each, click.Argument) and each.required]
        given = [each for each in words if not each.startswith("-")]
        if len(given) < len(needed) and "--help" not in words and words[-1:] != ["X"]:
            yield f"{match[0]}: {needed}"


def test_a_command_in_a_message_has_its_arguments() -> None:
    paths = (path for folder in LAYERS for path in (ROOT / folder).rglob("*.py"))
    assert [found for path in paths for text in texts(path) for found in incomplete(text)] == []


def test_a_command_without_its_argument_is_found() -> None:
    assert list(incomplete("Let it run again: benchwright fleet retry")) == ["benchwright fleet retry: ['study']"]
    assert list(incomplete("Let it run again: benchwright fleet retry STUDY, unless it runs.")) == []

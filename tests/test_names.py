"""Names: one meaning each, and standard terms."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent

FORBIDDEN = frozenset({
    "anew", "apart", "farewell", "felt", "heed", "heeded", "kin", "lacking", "lent", "nowhere", "rescue", "said",
    "says", "somebody", "spoken", "told", "took", "whose", "wordings",
})  # fmt: skip
"""Words without a technical meaning; a name says reported, missing, difference, owner, duration … instead."""

PROSE = re.compile(r"\"{3}[\s\S]*?\"{3}|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|#.*")

PUBLISHED = frozenset({"rate_apart", "apart"})
"""Names that are keys of the public JSON."""


@cache
def is_forbidden(name: str) -> bool:
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
    return name not in PUBLISHED and not FORBIDDEN.isdisjoint(words)


def defined_names(path: Path) -> Iterator[str]:
    """Yield the names that a file defines: classes, functions, arguments, attributes and variables, but not tests."""
    text = path.read_text(encoding="utf-8")
    any_word = any(map(is_forbidden, set(re.findall(r"[A-Za-z_]\w*", PROSE.sub("", text)))))  # else it is not parsed
    for node in ast.walk(ast.parse(text)) if any_word else ():
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from [] if node.name.startswith("test_") else [node.name]
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def test_a_public_class_has_a_name_of_its_own() -> None:
    modules = defaultdict(set)
    for folder in ("app", "widgets", "remote", "suites"):
        for path in (ROOT / folder).rglob("*.py"):
            for name in re.findall(r"^class ([A-Za-z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE):
                modules[name].add(str(path.relative_to(ROOT)))
    assert len(modules) > 100
    assert {name: sorted(where) for name, where in modules.items() if len(where) > 1} == {}


def test_names_are_standard_terms() -> None:
    paths = [
        path for folder in ("app", "widgets", "remote", "suites", "tests") for path in (ROOT / folder).rglob("*.py")
    ]
    assert len(paths) > 500
    found = {
        (str(path.relative_to(ROOT)), name)
        for path in paths
        for name in {path.stem.removeprefix("test_"), *defined_names(path)}
        if is_forbidden(name)
    }
    assert found == set()

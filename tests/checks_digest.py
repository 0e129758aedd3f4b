"""What decides a verdict on stored evidence, and the verdicts that it reaches: the record that the version of the
checks is held against.

``python -m tests.checks_digest`` writes it for the present version of the checks. It refuses while a verdict of the
record has changed and the version has not been raised.
"""

import ast
import hashlib
import io
import json
import lzma
import sys
import tempfile
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.checks.version import CHECKS_VERSION
from app.rejudging.rejudge import NotJudgedError, new_verdicts
from app.store.store import Store
from suites.verdict import Verdict
from tests.app.test_judged_corpus import OBJECTED, PROPER, outputs, proper

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "tests/data/rejudged/checks.json"
CAPTURED = ROOT / "tests/data/rejudged/runs-of-format-15.sqlite3.xz"
"""Runs of real tools on a host that was busy at times, and imported outputs, recorded before verdicts had a version."""

DECIDING = ("app/calibration/calibration.py", "app/centres.py", "app/checks", "app/outputs", "app/plans/context.py",
            "app/plans/duet.py", "app/verdict", "suites")  # fmt: skip
"""Files and folders with the checks, limits and parsers, and what they compute with."""

NOT_DECIDING = ("app/checks/issues.py", "app/checks/recheck.py", "app/checks/version.py", "app/verdict/listing.py")


def code() -> dict[str, str]:
    """Return a digest of each file that decides, without its comments, docstrings and layout."""
    return {
        path: hashlib.sha256(reduced((ROOT / path).read_text(encoding="utf-8")).encode()).hexdigest()[:16]
        for path in sorted(_paths())
    }


def _paths() -> Iterator[str]:
    for each in DECIDING:
        path = ROOT / each
        for file in path.rglob("*.py") if path.is_dir() else (path,):
            name = file.relative_to(ROOT).as_posix()
            if name not in NOT_DECIDING:
                yield name


def reduced(source: str) -> str:
    """Return Python source without comments, docstrings, trailing commas and white space outside of texts."""
    docstrings = set()
    for node in ast.walk(ast.parse(source)):
        first = next(iter(getattr(node, "body", ())), None) if not isinstance(node, ast.Lambda | ast.IfExp) else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            docstrings.add((first.lineno, first.col_offset))
    kept: list[str] = []
    for kind, text, start in _tokens(source):
        if kind in _LAYOUT or start in docstrings:
            continue
        if text in {")", "]", "}"} and kept and kept[-1] == ",":
            kept.pop()
        kept.append(text)
    return " ".join(kept)


_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def _tokens(source: str) -> Iterator[tuple[int, str, tuple[int, int]]]:
    """Yield the kind, text and place of tokens; an f-string is one, which it is to Python up to 3.11 only."""
    begin, end = getattr(tokenize, "FSTRING_START", -1), getattr(tokenize, "FSTRING_END", -1)
    lines, open_ones = source.splitlines(keepends=True), list[tuple[int, int]]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == begin:
            open_ones.append(token.start)
        if not open_ones:
            yield token.type, token.string, token.start
        if token.type == end:
            start = open_ones.pop()
            if not open_ones:
                yield tokenize.STRING, _between(lines, start, token.end), start


def _between(lines: Sequence[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    (first, column), (last, until) = start, end
    if first == last:
        return lines[first - 1][column:until]
    return "".join((lines[first - 1][column:], *lines[first : last - 1], lines[last - 1][:until]))


def described(verdict: Verdict) -> str:
    """Return what a verdict decides: trust, limit, and each finding with its severity."""
    limited = f", limited by {verdict.limited_by}" if verdict.limited_by else ""
    findings = ", ".join(sorted(f"{one.id} {one.severity}" for one in verdict.findings))
    return f"{verdict.trust}{limited}: {findings}"


def verdicts() -> dict[str, list[str]]:
    """Return the present verdicts on the captured runs, and on the outputs from elsewhere."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        store = captured(Path(folder))
        for run in store.runs():
            record = store.load(run.id)
            content = store.imported_content(run.id)
            try:
                made = new_verdicts(record, store.samples(run.id), store.telemetry(run.id), content)
            except NotJudgedError as error:
                found[run.id] = [error.message]
            else:
                found[run.id] = [f"{one.step}: {described(one)}" for one in made.verdicts]
        store.close()
    for path in OBJECTED:
        found[path.name] = [described(one.verdict) for one in outputs(path.with_suffix(""))]
    for name in PROPER:
        found[name] = [described(one.verdict) for one in proper(name)]
    return found


def captured(folder: Path) -> Store:
    """Return a copy of the library of captured runs."""
    path = folder / "captured.sqlite3"
    path.write_bytes(lzma.decompress(CAPTURED.read_bytes()))
    return Store(path)


def differing(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the names whose values differ, or that one of both lacks."""
    return sorted(name for name in stored.keys() | now.keys() if stored.get(name) != now.get(name))


def refusal(stored: Mapping[str, Any], reached: Mapping[str, Any], version: int) -> str:
    """Return why the record cannot be written for `version`: it reached other verdicts before; empty if it can."""
    changed = differing(stored["verdicts"], reached)
    known = [name for name in changed if name in stored["verdicts"]]
    if known and version <= stored["version"]:
        return f"Verdicts changed: {', '.join(known)}. Raise CHECKS_VERSION in app/checks/version.py, and run it again."
    return ""


def main() -> int:
    """Write the record; return 1, with the reason, if the version must be raised first."""
    reached = verdicts()
    if RECORD.exists() and (refused := refusal(json.loads(RECORD.read_text()), reached, CHECKS_VERSION)):
        sys.stderr.write(f"{refused}\n")
        return 1
    record = {"version": CHECKS_VERSION, "code": code(), "verdicts": reached}
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

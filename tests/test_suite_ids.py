"""No suite is named outside suites/: what is particular to one is an attribute or a method of it."""

import ast
import re

from suites.registry import SUITES
from tests.test_repository import ROOT

IDS = {suite.id for suite in SUITES}

OTHERWISE = {
    ("app/results.py", "command"): "a column of the published CSV: the command line of a trial",
    ("app/export.py", "command"): "a key of hyperfine's JSON",
    ("app/store/host_log.py", "command"): "a column of the library: the command line of an installation",
    ("app/plans/presets.py", "command"): "a parameter: the command line of a step",
    ("app/store/schema.py", "command"): "the same column",
    ("app/sharing/redaction.py", "http"): "a protocol in a source of facts: it names no host",
    ("app/store/run_writer.py", "stream"): "a column of the library: the stream of an output, stdout or stderr",
    ("app/store/schema.py", "stream"): "the same column",
}
"""Words that are an id and mean something else there, and what."""

UTILITIES = {"command", "cp", "dd"}
"""What POSIX gives every shell script."""

QUOTED = re.compile(rf"""["']({"|".join(map(re.escape, sorted(IDS)))})["']""")
"""An id as a constant: a file without any is not parsed."""


def test_no_suite_is_named_outside_suites() -> None:
    """Each exception of the list above is one still."""
    found = set()
    for floor in ("app", "widgets", "remote", "resources"):
        for path in (ROOT / floor).rglob("*.py"):
            name, text = path.relative_to(ROOT).as_posix(), path.read_text()
            nodes = ast.walk(ast.parse(text)) if QUOTED.search(text) else ()
            constants = (node.value for node in nodes if isinstance(node, ast.Constant))
            found |= {(name, word) for word in constants if isinstance(word, str) and word in IDS}
    assert found == set(OTHERWISE)


def test_no_script_names_a_suite() -> None:
    """What a script starts or looks for is given to it as its arguments; the remedies of one name a suite to use."""
    word = re.compile(rf"(?<![\w./-])({'|'.join(map(re.escape, sorted(IDS - UTILITIES)))})(?![\w./-])")
    found = {}
    for path in sorted((ROOT / "resources").glob("*.sh")):
        code = re.sub(r"(?m)(^|\s)#.*$", "", path.read_text())
        if named := set(word.findall(code)):
            found[path.name] = named
    assert found == {"targets.sh": {"fio"}}

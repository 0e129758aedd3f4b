"""What a host, a plan, a job file or a library says may not drive the terminal that the command line prints to."""

import ast
import subprocess
from pathlib import Path

import pytest

import app.cli
from tests.program import BENCHWRIGHT, DONE, environment

FILES = sorted(Path(app.cli.__file__).parent.glob("*.py"))
PRINTS = {"echo", "secho", "prompt", "confirm"}
SAFE = {"plain", "encode"}


def unsafe(source: str) -> list[str]:
    """Return the calls of click in `source` that print a text which was not made visible; print_file() does it."""
    tree = ast.parse(source)
    tree.body = [node for node in tree.body if not (isinstance(node, ast.FunctionDef) and node.name == "print_file")]
    return [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Call) and _prints_raw(node)]


def _prints_raw(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id="click"), attr=name) if name in PRINTS:
            return not all(map(_is_safe, call.args[:1]))
    return False


def _is_safe(text: ast.expr) -> bool:
    match text:
        case ast.Constant() | ast.Name(id="CLEARED"):
            return True
        case ast.BinOp(left=left, right=right):
            return _is_safe(left) and _is_safe(right)
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name in SAFE
    return False


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_text_is_made_visible_before_it_is_printed(path: Path) -> None:
    assert unsafe(path.read_text()) == []


def test_a_text_that_is_printed_raw_is_found() -> None:
    assert unsafe('click.echo("fixed")\nclick.echo(plain(name))') == []
    assert len(unsafe('click.confirm(f"Delete {name}?")\nclick.echo(name, err=True)')) == 2


@pytest.mark.quick(2)
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_no_error(tmp_path: Path, closed: str) -> None:
    words = [*BENCHWRIGHT, "hosts", "test", "local"]
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment())
    assert (done.returncode, done.stderr) == (DONE, "")
    assert bool(done.stdout) is (" >&-" not in f" {closed}")

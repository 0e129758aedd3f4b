"""What holds of the repository as a whole: dependencies argued and locked, help complete, no trace of one machine."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import resources

ROOT = Path(__file__).parent.parent
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

ABOVE = {"app", "widgets", "remote", "suites", "resources", "tests"}
BESIDE = {"README.md", "CHANGELOG.md", "LICENSE", "Makefile", "pyproject.toml", "requirements.lock"}

MACHINE_PATHS = re.compile(rb"/work/|/Users/|" + re.escape(str(ROOT).encode()) + rb"\b")
"""Where a developer's own files lie."""

CAPTURED = "tests/data/"
"""Outputs of tools on some machine: they are as they were."""


def committed() -> Iterator[Path]:
    """Return the files git knows; without git, there is nothing to look at."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    yield from (ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file())


def declared() -> list[str]:
    """Return the lines that declare a dependency, each with the line before it."""
    lines = PYPROJECT.splitlines()
    content = tomllib.loads(PYPROJECT)
    wanted = content["project"]["dependencies"] + content["dependency-groups"]["dev"]
    return ["\n".join(lines[number - 1 : number + 1]) for name in wanted for number in _line_of(name, lines)]


def _line_of(requirement: str, lines: list[str]) -> list[int]:
    return [number for number, line in enumerate(lines) if line.startswith(f'  "{requirement}"')]


def test_every_dependency_says_why_it_is_there() -> None:
    assert len(declared()) > 20
    assert [lines for lines in declared() if "#" not in lines.splitlines()[1] and "  #" not in lines[:4]] == []


def test_every_dependency_is_locked_by_its_hash() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for lines in declared():
        name = re.findall(r'"([\w-]+)', lines.splitlines()[1])[0]
        assert re.search(rf"^{name}==\S+ .*\\\n    --hash=sha256:", lock, re.MULTILINE), name


def test_the_top_level_is_what_the_readme_says() -> None:
    names = {path.relative_to(ROOT).parts[0] for path in committed()}
    assert {name for name in names if not name.startswith(".")} == ABOVE | BESIDE


def test_the_readme_says_what_every_folder_is_for() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    layers = ("app", "remote", "widgets")  # a folder of suites/ is called as its tool is
    packages = [path.parent.relative_to(ROOT) for layer in layers for path in (ROOT / layer).glob("*/__init__.py")]
    assert len(packages) > 20
    assert [str(package) for package in packages if f"`{package}`" not in readme] == []


def test_every_topic_of_help_has_a_page_and_every_page_a_topic() -> None:
    from widgets.help_page import CHECKS, TOPICS

    pages = {path.stem for path in (Path(resources.__file__).parent / "help").glob("*.md")}
    assert set(TOPICS) == pages | {CHECKS}  # which is made of the checks' own words


def test_no_file_names_a_path_of_a_developers_machine() -> None:
    for path in committed():
        name = str(path.relative_to(ROOT))
        if not name.startswith(CAPTURED) and path != Path(__file__):
            found = MACHINE_PATHS.search(path.read_bytes())
            assert found is None, f"{name}: {found[0].decode()}"

"""What holds of the repository as a whole: dependencies argued and locked, help complete, no trace of one machine."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import resources

ROOT = Path(__file__).parent.parent
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

RUN = (("project", "dependencies"), ("project", "optional-dependencies", "window"), ("dependency-groups", "build"))
DEVELOP = (("dependency-groups", "dev"), ("dependency-groups", "pip"))
"""Where pyproject.toml names what `make run` installs, and what else there is."""

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
    wanted = [name for names in (*RUN, *DEVELOP) for name in _of(content, names)]
    return ["\n".join(lines[number - 1 : number + 1]) for name in wanted for number in _line_of(name, lines)]


def _of(content: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    for name in names:
        content = content[name]
    return list(content)


def _line_of(requirement: str, lines: list[str]) -> list[int]:
    return [number for number, line in enumerate(lines) if line.startswith(f'  "{requirement}"')]


def test_every_dependency_says_why_it_is_there() -> None:
    assert len(declared()) > 20
    assert [lines for lines in declared() if "#" not in lines.splitlines()[1] and "  #" not in lines[:4]] == []


@pytest.mark.parametrize(
    ("path", "groups"),
    [("requirements.lock", RUN), (".make/dev.lock", DEVELOP[:1]), (".make/pip.lock", DEVELOP[1:])],
    ids=["run", "dev", "pip"],
)
def test_every_dependency_is_locked_by_its_hash(path: str, groups: tuple[tuple[str, ...], ...]) -> None:
    lock = (ROOT / path).read_text(encoding="utf-8")
    for name in (name for names in groups for name in _of(tomllib.loads(PYPROJECT), names)):
        (package,) = re.findall(r"^[\w-]+", name)
        assert re.search(rf"^{package}==\S+ .*\\\n    --hash=sha256:", lock, re.MULTILINE), package


def test_what_only_developers_need_is_not_installed_to_run() -> None:
    run, develop = ((ROOT / name).read_text(encoding="utf-8") for name in ("requirements.lock", ".make/dev.lock"))
    pins = dict(re.findall(r"^([\w-]+)==(\S+)", run, re.MULTILINE))
    assert not {"mypy", "hypothesis", "ruff", "pytest", "pandas-stubs"} & pins.keys()
    of_both = {
        (name, version) for name, version in re.findall(r"^([\w-]+)==(\S+)", develop, re.MULTILINE) if name in pins
    }
    assert {name: version for name, version in of_both if f"\n{name}=={version}" not in f"\n{run}"} == {}


def test_a_python_that_the_lock_does_not_know_is_not_offered() -> None:
    script = (ROOT / ".make" / "python").read_text(encoding="utf-8")
    lowest, beyond = re.findall(r"3, (\d+)", script)[0], int(re.findall(r"3, (\d+)", script)[-1]) + 1
    assert f'requires-python = ">=3.{lowest},<3.{beyond}"' in PYPROJECT
    assert f"'>=3.{lowest},<3.{beyond}'" in (ROOT / ".make" / "venv").read_text(encoding="utf-8")


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

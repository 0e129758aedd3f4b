"""The commands that the command line proposes work as they are printed, also where `--store` names the library."""

import shlex
from pathlib import Path

import pytest

from tests.program import BAD_INPUT, DONE, benchwright

STORE = "own runs.sqlite3"


@pytest.fixture(autouse=True)
def in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        (("show", "nothing"), "list"),
        (("list",), "quick"),
        (("attach", "nothing"), "list"),
        (("show", "last"), "quick"),
        (("delete", "nothing", "--yes"), "list"),
        (("plan", "new", "--defaults", "--suite", "sysbench-cpu", "-o", "one plan.toml"), "check 'one plan.toml'"),
    ],
    ids=str,
)
def test_a_proposed_command_names_the_library(words: tuple[str, ...], proposed: str) -> None:
    benchwright("--store", STORE, "investigation", "new", "any")  # creates it
    ran = benchwright("--store", STORE, *words)
    assert f"benchwright --store {shlex.quote(STORE)} {proposed}" in ran.err + ran.out
    Path("one plan.toml").unlink(missing_ok=True)
    ran = benchwright(*words)
    assert f"benchwright {proposed}" in ran.err + ran.out


def test_the_command_that_salvages_works_as_printed() -> None:
    Path(STORE).write_bytes(b"no library, and longer than the least page of one. " * 20)
    ran = benchwright("--store", STORE, "list")
    assert ran.status == BAD_INPUT
    proposed = ran.err.partition("benchwright ")[2].partition(" NEW")[0]
    words = shlex.split(proposed)
    assert words[-2:] == ["salvage", STORE]


def test_a_library_that_is_the_users_own_is_not_named() -> None:
    ran = benchwright("list")
    assert ran.status == DONE
    assert "--store" not in ran.out

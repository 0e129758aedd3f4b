"""A command that was forked says, writes and ends as one that was started from a shell."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.program import BAD_INPUT, DONE, PATIENCE, benchwright, environment, started
from tests.warm_start import run

CPU = ("plan", "new", "--defaults", "--suite", "sysbench-cpu")


@pytest.fixture(autouse=True)
def in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("words", "stdin", "status"),
    [
        (("--version",), b"", DONE),
        (("hosts", "--json"), b"", DONE),
        (CPU, b"", DONE),
        (("parse", "sysbench-cpu", "-"), b"no output of sysbench\n" * 9000, None),
        (("show", "\udcff"), b"", BAD_INPUT),
        (("measure",), b"", BAD_INPUT),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_it_says_and_ends_the_same(words: tuple[str, ...], stdin: bytes, status: int | None) -> None:
    forked, real = benchwright(*words, stdin=stdin), started(*words, stdin=stdin)
    assert forked == real
    assert status in {None, real.status}


def test_it_has_the_folder_the_mask_and_the_variables_of_its_caller(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        assert benchwright(*CPU, "-o", "plan.toml", XDG_DATA_HOME=str(tmp_path / "data")).status == DONE
        assert benchwright("baseline", "unpin", "nothing", XDG_DATA_HOME=str(tmp_path / "data")).status == BAD_INPUT
    finally:
        os.umask(before)
    assert (tmp_path / "plan.toml").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "data").is_dir()


def test_what_takes_too_long_is_ended_and_the_next_call_is_served() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run(["list"], b"", environment(), 0.001)
    assert run(["--version"], b"", environment(), PATIENCE)[0] == DONE

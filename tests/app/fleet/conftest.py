"""Fixtures of studies: a workstation of the test's own, and the command line on a library with a study."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli.main import benchwright
from app.services import Workstation
from tests.widgets.fleet_studies import copied_study


@pytest.fixture
def workstation(tmp_path: Path) -> Iterator[Workstation]:
    """Return a workstation on a library and a list of hosts of the test's own."""
    made = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    yield made
    made.close()


@pytest.fixture
def call(tmp_path: Path) -> Callable[..., Result]:
    """Return a call of a verb on a library with a study of 36 hosts."""
    library = tmp_path / "runs.sqlite3"
    with closing(Workstation(library, tmp_path / "hosts.toml")) as workstation:
        copied_study(workstation)
    return lambda *words: CliRunner().invoke(benchwright, ["--store", str(library), *words])

"""What share of its volume a tuned working set covers is part of its reason."""

from dataclasses import replace

import pytest

from suites.base import Context, Suite
from suites.fio.suite import Fio
from suites.snia.suite import FioSnia
from tests.disk_host import GIB, disk_host


@pytest.mark.parametrize(("suite", "share"), [(Fio(), "(5 % of the volume)"), (FioSnia(), "(25 % of the volume)")])
def test_the_reason_names_the_share_where_the_size_of_the_volume_is_known(suite: Suite, share: str) -> None:
    facts = disk_host()
    assert "of the volume" not in suite.tune(Context(facts))["size"].why
    systems = tuple(replace(each, size=200 * GIB) for each in facts.file_systems)
    assert share in suite.tune(Context(replace(facts, file_systems=systems)))["size"].why

"""The shapes of rates that fio had on a device whose rate the lab changed: its samples, recorded on a busy computer."""

from pathlib import Path

import pytest

from app.checks.shapes import shape_of

RECORDED = sorted((Path(__file__).parent.parent / "data" / "shapes").glob("*.csv"))


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_a_recorded_rate_has_the_shape_that_was_set(file: Path) -> None:
    times, values = zip(*(map(float, line.split(",")) for line in file.read_text().splitlines()), strict=True)
    found = shape_of(times, values)
    name = file.stem.rpartition("-")[0].replace("-", " ")
    assert (name, found and found.kind.value) in {(name, name), ("flat", None)}

"""A parameter whose tool drops fractions refuses them instead of measuring something else."""

import pytest

from suites.errors import ParameterError
from suites.sysbench.common import TIME


@pytest.mark.parametrize("given", [1.5, "1.5", "1500 ms"])
def test_a_fraction_is_refused(given: object) -> None:
    with pytest.raises(ParameterError, match="whole number"):
        TIME.parse(given)


@pytest.mark.parametrize("given", [2, 2.0, "2", "2 s", "2000 ms"])
def test_a_whole_number_is_taken_however_written(given: object) -> None:
    assert TIME.parse(given) == 2

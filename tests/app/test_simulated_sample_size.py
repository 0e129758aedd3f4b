"""What proposed designs promise, held against simulated runs by compare(). Seeds are fixed; all tries: make bench."""

import pytest

from tests.app.test_simulations import about
from tests.simulation import sample_size

pytestmark = pytest.mark.slow

TRIES = 300


@pytest.mark.parametrize("name", sample_size.SETTINGS)
def test_compare_shows_the_difference_of_a_proposed_design_as_often_as_wanted(name: str) -> None:
    assert about(sample_size.power(sample_size.SETTINGS[name], TRIES), 0.75, 0.9)

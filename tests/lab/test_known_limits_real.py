"""Known limits are recovered, and named as what limited the result."""

import shutil

import pytest

from suites.verdict import Limiter
from tests.lab.known_limits import LIMITS, KnownLimit, recover
from tests.lab.staging import NotStagedError, Stage

CLOSE = 0.03
"""The share by which a figure may miss the truth; the lab's own limits are within 1 % of theirs."""


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_a_known_limit_is_recovered_and_named(limit: KnownLimit, stage: Stage) -> None:
    reason_missing = [tool for tool in limit.tools if shutil.which(tool) is None]
    if reason_missing:
        pytest.skip(f"{reason_missing[0]} is not installed")
    try:
        found = recover(stage, limit)
    except NotStagedError as reason:
        pytest.skip(f"not staged, because {reason}")
    if found.disturbed and found.limiter in {Limiter.CPU, Limiter.UNKNOWN}:
        pytest.skip("others took the processors meanwhile")
    assert found.limiter is limit.limiter
    # A share of the processor is a share of what others leave of it.
    assert abs(found.error) <= CLOSE or (found.disturbed and limit.free is not None), f"{found.error:+.1%}"

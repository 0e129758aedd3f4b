"""Known limits are recovered, and named as what limited the result."""

import shutil

import pytest

from tests.lab.known_limits import LIMITS, KnownLimit, judged, repeat
from tests.lab.staging import NotStagedError, Stage

CLOSE = 0.03
"""The share by which a figure may miss the truth; the lab's own limits are within 1 % of theirs."""

SMOKE = [
    limit
    for limit in LIMITS
    if limit.id
    in {
        "provisioned-64-MiB-s--blkio-throttle---depth-16",
        "provisioned-300-IOPS-below-the-device--in-slices-of-0-1-s--depth-1",
        "rate-fio-rate-iops-200",
        "shaped-100-Mbit-s-on-the-way--on-an-interface-of-10-Gbit-s",
    }
]
"""One of each kind of stage; `make bench truth` is all of them."""


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize("limit", SMOKE, ids=lambda limit: limit.name)
def test_a_known_limit_is_recovered_and_named(limit: KnownLimit, stage: Stage) -> None:
    missing = [tool for tool in limit.tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{missing[0]} is not installed")
    try:
        repeat(stage, limit, 1)
    except NotStagedError as reason:
        pytest.skip(f"not staged, because {reason}")
    (found,) = judged(stage.workstation, limit)
    assert found.verdict.limited_by in limit.right, found.evidence
    assert limit.truth is not None
    assert abs(found.figure / limit.truth - 1) <= CLOSE

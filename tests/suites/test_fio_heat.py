"""The histogram of each second: no I/O is lost between two documents, none is counted twice."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.fio.metrics import latency_bins, latency_slices
from suites.vocab import LatencySlice
from tests.suites.captured_outputs import capture


def added(slices: list[LatencySlice]) -> dict[tuple[tuple[str, str], ...], dict[int, int]]:
    found: dict[tuple[tuple[str, str], ...], dict[int, int]] = {}
    for one in slices:
        bins = found.setdefault(one.labels, {})
        for latency, count in one.bins.items():
            bins[latency] = bins.get(latency, 0) + count
    return found


@pytest.mark.parametrize("path", ["fio/3.39/jsonplus_status1_randrw", "fio/3.7/jsonplus_status1"])
def test_the_slices_add_up_to_the_whole(path: str) -> None:
    output = capture(path).stdout
    assert added(latency_slices(output)) == {at: bins for (_, at), bins in latency_bins(output).items()}


def test_slices_follow_each_other() -> None:
    slices = latency_slices(capture("fio/3.39/jsonplus_status1_randrw").stdout)
    reads = [one for one in slices if dict(one.labels)["operation"] == "read"]
    assert len(reads) > 1
    for before, after in pairwise(reads):
        assert after.start == pytest.approx(before.end, abs=0.3)
        assert after.end > after.start


def test_a_ramp_is_left_behind() -> None:
    output = capture("fio/3.33/randrw_libaio_ramp").stdout
    slices = latency_slices(output)
    assert added(slices) == {at: bins for (_, at), bins in latency_bins(output).items()}
    assert min(one.start for one in slices) > 1


def test_each_point_of_a_sweep_has_its_time() -> None:
    slices = latency_slices(capture("fio/3.33/sweep").stdout)
    assert max(one.end for one in slices) > 6
    assert [one.start for one in slices] == sorted(one.start for one in slices)


def test_output_without_a_histogram_has_no_slice() -> None:
    assert latency_slices(b"") == []
    assert latency_slices(b"read: IOPS=3\n") == []
    plain = {"jobs": [{"jobname": "x", "read": {"total_ios": 9, "runtime": 1000}}]}
    assert latency_slices(json.dumps(plain, indent=1).encode() + b"\n") == []


@given(st.binary(max_size=300))
def test_any_bytes_at_all_are_accepted(noise: bytes) -> None:
    latency_slices(noise)

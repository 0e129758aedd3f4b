"""One document as typed figures: percentiles from bins, clones put together."""

import json

import pytest

from suites.fio.documents import Document, DocumentReader
from suites.fio.report import Latency, percentile_of, read_report
from tests.suites.captured_outputs import capture

WITH_BINS = [
    "fio/2.21/jsonplus_status1",
    "fio/3.7/jsonplus_status1",
    "fio/3.33/randrw_libaio_ramp",
    "fio/3.33/write_fsync",
    "fio/3.39/jsonplus_status1_randrw",
]


@pytest.mark.parametrize("path", WITH_BINS)
def test_percentiles_from_bins_are_fios_own(path: str) -> None:
    # Of the last document: while I/Os go on, fio counts bins a moment later than it computes percentiles.
    *_, last = (piece for piece in DocumentReader().feed(capture(path).stdout) if isinstance(piece, Document))
    report = read_report(last.content)
    assert report is not None
    latencies = [direction.latency for direction in report.jobs[0].directions.values() if direction.ios]
    assert latencies
    for latency in latencies:
        assert len(latency.percentiles) >= 17
        own = {percent: percentile_of(latency.bins, percent) for percent in latency.percentiles}
        assert own == latency.percentiles


def test_a_percentile_is_the_first_bin_by_which_so_many_are_done() -> None:
    bins = {10: 50, 20: 49, 30: 1}
    assert [percentile_of(bins, percent) for percent in (50, 50.1, 99, 99.1, 100)] == [10, 20, 20, 30, 30]
    assert percentile_of({}, 50) is None
    assert percentile_of({10: 0}, 50) is None


def test_a_percentile_that_fio_did_not_print_comes_from_the_bins() -> None:
    latency = Latency(count=100, percentiles={50.0: 11.0}, bins={10: 60, 20: 40})
    assert (latency.percentile(50.0), latency.percentile(95.0)) == (11.0, 20.0)


def test_clones_are_added_as_group_reporting_does() -> None:
    def clone(ios: int, bins: dict[str, int], mean: float) -> dict[str, object]:
        read = {"total_ios": ios, "io_bytes": ios, "iops": ios, "bw_bytes": ios, "runtime": 1000}
        return {"jobname": "x", "usr_cpu": mean, "read": read | {"clat_ns": {"N": ios, "mean": mean, "bins": bins}}}

    content = {"jobs": [clone(1, {"10": 1}, 10.0), clone(2, {"10": 1, "20": 1}, 15.0), clone(3, {"20": 3}, 20.0)]}
    report = read_report(json.loads(json.dumps(content)))
    assert report is not None
    (job,) = report.jobs
    direction = job.directions["read"]
    assert (direction.ios, direction.iops, direction.bandwidth) == (6, 6, 6)
    assert direction.latency.mean == pytest.approx((10 + 30 + 60) / 6)
    assert direction.latency.bins == {10: 2, 20: 4}
    assert job.cpu_user == 15.0


def test_jobs_of_other_groups_stay_apart() -> None:
    jobs = [{"jobname": "x", "groupid": 0}, {"jobname": "x", "groupid": 1}]
    report = read_report({"jobs": jobs})
    assert report is not None
    assert [job.group for job in report.jobs] == [0, 1]


@pytest.mark.parametrize("content", [{}, {"jobs": []}, {"jobs": "many"}, {"client_stats": []}])
def test_what_has_no_jobs_is_no_report(content: dict[str, object]) -> None:
    assert read_report(content) is None

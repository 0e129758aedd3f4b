"""The parser of fio's output, on captures of six versions, failures and cut-off outputs among them."""

import json
import statistics
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suites.base import complete_values
from suites.fio import output as fio_output
from suites.fio.output import FioParser
from suites.fio.suite import Fio
from suites.outputs import ParsedTrial
from suites.vocab import Sample
from tests.messages import messages
from tests.suites.captured_outputs import capture, captures, figures, series

MESSAGES = messages("suites", "test_fio_output")

RANDRW = "fio/3.39/jsonplus_status1_randrw"
RAMP = "fio/3.33/randrw_libaio_ramp"


def parse(stdout: bytes, stderr: bytes = b"", exit_status: int | None = None) -> ParsedTrial:
    parser = FioParser()
    parser.feed(stdout)
    parser.feed(stderr, "stderr")
    return parser.finish(exit_status)


def documents(stdout: bytes) -> Iterator[dict[str, Any]]:
    """Yield fio's documents as the standard library reads them."""
    text, decoder, position = stdout.decode(), json.JSONDecoder(), 0
    while (start := text.find("{\n", position)) >= 0:
        document, position = decoder.raw_decode(text, start)
        yield document


def document(**job: object) -> bytes:
    """Return a document with one job of these entries, as fio prints it."""
    return json.dumps({"fio version": "fio-3.33", "jobs": [{"jobname": "x", **job}]}, indent=2).encode() + b"\n"


def read(ios: int, runtime: int, **more: object) -> dict[str, object]:
    """Return the entry of a direction."""
    return {"total_ios": ios, "io_bytes": ios * 4096, "runtime": runtime, "iops": ios, "bw_bytes": ios, **more}


@pytest.mark.parametrize(
    "path",
    [
        "fio/2.21/jsonplus_status1",
        "fio/2.21/json_final",
        "fio/3.7/jsonplus_status1",
        "fio/3.7/json_final",
        RAMP,
        RANDRW,
    ],
)
def test_figures_are_those_of_fios_last_document(path: str) -> None:
    captured = capture(path)
    *_, last = documents(captured.stdout)
    parsed = captured.parse(FioParser())
    found = figures(parsed)
    assert parsed.complete
    for operation in ("read", "write"):
        reported = last["jobs"][0][operation]
        latency, scale = (reported["clat_ns"], 1) if "clat_ns" in reported else (reported["clat"], 1000)
        assert found[f"iops {operation}"] == reported["iops"]
        assert found[f"bandwidth {operation}"] == reported.get("bw_bytes", reported["bw"] * 1024)
        assert found[f"latency_mean {operation}"] == latency["mean"] * scale
        assert found[f"latency_max {operation}"] == latency["max"] * scale
        for name, key in (("p50", "50.000000"), ("p95", "95.000000"), ("p99", "99.000000"), ("p99_9", "99.900000")):
            assert found[f"latency_{name} {operation}"] == latency["percentile"][key] * scale
    assert found["cpu_user"] == last["jobs"][0]["usr_cpu"]
    assert found["cpu_system"] == last["jobs"][0]["sys_cpu"]


def test_samples_are_differences_that_add_up_to_the_whole() -> None:
    captured = capture(RANDRW)
    parsed = captured.parse(FioParser())
    *_, before_last, _last = documents(captured.stdout)  # the last follows too soon for a sample of its own
    points = [(0.0, 0.0), *series(parsed.samples, "iops", operation="read")]
    done = sum((end[0] - start[0]) * end[1] for start, end in pairwise(points))
    assert len(points) == 5
    assert done == pytest.approx(before_last["jobs"][0]["read"]["total_ios"], abs=0.01)


def test_latencies_of_an_interval_are_those_of_its_own_ios() -> None:
    first, second, *_ = documents(capture(RANDRW).stdout)
    own = dict(second["jobs"][0]["read"]["clat_ns"]["bins"])
    for latency, count in first["jobs"][0]["read"]["clat_ns"]["bins"].items():
        own[latency] -= count
    spread = [
        int(latency) for latency, count in sorted(own.items(), key=lambda pair: int(pair[0])) for _ in range(count)
    ]
    samples = capture(RANDRW).parse(FioParser()).samples
    p99 = series(samples, "latency_p99", operation="read")[1][1]
    assert p99 == spread[-(len(spread) // 100) - 1]
    assert series(samples, "latency_max", operation="read")[1][1] == spread[-1]
    mean = series(samples, "total_latency_mean", operation="read")[1][1]
    waited = [document["jobs"][0]["read"]["lat_ns"] for document in (first, second)]
    sums, counts = ([one[key] * (one["N"] if key == "mean" else 1) for one in waited] for key in ("mean", "N"))
    assert mean == pytest.approx((sums[1] - sums[0]) / (counts[1] - counts[0]))


def test_version_2_counts_microseconds() -> None:
    parsed = capture("fio/2.21/jsonplus_status1").parse(FioParser())
    assert figures(parsed)["latency_p50 read"] == 51_000  # ns; its document says 51
    assert series(parsed.samples, "latency_p50", operation="read")[0][1] == 53_000


@pytest.mark.parametrize(("path", "operation"), [(RAMP, "read"), ("fio/3.39/ramp2_status1", "write")])
def test_the_ramp_is_marked_and_its_end_starts_again_from_zero(path: str, operation: str) -> None:
    samples = capture(path).parse(FioParser()).samples
    rates = [s for s in samples if s.metric.name == "iops" and dict(s.labels)["operation"] == operation]
    assert [sample.warm_up for sample in rates] == [True, True, False, False, False]
    assert [round(sample.time) for sample in rates] == [1, 2, 3, 4, 5]
    assert max(sample.value for sample in rates) < 2 * min(sample.value for sample in rates)
    assert not any(sample.warm_up for sample in samples if sample.metric.name.startswith("latency"))


def test_a_job_that_ends_within_its_ramp_measured_nothing() -> None:
    parsed = capture("fio/3.33/ramp_only").parse(FioParser())
    assert not parsed.complete
    assert parsed.figures == ()
    assert "within ramp_time" in parsed.notes[0]


def test_device_and_issued_ios_cover_the_same_span() -> None:
    found = figures(capture("fio/3.39/ramp2_status1").parse(FioParser()))
    # From the first document after the ramp on: 188318 - 72049 issued, 331819 - 215551 at the device.
    assert found["issued_ios write"] == 116_269
    assert found["device_ios write"] == 116_268


def test_a_ramp_that_ends_before_the_first_document_is_left_out_at_the_device_too() -> None:
    whole = capture("fio/3.39/ramp2_status1").stdout
    documents = whole.split(b"\n}\n")
    found = figures(parse(b"\n}\n".join(documents[2:])))  # the first two are of the ramp
    assert (found["issued_ios write"], found["device_ios write"]) == (116_269, 116_268)
    assert "device_ios write" not in figures(parse(b"\n}\n".join(documents[-2:])))  # nothing to subtract


def test_jobs_with_ramps_at_different_times_have_no_count_at_the_device() -> None:
    def document(*jobs: tuple[str, int, int], disk: int) -> dict[str, object]:
        listed = [
            {
                "jobname": name,
                "groupid": at,
                "job options": {"ramp_time": "1"},
                "read": read(ios, runtime, clat_ns={"N": ios}),
            }
            for at, (name, ios, runtime) in enumerate(jobs)
        ]
        return {"jobs": listed, "disk_util": [{"name": "vda", "read_ios": disk}]}

    first = [document(("a", 100, 1000), disk=250), document(("a", 500, 5000), disk=650)]
    second = [document(("a", 500, 5000), ("b", 400, 4000), disk=1200)]
    for documents, known in ((first, True), (first + second, False)):
        stdout = b"\n".join(json.dumps(one, indent=2).encode() for one in documents) + b"\n"
        assert ("device_ios read" in figures(parse(stdout))) is known


def test_device_ios_are_missing_where_fio_could_not_count_them() -> None:
    assert "device_ios read" not in figures(capture("fio/3.33/read_size_bound").parse(FioParser()))
    assert "device_ios write" not in figures(capture("fio/3.33/enospc").parse(FioParser()))


def test_a_device_built_on_others_is_counted_once() -> None:
    disks = [{"name": "dm-0", "read_ios": 100, "aggr_read_ios": 60}, {"name": "sda", "read_ios": 60}]
    stdout = json.dumps({"jobs": [{"jobname": "x", "read": read(200, 5000)}], "disk_util": disks}, indent=2).encode()
    assert figures(parse(stdout))["device_ios read"] == 100


def test_flushes_have_latencies_of_their_own() -> None:
    found = figures(capture("fio/3.33/write_fsync").parse(FioParser()))
    assert found["sync_latency_p50 sync"] == 280_576
    assert "iops sync" not in found


def test_clones_without_group_reporting_are_put_together() -> None:
    captured = capture("fio/3.33/two_jobs_ungrouped")
    *_, last = documents(captured.stdout)
    one, other = (job["read"] for job in last["jobs"])
    found = figures(captured.parse(FioParser()))
    assert found["iops read"] == one["iops"] + other["iops"]
    assert found["latency_max read"] == max(one["clat_ns"]["max"], other["clat_ns"]["max"])
    assert found["cpu_user"] == pytest.approx((last["jobs"][0]["usr_cpu"] + last["jobs"][1]["usr_cpu"]) / 2)


def test_jobs_of_other_names_are_told_apart() -> None:
    parsed = capture("fio/3.33/one_of_two_failed").parse(FioParser())
    assert figures(parsed)["iops good read"] == pytest.approx(36571.4, abs=0.1)
    assert not parsed.complete
    assert "error 13 (EACCES)" in parsed.notes[0]


@pytest.mark.parametrize("mixed", [False, True], ids=["streams apart", "streams mixed"])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("enospc", "error 28 (ENOSPC): no space left"),
        ("enospc_layout", "error 28 (ENOSPC): no space left"),
        ("eacces", "error 13 (EACCES): permission denied"),
        ("einval_direct", "error 22 (EINVAL): the file system or the device refuses"),
        ("bad_option", "unrecognized option '--iodeepth=4'"),
        ("bad_value", "failed parsing rw=sideways"),
        ("missing_directory", "/missing is not a directory"),
        ("unknown_engine", "engine libwarp not loadable"),
        ("sigterm", "stopped by signal 15; the figures are of its first 2.2 s"),
    ],
)
def test_failures_are_named(name: str, words: str, mixed: bool) -> None:  # noqa: FBT001 (pytest's parameter)
    captured = capture(f"fio/3.33/{name}")
    assert captured.exit_status != 0
    for status in (captured.exit_status, None):
        parser = FioParser()
        parser.feed(captured.stdout)
        parser.feed(captured.stderr, "stdout" if mixed else "stderr")
        parsed = parser.finish(status)
        assert not parsed.complete
        assert words in parsed.notes[0]


def test_what_was_measured_before_a_signal_is_kept() -> None:
    parsed = capture("fio/3.39/signal_INT").parse(FioParser())
    assert figures(parsed)["iops read"] == 55900.0
    assert "signal 2" in parsed.notes[0]


def test_the_capped_queue_depth_is_told_and_no_failure() -> None:
    parsed = capture("fio/3.33/depth_psync").parse(FioParser())
    assert parsed.complete
    assert MESSAGES["queue_depth_will_be_capped"] in parsed.notes[0]


def test_an_output_that_just_ends_is_seen_to_be_cut_off() -> None:
    captured = capture("fio/3.33/sigkill")
    parsed = parse(captured.stdout)
    assert not parsed.complete
    assert MESSAGES["killed_or_cut_off_the"] in parsed.notes[0]
    assert figures(parsed)["iops read"] == pytest.approx(19532.7, abs=0.1)


def test_an_output_cut_within_a_document_keeps_the_figures_before() -> None:
    stdout = capture(RANDRW).stdout
    parsed = parse(stdout[: len(stdout) // 2])
    _first, second, *_ = documents(stdout)
    assert not parsed.complete
    assert MESSAGES["cut_off_within_a_document"] in parsed.notes[0]
    assert figures(parsed)["iops read"] == second["jobs"][0]["read"]["iops"]


def test_an_output_cut_within_its_first_document_has_no_figure() -> None:
    parsed = parse(capture(RANDRW).stdout[:5000])
    assert parsed == ParsedTrial(notes=(MESSAGES["the_output_is_cut_off_within"],), complete=False)


@pytest.mark.parametrize("path", captures("fio"))
def test_every_beginning_of_a_capture_is_read(path: str) -> None:
    stdout = capture(path).stdout
    for end in range(0, len(stdout), max(1, len(stdout) // 40)):
        parsed = parse(stdout[:end])
        assert parsed.complete or parsed.notes


@pytest.mark.parametrize(
    ("stdout", "words"),
    [
        (b"", "No fio result"),
        (b"hello\n", "No fio result"),
        (b'{\n  "jobs" : 3\n}\n', "it lacks the jobs array"),
        (b'{\n  "jobs" : [ NaN ]\n}\n', "NaN is not a number"),
        (b'{\n  "jobs" : [ 1e999 ]\n}\n', "1e999 is not a number"),
        (b'{\n  "jobs" : ' + b"[" * 50_000 + b"\n}\n", "nested too deep"),
        (b'{\n  "jobs" : [ 1 ],\n  "jobs" : [ 2 ]\n}\n', "it has “jobs” twice"),
        (b"3;fio-3.33;benchwright;0;0;134217728;1129931\n", "--output-format=json+"),
    ],
)
def test_what_cannot_be_read_is_said(stdout: bytes, words: str) -> None:
    parsed = parse(stdout)
    assert not parsed.complete
    assert parsed.figures == ()
    assert words in parsed.notes[0]


def test_a_last_document_that_cannot_be_read_is_said() -> None:
    parsed = parse(document(read=read(100, 2000)) + b'{\n  "jobs" : [ NaN ]\n}\n')
    assert not parsed.complete
    assert MESSAGES["because_nan_is_no_figure_the"] in parsed.notes[0]
    assert figures(parsed)["iops read"] == 100


@pytest.mark.parametrize("value", [-1, 1e30, "12", True, None, [1], {"a": 1}])
def test_a_value_that_cannot_be_stays_missing(value: object) -> None:
    found = figures(parse(document(read=read(100, 2000, iops=value), usr_cpu=value)))
    assert "iops read" not in found
    assert "cpu_user" not in found
    assert found["bandwidth read"] == 100


def test_the_bytes_of_old_versions_are_kibibytes() -> None:
    old = {"total_ios": 10, "io_bytes": 40, "bw": 20, "iops": 5.0, "runtime": 2000}
    stdout = json.dumps({"fio version": "fio-2.2.10", "jobs": [{"jobname": "x", "read": old}]}, indent=2).encode()
    parsed = parse(stdout)
    assert figures(parsed)["bandwidth read"] == 20 * 1024
    assert series(parsed.samples, "bandwidth") == [(2.0, 20 * 1024)]


def test_time_never_runs_backwards() -> None:
    runtimes = (3000, 1000, 500, 2500, 0, 900)
    stdout = b"".join(document(read=read(100 * number, runtime)) for number, runtime in enumerate(runtimes, 1))
    times = [time for time, _value in series(parse(stdout).samples, "iops")]
    assert times == sorted(set(times))
    assert len(times) >= 4


def test_samples_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fio_output, "MAXIMUM_SAMPLES", 10)
    stdout = b"".join(document(read=read(100 * number, 1000 * number)) for number in range(1, 50))
    parsed = parse(stdout)
    assert len(parsed.samples) <= 12
    assert MESSAGES["only_the_first_10_samples"] in parsed.notes


def test_escape_sequences_do_not_reach_the_notes() -> None:
    parsed = parse(b"fio: \x1b]52;c;aGk=\x07 \xe2\x80\xae failed\n")
    assert parsed.notes[0].isprintable()


def test_exit_status_says_more_than_the_output() -> None:
    stdout = capture(RANDRW).stdout
    assert parse(stdout, exit_status=0).complete
    assert parse(stdout, exit_status=3).notes == (MESSAGES["fio_ended_with_exit_status_3"],)


def lives(chunks: list[bytes]) -> tuple[list[Sample], ParsedTrial]:
    parser = FioParser()
    samples = [sample for chunk in chunks for sample in parser.feed(chunk)]
    return samples, parser.finish(None)


@pytest.mark.parametrize("path", [RANDRW, RAMP, "fio/3.33/sigterm"])
@given(cuts=st.lists(st.integers(0, 120_000), max_size=30))
@settings(max_examples=15, deadline=None)
def test_how_the_bytes_arrive_makes_no_difference(path: str, cuts: list[int]) -> None:
    stdout = capture(path).stdout
    edges = sorted({0, len(stdout), *(cut for cut in cuts if cut < len(stdout))})
    samples, parsed = lives([stdout[start:end] for start, end in pairwise(edges)])
    assert (samples, parsed) == lives([stdout])
    assert tuple(samples) == parsed.samples


@given(st.lists(st.one_of(st.binary(max_size=200), st.sampled_from([b"{\n", b"}\n", b'"jobs" : [', b"fio: err=5/"]))))
def test_any_bytes_are_read(chunks: list[bytes]) -> None:
    parser = FioParser()
    for number, chunk in enumerate(chunks):
        parser.feed(chunk, "stderr" if number % 3 == 0 else "stdout")
    assert not parser.finish(None).complete


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["read", "clat_ns", "bins", "N", "total_ios", "7"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(
    st.lists(st.dictionaries(st.sampled_from(["read", "write", "sync", "error", "jobname", "eta"]), JSON), max_size=3)
)
def test_any_json_in_the_place_of_jobs_is_read(jobs: list[object]) -> None:
    document = json.dumps({"jobs": jobs, "disk_util": jobs, "timestamp_ms": 3}, indent=2).encode()
    parse(document + b"\n" + document)


def test_a_section_behind_a_stonewall_stands_where_it_ran() -> None:
    """Its own clock begins when it does; `elapsed` is in whole seconds, rounded up."""

    def both(elapsed: int, stamp: int, first: int, second: int) -> bytes:
        jobs = [
            {"jobname": name, "groupid": group, "elapsed": elapsed, "read": read(runtime, runtime) if runtime else {}}
            for name, group, runtime in (("a", 0, first), ("b", 1, second))
        ]
        return json.dumps({"timestamp_ms": stamp, "jobs": jobs}, indent=2).encode() + b"\n"

    parsed = parse(both(1, 50_900, 900, 0) + both(2, 51_900, 1000, 700) + both(3, 52_200, 1000, 1000), exit_status=0)
    times = {(dict(s.labels)["job"], round(s.time, 3)) for s in parsed.samples if s.metric.name == "iops"}
    assert times == {("a", 0.9), ("b", 1.9), ("b", 2.2)}


def test_an_option_that_fio_does_not_know_is_named() -> None:
    parsed = parse(b"", b"Bad option <nosuch=1>\nDid you mean numjobs?\nfio: job x dropped\n", exit_status=1)
    assert parsed.notes[0] == MESSAGES["fio_says_bad_option_nosuch_1"]


@pytest.mark.parametrize(
    ("chosen", "headline"),
    [
        ({"rw": "randread"}, "iops"),
        ({"rw": "randrw"}, "total_iops"),
        ({"rw": "read", "block_size": 1024 * 1024}, "bandwidth"),
        ({"rw": "rw", "block_size": 128 * 1024}, "total_bandwidth"),
        ({"rw": "read", "block_size": 64 * 1024}, "iops"),
        ({"rw": "randwrite", "block_size": 1024 * 1024}, "iops"),
    ],
)
def test_both_ways_and_large_sequential_blocks_have_headlines_of_their_own(
    chosen: dict[str, object], headline: str
) -> None:
    suite = Fio()
    values = complete_values(suite, chosen)
    assert suite.metrics_of(values)[0].name == headline
    assert set(suite.metrics_of(values)) == set(suite.metrics)
    if headline.startswith("total_"):
        found = capture("fio/3.33/randrw_libaio_ramp").parse(suite.parser(values))
        total, parts = found.figures[0], [one for one in found.figures if one.metric.name == headline[6:]]
        assert (total.metric.name, total.labels) == (headline, ())
        assert [dict(one.labels)["operation"] for one in parts] == ["read", "write"]
        assert total.value == pytest.approx(sum(one.value for one in parts))
        mean = statistics.fmean(one.value for one in found.samples if one.metric is total.metric and not one.warm_up)
        assert mean == pytest.approx(total.value, rel=0.05)

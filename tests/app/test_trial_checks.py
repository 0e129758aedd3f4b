"""The checks of after on one trial: each speaks of its case, and is silent of the clean twin."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.checks.catalogue import DURING_CHECKS, OUTCOME_CHECKS, TRIAL_CHECKS
from app.checks.evidence import RUNNING, in_flight, seconds_of
from app.checks.repetition import latency_text
from app.checks.timing import SHAPE_CHECKS
from app.events import State, Trial
from app.numeric import mean_of
from app.records import TrialRecord
from app.verdict.steps import step_verdict
from app.verdict.stored import MARGIN
from suites.base import complete_values
from suites.checks import Check, CheckOutcome, CheckPhase
from suites.evidence import DONE, TrialEvidence
from suites.identities import CONTRADICTION
from suites.outputs import LINES_CUT, NO_DISK, ONLY_READ
from suites.registry import suite as find_suite
from suites.snia.output import window_figures
from suites.snia.steady import steady_round, window_of
from suites.verdict import Trust
from suites.vocab import Finding, Severity, labels
from tests.app.trial_evidence import READ, WRITE, facts, shown, step, trial
from tests.suites import captured_outputs

CHECKS = {check.id: check for check in TRIAL_CHECKS}
OTHER_PROCESS = next(check for check in DURING_CHECKS if check.id == "other-process")
TOO_LONG = next(check for check in DURING_CHECKS if check.id == "took-too-long")

Make = Callable[[], TrialEvidence]

MIB = 2**20

RANDOM: dict[str, Any] = {
    "rw": "randread",
    "block_size": 4096,
    "iodepth": 32,
    "ioengine": "libaio",
    "direct": True,
    "runtime": 10,
}
IOPS = {"iops": 10_000.0, "bandwidth": 40_960_000.0, "latency_mean": 3_200_000.0}
FROM_DISK = {"disk_read_rate:vda": 40_960_000.0, "disk_read_ios:vda": 10_000.0, "disk_busy:vda": 99.0}


def fio(
    host: dict[str, float] | None = None, figures: dict[str, float] | None = None, **given: object
) -> TrialEvidence:
    """Return a random read at depth 32 that every check is content with, but for what is changed."""
    watched = {**FROM_DISK, "disk_write_rate:vda": 0.0, **(host or {})}
    return trial("fio", {**IOPS, **(figures or {})}, at=READ, host=watched, **{**RANDOM, **given})


def cached_reads(own: float) -> TrialEvidence:
    """Return buffered reads of files of twice the memory, of which `own` B/s reach the device; others read as well."""
    return fio({"tool_read_rate": own, "disk_read_rate:vda": 41e6}, direct=False, iodepth=1, ioengine="psync")


def sequential(host: dict[str, float]) -> TrialEvidence:
    """Return a buffered read in sequence, of blocks of 4 KiB."""
    watched = {"disk_busy:vda": 50.0, "disk_write_rate:vda": 0.0, **host}
    given: dict[str, Any] = {"rw": "read", "block_size": 4096, "direct": False, "runtime": 10}
    return trial("fio", {"iops": 25_600.0, "bandwidth": 104_857_600.0}, at=READ, host=watched, **given)


def dd(figures: dict[str, float], host: dict[str, float], **given: Any) -> TrialEvidence:
    """Return a dd that writes 1 GiB in blocks of 1 MiB."""
    watched = {"disk_busy:vda": 95.0, "disk_read_rate:vda": 0.0, "disk_write_ios:vda": 100.0, **host}
    values: dict[str, Any] = {"block_size": MIB, "count": 1024, "flush": "fdatasync", **given}
    return trial("dd", {"copied": 2.0**30, **figures}, host=watched, **values)


def iperf(rate: float, *, link: float, lost: float | None = None, **given: Any) -> TrialEvidence:
    """Return ten seconds of TCP at `rate` bits a second, of which eth0 carried `link`."""
    made = trial("iperf3", {"throughput": rate}, at=labels(direction="send", end="receiver"),
                 host={"network_sent:eth0": link / 8, "network_received:eth0": 1e4}, time=10, **given)  # fmt: skip
    if lost is None:
        return made
    return replace(made, figures=(*made.figures, *trial("iperf3", {"lost": lost}).figures))


def noting(note: str) -> TrialEvidence:
    """Return a trial with a note of its parser."""
    return replace(trial("dd", {"bandwidth": 100.0}), notes=(note,))


def rounds(values: list[float]) -> TrialEvidence:
    """Return a test of SNIA PTS whose rounds took this course."""
    window = window_of(values)
    assert window is not None
    figures = tuple(window_figures(window, steady_round(values, both=True)))
    return replace(trial("fio-snia", {}), figures=figures)


def starting(*first: float) -> TrialEvidence:
    """Return a read of 1,000 IOPS that began with other rates."""
    return trial("fio", {"iops": 1000.0}, at=READ, samples=(*first, *(1000.0, 1001.0, 999.0, 1000.5) * 25))


def sysbench(share: float) -> TrialEvidence:
    """Return four threads that compute, on processors of which this share is used."""
    figures = {"events_per_second": 900.0, "latency_mean": 4.4}
    return trial("sysbench-cpu", figures, host={"cpu_user": share}, threads=4)


def of_quota(own: float) -> TrialEvidence:
    """Return a trial under a quota of one CPU of four that used `own` percent of all."""
    host = {"cpu_user": own, "tool_cpu_user": own, "tool_cpu_system": 0.0}
    return trial("sysbench-cpu", {"events_per_second": 900.0}, host=host, known=facts(quota=1.0), threads=4)


def counted_for(seconds: float) -> TrialEvidence:
    """Return a trial of 10 s whose telemetry ended after `seconds`."""
    one = fio({"cpu_idle": 60.0})
    assert one.watch is not None
    series = {
        key: tuple(point for point in points if point[0] <= one.watch.start + seconds)
        for key, points in one.watch.series.items()
    }
    return replace(one, watch=replace(one.watch, series=series))


@pytest.mark.parametrize(
    ("seconds", "interruption", "words"),
    [
        (-9.0, "", "There are no counters of 10 s: telemetry ended on the host."),
        (0.5, "", "There are no counters of 10 s: telemetry ended on the host."),
        (1.5, "", "Counters cover 1 s of 10 s: telemetry ended on the host."),
        (1.5, "the connection was lost", "Counters cover 1 s of 10 s: the connection was lost."),
        (-9.0, "Benchwright was not attached", "There are no counters of 10 s: Benchwright was not attached."),
    ],
)
def test_counters_that_are_missing_are_reported_with_their_cause(seconds: float, interruption: str, words: str) -> None:
    check = CHECKS["counters-end-early"]
    assert shown(check, replace(counted_for(seconds), interruption=interruption)) == words


@pytest.mark.parametrize(("start", "end", "seconds"), [(2.5, 7.5, 5), (-5.0, 4.5, 6)])
def test_a_hole_in_the_counters_is_reported_and_is_no_part_of_the_time(start: float, end: float, seconds: int) -> None:
    busy = {"tool_cpu_user": 25.0, "tool_cpu_system": 0.0, "tool_waiting": 1.0, "other_cpu": 75.0}
    one = trial("sysbench-cpu", {"events_per_second": 900.0}, host=busy, known=facts())
    assert one.watch is not None
    series = {
        key: tuple(point for point in points if not start < point[0] - one.watch.start < end)
        for key, points in one.watch.series.items()
    }
    one = replace(one, watch=replace(one.watch, series=series), interruption="the connection was lost")
    assert f"Counters cover {seconds} s of 10 s: the connection" in str(shown(CHECKS["counters-end-early"], one))
    assert f" over {seconds} s; the test got 1 of the 2 CPUs" in str(shown(OTHER_PROCESS, one))


@pytest.mark.parametrize("seconds", [3, 6, 12, 60])
@pytest.mark.parametrize("interval", [0.1, 1, 5, 10])
@pytest.mark.parametrize("phase", [0.0, 0.3, 0.6, 0.9])
def test_counters_of_any_interval_are_not_missing(seconds: int, interval: float, phase: float) -> None:
    one = trial("fio", IOPS, at=READ, host={"cpu_idle": 60.0}, seconds=seconds, **RANDOM)
    assert one.watch is not None
    times = [one.watch.start + (phase + place) * interval for place in range(-99, 999)]
    near = tuple((time, 60.0) for time in times if one.watch.start - MARGIN <= time <= one.watch.end + MARGIN)
    seen = replace(one.watch, series={("cpu_idle", ()): near})
    assert shown(CHECKS["counters-end-early"], replace(one, watch=seen)) is None


def failed(one: TrialEvidence) -> TrialEvidence:
    """Return the trial as one that did not come to its end."""
    return replace(one, state="failed")


CASES: dict[str, tuple[Make, Make, str]] = {
    "slow-sync": (
        lambda: trial("fio", {"sync_latency_p99": 12e6}, at=WRITE, rw="write", fdatasync=1),
        lambda: trial("fio", {"sync_latency_p99": 9.9e6}, at=WRITE, rw="write", fdatasync=1),
        "p99 is 12 ms",
    ),
    "nothing-counted": (lambda: fio(figures={"iops": 0.0}), fio, "0"),
    "ended-early": (lambda: replace(fio(), duration=6.0), lambda: replace(fio(), duration=10.2), "6 s"),
    "too-brief": (
        lambda: dd({"elapsed": 0.003, "bandwidth": 1e5}, {"disk_write_rate:vda": 2e8}),
        lambda: dd({"elapsed": 8.0, "bandwidth": 134.0}, {"disk_write_rate:vda": 2e8}),
        "3 ms",
    ),
    "errors-in-output": (
        lambda: replace(fio(), notes=("fio says: Input/output error",)),
        lambda: replace(fio(), notes=("Read from fio's text.",)),
        "Input/output",
    ),
    "copied-in-part": (
        lambda: dd({"copied": 2.0**29, "elapsed": 8.0}, {}),
        lambda: dd({"elapsed": 8.0}, {}),
        "512 MiB of 1 GiB",
    ),
    "over-link": (lambda: iperf(980e6, link=980e6), lambda: iperf(941e6, link=980e6), "eth0"),
    "over-volume-link": (
        lambda: trial("fio", {"bandwidth": 150e6}, at=READ, known=facts(kind="nfs4"), host={}, runtime=10),
        lambda: trial("fio", {"bandwidth": 110e6}, at=READ, known=facts(kind="nfs4"), host={}, runtime=10),
        "112 MB/s",
    ),
    "output-incomplete": (
        lambda: replace(fio(), elsewhere=True, reason="The output has no end."),
        lambda: replace(fio(), elsewhere=True),
        "The output has no end.",
    ),
    "percentiles-out-of-order": (
        lambda: fio(figures={"latency_p95": 4e6, "latency_p99": 2e6}),
        lambda: fio(figures={"latency_p95": 2e6, "latency_p99": 4e6}),
        "4.00 ms is above",
    ),
    "rate-against-block": (lambda: fio(figures={"bandwidth": 40e6}), fio, "2.4 %"),
    "more-in-flight-than-asked": (lambda: fio(figures={"latency_mean": 4e6}), fio, "40"),
    "queue-half-empty": (lambda: fio(figures={"latency_mean": 1e6}), fio, "10 in flight"),
    "not-from-the-device": (
        lambda: fio({"disk_read_rate:vda": 0.0, "disk_read_ios:vda": 0.0}),
        fio,
        "0 B at vda",
    ),
    "partly-cached": (
        lambda: cached_reads(27e6),
        lambda: cached_reads(40.5e6),
        "Read: 391 MiB by the tool, 257 MiB at vda by its own count (66 %).",
    ),
    "no-block-device": (
        lambda: fio(figures={"latency_mean": 1_900.0}, iodepth=1),
        lambda: fio(figures={"latency_mean": 9_800.0}, iodepth=1),
        "Direct I/O on vda took 1.90 µs on average",
    ),
    "others-on-the-disk": (
        lambda: fio({"disk_write_rate:vda": 174e6}),
        lambda: fio({"disk_write_rate:vda": 0.3e6}),
        "Other processes on vda: 174 MB/s written; the tool moved 41 MB/s.",
    ),
    "merged-on-the-way": (
        lambda: sequential({"disk_read_rate:vda": 104_857_600.0, "disk_read_ios:vda": 56.1}),
        lambda: sequential({"disk_read_rate:vda": 104_857_600.0, "disk_read_ios:vda": 25_600.0}),
        "256000 I/Os issued",
    ),
    "more-at-the-device": (lambda: fio({"disk_read_rate:vda": 90e6}), fio, "2.2 times"),
    "generator-bound": (
        lambda: dd({"elapsed": 8.0, "bandwidth": 400.0}, {"disk_write_rate:vda": 4e8}, input="/dev/urandom"),
        lambda: dd({"elapsed": 12.0, "bandwidth": 90.0}, {"disk_write_rate:vda": 9e7}, input="/dev/urandom"),
        "/dev/urandom alone reads at 500 MB/s",
    ),
    "quota-bound": (
        lambda: of_quota(25.0),
        lambda: of_quota(15.0),
        "of the quota of 1 CPU",
    ),
    "figures-contradict": (
        lambda: noting(f"{CONTRADICTION}events / total time = 9/s, printed: 5/s."),
        lambda: noting("Other notes."),
        "Events / total time = 9/s, printed: 5/s.",
    ),
    "lines-cut": (
        lambda: noting(f"{LINES_CUT}the lines are cut at 66 characters, some within a word or a number."),
        lambda: noting("Other notes."),
        "The lines are cut at 66 characters",
    ),
    "no-disk-written": (
        lambda: noting(f"{NO_DISK}the copy from /dev/zero to /dev/null stays in memory."),
        lambda: noting("Other notes."),
        "The copy from /dev/zero to /dev/null stays in memory.",
    ),
    "read-rate": (
        lambda: noting(f"{ONLY_READ}reading /dev/sda; nothing is written to a disk."),
        lambda: noting("Other notes."),
        "Reading /dev/sda; nothing is written to a disk.",
    ),
    "work-failed": (
        lambda: trial("pgbench", {"failed_transactions": 490.0, "total_transactions": 510.0}),
        lambda: trial("pgbench", {"failed_transactions": 0.0, "total_transactions": 510.0}),
        "490 of 1000 failed (49 %).",
    ),
    "sent-rate-only": (
        lambda: trial("iperf3", {"throughput": 1e6}, at=labels(direction="send", end="sender"), protocol="udp"),
        lambda: trial("iperf3", {"throughput": 1e6}, at=labels(direction="send", end="receiver"), protocol="udp"),
        "no report of the receiver",
    ),
    "datagrams-lost": (lambda: iperf(78e6, link=78e6, lost=22.0), lambda: iperf(78e6, link=78e6, lost=0.1), "22 %"),
    "not-over-the-link": (lambda: iperf(940e6, link=1e6), lambda: iperf(940e6, link=980e6), "carried"),
    "thin-tail": (
        lambda: fio(figures={"iops": 300.0, "bandwidth": 300.0 * 4096, "latency_p99_9": 9e6}),
        lambda: fio(figures={"latency_p99_9": 9e6}),
        "slowest 3 of 3000",
    ),
    "mean-above-median": (
        lambda: fio(figures={"latency_p50": 79_000.0}),
        lambda: fio(figures={"latency_p50": 700_000.0}),
        "Mean latency 3.20 ms is 40.5 times the median of 79.0 µs.",
    ),
    "unsteady-start": (
        lambda: starting(*(float(place) for place in range(950, 970))),
        starting,
        "without the first 20 s",
    ),
    "counters-end-early": (
        lambda: counted_for(6.0),
        lambda: counted_for(9.0),
        "Counters cover 6 s of 10 s",
    ),
    "not-steady": (lambda: rounds([3000.0 - 100 * place for place in range(25)]), lambda: rounds([1000.0] * 10), "25"),
}  # fmt: skip


@pytest.mark.parametrize("check", CASES)
def test_it_speaks_of_its_case_and_not_of_the_clean_twin(check: str) -> None:
    case, clean, words = CASES[check]
    assert words in (shown(CHECKS[check], case()) or "")
    assert shown(CHECKS[check], clean()) is None


def test_every_check_of_a_trial_has_a_case() -> None:
    assert set(CHECKS) - {"limited-by"} == set(CASES)


@pytest.mark.parametrize("check", CASES)
def test_of_a_trial_that_failed_nothing_is_said_but_that(check: str) -> None:
    assert shown(CHECKS[check], failed(CASES[check][0]())) is None


def test_every_check_of_after_says_what_it_is() -> None:
    checks: tuple[Check[Any], ...] = (*TRIAL_CHECKS, *OUTCOME_CHECKS)
    for check in checks:
        assert check.when is CheckPhase.AFTER
        assert all((check.title, check.why, check.remedy, check.source, check.needs))
        assert "!" not in check.title + check.why + check.remedy


@pytest.mark.parametrize(
    "make",
    [
        fio,
        lambda: dd({"elapsed": 8.0, "bandwidth": 134.0}, {"disk_write_rate:vda": 1.4e8}),
        lambda: iperf(941e6, link=980e6),
        lambda: sysbench(99.0),
        lambda: trial("stream", {"bandwidth": 20e3}, host={"cpu_user": 99.0}),
    ],
)  # fmt: skip
def test_a_sound_trial_draws_no_finding(make: Make) -> None:
    raised = {check.id: shown(check, make()) for check in TRIAL_CHECKS if check.id != "limited-by"}
    assert {name: words for name, words in raised.items() if words not in {None, "cannot tell"}} == {}


def test_a_tail_rests_on_the_requests_that_the_tool_counted() -> None:
    made = {"iops": 300.0, "bandwidth": 300.0 * 4096, "latency_p99_9": 9e6, "issued_ios": 2900.0}
    outcome = CHECKS["thin-tail"].evaluate(fio(figures=made))
    assert isinstance(outcome, CheckOutcome)
    assert outcome.measured.endswith("the slowest 3 of 2900 I/Os.")


def test_a_command_took_the_time_that_it_reports() -> None:
    assert seconds_of(trial("command", {"wall_time": 0.0012}, host={}, command="true", seconds=0.05)) == 0.0012


def test_writes_that_stay_in_memory_are_seen_too() -> None:
    one = dd({"elapsed": 2.0, "bandwidth": 537.0}, {"disk_write_rate:vda": 1e6}, flush="none")
    assert "Written: 1 GiB by the tool" in (shown(CHECKS["not-from-the-device"], one) or "")


def shown_by(check: str, one: TrialEvidence) -> str:
    return shown(CHECKS[check], one) or ""


@pytest.mark.parametrize(
    ("own", "trust"),
    [(0.0, Trust.INVALID), (0.3, Trust.DOUBTFUL), (0.66, Trust.CAVEATS), (0.94, Trust.CAVEATS), (0.97, None)],
)
def test_the_trust_falls_with_the_share_that_the_page_cache_served(own: float, trust: Trust | None) -> None:
    one = cached_reads(own * 40.96e6)
    outcomes = [(CHECKS[name], CHECKS[name].evaluate(one)) for name in ("not-from-the-device", "partly-cached")]
    left = [check.leaves(outcome) for check, outcome in outcomes if isinstance(outcome, CheckOutcome)]
    assert left == ([] if trust is None else [trust])


def test_buffered_reads_are_cleared_by_the_tool_s_own_bytes_and_not_by_those_of_others() -> None:
    buffered = fio(direct=False, iodepth=1, ioengine="psync")
    assert shown(CHECKS["not-from-the-device"], buffered) == "cannot tell"
    assert shown(CHECKS["not-from-the-device"], cached_reads(41e6)) is None
    warned = Finding("page-cache", Severity.WARNING, "t", "m", "w", "r", "s", "step", "web-1")
    for one, counts in ((buffered, True), (cached_reads(41e6), False)):
        assert (warned in step_verdict(replace(step(one), findings=(warned,))).verdict.findings) is counts


def test_writes_that_are_dirty_at_the_end_are_a_caveat() -> None:
    one = dd({"elapsed": 10.0, "bandwidth": 107.0}, {"disk_write_rate:vda": 1.1e8}, flush="none")
    assert one.watch is not None
    grown = tuple((one.watch.start + second, 2e7 * second) for second in range(11))
    seen = replace(one, watch=replace(one.watch, series={**one.watch.series, ("memory_dirty", ()): grown}))
    assert "in memory" in shown_by("partly-cached", seen)
    assert shown(CHECKS["partly-cached"], one) is None


@pytest.mark.parametrize(("fsync", "trust"), [(0, Trust.DOUBTFUL), (1, None), (100, Trust.CAVEATS)])
def test_a_job_that_syncs_leaves_no_more_dirty_than_it_writes_between_two_syncs(
    fsync: int, trust: Trust | None
) -> None:
    """The file below a loop device, and other processes, make pages dirty, too."""
    figures = {"iops": 150.0, "bandwidth": 150.0 * 4096}
    rates = {"disk_write_rate:vda": 150.0 * 2 * 4096, "disk_read_rate:vda": 0.0}
    one = trial("fio", figures, at=WRITE, host=rates, rw="randwrite", fsync=fsync, direct=False, runtime=10)
    assert one.watch is not None
    grown = tuple((one.watch.start + second, 0.6e6 * second) for second in range(11))
    seen = replace(one, watch=replace(one.watch, series={**one.watch.series, ("memory_dirty", ()): grown}))
    outcomes = [(CHECKS[name], CHECKS[name].evaluate(seen)) for name in ("not-from-the-device", "partly-cached")]
    left = [check.leaves(outcome) for check, outcome in outcomes if isinstance(outcome, CheckOutcome)]
    assert left == ([] if trust is None else [trust])


def growing(one: TrialEvidence, rate: float) -> TrialEvidence:
    """Return the trial on a host whose dirty pages grow by `rate` B/s."""
    assert one.watch is not None
    dirty = tuple((one.watch.start + second, rate * second) for second in range(11))
    return replace(one, watch=replace(one.watch, series={**one.watch.series, ("memory_dirty", ()): dirty}))


@pytest.mark.parametrize(
    ("suite", "flushed", "unflushed"),
    [
        ("dd", {"flush": "fdatasync"}, {"flush": "none"}),
        ("fio", {"end_fsync": True, "rw": "write"}, {"rw": "write"}),
        ("cp", {"flush": "sync"}, {"flush": "none"}),
    ],
)
def test_a_suite_says_whether_its_tool_flushes_before_its_clock_stops(
    suite: str, flushed: dict[str, Any], unflushed: dict[str, Any]
) -> None:
    assert find_suite(suite).workload(complete_values(find_suite(suite), flushed)).flushes_last
    assert not find_suite(suite).workload(complete_values(find_suite(suite), unflushed)).flushes_last


def test_what_the_tool_flushed_before_it_ended_is_not_dirty() -> None:
    """The last sample of dirty pages is from before the flush: by it, half of the bytes reached the disk."""
    for flush, checked in (("fdatasync", False), ("none", True)):
        one = dd({"elapsed": 10.0, "bandwidth": 107.0}, {"disk_write_rate:vda": 1.1e8}, flush=flush)
        assert ("still in memory" in shown_by("not-from-the-device", growing(one, 6e7))) is checked
    host = {"disk_write_rate:vda": 1.1e8, "disk_read_rate:vda": 0.0}
    for end_fsync, checked in ((True, False), (False, True)):
        job = trial(
            "fio", {"iops": 100.0, "bandwidth": 105e6}, at=WRITE, host=host, rw="write", end_fsync=end_fsync, runtime=10
        )
        assert ("still in memory" in shown_by("not-from-the-device", growing(job, 6e7))) is checked


@pytest.mark.parametrize("dirtied", [0.3, 1.0])
def test_a_foreign_writer_does_not_hide_that_blocks_were_overwritten_in_memory(dirtied: float) -> None:
    """The kernel counts a page that is written again before it is flushed once."""
    figures = {"iops": 2000.0, "bandwidth": 2000.0 * MIB}
    host = {"disk_write_rate:vda": 3000.0 * MIB, "disk_read_rate:vda": 0.0, "tool_write_rate": dirtied * 2000 * MIB}
    values: dict[str, Any] = {"block_size": MIB, "runtime": 10, "end_fsync": True, "rw": "write"}
    found = shown_by("not-from-the-device", trial("fio", figures, at=WRITE, host=host, **values))
    assert bool(found) is (dirtied < 0.5)
    assert not found or "by its own count (30 %)" in found


def test_a_copy_that_was_in_memory_before_its_first_sample_reached_the_disk_by_its_flush() -> None:
    host = {"disk_write_rate:vda": 107e6, "tool_write_rate": 400.0}
    assert shown_by("not-from-the-device", dd({"elapsed": 10.0, "bandwidth": 107.0}, host)) == ""


TWO_DISKS = {
    **{f"disk_read_rate:{disk}": 20_480_000.0 for disk in ("vda", "vdb")},
    **{f"disk_read_ios:{disk}": 5000.0 for disk in ("vda", "vdb")},
    **{f"disk_write_rate:{disk}": 0.0 for disk in ("vda", "vdb")},
    "disk_busy:vda": 60.0,
    "disk_busy:vdb": 20.0,
}


def two_volumes(
    host: dict[str, float] | None = None, figures: dict[str, float] | None = None, **given: Any
) -> TrialEvidence:
    """Return a random read of two disks, which every check is content with, but for what is changed."""
    (first,) = facts().directories
    both = replace(facts(), directories=tuple(replace(first, path=f"/{one}", device=f"vd{one}") for one in "ab"))
    watched = {**TWO_DISKS, **(host or {})}
    values = {**RANDOM, "directory": "/a:/b", "numjobs": 2, "iodepth": 16, **given}
    return trial("fio", {**IOPS, **(figures or {})}, at=READ, host=watched, known=both, **values)


def test_the_disks_of_several_volumes_are_checked_together() -> None:
    for name, check in CHECKS.items():
        assert shown(check, two_volumes()) in {None, "cannot tell"} or name == "limited-by", name
    spinning = {"cpu_user": 20.0, "cpu_system": 75.0}
    for name in ("not-from-the-device", "others-on-the-disk", "generator-bound"):
        assert shown(CHECKS[name], two_volumes(figures={"cpu_user": 1.0})) is None
        assert shown(CHECKS[name], two_volumes(figures=spinning, directory="/a:/c")) == "cannot tell"
    assert "vda and vdb were at most" in shown_by("generator-bound", two_volumes(figures=spinning))
    assert shown_by("generator-bound", two_volumes({"disk_busy:vdb": 99.0}, spinning)) == ""
    less = two_volumes({"disk_read_rate:vda": 5e6, "disk_read_rate:vdb": 5e6})
    assert "at vda and vdb" in shown_by("not-from-the-device", less)
    assert shown_by("not-from-the-device", two_volumes({"disk_read_rate:vda": 38e6, "disk_read_rate:vdb": 3e6})) == ""
    others = shown_by("others-on-the-disk", two_volumes({"disk_write_rate:vdb": 30e6}))
    assert all(part in others for part in ("vda and vdb: 30 MB/s", "20.5 MB/s at vda, 50.5 MB/s at vdb"))


def test_others_are_seen_in_the_tool_s_own_direction_too() -> None:
    assert "50 MB/s read" in shown_by("others-on-the-disk", fio({"disk_read_rate:vda": 91e6, "tool_read_rate": 41e6}))
    large: dict[str, Any] = {"rw": "write", "block_size": MIB, "direct": True, "ioengine": "libaio", "runtime": 10}
    figures = {"iops": 500.0, "bandwidth": 500.0 * MIB, "latency_mean": 2e6}
    rates = {"disk_write_rate:vda": 700e6, "tool_write_rate": 500.0 * MIB, "disk_read_rate:vda": 0.0}
    one = trial("fio", figures, at=WRITE, host=rates, **large)
    assert "176 MB/s written" in shown_by("others-on-the-disk", one)
    assert shown_by("others-on-the-disk", replace(one, values={**one.values, "block_size": 4096, "fsync": 1})) == ""


@pytest.mark.parametrize(
    ("at_disk", "server", "named"),
    [
        ({"disk_write_rate:vda": 962e6}, "own", "533 MB/s written"),  # a dd beside one client, as measured
        ({"disk_read_rate:vda": 980e6}, "own", "980 MB/s read"),
        ({}, "own", ""),
        ({"disk_write_rate:vda": 300e6}, "own", ""),
        ({"disk_write_rate:vda": 962e6}, "named", ""),
        ({"disk_read_rate:vda": 980e6, "tool_read_rate": 512.0, "tool_write_rate": 0.0}, "own", ""),
    ],
)
def test_a_database_is_told_of_others_on_its_disk(at_disk: dict[str, float], server: str, named: str) -> None:
    rates = {"disk_write_rate:vda": 15e6, "disk_read_rate:vda": 16e3, "tool_write_rate": 143e6, "tool_read_rate": 15e3}
    values: dict[str, Any] = {"clients": 1, "threads": 1, "directory": "/var/tmp", "server": server}
    one = trial("pgbench", {"transactions_per_second": 508.0}, host={**rates, **at_disk}, **values)
    text = shown_by("others-on-the-disk", one)
    assert named in text
    assert bool(text) is bool(named)


@pytest.mark.parametrize("engine", ["libaio", "psync"])
def test_buffered_libaio_counts_its_whole_queue(engine: str) -> None:
    counted = {"iops": 9556.0, "bandwidth": 39.1e6, "total_latency_mean": 1.673e6}  # as fio 3.33 reports
    one = trial("fio", counted, at=READ, host={"disk_busy:vda": 97.0}, rw="randread", ioengine=engine, iodepth=16,
                direct=False, runtime=10)  # fmt: skip
    assert bool(shown_by("more-in-flight-than-asked", one)) is (engine == "psync")
    assert shown_by("queue-half-empty", one) == ""


@pytest.mark.parametrize(
    ("at_disk", "kind", "given", "named"),
    [
        (1.26e9, "ext4", {}, "1.08 GB/s written"),  # a dd beside 21.8k random writes of 4 KiB, as measured
        (95e6, "ext4", {}, ""),
        (170e6, "ext4", {}, ""),  # a block of the journal for each write
        (1.26e9, "btrfs", {}, ""),
        (1.26e9, "ext4", {"fsync": 1}, ""),
        (1.26e9, "ext4", {"direct": False}, ""),
    ],
)
def test_small_direct_writes_are_distinguished_from_those_of_others(
    at_disk: float, kind: str, given: dict[str, object], named: str
) -> None:
    rates = {"disk_write_rate:vda": at_disk, "tool_write_rate": 89.3e6, "disk_read_rate:vda": 0.0}
    values: dict[str, Any] = {"rw": "randwrite", "block_size": 4096, "direct": True, "ioengine": "libaio",
                              "runtime": 10, "directory": "/var/tmp", **given}  # fmt: skip
    figures = {"iops": 21_800.0, "bandwidth": 21_800.0 * 4096, "latency_mean": 7e5}
    one = trial("fio", figures, at=WRITE, host=rates, known=facts(kind=kind), **values)
    text = shown_by("others-on-the-disk", one)
    assert named in text
    assert bool(text) is bool(named)


def test_bytes_that_the_tool_asked_for_are_not_others_where_its_own_count_is_short() -> None:
    assert shown_by("others-on-the-disk", fio({"tool_read_rate": 20e6})) == ""
    assert "19 MB/s read" in shown_by("others-on-the-disk", fio({"tool_read_rate": 20e6, "disk_read_rate:vda": 60e6}))


def test_the_flush_of_what_was_dirty_before_is_not_others() -> None:
    one = fio({"disk_write_rate:vda": 20e6})
    assert one.watch is not None
    falling = tuple((one.watch.start + second, 2e8 - 2e7 * second) for second in range(11))
    seen = replace(one, watch=replace(one.watch, series={**one.watch.series, ("memory_dirty", ()): falling}))
    assert "20 MB/s written" in shown_by("others-on-the-disk", one)
    assert shown_by("others-on-the-disk", seen) == ""


def test_a_connection_lost_for_minutes_does_not_make_a_trial_longer() -> None:
    begun = Trial(1, "web-1", "step", 1, warm_up=False, commands=(), started="2026-11-23T12:00:00+00:00", clock=100.0)
    late = TrialRecord(begun, State.DONE, "2026-11-23T12:05:00+00:00", 0, ended_clock=110.5)
    assert shown(TOO_LONG, replace(fio(), expected=10.0, duration=late.duration)) is None


@pytest.mark.parametrize(("state", "text"), [(DONE, "The trial took 1 min"), (RUNNING, "The trial has run for 1 min")])
def test_a_trial_longer_than_planned_is_named_while_it_runs_and_at_its_end(state: str, text: str) -> None:
    late = replace(fio(), state=state, expected=10.0, duration=60.0)
    assert text in (shown(TOO_LONG, late) or "")
    assert shown(TOO_LONG, replace(late, duration=29.0)) is None
    assert shown(TOO_LONG, replace(late, state="failed")) is None


def test_an_overlay_on_tmpfs_is_in_memory() -> None:
    known = facts(kind="overlay")
    one = trial("fio", IOPS, at=READ, known=replace(known, directories=(replace(known.directories[0], upper="tmpfs"),)))
    assert "/var/tmp is on an overlay on tmpfs" in shown_by("not-from-the-device", one)


def test_what_was_laid_out_before_is_not_held_against_the_device() -> None:
    one = fio(rw="randrw")
    assert one.watch is not None
    before = tuple((time, 900e6 if time <= one.watch.start + 0.5 else 41e6) for time in (999.0, 1000.0, 1001.0, 1005.0))
    series = {**one.watch.series, ("disk_read_rate", (("device", "vda"),)): before}
    assert shown(CHECKS["more-at-the-device"], replace(one, watch=replace(one.watch, series=series))) is None


@pytest.mark.parametrize("check", ["not-from-the-device", "more-at-the-device", "generator-bound"])
def test_without_telemetry_it_cannot_tell(check: str) -> None:
    assert shown(CHECKS[check], replace(fio(), watch=None)) == "cannot tell"


def test_by_fio_s_own_count_a_cache_is_seen_without_telemetry() -> None:
    one = replace(fio(direct=False, iodepth=1, ioengine="psync"), watch=None)
    counted = trial("fio", {"issued_ios": 853_333.0, "device_ios": 0.0}, at=READ).figures
    words = shown(CHECKS["not-from-the-device"], replace(one, figures=(*one.figures, *counted)))
    assert "853333 I/Os issued (read), 0 at the device" in (words or "")


def test_files_in_memory_are_no_disk() -> None:
    one = trial("fio", IOPS, at=WRITE, known=facts(kind="tmpfs"), **{**RANDOM, "rw": "randwrite"})
    assert "tmpfs" in (shown(CHECKS["not-from-the-device"], one) or "")


def test_a_send_run_is_judged_by_the_samples_of_its_sender() -> None:
    capture = captured_outputs.capture("iperf3/3.12/token_bucket_text")
    parsed = capture.parse(find_suite("iperf3").parser({}))
    sent = replace(iperf(1.0, link=1.0), figures=parsed.figures, samples=parsed.samples)
    assert sent.headline is not None
    assert dict(sent.headline.labels)["end"] == "receiver"
    assert [dict(one.labels)["end"] for one in sent.headline_series()] == ["sender"] * 30
    bucket = next(check for check in SHAPE_CHECKS if check.id == "token-bucket")
    assert "until 9 s" in (shown(bucket, sent) or "")
    assert "until 9 s" in (shown(bucket, replace(sent, state=RUNNING, figures=())) or "")


def recorded(path: str, **given: Any) -> TrialEvidence:
    """Return a trial of fio with the figures of a recorded output, on a host that watched its disk."""
    parsed = captured_outputs.capture(path).parse(find_suite("fio").parser(RANDOM))
    return replace(fio(**given), figures=parsed.figures, samples=parsed.samples)


@pytest.mark.parametrize(
    ("path", "depth", "text"),
    [
        ("fio/3.33/buffered_libaio", 8, "at 2.14 ms on average, p99 25.8 ms"),
        ("fio/3.33/fdatasync", 1, "at flush latency 2.31 ms on average, p99 16.2 ms"),
    ],
)
def test_latency_is_what_the_application_waits_and_agrees_with_the_rate(path: str, depth: int, text: str) -> None:
    trial = recorded(path, iodepth=depth, ioengine="libaio", direct=True)
    assert in_flight(trial) == pytest.approx(depth, rel=0.01), "Little's law; by the completion alone 7.0 and 0.17"
    assert latency_text(step(trial)) == text
    for check in ("more-in-flight-than-asked", "queue-half-empty"):
        assert shown(CHECKS[check], trial) is None


def test_a_depth_that_was_not_reached_is_told_at_any_depth() -> None:
    shallow = fio(figures={"iops": 1000.0, "total_latency_mean": 400_000.0}, iodepth=1)
    assert "0.4 in flight" in (shown(CHECKS["queue-half-empty"], shallow) or "")
    brief = fio(figures={"iops": 4000.0, "total_latency_mean": 90_000.0}, iodepth=1)
    assert shown(CHECKS["queue-half-empty"], brief) is None, "the rest is the tool's own time"


def test_a_mixed_workload_is_quoted_with_both_directions() -> None:
    values: dict[str, Any] = {"rw": "randrw", "iodepth": 8}
    suite = find_suite("fio")
    parsed = captured_outputs.capture("fio/3.33/randrw_libaio_ramp").parse(suite.parser({**fio().values, **values}))
    mixed = replace(fio(**values), figures=parsed.figures)
    assert mixed.headline is not None
    assert mixed.headline.metric.name == "total_iops"
    assert re.fullmatch(r"\(read [\d,.k]+ IOPS, write [\d,.k]+ IOPS\)", latency_text(step(mixed)))
    trials = [
        replace(mixed, id=number, figures=tuple(replace(one, value=one.value * by) for one in mixed.figures))
        for number, by in enumerate((1.0, 1.0, 8.0))
    ]
    total = mean_of(step(*trials).over_trials("total_iops", mixed.headline.labels))
    parts = [float(text) for text in re.findall(r"([\d.]+)k IOPS", latency_text(step(*trials)))]
    assert sum(parts) * 1000 == pytest.approx(total, rel=0.02), "the total and its parts are one statistic"


def test_a_slow_start_of_the_second_direction_is_found() -> None:
    slow = starting(*(float(place) for place in range(950, 970)))
    figure, samples = slow.figures[0], slow.samples
    steady = [replace(one, value=1000.0 + index % 7) for index, one in enumerate(samples)]
    writes = [replace(one, labels=WRITE) for one in samples]
    both = replace(slow, figures=(figure, replace(figure, labels=WRITE)), samples=(*steady, *writes))
    assert "without the first 20 s" in shown_by("unsteady-start", both)

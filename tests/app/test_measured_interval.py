"""The seconds in which a trial's tool counted, on its host's clock: without filling, layout, ramp and shutdown."""

from dataclasses import replace
from typing import Any

import pytest

from app.events import SampleRead, TelemetryRead, TrialStarted
from app.plans.plan import Step
from app.records import RunRecord
from app.verdict.stages import TrialMonitor
from app.verdict.stored import evidence_of
from suites.base import complete_values
from suites.evidence import HostWatch, Interval, measured_interval
from suites.outputs import ParsedTrial
from suites.registry import suite as find_suite
from suites.units import Unit
from suites.vocab import Better, Metric, MetricKind, Sample
from tests.app import run_events
from tests.suites.captured_outputs import capture

CPU = Metric("cpu_user", "CPU user", Unit.PERCENT, Better.LOWER, MetricKind.SHARE)
DROPS = Metric("udp_drops", "UDP drops", Unit.PER_SECOND, Better.LOWER, MetricKind.RATE)
MEMORY = Step("memory", "sysbench-memory", {"threads": 2, "time": 10, "block_size": 2**30})


@pytest.mark.parametrize(
    ("counted", "origin", "expected"),
    [
        (None, 103.0, Interval(100.0, 100.0, 115.0)),  # several commands or unknown: the whole
        ((0.0, 10.0), None, Interval(105.0, 105.0, 115.0)),  # the command ended with the measurement
        ((0.0, 10.0), 103.2, Interval(103.2, 103.2, 113.2)),  # shutdown of 1.8 s
        ((2.0, 12.0), 101.0, Interval(101.0, 103.0, 113.0)),  # ramp
        ((0.0, 10.0), 99.7, Interval(100.0, 100.0, 110.0)),  # no earlier than the command
        ((0.0, 10.0), 105.4, Interval(105.0, 105.0, 115.0)),  # samples arrived late
        ((0.0, 30.0), None, Interval(100.0, 100.0, 115.0)),  # stopped early
    ],
)
def test_the_interval_lies_within_the_command(
    counted: tuple[float, float] | None, origin: float | None, expected: Interval
) -> None:
    assert measured_interval(counted, 100.0, 115.0, origin) == expected


def parsed(path: str, suite: str) -> ParsedTrial:
    return capture(path).parse(find_suite(suite).parser(complete_values(find_suite(suite), {})))


@pytest.mark.parametrize(
    ("path", "suite", "given", "expected"),
    [
        ("sysbench/1.0.20/memory_report_interval", "sysbench-memory", {"time": 3}, (0.0, 3.0)),
        ("iperf3/3.12/tcp_omit_text", "iperf3", {"time": 2, "omit": 2}, (2.0, 4.0)),
        ("iperf3/3.12/tcp_omit_json", "iperf3", {"time": 2, "omit": 2}, (2.0, 4.0)),
        ("iperf3/3.12/omit_unprinted", "iperf3", {"time": 3, "omit": 2}, (2.0, 5.0)),
        ("fio/3.33/randrw_libaio_ramp", "fio", {"runtime": 3, "ramp_time": 2}, (2.0, 5.0)),
        ("stress-ng/0.15.06/memrate_two", "stress-ng", {"time": 12}, (0.0, 12.0)),
        ("memory-blocks/1/all", "memory-blocks", {}, None),
    ],
)
def test_a_tool_says_which_seconds_it_counted(
    path: str, suite: str, given: dict[str, object], expected: tuple[float, float] | None
) -> None:
    found, output = find_suite(suite), parsed(path, suite)
    counted = found.counted(complete_values(found, given), output.figures, output.samples)
    assert counted == (None if expected is None else pytest.approx(expected, abs=0.25))


def memory_run(**changes: Any) -> RunRecord:
    """Return a run of sysbench memory, stored at its end, that filled its blocks for 3 of 13 seconds."""
    record = run_events.run_record("a", (1.0,), step=MEMORY)
    (one,) = record.trials
    output = parsed("sysbench/1.0.20/memory_report_interval", "sysbench-memory")
    figures = tuple(replace(one, value=10.0) if one.metric.name == "total_time" else one for one in output.figures)
    return replace(record, trials=(replace(one, figures=figures, ended_clock=1013.5, **changes),))


def load(second: float) -> float:
    """Return the use of all CPUs: one of two while filling, both while measuring, none while blocks are freed."""
    return 50.0 if second <= 1003.0 else 100.0 if second <= 1013.0 else 5.0


TELEMETRY = tuple(Sample(990.0 + second / 2, CPU, load(990.0 + second / 2)) for second in range(60))


@pytest.mark.parametrize("changes", [{"origin": 1003.0}, {}])
def test_host_evidence_is_of_the_measured_seconds(changes: dict[str, object]) -> None:
    record = memory_run(**changes)
    evidence = evidence_of(record, {}, {"web-1": TELEMETRY}, MEMORY, "web-1")
    watch = evidence.trials[0].watch
    assert watch is not None
    assert watch.seconds == pytest.approx(10.0)
    assert watch.mean("cpu_user") == pytest.approx(100.0, abs=6.0)
    whole = HostWatch.of("web-1", TELEMETRY, (1000.0, 1013.5))
    assert whole.mean("cpu_user") == pytest.approx(86.0, abs=2.0)
    assert evidence.trials[0].duration == pytest.approx(13.5)


SPENT = Metric("process_time", "CPU time", Unit.SECOND, Better.LOWER, MetricKind.TIME)


@pytest.mark.parametrize(
    ("readings", "seconds"),
    [
        ([(998.0, 5.0), (1003.0, 5.0), (1008.0, 5.0)], 10.0),  # not that of before; what is not read yet goes on
        ([(1000.0, 5.0), (1005.0, 5.0), (1010.0, 5.0), (1015.0, 5.0)], 10.0),
        ([(1000.0, 5.0)], 0.0),
        ([(1012.0, 4.0)], 4.0 * 3 / 5),
        ([(1005.0, 5.0)], 10.0),
        ([(1004.0, 4.0)], 3.2),  # unread for more than a reading's time: idle
    ],
)
def test_of_times_since_the_last_reading_those_of_the_interval_count(
    readings: list[tuple[float, float]], seconds: float
) -> None:
    samples = [Sample(time, SPENT, value, (("process", "hog"),)) for time, value in readings]
    watch = HostWatch.of("web-1", samples, (1000.0, 1010.0))
    assert watch.amounts("process_time", 5.0) == {(("process", "hog"),): pytest.approx(seconds)}


def test_while_it_runs_the_evidence_begins_at_the_first_counted_second() -> None:
    seen: list[HostWatch | None] = []
    monitor = TrialMonitor(checks=())
    step = Step("disk", "fio", {"rw": "randread", "runtime": 30, "ramp_time": 2})
    monitor._plan = run_events.plan(step)
    list(monitor(TrialStarted(run_events.trial(1, step="disk"), 32.0)))
    list(monitor(SampleRead(1, Sample(2.0, run_events.IOPS, 5.0, (), warm_up=True), 1004.5)))
    list(monitor(SampleRead(1, Sample(3.0, run_events.IOPS, 5.0, ()), 1004.0)))
    list(monitor(TelemetryRead("web-1", TELEMETRY)))
    seen.append(monitor._evidence(monitor._plan, monitor._open[1], 1012.0).watch)
    assert seen[0] is not None
    assert (seen[0].start, seen[0].end) == (1006.0, 1012.0)


def test_the_peers_evidence_is_of_the_same_seconds_on_the_hosts_clock() -> None:
    step = Step("link", "iperf3", {"time": 10}, peer="web-2")
    record = run_events.run_record("a", (1.0,), step=step)
    (one,) = record.trials
    trial = replace(one.trial, peer_clock=51_000.0)
    record = replace(record, trials=(replace(one, trial=trial, origin=1003.0, ended_clock=1013.5),))
    drops = tuple(Sample(50_995.0 + second, DROPS, 1.0 if second >= 8 else 0.0) for second in range(25))
    evidence = evidence_of(record, {}, {"web-1": TELEMETRY, "web-2": drops}, step, "web-1").trials[0]
    assert evidence.peer_watch is not None
    assert (evidence.peer_watch.start, evidence.peer_watch.end) == (1003.0, 1013.0)
    assert evidence.peer_watch.points("udp_drops")[0] == (1004.0, 1.0)
    unknown = replace(record, trials=(replace(record.trials[0], trial=one.trial),))
    assert evidence_of(unknown, {}, {"web-2": drops}, step, "web-1").trials[0].peer_watch is None
    monitor = TrialMonitor(checks=())
    monitor._plan = record.plan
    list(monitor(TelemetryRead("web-2", drops[:2])))
    list(monitor(TrialStarted(trial, 12.0)))
    list(monitor(TelemetryRead("web-2", drops[2:])))
    live = monitor._evidence(record.plan, monitor._open[1], 1012.0).peer_watch
    assert live is not None
    assert (live.host, len(live.series[("udp_drops", ())])) == ("web-2", 25)
    assert live.points("udp_drops")[0] == (1001.0, 0.0)

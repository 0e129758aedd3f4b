"""The plots of a trial: which there are, in which order and colours, and what lies behind and beneath."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from PySide6.QtWidgets import QApplication, QWidget

from app.events import FactsRead, FindingRaised, Moment, TelemetryRead, TrialStarted
from app.plans.plan import Plan, make_step
from app.records import Band
from suites.facts import Directory, Facts
from suites.fio.metrics import BANDWIDTH, LATENCY_MAX, LATENCY_MEAN, LATENCY_P50, LATENCY_P99
from suites.units import Unit
from suites.vocab import Better, Finding, Metric, MetricKind, Sample, Severity, labels
from tests.widgets.live_events import CLOCK, CPU_USER, PLACE, READ, WRITE, begin, end, folded, sample, trial
from widgets.live.model import RunModel
from widgets.live.run_plots import FAINT_LIMIT, RunPlots
from widgets.plots.timeline import PhaseKind
from widgets.theme import SERIES

CPU_IDLE = Metric("cpu_idle", "CPU, idle", Unit.PERCENT, Better.HIGHER, MetricKind.SHARE)
DISK_READ = Metric("disk_read_rate", "Disk, read", Unit.BYTES_PER_SECOND, Better.HIGHER, MetricKind.RATE)
DISK_BUSY = Metric("disk_busy", "Disk, time busy", Unit.PERCENT, Better.LOWER, MetricKind.SHARE)
NETWORK = Metric("network_sent", "Network, sent", Unit.BYTES_PER_SECOND, Better.HIGHER, MetricKind.RATE)
BAND = Band("run-0", "weekly", "iops", READ, "1/s", 40_000.0, 39_500.0, 40_500.0, 40_200.0)


@pytest.fixture
def plots(keep: Callable[[QWidget], QWidget]) -> RunPlots:
    made = RunPlots()
    keep(made)
    return made


def watched(*samples: tuple[Metric, float, str]) -> TelemetryRead:
    found = tuple(
        Sample(CLOCK + 1.0, metric, value, labels(device=device) if device else ()) for metric, value, device in samples
    )
    return TelemetryRead("web-1", found)


def show(plots: RunPlots, model: RunModel, *bands: Band) -> None:
    plots.show_step(model, PLACE, model.trials_at(PLACE)[-1], bands)
    finish(plots)


def finish(plots: RunPlots) -> None:
    """Let the plots be made that are still to come."""
    while plots.drawing:
        QApplication.processEvents()


def test_the_test_stands_above_the_host_and_what_matters_less_is_one_click_away(plots: RunPlots) -> None:
    model = folded([
        watched((NETWORK, 1.0, ""), (DISK_BUSY, 5.0, "vda"), (DISK_READ, 5.0, "vda"), (CPU_USER, 9.0, "")),
        begin(),
        sample(9e4, 1.0, metric=LATENCY_P50),
        sample(9e4, 1.0, metric=LATENCY_MEAN),
        sample(1e9, 1.0, metric=BANDWIDTH),
        sample(41_000.0, 1.0),
    ])  # fmt: skip
    show(plots, model)
    assert list(plots.titles().values()) == [
        "I/Os per second", "Latency", "Completion latency, mean", "Bandwidth", "Host: CPU", "Host: disk busy",
        "Host: disk", "Host: network",
    ]  # fmt: skip
    assert [plots.plots[name].title for name in plots.shown()] == [
        "I/Os per second", "Latency", "Host: CPU", "Host: disk",
    ]  # fmt: skip


def test_plots_are_made_one_after_the_other_so_that_the_window_answers(plots: RunPlots) -> None:
    model = folded(
        [watched((NETWORK, 1.0, ""), (DISK_READ, 5.0, "vda"), (CPU_USER, 9.0, "")), begin(), sample(9.0, 1.0)]
    )
    plots.show_step(model, PLACE, model.trials_at(PLACE)[-1], ())
    assert plots.drawing
    made = [len(plots.plots)]
    while plots.drawing:
        QApplication.processEvents()
        made.append(len(plots.plots))
    assert made[0] <= 2
    assert all(after - before <= 1 for before, after in pairwise(made))
    assert made[-1] == 3
    assert "host network B/s" in plots.titles()
    assert "host network B/s" not in plots.plots, "made when it is chosen"
    plots.chooser.toggled.emit("host network B/s", True)
    finish(plots)
    assert [line.end() for line in plots.plots["host network B/s"].lines.values()] == [1.0]


def test_what_holds_a_host_back_is_one_click_away_and_what_is_only_counted_is_not_drawn(plots: RunPlots) -> None:
    names = ("core_busiest", "disk_queue", "network_drops", "network_segments", "process_time", "throttle_events")
    units = (Unit.PERCENT, Unit.ONE, Unit.PER_SECOND, Unit.PER_SECOND, Unit.SECOND, Unit.ONE)
    metrics = [
        Metric(name, name, unit, Better.LOWER, MetricKind.SHARE) for name, unit in zip(names, units, strict=True)
    ]
    model = folded([watched((CPU_USER, 9.0, ""), *((metric, 1.0, "") for metric in metrics)), begin()])
    show(plots, model)
    titles = [title for title in plots.titles().values() if title.startswith("Host")]
    assert titles == ["Host: CPU", "Host: CPU per core", "Host: disk queue", "Host: network drops"]
    assert [plots.plots[name].title for name in plots.shown() if name.startswith("host")] == ["Host: CPU"]


def test_idle_time_is_not_drawn(plots: RunPlots) -> None:
    model = folded([watched((CPU_IDLE, 90.0, ""), (CPU_USER, 10.0, "")), begin()])
    show(plots, model)
    assert [line.title for line in plots.plots["host cpu %"].lines.values()] == ["user"]


def test_a_percentile_keeps_its_colour_and_the_second_operation_is_dashed(plots: RunPlots) -> None:
    events = [
        sample(1e5, 1.0, metric=metric, labelled=labelled)
        for labelled in (READ, WRITE)
        for metric in (LATENCY_P50, LATENCY_P99, LATENCY_MAX)
    ]
    show(plots, folded([begin(), *events]))
    lines = list(plots.plots["latency"].lines.values())
    assert [line.title for line in lines] == [
        "p50 read", "p99 read", "max read", "p50 write", "p99 write", "max write",
    ]  # fmt: skip
    colours = [SERIES.index(line.colour.name().upper()) for line in lines]
    assert colours == [0, 2, 5, 0, 2, 5]
    assert [line.dashed for line in lines] == [False] * 3 + [True] * 3


def test_the_baseline_lies_beneath_its_own_series(plots: RunPlots) -> None:
    show(plots, folded([begin(), sample(1.0, 1.0), sample(1.0, 1.0, labelled=WRITE)]), BAND)
    assert plots.plots["headline"].bands() == {("test", ("iops", READ)): BAND}


def test_series_that_appear_later_are_added(plots: RunPlots) -> None:
    model = folded([begin()])
    show(plots, model)
    assert list(plots.plots) == ["headline"]
    assert not plots.plots["headline"].lines
    model.fold(sample(41_000.0, 1.0), 5.0)
    model.fold(watched((CPU_USER, 10.0, "")), 5.0)
    plots.sync()
    finish(plots)
    assert list(plots.plots) == ["headline", "host cpu %"]
    assert plots.plots["headline"].lines[("test", ("iops", READ))].buffer is model.trials[1].series["iops", READ].buffer


def test_of_many_disks_those_are_drawn_that_work_or_hold_the_files(plots: RunPlots) -> None:
    directory = Directory(path="/srv/data", device="nvme3n1")
    facts = Facts(host="web-1", read_at="", directories=(directory,))
    disks = [(DISK_READ, 7.0 if number == 1 else 0.0, f"nvme{number}n1") for number in range(6)]
    model = folded([FactsRead("web-1", Moment.BEFORE, facts), watched(*disks), begin()])
    model.plan.step("disk").values["directory"] = "/srv/data"  # type: ignore[index]  # a plan of the test's own
    show(plots, model)
    drawn = [line.title for line in plots.plots["host disk B/s"].lines.values()]
    assert drawn == ["read nvme1n1", "read nvme3n1"]


def test_a_ramp_is_hatched_to_its_last_sample_and_a_warm_up_trial_all_through(plots: RunPlots) -> None:
    model = folded([begin(), sample(1.0, 1.0, warm_up=True), sample(1.0, 2.0, warm_up=True), sample(1.0, 3.0)])
    show(plots, model)
    assert phases(plots) == [(PhaseKind.TRIAL, 0.0, 10.0), (PhaseKind.WARM_UP, 0.0, 2.0)]
    plots.set_overlay(overlay=True)
    assert phases(plots) == [(PhaseKind.WARM_UP, 0.0, 2.0)]
    model = folded([begin(warm_up=True), sample(1.0, 1.0), sample(1.0, 4.0)])
    show(plots, model)
    assert phases(plots) == [(PhaseKind.WARM_UP, 0.0, 4.0)]
    plots.set_overlay(overlay=False)
    assert phases(plots) == [(PhaseKind.WARM_UP, 0.0, 10.0)]


def phases(plots: RunPlots) -> list[tuple[PhaseKind, float, float]]:
    return [(phase.kind, phase.start, phase.end) for phase in plots.window_of_time.phases]


def test_findings_during_a_trial_are_marks(plots: RunPlots) -> None:
    finding = Finding(
        id="x",
        severity=Severity.WARNING,
        title="CPU stolen",
        measured="4 %",
        why="",
        remedy="",
        source="",
        step="disk",
        host="web-1",
    )  # fmt: skip
    started = replace(begin(), trial=replace(begin().trial, clock=CLOCK))
    between = FindingRaised(finding, 1, CLOCK + 30.0)  # of another step, on an axis of its own
    model = folded([started, sample(1.0, 3.0), FindingRaised(finding, 1, CLOCK + 3.0), between])
    show(plots, model)
    for overlay in (False, True):
        plots.set_overlay(overlay=overlay)
        finish(plots)
        plots.plots["headline"].refresh()
        marks = [(mark.time, mark.text) for mark in plots.plots["headline"].view.foreground.marks]
        assert marks[:1] == [(3.0, "CPU stolen: 4 %")]
        assert len(marks) == (1 if overlay else 2)


def test_a_limited_number_of_other_trials_stands_faintly_behind(plots: RunPlots) -> None:
    events = [
        event
        for number in range(1, FAINT_LIMIT + 5)
        for event in (begin(number, number), sample(1.0, 1.0, number), end(1.0, number))
    ]
    plots.set_overlay(overlay=True)
    show(plots, folded(events))
    faint = [line.title for line in plots.plots["headline"].lines.values() if line.faint]
    assert len(faint) == FAINT_LIMIT
    assert faint[-1] == f"trial {FAINT_LIMIT + 3}"


def test_a_curve_alone_is_named_where_the_title_does_not_name_it(plots: RunPlots) -> None:
    show(plots, folded([begin(), sample(9e4, 1.0, metric=LATENCY_P99), sample(41_000.0, 1.0)]))
    for name, expected in (("headline", "read"), ("latency", "p99 read")):
        plots.plots[name].refresh()
        assert [label.text for label in plots.plots[name].view.labels._labels] == [expected]


@pytest.mark.parametrize("overlay", [False, True])
def test_without_samples_the_figures_of_the_trials_are_the_curve(plots: RunPlots, *, overlay: bool) -> None:
    plots.set_overlay(overlay=overlay)
    model = folded([begin(), end(40_000.0), begin(2, 2)])
    show(plots, folded([begin()]))
    plot = plots.plots["headline"]
    plot.refresh()
    assert plot.view.backdrop.blank
    show(plots, model)
    plot = plots.plots["headline"]
    assert [level[-1] for level in plot.levels()] == [40_000.0]
    model.fold(end(44_000.0, 2), 5.0)
    show(plots, model)
    plot.refresh()
    assert not plot.view.backdrop.blank
    assert [level[-1] for level in plot.levels()] == [40_000.0, 44_000.0]
    assert len(plot.view.backdrop.levels) == 2
    assert plot.scaling.bounds.high >= 44_000.0
    plots.window_of_time.move_cursor(plot.levels()[0][1])
    assert "40.0k" in plot.reading()
    assert "44.0k" in plot.plot_description()


def test_the_time_axis_follows_a_trial_and_ends_with_it(plots: RunPlots) -> None:
    model = folded([begin(expected=60.0), sample(1.0, 3.0)])
    show(plots, model)
    assert plots.window_of_time.shown == (0.0, 60.0)
    model.fold(end(1.0), 2.0 + 7.5)
    plots.sync()
    finish(plots)
    assert plots.window_of_time.shown == (0.0, 3.0), "the tool's shutdown is not drawn"
    unknown = folded([begin(expected=None)])
    show(plots, unknown)
    assert plots.window_of_time.shown == (0.0, 10.0)


def test_the_hosts_curves_have_the_time_of_the_tool_not_of_its_command(plots: RunPlots) -> None:
    """Sysbench memory fills its blocks for three seconds before its first sample."""
    model = folded([watched((CPU_USER, 50.0, "")), begin(expected=60.0)])
    show(plots, model)
    line = plots.plots["host cpu %"].lines[("host", ("cpu_user", ()))]
    assert line.latest() == 1.0
    model.fold(replace(sample(1e4, 1.0), origin=CLOCK + 0.4), 4.3)
    plots.sync()
    assert line.latest() == pytest.approx(0.6)
    model.fold(replace(sample(1e4, 2.0), origin=CLOCK + 3.0), 5.1)
    plots.sync()
    assert line.latest() is None, "the filling is before the axis"


def test_the_peer_is_drawn_on_its_own_clock_below_the_host(plots: RunPlots) -> None:
    """The server of a network test may be the limit: its CPU is shown at first, as the client's is."""
    step = make_step("iperf3", {}, name="disk", peer="web-2")
    started = TrialStarted(replace(trial(), peer_clock=90.0), 10.0)
    of_peer = TelemetryRead("web-2", (Sample(91.0, CPU_USER, 99.0), Sample(91.0, NETWORK, 1.0)))
    model = folded([watched((CPU_USER, 9.0, "")), of_peer, started], Plan("Link", ("web-1",), (step,)))
    show(plots, model)
    assert list(plots.titles().values())[1:] == ["Host: CPU", "Peer: CPU", "Peer: network"]
    assert [plots.plots[name].title for name in plots.shown()][1:] == ["Host: CPU", "Peer: CPU"]
    line = plots.plots["peer host cpu %"].lines["peer", ("cpu_user", ())]
    assert (line.title, line.latest()) == ("user", 1.0)
    model.fold(replace(sample(1e4, 1.0), origin=CLOCK + 0.4), 4.3)
    plots.sync()
    assert line.latest() == pytest.approx(0.6)


def test_a_server_on_the_same_host_is_drawn_once(plots: RunPlots) -> None:
    step = make_step("iperf3", {}, name="disk", peer="web-1")
    started = TrialStarted(replace(trial(), peer_clock=CLOCK), 10.0)
    show(plots, folded([watched((CPU_USER, 9.0, "")), started], Plan("Link", ("web-1",), (step,))))
    assert [plot.title for plot in plots.plots.values()][1:] == ["Host: CPU"]

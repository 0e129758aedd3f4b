"""The report picture stands alone: nothing is missing, cut, covered or drawn off the page, whatever a host says."""

import re
import shutil
import struct
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from matplotlib.font_manager import findfont, fontManager

from app.comparison.compare import compare
from app.comparison.joined import join
from app.comparison.selection import RunSelection
from app.comparison.selectors import only_step
from app.distributions.analyses import Analyses
from app.events import State
from app.output import WriteError
from app.plans.plan import QUICK_LOOK, Repetition, Step, make_step
from app.records import Band, RunRecord, TrialRecord
from app.report_image import sheet
from app.report_image.card import draw_card
from app.report_image.panels import ReportStep, host_panel, panels, with_gaps
from app.report_image.plots import _across
from app.report_image.report import draw_report, write_report
from app.report_image.sheet import BASELINE, BODY, CODE, CONTENT, SERIES, WIDTH, Sheet, printable, width, wrap
from app.report_image.tables import ImageColumn, TableCell, TableRow, _widths
from app.step_results import results_text, step_results
from app.store.store import Store
from remote.telemetry.telemetry_metrics import CPU_IDLE
from suites.base import Command
from suites.fio.metrics import BANDWIDTH
from suites.verdict import Limiter, Trust, Verdict
from suites.vocab import Figure, Metric, Sample
from tests.app import run_events
from tests.app.run_events import IOPS, P99, READ, STEP
from tests.app.stores import record
from tests.messages import messages

MESSAGES = messages("app-report", "test_report_image")

HOSTILE = "$\\frac{ <b>x</b> \x1b[31m \u202e \u4f60 " + "x" * 300
HALVES = ("first half", "second half")
BAND = Band("b", "before", "iops", READ, "1/s", 950.0, 900.0, 1000.0, 940.0, trials=5)


def a_run(run_id: str = "a", values: tuple[float, ...] = (1000.0, 1010.0, 990.0), step: Step = STEP) -> RunRecord:
    run = run_events.run_record(run_id, values, step=step)
    return replace(run, findings=(run_events.FINDING,))


def its_samples(*runs: RunRecord) -> dict[str, dict[int, tuple[Sample, ...]]]:
    return {
        run.summary.id: {
            trial.trial.id: tuple(run_events.samples(trial.figures[0].value, 20))
            for trial in run.trials
            if trial.figures
        }
        for run in runs
    }


def drawn(*runs: RunRecord, bands: tuple[Band, ...] = (), samples: bool = True) -> Sheet:
    return draw_report(runs, its_samples(*runs) if samples else {}, {}, bands)


def text_of(sheet: Sheet) -> str:
    return " ".join(words.text for words in sheet._texts)


def check_layout(sheet: Sheet) -> None:
    """Nothing leaves the page, and no words cover others."""
    boxes = []
    for words in sheet._texts:
        wide = width(words.text, words.style)
        left = words.x - (wide if words.align == "right" else 0)
        assert left >= 0, words.text
        assert left + wide <= WIDTH, words.text
        assert words.baseline <= sheet.y + 4, words.text
        boxes.append((left, words.baseline - 0.7 * words.style.size, left + wide, words.baseline, words.text))
    for one, other in combinations(boxes, 2):
        separate = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert separate, f"{one[4]!r} and {other[4]!r} cover each other"


def hostile_run() -> RunRecord:
    step = replace(STEP, name=HOSTILE)
    run = run_events.run_record("a", (1.0, 2.0), step=step, host=HOSTILE)
    finding = replace(run_events.FINDING, title=HOSTILE, measured=HOSTILE, why=HOSTILE, remedy=HOSTILE, step=HOSTILE)
    commands = (Command(("fio", f"--name={HOSTILE}")),)
    trials = tuple(replace(trial, trial=replace(trial.trial, commands=commands)) for trial in run.trials)
    plan = replace(run.plan, question=HOSTILE, name=HOSTILE)
    return replace(run, plan=plan, trials=trials, findings=(finding,), reason=HOSTILE, note=HOSTILE)


def many_hosts() -> RunRecord:
    run = run_events.run_record("a", tuple(float(number) for number in range(1, 9)))
    hosts = tuple(f"host-{number}" for number in range(8))
    trials = tuple(
        replace(trial, trial=replace(trial.trial, host=host)) for trial, host in zip(run.trials, hosts, strict=True)
    )
    return replace(run, plan=replace(run.plan, hosts=hosts), trials=trials)


SHEETS = {
    "one run": lambda: drawn(a_run()),
    "beside a baseline": lambda: drawn(a_run(), bands=(BAND,)),
    "one trial": lambda: drawn(a_run(values=(1000.0,))),
    "ten trials": lambda: drawn(a_run(values=tuple(1000.0 + number for number in range(10)))),
    "two runs": lambda: drawn(a_run(), a_run("b", (1100.0, 1110.0, 1090.0))),
    "not comparable": lambda: drawn(
        a_run(), a_run("b", step=replace(STEP, values={**STEP.values, "block_size": 16384}))
    ),
    "another step": lambda: drawn(a_run(), a_run("b", step=Step("write", "dd", {}))),
    "no samples": lambda: drawn(a_run(), samples=False),
    "no trials": lambda: drawn(replace(a_run(), trials=())),
    "many hosts": lambda: drawn(many_hosts()),
    "hostile": lambda: drawn(hostile_run(), bands=(replace(BAND, name=HOSTILE),)),
}


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", SHEETS)
def test_nothing_is_cut_or_covered(name: str) -> None:
    sheet = SHEETS[name]()
    check_layout(sheet)
    sheet.png()


def test_it_is_a_png_as_wide_as_was_asked(tmp_path: Path) -> None:
    run = a_run()
    for scale in (1.0, 2.0):
        path = write_report([run], its_samples(run), {}, [BAND], tmp_path / "report.png", scale=scale)
        head = path.read_bytes()[:24]
        assert head[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">I", head[16:20]) == (round(1200 * scale),)


def test_it_says_everything_a_reader_needs() -> None:
    shown_text = text_of(drawn(a_run(), bands=(BAND,)))
    for needed in (
        "Is the volume fast enough?", "20 November 2026, 14:15 UTC", "c7i.2xlarge", "Xeon Platinum 8488C",
        "kernel 6.1.0", "1000 IOPS", "990 to 1010 IOPS", "↑ higher is better", "1.06x, better", "before",
        "3 against 5 trials, no interval", "have no interval or verdict", "trial 1",
        "▲ Warning", "The page cache answers", "file 1 GiB, memory 16 GiB", "Set direct.",
        "fio '--name=random read' --rw=randread --bs=4096", "run a", "Benchwright 0.1.0",
    ):  # fmt: skip
        assert needed in shown_text


def quick_run(values: tuple[float, ...] = (1000.0,), metric: Metric = IOPS) -> RunRecord:
    """Return a run of seven steps with a verdict each."""
    steps = [replace(STEP, name=f"step {number}") for number in range(7)]
    parts = [run_events.run_record("a", values, step=step, metric=metric) for step in steps]
    verdicts = tuple(Verdict(Trust.VALID, Limiter.DEVICE, "Valid.", (), f"step {n}", "web-1") for n in range(7))
    trials = [trial for part in parts for trial in part.trials]
    trials = [replace(one, trial=replace(one.trial, id=number)) for number, one in enumerate(trials, 1)]
    plan = replace(parts[0].plan, steps=tuple(part.plan.steps[0] for part in parts), repetition=QUICK_LOOK)
    return replace(parts[0], plan=plan, trials=tuple(trials), verdicts=verdicts)


def test_a_quick_benchmark_begins_with_its_results_and_fits_two_screens() -> None:
    sheet = drawn(quick_run())
    check_layout(sheet)
    assert sheet.y < 2000
    texts = [words.text for words in sheet._texts]
    assert texts.index("step 6") < texts.index("Findings")
    assert texts.count(MESSAGES["limited"]) == 7


@pytest.mark.parametrize("reference", [False, True])
def test_the_caveat_of_a_baseline_is_drawn_once(*, reference: bool) -> None:
    band = replace(BAND, note="otherkernel", reference=reference)
    assert text_of(drawn(a_run(), bands=(band,))).count(band.note) == 1


def test_the_note_of_a_run_is_bounded() -> None:
    lines = [f"line {number}" for number in range(30)]
    sheet = drawn(replace(a_run(), note="\n".join(lines), tags=("before",)))
    texts = [words.text for words in sheet._texts]
    at = texts.index("Note") + 1
    assert texts[at : at + 10] == [*lines[:8], "…", "Tags: before"]
    check_layout(sheet)


def test_titles_of_small_plots_are_wrapped_and_the_caption_names_their_dots() -> None:
    metric = replace(IOPS, title="I/Os per second of all reads and writes together, both ways")
    sheet = drawn(quick_run((1000.0, 1010.0), metric), samples=False)
    check_layout(sheet)
    assert "One dot for each trial." in [words.text for words in sheet._texts]


def test_the_tail_beside_a_total_is_that_of_its_parts() -> None:
    total = replace(IOPS, name="total_iops")
    tails = [Figure(P99, value, (("operation", name),)) for name, value in (("read", 663.0), ("write", 885.0))]
    run = a_run()
    mixed = [replace(one, figures=(Figure(total, 2000.0), *tails)) for one in run.trials]
    run = replace(run, trials=tuple(mixed))
    assert [one.detail for one in step_results(run)] == ["p99 read 663 µs, write 885 µs"]


def test_a_card_cuts_no_detail() -> None:
    run = a_run()
    tails = [Figure(P99, value, (("operation", name),)) for name, value in (("read", 12_345.0), ("write", 98_765.0))]
    totals = [
        Figure(replace(one, name=f"total_{one.name}"), value) for one, value in ((IOPS, 1e3), (BANDWIDTH, 1.12e9))
    ]
    mixed = [replace(one, figures=(*totals, *tails)) for one in run.trials]
    shown_text = " ".join(text_of(draw_card(replace(run, trials=tuple(mixed)))).split())
    assert MESSAGES["whole_detail"] in shown_text


@pytest.mark.parametrize(("block", "detail"), [(4096, ""), (65530, "131 MB/s")])
def test_bytes_per_second_are_beside_the_rate_of_large_operations(block: int, detail: str) -> None:
    run = a_run()
    both = [replace(one, figures=(Figure(IOPS, 2000.0), Figure(BANDWIDTH, 2000.0 * block))) for one in run.trials]
    assert [one.detail for one in step_results(replace(run, trials=tuple(both)))] == [detail]


def test_results_of_one_step_are_told_apart_in_the_text() -> None:
    run = a_run()
    both = [replace(one, figures=tuple(Figure(IOPS, 1.0, (("end", end),)) for end in "ab")) for one in run.trials]
    names = [line.split("  ")[0] for line in results_text(replace(run, trials=tuple(both))).splitlines()[3:5]]
    assert [name[-9:] for name in names] == [", a (fio)", ", b (fio)"]


def test_a_card_has_the_size_of_a_link_preview_and_every_result() -> None:
    run = quick_run()
    sheet = draw_card(run)
    check_layout(sheet)
    assert struct.unpack(">II", sheet.png()[16:24]) == (1200, 630)
    shown_text = text_of(sheet)
    assert all(f"step {number}" in shown_text for number in range(7))
    lines = results_text(run).splitlines()
    assert lines[3].split() == MESSAGES["line"].split()
    assert "no interval" in lines[-1]


def test_a_card_has_the_whole_reason_of_a_run_that_ended_early() -> None:
    run = quick_run()
    reason = " ".join(f"word{number}" for number in range(30))
    sheet = draw_card(replace(run, summary=replace(run.summary, state=State.PARTIAL), reason=reason))
    check_layout(sheet)
    assert reason in " ".join(text_of(sheet).split())


def test_two_runs_say_ratio_interval_and_verdict_once_for_each_reason() -> None:
    shown_text = text_of(drawn(a_run(), a_run("b", (1100.0, 1110.0, 1090.0))))
    assert "A, baseline" in shown_text
    assert "1.10x" in shown_text
    assert "undecided: n = 3 against 3, needs at least 6 each" in shown_text
    differing = text_of(drawn(a_run(), a_run("b", step=replace(STEP, values={**STEP.values, "block_size": 16384}))))
    assert MESSAGES["not_comparable_block_size_16"] in differing


def test_intervals_stand_beside_the_values() -> None:
    for runs in ([a_run()], [a_run(), a_run("b")]):
        texts = [words.text for words in drawn(*runs)._texts]
        assert texts[texts.index("95 % interval") :].count("± 25") >= len(runs)


def test_a_comparison_begins_with_the_tested_metrics_and_only_counts_the_others() -> None:
    names = [f"part {number}" for number in range(30)]
    figures = tuple(Figure(P99, 212.0, (("operation", name),)) for name in names)
    two = [
        replace(run, trials=tuple(replace(one, figures=(*one.figures, *_others(figures))) for one in run.trials))
        for run in (a_run(), a_run("b", (1100.0, 1110.0, 1090.0)))
    ]
    sheet = drawn(*two)
    check_layout(sheet)
    assert sheet.y < 1500
    texts = [words.text for words in sheet._texts]
    assert texts.index("Ratio to A") < texts.index(STEP.name)
    assert MESSAGES["not_tested"] in texts


def _others(figures: tuple[Figure, ...]) -> list[Figure]:
    return [replace(one, metric=replace(P99, name="latency_mean", percentile=None)) for one in figures]


def test_findings_of_several_runs_and_of_several_steps_are_explained_once() -> None:
    run = a_run()
    twice = replace(run, findings=(run_events.FINDING, replace(run_events.FINDING, measured="another")))
    assert text_of(drawn(twice)).count(run_events.FINDING.why) == 1
    assert run_events.FINDING.why not in text_of(drawn(run, a_run("b")))


def test_one_sample_of_one_trial_has_no_plot() -> None:
    run = a_run(values=(1000.0,))
    assert panels(ReportStep([run], [STEP], {"a": {1: (Sample(1.0, IOPS, 5.0, READ),)}}, ())) == []


def test_the_values_shown_are_those_of_the_ratio() -> None:
    odd = drawn(a_run("a", (620.0, 625.0, 615.0, 220.0)), a_run("b", (530.0, 535.0, 525.0, 700.0)), samples=False)
    shown_text = text_of(odd)
    assert MESSAGES["values_of_the_ratio"] in shown_text
    assert MESSAGES["method"] in shown_text


def test_two_parts_of_one_run_are_named_by_their_steps() -> None:
    shown_text = text_of(drawn(*two_parts(), samples=False))
    assert all(f"disk, step {name}, 20 November" in shown_text for name in HALVES)
    assert MESSAGES["both_steps"] in shown_text


def two_parts() -> list[RunRecord]:
    """Return both steps of one run as the sides of a comparison, each with a finding."""
    one, other = (a_run("a", step=replace(STEP, name=name)) for name in HALVES)
    findings = tuple(replace(run_events.FINDING, step=name) for name in HALVES)
    whole = replace(
        one,
        plan=replace(one.plan, steps=(*one.plan.steps, *other.plan.steps)),
        trials=(*one.trials, *other.trials),
        findings=findings,
        telemetry_program={"web-1": "script"},
        telemetry_cost={"web-1": 0.002},
    )
    return [only_step(whole, name) for name in HALVES]


def test_a_finding_of_one_step_is_that_of_its_side() -> None:
    texts = [words.text for words in drawn(*two_parts(), samples=False)._texts]
    found = [text for text in texts if text.startswith(run_events.FINDING.title)]
    assert [text.partition("(")[2].partition(":")[0] for text in found] == [MESSAGES["in_a"], MESSAGES["in_b"]]


def test_the_footer_has_a_run_of_two_sides_once() -> None:
    texts = [words.text for words in drawn(*two_parts(), samples=False)._texts]
    assert sum(text.startswith("run a, plan") for text in texts) == 1
    assert sum("telemetry" in text.lower() for text in texts) == 1
    of_two_runs = [replace(run, telemetry_cost={"web-1": 0.002}) for run in (a_run("a"), a_run("b"))]
    texts = [words.text for words in drawn(*of_two_runs, samples=False)._texts]
    assert sum("telemetry" in text.lower() for text in texts) == 2


def test_sides_without_trials_have_no_margin() -> None:
    empty = drawn(a_run("a", ()), a_run("b", ()), samples=False)
    shown_text = text_of(empty)
    assert MESSAGES["nothing"] in shown_text
    assert "Margin" not in shown_text


def test_tested_metrics_are_charted_first(tmp_path: Path) -> None:
    store = Store(tmp_path / "data" / "runs.sqlite3")
    for run in "ab":
        record(store, run, run_events.run_events(run, (1000.0, 1010.0)))
    chosen = RunSelection(store).chosen
    row, latency = compare(chosen(("a", "b"))).rows
    total = replace(latency, metric=replace(P99, name="total_time"), tested=False)
    analyses = Analyses(store, chosen)
    found, alone = (analyses.pictured(("a", "b"), [row, total, *more]) for more in ([latency], []))
    store.close()
    assert [one.metric.name for one in found] == ["iops", "latency_p99"]
    assert [one.metric.name for one in alone] == ["iops", "total_time"]


def test_what_failed_is_said_with_its_reason() -> None:
    run = a_run()
    failed = TrialRecord(run_events.trial(9), State.FAILED, None, 1, (), (), "fio was killed.")
    partial = replace(
        run, trials=(*run.trials, failed), summary=replace(run.summary, state=State.PARTIAL), reason="Stopped by you."
    )
    shown_text = text_of(drawn(partial))
    assert MESSAGES["ended_early_stopped_by_you"] in shown_text
    assert MESSAGES["trial_9_of_random_read_on"] in shown_text


def test_an_unwritable_place_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError):
        write_report([a_run()], {}, {}, [], tmp_path / "file" / "report.png")


# Curves


def shown(*runs: RunRecord, bands: tuple[Band, ...] = ()) -> ReportStep:
    return ReportStep(runs, [run.plan.steps[0] for run in runs], its_samples(*runs), bands)


def test_trials_of_one_thing_have_a_colour_each_and_the_baseline_a_band() -> None:
    (panel,) = panels(shown(a_run(), bands=(BAND, replace(BAND, unit="%"))))
    assert [(curve.name, curve.colour) for curve in panel.curves] == [
        (f"trial {number}", SERIES[number - 1]) for number in (1, 2, 3)
    ]
    assert panel.bands == (BAND,)
    assert {curve.warm_up for curve in panel.curves} == {0.0}


def test_of_several_runs_the_first_is_grey_and_gives_the_band() -> None:
    (panel,) = panels(shown(a_run(), a_run("b"), a_run("c"), bands=(BAND,)))
    assert dict.fromkeys((curve.name, curve.colour, curve.faint) for curve in panel.curves) == dict.fromkeys(
        [("A, baseline", BASELINE, True), ("B", SERIES[0], False), ("C", SERIES[1], False)]
    )
    (band,) = panel.bands
    assert (band.run_id, band.name) == ("a", "A, baseline")
    assert band.figure == pytest.approx(999.97, abs=0.01)


def test_the_band_of_a_baseline_of_several_hosts_is_the_mean_of_the_hosts() -> None:
    figures = {"web-1": (100.0,) * 6, "web-2": (400.0,) * 2}
    runs = [run_events.run_record(f"r{host}", values, host=host) for host, values in figures.items()]
    baseline, _ = join(runs, {run.summary.id: {} for run in runs})
    (panel,) = panels(ReportStep([baseline, baseline], [baseline.plan.steps[0]] * 2, {}, ()))
    (band,) = panel.bands
    assert band.figure == pytest.approx(200.0)  # the mean of all trials is 141


def test_a_trial_that_does_not_count_is_faint_and_named() -> None:
    run = a_run()
    first = replace(run.trials[0], state=State.PARTIAL)
    second = replace(run.trials[1], trial=replace(run.trials[1].trial, warm_up=True))
    (panel,) = panels(shown(replace(run, trials=(first, second, run.trials[2]))))
    assert [(curve.name, curve.faint) for curve in panel.curves] == [
        ("trial 1, ended early", True), ("warm-up trial 2", True), ("trial 3", False),
    ]  # fmt: skip


def test_without_samples_there_is_a_dot_for_every_trial() -> None:
    (panel,) = panels(ReportStep([a_run()], [STEP], {}, ()))
    assert [(curve.times, curve.values, curve.dots) for curve in panel.curves] == [
        ((1.0, 2.0, 3.0), (1000.0, 1010.0, 990.0), True)
    ]
    assert panels(ReportStep([a_run(values=(1.0,))], [STEP], {}, ())) == []


def test_where_samples_are_few_there_are_dots_beside_the_baselines_figure() -> None:
    few = {"a": {number: (Sample(1.0, IOPS, 5.0, READ),) for number in (1, 2, 3)}}
    (panel,) = panels(ReportStep([a_run()], [STEP], few, [BAND]))
    assert [curve.dots for curve in panel.curves] == [True]
    assert [(band.low, band.median, band.high) for band in panel.bands] == [(940.0, 940.0, 940.0)]


def test_a_latency_stands_beside_the_headline() -> None:
    run = a_run(values=(1000.0,))
    both = tuple(Sample(float(i), metric, 5.0, READ) for i in range(9) for metric in (P99, IOPS))
    found = panels(ReportStep([run], [STEP], {"a": {1: both}}, ()))
    assert [panel.metric for panel in found] == [IOPS, P99]


def test_missing_samples_are_a_gap_and_no_line() -> None:
    times, values = with_gaps([4.0, 1.0, 2.0, 3.0, 9.0], [4.0, 1.0, 2.0, 3.0, 9.0])
    assert times == (1.0, 2.0, 3.0, 4.0, 9.0, 9.0)
    assert values[:4] == (1.0, 2.0, 3.0, 4.0)
    assert values[4] != values[4]
    assert values[5] == 9.0


def test_the_host_is_shown_on_the_trials_own_clock() -> None:
    run = a_run(values=(1000.0,))
    (panel,) = panels(shown(run))
    watched = tuple(Sample(995.0 + i, CPU_IDLE, 60.0) for i in range(40))
    host = host_panel(shown(run), {"a": {"web-1": watched}}, panel)
    assert host is not None
    (curve,) = host.curves
    assert (curve.times[0], curve.times[-1]) == (0.0, 19.0)
    assert set(curve.values) == {40.0}
    assert curve.colour == panel.curves[0].colour
    assert host_panel(shown(run), {}, panel) is None


def test_the_host_is_shown_until_the_last_series_of_the_trial_ends() -> None:
    run = a_run(values=(1000.0,))
    (panel,) = panels(shown(run))
    first = replace(panel.curves[0], times=(1.0,), values=(5.0,))
    watched = tuple(Sample(995.0 + i, CPU_IDLE, 60.0) for i in range(40))
    host = host_panel(shown(run), {"a": {"web-1": watched}}, replace(panel, curves=(first, *panel.curves)))
    assert host is not None
    assert host.curves[0].times[-1] == 19.0, "of a sweep, the first point is over long before the trial"


def test_the_peer_is_shown_on_its_own_clock_and_the_ramp_is_shaded() -> None:
    """The server of a network test may be the limit; what its tool did not count is no evidence."""
    step = make_step("iperf3", {"omit": 5}, name=STEP.name, peer="web-2")
    run = run_events.run_record("a", (1000.0,), step=step)
    (one,) = run.trials
    run = replace(run, trials=(replace(one, trial=replace(one.trial, peer_clock=90.0), origin=one.trial.clock),))
    its = ReportStep([run], [step], its_samples(run), ())
    (panel, *_) = panels(its)
    watched = {"a": {"web-2": tuple(Sample(85.0 + i, CPU_IDLE, 10.0) for i in range(40))}}
    assert host_panel(its, watched, panel) is None
    peer = host_panel(its, watched, panel, peer=True)
    assert peer is not None
    (curve,) = peer.curves
    interval = run.interval(run.trials[0], its.samples["a"][1])
    assert interval is not None
    assert (curve.times[0], set(curve.values)) == (0.0, {90.0})
    assert curve.warm_up == panel.curves[0].warm_up == interval.start - interval.origin > 0
    sheet = draw_report([replace(run, facts_before={"web-2": run.facts_before["web-1"]})], its.samples, watched, ())
    assert "Peer: busy share of all its CPUs" in text_of(sheet)
    assert "web-2" in text_of(sheet)
    same = replace(run, plan=replace(run.plan, steps=(replace(step, peer="web-1"),)))
    assert host_panel(replace(its, records=[same]), {"a": {"web-1": watched["a"]["web-2"]}}, panel, peer=True) is None


def test_a_doubtful_figure_is_marked_in_the_table_and_in_large_type() -> None:
    run = a_run()
    doubtful = Verdict(Trust.DOUBTFUL, None, "Doubtful.", (run_events.FINDING,), STEP.name, "web-1")
    assert "doubtful" not in text_of(drawn(run))
    text = text_of(drawn(replace(run, verdicts=(doubtful,))))
    assert MESSAGES["doubtful_table"] in text
    assert "Doubtful: I/O operations" in text


def test_words_that_would_be_wrapped_take_the_room_that_other_columns_leave() -> None:
    long = "Throughput, buffer 64 KiB, download, tcp, threads 1"
    columns = (ImageColumn("Metric"), ImageColumn("Median", right=True))
    assert _widths(columns, [TableRow((TableCell(long), TableCell("1 s")))])[0] >= width(long, BODY)
    crowded = [TableRow((TableCell(long), *[TableCell("x" * 60)] * 5))]
    assert sum(_widths((ImageColumn("Metric"), *[ImageColumn("Of a run")] * 5), crowded)) <= CONTENT


# Words


def test_what_turns_or_controls_text_is_shown_escaped() -> None:
    assert printable("a\u202eb\x1bc\u4f60\td") == "a\\u202eb\\x1bc\N{REPLACEMENT CHARACTER}    d"


@pytest.fixture
def installed_font(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a font with letters that those of reports do not have."""
    caches = (sheet._families, sheet._family_of, sheet._shown, sheet._characters)
    monkeypatch.setattr(fontManager, "ttflist", list(fontManager.ttflist))
    path = Path(findfont("STIXGeneral"))
    fontManager.addfont(shutil.copy(path, tmp_path / path.name))
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.usefixtures("installed_font")
def test_letters_that_a_font_of_the_system_has_are_drawn_with_it(recwarn: pytest.WarningsRecorder) -> None:
    text = "mix שלום اختبار \u24b6"
    assert printable(text) == text
    drawn_text = Sheet()
    for style in (BODY, CODE):
        drawn_text.paragraph(text, style)
    drawn_text.png()
    assert [str(each.message) for each in recwarn if "missing from" in str(each.message)] == []


def test_words_from_right_to_left_leave_the_rest_in_order() -> None:
    assert sheet._in_order("שלום עולם, 27 x") == "\u200eשלום עולם\u200e, 27 x"


@pytest.mark.parametrize("style", [BODY, CODE])
def test_wrapping_keeps_every_character(style: object) -> None:
    text = "fio --name=x " + "y" * 400 + " tail"
    assert isinstance(style, type(BODY))
    lines = wrap(text, style, 300, indent="  ")
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(width(line, style) <= 300 for line in lines)


def test_a_word_of_65536_characters_is_measured_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = 0

    def counted(text: str, _style: object) -> float:
        nonlocal measured
        measured += len(text)
        return 7.0 * len(text)

    monkeypatch.setattr(sheet, "width", counted)
    word = "x" * 2**16
    assert "".join(wrap(word, BODY, 300)) == word
    assert measured < 40 * len(word)


def test_a_tall_pdf_has_pages_that_end_between_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet, "TALLEST", 400)
    tall = Sheet()
    for number in range(12):
        tall.paragraph(f"paragraph {number} " + "word " * 100, BODY)
    found = re.findall(rb"MediaBox \[ 0 0 864 ([\d.]+) \]", tall.drawn("pdf"))
    heights = [round(float(height) / 0.72, 2) for height in found]
    assert len(heights) > 1
    assert max(heights) <= 400
    assert sum(heights) == pytest.approx(round(tall.y + sheet.MARGIN))
    ends = [sum(heights[: number + 1]) - sheet.MARGIN for number in range(len(heights) - 1)]
    assert [end % BODY.leading for end in ends] == pytest.approx([0] * len(ends))
    assert len(re.findall(rb"MediaBox", Sheet().drawn("pdf"))) == 1


def test_a_page_of_pdf_has_the_proportions_of_paper_and_cuts_no_plot() -> None:
    assert pytest.approx(297 / 210, rel=0.001) == sheet.TALLEST / sheet.WIDTH
    tall, plots = Sheet(), []
    for number in range(12):
        tall.paragraph(f"Step {number}", sheet.HEADING)
        plots.append((tall.y, tall.y + 420))
        tall.plot(60, tall.y + 20, 800, 370, lambda _axes: None)
        tall.y += 430
    pages = list(tall._pages(tall.y + sheet.MARGIN))
    assert len(pages) > 3
    for start, end in pages:
        assert end - start <= sheet.TALLEST
        assert not any(low - 20 < end < high for low, high in plots)  # nor is a heading left above the end


def test_steps_without_a_plot_have_no_cell_in_the_report() -> None:
    steps = [replace(STEP, name=f"step {number}") for number in range(3)]
    runs = [run_events.run_record("a", (1000.0,), step=step) for step in steps]
    trials = [replace(run.trials[0], trial=replace(run.trials[0].trial, id=at)) for at, run in enumerate(runs)]
    run = replace(runs[0], plan=replace(runs[0].plan, steps=tuple(steps)), trials=tuple(trials))
    samples = {"a": {0: tuple(run_events.samples(1.0, 20))}}
    made = draw_report([run], samples, {}, ())
    titles = [text.text for text in made._texts if text.style == sheet.STRONG and text.text.startswith("step")]
    assert [text for text in titles if titles.count(text) > 1] == ["step 0", "step 0"]


@pytest.mark.parametrize(("end", "frame"), [(0.03, 180.0), (0.125, 180.0), (4096.0, 90.0), (8.0, 1000.0)])
def test_labels_of_an_axis_do_not_overlap(end: float, frame: float) -> None:
    ticks = [tick for tick in _across(0.0, end, frame, 10, integer=True).tick_values(0.0, end) if tick <= end]
    edges = [(frame * tick / end, width(f"{tick:g}", sheet.SMALL)) for tick in ticks]
    assert len(ticks) >= 2
    for (one, wide), (other, next_wide) in pairwise(edges):
        assert other - one >= (wide + next_wide) / 2


def test_repetition_does_not_matter_to_the_picture() -> None:
    run = a_run()
    assert "random read" in text_of(drawn(replace(run, plan=replace(run.plan, repetition=Repetition(30)))))


def test_figures_of_two_metrics_stand_in_one_table() -> None:
    run = a_run(values=(1000.0,))
    figures = (Figure(IOPS, 1000.0, READ), Figure(P99, 212.0, READ))
    shown_text = text_of(drawn(replace(run, trials=(replace(run.trials[0], figures=figures),))))
    assert "212 µs" in shown_text
    assert "percentile, read ↓" in shown_text
    assert MESSAGES["one_trial_so_its_spread_is"] in shown_text

"""The leading figure and the words around it: honest about what is known so far."""

import statistics
from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from app.checks.goals import GOAL_MET
from app.comparison.estimates import ratio_of
from app.events import (
    Activity,
    Event,
    LimitSeen,
    LinkChanged,
    Progress,
    RunEnded,
    State,
    TrialEnded,
    TrialStarted,
    VerdictReached,
)
from app.plans.plan import Policy, Repetition, make_step
from app.plans.presets import filled_preset, preset
from app.records import Band
from remote.connection_state import LinkState
from suites.base import Command
from suites.facts import Absent, CloudFacts, CpuFacts, Facts, MemoryFacts, SystemFacts
from suites.fio.metrics import IOPS, LATENCY_MAX, LATENCY_P50, LATENCY_P99
from suites.outputs import ParsedTrial
from suites.quantities import clock_text
from suites.verdict import Limiter, Trust, Verdict
from suites.vocab import Figure
from tests.app.run_events import FINDING
from tests.messages import messages
from tests.widgets.live_events import PLACE, READ, WRITE, begin, end, folded, plan, sample, trial
from widgets.live.headline import NO_FIGURE, headline, leading_figure
from widgets.live.headline_bar import HeadlineBar
from widgets.live.messages import (
    command_text,
    facts_text,
    outcome,
    remaining_text,
    state_text,
    step_host_text,
    step_progress,
    summary_text,
    trial_text,
    under_way_text,
)
from widgets.live.model import RunModel, StepKey
from widgets.live.verdict_panel import VerdictPanel
from widgets.parts.text import OneLine
from widgets.theme import TextSize, text_font

MESSAGES = messages("widgets-live", "test_live_headline")

BAND = Band("run-0", "weekly", "iops", READ, "1/s", 40_000.0, 39_500.0, 40_500.0, 40_200.0, trials=8)

SUM = "19e58bacc5be2877da1b2f817adbc6bdf38089978079096b75bd106137e597c0"

MAY_RUN = "Commands may still run there. List them with: benchwright hosts leftovers web-1"
STOPPED_AND_LOST = ("disk: Stopped by you.", MAY_RUN)


def running(*values: float) -> RunModel:
    return folded([begin(), *(sample(value, 1.0 + index) for index, value in enumerate(values))])


def test_before_the_first_sample_there_is_no_figure() -> None:
    shown = headline(folded([begin()]), PLACE, [])
    assert (shown.text, shown.caption) == (NO_FIGURE, "no sample yet")
    assert headline(folded([]), PLACE, []).caption == "not measured yet"
    command = replace(plan(), steps=(make_step("command", {"command": "true"}, name="disk"),))
    assert headline(folded([begin()], command), PLACE, []).caption == MESSAGES["figure_at_the_end"]


def test_the_title_has_no_figure_that_does_not_count() -> None:
    run = [begin(), sample(41_000.0, 1.0)]
    assert leading_figure(folded(run), PLACE) == "41.0k IOPS so far"
    assert leading_figure(folded([*run, end(41_000.0)]), PLACE) == "41.0k IOPS"
    assert leading_figure(folded([*run, end(41_000.0, state=State.FAILED)]), PLACE) == ""
    assert leading_figure(folded([begin(warm_up=True), sample(41_000.0, 1.0)]), PLACE) == ""


def test_a_trial_that_never_began_does_not_come_to_the_front() -> None:
    never = TrialStarted(replace(trial(2), host="web-2", clock=None), None)
    model = folded(
        [begin(), end(41_000.0), never, end(None, 2, State.FAILED, "Not measured.")], plan(hosts=("web-1", "web-2"))
    )
    assert model.current is model.trials[1]
    assert headline(model, PLACE, []).current == "after trial 1 of 3"
    assert folded([never]).current is None


def test_what_a_step_shows_between_trials_is_not_under_way() -> None:
    def current(*events: Event, step_key: StepKey = PLACE) -> str:
        return headline(folded([begin(), end(41_000.0), *events]), step_key, []).current

    measuring, preparing = Activity("measuring disk", "web-1", measures=True), Activity("preparing cpu", "web-1")
    assert current(measuring) == "after trial 1 of 3"
    verdict = VerdictReached(Verdict(Trust.VALID, Limiter.DEVICE, "", (), *PLACE))
    assert (current(measuring, verdict), current(preparing, verdict)) == ("", "now: preparing cpu")
    assert current(preparing, step_key=("cpu", "web-1")) == "now: preparing cpu"
    assert current(begin(2, 2), step_key=("cpu", "web-1")) == "now: disk on web-1, trial 2 of 3"


def test_a_search_shows_the_best_rate_so_far() -> None:
    """The latencies of its windows are those of every rate: none belongs to the best."""
    best, tail = replace(IOPS, name="iops_so_far"), replace(LATENCY_P99, name="open_latency_p99")
    windows = [
        sample(value, now, metric=best, labelled=()) for now, value in ((1.0, 100.0), (2.0, 200.0), (3.0, 400.0))
    ]
    shown = headline(folded([begin(), sample(9e6, 1.0, metric=tail, labelled=()), *windows]), PLACE, [])
    assert (shown.title, shown.text, shown.tail) == (IOPS.title, "400/s", "")
    assert shown.caption == MESSAGES["best_of_the_rates"]
    assert shown.current.startswith("trial 1 of 3: 400/s so far")


def test_the_limit_of_the_trials_so_far_is_named_until_the_verdict_names_it() -> None:
    def text(*events: Event) -> str:
        return headline(folded([*events]), PLACE, []).limit

    known = [begin(), end(41_000.0), LimitSeen(*PLACE, Limiter.DEVICE)]
    assert (text(), text(begin())) == ("", "limit not found yet")
    assert text(*known) == MESSAGES["limited_by_the_device_so_far"]
    assert text(*known, LimitSeen(*PLACE, Limiter.UNKNOWN)) == "limit not found yet"
    verdict = Verdict(Trust.VALID, Limiter.DEVICE, "", (), *PLACE)
    assert text(*known, VerdictReached(verdict)) == ""


def test_while_it_runs_the_median_so_far_leads_with_its_range() -> None:
    shown = headline(running(41_000, 41_200, 41_400, 41_600, 41_800), PLACE, [])
    assert shown.title == "I/Os per second, read"
    assert shown.text == "41.4k IOPS"
    assert shown.caption == MESSAGES["median_of_5_samples_so_far"]


def test_one_sample_is_a_figure() -> None:
    shown = headline(running(41_000.0), PLACE, [])
    assert (shown.text, shown.caption) == ("41.0k IOPS", MESSAGES["median_of_1_sample_so_far"])


def test_warm_up_samples_are_left_out() -> None:
    model = folded([begin(), sample(1.0, 1.0, warm_up=True), sample(41_000.0, 2.0)])
    assert headline(model, PLACE, []).text == "41.0k IOPS"


@pytest.mark.parametrize(
    ("value", "ratio", "caption"),
    [
        (42_000.0, "1.05x, better", "no verdict yet · weekly"),
        (30_000.0, "0.75x, worse", "no verdict yet · weekly"),
        (40_400.0, "1.01x", "within its quartiles · weekly"),
    ],
)
def test_the_ratio_to_the_baseline_is_so_far_and_says_when_it_shows_nothing(
    value: float, ratio: str, caption: str
) -> None:
    shown = headline(running(value, value, value, value), PLACE, [BAND])
    assert (shown.ratio_title, shown.ratio, shown.ratio_caption) == ("baseline, so far", ratio, caption)


def test_the_ratio_is_of_the_two_numbers_shown_with_its_interval() -> None:
    values, theirs = (30_000.0, 42_000.0, 60_000.0), (19_000.0, 20_000.0, 21_000.0)
    events = [event for n, value in enumerate(values, 1) for event in (begin(n, n), end(value, n))]
    band = replace(BAND, low=19_500.0, median=20_000.0, high=20_500.0, figure=21_000.0, trials=3, values=theirs)
    shown = headline(folded([*events, RunEnded("run-1", State.DONE)]), PLACE, [band])
    found = ratio_of(values, theirs)
    assert not isinstance(found, str)
    assert shown.text.startswith("42.3k IOPS")
    assert shown.ratio == "2.01x", "42k / 21k; its interval includes 1"
    factor = statistics.geometric_mean(values) / 21_000 / found.value
    low, high = (f"{factor * (edge or 0):.2f}x" for edge in (found.low, found.high))
    assert shown.ratio_caption == f"{low}–{high}, 95 % CI · weekly"


def test_a_baseline_of_another_series_is_not_held_against_it() -> None:
    other = Band("run-0", "weekly", "iops", WRITE, "1/s", 1.0, 1.0, 1.0, 1.0)
    assert headline(running(42_000.0), PLACE, [other]).ratio == ""


def test_both_directions_and_the_tail_are_told() -> None:
    model = folded([
        begin(),
        sample(41_000.0, 1.0),
        sample(17_000.0, 1.0, labelled=WRITE),
        sample(9e4, 1.0, metric=LATENCY_P50),
        sample(2e6, 1.0, metric=LATENCY_P99),
        sample(9e6, 1.0, metric=LATENCY_MAX),
        sample(8e6, 1.0, metric=LATENCY_P99, labelled=WRITE),
    ])  # fmt: skip
    shown = headline(model, PLACE, [])
    assert shown.others == "17.0k IOPS write"
    assert (shown.tail_title, shown.tail) == ("p99 latency", "2.00 ms")


def test_after_the_trials_the_tools_own_figures_lead() -> None:
    model = folded([begin(1), end(41_000.0, 1), begin(2, 2), end(42_000.0, 2), begin(3, 3), end(None, 3, State.FAILED)])
    shown = headline(model, PLACE, [BAND])
    assert shown.text == "41.5k IOPS ± 6.9k"
    assert shown.caption == MESSAGES["mean_of_2_trials"]
    assert (shown.ratio_title, shown.ratio) == ("baseline, so far", "1.03x, better")
    assert shown.ratio_caption == "no verdict yet · weekly"
    model.fold(RunEnded("run-1", State.FAILED), 99.0)
    over = headline(model, PLACE, [BAND])
    assert (over.ratio_title, over.ratio_caption) == ("baseline", MESSAGES["2_against_8_trials_no"])


def test_equal_trials_have_no_interval_of_rounding_errors() -> None:
    events = [event for n in range(1, 8) for event in (begin(n, n), end(41_000.1, n))]
    shown = headline(folded(events), PLACE, [])
    assert (shown.text, shown.caption) == ("41.0k IOPS", MESSAGES["equal_in_every_trial"])


def test_one_trial_has_no_spread_and_a_failed_one_says_why() -> None:
    assert headline(folded([begin(), end(41_000.0)]), PLACE, []).caption == MESSAGES["one_trial_no_interval"]
    kept = folded([begin(), sample(41_000.0, 1.0), end(None, 1, State.PARTIAL, "Stopped by you.")])
    assert headline(kept, PLACE, []).caption == MESSAGES["median_of_1_sample_the_trial"]
    failed = folded([begin(), end(None, 1, State.FAILED, "fio on web-1: no space (exit status 1).")])
    shown = headline(failed, PLACE, [])
    assert (shown.text, shown.caption) == (NO_FIGURE, MESSAGES["fio_on_web_1_no_space_exit"])


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "remaining time not known"),
        (80.0, "about 1 min 20 s left"),
        (83.0, "about 1 min 25 s left"),
        (7.4, "about 7 s left"),
        (0.2, "about to end"),
        (-12.0, "about to end"),
        (-32.0, "32 s longer than expected"),
    ],
)
def test_the_time_left_is_told_as_far_as_it_is_known(seconds: float | None, text: str) -> None:
    assert remaining_text(seconds) == text


def test_the_bar_tells_host_step_trial_and_time() -> None:
    model = folded([begin(2, 2)])
    assert summary_text(model, 41.0) == MESSAGES["web_1_disk_trial_2_of_3_00"]
    model.fold(Progress(1, 6, 100.0), 30.0)
    assert summary_text(model, 41.0) == "web-1 · disk · trial 2 of 3 · 00:41 of 02:10"
    assert summary_text(model, 200.0) == "web-1 · disk · trial 2 of 3 · 03:20"
    model.stopping()
    assert summary_text(model, 41.0) == "web-1 · disk · stopping"
    starting = folded([Activity("connecting to web-1")])
    assert summary_text(starting, 1.0) == MESSAGES["connecting_to_web_1_00_01"]


def test_states_and_places_are_told_in_words() -> None:
    model = folded([Activity("measuring disk on web-1"), begin(1, warm_up=True)])
    assert state_text(model, 1.0) == "measuring disk on web-1"
    assert trial_text(model, model.trials[1]) == "warm-up 1 of 0"
    assert step_host_text(model, PLACE) == "web-1  ›  disk"
    model.facts["web-1"] = Facts(host="web-1", read_at="", cloud=CloudFacts(instance_type="c7i.2xlarge"))
    assert step_host_text(model, PLACE) == "web-1 · c7i.2xlarge  ›  disk"
    model.stopping()
    assert state_text(model, 1.0) == "stopping: ending the process group on web-1"


def test_between_trials_the_number_stays() -> None:
    model = folded([begin(2, 2), end(1.0, 2), Activity("preparing disk on web-1")])
    assert under_way_text(model, model.under_way(PLACE)) == MESSAGES["before_the_next_trial"]
    model.fold(Activity("measuring disk on web-1", "web-1", measures=True), 42.0)
    assert summary_text(model, 43.0) == MESSAGES["between_two_trials"]
    model.fold(begin(3, 3), 44.0)
    assert under_way_text(model, model.under_way(PLACE)) == "trial 3 of 3"


def test_how_far_a_place_is() -> None:
    model = folded([begin(1), end(1.0, 1), begin(2, 2)])
    assert step_progress(model, PLACE) == "1/3"
    model.fold(end(None, 2, State.FAILED), 9.0)
    assert step_progress(model, PLACE) == "failed"


def test_where_the_number_of_trials_depends_on_them_none_is_promised() -> None:
    until = replace(plan(), repetition=Repetition(policy=Policy.UNTIL_INTERVAL, cap=30))
    model = folded([begin(4, 4), end(1.0, 4), RunEnded("run-1", State.PARTIAL, "Stopped by you.")], until)
    assert trial_text(model, model.trials[4]) == "trial 4, at most 30"
    assert step_progress(model, PLACE) == "1 done"
    assert outcome(model)[1] == MESSAGES["ended_early_on_web_1_1_trial"]
    budget = folded([begin(4, 4)], replace(plan(), repetition=Repetition(policy=Policy.BUDGET)))
    assert trial_text(budget, budget.trials[4]) == "trial 4"


def test_a_stopwatch() -> None:
    assert (clock_text(41), clock_text(3723), clock_text(-1)) == ("00:41", "1:02:03", "00:00")


def test_the_verdict_panel_shows_what_sampled_the_host(qtbot: QtBot) -> None:
    panel = VerdictPanel()
    qtbot.addWidget(panel)
    ended = RunEnded(
        "run-1", State.DONE, "", {"web-1": 0.021, "web-2": 0.0007}, telemetry_program={"web-1": "script", "web-2": SUM}
    )
    for host, shown in (
        ("web-1", "Telemetry: shell script, 2.1 % of one core."),
        ("web-2", "Telemetry: shipped program, 0.07 % of one core."),
        ("web-3", ""),
    ):
        panel.show_step(folded([ended]), ("disk", host))
        assert panel.host.text() == shown


def test_the_verdict_panel_shows_the_notes_of_the_trials_that_count(qtbot: QtBot) -> None:
    panel = VerdictPanel()
    qtbot.addWidget(panel)

    def noted(number: int, *notes: str, state: State = State.DONE) -> list[Event]:
        return [begin(number, number), TrialEnded(number, state, 0, ParsedTrial(notes=notes), "")]

    events = [*noted(1, "TCP: bbr", "Grade A: +8.2 ms"), *noted(2, "TCP: bbr", "Grade A: +9.1 ms")]
    panel.show_step(folded([*events, *noted(3, "cut off", state=State.PARTIAL)]), PLACE)
    assert panel.notes.text() == MESSAGES["tcp_bbr_grade"]
    panel.show_step(folded([]), PLACE)
    assert panel.notes.isHidden()


def test_commands_are_quoted_for_a_shell_and_the_peers_are_marked() -> None:
    commands = (Command(("iperf3", "-s", "a b"), on_peer=True), Command(("iperf3", "-c", "$(reboot)")))
    assert command_text(commands) == MESSAGES["iperf3_s_a_b_on_the_peer"]


def test_a_host_in_a_few_lines_leaves_out_what_is_absent() -> None:
    facts = Facts(
        host="web-1", read_at="",
        system=SystemFacts(distribution="Debian 12", kernel="6.1"),
        cpu=CpuFacts(model="EPYC", threads=8), memory=MemoryFacts(total=16 * 2**30, swap_total=0),
    )  # fmt: skip
    assert facts_text(facts) == "8 vCPU · EPYC\n16 GiB memory\nDebian 12 · 6.1"
    assert facts_text(Facts(host="x", read_at="", cpu=CpuFacts(model=Absent("no /proc")))) == ""


def test_the_outcome_of_a_preset_has_its_advice() -> None:
    plan_of_preset = filled_preset("path-quality", ["web-1"], {"target": "192.0.2.1"}).plan
    ended = folded([RunEnded("run-1", State.DONE)], plan_of_preset)
    assert outcome(ended)[2].endswith(preset("path-quality").after)
    other = replace(plan_of_preset, steps=plan().steps)
    assert outcome(folded([RunEnded("run-1", State.DONE)], other))[2] == MESSAGES["everything_is_in_the_library"]


def test_a_tail_that_is_the_headline_is_shown_once() -> None:
    synced = replace(
        plan(), steps=(make_step("fio", {"rw": "write", "fdatasync": 1, "ioengine": "sync"}, name="disk"),)
    )
    metric = synced.steps[0].headline
    assert metric.percentile == 99
    begun = folded([begin(), sample(6e6, 1.0, metric=metric)], synced)
    done = folded([begin(), TrialEnded(1, State.DONE, 0, ParsedTrial((Figure(metric, 6e6, READ),)), "")], synced)
    for model in (begun, done):
        shown = headline(model, PLACE, ())
        assert (shown.text, shown.tail) == ("6.00 ms", "")


def test_whether_the_goal_is_met_is_in_the_outcome_and_the_verdict(qtbot: QtBot) -> None:
    met = replace(FINDING, id=GOAL_MET.id, measured=MESSAGES["goal_met"])
    verdict = Verdict(Trust.VALID, Limiter.DEVICE, "Valid.", (met,), "disk", "web-1")
    model = folded(
        [VerdictReached(verdict), VerdictReached(replace(verdict, step=None)), RunEnded("run-1", State.DONE)]
    )
    assert outcome(model)[2].startswith(f"{met.measured} ")
    panel = VerdictPanel()
    qtbot.addWidget(panel)
    panel.show_step(model, PLACE)
    assert panel.verdict.summary.text() == f"{met.measured}\nValid."


def test_the_outcome_says_what_happened_what_is_kept_and_what_to_do() -> None:
    done = folded([begin(1), end(1.0, 1), RunEnded("run-1", State.DONE)], plan(trials=1))
    assert outcome(done) == ("good", MESSAGES["finished_on_web_1_1_trial"], MESSAGES["everything_is_in_the_library"])
    stopped = folded([begin(1), end(1.0, 1), RunEnded("run-1", State.PARTIAL, "Stopped by you.")])
    level, message, detail = outcome(stopped)
    assert (level, message) == ("warning", MESSAGES["ended_early_on_web_1_1_of_6"])
    assert detail.startswith(MESSAGES["stopped_by_you_finished"])
    ended = RunEnded("run-1", State.PARTIAL, " ".join(STOPPED_AND_LOST), {}, STOPPED_AND_LOST)
    none = folded([begin(1), end(None, 1, State.PARTIAL), ended])
    assert outcome(none)[2] == f"Stopped by you. No trial counts; the data received is in the library. {MAY_RUN}"
    failed = folded([begin(1), end(None, 1, State.FAILED), RunEnded("run-1", State.FAILED, "fio: no space.")])
    level, message, detail = outcome(failed)
    assert (level, message) == ("error", MESSAGES["failed_on_web_1_0_of_6"])
    assert (
        detail == "fio: no space. No trial counts; the data received is in the library. Remove the cause and run again."
    )
    unreached = TrialStarted(replace(trial(), clock=None), None)
    never = folded([unreached, end(None, 1, State.FAILED), RunEnded("run-1", State.FAILED, "Failed.")])
    assert outcome(never)[2] == MESSAGES["no_trial_began"]
    never = RunModel(plan())
    never.fail("The store is full. Free some space.", 1.0)
    assert outcome(never)[2].endswith(MESSAGES["nothing_was_measured_so"])


def test_a_published_figure_gives_a_ratio_and_never_says_better() -> None:
    table = replace(BAND, low=30_000.0, median=30_000.0, high=30_000.0, reference=True, note="too old")
    shown = headline(running(*[40_000.0] * 4), PLACE, [table])
    assert (shown.ratio_title, shown.ratio, shown.ratio_caption) == ("reference, so far", "1.33x", "weekly (too old)")


def test_a_baseline_of_another_universe_says_so_beside_the_ratio() -> None:
    other = replace(BAND, note="other environment: kernel 4.1.10")
    assert headline(running(*[50_000.0] * 4), PLACE, [other]).ratio_caption == f"no verdict yet · weekly ({other.note})"


def test_the_time_left_and_the_state_of_a_lost_host_are_not_cut_at_900_pixels(qtbot: QtBot) -> None:
    """The live page is some 470 pixels wide then, beside the rail and the findings."""
    bar = HeadlineBar()
    qtbot.addWidget(bar)
    bar.resize(470, bar.sizeHint().height())
    bar.show()
    bar.show_headline(headline(running(41_000, 41_200, 41_400, 41_600, 41_800), PLACE, [BAND]))
    bar.show_time("00:12", remaining_text(75.0))
    QApplication.processEvents()
    assert bar.time.note.text() == "about 1 min 15 s left"
    assert bar.time.note.fits()
    assert bar.time.value.fits()
    assert bar.figure.value.fits()
    bar.show_time("1:00:12", remaining_text(3725.0))
    QApplication.processEvents()
    assert bar.time.note.fits()
    state = OneLine(text_font(TextSize.BODY))
    qtbot.addWidget(state)
    state.resize(405, 20)
    for kind in (LinkState.LOST, LinkState.RECONNECTING):
        state.set_text(state_text(folded([begin(), LinkChanged("web-1", kind, 10.0, 3)]), 22.0))
        assert state.fits()


def test_a_line_that_is_cut_has_a_tool_tip_with_the_whole(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(QToolTip, "showText", lambda _where, text, _widget: shown.append(text))
    line = OneLine(text_font(TextSize.BODY))
    qtbot.addWidget(line)
    line.set_text("a text that is far too long for its place")
    line.resize(60, 20)
    line.show()
    assert not line.fits()
    where = QPoint(5, 5)
    QApplication.sendEvent(line, QHelpEvent(QEvent.Type.ToolTip, where, line.mapToGlobal(where)))
    assert line.text() in shown[0]
    line.resize(600, 20)
    assert line.fits()

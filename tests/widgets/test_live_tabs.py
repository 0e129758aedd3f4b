"""The tabs of a run's places: how far each is, and which hosts are measured no more."""

from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.events import LinkChanged, LinkState, TrialStarted
from app.plans.plan import Order, Plan, make_step
from suites.sysbench.cpu import EVENTS_PER_SECOND
from tests.widgets.live_events import PLACE, begin, end, folded, plan, sample, trial
from widgets.live.headline import headline
from widgets.live.messages import step_progress
from widgets.live.step_view import StepTabs


@pytest.mark.parametrize(
    ("state", "shown"), [(LinkState.NOT_REACHED, "not reached"), (LinkState.GIVEN_UP, "lost")], ids=str
)
def test_the_tab_of_a_host_says_that_it_is_measured_no_more(qtbot: QtBot, state: LinkState, shown: str) -> None:
    away = LinkChanged("web-9", state, 10.0, 0, "it <b>did not</b> answer")
    model = folded([begin(), away], plan(hosts=("web-1", "web-9")))
    assert [step_progress(model, ("disk", host)) for host in model.plan.hosts] == ["0/3", shown]
    strip = StepTabs()
    qtbot.addWidget(strip)
    strip.show_step_keys(model)
    index = model.step_keys().index(("disk", "web-9"))
    assert strip.tabText(index).endswith(shown)
    assert "&lt;b&gt;did not" in strip.tabToolTip(index)


def test_many_steps_scroll_and_keep_their_names(qtbot: QtBot) -> None:
    long = "fio randread on the second volume of the host, depth"
    steps = tuple(make_step("fio", {}, name=f"{long} {2**number}") for number in range(12))
    strip = StepTabs()
    qtbot.addWidget(strip)
    strip.show_step_keys(folded([], Plan("depths", ("web-1",), steps)))
    strip.resize(500, strip.sizeHint().height())
    with qtbot.waitExposed(strip):
        strip.show()
    assert len({strip.tabText(index) for index in range(strip.count())}) == len(steps), "the end tells them apart"
    needed = [strip.fontMetrics().horizontalAdvance(strip.tabText(index)) for index in range(strip.count())]
    assert all(strip.tabRect(index).width() >= needed[index] for index in range(strip.count()))
    assert strip.minimumSizeHint().width() < 300, "the bar never widens the window"


def test_the_figure_of_a_duet_weighs_both_halves_alike() -> None:
    events = [
        event
        for number, value in ((1, 120.0), (2, 80.0), (3, 120.0))
        for event in (begin(number, number), end(value, number))
    ]
    model = folded(events, replace(plan(), order=Order.DUET))
    assert headline(model, PLACE, ()).text.startswith("98")
    assert headline(folded(events), PLACE, ()).text.startswith("105")


def test_both_sides_of_a_duet_show_their_figure_at_once(qtbot: QtBot) -> None:
    events = [
        begin(1),
        TrialStarted(trial(2, step="cpu"), 10.0),
        sample(41_000.0, 1.0, 1),
        sample(268.0, 1.0, 2, metric=EVENTS_PER_SECOND, labelled=()),
    ]
    strip = StepTabs()
    qtbot.addWidget(strip)
    model = folded(events, replace(plan(), order=Order.DUET))
    strip.show_step_keys(model)
    assert [strip.tabText(index) for index in range(2)] == ["disk   0/3 · 41.0k IOPS", "cpu   0/3 · 268/s"]
    assert all(model.is_under_way(step_key) for step_key in model.step_keys())
    strip.show_step_keys(folded(events))
    assert [strip.tabText(index) for index in range(2)] == ["disk   0/3", "cpu   0/3"]

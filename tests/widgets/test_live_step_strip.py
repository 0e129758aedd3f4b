"""The list of steps and hosts of a run: the headline of each at all times, and which hosts are measured no more."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.events import LinkChanged, LinkState, TrialStarted
from app.plans.plan import Order, make_step
from suites.sysbench.cpu import EVENTS_PER_SECOND
from tests.widgets.live_events import PLACE, begin, end, folded, plan, sample, trial
from widgets.live.headline import headline
from widgets.live.messages import step_progress
from widgets.live.step_strip import LEAST_ROWS, StepStrip


def rows(strip: StepStrip) -> list[list[str]]:
    return strip.content.texts()[1:]


@pytest.mark.parametrize(
    ("state", "shown"), [(LinkState.NOT_REACHED, "not reached"), (LinkState.GIVEN_UP, "lost")], ids=str
)
def test_the_row_of_a_host_says_that_it_is_measured_no_more(qtbot: QtBot, state: LinkState, shown: str) -> None:
    away = LinkChanged("web-9", state, 10.0, 0, "it <b>did not</b> answer")
    model = folded([begin(), away], plan(hosts=("web-1", "web-9")))
    assert [step_progress(model, ("disk", host)) for host in model.plan.hosts] == ["0/3", shown]
    strip = StepStrip()
    qtbot.addWidget(strip)
    strip.show_step_keys(model)
    index = model.step_keys().index(("disk", "web-9"))
    assert rows(strip)[index][4] == shown
    assert "&lt;b&gt;did not" in strip.content.at(index, "State").data(Qt.ItemDataRole.ToolTipRole)


def test_every_step_and_host_has_its_headline_and_many_scroll(qtbot: QtBot) -> None:
    steps = tuple(make_step("fio", {}, name=f"depth {2**number}") for number in range(6))
    events = [
        begin(1), end(40_000.0, 1), begin(2, 2), end(42_000.0, 2), begin(3, 3), sample(9.0, 1.0, 3),
    ]  # fmt: skip
    named = replace(plan(hosts=("web-1", "web-2")), steps=(replace(steps[0], name="disk"), *steps[1:]))
    strip = StepStrip()
    qtbot.addWidget(strip)
    strip.show_step_keys(folded(events, named))
    assert rows(strip)[0][:3] == ["disk", "web-1", "41.0k IOPS ×/÷ 1.36   n=2"]
    assert rows(strip)[0][4] == "2/3"
    assert rows(strip)[0][5].startswith("trial 3: 9.00 IOPS")
    assert rows(strip)[1][1:5] == ["web-2", "no figure", "", "0/3"]
    assert len(rows(strip)) == 12
    assert strip.height() <= (LEAST_ROWS + 1) * strip.rowHeight(0)
    model = folded(events, named)
    strip.show_step_key(model.step_keys()[11])
    strip.show_step_keys(model)
    assert strip.viewport().rect().contains(strip.visualRect(strip.currentIndex())), "the step in front is in view"
    strip.show_step_keys(folded(events, replace(named, hosts=("web-1",), steps=named.steps[:1])))
    assert strip.isHidden(), "a single step has the headline bar"


def test_choosing_a_row_shows_its_step_and_news_do_not(qtbot: QtBot) -> None:
    strip = StepStrip()
    qtbot.addWidget(strip)
    model = folded([begin(1)])
    strip.show_step_keys(model)
    strip.show_step_key(PLACE)
    with qtbot.assertNotEmitted(strip.step_chosen):
        model.fold(sample(41_000.0, 1.0), 5.0)
        strip.show_step_keys(model)
    with qtbot.waitSignal(strip.step_chosen) as chosen:
        qtbot.keyClick(strip, Qt.Key.Key_Down)
    assert chosen.args == [("cpu", "web-1")]


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
    strip = StepStrip()
    qtbot.addWidget(strip)
    model = folded(events, replace(plan(), order=Order.DUET))
    strip.show_step_keys(model)
    assert [row[2].partition(" ")[0] for row in rows(strip)] == ["41.0k", "268/s"]
    assert all(model.is_under_way(step_key) for step_key in model.step_keys())

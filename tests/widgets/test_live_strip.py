"""The tabs of a run's places: how far each is, and which hosts are measured no more."""

import pytest
from pytestqt.qtbot import QtBot

from app.events import LinkChanged
from app.hosts.link_words import LinkState
from tests.widgets.live_events import begin, folded, plan
from widgets.live.place_strip import PlaceStrip
from widgets.live.words import place_progress


@pytest.mark.parametrize(
    ("state", "said"), [(LinkState.NOT_REACHED, "not reached"), (LinkState.GIVEN_UP, "lost")], ids=str
)
def test_the_tab_of_a_host_says_that_it_is_measured_no_more(qtbot: QtBot, state: LinkState, said: str) -> None:
    away = LinkChanged("web-9", state, 10.0, 0, "it <b>did not</b> answer")
    model = folded([begin(), away], plan(hosts=("web-1", "web-9")))
    assert [place_progress(model, ("disk", host)) for host in model.plan.hosts] == ["0/3", said]
    strip = PlaceStrip()
    qtbot.addWidget(strip)
    strip.show_places(model)
    index = model.places().index(("disk", "web-9"))
    assert strip.tabText(index).endswith(said)
    assert "&lt;b&gt;did not" in strip.tabToolTip(index)

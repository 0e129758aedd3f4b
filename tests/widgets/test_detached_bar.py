"""The bar of a detached run: what has ended, and an age that goes on."""

from datetime import UTC, datetime, timedelta

from pytestqt.qtbot import QtBot

from app.detached_runs import DetachedRun
from app.services import Workstation
from suites.fio.metrics import IOPS
from tests.app.run_events import run_record
from tests.messages import messages
from widgets.hosts.host_bars import DetachedBar

MESSAGES = messages("widgets-hosts", "test_detached_bar")


def test_the_age_goes_on_and_a_run_without_a_rest_promises_none(qtbot: QtBot, workstation: Workstation) -> None:
    bar = DetachedBar(workstation)
    qtbot.addWidget(bar)
    since = datetime.now(UTC) - timedelta(seconds=20)
    left = DetachedRun(run_record("run-1", (41_000.0,), metric=IOPS), since.isoformat(), by_choice=True)
    bar.show_detached([left])
    before = bar.message.text()
    assert before.endswith(" s ago.")
    assert bar.detail.text().endswith(MESSAGES["none_running"])
    qtbot.waitUntil(lambda: bar.message.text() != before)
    assert bar.message.text().endswith(" s ago.")

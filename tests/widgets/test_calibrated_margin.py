"""On hosts that are calibrated the margin of a comparison is theirs, and says so, until the user sets one."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.questions import RefusingAsker
from app.services import Workstation
from tests.app.test_calibration import calibration
from tests.messages import messages
from tests.widgets.library_runs import copied_library
from widgets import jobs
from widgets.compare.compare_page import ComparePage

MESSAGES = messages("widgets", "test_calibrated_margin")

pytestmark = pytest.mark.usefixtures("idle")

RUNS = ("20260112-081502-a1b2", "20260113-141230-e5f6")


def test_the_margin_is_the_hosts_own_until_the_user_sets_one(
    qtbot: QtBot, keep: Callable[[QWidget], QWidget], workstation: Workstation
) -> None:
    copied_library(workstation)
    own = replace(calibration("web-1", margin=0.08), made="2026-01-12T07:00:00+00:00", fingerprint={})
    workstation._store.keep_calibration(own)
    page = ComparePage(workstation, RefusingAsker())
    keep(page)
    keep(page.explanation)
    page.compare(RUNS)
    qtbot.waitUntil(lambda: page.compared is not None and not jobs.running())
    assert page.margin.value() == 8
    assert page._meaning.text() == MESSAGES["this_hosts_own_of_12_jan"]
    assert page.compared is not None
    assert page.compared.comparison.origins == (MESSAGES["8_this_hosts_own_of_12_jan"],)
    page.margin.setValue(2)
    assert page._meaning.text() == MESSAGES["smaller_differences_do_not"]
    qtbot.waitUntil(lambda: page.compared is not None and page.compared.comparison.margin == 0.02)
    assert not page.compared.comparison.origins
    qtbot.waitUntil(lambda: not jobs.running())

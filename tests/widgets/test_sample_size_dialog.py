"""The sample size window: designs while typing, in the background, and the plan that it makes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QScrollArea
from pytestqt.qtbot import QtBot

from app.comparison.comparison import CompareError
from app.plans.plan import Plan
from app.questions import RefusingAsker
from app.sample_size.pilot import Pilot, PilotQuery
from app.services import Workstation
from tests.app.test_duet_comparison import NOISE, duet_run, stored_duet
from tests.app.test_sample_size import library_of_pilot, names
from tests.messages import messages
from widgets import jobs
from widgets.compare.compare_page import ComparePage
from widgets.compare.sample_size_dialog import SampleSizeDialog, show_sample_size
from widgets.library.library_page import LibraryPage

MESSAGES = messages("widgets-compare", "test_sample_size_dialog")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library_of_pilot(tmp_path_factory.mktemp("library"))


@pytest.fixture
def workstation(library: Path, tmp_path: Path) -> Workstation:
    return Workstation(library, tmp_path / "hosts.toml")


def opened(qtbot: QtBot, workstation: Workstation, runs: int = 9) -> SampleSizeDialog:
    dialog = SampleSizeDialog(workstation, [names(runs)])
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: dialog.found is not None)
    return dialog


def wait_for(qtbot: QtBot, dialog: SampleSizeDialog, wanted: float) -> None:
    qtbot.waitUntil(lambda: dialog.found is not None and dialog.found.request.wanted == pytest.approx(wanted))


def test_designs_follow_the_fields(qtbot: QtBot, workstation: Workstation) -> None:
    dialog = opened(qtbot, workstation)
    assert not dialog.isModal()
    assert dialog.form.wanted.value() == 5
    assert [row[1] for row in dialog.components.content.texts()[1:]] == ["3", "9", "54"]
    dialog.form.price.setText("0.5 USD")
    dialog.form.wanted.setValue(15)
    wait_for(qtbot, dialog, 0.15)
    assert dialog.found is not None
    head, *rows = dialog.table.content.texts()
    assert head[-1] == "Cost"
    assert rows[0][0] == dialog.found.designs[0].design.text
    assert rows[0][-1].endswith(" USD")
    assert dialog.heading.text().startswith(f"{dialog.found.designs[0].design.hosts} hosts")
    assert dialog.chart.chart is not None


def test_the_selected_design_becomes_a_plan(qtbot: QtBot, workstation: Workstation) -> None:
    dialog = opened(qtbot, workstation)
    dialog.form.wanted.setValue(15)
    wait_for(qtbot, dialog, 0.15)
    assert dialog.found is not None
    last = len(dialog.found.designs) - 1
    assert last > 0
    dialog.table.selectRow(last)
    with qtbot.waitSignal(dialog.plan_chosen) as chosen:
        dialog.plan_button.click()
    (plan,) = chosen.args or [None]
    assert isinstance(plan, Plan)
    design = dialog.found.designs[last].design
    assert (plan.repetition.sessions, plan.repetition.trials) == (design.sessions, design.trials)
    assert [step.name for step in plan.steps] == ["random read"]
    assert f"Add {design.hosts - len(plan.hosts)} host" in dialog.notice.text()


def test_another_metric_has_its_own_margin(qtbot: QtBot, workstation: Workstation) -> None:
    dialog = opened(qtbot, workstation)
    dialog.form.metric_box.setCurrentIndex(1)
    wait_for(qtbot, dialog, 0.10)
    assert dialog.pilot is not None
    assert dialog.pilot.metric.name == "latency_p99"
    assert dialog.form.metric_box.currentIndex() == 1


def test_a_wrong_price_is_shown_and_can_be_corrected(qtbot: QtBot, workstation: Workstation) -> None:
    dialog = opened(qtbot, workstation)
    dialog.form.price.setText("cheap")
    qtbot.waitUntil(dialog.notice.isVisible)
    assert not dialog.plan_button.isEnabled()
    dialog.form.price.setText("1")
    qtbot.waitUntil(lambda: not dialog.notice.isVisible())


def test_limits_without_a_design_show_no_table(qtbot: QtBot, workstation: Workstation) -> None:
    dialog = opened(qtbot, workstation)
    dialog.form.wanted.setValue(0.01)
    wait_for(qtbot, dialog, 0.0001)
    assert not dialog.table.isVisible()
    assert not dialog.plan_button.isEnabled()
    dialog.choose_plan()


def test_runs_without_noise_say_so(qtbot: QtBot, workstation: Workstation, monkeypatch: pytest.MonkeyPatch) -> None:
    pilot = workstation.sample_pilot([names()], PilotQuery())

    def still(_runs: object, _query: object) -> Pilot:
        return replace(pilot, components=tuple(replace(one, variance=0.0) for one in pilot.components))

    monkeypatch.setattr(workstation, "sample_pilot", still)
    dialog = opened(qtbot, workstation)
    assert dialog.found is not None
    assert dialog.found.designs[0].detectable == 0.0
    assert MESSAGES["no_variance"] in dialog.lines.text()
    dialog.grab()


def test_another_metric_can_be_chosen_where_the_headline_has_no_noise(
    qtbot: QtBot, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = workstation.sample_pilot

    def constant_headline(runs: Sequence[str], query: PilotQuery) -> Pilot:
        if not query.metric:
            raise CompareError(MESSAGES["constant"])
        return real(runs, query)

    monkeypatch.setattr(workstation, "sample_pilot", constant_headline)
    dialog = SampleSizeDialog(workstation, [names()])
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: MESSAGES["constant"] in dialog.notice.text())
    assert (dialog.form.metric_box.currentIndex(), dialog.form.metric_box.isEnabled()) == (-1, True)
    dialog.form.metric_box.setCurrentIndex(0)
    qtbot.waitUntil(lambda: dialog.found is not None)
    assert not dialog.notice.isVisible()


def test_runs_that_are_there_twice_have_no_plan(qtbot: QtBot, workstation: Workstation) -> None:
    dialog = SampleSizeDialog(workstation, [names(2), names(1)])
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(dialog.notice.isVisible)
    qtbot.waitUntil(lambda: MESSAGES["twice"] in dialog.notice.text())
    assert not dialog.plan_button.isEnabled()


def test_library_and_compare_open_it_and_hand_its_plan_on(qtbot: QtBot, workstation: Workstation) -> None:
    page = LibraryPage(workstation, RefusingAsker())
    qtbot.addWidget(page)
    page.show()
    page.refresh()
    qtbot.waitUntil(lambda: bool(page.table.content.rows))
    page.table.selectAll()
    page.actions_of_runs.sample_size.trigger()
    dialog = page.findChild(SampleSizeDialog)
    assert dialog is not None
    qtbot.waitUntil(lambda: dialog.found is not None)
    assert dialog.pilot is not None
    assert [one.n for one in dialog.pilot.components] == [54, 9, 3]
    dialog.form.wanted.setValue(20)
    wait_for(qtbot, dialog, 0.2)
    with qtbot.waitSignal(page.repeat_requested):
        dialog.choose_plan()


def test_an_undecided_comparison_offers_it(qtbot: QtBot, workstation: Workstation) -> None:
    page = ComparePage(workstation, RefusingAsker())
    qtbot.addWidget(page)
    page.show()
    first, second = names(2).split(",")
    page.compare([first, second])
    qtbot.waitUntil(lambda: page.compared is not None)
    page.tabs.setCurrentWidget(page.explanation)
    qtbot.waitUntil(page.explanation.size_button.isVisible)
    page.explanation.size_button.click()
    dialog = page.findChild(SampleSizeDialog)
    assert dialog is not None
    qtbot.waitUntil(lambda: dialog.found is not None)
    assert dialog.pilot is not None
    assert [one.freedom for one in dialog.pilot.components] == [10, 0, 0]  # two sides with a mean each
    dialog.form.wanted.setValue(50)
    wait_for(qtbot, dialog, 0.5)
    with qtbot.waitSignal(page.plan_chosen):
        dialog.choose_plan()


def test_a_missing_run_is_an_error(qtbot: QtBot, workstation: Workstation) -> None:
    dialog = show_sample_size(workstation, ["20200101-000000-none"], None)  # type: ignore[arg-type]
    qtbot.addWidget(dialog)
    qtbot.waitUntil(lambda: dialog.notice.isVisible() and dialog.notice.accessibleName() != "")
    assert dialog.found is None


def test_a_duet_has_only_the_message(qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "duet.sqlite3"
    stored_duet(path, duet_run("duet", NOISE, [1.1 * one for one in NOISE])).close()
    dialog = SampleSizeDialog(Workstation(path, tmp_path / "hosts.toml"), ["duet"])
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: "is a duet" in dialog.notice.text())
    assert [area for area in dialog.findChildren(QScrollArea) if area.isVisible()] == []
    assert not dialog.form.isVisible()
    assert not dialog.plan_button.isEnabled()
    assert dialog.height() < 250


def test_a_metric_without_a_pilot_keeps_no_results_of_another(
    qtbot: QtBot, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialog = opened(qtbot, workstation)
    areas = [area for area in dialog.findChildren(QScrollArea) if area.isVisible()]
    assert len(areas) == 1

    def refused(_runs: object, _query: object) -> Pilot:
        raise CompareError(MESSAGES["constant"])

    monkeypatch.setattr(workstation, "sample_pilot", refused)
    dialog.form.metric_box.setCurrentIndex(1)
    qtbot.waitUntil(lambda: MESSAGES["constant"] in dialog.notice.text())
    dialog.form.wanted.setValue(15)
    dialog.calculate()
    qtbot.waitUntil(lambda: not jobs.running())
    assert not areas[0].isVisible()
    assert dialog.form.isVisible()
    assert dialog.notice.isVisible()

"""The sample size of runs: designs while typing, in the background, and the plan that it makes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
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
from widgets.compare.sample_size_pane import SampleSizePane
from widgets.library.library_page import LibraryPage

MESSAGES = messages("widgets-compare", "test_sample_size_pane")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library_of_pilot(tmp_path_factory.mktemp("library"))


@pytest.fixture
def workstation(library: Path, tmp_path: Path) -> Workstation:
    return Workstation(library, tmp_path / "hosts.toml")


def shown(qtbot: QtBot, workstation: Workstation, *runs: str) -> SampleSizePane:
    pane = SampleSizePane(workstation)
    qtbot.addWidget(pane)
    pane.show_runs(runs)
    pane.show()
    return pane


def opened(qtbot: QtBot, workstation: Workstation) -> SampleSizePane:
    pane = shown(qtbot, workstation, names())
    qtbot.waitUntil(lambda: pane.found is not None)
    return pane


def wait_for(qtbot: QtBot, pane: SampleSizePane, wanted: float) -> None:
    qtbot.waitUntil(lambda: pane.found is not None and pane.found.request.wanted == pytest.approx(wanted))


def test_designs_follow_the_fields(qtbot: QtBot, workstation: Workstation) -> None:
    pane = opened(qtbot, workstation)
    assert pane.form.wanted.value() == 5
    assert [row[1] for row in pane.components.content.texts()[1:]] == ["3", "9", "54"]
    pane.form.price.setText("0.5 USD")
    pane.form.wanted.setValue(15)
    wait_for(qtbot, pane, 0.15)
    assert pane.found is not None
    head, *rows = pane.table.content.texts()
    assert head[-1] == "Cost"
    assert rows[0][0] == pane.found.designs[0].design.text
    assert rows[0][-1].endswith(" USD")
    assert pane.heading.text().startswith(f"{pane.found.designs[0].design.hosts} hosts")
    assert pane.chart.chart is not None


def test_the_selected_design_becomes_a_plan(qtbot: QtBot, workstation: Workstation) -> None:
    pane = opened(qtbot, workstation)
    pane.form.wanted.setValue(15)
    wait_for(qtbot, pane, 0.15)
    assert pane.found is not None
    last = len(pane.found.designs) - 1
    assert last > 0
    pane.table.selectRow(last)
    with qtbot.waitSignal(pane.plan_chosen) as chosen:
        pane.plan_button.click()
    (plan,) = chosen.args or [None]
    assert isinstance(plan, Plan)
    design = pane.found.designs[last].design
    assert (plan.repetition.sessions, plan.repetition.trials) == (design.sessions, design.trials)
    assert [step.name for step in plan.steps] == ["random read"]
    assert f"Add {design.hosts - len(plan.hosts)} host" in pane.notice.text()


def test_another_metric_has_its_own_margin(qtbot: QtBot, workstation: Workstation) -> None:
    pane = opened(qtbot, workstation)
    pane.form.metric_box.setCurrentIndex(1)
    wait_for(qtbot, pane, 0.10)
    assert pane.pilot is not None
    assert pane.pilot.metric.name == "latency_p99"
    assert pane.form.metric_box.currentIndex() == 1


def test_a_wrong_price_is_shown_and_can_be_corrected(qtbot: QtBot, workstation: Workstation) -> None:
    pane = opened(qtbot, workstation)
    pane.form.price.setText("cheap")
    qtbot.waitUntil(pane.notice.isVisible)
    assert not pane.plan_button.isEnabled()
    pane.form.price.setText("1")
    qtbot.waitUntil(lambda: not pane.notice.isVisible())


def test_limits_without_a_design_show_no_table(qtbot: QtBot, workstation: Workstation) -> None:
    pane = opened(qtbot, workstation)
    pane.form.wanted.setValue(0.01)
    wait_for(qtbot, pane, 0.0001)
    assert not pane.table.isVisible()
    assert not pane.plan_button.isEnabled()
    pane.choose_plan()


def test_runs_without_noise_say_so(qtbot: QtBot, workstation: Workstation, monkeypatch: pytest.MonkeyPatch) -> None:
    pilot = workstation.sample_pilot([names()], PilotQuery())

    def still(_runs: object, _query: object) -> Pilot:
        return replace(pilot, components=tuple(replace(one, variance=0.0) for one in pilot.components))

    monkeypatch.setattr(workstation, "sample_pilot", still)
    pane = opened(qtbot, workstation)
    assert pane.found is not None
    assert pane.found.designs[0].detectable == 0.0
    assert MESSAGES["no_variance"] in pane.lines.text()
    pane.grab()


def test_another_metric_can_be_chosen_where_the_headline_has_no_noise(
    qtbot: QtBot, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = workstation.sample_pilot

    def constant_headline(runs: Sequence[str], query: PilotQuery) -> Pilot:
        if not query.metric:
            raise CompareError(MESSAGES["constant"])
        return real(runs, query)

    monkeypatch.setattr(workstation, "sample_pilot", constant_headline)
    pane = shown(qtbot, workstation, names())
    qtbot.waitUntil(lambda: MESSAGES["constant"] in pane.notice.text())
    assert (pane.form.metric_box.currentIndex(), pane.form.metric_box.isEnabled()) == (-1, True)
    pane.form.metric_box.setCurrentIndex(0)
    qtbot.waitUntil(lambda: pane.found is not None)
    assert not pane.notice.isVisible()


def test_runs_that_are_there_twice_have_no_plan(qtbot: QtBot, workstation: Workstation) -> None:
    pane = shown(qtbot, workstation, names(2), names(1))
    qtbot.waitUntil(pane.notice.isVisible)
    qtbot.waitUntil(lambda: MESSAGES["twice"] in pane.notice.text())
    assert not pane.plan_button.isEnabled()


def test_library_and_compare_open_it_and_hand_its_plan_on(qtbot: QtBot, workstation: Workstation) -> None:
    page = LibraryPage(workstation, RefusingAsker())
    qtbot.addWidget(page)
    page.show()
    page.refresh()
    qtbot.waitUntil(lambda: bool(page.table.content.rows))
    page.table.selectAll()
    page.actions_of_runs.sample_size.trigger()
    pane = page.comparison.sample_size
    qtbot.waitUntil(lambda: pane.found is not None)
    assert pane.pilot is not None
    assert [one.n for one in pane.pilot.components] == [54, 9, 3]
    pane.form.wanted.setValue(20)
    wait_for(qtbot, pane, 0.2)
    with qtbot.waitSignal(page.repeat_requested):
        pane.choose_plan()


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
    pane = page.sample_size
    assert page.tabs.currentWidget() is pane
    qtbot.waitUntil(lambda: pane.found is not None)
    assert pane.pilot is not None
    assert [one.freedom for one in pane.pilot.components] == [10, 0, 0]  # two sides with a mean each
    pane.form.wanted.setValue(50)
    wait_for(qtbot, pane, 0.5)
    with qtbot.waitSignal(page.plan_chosen):
        pane.choose_plan()


def test_a_missing_run_is_an_error(qtbot: QtBot, workstation: Workstation) -> None:
    pane = shown(qtbot, workstation, "20200101-000000-none")
    qtbot.waitUntil(lambda: pane.notice.isVisible() and pane.notice.accessibleName() != "")
    assert pane.found is None


def test_a_run_without_noise_has_the_reason_at_its_tab(qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "duet.sqlite3"
    stored_duet(path, duet_run("duet", NOISE, [1.1 * one for one in NOISE])).close()
    page = LibraryPage(Workstation(path, tmp_path / "hosts.toml"), RefusingAsker())
    qtbot.addWidget(page)
    page.show()
    page.refresh()
    qtbot.waitUntil(lambda: page.panel.opened is not None)
    index = page.panel.tabs.indexOf(page.panel.sample_size)
    assert not page.panel.tabs.isTabEnabled(index)
    with qtbot.waitSignal(page.status) as reported:
        page.actions_of_runs.sample_size.trigger()
    assert reported.args == [page.panel.tabs.tabToolTip(index)]
    assert "duet" in page.panel.tabs.tabToolTip(index)


def test_a_metric_without_a_pilot_keeps_no_results_of_another(
    qtbot: QtBot, workstation: Workstation, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane = opened(qtbot, workstation)
    results = pane._results
    assert results.isVisible()

    def refused(_runs: object, _query: object) -> Pilot:
        raise CompareError(MESSAGES["constant"])

    monkeypatch.setattr(workstation, "sample_pilot", refused)
    pane.form.metric_box.setCurrentIndex(1)
    qtbot.waitUntil(lambda: MESSAGES["constant"] in pane.notice.text())
    pane.form.wanted.setValue(15)
    pane.calculate()
    qtbot.waitUntil(lambda: not jobs.running())
    assert not results.isVisible()
    assert pane.form.isVisible()
    assert pane.notice.isVisible()

"""A suite is one file and one line of the registry: it is then planned, run, drawn and told."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.cli.main import benchwright
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.questions import Refuse
from app.services import Workstation
from suites import registry
from tests.toy_suite import Toy
from tests.widgets.measure_stage import PATIENCE, made_page, settle, type_into, with_tests
from widgets.live.live_page import LivePage

Keep = Callable[[QWidget], QWidget]


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "SUITES", (*registry.SUITES, Toy()))


@pytest.mark.usefixtures("toy")
def test_the_wizard_offers_tunes_and_warns(qtbot: QtBot, tmp_path: Path) -> None:
    page = made_page(qtbot, tmp_path)
    with_tests(qtbot, page, "toy")
    page.forward()
    assert page.draft.steps[0].form.text("delay") == "5"
    assert page.parameters.row("delay").why.text() == "Five is a good age."
    type_into(qtbot, page.parameters.row("delay"), "1")
    settle(qtbot, page)
    assert page.panel.command.text().endswith(" toy 1")
    assert page.assessment is not None
    assert "toy-impatient" in [finding.id for finding in page.assessment.findings]


@pytest.mark.usefixtures("toy", "idle")
def test_a_run_is_drawn_and_kept(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    page = LivePage(workstation, Refuse())
    keep(page)
    plan = Plan("Toys", (LOCAL,), (make_step("toy", {"delay": 3}),), repetition=Repetition(trials=1))
    with qtbot.waitSignal(page.run_finished, timeout=PATIENCE):
        assert page.start_run(plan)
    assert page.view is not None
    lines = [line for plot in page.view.plots.plots.values() for key, line in plot.lines.items() if "toy" in str(key)]
    assert sorted(list(line.buffer.values()) for line in lines) == [[10, 12, 11], [20, 24, 22]]
    assert "Toy words per second" in page.view.bar.figure.caption.text()


def say(*words: str | Path) -> str:
    """Give Benchwright's command line `words`; return what it printed."""
    done = CliRunner().invoke(benchwright, [*map(str, words)])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.usefixtures("toy")
def test_the_command_line_does_the_same(tmp_path: Path) -> None:
    plan, store = tmp_path / "toys.toml", ("--store", tmp_path / "runs.sqlite3")
    say("plan", "new", "--suite", "toy", "--defaults", "--set", "delay=1", "--trials", "1", "-o", plan)
    assert "toy 1" in say("plan", "show", plan)
    say(*store, "run", plan)
    shown = json.loads(say(*store, "show", "last", "--json"))
    assert "toy-impatient" in [finding["id"] for finding in shown["findings"]]
    told = {(metric["name"], *metric["labels"].values()): metric["value"] for metric in shown["metrics"]}
    assert told == {("toy_words", "left"): 11, ("toy_words", "right"): 22, ("toy_delay",): 1}
    say(*store, "export", "last", "--csv", tmp_path / "figures.csv", "--png", tmp_path / "figures.png")
    assert "toy_words" in next(tmp_path.glob("*.csv")).read_text()
    assert (tmp_path / "figures.png").read_bytes().startswith(b"\x89PNG")

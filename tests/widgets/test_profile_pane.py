"""The pane of profiles: counters and flame graph of one run, the change between two, zoom, search and export."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.distributions.studies import StudyKind, missing_for
from app.events import OutputRead, RunEnded, RunStarted, State, TrialEnded
from app.services import Workstation
from suites.perf import COUNTERS, STACKS
from suites.vocab import Figure
from tests.app import run_events
from tests.app.test_profiles import PROFILED, profiled_trial
from tests.messages import messages
from widgets import jobs
from widgets.live.log_view import LogView
from widgets.plots.profile_pane import ProfilePane

MESSAGES = messages("widgets", "test_profile_pane")
DATA = Path(__file__).parents[1] / "data/perf/6.1"

Keep = Callable[[QWidget], QWidget]

SMALL, LARGE = "20261128-051500-aaaa", "20261128-052500-bbbb"


def stored(workstation: Workstation) -> None:
    """Write down two runs with a profile each."""
    for run, name, value in ((SMALL, "4k", 980.0), (LARGE, "64k", 940.0)):
        last = profiled_trial(3)
        plan = replace(run_events.plan(trials=2), repetition=PROFILED)
        with workstation._store.recorder(run) as recorder:
            recorder.record(RunStarted(run, plan, "2026-11-28T05:15:00+00:00"))
            for number in (1, 2):
                figures = [Figure(run_events.IOPS, 1000.0 + number, run_events.READ)]
                for event in run_events.trial_events(run_events.trial(number), figures):
                    recorder.record(event)
            profiled = Figure(run_events.IOPS, value, run_events.READ)
            for event in run_events.trial_events(last, [profiled]):
                if isinstance(event, TrialEnded):
                    recorder.record(OutputRead(3, COUNTERS, (DATA / "no_pmu.csv").read_bytes()))
                    recorder.record(OutputRead(3, STACKS, (DATA / f"fio_{name}.folded").read_bytes()))
                recorder.record(event)
            recorder.record(RunEnded(run, State.DONE, "", {}))


@pytest.fixture
def pane(qtbot: QtBot, keep: Keep, workstation: Workstation) -> Callable[..., ProfilePane]:
    stored(workstation)

    def shown(*runs: str) -> ProfilePane:
        made = ProfilePane(workstation)
        keep(made)
        made.resize(1000, 600)
        made.show_runs(runs)
        made.show()
        qtbot.waitUntil(lambda: not jobs.running())
        return made

    return shown


def test_what_both_profiles_lack_is_said_once(pane: Callable[..., ProfilePane]) -> None:
    lines = pane(SMALL, LARGE).counters.text().splitlines()
    assert len(lines) == len(set(lines))
    assert [line.partition(" ")[0] for line in lines if "Absent:" in line] == ["Absent:"]
    assert [line.partition(" ")[0] for line in lines if "Profiled:" in line] == ["Before.", "After."]


def test_counters_and_graph_of_a_run_are_shown(pane: Callable[..., ProfilePane]) -> None:
    shown = pane(SMALL)
    assert shown.notice.isHidden()
    assert MESSAGES["cost"] in shown.counters.text()
    assert "CPUs used" in shown.counters.text()
    assert shown.graph.frames[1].name == "fio"
    assert shown.graph.text_at(QPointF(5, 5)).startswith("all: 100")
    shown.graph.grab()


def test_a_click_zooms_and_the_root_or_home_shows_the_whole(pane: Callable[..., ProfilePane], qtbot: QtBot) -> None:
    graph = pane(SMALL).graph
    inner = next(frame for frame in graph.frames if frame.depth == 3 and frame.width > 0.02)
    place = graph.place(inner)
    qtbot.mouseClick(graph, Qt.MouseButton.LeftButton, pos=place.center().toPoint())
    assert graph.zoomed == inner
    assert graph.place(inner).width() == graph.width()
    assert graph.place(graph.frames[0]).width() == graph.width()
    qtbot.keyClick(graph, Qt.Key.Key_Home)
    assert graph.zoomed is None
    assert graph.place(inner) == place


def test_a_search_shows_the_share_of_what_it_finds(pane: Callable[..., ProfilePane]) -> None:
    shown = pane(SMALL)
    shown.searched.setText("FIO")
    assert shown.matched.text() == "100.0 % of the samples"
    shown.searched.setText("no such function")
    assert shown.matched.text() == "0.0 % of the samples"
    shown.graph.grab()


def test_two_runs_are_compared(pane: Callable[..., ProfilePane]) -> None:
    shown = pane(SMALL, LARGE)
    assert "compared with" in shown.heading.text()
    assert any(frame.change for frame in shown.graph.frames)
    assert pane(SMALL, LARGE, "20261128-053500-cccc").pairs == ()


def test_the_graph_and_the_stacks_are_exported(pane: Callable[..., ProfilePane], qtbot: QtBot, tmp_path: Path) -> None:
    shown = pane(SMALL)
    for name in ("profile.svg", "profile.txt"):
        shown.export_to(tmp_path / name)
        qtbot.waitUntil(lambda: not jobs.running())
    assert "<svg" in (tmp_path / "profile.svg").read_text()
    written = sorted((tmp_path / "profile.txt").read_text().splitlines())
    assert written == sorted((DATA / "fio_4k.folded").read_text().splitlines())
    shown.export_to(tmp_path / "profile.pdf")
    assert not (tmp_path / "profile.pdf").exists()


def test_runs_without_a_profile_say_what_is_needed() -> None:
    assert "profiled trial" in missing_for([run_events.run_record("a", (1000.0,))])[StudyKind.PROFILE]


def test_a_profile_does_not_flood_the_raw_output(keep: Keep) -> None:
    log = LogView()
    keep(log)
    log.write(b"main;read 1\n" * 10, STACKS)
    log.write(b"of the tool\n")
    log.grab()
    assert "main" not in log.toPlainText()

"""The verdict in the window: a mark and a word, beside every result, live and stored."""

from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.events import FactsRead, Moment, RunEnded, RunStarted, State, VerdictReached
from app.plans.plan import make_step
from app.services import Workstation
from suites.verdict import Limiter, Trust, Verdict
from suites.vocab import Severity
from tests.app import run_events
from tests.messages import messages
from tests.widgets.library_runs import DISK, copied_library
from widgets.compare.run_chips import RunChips
from widgets.library.run_reader import open_run
from widgets.live.messages import STORED, outcome
from widgets.live.model import RunModel
from widgets.live.run_issues import besides_limits
from widgets.live.verdict_panel import VerdictPanel
from widgets.parts.names import MARKS, mark_of
from widgets.parts.severity import VerdictView

MESSAGES = messages("widgets", "test_trust")

VALID, DOUBTFUL = "20260112-081502-a1b2", "20260114-112233-m3n4"
UNJUDGED = "20260114-090120-i9j0"

WHOLE = Verdict(Trust.DOUBTFUL, Limiter.UNKNOWN, "Doubtful: 1000 IOPS.", (run_events.FINDING,))


def model(*verdicts: Verdict) -> RunModel:
    """Return a run that has ended, and what was said of it."""
    made = RunModel(run_events.plan())
    made.fold(RunStarted("run", made.plan, "2026-01-01T00:00:00+00:00"), 0.0)
    for verdict in verdicts:
        made.fold(VerdictReached(verdict), 1.0)
    made.fold(RunEnded("run", State.DONE), 1.0)
    return made


def test_each_level_has_a_mark_of_its_own() -> None:
    assert len({mark_of(level.value) for level in Trust}) == len(Trust) == len(MARKS)
    assert mark_of("") == ""


def test_a_verdict_is_a_word_and_the_sentence_to_quote(qtbot: QtBot) -> None:
    view = VerdictView()
    qtbot.addWidget(view)
    assert view.isHidden()
    view.show_verdict(WHOLE)
    assert not view.isHidden()
    assert view.words.text() == MESSAGES["doubtful_limit_not_known"]
    assert view.summary.text() == "1000 IOPS."
    assert view.accessibleName() == "Verdict: Doubtful: 1000 IOPS."
    view.show_verdict(None)
    assert view.isHidden()


def test_the_evidence_of_the_limit_is_shown_once_with_the_verdict(qtbot: QtBot) -> None:
    step_key = (run_events.FINDING.step or "", run_events.FINDING.host or "")
    limit = replace(
        run_events.FINDING,
        id="limited-by",
        severity=Severity.INFO,
        measured="CPU: test 41 %.",
        remedy="Double iodepth.",
    )
    made = model(replace(WHOLE, findings=(limit,), step=step_key[0], host=step_key[1]))
    side = VerdictPanel()
    qtbot.addWidget(side)
    made.raised.append(limit)
    side.show_step(made, step_key)
    assert side.verdict.limit.text() == f"{limit.measured} {limit.remedy}"
    assert limit not in besides_limits(made)
    side.show_step(model(WHOLE), step_key)
    assert side.verdict.isHidden(), "no verdict on this step"


def test_a_long_verdict_is_shown_whole_in_a_small_window(qtbot: QtBot) -> None:
    step_key = (run_events.FINDING.step or "", run_events.FINDING.host or "")
    limit = replace(run_events.FINDING, id="limited-by", measured="CPU: test 41 %; disk vda 12 %. " * 60)
    side = VerdictPanel()
    qtbot.addWidget(side)
    side.resize(220, 560)
    side.show()
    side.show_step(model(replace(WHOLE, findings=(limit,), step=step_key[0], host=step_key[1])), step_key)
    text = side.verdict.limit
    qtbot.waitUntil(lambda: text.height() >= text.heightForWidth(text.width()) > side.height())


def test_the_outcome_has_its_severity_and_says_it() -> None:
    assert outcome(model(WHOLE)) == ("warning", MESSAGES["finished_on_web_1_0_trials"], WHOLE.summary)
    step_key = (run_events.STEP.name, "web-1")
    only = replace(WHOLE, step=step_key[0], host=step_key[1])
    assert outcome(model(only, WHOLE))[2] == STORED, "the badge of the only step has the verdict"
    assert outcome(model())[0] == "good"


@pytest.mark.parametrize(
    ("run", "words"), [(VALID, "Valid, limited by the device"), (DOUBTFUL, "Doubtful, limited by")]
)
def test_beside_a_stored_run_stands_the_verdict_on_the_place(
    qtbot: QtBot, workstation: Workstation, run: str, words: str
) -> None:
    copied_library(workstation)
    side = VerdictPanel()
    qtbot.addWidget(side)
    opened = open_run(workstation, run)
    side.show_step(opened.model, (DISK, "web-1"))
    assert side.verdict.words.text().startswith(words)
    assert not side.verdict.isHidden()


def test_each_side_of_a_comparison_has_its_word(qtbot: QtBot, workstation: Workstation) -> None:
    copied_library(workstation)
    runs = {run.id: run for run in workstation.runs()}
    chips = RunChips()
    qtbot.addWidget(chips)
    chips.show_runs([runs[VALID], runs[DOUBTFUL], runs[UNJUDGED]])
    assert [chip.trust.text() for chip in chips.chips] == ["valid", "doubtful", ""]
    assert [chip.trust.isHidden() for chip in chips.chips] == [False, False, True]


def test_the_peer_of_a_step_is_described_as_its_host_is(qtbot: QtBot) -> None:
    step = make_step("iperf3", {}, name="link", peer="web-2")
    made = RunModel(run_events.plan(step))
    for host in ("web-1", "web-2"):
        made.fold(FactsRead(host, Moment.BEFORE, run_events.facts(host)), 1.0)
    made.fold(RunEnded("run", State.DONE, "", {"web-1": 0.001, "web-2": 0.002}), 1.0)
    side = VerdictPanel()
    qtbot.addWidget(side)
    side.show_step(made, ("link", "web-1"))
    lines = side.host.text().splitlines()
    peer = lines.index("Peer: web-2")
    assert lines[: peer - 1] == lines[peer + 1 : -1], "the same facts in this test"
    assert ("0.1 %" in lines[peer - 1], "0.2 %" in lines[-1]) == (True, True)

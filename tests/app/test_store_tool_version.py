"""What an output says of its tool's version stands in the record; where it says nothing, the host's facts stand."""

from pathlib import Path

import pytest

from app.events import RunEnded, RunStarted, State, TrialEnded, TrialStarted
from app.store.store import Store
from suites.outputs import ParsedTrial
from tests.app import run_events

RUN = "20261120-141530-abcd"


@pytest.mark.parametrize(
    ("shown", "stored"), [(None, "fio-3.33"), ("1, gcc 12.2.0, -O3 -march=native", "1, gcc 12.2.0, -O3 -march=native")]
)
def test_the_outputs_word_counts(tmp_path: Path, shown: str | None, stored: str) -> None:
    store = Store(tmp_path / "runs.sqlite")
    with store.recorder(RUN) as recorder:
        recorder.record(RunStarted(RUN, run_events.plan(trials=1), "2026-11-20T14:15:30+00:00"))
        recorder.record(TrialStarted(run_events.trial(1), None))
        recorder.record(TrialEnded(1, State.DONE, 0, ParsedTrial(tool_version=shown)))
        recorder.record(RunEnded(RUN, State.DONE))
    assert store.load(RUN).trials[0].trial.tool_version == stored
    store.close()

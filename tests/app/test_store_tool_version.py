"""What an output says of its tool's version stands in the record; where it says nothing, the host's facts stand."""

from pathlib import Path

import pytest

from app.events import RunEnded, RunStarted, State, TrialEnded, TrialStarted
from app.store import Store
from suites.base import Parsed
from tests.app import recorded

RUN = "20261120-141530-abcd"


@pytest.mark.parametrize(
    ("said", "stored"), [(None, "fio-3.33"), ("1, gcc 12.2.0, -O3 -march=native", "1, gcc 12.2.0, -O3 -march=native")]
)
def test_the_outputs_word_counts(tmp_path: Path, said: str | None, stored: str) -> None:
    store = Store(tmp_path / "runs.sqlite")
    with store.recorder(RUN) as recorder:
        recorder.record(RunStarted(RUN, recorded.plan(trials=1), "2026-11-20T14:15:30+00:00"))
        recorder.record(TrialStarted(recorded.trial(1), None))
        recorder.record(TrialEnded(1, State.DONE, 0, Parsed(tool_version=said)))
        recorder.record(RunEnded(RUN, State.DONE))
    assert store.load(RUN).trials[0].trial.tool_version == stored
    store.close()

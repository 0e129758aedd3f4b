"""A process that records a run as fast as it can and says what was acknowledged: to be killed, or to run in pairs.

Usage: recording_process.py STORE RUN_ID COUNT. It records COUNT rounds (0: without end) of 50 samples and pieces of
output, and says "clock SECONDS" after each: when its last sample was taken. Every 400th round a finding is recorded;
"finding ROUND" is said once record() has returned.
"""

import itertools
import sys
import time
from dataclasses import replace

from app.events import FindingRaised, OutputRead, RunEnded, RunStarted, SampleRead, State, TrialStarted
from app.library_location import location_of
from app.store.store import Store
from suites.vocab import Sample
from tests.app import run_events

ROUNDS_PER_FINDING = 400


def show_message(words: str) -> None:
    """Tell the parent, at once."""
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def main(path: str, run_id: str, count: int) -> None:
    """Record `count` rounds."""
    with Store(location_of(path)).recorder(run_id) as recorder:
        recorder.record(RunStarted(run_id, run_events.plan(), "2026-11-20T14:15:30+00:00"))
        recorder.record(TrialStarted(run_events.trial(1), None))
        for number in range(count) if count else itertools.count():
            for index in range(50 * number, 50 * number + 50):
                clock = time.monotonic()
                recorder.record(SampleRead(1, Sample(clock, run_events.IOPS, float(index))))
                recorder.record(OutputRead(1, "stdout", b"%08d" % index))
            show_message(f"clock {clock}")
            if number % ROUNDS_PER_FINDING == 0:
                recorder.record(FindingRaised(replace(run_events.FINDING, id=str(number))))
                show_message(f"finding {number}")
        recorder.record(RunEnded(run_id, State.DONE))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

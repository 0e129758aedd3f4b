"""How long a comparison of two groups takes, from the store to the verdicts, and how that grows."""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.perf.outcome import Met, Outcome, mean
from tests.simulation.stored import store_of_groups

METRICS = 10
SAMPLES = 300
AIM = 1.0  # seconds for a hundred runs a side
REPEATS = 7


def run() -> list[Outcome]:
    """Return the seconds for 25, 50 and 100 runs a side, and how much twice as many take."""
    with tempfile.TemporaryDirectory() as folder:
        workstation, groups = store_of_groups(Path(folder), runs=100, metrics=METRICS, samples=SAMPLES)
        times = {}
        for runs in (25, 50, 100):
            words = [",".join(group[:runs]) for group in groups]
            workstation.compare(words)  # what is imported and read for the first time is not what is measured
            times[runs] = [_timed(partial(workstation.compare, words)) for _ in range(REPEATS)]
        workstation.close()
    lines = []
    for runs, found in times.items():
        value = mean(found)
        what = f"two groups of {runs} runs x {METRICS} metrics x {SAMPLES} samples compared, seconds"
        aim, met = (f"under {AIM:g}", value.under(AIM)) if runs == 100 else ("", Met.MET)
        lines.append(Outcome(what, f"{value.value:.2f}", f"{value.low:.2f} to {value.high:.2f}", aim, met))
    growth = min(times[100]) / min(times[50])
    met = Met.MET if growth < 2.4 else Met.MISSED
    lines.append(Outcome("twice as many runs take so many times as long", f"{growth:.2f}", "", "2 (linear)", met))
    return lines


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began

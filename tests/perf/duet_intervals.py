"""Interval widths of a duet and of an interleaved run beside them, under a load that comes and goes on every CPU.

As a program: ``python -m tests.perf.duet_intervals [TRIALS [SECONDS [LONGEST]]]``. It runs sysbench-cpu against itself.
"""

import contextlib
import math
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from app.comparison.comparison import RelativeFigure
from app.plans.plan import LOCAL, Order, Plan, Repetition, make_step
from app.questions import RefusingAsker
from app.runs.control import BusyPolicy, Control
from app.services import Workstation

SLICE, TAKEN = 0.01, 0.6
"""Seconds of a slice of the load, and its share that the load takes, as steal time does: with priority, if it may."""


def main(trials: int = 12, seconds: int = 4, longest: int = 6) -> None:
    """Print ratio, interval and relative width of both designs, and how many times narrower the duet's is."""
    with tempfile.TemporaryDirectory() as home:
        workstation = Workstation(Path(home, "runs.sqlite3"), Path(home, "hosts.toml"))
        with load(longest):
            found = {order: measured(workstation, order, trials, seconds) for order in (Order.DUET, Order.INTERLEAVED)}
        workstation.close()
    for order, figure in found.items():
        _show(f"{order:12} ratio {figure.ratio or math.nan:.4f}, {_ends(figure)}, width {width(figure):.2%}")
        _show(f"{'':12} {'' if figure.half is None else figure.half.text}")
    _show(f"duet: {width(found[Order.INTERLEAVED]) / width(found[Order.DUET]):.2f} times narrower")


def _show(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def measured(workstation: Workstation, order: Order, trials: int, seconds: int) -> RelativeFigure:
    """Return the headline of the second step relative to the first, which is the same."""
    steps = tuple(make_step("sysbench-cpu", {"time": seconds, "threads": 1}, name=name) for name in "ab")
    plan = Plan(str(order), (LOCAL,), steps, repetition=Repetition(trials=trials), order=order)
    for _ in workstation.run(plan, RefusingAsker(), Control(BusyPolicy.ANYWAY)):
        pass
    run = workstation.load("last").summary.id
    return workstation.compare([f"{run}:{name}" for name in "ab"]).rows[0].against[0]


def width(figure: RelativeFigure) -> float:
    """Return the width of the interval of the ratio, in logarithms."""
    return math.nan if figure.low is None or figure.high is None else math.log(figure.high / figure.low)


def _ends(figure: RelativeFigure) -> str:
    return f"95 % CI {figure.low or math.nan:.4f} to {figure.high or math.nan:.4f}"


@contextlib.contextmanager
def load(longest: float) -> Iterator[None]:
    """Load every CPU at the same moments, for up to `longest` seconds, with pauses as long."""
    workers = [
        multiprocessing.Process(target=_work, args=(cpu, longest), daemon=True)
        for cpu in sorted(os.sched_getaffinity(0))
    ]
    for worker in workers:
        worker.start()
    yield
    for worker in workers:
        worker.kill()


def _work(cpu: int, longest: float) -> None:
    os.sched_setaffinity(0, {cpu})
    with contextlib.suppress(PermissionError):
        os.nice(-15)
    moments = random.Random(1)  # the same moments on every CPU
    until = time.monotonic()
    while True:
        until += moments.uniform(0.5, longest)
        while time.monotonic() < until:
            slice_ends = time.monotonic() + TAKEN * SLICE
            while time.monotonic() < slice_ends:
                pass
            time.sleep((1 - TAKEN) * SLICE)
        pause = moments.uniform(0.5, longest)
        until += pause
        time.sleep(max(0.0, until - time.monotonic()))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

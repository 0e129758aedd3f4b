"""What watching costs a host: the processor time of everything on it that is neither the tool nor the rest of it."""

import os
import time
from itertools import pairwise
from pathlib import Path

from app.events import SampleRead
from app.plans.plan import Plan, Repetition, make_step
from app.questions import RefusingAsker
from app.runs.control import Control
from tests.perf.host import Lab, lab
from tests.perf.outcome import Outcome, mean
from tests.processes import processes_with

WINDOW = 8.0
WINDOWS = 6
AIM = 0.005
TOOL = "sysbench"
TICK = os.sysconf("SC_CLK_TCK")


def run() -> list[Outcome]:
    """Return the share of one core that telemetry and streaming took, at one sample a second each."""
    with lab(undisturbed=True) as host:
        shares = _shares(host)
    found = mean(shares)
    what = f"telemetry and streaming on the host at 1 Hz, share of one core, {WINDOWS} windows of {WINDOW:g} s"
    interval = f"{found.low:.2%} to {found.high:.2%}"
    return [Outcome(what, f"{found.value:.2%}", interval, f"under {AIM:.1%}", found.under(AIM))]


def _shares(host: Lab) -> list[float]:
    step = make_step("sysbench-cpu", {"time": WINDOW * WINDOWS + 12, "threads": 1})
    plan = Plan("watched", ("lab",), (step,), repetition=Repetition(trials=1))
    marks: list[tuple[float, float]] = []
    for event in host.workstation.run(plan, RefusingAsker(), Control()):
        if isinstance(event, SampleRead) and (not marks or time.monotonic() - marks[-1][0] >= WINDOW):
            marks.append((time.monotonic(), _used(host)))
    return [
        (used - used_before) / (now - before) for (before, used_before), (now, used) in pairwise(marks[: WINDOWS + 1])
    ]


def _used(host: Lab) -> float:
    """Return the processor seconds of the host's side so far, those of ended children among them."""
    watching = {*processes_with(f"HOME={host.host.home}"), *host.host.connections()}
    return sum(_processor_time(pid) for pid in watching)


def _processor_time(pid: int) -> float:
    try:
        head, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except (FileNotFoundError, ProcessLookupError):  # its parent has counted it by now
        return 0.0
    if head.partition("(")[2] == TOOL:
        return 0.0
    return sum(int(field) for field in rest.split()[11:15]) / TICK

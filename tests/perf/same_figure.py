"""Is the figure through Benchwright the one the same command gives by hand? Pairs, interleaved, over the same sshd."""

import shlex
import tempfile

from app.events import TrialEnded
from app.plans.plan import Plan, Repetition, Step, make_step
from app.questions import RefusingAsker
from app.runs.control import Control
from suites.base import Command, Context, Purpose
from suites.outputs import ParsedTrial
from suites.parameters import Value
from tests.perf.host import Lab, lab
from tests.perf.outcome import Outcome, paired_ratio

PAIRS = 10
SECONDS = 2.0
AIM = 0.01

CACHED: dict[str, Value] = {
    "rw": "randread", "size": 2**26, "direct": False, "ioengine": "psync", "runtime": SECONDS, "ramp_time": 0.0,
}  # fmt: skip

STEPS: tuple[tuple[str, str, str, dict[str, Value]], ...] = (
    # One thread: the workstation shares this computer with its host, and must not be what is measured.
    ("sysbench cpu", "sysbench-cpu", "events_per_second", {"time": SECONDS, "threads": 1}),
    # From the page cache: a disk's own ups and downs would hide a difference of 1 %.
    ("fio", "fio", "iops", CACHED),
    # At a rate that any computer keeps: what is left of a difference is how the figure is read and counted.
    ("fio at 2000 IOPS", "fio", "iops", CACHED | {"rate_iops": 2000}),
)


def run() -> list[Outcome]:
    """Return for each tool the ratio of the figure through Benchwright to the figure by hand."""
    with lab(undisturbed=True) as host:
        return [_compare(host, *step) for step in STEPS]


def _compare(host: Lab, title: str, suite: str, metric: str, values: dict[str, Value]) -> Outcome:
    through: list[float] = []
    by_hand: list[float] = []
    for number in range(PAIRS):
        with tempfile.TemporaryDirectory(dir=host.folder) as folder:
            step = make_step(suite, values | ({"directory": folder} if suite == "fio" else {}))
            sides = [(through, _through), (by_hand, _by_hand)]
            for figures, measure in sides if number % 2 else reversed(sides):
                figures.append(_figure(measure(host, step, folder), metric))
    ratio = paired_ratio(through, by_hand)
    what = f"{title} through Benchwright by the same command by hand, {PAIRS} pairs of {SECONDS:g} s"
    interval = f"{ratio.low:.4f} to {ratio.high:.4f}"
    return Outcome(what, f"{ratio.value:.4f}", interval, f"1.00 within {AIM:.0%}", ratio.within(AIM))


def _through(host: Lab, step: Step, _folder: str) -> ParsedTrial:
    plan = Plan("bench", ("lab",), (step,), repetition=Repetition(trials=1))
    ended = [event for event in host.workstation.run(plan, RefusingAsker(), Control()) if isinstance(event, TrialEnded)]
    return ended[0].parsed


def _by_hand(host: Lab, step: Step, folder: str) -> ParsedTrial:
    """Type the same commands: those that prepare, and the one that measures, in the same directory."""
    parser = step.suite.parser(step.values)
    for command in step.suite.commands(step.values, Context()):
        output = host.by_hand(f"cd {shlex.quote(folder)} && {_line(command)}")
        if command.purpose is Purpose.MEASURE:
            for _sample in parser.feed(output):
                pass  # the figure is asked for at the end
    return parser.finish(0)


def _line(command: Command) -> str:
    return shlex.join(command.argv)


def _figure(parsed: ParsedTrial, metric: str) -> float:
    return next(figure.value for figure in parsed.figures if figure.metric.name == metric)

"""A suite that counts, so that a sample that is missing or doubled is seen; and a process that runs it, to be killed.

As a program: counting.py STORE HOST COUNT TRIALS PREPARE. It says 0 whenever a command begins, and every sample's value
as it arrives.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.events import JobBegan, SampleRead
from app.plans.plan import Plan, Repetition, make_step
from app.questions import RefusingAsker
from app.runs.control import Control
from app.services import Workstation
from suites import registry
from suites.base import Command, Context, Estimate, Purpose, Suite
from suites.line_parser import LineSplitter
from suites.outputs import ParsedTrial
from suites.parameters import Parameter, Tuned, Type, Values
from suites.programs import Program
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, Sample

COUNT = Metric("count", "Count", Unit.ONE, Better.HIGHER, MetricKind.COUNT)
EVERY = 0.02

SCRIPT = r"""
[ "$2" = no ] || trap '' TERM
exec perl -e '$| = 1; for (1..shift) { print "n $_\n"; print STDERR "e $_\n"; select(undef, undef, undef, 0.02) }
print "done\n"' "$1"
"""
"""Perl, because a shell would start a program for each line to wait."""


class CountingParser:
    """Makes a sample of every line."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._samples: list[Sample] = []
        self._done = False

    def feed(self, data: bytes, stream: str = "stdout") -> Iterator[Sample]:
        for line in self._lines.feed(data, stream):
            self._done = self._done or line == "done"
            if line.startswith("n "):
                self._samples.append(Sample(int(line[2:]) * EVERY, COUNT, float(line[2:])))
                yield self._samples[-1]

    def finish(self, exit_status: int | None = None) -> ParsedTrial:
        del exit_status
        figures = (Figure(COUNT, self._samples[-1].value),) if self._samples else ()
        return ParsedTrial(figures, tuple(self._samples), () if self._done else ("cut off",), self._done)


class Counting(Suite):
    """Counts to `count`, fifty a second at most; with `deaf` it ignores TERM."""

    id = "counting"
    title = "Counting"
    summary = "Counts."
    resource = Resource.CPU
    program = Program("sh", ("sh",), version=())
    parameters = (
        Parameter(name="count", title="Count", type=Type.INTEGER, default=60, help="How far.", minimum=1),
        Parameter(name="prepare", title="Prepare", type=Type.INTEGER, default=0, help="Seconds before.", minimum=0),
        Parameter(name="deaf", title="Deaf", type=Type.FLAG, default=False, help="Whether it ignores TERM."),
    )
    metrics = (COUNT,)

    def tune(self, context: Context) -> Mapping[str, Tuned]:
        return {}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        words = ("sh", "-c", SCRIPT, "counting", str(values["count"]), "yes" if values["deaf"] else "no")
        prepare = Command(("sleep", str(values["prepare"])), Purpose.PREPARE)
        return (*((prepare,) if values["prepare"] else ()), Command(words))

    def estimate(self, values: Values, context: Context) -> Estimate:
        return Estimate(int(values["count"]) * EVERY)

    def parser(self, values: Values) -> CountingParser:
        return CountingParser()


def output(count: int) -> dict[str, bytes]:
    """Return all that a trial prints."""
    numbers = range(1, count + 1)
    return {
        "stdout": b"".join(b"n %d\n" % number for number in numbers) + b"done\n",
        "stderr": b"".join(b"e %d\n" % number for number in numbers),
    }


def counting_plan(count: int, *, host: str = "lab", trials: int = 1, deaf: bool = False, prepare: int = 0) -> Plan:
    """Return a plan that counts on `host`, after `prepare` seconds of preparation."""
    step = make_step("counting", {"count": count, "deaf": deaf, "prepare": prepare})
    return Plan("counting", (host,), (step,), repetition=Repetition(trials=trials))


def main(store: str, host: str, count: int, trials: int, prepare: int) -> None:
    registry.SUITES = (*registry.SUITES, Counting())
    workstation = Workstation(Path(store), Path(store).with_name("hosts.toml"))
    plan = counting_plan(count, host=host, trials=trials, prepare=prepare)
    for event in workstation.run(plan, RefusingAsker(), Control()):
        if isinstance(event, JobBegan | SampleRead):
            sys.stdout.write(f"{event.sample.value if isinstance(event, SampleRead) else 0:g}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6]))

"""A suite that nobody has heard of: it counts words that its tool prints. Nothing but the registry need know of it."""

import re
from collections.abc import Mapping

from suites.base import Command, Context, Estimate, LineSplitter, Parsed
from suites.checks import Check, Outcome, StepCheck, StepEvidence
from suites.parameters import Parameter, Tuned, Type, Values
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Level, Metric, Resource, Sample, labels

WORDS = Metric("toy_words", "Toy words per second", Unit.PER_SECOND, Better.HIGHER, Kind.RATE)
DELAY = Metric("toy_delay", "Toy delay", Unit.MILLISECOND, Better.LOWER, Kind.TIME)

_LINE = re.compile(r"(\d+) words by (\w+)")
_TALK = (
    'echo "Toy tool 4.2"; for word in 10 12 11; do sleep 0.1; echo "$word words by left"; '
    'echo "$((word * 2)) words by right"; done; echo "delay $1"'
)


class ToyParser:
    """Reads one run."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._samples: list[Sample] = []
        self._delay: float | None = None

    def feed(self, data: bytes, stream: str = "stdout") -> list[Sample]:
        before = len(self._samples)
        for line in self._lines.feed(data, stream):
            if match := _LINE.fullmatch(line):
                time = 0.1 * (len(self._samples) // 2 + 1)
                self._samples.append(Sample(time, WORDS, float(match[1]), labels(side=match[2])))
            elif line.startswith("delay "):
                self._delay = float(line.removeprefix("delay "))
        return self._samples[before:]

    def finish(self, exit_status: int | None = None) -> Parsed:
        del exit_status
        if self._delay is None:
            return Parsed(samples=tuple(self._samples), notes=("The toy was cut off.",), complete=False)
        last = {sample.labels: sample.value for sample in self._samples}
        figures = [Figure(WORDS, value, label) for label, value in last.items()]
        return Parsed((*figures, Figure(DELAY, self._delay)), tuple(self._samples), tool_version="4.2")


def _impatient(evidence: StepEvidence) -> Outcome | None:
    return Outcome("delay is 1.", changes={"delay": 7}) if evidence.values["delay"] == 1 else None


class Toy:
    """The suite."""

    id = "toy"
    title = "Toy & sons"
    summary = "Counts words that were never said."
    resource = Resource.APPLICATION
    tool = "sh"
    packages: Mapping[str, str] = {}
    parameters: tuple[Parameter, ...] = (
        Parameter(name="delay", title="Delay", type=Type.INTEGER, default=1, help="How late.", unit="ms", minimum=0),
    )
    metrics: tuple[Metric, ...] = (WORDS, DELAY)
    needs_peer = False
    directory_parameter: str | None = None
    checks: tuple[StepCheck, ...] = (
        Check(
            id="toy-impatient",
            level=Level.WARNING,
            title="The toy is impatient",
            why="It counts before anything was said.",
            remedy="Wait longer.",
            source="The toy's own manual.",
            needs="The delay.",
            evaluate=_impatient,
        ),
    )

    def tune(self, context: Context) -> Mapping[str, Tuned]:
        return {} if context.facts is None else {"delay": Tuned(5, "Five is a good age.")}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        del context
        return (Command(("sh", "-c", _TALK, "toy", str(values["delay"]))),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        del values, context
        return Estimate(1.0)

    def parser(self, values: Values) -> ToyParser:
        del values
        return ToyParser()

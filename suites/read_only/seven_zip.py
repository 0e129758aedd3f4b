"""7-Zip: the benchmark of compressing and decompressing with LZMA (7z b)."""

import re
from collections.abc import Iterator

from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome
from suites.identities import noted
from suites.outputs import OutputFormat, ToolOutput
from suites.parameters import Parameter, Type, Value
from suites.programs import Program
from suites.read_only.base import ReadOnlySuite, tool_output
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource


def _rating(name: str, title: str) -> Metric:
    return Metric(name, title, Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)


TOTAL = _rating("rating", "Rating")
COMPRESSING = _rating("rating_compressing", "Rating, compressing")
DECOMPRESSING = _rating("rating_decompressing", "Rating, decompressing")
"""Instructions per second of a processor of reference; 7-Zip prints millions (MIPS)."""

_N = r"\d{1,9}"
_ROW = re.compile(
    rf"(?P<row_>\d{{2}}:|Avr:) +(?P<speed>{_N}) +(?P<usage>{_N}) +{_N} +(?P<compressing>{_N}) +\| +"
    rf"{_N} +{_N} +{_N} +(?P<decompressing>{_N})$"
)
_OLD_ROW = re.compile(
    rf"(?P<row_>Avr:) +(?P<usage>{_N}) +{_N} +(?P<compressing>{_N}) +\|? *{_N} +{_N} "
    rf"+(?P<decompressing>{_N})$"
)
_TOTAL = re.compile(rf"Tot: +(?P<all_usage>{_N}) +{_N} +(?P<total>{_N})$")
_THREADS = re.compile(r"RAM usage: .*# Benchmark threads: +(\d{1,5})")
_HEAD = re.compile(r"7-Zip (?:\(\w\) |\[\d\d\] )?(?:\(\w\) )?\d{1,3}\.\d\d\b")

BUSY = 0.8
"""Share of its threads' CPU time that 7-Zip reaches on a quiet machine, where it has no more threads than CPUs."""

THREADS = Parameter(
    name="threads",
    title="Threads",
    type=Type.INTEGER,
    default=0,
    minimum=0,
    option="-mmt",
    help="Threads; 0 if not known.",
)
USAGE = Parameter(
    name="usage", title="CPU usage", type=Type.NUMBER, default=0.0, minimum=0, unit="%",
    help="CPU time of all threads in per cent of the time; 0 if not known.",
)  # fmt: skip


def _shared(evidence: StepEvidence) -> CheckOutcome | None:
    threads, usage = int(evidence.values["threads"]), float(evidence.values["usage"])
    if not threads or not usage or usage >= 100 * BUSY * threads:
        return None
    return CheckOutcome(f"{threads} threads used {usage:.0f} % of {100 * threads} %.")


class SevenZip(ReadOnlySuite):
    """The rating of LZMA, compressing and decompressing."""

    id = "7zip"
    title = "7-Zip"
    summary = "Rating of compressing and decompressing with LZMA: integers, branches, caches and memory."
    resource = Resource.CPU
    program = Program("7-Zip", ("7z", "7za", "7zr", "7zz"))
    parameters = (THREADS, USAGE)
    metrics = (TOTAL, COMPRESSING, DECOMPRESSING)
    checks = (
        Check(
            id="7zip-cpu-shared",
            title="CPUs were not fully available",
            why="Other programs, a quota or a hypervisor took part of the CPU time, so the rating is too low.",
            remedy="Stop other programs, and repeat it; compare “R/U”, the rating per usage, if that is not possible.",
            source="7-Zip help, Benchmark: Usage.",
            evaluate=_shared,
            needs="The usage and the number of threads.",
        ),
    )

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The text of 7-Zip 9 and later, and of p7zip."""
        line = re.compile(r"Dict +(?:Speed|Compressing)|(?:Avr|Tot): +\d|\d\d: +\d+ +\d+ +\d+ +\d+ +\| ")
        return (OutputFormat(title="7-Zip", first=_HEAD, line=line, read=self._read),)

    def _read(self, text: str, _command: str | None) -> Iterator[ToolOutput]:
        average = total = None
        stated: dict[str, Value] = {}
        for line in (each.strip() for each in text.splitlines()):
            if match := _ROW.match(line) or _OLD_ROW.match(line):
                average = match if match["row_"] == "Avr:" else average
            elif match := _TOTAL.match(line):
                total = match
                stated["usage"] = float(match["all_usage"])
            elif match := _THREADS.match(line):
                stated["threads"] = int(match[1])
        if average is None or total is None:
            return
        values = (
            (TOTAL, total["total"]),
            (COMPRESSING, average["compressing"]),
            (DECOMPRESSING, average["decompressing"]),
        )
        output = tool_output(self.id, [Figure(metric, int(text) * 1e6) for metric, text in values], stated)
        yield from noted((output,), _contradictions(average["compressing"], average["decompressing"], total["total"]))


def _contradictions(*ratings: str) -> Iterator[tuple[str, str]]:
    """Yield that the total is not the mean of both ratings, which it is."""
    compressing, decompressing, total = map(int, ratings)
    if abs((compressing + decompressing) / 2 - total) > 1:
        yield "", f"mean of both ratings = {(compressing + decompressing) / 2:.0f} MIPS, printed: {total} MIPS"

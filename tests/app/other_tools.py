"""The same trials as benchstat, pyperf, scipy and Benchwright tell them."""

import csv
import io
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.comparison.comparison import RelativeFigure
from app.comparison.estimates import beyond_p, ratio_of, within_p
from app.comparison.verdicts import ComparisonVerdict, VerdictEvidence, decide, forecast
from suites.quantities import share_text
from suites.units import Unit
from suites.vocab import Better, Metric, MetricKind

DATA = Path(__file__).parent.parent / "data" / "compared"
BASELINE, OTHER = DATA / "baseline.txt", DATA / "other.txt"
BENCHSTAT = ("benchstat", "-format", "csv", BASELINE.name, OTHER.name)
"""What wrote benchstat.csv, in that folder: golang.org/x/perf of 8 September 2026 (22c9c6c9d4da)."""

MARGIN = 0.05
TIME = Metric("time", "Time", Unit.SECOND, Better.LOWER, MetricKind.TIME)

Trials = Mapping[str, tuple[list[float], list[float]]]
"""The trials of the baseline and of the other side, in seconds, by what they are an example of."""


def trials() -> Trials:
    """Return the trials, from the two files in the Go project's benchmark format."""
    sides = [
        re.findall(r"^Benchmark(\w+) 1 (\S+) sec/op$", path.read_text(), re.MULTILINE) for path in (BASELINE, OTHER)
    ]
    names = dict.fromkeys(name for name, _ in sides[0])
    found = [{name: [float(value) for one, value in side if one == name] for name in names} for side in sides]
    return {name: (found[0][name], found[1][name]) for name in names}


@dataclass(frozen=True, slots=True)
class Benchstat:
    """A row of benchstat: the medians of both sides, how far their intervals reach, the change and its p-value."""

    medians: tuple[float, float]
    reaches: tuple[str, str]
    change: str
    p: str

    @property
    def text(self) -> str:
        """What it says, without the counts."""
        return f"{self.change.replace('-', '−').replace('%', ' %')}, p = {self.p}"


def benchstat(text: str) -> dict[str, Benchstat]:
    """Return benchstat's rows by their names, from its CSV."""
    rows = [row for row in csv.reader(io.StringIO(text)) if row[0] not in {"", "geomean"}]
    return {row[0]: Benchstat((float(row[1]), float(row[3])), (row[2], row[4]), row[5], row[6][2:7]) for row in rows}


@dataclass(frozen=True, slots=True)
class Pyperf:
    """What ``pyperf compare_to`` says: how far the means are apart, and whether it calls that significant."""

    change: str
    verdict: str

    @property
    def t(self) -> float | None:
        """Student's t, None where there is none."""
        found = re.search(r"t=(\S+)\)", self.verdict)
        return float(found[1]) if found else None


def pyperf(given: Trials, folder: Path) -> tuple[dict[str, Pyperf], str]:
    """Return what pyperf says of each, and its geometric mean of them all; it is called as people call it."""
    for place in (0, 1):
        _dump(given, place, folder / f"{place}.json")
    words = [sys.executable, "-m", "pyperf", "compare_to", "--verbose", "0.json", "1.json"]
    shown = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^(\w+)\n=+\n\n.*: (.*)\n((?:ERROR.*\n)?.*)$", shown, re.MULTILINE)
    every = re.findall(r"^Geometric mean: (.*)$", shown, re.MULTILINE)
    return {name: Pyperf(change, verdict.replace("\n", ": ")) for name, change, verdict in found}, every[0]


def _dump(given: Trials, place: int, path: Path) -> None:
    import pyperf

    benchmarks = [
        pyperf.Benchmark(
            [pyperf.Run([value], metadata={"name": name}, collect_metadata=False) for value in sides[place]]
        )
        for name, sides in given.items()
    ]
    pyperf.BenchmarkSuite(benchmarks).dump(str(path))


def judge(metric: Metric, values: Sequence[float], baseline: Sequence[float], margin: float) -> RelativeFigure:
    """Compare trials of one metric with comparable baseline trials, without correction for other metrics."""
    ratio = ratio_of(values, baseline)
    if isinstance(ratio, str):
        return RelativeFigure(ComparisonVerdict.UNDECIDED, ratio)
    p, p_same = beyond_p(ratio, margin), within_p(ratio, margin)
    evidence = VerdictEvidence(metric, margin, (len(values), len(baseline)), p=p, p_same=p_same)
    verdict, text, reason = decide(ratio, evidence)
    more = forecast(ratio, evidence) if verdict is ComparisonVerdict.UNDECIDED else None
    return RelativeFigure(verdict, reason, ratio.value, ratio.low, ratio.high, text, more=more, p=ratio.p)


def ours(baseline: list[float], other: list[float]) -> RelativeFigure:
    """Return Benchwright's verdict."""
    return judge(TIME, other, baseline, MARGIN)


def welch(baseline: list[float], other: list[float]) -> tuple[float, float]:
    """Return scipy's p-value of Welch's test on the times, and how far their means are apart."""
    from scipy import stats

    p = stats.ttest_ind(other, baseline, equal_var=False).pvalue
    return float(p), sum(other) / len(other) / (sum(baseline) / len(baseline)) - 1


def welch_text(baseline: list[float], other: list[float]) -> str:
    """Return scipy's answer as the page has it."""
    p, change = welch(baseline, other)
    sign = "−" if change < 0 else "+"
    return f"{sign}{share_text(abs(change))}, p {'= ' + format(p, '.3f') if p >= 0.0005 else '< 0.001'}"

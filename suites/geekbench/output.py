"""Reads what Geekbench 4 to 6 prints with a Pro licence: scores, their integer and other sections, every workload."""

import re
from collections.abc import Iterable

from suites.base import LineSplitter, Parsed
from suites.tool_words import how_it_ended, tool_words
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Metric, Sample, labels


def _score(name: str, title: str) -> Metric:
    return Metric(name, title, Unit.ONE, Better.HIGHER, Kind.RATE)


MULTI = _score("multi_core", "Multi-core score")
SINGLE = _score("single_core", "Single-core score")
INTEGER = _score("integer", "Integer score")
FLOATING = _score("floating_point", "Floating-point score")
CRYPTO = _score("crypto", "Crypto score")
WORKLOAD = _score("workload", "Score by workload")

METRICS = (MULTI, SINGLE, INTEGER, FLOATING, CRYPTO, WORKLOAD)

_SECTIONS = {"Integer": INTEGER, "Floating Point": FLOATING, "Crypto": CRYPTO}
_CORES = {"Single-Core": "single", "Multi-Core": "multi"}

MAXIMUM_WORKLOADS = 200
MAXIMUM_FAILURES = 5

_VERSION = re.compile(r"Geekbench (\d{1,2}\.\d{1,3}(?:\.\d{1,3})?) (\w{1,20}) : .*")
_CORE_SCORE = re.compile(r"  (Single-Core|Multi-Core) Score +(\d{1,9})")
_SECTION_SCORE = re.compile(r" {2,4}(Integer|Floating Point|Crypto)(?: Score)? +(\d{1,9})")
_WORKLOAD = re.compile(r"  (\S.{1,60}?) {2,}(\d{1,9}) +[\d.]{1,15} \S{1,30}")
_TRYOUT = re.compile(r".*\btryout mode\b.*|.*has no Pro licence here.*", re.IGNORECASE)
_LINK = re.compile(r".*https://browser\.geekbench\.com/\S+.*")
_FAILURE = re.compile(
    r".*: (?:(?:command )?not found|Permission denied|No such file or directory)|Killed|.*\b[Ee]rror\b.{0,200}"
)


class GeekbenchParser:
    """One trial's parser. Scores are printed at the end: there are no samples."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._version: str | None = None
        self._cores: str | None = None
        self._scores: dict[str, float] = {}
        self._sections: dict[tuple[Metric, str], float] = {}
        self._workloads: dict[tuple[str, str], float] = {}
        self._failures: list[str] = []
        self._tryout = False
        self._link = False

    def feed(self, data: bytes, stream: str = "stdout") -> Iterable[Sample]:
        """Take the next bytes. There are no samples."""
        for line in self._lines.feed(data, stream):
            self._read(line.rstrip())
        return ()

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means. A last line that nothing ended may lack digits and is left out."""
        for line in self._lines.rest():
            if _FAILURE.fullmatch(line.strip()) or _TRYOUT.fullmatch(line):
                self._read(line.rstrip())
        troubles = self._troubles(exit_status)
        version = None if self._version is None else f"Geekbench {self._version}"
        return Parsed(tuple(self._figures()), (), tuple(troubles), not troubles, version)

    def _read(self, line: str) -> None:
        if match := _VERSION.fullmatch(line):
            self._version = match[1]
        elif line.strip() in _CORES:
            self._cores = _CORES[line.strip()]
        elif match := _CORE_SCORE.fullmatch(line):
            self._cores = _CORES[match[1]]
            self._scores[self._cores] = float(match[2])
        elif (match := _SECTION_SCORE.fullmatch(line)) and self._cores:
            self._sections[_SECTIONS[match[1]], self._cores] = float(match[2])
        elif (match := _WORKLOAD.fullmatch(line)) and self._cores and len(self._workloads) < MAXIMUM_WORKLOADS:
            self._workloads[self._cores, match[1]] = float(match[2])
        elif _TRYOUT.fullmatch(line):
            self._tryout = True
        elif _LINK.fullmatch(line):
            self._link = True
        elif _FAILURE.fullmatch(line.strip()) and len(self._failures) < MAXIMUM_FAILURES:
            self._failures.append(f"Geekbench failed: {tool_words(line)}.")

    def _figures(self) -> list[Figure]:
        """Return the scores, then the sections, which hold the integer-only composite, then every workload."""
        figures = [
            Figure(metric, self._scores[cores])
            for metric, cores in ((MULTI, "multi"), (SINGLE, "single"))
            if self._scores.get(cores)
        ]
        figures += [
            Figure(metric, score, labels(cores=cores)) for (metric, cores), score in self._sections.items() if score
        ]
        return figures + [
            Figure(WORKLOAD, score, labels(cores=cores, workload=name))
            for (cores, name), score in self._workloads.items()
            if score
        ]

    def _troubles(self, exit_status: int | None) -> list[str]:
        troubles = list(self._failures)
        if not self._scores and (self._tryout or self._link):
            troubles.append(
                "Geekbench has no Pro licence here: it prints no scores, and would upload them. Unlock it on the host "
                "with --unlock, or enter the scores its web page shows."
            )
        elif not set(_CORES.values()) <= set(self._scores):
            troubles.append("Geekbench was cut off: it did not print both of its scores.")
        if exit_status:
            troubles.append(f"Geekbench {how_it_ended(exit_status)}.")
        return troubles

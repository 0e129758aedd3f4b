"""Parse the output of LINPACK: HPL alone or in hpcc, and Intel's program. A failed residual means no figure."""

import re
from dataclasses import dataclass, field

from suites.line_parser import LineParser
from suites.outputs import ParsedTrial
from suites.tool_messages import exit_notes, printable_message
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, labels

BEST = Metric("linpack", "LINPACK, best size", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
BY_SIZE = Metric("linpack_by_size", "LINPACK by size", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
SECONDS = Metric("solve_time", "Time to solve", Unit.SECOND, Better.LOWER, MetricKind.TIME)

METRICS = (BEST, BY_SIZE, SECONDS)

GIGA = 1e9
"""The programs print 10^9 floating-point operations per second; figures are operations per second."""

MAXIMUM_RESULTS = 1000

_N = r"(\d{1,9}(?:\.\d{1,9})?(?:[eE][+-]?\d{1,2})?)"
_HPL = re.compile(rf"W[RC]\w{{2,12}} +(\d{{1,8}}) +(\d{{1,6}}) +(\d{{1,6}}) +(\d{{1,6}}) +{_N} +{_N}")
_RESIDUAL = re.compile(r"\|\|Ax-b\|\|.*= *\S+ \.{2,} (PASSED|FAILED)")
_INTEL = re.compile(rf"(\d{{1,8}}) +\d{{1,8}} +\d{{1,6}} +{_N} +{_N} +{_N} +{_N} +(pass|fail)", re.IGNORECASE)
_INTEL_VERDICT = re.compile(r"Residual checks (PASSED|FAILED)", re.IGNORECASE)
_REQUESTED = re.compile(r"(\d[\d ]*?) +(Ns|NBs|Ps|Qs|# problem sizes)")
_VERSIONS = (
    re.compile(r"This is the DARPA/DOE HPC Challenge Benchmark version (?P<hpcc>[\d.]{1,12}) .*"),
    re.compile(r"HPLinpack (?P<hpl>[\d.]{1,12}) .*"),
)
_LIBRARY = re.compile(r"\s*lib(blas|openblas|atlas|f77blas|mkl_rt|mkl_core|blis|flexiblas)\S* => \S+.*")
_LIBRARY_NAMES = {
    "openblas": "OpenBLAS",
    "atlas": "ATLAS",
    "f77blas": "ATLAS",
    "mkl_rt": "MKL",
    "mkl_core": "MKL",
    "blis": "BLIS",
    "flexiblas": "FlexiBLAS",
}
REFERENCE = "the reference BLAS"
_ENDS = re.compile(r"End of Tests\.|End of tests")  # HPL's and Intel's end; hpcc's PTRANS prints END OF TESTS.
_FAILURE = re.compile(
    r">>> (?P<hpl>[^<]{1,200}) <<<|HPL ERROR .*|(?P<shell>.*: (?:(?:command )?not found|Permission denied)|Killed"
    r"|.*: No such file or directory)|(?P<mpi>mpirun (?:has detected|was unable|noticed) .*"
    r"|There are not enough slots .*)"
)


@dataclass(slots=True)
class _Result:
    """One solved system. `failed` if any of its residual checks failed; `checked` if one was printed."""

    size: int
    seconds: float
    gflops: float
    grid: tuple[int, int] | None = None
    checked: bool = False
    failed: bool = False


@dataclass(slots=True)
class _InputSettings:
    """The input file's settings, as far as the output repeats them."""

    numbers: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def sizes(self) -> tuple[int, ...]:
        """Return the requested sizes; empty if not known."""
        return self.numbers.get("Ns") or self.numbers.get("# problem sizes") or ()

    def grid(self) -> tuple[int, int] | None:
        """Return the requested process grid, or None."""
        rows, columns = self.numbers.get("Ps"), self.numbers.get("Qs")
        return (rows[0], columns[0]) if rows and columns else None


class LinpackParser(LineParser):
    """Parser of one trial. The programs print a line for each size when it is solved, without a timestamp."""

    unfinished = (_ENDS, _FAILURE)

    def __init__(self) -> None:
        super().__init__()
        self._results: list[_Result] = []
        self._settings = _InputSettings()
        self._versions: dict[str, str] = {}
        self._libraries: list[str] = []
        self._ended = False
        self._intel_failed = False

    def _result(self, exit_status: int | None) -> ParsedTrial:
        troubles = self._troubles(exit_status)
        figures = self._figures()
        if not figures and not troubles:
            troubles = ["No LINPACK result in the output."]
        return ParsedTrial(tuple(figures), (), (*troubles, *self._notes()), not troubles, self._version())

    def _read(self, line: str) -> None:
        if match := _HPL.fullmatch(line.strip()):
            size, _block, rows, columns = (int(match[number]) for number in (1, 2, 3, 4))
            self._add(_Result(size, float(match[5]), float(match[6]), (rows, columns)))
        elif match := _RESIDUAL.fullmatch(line):
            self._check(failed=match[1] == "FAILED")
        elif match := _INTEL.fullmatch(line.strip()):
            failed = match[6].lower() == "fail"
            self._add(_Result(int(match[1]), float(match[2]), float(match[3]), checked=True, failed=failed))
        elif match := _INTEL_VERDICT.fullmatch(line.strip()):
            self._intel_failed = match[1].upper() == "FAILED"
        elif match := _REQUESTED.match(line):
            self._settings.numbers.setdefault(
                match[2], tuple(int(word) for word in match[1].split()[:20] if len(word) < 9)
            )
        else:
            self._read_text(line)

    def _read_text(self, line: str) -> None:
        if _ENDS.fullmatch(line):
            self._ended = True
        elif match := _LIBRARY.fullmatch(line):
            self._libraries.append(_LIBRARY_NAMES.get(match[1], REFERENCE))
        elif (match := _FAILURE.fullmatch(line)) and not line.startswith("HPL ERROR"):
            words = (match["hpl"] or line).rstrip(".")
            if printable_message(words) not in self._failures:
                self._fail(words)
        for pattern in _VERSIONS:
            if match := pattern.fullmatch(line):
                self._versions |= match.groupdict()

    def _add(self, result: _Result) -> None:
        if len(self._results) < MAXIMUM_RESULTS:
            self._results.append(result)

    def _check(self, *, failed: bool) -> None:
        """Apply a residual check to the result before it; old versions of HPL print three for each."""
        if self._results:
            last = self._results[-1]
            last.checked = True
            last.failed = last.failed or failed

    def _requested(self, result: _Result) -> bool:
        sizes, grid = self._settings.sizes(), self._settings.grid()
        return (not sizes or result.size in sizes) and (not grid or result.grid in {None, grid})

    def _figures(self) -> list[Figure]:
        """Return the best size, then each; of a size solved several times the best, if all checks passed."""
        failed = {result.size for result in self._results if result.failed or not result.checked}
        best: dict[int, _Result] = {}
        for result in self._results:
            good = result.size not in failed and result.gflops > 0 and self._requested(result)
            if good and (result.size not in best or result.gflops > best[result.size].gflops):
                best[result.size] = result
        if not best or self._intel_failed:
            return []
        figures = [Figure(BEST, GIGA * max(result.gflops for result in best.values()))]
        figures += [Figure(BY_SIZE, GIGA * result.gflops, labels(size=str(size))) for size, result in best.items()]
        return figures + [
            Figure(SECONDS, result.seconds, labels(size=str(size))) for size, result in best.items() if result.seconds
        ]

    def _troubles(self, exit_status: int | None) -> list[str]:
        troubles = [f"LINPACK failed: {words}." for words in self._failures]
        for result in self._results:
            if result.failed:
                troubles.append(f"The residual check of size {result.size} failed: no figure.")
            elif not result.checked:
                troubles.append(f"The residual of size {result.size} was not checked: no figure.")
            elif not self._requested(result):
                rows, columns = result.grid or (0, 0)
                troubles.append(
                    f"Size {result.size} on {rows} x {columns} processes ran, which was not requested: the "
                    "program ignored its input file."
                )
        solved = {result.size for result in self._results}
        missing = [str(size) for size in self._settings.sizes() if size not in solved]
        if missing and self._results:
            troubles.append(f"Without a result: size {', '.join(missing)}.")
        if self._intel_failed:
            troubles.append("The program reports failed residual checks: no figure.")
        if not self._ended and not self._failures:
            troubles.append("LINPACK was cut off: its closing line is missing.")
        troubles += exit_notes("The program", exit_status)
        return list(dict.fromkeys(troubles))

    def _library(self) -> str | None:
        """Return the BLAS library: libblas.so.3 itself is the reference, or a symbolic link to another."""
        others = [name for name in self._libraries if name != REFERENCE]
        return others[0] if others else REFERENCE if self._libraries else None

    def _notes(self) -> list[str]:
        if self._library() != REFERENCE:
            return []
        why = "which uses little of the processor: the figure is the library's, not the CPU's"
        return [f"hpcc is linked to {REFERENCE}, {why}. Install an optimised one, such as libopenblas0."]

    def _version(self) -> str | None:
        parts = [f"hpcc {self._versions['hpcc']}"] if "hpcc" in self._versions else []
        parts += [f"HPLinpack {self._versions['hpl']}"] if "hpl" in self._versions else []
        library = self._library()
        return ", ".join([*parts, *([library] if library else [])]) or None

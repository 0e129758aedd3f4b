"""Captured outputs of real tools: each with its command, version and exit status in a .txt beside it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from suites.outputs import ParsedTrial, TrialParser
from suites.vocab import Sample, labels

DATA = Path(__file__).parent.parent / "data"


@dataclass(frozen=True, slots=True)
class Capture:
    """One run of a tool: what it printed and how it ended."""

    name: str
    stdout: bytes
    stderr: bytes
    exit_status: int

    def parse(self, parser: TrialParser, *, mixed: bool = False) -> ParsedTrial:
        """Return what `parser` makes of it, its streams apart or mixed into one."""
        parser.feed(self.stdout)
        parser.feed(self.stderr, "stdout" if mixed else "stderr")
        return parser.finish(self.exit_status)


def capture(path: str) -> Capture:
    """Return the capture at `path`, such as ``sysbench/1.0.20/cpu_default``."""
    base = DATA / path
    status = re.search(r"^exit_code: (-?\d+)$", Path(f"{base}.txt").read_text(), re.MULTILINE)
    assert status is not None, f"{base}.txt tells no exit code"
    stderr = Path(f"{base}.stderr")
    return Capture(
        path, Path(f"{base}.stdout").read_bytes(), stderr.read_bytes() if stderr.exists() else b"", int(status[1])
    )


def captures(tool: str) -> list[str]:
    """Return the paths of all captures of `tool`."""
    return sorted(str(path.relative_to(DATA).with_suffix("")) for path in (DATA / tool).glob("*/*.stdout"))


def figures(parsed: ParsedTrial) -> dict[str, float]:
    """Return the figures by name, with their labels' values behind: ``throughput receiver send``."""
    return {
        " ".join((figure.metric.name, *(value for _name, value in figure.labels))): figure.value
        for figure in parsed.figures
    }


def series(samples: Iterable[Sample], metric: str, **marks: str) -> list[tuple[float, float]]:
    """Return (time, value) of the samples of `metric`; with `marks`, those that have exactly these labels."""
    return [
        (sample.time, sample.value)
        for sample in samples
        if sample.metric.name == metric and (not marks or sample.labels == labels(**marks))
    ]


def whole_outputs() -> dict[str, Path]:
    """Return by suite a whole output of its tool: the fullest stream of the capture whose .txt names the suite."""
    found: dict[str, Path] = {}
    for text in sorted(DATA.glob("**/*.txt")):
        named = re.search(r"^suite: (.+)$", text.read_text(errors="replace"), re.MULTILINE)
        if named:
            streams = (path for path in text.parent.glob(f"{text.stem}.*") if path != text)
            found |= dict.fromkeys(named[1].split(), max(streams, key=lambda path: path.stat().st_size))
    return found


WHOLE = whole_outputs()

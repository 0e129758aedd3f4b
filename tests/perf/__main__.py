"""Measures Benchwright itself: ``python -m tests.perf [NAME ...]``; without names, everything, in some 25 minutes.

It reports; that an aim was missed is no error, since another program on this computer may be the reason.
"""

import sys
from collections.abc import Callable

from app.cli.common import print_table
from tests.perf import (
    comparison,
    first_window,
    fleet,
    known_limits,
    line_to_point,
    live_plot,
    observer,
    pitfalls,
    same_figure,
    statistics_quality,
    telemetry_cost,
)
from tests.perf.outcome import Outcome

BENCHMARKS: dict[str, Callable[[], list[Outcome]]] = {
    "same-figure": same_figure.run,
    "observer": observer.run,
    "telemetry-cost": telemetry_cost.run,
    "first-window": first_window.run,
    "line-to-point": line_to_point.run,
    "live-plot": live_plot.run,
    "fleet": fleet.run,
    "statistics": statistics_quality.run,
    "comparison": comparison.run,
    "pitfalls": pitfalls.outcomes,
    "known-limits": known_limits.outcomes,
}
EARLIER_NAMES = {"observer-beside": "telemetry-cost", "stories": "pitfalls", "truth": "known-limits"}


def main(names: list[str]) -> int:
    """Run the benchmarks called `names`, or all; print one table."""
    names = [EARLIER_NAMES.get(name, name) for name in names]
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        _print_line(f"There is no {', '.join(unknown)}. There are {', '.join(BENCHMARKS)}.")
        return 2
    rows = []
    for name in names or BENCHMARKS:
        _print_line(f"measuring {name}")
        rows += [[name, found.what, found.figure, found.interval, found.aim, found.met] for found in BENCHMARKS[name]()]
    print_table(["Benchmark", "What", "Figure", "95 % interval", "Aim", "Met"], rows, right=[2])
    return 0


def _print_line(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

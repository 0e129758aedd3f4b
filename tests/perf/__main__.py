"""Measures Benchwright itself: ``python -m tests.perf [NAME ...]``; without names, everything, in an hour.

``python -m tests.perf truth quota link`` stages only the limits of those groups.

It reports; that an aim was missed is no error, since another program on this computer may be the reason.
"""

import sys
from collections.abc import Callable
from functools import partial

from app.cli.common import print_table
from tests.perf import (
    comparison,
    first_window,
    fleet,
    fleet_study,
    fleet_workers,
    known_limits,
    known_shapes,
    library_20000,
    library_sizes,
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
    "fleet": lambda: [*fleet.run(), *fleet_study.run(), *fleet_workers.run()],
    "fleet-study": fleet_study.run,
    "fleet-workers": fleet_workers.run,
    "statistics": statistics_quality.run,
    "comparison": comparison.run,
    "library-20000": library_20000.run,
    "library": library_sizes.run,
    "pitfalls": pitfalls.outcomes,
    "truth": known_limits.outcomes,
    "shapes": known_shapes.outcomes,
}
PARTS = {"fleet-study", "fleet-workers"}
"""Those that another one contains."""

EARLIER_NAMES = {"observer-beside": "telemetry-cost", "stories": "pitfalls", "known-limits": "truth"}


def main(names: list[str]) -> int:
    """Run the benchmarks called `names`, or all; print one table."""
    names = [EARLIER_NAMES.get(name, name) for name in names]
    groups = [name for name in names if name in known_limits.GROUPS]
    names = list(dict.fromkeys("truth" if name in groups else name for name in names))
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        _print_line(f"There is no {', '.join(unknown)}. There are {', '.join(BENCHMARKS)}.")
        return 2
    rows = []
    for name in names or [name for name in BENCHMARKS if name not in PARTS]:
        _print_line(f"measuring {name}")
        measure = partial(known_limits.outcomes, groups) if name == "truth" else BENCHMARKS[name]
        rows += [[name, found.what, found.figure, found.interval, found.aim, found.met] for found in measure()]
    print_table(["Benchmark", "What", "Figure", "95 % interval", "Aim", "Met"], rows, right=[2])
    return 0


def _print_line(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

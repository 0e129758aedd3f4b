"""How the library grows: size, opening, filtering, lists, transfer, deletion, judging again; with samples, too."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from app.run_filter import parse_filter
from app.run_matching import matcher
from app.services import Workstation
from tests.perf import library_samples, library_server
from tests.perf.host import move_home
from tests.perf.large_library import make_library
from tests.perf.library_20000 import METRIC, PARAMETERS, TYPED
from tests.perf.outcome import Met, Outcome, seconds_line, timed

SIZES = (1_000, 5_000, 20_000)
REPEATS = 5
MOVED = 50
"""Runs that are exported, deleted and imported again."""

MOST_JUDGED = 5_000
"""Runs of the largest library that is judged again as a whole."""

KILOBYTES = 40
"""Aim for a run without samples."""


def run() -> list[Outcome]:
    """Return the figures of each size of SIZES."""
    with tempfile.TemporaryDirectory() as folder:
        move_home(Path(folder) / "home")
        found = [one for size in SIZES for one in _measured(Path(folder), size)]
    return [*found, *library_samples.run(), *library_server.run()]


def _measured(folder: Path, size: int) -> list[Outcome]:
    path = folder / f"{size}.sqlite3"
    make_library(path, size)
    kilobytes = path.stat().st_size / size / 1e3
    met = Met.MET if kilobytes < KILOBYTES else Met.MISSED
    lines = [Outcome(f"{size:,} runs, kB a run", f"{kilobytes:.1f}", "", f"under {KILOBYTES}", met)]
    lines.append(_line(size, "opened and list read", [timed(lambda: _open(path)) for _ in range(REPEATS)], 1.0))
    with closing(Workstation(path, folder / "hosts.toml")) as workstation:
        library = workstation.library()
        for text in (TYPED, PARAMETERS, METRIC):
            select = matcher(parse_filter(text), library, workstation.metric_values, datetime.now(UTC))
            times = [timed(lambda: select(library.rows)) for _ in range(REPEATS)]  # noqa: B023 (called in this turn)
            lines.append(_line(size, f"filter “{text}”", times, 0.1))
        for words in (("list",), ("list", *TYPED.split()), ("baseline", "list")):
            times = [_command(path, *words) - _command(path, *words, "--help") for _ in range(REPEATS)]
            lines.append(_line(size, f"benchwright {' '.join(words)}, after its start", times, 1.0))
        chosen = [row.id for row in library.rows if not row.baselines][:MOVED]
        bundle = folder / f"{size}-bundle.sqlite3"
        works: tuple[tuple[str, Callable[[], object]], ...] = (
            ("export", lambda: list(workstation.export_library(chosen, bundle))),
            ("delete", lambda: _delete(workstation, chosen)),
            ("import", lambda: list(workstation.import_runs(bundle))),
        )
        lines += [_line(size, f"{what} a run", [timed(work) / MOVED], 0.1) for what, work in works]
        lines.append(_line(size, "runs to judge again found", [timed(workstation.outdated_runs)], 0.1))
        if size <= MOST_JUDGED:
            judged = timed(lambda: list(workstation.rejudge(every=True))) / size
            lines.append(_line(size, "judge a run again", [judged], 0.05))
    return lines


def _line(size: int, what: str, times: list[float], aim: float) -> Outcome:
    return seconds_line(f"{size:,} runs, {what}", times, aim)


def _open(path: Path) -> None:
    with closing(Workstation(path, path.with_name("hosts.toml"))) as workstation:
        workstation.library()


def _delete(workstation: Workstation, runs: Sequence[str]) -> None:
    for run in runs:
        workstation.delete(run)


def _command(path: Path, *words: str) -> float:
    """Return the seconds of a command of its own process."""
    command = [sys.executable, "-m", "app", "--store", str(path), *words]
    return timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))

"""The user's own margins by metric, in a TOML file."""

import math
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypedDict

from app.margins import MarginError
from app.output import WriteError, write_whole
from remote.local_file import parse_toml, read_file

MARGINS_FILE = "margins.toml"
"""Its name, in the folder of the saved hosts."""

LARGEST = 2**20
"""Size limit of the file, in bytes."""

_REMEDY = "Fix or move the file."


FORMAT = "benchwright-margins/1"


class MarginsJson(TypedDict):
    """The user's margins by metric, and the defaults, as shares."""

    format: Annotated[str, FORMAT]
    margins: Mapping[str, float]
    default: float
    tail: float


class SavedMargins:
    """The user's margins, by name of the metric. The file has them in percent: ``latency_p99 = 10.0``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def read(self, *, must_exist: bool = False) -> dict[str, float]:
        """Return the margins as shares; raise MarginError for a damaged file; a missing one has none."""
        with self._lock:
            return self._read(must_exist=must_exist)

    def merge(self, given: Mapping[str, float]) -> tuple[list[str], list[str]]:
        """Add the margins of metrics that have none; return those added, and those that differ, which are unchanged."""
        with self._lock:
            known = self._read()
            added = given.keys() - known.keys()
            if added:
                self._write({**given, **known})
        return (
            [f"margin {metric[:60]} = {100 * given[metric]:g} %" for metric in sorted(added)],
            [
                f"margin {metric[:60]} = {100 * share:g} %: yours is {100 * known[metric]:g} %"
                for metric, share in sorted(given.items())
                if known.get(metric, share) != share
            ],
        )

    def keep(self, metric: str, share: float) -> None:
        """Store the margin of a metric, replacing the present one."""
        if not metric.strip() or not metric.isprintable() or "=" in metric or not 0 <= share <= 1:
            raise MarginError(
                f"{metric[:60]} = {100 * share:g} is not a margin.", "Give the name of a metric and 0 to 100 %."
            )
        with self._lock:
            self._write({**self._read(), metric: share})

    def forget(self, metric: str) -> None:
        """Delete the margin of a metric; raise MarginError if there is none."""
        with self._lock:
            known = self._read()
            if metric not in known:
                raise MarginError(f"“{metric[:60]}” has no margin of yours.", "List them: benchwright margins")
            del known[metric]
            self._write(known)

    def _read(self, *, must_exist: bool = False) -> dict[str, float]:
        try:
            return read_file(self._path, LARGEST, MarginError, _REMEDY, _shares)
        except MarginError as error:
            if isinstance(error.__cause__, FileNotFoundError) and not must_exist:
                return {}
            raise

    def _write(self, shares: dict[str, float]) -> None:
        import tomlkit  # takes time, and is only needed to save

        document = {metric: round(100 * shares[metric], 6) for metric in sorted(shares)}
        try:
            write_whole(self._path, tomlkit.dumps(document).encode(), private=True)
        except WriteError as error:
            raise MarginError(f"Cannot save the margin: {error.message}", error.remedy) from error


def _shares(text: str) -> dict[str, float]:
    content = parse_toml(text, MarginError, _REMEDY)
    for metric, percent in content.items():
        number = isinstance(percent, int | float) and not isinstance(percent, bool) and math.isfinite(percent)
        if not number or not 0 <= percent <= 100:
            raise MarginError(f"{metric} is {percent!r}, not 0 to 100 (percent).", _REMEDY)
    return {metric: percent / 100 for metric, percent in content.items()}

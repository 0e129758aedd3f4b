"""curl: the times of -w in the usual layout, and the progress meter, of one request."""

import re
from collections.abc import Callable, Iterator, Mapping

from suites.identities import BINARY, Ascending, broken, noted, printed
from suites.outputs import ParsedTrial, ToolOutput
from suites.parameters import Value
from suites.tool_messages import printable_message
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind

DOWNLOAD = Metric("download_rate", "Download", Unit.BYTES_PER_SECOND, Better.HIGHER, MetricKind.RATE)

_NAMES = ("namelookup", "connect", "appconnect", "pretransfer", "starttransfer", "total")
_TIME = re.compile(rf"(?:time_)?(?P<name>{'|'.join(_NAMES)})\s*[:=]\s*(?P<seconds>\d{{1,6}}[.,]\d{{1,9}})\s*s?$")
_SIZE = r"\d[\d.]{0,8}[kKMGT]?"
_METER = re.compile(
    rf"(?P<percent>\d{{1,3}}) +{_SIZE} +\d{{1,3}} +{_SIZE} +\d{{1,3}} +{_SIZE} "
    rf"+(?P<rate>\d[\d.]{{0,8}})(?P<unit>[kKMGT]?) +{_SIZE} +(?:[-:\d]{{6,10}} +){{3}}{_SIZE}$"
)
FIRST = re.compile(r"% Total +% Received +% Xferd +Average Speed")
LINE = re.compile(rf"time_(?:{'|'.join(_NAMES)}|redirect)\s*[:=]\s*\d|{_METER.pattern}".replace("?P<", "?P<line_"))
_FAILED = re.compile(r"curl: \(\d{1,3}\) .+")
_ORDER = Ascending(("namelookup", "connect", "pretransfer", "starttransfer", "total"), Unit.SECOND)

Phases = Callable[[list[float], str | None], list[Figure]]
"""Returns the figures of the six times of one request in ms, and of the command line."""


def read_curl(suite_id: str, phases: Phases) -> Callable[[str, str | None], Iterator[ToolOutput]]:
    """Return the reader of the text of one request: `phases` makes figures of its times."""

    def read(text: str, command: str | None) -> Iterator[ToolOutput]:
        times, rate, whole, failures = _numbers_in(text)
        seconds = {name: float(value.replace(",", ".")) for name, value in times.items()}
        figures = phases([1000 * seconds[name] for name in _NAMES], command) if seconds.keys() >= set(_NAMES) else []
        figures += [Figure(DOWNLOAD, rate)] if rate else []
        if not figures and not failures:
            return
        cut = () if whole or rate is None else ("The progress meter ends before the transfer did.",)
        notes = (*failures, *cut)
        stated: Mapping[str, Value] = {"requests": 1}
        parsed = ParsedTrial(() if failures else tuple(figures), notes=notes, complete=not notes)
        output = ToolOutput(suite_id, parsed, stated)
        numbers = {name: printed(value) for name, value in times.items()}
        yield from noted((output,), (("", words) for words in broken((_ORDER,), numbers)))

    return read


def _numbers_in(text: str) -> tuple[dict[str, str], float | None, bool, list[str]]:
    """Return the times as printed, the rate of the last line of the meter, whether it is whole, and messages."""
    times: dict[str, str] = {}
    rate, whole, failures = None, False, list[str]()
    for line in (each.strip() for each in text.splitlines()):
        if match := _TIME.match(line):
            times[match["name"]] = match["seconds"]
        elif match := _METER.match(line):
            rate = float(match["rate"]) * BINARY[match["unit"]][0] if match["rate"].count(".") < 2 else None
            whole = match["percent"] == "100"
        elif _FAILED.match(line):
            failures.append(printable_message(line))
    return times, rate, whole, failures[:5]

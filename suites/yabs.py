"""Reading of results of yabs.sh (Yet-Another-Bench-Script), printed or JSON (-j), as a reference table and to judge."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from statistics import median
from typing import Any

from suites.base import Suite
from suites.errors import BenchwrightError
from suites.fio.suite import Fio
from suites.geekbench import Geekbench
from suites.iperf3.suite import Iperf3
from suites.output_times import CLOCK, ZONE, start_in
from suites.outputs import OutputFormat, ParsedTrial, ToolOutput
from suites.parameters import parse_size
from suites.strict_json import object_in, objects_in, read_json
from suites.units import Unit, convert
from suites.vocab import Figure, labels

KIB = 1024
"""YABS printed the KiB/s of fio's terse output as KB/s, and its JSON does: 111.2k IOPS of 4 KiB as 445.04 MB/s."""

_MENDED = "v2026-07-24"
"""The first version that converts what it prints; that of the weeks before did so under an older name (issue #120)."""

_EXACT = 100.0
"""IOPS from which a printed rate shows the unit of the bandwidth beside it: rounded by at most 0.5 %."""

MIXED = {"rw": "randrw", "rwmixread": "50", "ioengine": "libaio", "iodepth": "64", "numjobs": "2", "direct": "yes"}
"""The options of YABS's fio as parameters of fio's suite, beside the block size."""

BLOCKS = {"4k": "4 KiB", "64k": "64 KiB", "512k": "512 KiB", "1m": "1 MiB"}

_BINARY_DOUBT = "The KB/s of YABS are KiB/s: its bandwidths are taken as such."

DOUBTS = (
    "The jobs of YABS share a file of 2 GiB (512 MiB on ARM), and each ends after that many bytes or 30 s.",
    "Its public iperf3 servers are other ends than a peer: these figures are not compared.",
    "One run: no spread.",
)

_CONTROL = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_VERSION = re.compile(r"\bv20\d\d-\d\d-\d\d\b")
_DATES = (
    (re.compile(r"\b(\d{1,2} [A-Z][a-z]{2} 20\d\d)\b"), "%d %b %Y"),
    (re.compile(r"\b[A-Z][a-z]{2} +([A-Z][a-z]{2} +\d{1,2}) [^|]{8,40}? (20\d\d)\b"), "%b %d %Y"),
)
_BEGUN = start_in(
    r'"time"\s*:\s*"(?P<year>20\d\d)(?P<month>\d\d)(?P<day>\d\d)-(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)"',
    rf"^[A-Z][a-z]{{2}} (?P<day>\d{{1,2}}) (?P<month>[A-Z][a-z]{{2}}) (?P<year>\d{{4}}) {CLOCK}(?: (?P<half>[AP]M))?"
    rf"(?: {ZONE}$)?",
    rf"^[A-Z][a-z]{{2}} (?P<month>[A-Z][a-z]{{2}}) +(?P<day>\d{{1,2}}) {CLOCK}(?: (?P<half>[AP]M))?"
    rf"(?: {ZONE}| [A-Z]{{2,5}})? (?P<year>\d{{4}})$",
)
_ABOUT = re.compile(r"(Processor|Kernel|Distro) *: *(\S.{0,200})")
_FIO_ROW = re.compile(r"(Block Size|Read|Write|Total) *\|(.{1,300})")
_FIO_CELL = re.compile(r"(\d{1,9}(?:\.\d{1,3})?) ([KMG])B/s +\((\d{1,9}(?:\.\d{1,3})?)(k?)\)")
_NETWORK = re.compile(r"iperf3 Network Speed Tests \((IPv[46])\)")
_GEEKBENCH = re.compile(r"Geekbench ([4-6]) Benchmark Test")
_HEAD = re.compile(rf"fio Disk Speed Tests|{_NETWORK.pattern}|{_GEEKBENCH.pattern}")
_SCORE = re.compile(r"(Single|Multi) Core *\| *(\d{1,9})\b")
_SPEED = re.compile(r"(\d{1,9}(?:\.\d{1,3})?) ([KMG]?)bits/sec")
_POWERS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9}
_OPERATIONS = {"Read": "read", "Write": "write", "Total": ""}

Row = dict[str, Any]


def is_yabs(text: str) -> bool:
    """Return whether `text` is a result of yabs.sh: printed, or the JSON that it writes."""
    printed = "Yet-Another-Bench-Script" in text or "fio Disk Speed Tests (Mixed R/W" in text
    return printed or (text.lstrip().startswith("{") and _VERSION.search(text[:300]) is not None)


def table_of_yabs(text: str) -> Row:
    """Return the result as the content of a reference table, the JSON where there is one; raise if it is invalid."""
    content = _json(text)
    table = _of_text(text) if content is None else _of_json(content)
    if not table["figure"]:
        raise BenchwrightError("the result of yabs.sh has no figure.", "Paste its output from the first line on.")
    version = table.pop("version")
    machine = table["universe"].get("cpu", "a server")
    source = f"yabs.sh {version}, https://github.com/masonr/yet-another-bench-script".replace("  ", " ")
    binary = [_BINARY_DOUBT] if table.pop("kilo") == KIB else []
    table.pop("blocks")
    for row in table["figure"]:
        row.pop("line", None)
    return {"title": f"YABS: {machine}", "source": source, "doubts": [*binary, *DOUBTS], **table}


def _json(text: str) -> Mapping[str, Any] | None:
    """Return the JSON of a result, also that at the end of the printed text."""
    whole = text.strip()
    if not whole.startswith("{"):
        whole = next((line.strip() for line in whole.splitlines() if line.lstrip().startswith('{"version"')), "")
    if not whole:
        return None
    try:
        found = read_json(whole)
    except ValueError as error:
        if whole != text.strip():
            return None  # cut off or broken: the printed text has the figures
        raise BenchwrightError(f"not valid JSON: {error}.", "Import the printed text instead.") from error
    return found if isinstance(found, dict) else None


def _of_json(content: Mapping[str, Any]) -> Row:
    system, cpu = object_in(content, "os"), object_in(content, "cpu")
    machine = {"kernel": system.get("kernel"), "distribution": system.get("distro"), "cpu": cpu.get("model")}
    return {
        "version": _one_line(content.get("version")),
        "measured": _date(_one_line(content.get("time"))[:8], "%Y%m%d"),
        "universe": {key: text for key, value in machine.items() if (text := _one_line(value))},
        "kilo": KIB,
        "blocks": [_one_line(one.get("bs")).lower() for one in objects_in(content, "fio")],
        "figure": [*_json_figures(content)],
    }


def _json_figures(content: Mapping[str, Any]) -> Iterator[Row]:
    for one in objects_in(content, "fio"):
        for key, operation in (("rw", ""), ("r", "read"), ("w", "write")):
            speed, iops = (_number(one.get(f"{name}_{key}")) for name in ("speed", "iops"))
            yield from _fio(_one_line(one.get("bs")), operation, speed * KIB, iops)
    for one in objects_in(content, "iperf"):
        mode, *cells = (_one_line(one.get(key)) for key in ("mode", "provider", "loc", "send", "recv"))
        yield from _network(mode, cells)
    for one in objects_in(content, "geekbench"):
        for key in ("single", "multi"):
            yield from _score(_one_line(str(one.get("version"))), key, _number(one.get(key)))


def _of_text(text: str) -> Row:
    lines = [_CONTROL.sub("", line).rstrip().rpartition("\r")[2].strip() for line in text.split("\n")]
    about = {match[1]: match[2] for line in lines if (match := _ABOUT.search(line))}
    machine = {"kernel": about.get("Kernel"), "distribution": about.get("Distro"), "cpu": about.get("Processor")}
    found = _VERSION.search(text)
    version = "" if found is None else found[0]
    kilo = _printed_kilo(lines, version)
    return {
        "version": version,
        "measured": next(filter(None, map(_printed_date, lines[:40])), ""),
        "universe": {key: shown for key, value in machine.items() if (shown := _one_line(value))},
        "kilo": kilo,
        "blocks": [
            cell.split()[0]
            for line in lines
            if (row := _FIO_ROW.search(line)) and row[1] == "Block Size"
            for cell in row[2].split("|")
            if cell.split()
        ],
        "figure": [*_text_figures(lines, kilo)],
    }


def _printed_kilo(lines: list[str], version: str) -> int:
    """Return the bytes of a printed KB: as IOPS times block size are, or of the version where they do not decide."""
    rates: dict[Any, dict[str, float]] = {}
    for row in _text_figures(lines, 1000):
        if row["suite"] == "fio":
            key = row["parameters"]["block_size"], row["metric"].startswith("total_"), *row["labels"].values()
            rates.setdefault(key, {})[row["metric"].removeprefix("total_")] = row["value"]
    ratios = [
        each["iops"] * parse_size(block) / each["bandwidth"]
        for (block, *_), each in rates.items()
        if each.get("iops", 0.0) >= _EXACT and "bandwidth" in each
    ]
    ratio = median(ratios) if ratios else 0.0
    for kilo in (1000, KIB):
        if abs(ratio * 1000 / kilo - 1) < (KIB / 1000 - 1) / 2:
            return kilo
    return 1000 if version >= _MENDED else KIB


def _text_figures(lines: list[str], kilo: int) -> Iterator[Row]:
    """Yield the figures, each with the number of lines before the head of its tables."""
    blocks: list[str] = []
    mode = version = ""
    head = 0
    for number, line in enumerate(lines):
        head = number if _HEAD.search(line) else head
        if match := _NETWORK.search(line):
            mode, version = match[1], ""
        elif match := _GEEKBENCH.search(line):
            mode, version = "", match[1]
        elif match := _FIO_ROW.search(line):
            cells = match[2].split("|")
            if match[1] == "Block Size":
                blocks = [cell.split()[0] if cell.split() else "" for cell in cells]
                continue
            for block, cell in zip(blocks, map(_FIO_CELL.search, cells), strict=False):
                if cell is not None:
                    speed = float(cell[1]) * _POWERS[cell[2]] / 1e3 * kilo
                    iops = float(cell[3]) * (1e3 if cell[4] else 1)
                    yield from _at(head, _fio(block, _OPERATIONS[match[1]], speed, iops))
        elif version and (match := _SCORE.search(line)):
            yield from _at(head, _score(version, match[1].lower(), float(match[2])))
        elif mode and len(cells := [cell.strip() for cell in line.split("|")]) in {4, 5}:
            yield from _at(head, _network(mode, [_one_line(cell) for cell in cells]))


def _at(line: int, rows: Iterator[Row]) -> Iterator[Row]:
    return ({**row, "line": line} for row in rows)


def _fio(block: str, operation: str, bandwidth: float, iops: float) -> Iterator[Row]:
    if block.lower() not in BLOCKS:
        return
    labels, name = ({"operation": operation}, "") if operation else ({}, "total_")
    parameters = {**MIXED, "block_size": BLOCKS[block.lower()]}
    for metric, unit, value in (("iops", Unit.PER_SECOND, iops), ("bandwidth", Unit.BYTES_PER_SECOND, bandwidth)):
        if value > 0:
            yield _row("fio", f"{name}{metric}", unit, value, labels=labels, parameters=parameters)


def _network(mode: str, cells: list[str]) -> Iterator[Row]:
    provider, location, sent, received, *_ping = cells
    for direction, speed in (("send", _SPEED.fullmatch(sent)), ("receive", _SPEED.fullmatch(received))):
        if speed is not None and float(speed[1]) > 0:
            labels = {"direction": direction, "peer": f"{provider}, {location}"[:80], "protocol": mode}
            value = float(speed[1]) * _POWERS[speed[2]]
            parameters = {"direction": direction, "streams": "8"}
            yield _row("iperf3", "throughput", Unit.BITS_PER_SECOND, value, labels=labels, parameters=parameters)


def _score(version: str, cores: str, value: float) -> Iterator[Row]:
    if version in {"4", "5", "6"} and value > 0:
        yield _row(
            "geekbench", f"{cores}_core", Unit.ONE, value, labels={}, parameters={"program": f"geekbench{version}"}
        )


def _row(suite: str, metric: str, unit: Unit, value: float, *, labels: Row, parameters: Row) -> Row:
    return {"suite": suite, "metric": metric, "unit": str(unit), "value": round(value, 3), "labels": labels,
            "parameters": parameters}  # fmt: skip


def _number(value: object) -> float:
    """Return a number; 0 for anything else, which is no figure."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _one_line(value: object) -> str:
    return "".join(filter(str.isprintable, value.strip()))[:200] if isinstance(value, str) else ""


def _printed_date(line: str) -> str:
    for pattern, form in _DATES:
        if match := pattern.search(line):
            return _date(" ".join(" ".join(match.groups()).split()), form)
    return ""


def _date(text: str, form: str) -> str:
    try:
        return datetime.strptime(text, form).date().isoformat()  # noqa: DTZ007 -- a date without a zone
    except ValueError:
        return ""


# As outputs to judge


def yabs_formats() -> tuple[OutputFormat, ...]:
    """Return the formats of a result of yabs.sh: its JSON, and what it prints."""
    banner = re.compile(r"#+ +Yet-Another-Bench-Script +#+$")
    return (
        OutputFormat(
            title="YABS JSON", keys=frozenset({"version", "os", "cpu", "net"}), read=_read_output, begun=_BEGUN
        ),
        OutputFormat(title="YABS text", first=banner, line=_HEAD, read=_read_output, begun=_BEGUN),
    )


def _read_output(text: str, _command: str | None) -> Iterator[ToolOutput]:
    """Yield a result for each test of each suite, with the parameters of YABS, and name the blocks without a figure."""
    try:
        table = _of_text(text) if (content := _json(text)) is None else _of_json(content)
    except BenchwrightError:
        return
    rows = table["figure"]
    found: dict[tuple[str, tuple[tuple[str, str], ...]], list[Figure]] = {}
    heads: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}
    for row in rows:
        suite = _SUITES[row["suite"]]
        metric = next((one for one in suite.metrics if one.name == row["metric"]), None)
        if metric is not None:
            key = row["suite"], tuple(sorted(row["parameters"].items()))
            value = convert(row["value"], Unit(row["unit"]), metric.unit)
            heads.setdefault(key, row.get("line", 0))
            found.setdefault(key, []).append(Figure(metric, value, labels(**row["labels"])))
    for key, figures in found.items():
        suite_id, given = key
        stated = {**dict(given), **(_FILE if suite_id == "fio" else {})}
        known = {parameter.name: parameter for parameter in _SUITES[suite_id].parameters}
        values = {name: known[name].parse(value) for name, value in stated.items() if name in known}
        yield ToolOutput(suite_id, ParsedTrial(tuple(figures)), values, name=f"YABS {suite_id}", line=heads[key])
    measured = {row["parameters"].get("block_size") for row in rows}
    blank = [block for block in table["blocks"] if block in BLOCKS and BLOCKS[block] not in measured]
    if blank:
        text = f"fio gave no figure for blocks of {', '.join(dict.fromkeys(blank))}: the cells are blank or 0."
        yield ToolOutput("fio", ParsedTrial(), name="YABS fio", undecided=text, line=min(heads.values(), default=0))


_SUITES: Mapping[str, Suite] = {suite.id: suite for suite in (Fio(), Iperf3(), Geekbench())}

_FILE = {"size": "2 GiB", "runtime": "30 s"}
"""yabs.sh: --size=2G --runtime=30 (512 MiB on ARM)."""

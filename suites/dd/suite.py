"""dd: a sequential copy in one process."""

import re
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

from suites.base import Command, Context, Estimate, Purpose, Suite, TestedTool, Workload
from suites.command_line import CommandSyntax
from suites.dd.checks import DD_CHECKS
from suites.dd.operands import plain_words, refused_words, without_disk
from suites.dd.output import CLOSING, COPIED, IDENTITIES, METRICS, DdParser, tests_in
from suites.dd.parameters import BLOCK_SIZE, DD_PARAMETERS, FILE, PREPARED, TUNED_BLOCK, URANDOM, ZERO, copied, writes
from suites.disk import GIB, MIB, SOLID_STATE_RATE, best_directory, room_for
from suites.equivalents import (
    DISK_QUESTION,
    Bias,
    Equivalent,
    MetricMapping,
    ParameterMapping,
    Traits,
    mapped,
    pattern_text,
    tool_difference,
)
from suites.facts import Directory, Facts, known
from suites.identities import in_text
from suites.output_reading import StatedLine, by_parser, stated_by_command
from suites.outputs import OutputFormat, ParsedTrial, ToolOutput
from suites.parameters import Tuned, Value, Values, parse_size, size_word
from suites.programs import Program, same_package_name
from suites.quantities import quantity
from suites.targets import Target
from suites.vocab import Resource

_REPORT = re.compile(
    r"\d{1,18}\+\d{1,18} \S+ \S+$|\d{1,18} bytes transferred in |"
    r"\d{1,18}\s?[^\W\d_]+(?:\s?[(（]|\s[^\W\d_])[^|:]{0,200}?\d\s?s(?:ec|econds)?[,;、，]\s?[\d.,]{1,20}\s?[kKMGTPEZY]?i?B/s$"
)
"""A line of dd's report, in any language."""

_BROKEN = re.compile(
    r"\d{1,18}\s?[^\W\d_]+\s?[(（](?:(?!B/s)[^\n|:]){0,200}\n(?:(?!B/s)[^\n|:]){0,100}(?<![a-zA-Z])[kKMGTPEZY]?i?B/s"
)
"""A report and its end in the next line."""

_FAILED = r"(?:\S{0,200}/)?dd: (?!warning)[^\n]{1,300}: [^\W\d_][^:\n]{4,80}$"
"""What dd prints of an error that ends the copy, before its report."""

_IN_ONE_COPY = re.compile(r"^\s*\d{1,18}\+\d{1,18} \S|, \d{1,9} s, ", re.MULTILINE)
"""Records of a copy, or its progress, which has whole seconds."""

FILE_NAME, SOURCE_NAME = "benchwright.dat", "benchwright.src"
_FILE, _SOURCE = (Target(FILE_NAME),), (Target(SOURCE_NAME),)

TUNED_SIZE = 4 * GIB
"""Bytes of the tuned copy: 1.6 s at the 2.7 GB/s of a fast disk, 34 s at 125 MB/s."""

SHARE_OF_FREE = 8
"""Of the free space, for each of two files: the copy and its source."""

SHARE_OF_MEMORY = 4
"""Of the memory, for the source: the page cache keeps it."""

_FLUSH_OPERANDS = MappingProxyType(
    {"none": (), "fdatasync": ("conv=fdatasync",), "direct": ("oflag=direct",), "dsync": ("oflag=dsync",)}
)
_READ_OPERANDS = MappingProxyType({"cached": (), "direct": ("iflag=direct",)})


def _size_of_blocks(value: Value, values: Values, _facts: Facts | None) -> Value | None:
    """Return the size of a number of blocks."""
    return int(value) * int(values["block_size"])


def _blocks_of_size(value: Value, values: Values, _facts: Facts | None) -> Value | None:
    """Return the number of blocks of a size."""
    return max(1, int(value) // int(values["block_size"]))


def _flush(value: Value, values: Values, _facts: Facts | None) -> Value | None:
    """Return the flush mode equivalent to that of fio or sysbench fileio."""
    if value == "dsync" or 1 in {values.get("fdatasync"), values.get("fsync_all")}:
        return "dsync"
    if values.get("direct") or value == "direct":
        return "direct"
    return "fdatasync" if values.get("end_fsync") or values.get("fsync_end") else "none"


def _is_direct(value: Value, _values: Values, _facts: Facts | None) -> Value | None:
    """Return whether dd uses O_DIRECT."""
    return value == "direct"


def _blocks_per_flush(value: Value, _values: Values, _facts: Facts | None) -> Value | None:
    """Return after how many blocks dd waits for stable storage; 0 is never."""
    return int(value == "dsync")


def _is_flushed(value: Value, _values: Values, _facts: Facts | None) -> Value | None:
    """Return whether dd flushes once, before its clock stops."""
    return value == "fdatasync"


_TO_FIO = mapped({ZERO: "write", URANDOM: "write", PREPARED: "write", FILE: "read"})
_FROM_FIO = mapped({"write": PREPARED, "read": FILE})  # fio fills its buffers with random bytes
_TO_SYSBENCH = mapped({ZERO: "seqwr", PREPARED: "seqwr", FILE: "seqrd"})
_FROM_SYSBENCH = mapped({"seqwr": ZERO, "seqrd": FILE})
_READ = mapped({True: "direct", False: "cached", "direct": "direct", "none": "cached"})
_FLAGS = mapped({"direct": "direct", "dsync": "dsync", "none": "none", "fdatasync": "none"})
_CLOCK = tool_difference("dd’s clock runs from its start to its end, including open and close.", Bias.OTHER)


def _size(text: str) -> str:
    """Return a size unchanged if dd reads it as Benchwright does: its b is 512 bytes (GNU manual, dd invocation)."""
    if not re.fullmatch(r"\d+(?:[kKMGT](?:i?B)?|[mg])?", text):  # m and g of BSD
        raise ValueError(text)
    return text.upper() if text[-1:] in {"m", "g"} else text


def _count(text: str) -> str:
    """Return a number of blocks; one whose unit ends with B is of bytes since dd 9.1."""
    return text if text.isdecimal() else str(parse_size(_size(text.replace("B", "?"))))


_COUNTED = re.compile(r"\bcount=")
_ENDLESS = re.compile(r"\bif=/dev/(?:zero|u?random)\b")


def _blocks_copied(one: ToolOutput, command: str | None) -> dict[str, Value]:
    """Return the blocks copied, where the command line has no number (up to the end of its input) or fewer.

    The last one is part of a block if the input ends in it: it is not counted, unless it is the only one.
    """
    size, block = _bytes_copied(one.parsed), int(one.stated.get("block_size", BLOCK_SIZE.default))
    counted = int(one.stated.get("count", 0)) if command and _COUNTED.search(command) else 0
    if size <= block * counted:
        return {}
    return {"count": size // block} if size >= block else {"block_size": size, "count": 1}


def _bytes_copied(parsed: ParsedTrial) -> int:
    return next((int(figure.value) for figure in parsed.figures if figure.metric is COPIED), 0)


def _block_size(parsed: ParsedTrial, stated: Values) -> dict[str, Value]:
    """Return the block size: the bytes copied by the blocks read, if these are whole."""
    size = _bytes_copied(parsed)
    if not size:
        return {}
    blocks = int(stated.get("count", 0))
    return {"block_size": size // blocks} if blocks and size % blocks == 0 else {"block_size": size, "count": 1}


class Dd(Suite):
    """dd: writes a file from zeros, random bytes or a prepared file, or reads one back."""

    id = "dd"
    title = "dd"
    summary = (
        "One sequential copy, one block at a time. Quick; subject to page cache, compressible zeros and a slow source."
    )
    resource = Resource.DISK
    tried = TestedTool(
        "GNU dd 9.1 run for real; 9.7 in German and busybox 1.35 from captured outputs",
        "every second",
        "busybox prints no time",
    )
    program = Program("dd", ("dd",), same_package_name("coreutils"), timed=True)
    parameters = DD_PARAMETERS
    syntax = CommandSyntax(
        ("dd",),
        choices=("input", "flush", "read"),
        texts={"block_size": _size, "count": _count},
        normalised=plain_words,
        refused=refused_words,
    )
    metrics = METRICS
    parser_type = DdParser
    directory_parameter = "directory"
    uniform = True
    usual_cov = 0.10
    checks = DD_CHECKS
    equivalents = (
        Equivalent(
            "fio",
            DISK_QUESTION,
            (
                ParameterMapping("directory", "directory"),
                ParameterMapping("input", "rw", _TO_FIO, _FROM_FIO, required=True),
                ParameterMapping("block_size", "block_size"),
                ParameterMapping("count", "size", _size_of_blocks, _blocks_of_size),
                ParameterMapping("flush", "direct", _is_direct, _flush),
                ParameterMapping("flush", "fdatasync", _blocks_per_flush, _flush),
                ParameterMapping("flush", "end_fsync", _is_flushed, _flush),
                ParameterMapping("read", "direct", _is_direct, _READ),
            ),
            (MetricMapping(("bandwidth",), ("bandwidth",)),),
            fixed=(("ioengine", "psync"),),
            reasons=_CLOCK,
        ),
        Equivalent(
            "sysbench-fileio",
            DISK_QUESTION,
            (
                ParameterMapping("directory", "directory"),
                ParameterMapping(
                    "input", "mode", _TO_SYSBENCH, _FROM_SYSBENCH,
                    required=True,
                ),
                ParameterMapping("block_size", "block_size"),
                ParameterMapping("count", "total_size", _size_of_blocks, _blocks_of_size),
                ParameterMapping("flush", "extra_flags", _FLAGS, _flush),
                ParameterMapping("flush", "fsync_end", _is_flushed, _flush),
                ParameterMapping("read", "extra_flags", mapped({"direct": "direct", "cached": "none"}), _READ),
            ),
            (MetricMapping(("bandwidth",), ("bandwidth",)),),
            fixed=(("file_num", 1), ("fsync_freq", 0)),
            reasons=_CLOCK,
        ),
    )  # fmt: skip

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of dd's output, which states none of its operands."""
        stated = (StatedLine("count", re.compile(r"(\d{1,18})\+0 \S+ \S+")),)
        unstated = {"input": (ZERO, URANDOM, PREPARED, FILE), "flush": ("none", "fdatasync", "direct", "dsync")}

        def read(text: str, command: str | None) -> Iterator[ToolOutput]:
            before = 0
            for part in tests_in(text):
                again = None if _IN_ONE_COPY.search(part) else CLOSING  # several reports without their records
                reader = by_parser(
                    self,
                    stated,
                    unstated=unstated,
                    inferred=_block_size,
                    again=again,
                    contradictions=in_text(IDENTITIES),
                )
                for one in reader(part, command):
                    notes = (*one.parsed.notes, *without_disk(command or ""))
                    values = {**one.stated, **self._count_of(command), **_blocks_copied(one, command)}
                    left = dict(one.unstated)
                    if "block_size" not in values and (size := _bytes_copied(one.parsed)) and "count" in values:
                        del values["count"]  # it follows from the default block
                        left |= {"block_size": (TUNED_BLOCK,), "count": (max(1, size // TUNED_BLOCK),)}
                    parsed = replace(one.parsed, notes=notes)
                    yield replace(one, parsed=parsed, stated=values, unstated=left, line=before + one.line)
                before += part.count("\n")

        first = re.compile(rf"\d{{1,18}}\+\d{{1,18}} records in$|{_FAILED}")
        return (OutputFormat(title="dd", first=first, line=_REPORT, broken=_BROKEN, read=read),)

    def _count_of(self, command: str | None) -> dict[str, Value]:
        """Return the blocks that a command requests of a source without an end, which the output may not reach."""
        is_endless = command and _ENDLESS.search(command) and _COUNTED.search(command)
        given = (stated_by_command(self, command) or {}) if is_endless else {}
        return {"count": given["count"]} if "count" in given else {}

    def workload(self, values: Values) -> Workload:
        """Return the copied bytes: to the disk from a device, or from the disk to /dev/null."""
        return Workload(
            size=copied(values),
            copied=("write",) if writes(values) else ("read",),
            buffered=values["flush" if writes(values) else "read"] != "direct",
            queue_depth=1,
            writes_per_sync=1 if writes(values) and values["flush"] == "dsync" else None,
            flushes_last=writes(values) and values["flush"] == "fdatasync",
        )

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return large blocks, a file that takes some seconds, and direct I/O or a flush."""
        tuned = {
            "block_size": Tuned(
                TUNED_BLOCK,
                "Each block is one system call: dd's default of 512 bytes gave 10 MB/s where "
                f"{quantity(TUNED_BLOCK)} gave 2 GB/s.",
            )
        }
        directory = best_directory(context.facts)
        if directory is None:
            return tuned
        tuned["directory"] = Tuned(directory.path, "Most free space of the directories tried.")
        tuned["input"] = Tuned(
            PREPARED,
            "Storage that compresses or deduplicates stores zeros faster than data, and /dev/urandom would be measured "
            "itself: random bytes are written to a file once, before the clock starts, and copied from the page cache.",
        )
        tuned["count"] = _tuned_count(directory, None if context.facts is None else context.facts.memory_for_cache())
        if directory.direct is True:
            why = f"{directory.path} accepts direct I/O (tried): measures the device, not the page cache."
            tuned |= {"flush": Tuned("direct", why), "read": Tuned("direct", why)}
        else:
            why = "A flush before the clock stops includes the device; direct I/O is not known to work here."
            tuned["flush"] = Tuned("fdatasync", why)
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the copy, preceded by writing the file if it is read."""
        if writes(values):
            copy = Command(("dd", *_write_operands(values)), targets=_FILE)
            source = Command(("dd", *_layout_operands(values, SOURCE_NAME)), Purpose.PREPARE, targets=_SOURCE)
            return (source, copy) if values["input"] == PREPARED else (copy,)
        layout = Command(("dd", *_layout_operands(values, FILE_NAME)), Purpose.PREPARE, targets=_FILE)
        return (layout, Command(("dd", *_read_operands(values))))

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return what a trial writes and needs; its duration is the result."""
        size = copied(values)
        written, prepared = (size, 0) if writes(values) else (0, size)
        source = size if values["input"] == PREPARED else 0
        return Estimate(duration=None, written=written, prepared=prepared + source, space=size + source)

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        writing = writes(values)
        flag = values["flush"] if writing else values["read"]
        return Traits(
            operation="write" if writing else "read",
            pattern=pattern_text("sequential", every=self.workload(values).writes_per_sync or 0),
            block=int(values["block_size"]),
            cached=flag != "direct",
            flushed=flag != "none" if writing else None,
            in_flight=1,
            threads=1,
            working_set=copied(values),
        )


def _tuned_count(directory: Directory, memory: int | None) -> Tuned:
    free = known(directory.free)
    size = room_for(TUNED_SIZE, directory, SHARE_OF_FREE)
    size = size if memory is None else min(size, memory // SHARE_OF_MEMORY)
    count = max(1, size // TUNED_BLOCK)
    total = count * TUNED_BLOCK
    room = "" if free is None else f" of the {quantity(free)} free"
    room += "" if memory is None or size < memory // SHARE_OF_MEMORY else ", a quarter of memory for the source"
    return Tuned(count, f"{quantity(total)}{room}: {total / SOLID_STATE_RATE:.2g} s at 1 GB/s, more on a slower disk.")


def _write_operands(values: Values) -> list[str]:
    source = str(values["input"])
    source = SOURCE_NAME if source == PREPARED else source
    whole = ["iflag=fullblock"] if source == URANDOM else []  # one read of /dev/urandom returns at most 32 MiB
    return [
        f"if={source}",
        f"of={FILE_NAME}",
        *_block_operands(values),
        *whole,
        *_FLUSH_OPERANDS[str(values["flush"])],
        "status=progress",
    ]


def _read_operands(values: Values) -> list[str]:
    flags = _READ_OPERANDS[str(values["read"])]
    return [f"if={FILE_NAME}", "of=/dev/null", *_block_operands(values), *flags, "status=progress"]


def _layout_operands(values: Values, name: str) -> list[str]:
    count = -(-copied(values) // MIB)
    return [f"if={URANDOM}", f"of={name}", "bs=1M", f"count={count}", "iflag=fullblock", "conv=fdatasync"]


def _block_operands(values: Values) -> list[str]:
    return [f"bs={size_word(int(values[BLOCK_SIZE.name]), 'KMG')}", f"count={values['count']}"]

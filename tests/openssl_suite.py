"""A suite that Benchwright does not have, of a tool that it has never heard of: `openssl speed`, in one file."""

import re
from collections.abc import Mapping

from suites.base import Command, Context, Estimate, StepEvidence, Suite, TestedTool
from suites.checks import Check, CheckOutcome
from suites.line_parser import LineParser
from suites.outputs import ParsedTrial
from suites.parameters import Parameter, Tuned, Type, Values
from suites.programs import Program, same_package_name
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, Sample, Severity, labels

THROUGHPUT = Metric("cipher_throughput", "Cipher throughput", Unit.KB_PER_SECOND, Better.HIGHER, MetricKind.RATE)
SIZES = (16, 64, 256, 1024, 8192, 16384)

_LIVE = re.compile(r"Doing .+ on (\d+) size blocks: (\d+) .+ in (\d+\.\d+)s")


class SpeedParser(LineParser):
    """Reads one run: a line for each block size as it ends, on stderr, and the table of all on stdout."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: list[str] = []
        self._figures: list[Figure] = []

    def _read(self, line: str) -> None:
        if match := _LIVE.fullmatch(line):
            seconds = float(match[3])
            rate = int(match[1]) * int(match[2]) / seconds / 1000
            time = seconds + (self._samples[-1].time if self._samples else 0)
            self._samples.append(Sample(time, THROUGHPUT, rate, labels(block=f"{match[1]} B")))
        elif line.startswith("type "):
            self._sizes = re.findall(r"(\d+) bytes", line)
        elif self._sizes and (rates := re.findall(r" (\d+\.\d+)k", line)):
            found = zip(self._sizes, rates, strict=False)
            self._figures = [Figure(THROUGHPUT, float(rate), labels(block=f"{size} B")) for size, rate in found]

    def _result(self, _exit_status: int | None) -> ParsedTrial:
        notes = () if self._figures else ("The table of openssl is missing.",)
        return ParsedTrial(tuple(self._figures), tuple(self._samples), notes, complete=bool(self._figures))


def _brief(evidence: StepEvidence) -> CheckOutcome | None:
    return CheckOutcome("seconds is 1.", changes={"seconds": 3}) if evidence.values["seconds"] == 1 else None


class OpensslSpeed(Suite):
    """The suite."""

    id = "openssl-speed"
    title = "OpenSSL & speed"
    summary = "Bytes a second that a cipher takes, by block size."
    resource = Resource.CPU
    tried = TestedTool("OpenSSL 3.0.19 run for real", "every block size", "on one thread")
    program = Program("openssl", ("openssl",), same_package_name("openssl"), version=("version",))
    parameters = (
        Parameter(name="cipher", title="Cipher", type=Type.TEXT, default="aes-256-gcm", help="C.", option="-evp"),
        Parameter(
            name="seconds",
            title="Seconds",
            type=Type.INTEGER,
            default=3,
            help="For each block size.",
            option="-seconds",
            unit="s",
            minimum=1,
        ),
        Parameter(
            name="bytes", title="Block", type=Type.INTEGER, default=0, help="0: all.", option="-bytes", minimum=0
        ),
    )
    metrics = (THROUGHPUT,)
    checks = (
        Check(
            id="openssl-brief",
            severity=Severity.WARNING,
            title="Runtime too short (1 s)",
            why="The processor's clock is still rising.",
            remedy="Set seconds to 3.",
            source="openssl-speed(1).",
            needs="The seconds.",
            evaluate=_brief,
        ),
    )

    def tune(self, context: Context) -> Mapping[str, Tuned]:
        return {} if context.facts is None else {"seconds": Tuned(5, "Five are more than three.")}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        one = ("-bytes", str(values["bytes"])) if values["bytes"] else ()
        words = (
            "openssl",
            "speed",
            "-elapsed",
            "-seconds",
            str(values["seconds"]),
            *one,
            "-evp",
            str(values["cipher"]),
        )
        return (Command(words),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        return Estimate(duration=(1 if values["bytes"] else len(SIZES)) * float(values["seconds"]))

    def parser(self, values: Values) -> SpeedParser:
        return SpeedParser()

"""OpenSSL: the tables of openssl speed, of ciphers, digests and signatures."""

import re
from collections.abc import Iterator

from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome
from suites.identities import noted
from suites.outputs import OutputFormat, ToolOutput
from suites.parameters import Parameter, Type, Value, flag_parameter
from suites.programs import Program
from suites.quantities import quantity
from suites.read_only.base import MOST_FIGURES, ReadOnlySuite, tool_output
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, labels

THROUGHPUT = Metric("throughput_by_block", "Throughput", Unit.KB_PER_SECOND, Better.HIGHER, MetricKind.RATE)
SIGNATURES = Metric("signatures_per_second", "Signatures per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
VERIFICATIONS = Metric(
    "verifications_per_second", "Verifications per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE
)

_LIVE = re.compile(
    r"Doing (?P<name>.{1,60}?) (?:ops )?for (?P<asked>\d{1,6})s "
    r"on (?P<block>\d{1,9}) size blocks: (?P<count>\d{1,15}) .{1,60} "
    r"in (?P<seconds>\d{1,6}\.\d{1,3})s"
)
_TIMED = re.compile(
    r"Doing .{1,80} for (?P<asked>\d{1,6})s(?: on .{1,40})?: \d{1,15} .{1,80} in (?P<seconds>\d{1,6}\.\d{1,3})s$"
)
_HEAD = re.compile(r"type +(?:\d{1,9} bytes *)+$")
_BLOCK = re.compile(r"(\d{1,9}) bytes")
_ROW = re.compile(r"(?P<name>\S.{0,60}?) +(?P<rates>(?:\d{1,15}\.\d{1,3}k? *){1,16})$")
_SIGN = re.compile(
    r"(?P<name>\S.{0,60}?) +\d{1,6}\.\d{1,9}s +\d{1,6}\.\d{1,9}s +(?P<sign>\d{1,12}\.\d) +(?P<verify>\d{1,12}\.\d)$"
)
_VERSION = re.compile(r"(?:version: |OpenSSL )(?P<version>\d{1,2}\.\d{1,3}\.\d{1,3}\w{0,3})\b")

GRANTED = 0.9
"""Share of its time in which openssl has the CPU on a quiet machine."""

MOST_SHARE = 1.05
"""Share above which the times are those of several threads or processes (-multi)."""

NEAR = 0.02
"""Relative difference of a rate and the blocks counted for it: the time is printed with two decimals."""

SHARE = Parameter(
    name="cpu_share", title="CPU time", type=Type.NUMBER, default=0.0, minimum=0, maximum=1e6, unit="%",
    help="Least CPU time in per cent of the time of a block size; 0 if not known.",
)  # fmt: skip
LOW_LEVEL = flag_parameter(
    name="low_level", title="Without -evp", default=False, help="Whether an old version ran without -evp."
)


def _shared(evidence: StepEvidence) -> CheckOutcome | None:
    part = float(evidence.values["cpu_share"])
    return (
        CheckOutcome(f"A block size of 1 s got {part / 100:.2g} s of CPU time.") if 0 < part < 100 * GRANTED else None
    )


def _without_evp(evidence: StepEvidence) -> CheckOutcome | None:
    return CheckOutcome("AES without -evp before OpenSSL 3.") if evidence.values["low_level"] else None


class Openssl(ReadOnlySuite):
    """Throughput by block size, and signatures per second."""

    id = "openssl"
    title = "OpenSSL speed"
    summary = "Throughput of ciphers and digests by block size, and signatures per second."
    resource = Resource.CPU
    program = Program("OpenSSL", ("openssl",))
    parameters = (SHARE, LOW_LEVEL)
    metrics = (THROUGHPUT, SIGNATURES, VERIFICATIONS)
    checks = (
        Check(
            id="openssl-cpu-time",
            title="Rate is per second of CPU time",
            why="Without -elapsed, openssl divides by the CPU time that it got: on a busy machine the rate per "
            "second is lower.",
            remedy="Use -elapsed on a quiet machine.",
            source="openssl-speed(1), -elapsed.",
            evaluate=_shared,
            needs="The lines of progress (standard error).",
        ),
        Check(
            id="openssl-without-evp",
            title="Measured without -evp",
            why="Before OpenSSL 3, AES without -evp is the C code without the instructions of the CPU (AES-NI).",
            remedy="Use openssl speed -evp aes-256-gcm.",
            source="OpenSSL 1.1.1, apps/speed.c: AES_cbc_encrypt() without EVP.",
            evaluate=_without_evp,
            needs="The version and the name of the cipher.",
        ),
    )

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The tables, with the lines of progress or without."""
        line = re.compile(
            rf"{_HEAD.pattern}|Doing .+ size blocks: \d|sign +verify +sign/s|The 'numbers' are in 1000s of bytes"
        )
        broken = re.compile(
            r"type (?: *\d+ bytes)+\n(?:\d+ bytes *)+|\S[^\n]{0,60}?(?: +\d+\.\d\dk)+\n(?:\d+\.\d\dk *)+"
        )
        first = re.compile(r"Doing .{1,60} for \d{1,6}s(?: on |: )")
        return (OutputFormat(title="OpenSSL speed", first=first, line=line, broken=broken, read=self._read),)

    def _read(self, text: str, _command: str | None) -> Iterator[ToolOutput]:
        """Yield each row of the tables; the largest block first, whose rate has the least overhead."""
        sizes: list[str] = []
        lines = [line.strip() for line in text.splitlines()]
        live = [match for line in lines if (match := _LIVE.match(line))]
        timed = [match for line in lines if (match := _TIMED.match(line)) and int(match["asked"])]
        shares = [float(one["seconds"]) / int(one["asked"]) for one in timed]
        granted = 100 * min(shares) if shares and max(shares) <= MOST_SHARE else 0.0
        version = next((match["version"] for line in lines if (match := _VERSION.search(line))), None)
        old = version is not None and version.startswith(("0.", "1."))
        for line in lines[:MOST_FIGURES]:
            if _HEAD.match(line):
                sizes = _BLOCK.findall(line)
            elif (match := _SIGN.match(line)) is not None:
                pairs = ((SIGNATURES, match["sign"]), (VERIFICATIONS, match["verify"]))
                yield tool_output(
                    self.id,
                    [Figure(metric, float(rate)) for metric, rate in pairs],
                    {"cpu_share": granted},
                    name=match["name"],
                    version=version,
                )
            elif sizes and (match := _ROW.match(line)) is not None:
                rates = dict(zip(sizes, (float(rate.rstrip("k")) for rate in match["rates"].split()), strict=False))
                stated: dict[str, Value] = {"low_level": old and re.match(r"aes-\d{3} ", match["name"]) is not None}
                stated["cpu_share"] = granted
                figures = [
                    Figure(THROUGHPUT, rate, labels(block=f"{size} B"))
                    for size, rate in reversed(rates.items())
                    if rate
                ]
                output = tool_output(self.id, figures, stated, name=match["name"], version=version)
                yield from noted((output,), (("", words) for words in _contradictions(live, match["name"], rates)))


def _contradictions(live: list[re.Match[str]], name: str, rates: dict[str, float]) -> Iterator[str]:
    """Yield the first rate of a row that is not the blocks counted for it by their time."""
    for one in live:
        seconds, rate = float(one["seconds"]), rates.get(one["block"])
        same = one["name"].casefold().replace("-", " ") == name.casefold().replace("-", " ")
        if not same or rate is None or seconds < NEAR:
            continue
        computed = int(one["block"]) * int(one["count"]) / seconds / 1000
        if abs(computed - rate) > (NEAR + 0.006 / seconds) * computed:
            shown = (quantity(value, Unit.KB_PER_SECOND) for value in (computed, rate))
            yield f"blocks of {one['block']} B × count / time = {', printed: '.join(shown)}"
            return

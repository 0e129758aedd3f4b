"""Command lines above outputs in a paste: which command, and which options, each result has."""

import pytest

from app.events import OutputSource
from app.outputs.judging import JudgedOutput, judged_output
from app.outputs.recognition import recognise

REPORT = """{count}+{rest} records in
{count}+{rest} records out
{size} bytes (1.0 GB, 1000 MiB) copied, {seconds} s, 106 MB/s
"""


def report(count: int = 1000, seconds: str = "9.9", rest: int = 0, size: int = 0) -> str:
    return REPORT.format(count=count, rest=rest, size=size or count * 2**20, seconds=seconds)


def judged(text: str) -> list[JudgedOutput]:
    return [judged_output(one, OutputSource("pasted", "")) for one in recognise(text).found]


def findings(one: JudgedOutput) -> set[str]:
    return {finding.check for finding in one.verdict.findings}


@pytest.mark.parametrize("prompt", ["$ ", "root@web-1:~# ", "# ", ""])
@pytest.mark.parametrize("next_line", ["  ", "> ", ""])
def test_options_after_a_line_break_are_those_of_the_command(prompt: str, next_line: str) -> None:
    command = f"{prompt}dd if=/dev/zero of=/root/t \\\n{next_line}bs=1M count=1000 \\\n{next_line}oflag=direct\n"

    (one,) = recognise(command + report()).found

    assert one.output.stated["flush"] == "direct"

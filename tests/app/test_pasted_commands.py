"""Command lines above outputs in a paste: which command, and which options, each result has."""

from pathlib import Path

import pytest

from app.events import OutputSource
from app.outputs.files import judged_bytes
from app.outputs.judging import JudgedOutput, judged_output
from app.outputs.recognition import recognise
from app.outputs.tool_lines import command_of, commands_of_tools, tools_of

REPORT = """{count}+{rest} records in
{count}+{rest} records out
{size} bytes (1.0 GB, 1000 MiB) copied, {seconds} s, 106 MB/s
"""


def report(count: int = 1000, seconds: str = "9.9", rest: int = 0, size: int = 0) -> str:
    return REPORT.format(count=count, rest=rest, size=size or count * 2**20, seconds=seconds)


def judged(text: str) -> list[JudgedOutput]:
    return [judged_output(one, OutputSource("pasted", "")) for one in recognise(text).found]


def findings(one: JudgedOutput) -> set[str]:
    return {finding.id for finding in one.verdict.findings}


@pytest.mark.parametrize("prompt", ["$ ", "root@web-1:~# ", "# ", ""])
@pytest.mark.parametrize("next_line", ["  ", "> ", ""])
def test_options_after_a_line_break_are_those_of_the_command(prompt: str, next_line: str) -> None:
    command = f"{prompt}dd if=/dev/zero of=/root/t \\\n{next_line}bs=1M count=1000 \\\n{next_line}oflag=direct\n"

    (one,) = recognise(command + report()).found

    assert one.output.stated["flush"] == "direct"


PROMPTS = (
    "/ # ", "~ # ", "bash-5.1$ ", "-bash-4.2$ ", "sh-4.2# ", "mac$ ", "host:~ user$ ", "user@host ~ % ", "❯ ", "➜  ~ ",
    "➜  proj git:(main) ✗ ", "(base) user@host:~$ ", "17:03:11 root@web ~ # ", "user@host:~/my dir$ ", "PS C:\\> ",
    "C:\\fio>", "λ ", "> ", "└─$ ",
)  # fmt: skip


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_command_is_read_after_any_prompt(prompt: str) -> None:
    command = "dd if=/dev/zero of=/data/x bs=1M count=1000 oflag=direct"

    for before in ("", "sudo time ", "for i in 1 2; do "):
        (one,) = recognise(f"{prompt}{before}{command}\n{report()}").found
        assert (one.command, one.output.stated["flush"]) == (before + command, "direct"), before


@pytest.mark.parametrize(
    "line",
    [
        "I think > dd is slow on this disk",
        "at 95 % dd reaches its limit",
        "user ~ # dd was slow here",
        "cat a > dd",
        "it costs 5 $ with bs=1M and oflag=direct",
    ],
)
def test_a_sentence_with_a_sign_of_prompts_is_no_command(line: str) -> None:
    (one,) = recognise(f"{line}\n{report()}").found

    assert one.command == ""


def test_a_redirection_is_no_prompt() -> None:
    line = "cat a.fio > b; fio --rw=read --name=a > out; fio --rw=write --name=b"

    assert command_of(line) == line


@pytest.mark.parametrize("between", ["; ", " && ", "; echo 3 > /proc/sys/vm/drop_caches; "])
def test_each_output_has_its_own_command_of_one_line(between: str) -> None:
    write = "dd if=/dev/zero of=/root/t bs=1M count=1000 conv=fdatasync"
    read = "dd if=/root/t of=/root/u bs=1M count=500 oflag=direct"

    first, second = recognise(f"$ {write}{between}{read}\n{report()}{report(500)}").found

    assert (first.output.stated["flush"], second.output.stated["flush"]) == ("fdatasync", "direct")
    assert second.output.stated["count"] == 500


def test_a_drop_between_two_commands_counts_for_the_second() -> None:
    again = "dd if=/root/t of=/dev/null bs=1M count=1000"

    found = recognise(
        f"$ dd if=/dev/zero of=/root/t bs=1M count=1000; sysctl vm.drop_caches=3; {again}\n{report() * 2}"
    )

    assert any("drop_caches" in note for note in found.found[1].output.parsed.notes)


@pytest.mark.parametrize(
    ("operands", "records", "incomplete"),
    [
        ("bs=64M", (68, 1), False),
        ("bs=8G", (0, 1), False),
        ("bs=64M count=100", (68, 1), True),
        ("bs=64M count=69", (69, 0), False),
    ],
)
def test_a_partial_last_record_is_the_end_of_the_file(
    operands: str, records: tuple[int, int], *, incomplete: bool
) -> None:
    full, rest = records
    size = full * 2**26 + rest * 30932992

    (one,) = judged(f"$ dd if=/root/f of=/root/g {operands} oflag=direct\n{report(full, rest=rest, size=size)}")

    assert ("copied-in-part" in findings(one)) == incomplete


def test_a_short_copy_that_flushes_each_block_has_a_caveat() -> None:
    command = "$ dd if=/dev/zero of=/root/t bs=4k count=1000 oflag=dsync\n"

    short, long = (judged(command + report(1000, seconds, size=4096000))[0] for seconds in ("1.31", "6.5"))

    assert "short-runtime" in findings(short)
    assert "short-runtime" not in findings(long)


def test_an_error_of_the_tool_is_not_called_an_end_without_an_error() -> None:
    text = "tr: (groupid=0, jobs=1): err=25 (file:x.c:1, func=xfer, error=Inappropriate ioctl for device): pid=1:\n"

    (one,) = judged("fio-3.33\nStarting 1 process\n" + text)

    assert not any("without an error" in finding.measured for finding in one.verdict.findings)


FIO = "fio --name=j --rw=randread --bs=4k --direct=1 --size=64M --runtime=10"
DIRECT, SYNCED = "dd if=/dev/zero of=/root/t bs=1M oflag=direct", "dd if=/dev/zero of=/root/t bs=1M conv=fdatasync"
CPU = "sysbench cpu --cpu-max-prime=12345 run"


def outputs() -> dict[str, str]:
    folder = Path(__file__).parents[1] / "data"
    terse = (folder / "fio-text" / "3.33" / "psync.stdout").read_text().partition("{")[0]
    return {
        "dd": report(),
        "fio": terse,
        "sysbench": (folder / "sysbench" / "1.0.20" / "cpu_default.stdout").read_text(),
    }


@pytest.mark.parametrize("between", ["; ", "\n$ "])
@pytest.mark.parametrize(
    ("commands", "tools", "expected"),
    [
        ((DIRECT, FIO), ("fio", "dd"), (FIO, DIRECT)),
        ((CPU, FIO, DIRECT), ("dd", "sysbench", "fio"), (DIRECT, CPU, FIO)),
        ((DIRECT, FIO, SYNCED), ("fio", "dd", "dd"), (FIO, DIRECT, SYNCED)),
        ((CPU, DIRECT), ("dd",), (DIRECT,)),
        ((CPU,), ("dd", "sysbench"), ("", CPU)),
    ],
)
def test_a_command_is_that_of_the_output_of_its_tool(
    commands: tuple[str, ...], tools: tuple[str, ...], expected: tuple[str, ...], between: str
) -> None:
    texts = outputs()

    found = recognise(f"$ {between.join(commands)}\n" + "".join(texts[tool] for tool in tools)).found

    own = [next(commands_of_tools(one.command, tool), "") for one, tool in zip(found, tools, strict=True)]
    assert own == list(expected)
    assert [one.output.stated.get("direct", one.output.stated.get("flush")) for one in found] == [
        {DIRECT: "direct", SYNCED: "fdatasync", FIO: True}.get(each) for each in expected
    ]


def test_of_two_commands_of_a_tool_the_one_before_its_only_output_counts() -> None:
    (one,) = recognise(f"$ {DIRECT}\n$ {SYNCED}\n{report()}").found

    assert one.output.stated["flush"] == "fdatasync"


@pytest.mark.parametrize("command", ["dd {}", "for i in 1 2; do dd {}; done"])
def test_a_lone_line_of_another_person_has_not_the_command_that_is_quoted_above(command: str) -> None:
    line = command.format("if=/dev/zero of=/data/t bs=1M count=2048 oflag=direct")
    copied = "2147483648 bytes (2.1 GB, 2.0 GiB) copied, {} s, 179 MB/s"
    quoted = f">> $ {line}\n>> 2048+0 records in\n>> 2048+0 records out\n>> {copied.format('12.0')}\n"
    for between in ("", "> and mine:\n", "and mine:\n"):
        for mark in ("", "> "):
            text = f"{quoted}{between}{mark}{copied.format('12.1')}\n"
            found = judged_bytes("paste", text.encode()).outputs
            assert ["oflag=direct" in one.found.command for one in found] == [True, False], text


def test_a_program_in_a_folder_with_a_blank_is_known() -> None:
    assert tools_of("'/opt/my tools/fio' --name=x --rw=read; /opt/redis-benchmark -n 1") == {"fio", "redis-benchmark"}

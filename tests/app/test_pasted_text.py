"""Text as people paste it: quoted, coloured, side by side, encoded, broken by a mail program or a terminal."""

import codecs

import pytest

from app.outputs.pasted_text import Line, decoded, decoded_lines, dedented, lines_of, plain, rejoined, uncut
from app.outputs.tool_lines import goes_on

ROW = "[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec  receiver"


def texts(lines: list[Line]) -> list[str]:
    return [line.text for line in lines]


def nothing(_line: str) -> bool:
    return False


def nothing_after(_line: str, _rest: str) -> bool:
    return False


@pytest.mark.parametrize(
    "encoded",
    [
        b"\xef\xbb\xbf5 \xc2\xb5s",
        codecs.BOM_UTF16_LE + "5 µs".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "5 µs".encode("utf-16-be"),
        "5 µs".encode(),
        "5 µs".encode("latin-1"),
    ],
)
def test_a_file_is_decoded_by_its_mark_or_its_bytes(encoded: bytes) -> None:
    assert decoded(encoded) == "5 µs"


@pytest.mark.parametrize(
    "line", [f"> {ROW}", f">> > {ROW}", f"\x1b[1;32m{ROW}\x1b[0m", ROW.replace(" ", "\u00a0"), f"\u200b{ROW}  "]
)
def test_what_mail_and_terminals_add_is_left_out(line: str) -> None:
    assert texts(plain(lines_of(f"{line}\n{line}"))) == [ROW, ROW]


def test_a_fence_is_an_empty_line_and_entities_are_text() -> None:
    fenced = lines_of("```text\n&gt; 95th=[ 5] &amp; more\n```")
    assert texts(plain(decoded_lines(fenced))) == ["", "95th=[ 5] & more", ""]


def test_the_panes_of_a_terminal_are_one_below_the_other() -> None:
    beside = lines_of("a 1 │ b 1\na 2 │ b 2")
    assert texts(plain(beside)) == ["a 1", "a 2", " b 1", " b 2"]
    assert texts(plain(lines_of("│ a 1 │\n│ a 2 │")))[:2] == [" a 1", " a 2"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('"stdout": "a: 1\\n  b: \\"2\\"\\n", "rc": 0', ["a: 1", '  b: "2"']),
        ('{"log": "a: 1\\n", "stream": "stdout"}', ["a: 1"]),
        (r"'\x1b[1ma\x1b[0m\n\u00b5s'", ["a", "µs"]),
        ("IOPS=3D12.3k, a=\n b", ["IOPS=12.3k, a b"]),
        ("<pre>a &lt;b&gt;\n<b>c</b></pre>", ["a <b>", "c"]),
        ('web,"a\n""b"": 1"', ["a", '"b": 1']),
    ],
)
def test_what_encodes_a_text_is_left_out(text: str, lines: list[str]) -> None:
    assert texts(decoded_lines(lines_of(text))) == lines


@pytest.mark.parametrize("text", ["read: IOPS=20.3k, BW=48.1MiB/s", "<host> 5", 'it\'s "one" line', "a,b"])
def test_a_text_that_is_not_encoded_stays(text: str) -> None:
    assert texts(decoded_lines(lines_of(text))) == [text]


def test_lines_have_the_number_of_the_line_that_they_were_made_of() -> None:
    found = decoded_lines(lines_of('x\n"a\\nb\\n"\ny'))
    assert [(line.number, line.text) for line in found] == [(1, "x"), (2, "a"), (2, "b"), (3, "y")]


def test_lines_that_a_mail_program_broke_are_rejoined() -> None:
    broken = lines_of("[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec   12\n   sender\nshort\nshort")
    joined = ["[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec   12 sender", "short", "short"]
    assert texts(rejoined(broken, nothing, goes_on)) == joined
    wide = lines_of(f"{'x' * 60} 941 Mbits/sec\nsender")
    assert texts(rejoined(wide, nothing, nothing_after)) == [f"{'x' * 60} 941 Mbits/sec sender"]
    assert rejoined(wide, lambda line: "sender" in line, nothing_after) == wide


def test_lines_that_a_terminal_cut_are_rejoined() -> None:
    whole = ["x" * 70 + "  1.10 GBytes", "y" * 70 + "  2.20 GBytes", "short"]
    cut = [part for line in whole for part in (line[:75], line[75:]) if part]
    assert texts(uncut(lines_of("\n".join(cut)), nothing)) == whole


def test_the_indentation_of_the_first_line_of_a_tool_is_left_out() -> None:
    assert dedented(["prose", "    a:", "", "      b", "c"], "    a:") == ["prose", "a:", "", "  b", "c"]

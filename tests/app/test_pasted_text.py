"""Text as people paste it: quoted, coloured, stamped, broken by a mail program."""

import codecs

import pytest

from app.outputs.pasted_text import decoded, dedented, variants

ROW = "[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec  receiver"


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
    "line",
    [
        f"> {ROW}",
        f">> > {ROW}",
        f"\x1b[1;32m{ROW}\x1b[0m",
        f"2026-11-28T12:00:01.123Z {ROW}",
        f"[2026-11-28 12:00:01] {ROW}",
        f"Nov 28 12:00:01 web-1 iperf3[912]: {ROW}",
        ROW.replace(" ", "\u00a0"),
        f"\u200b{ROW}  ",
    ],
)
def test_what_mail_terminals_and_logs_add_is_left_out(line: str) -> None:
    assert next(variants(f"{line}\n{line}")) == [ROW, ROW]


def test_entities_of_a_web_page_are_text_and_fences_are_empty_lines() -> None:
    assert next(variants("```text\n&gt; 95th=[ 5] &amp; more\n```")) == ["", "95th=[ 5] & more", ""]


def test_a_stamp_of_one_line_stays() -> None:
    text = "2026-11-28 12:00:01 started\nno stamp\nno stamp"
    assert next(variants(text)) == text.split("\n")


def test_lines_that_a_mail_program_broke_are_rejoined() -> None:
    broken = "[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec   12\n   sender\nshort\nshort"
    as_pasted, rejoined = variants(broken)
    assert as_pasted[1] == "   sender"
    assert rejoined == ["[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec   12 sender", "short", "short"]


def test_the_indentation_of_the_first_line_is_left_out() -> None:
    assert dedented(["    a:", "", "      b", "c"]) == ["a:", "", "  b", "c"]

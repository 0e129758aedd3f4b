"""The parser of dd's report, on captures of GNU and busybox, failures and cut-off outputs among them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.dd.output import DdParser
from suites.outputs import ParsedTrial
from suites.vocab import Sample
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures, series

MESSAGES = messages("suites", "test_dd_output")


def parse(text: str | bytes, exit_status: int | None = None) -> ParsedTrial:
    parser = DdParser()
    parser.feed(text.encode() if isinstance(text, str) else text, "stderr")
    return parser.finish(exit_status)


@pytest.mark.parametrize(
    ("path", "copied", "seconds"),
    [
        ("dd/9.1/zero_fdatasync", 536_870_912, 0.81803),
        ("dd/9.1/read_direct", 536_870_912, 0.488332),
        ("dd/9.1/urandom_progress", 1_572_864_000, 3.37298),
        ("dd/9.1/tiny", 1, 3.2639e-05),
        ("dd/9.7-de_DE/zero_null", 268_435_456, 0.00304803),
    ],
)
@pytest.mark.parametrize("mixed", [False, True], ids=["streams apart", "streams mixed"])
def test_the_rate_is_computed_from_bytes_and_seconds(path: str, copied: int, seconds: float, mixed: bool) -> None:  # noqa: FBT001 (pytest's parameter)
    parsed = capture(path).parse(DdParser(), mixed=mixed)
    assert parsed.complete
    assert figures(parsed) == {"bandwidth": copied / seconds / 1e6, "elapsed": seconds, "copied": copied}


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.5 s, 424 MB/s", 2.5),
        ("1073741824 bytes (1.1 GB) copied, 2.5 s, 424 MB/s", 2.5),  # before coreutils 8.24
        ("1073741824 octets (1,1 GB, 1,0 GiB) copiés, 2,5 s, 424 MB/s", 2.5),
        ("1073741824 バイト (1.1 GB, 1.0 GiB) コピーされました、 2.5 s、 424 MB/s", 2.5),
        ("1073741824字节（1.1 GB，1.0 GiB）已复制，2.5 s，424 MB/s", 2.5),
        ("1073741824 bytes (1.0GB) copied, 2.500000 seconds, 409.6MB/s", 2.5),  # busybox
        ("1073741824 bytes (1.1 GB, 1.0 GiB) copied, 1e-05 s, Infinity B/s", 1e-05),
    ],
)
def test_reports_of_other_versions_and_languages(line: str, seconds: float) -> None:
    parsed = parse(f"1024+0 records in\n1024+0 records out\n{line}\n")
    assert parsed.complete
    assert figures(parsed)["elapsed"] == seconds
    assert figures(parsed)["bandwidth"] == pytest.approx(2**30 / seconds / 1e6)


def test_progress_is_differenced() -> None:
    parsed = capture("dd/9.1/urandom_progress").parse(DdParser())
    times, rates = zip(*series(parsed.samples, "bandwidth"), strict=True)
    assert times == (1.0, 2.0, 3.0)
    assert rates == pytest.approx((478.150656, 469.762048, 443.547648))


def test_a_line_of_progress_is_read_before_the_next_one_ends_it() -> None:
    parser = DdParser()
    assert parser.feed(b"\r27033600 bytes (27 MB, 26 MiB) copied, 1 s, 27.0 MB/", "stderr") == []
    (sample,) = parser.feed(b"s", "stderr")
    assert sample.time == 1.0
    assert sample.value == pytest.approx(27.0336)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("enospc", "No space left on device"),
        ("eacces", "Permission denied"),
        ("einval_direct", "Invalid argument"),
        ("missing_directory", "No such file or directory"),
        ("bad_flag", "invalid output flag: ‘swift’"),
    ],
)
def test_failures_are_named(name: str, words: str) -> None:
    captured = capture(f"dd/9.1/{name}")
    for status in (captured.exit_status, None):
        parser = DdParser()
        parser.feed(captured.stderr, "stderr")
        parsed = parser.finish(status)
        assert not parsed.complete
        assert words in parsed.notes[0]


@pytest.mark.parametrize(
    ("shown", "status"), [("", 0), ("dd: error reading '/srv': Is a directory\n", 1)], ids=["nothing", "an error"]
)
def test_a_copy_of_nothing_has_no_rate(shown: str, status: int) -> None:
    report = "0+0 records in\n0+0 records out\n0 bytes copied, 4.92e-05 s, 0.0 kB/s\n"
    found = parse(shown + report, status)
    assert (found.complete, found.figures) == (False, ())
    assert MESSAGES["dd_copied_nothing_so_there"] in found.notes


def test_what_was_written_before_the_disk_was_full_is_kept() -> None:
    assert figures(capture("dd/9.1/enospc").parse(DdParser()))["copied"] == 16 * 2**20


def test_busybox_without_a_time_has_no_rate() -> None:
    parsed = capture("dd/busybox-1.35/zero_fsync").parse(DdParser())
    assert not parsed.complete
    assert parsed.figures == ()
    assert "prints no time" in parsed.notes[0]


def test_a_killed_dd_leaves_its_last_progress() -> None:
    parsed = capture("dd/9.1/sigkill").parse(DdParser())
    assert not parsed.complete
    assert MESSAGES["closing_report_is_missing"] in parsed.notes[0]
    assert figures(parsed)["copied"] == 55_185_408


def test_an_interrupted_dd_says_so_by_its_exit_status() -> None:
    parsed = capture("dd/9.1/sigint").parse(DdParser())
    assert not parsed.complete
    assert parsed.notes == (MESSAGES["dd_ended_with_exit_status"],)
    assert figures(parsed)["copied"] == 32_411_648


def test_blocks_read_in_part_are_told() -> None:
    parsed = parse(
        "dd: warning: partial read (33554431 bytes); suggest iflag=fullblock\n"
        "0+2 records in\n0+2 records out\n67108862 bytes (67 MB, 64 MiB) copied, 0.2 s, 336 MB/s\n"
    )
    assert parsed.complete
    assert parsed.notes == (MESSAGES["2_blocks_were_read_only_in"],)


def test_an_interim_report_is_no_end() -> None:
    report = "5+0 records in\n5+0 records out\n5242880 bytes (5 MB) copied, 1 s, 5 MB/s\n"
    assert parse(report).complete
    assert not parse(report + "\r7340032 bytes (7 MB) copied, 2 s, 3 MB/s").complete


@pytest.mark.parametrize("text", ["", "hello", "9" * 300 + " bytes copied, 1 s, 1 MB/s", "1 bytes copied, 0 s, 1 B/s"])
def test_what_is_no_report_is_said(text: str) -> None:
    parsed = parse(text)
    assert not parsed.complete
    assert parsed.notes
    assert "bandwidth" not in figures(parsed)


def lives(chunks: list[bytes]) -> tuple[list[Sample], ParsedTrial]:
    parser = DdParser()
    samples = [sample for chunk in chunks for sample in parser.feed(chunk, "stderr")]
    return samples, parser.finish(None)


FRAGMENTS = st.sampled_from([b"\r5 bytes copied, 1 s, 2 MB/s", b"1+0 records in\n", b"B/s", b"\r", b"dd: x\n"])


@given(st.lists(FRAGMENTS | st.binary(max_size=60), max_size=12), st.lists(st.integers(0, 400), max_size=12))
def test_any_bytes_are_read_however_they_arrive(parts: list[bytes], cuts: list[int]) -> None:
    whole = b"".join(parts)
    edges = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    assert lives([whole[start:end] for start, end in pairwise(edges)]) == lives([whole])


def test_an_endless_line_is_bounded() -> None:
    parser = DdParser()
    for _ in range(100):
        parser.feed(b"x" * 65536, "stderr")
    assert not parser.finish(None).complete

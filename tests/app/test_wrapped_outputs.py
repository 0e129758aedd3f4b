"""Outputs in everything that people and programs put around them: the figures stay, or are not read; never others."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.outputs.files import JudgedFile, judged_bytes
from suites.verdict import Trust
from tests.app.wrappings import WRAPPINGS

DATA = Path(__file__).parents[1] / "data"

SAMPLE = (
    "dd/9.1/sigkill",
    "dd/9.1/urandom_progress",
    "fio/2.21/json_final",
    "hyperfine/1.15.0/once",
    "iperf3/3.12/udp_P2_text",
    "ioping/1.3/direct",
    "judged/objected/fio-448-samples-of-one",
    "judged/objected/fio-837-fsync-on-close",
    "pgbench/15.18/rate",
    "sysbench/1.0.20/cpu_default",
)

LARGEST = 14_000
"""Characters of an output that is wrapped."""

MOST_UNREAD = 0.01
"""Share of the wrapped outputs that may be not read."""

Found = list[tuple[str, str, str, str, float]]


def captured(name: str) -> str:
    """Return what a terminal showed of a capture."""
    streams = (DATA / f"{name}{suffix}" for suffix in (".stderr", ".stdout"))
    return "".join(each.read_text(errors="replace") for each in streams if each.exists())


def figures(judged: JudgedFile) -> Found:
    return sorted(
        (one.found.output.suite_id, one.found.output.name, figure.metric.name, str(figure.labels), figure.value)
        for one in judged.outputs
        for figure in one.found.output.parsed.figures
    )


def trusts(judged: JudgedFile) -> list[Trust]:
    return sorted(one.verdict.trust for one in judged.outputs)


def judged(text: str) -> JudgedFile:
    return judged_bytes("paste", text.encode())


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", SAMPLE)
def test_what_surrounds_an_output_changes_neither_its_figures_nor_its_verdict(name: str) -> None:
    text = captured(name)
    bare = judged(text)
    assert figures(bare)
    for title, wrap in WRAPPINGS.items():
        wrapped = judged(wrap(text.splitlines()))
        assert figures(wrapped) == figures(bare), title
        assert trusts(wrapped) == trusts(bare), title


@pytest.mark.parametrize("name", ["iperf3/3.12/tcp_P4_text", "sysbench/1.0.20/cpu_default", "ioping/1.3/direct"])
def test_the_columns_beside_an_output_in_a_table_are_left_out(name: str) -> None:
    """A table of Confluence or of a spreadsheet is pasted with tabs between its columns."""
    text = captured(name)
    rows = "".join(f"{number}\t{line}\tweb-1\n" for number, line in enumerate(text.splitlines(), 1))
    assert figures(judged(rows)) == figures(judged(text)) != []


def folded(text: str, width: int, *, blanks: bool) -> str:
    """Return a text with its lines broken at blanks, which `fold -s` keeps at the end and mail programs leave out."""
    found = []
    for whole in text.splitlines():
        line = whole
        while len(line) > width:
            at = (line.rfind(" ", 0, width) + 1 or width) if blanks else line.rfind(" ", 0, width + 1)
            if not line[:at].strip():
                break
            found.append(line[:at])
            line = line[at:] if blanks else line[at:].lstrip()
        found.append(line)
    return "\n".join(found)


LOSSY = """\
$ iperf3 -c 10.0.0.5 -u -b 500M -t 10
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-10.00  sec   596 MBytes   500 Mbits/sec  0.000 ms  0/431640 (0%)  sender
[  5]   0.00-10.04  sec   300 MBytes   251 Mbits/sec  0.021 ms  214350/431630 (50%)  receiver
"""
COPY = """\
# dd if=/dev/zero of=/mnt/t bs=1M count=1024 oflag=direct
1024+0 records in
1024+0 records out
1073741824 bytes (1.1 GB, 1.0 GiB) copied, 12.1 s, 88.7 MB/s
"""
FOLDED = [
    *("iperf3/3.12/tcp_text", "iperf3/3.12/tcp_verbose_text", "iperf3/3.12/udp_text", "iperf3/3.12/tcp_bidir_text"),
    *("openssl/3.0.19/aes_256_gcm", "pg-test-fsync/17.12/disk", "http/wrk-4.1.0/server_died"),
    *("ioping/1.3/sigterm", "go/1.26/bench_count4", "stream/1/sigterm", "iperf3/3.21/client_sigterm_jsonstream"),
]
WHOLE = ["sysbench/1.0.20/cpu_default", "sysbench/1.0.20/mutex_default", "redis/6.0.16/set", "pgbench/15.18/tpcb"]
"""Captures of which broken lines lose nothing."""


@pytest.mark.quick(5)
@pytest.mark.parametrize("text", [LOSSY, COPY, *FOLDED, *WHOLE], ids=["lossy", "dd", *FOLDED, *WHOLE])
def test_broken_lines_make_no_other_figures(text: str) -> None:
    is_whole = text in {LOSSY, COPY, *WHOLE}
    text = captured(text) if text in {*FOLDED, *WHOLE} else text
    bare = {one[1:] for one in figures(judged(text))}
    for width in range(40, 131, 9):
        for blanks in (True, False):
            broken = folded(text, width, blanks=blanks)
            for shown in (broken, broken.replace("\n", "\n> ")) if broken != text else ():
                found = {one[1:] for one in figures(judged(shown))}
                assert found <= bare, (width, blanks)
                if is_whole:
                    assert found == bare, (width, blanks)


@pytest.mark.parametrize(("width", "named"), [(60, False), (66, True), (100, False)])
def test_lines_cut_within_words_are_joined_or_named(width: int, *, named: bool) -> None:
    text = captured("iperf3/3.12/udp_text")
    lines = [line[at : at + width] for line in text.splitlines() for at in range(0, len(line) or 1, width)]
    cut = judged("\n".join(lines))
    assert named is any(one.id == "lines-cut" for output in cut.outputs for one in output.verdict.findings)
    assert named or figures(cut) == figures(judged(text))


def whole_outputs() -> Iterator[tuple[str, str]]:
    """Yield each capture that has figures, and its text."""
    names = {
        str(path.relative_to(DATA).with_suffix(""))
        for kind in ("stdout", "stderr")
        for path in DATA.glob(f"*/*/*.{kind}")
    }
    for name in sorted(names):
        text = captured(name)
        if len(text) < LARGEST and figures(judged(text)):
            yield name, text


@pytest.mark.slow
def test_no_wrapping_makes_other_figures_of_any_output() -> None:
    cases, unread = 0, []
    for name, text in whole_outputs():
        bare = judged(text)
        for title, wrap in WRAPPINGS.items():
            cases += 1
            wrapped = judged(wrap(text.splitlines()))
            if not figures(wrapped):
                assert trusts(wrapped).count(Trust.INVALID) <= trusts(bare).count(Trust.INVALID), (name, title)
                unread.append((name, title))
            else:
                assert figures(wrapped) == figures(bare), (name, title)
    assert len(unread) <= MOST_UNREAD * cases, unread


def log_with_an_output(lines: int) -> str:
    """Return a log of a CI job, with an output within it."""
    rows = [f"step {number}: read 12345 bytes | [ 5] request=/x?y={number} {{a}}" for number in range(lines)]
    rows[lines // 2 : lines // 2] = captured("sysbench/1.0.20/cpu_default").splitlines()
    return WRAPPINGS["GitHub Actions"](rows)


@pytest.mark.slow
@pytest.mark.alone
def test_a_log_that_is_twice_as_long_takes_twice_the_time() -> None:
    taken = []
    for lines in (5_000, 10_000):  # both are read in every way
        text = log_with_an_output(lines)
        began = time.process_time()
        assert len(figures(judged(text))) == len(figures(judged(captured("sysbench/1.0.20/cpu_default"))))
        taken.append(time.process_time() - began)
    assert taken[1] < 3 * taken[0]

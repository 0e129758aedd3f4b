"""Reports of dd as people give them, in part, translated or without a disk: never a wrong figure."""

import pytest

from suites.outputs import CACHE_DROPPED
from suites.verdict import Trust
from tests.app.judged_text import ids, only, outputs, value

CLOSING = "1073741824 bytes (1.1 GB, 1.0 GiB) copied, {}, 894 MB/s\n"


def test_the_closing_report_of_dd_alone_is_complete() -> None:
    one = only(CLOSING.format("1.2 s"))
    assert value(one, "elapsed") == 1.2
    assert not {"output-incomplete", "errors-in-output"} & ids(one)


def test_closing_reports_of_several_copies_are_several_results() -> None:
    found = outputs("".join(CLOSING.format(f"{seconds} s") for seconds in (1.2, 1.201, 1.199)))
    assert [value(one, "elapsed") for one in found] == [1.2, 1.201, 1.199]
    assert not any("output-incomplete" in ids(one) for one in found)


def test_closing_reports_of_whole_seconds_are_several_results_unless_the_bytes_grow() -> None:
    found = outputs(CLOSING.format("2 s") * 3)
    assert [value(one, "elapsed") for one in found] == [2.0, 2.0, 2.0]


def test_the_last_progress_of_a_killed_dd_is_no_closing_report() -> None:
    later = CLOSING.format("2 s").replace("1073741824", "2147483648").replace("1.1 GB, 1.0 GiB", "2.1 GB, 2.0 GiB")
    text = "\r" + CLOSING.format("1 s").strip() + "\r" + later
    assert "output-incomplete" in ids(only(text))


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [("1,2 s", 1.2), ("1.234,5 s", 1234.5), ("1,234.5 s", 1234.5), ("1'234.5 s", 1234.5), ("1.2e-05 s", 1.2e-05)],
)
def test_decimal_commas_and_separators_of_dd_are_read(seconds: str, expected: float) -> None:
    text = f"1+0 Datensätze ein\n1+0 Datensätze aus\n{CLOSING.format(seconds).replace('copied', 'kopiert')}"
    assert value(only(text), "elapsed") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("operands", "trust", "finding"),
    [
        ("if=/dev/zero of=/dev/null", Trust.INVALID, "memory"),
        ("if=/dev/zero of=/dev/shm/x conv=fdatasync", Trust.INVALID, "memory"),
        ("if=/dev/sda of=/dev/null iflag=direct", Trust.UNVERIFIED, "Reading /dev/sda"),
        ("if=/dev/shm/x of=/mnt/x oflag=direct", None, ""),
        ("if=/dev/zero of=/mnt/x oflag=direct", None, ""),
    ],
)
def test_a_copy_that_writes_no_disk_is_named(operands: str, trust: Trust | None, finding: str) -> None:
    report = "4096+0 records in\n4096+0 records out\n4294967296 bytes (4.3 GB, 4.0 GiB) copied, 20.0 s, 215 MB/s\n"
    one = only(f"$ dd {operands} bs=1M count=4096\n{report}")
    found = next((each for each in one.verdict.findings if each.id in {"no-disk-written", "read-rate"}), None)
    assert (found is None) == (not finding)
    if found is not None:
        assert one.verdict.trust is trust
        assert finding in found.measured
        assert "written" not in found.title


@pytest.mark.parametrize(
    ("operands", "flush"),
    [
        ("oflag=direct,sync,nonblock conv=fsync", "dsync"),
        ("oflag=direct oflag=sync", "dsync"),
        ("oflag=sync", "dsync"),
        ("oflag=direct,nonblock", "direct"),
        ("oflag=direct conv=fsync", "direct"),
        ("conv=fsync,notrunc", "fdatasync"),
        ("conv=notrunc conv=fdatasync oflag=append", "fdatasync"),
        ("conv=fsync bs=1m", "fdatasync"),
        ("conv=sync,noerror", "none"),
        ("oflag=append", "none"),
    ],
)
def test_flags_of_dd_in_a_list_or_repeated_are_read(operands: str, flush: str) -> None:
    one = only(f"$ dd if=/dev/zero of=/mnt/x bs=1M count=100 {operands}\n" + COPY.format(17.2939, 6.06))
    values = one.record.plan.steps[0].values
    assert (values["flush"], values["block_size"], values["count"]) == (flush, 2**20, 100)
    assert ({"unflushed-write", "cache-unknown"} & ids(one) != set()) == (flush == "none")


@pytest.mark.parametrize("target", ["of=/dev/null", "of=/dev/zero", "of=/dev/full", "of=/dev/stdout | md5sum", "| cat"])
def test_a_copy_to_nothing_or_to_another_program_is_a_read(target: str) -> None:
    line = f"$ dd if=/mnt/x bs=1M count=100 iflag=fullblock,direct {target}\n"
    one = only(line + COPY.format(17.2939, 6.06))
    assert one.verdict.trust is Trust.UNVERIFIED, one.verdict.summary
    assert "cache-unknown" in ids(only(line.replace(",direct", "") + COPY.format(17.2939, 6.06)))


COPY = "104857600 bytes (105 MB, 100 MiB) copied, {} s, {} MB/s\n"


def test_the_size_of_a_copy_is_what_was_copied() -> None:
    one = only("$ dd if=/dev/zero of=test.img bs=10k count=10k\n" + COPY.format(1.72939, 60.6))
    assert (one.record.plan.steps[0].values["count"], one.record.plan.steps[0].values["block_size"]) == (10240, 10240)
    (unflushed,) = (each for each in one.verdict.findings if each.id == "unflushed-write")
    assert "100 MiB are written" in unflushed.measured
    to_the_end = only("$ dd if=disk.img of=/dev/null bs=1M iflag=direct\n" + COPY.format(1.72939, 60.6))
    assert to_the_end.record.plan.steps[0].values["count"] == 100
    in_part = only("$ dd if=/dev/urandom of=test.img bs=1M count=1000\n" + COPY.format(1.72939, 60.6))
    assert "copied-in-part" in ids(in_part)


def test_a_copy_is_as_long_as_dd_printed() -> None:
    line = "$ dd if=disk.img of=/dev/null bs=10k count=10k iflag=direct\n"
    assert not {"short-runtime", "too-brief"} & ids(only(line + COPY.format(17.2939, 6.06)))
    (short,) = (each for each in only(line + COPY.format(4.9, 21.4)).verdict.findings if each.id == "short-runtime")
    assert short.measured == "100 MiB took 4.9 s."
    assert "too-brief" in ids(only(line + COPY.format(0.0727784, 1440)))


@pytest.mark.parametrize(
    "dropped",
    [
        "# echo 3 > /proc/sys/vm/drop_caches",
        "$ sync; echo 1 | sudo tee /proc/sys/vm/drop_caches",
        "$ sudo /sbin/sysctl -w vm.drop_caches=3",
    ],
)
def test_a_page_cache_that_was_dropped_serves_no_reads_of_dd(dropped: str) -> None:
    read = "$ dd if=disk.img of=/dev/null bs=10k count=10k\n" + COPY.format(17.2939, 6.06)
    assert "cache-unknown" in ids(only(read))
    cold = only(f"{dropped}\n{read}")
    assert ids(cold) == {"measured-elsewhere", "read-rate", "small-blocks"}
    assert any(note.startswith(CACHE_DROPPED) for note in cold.found.output.parsed.notes)
    first, second = outputs(f"{dropped}\n{read}{read}")  # the second reads what the first has cached
    assert "cache-unknown" not in ids(first)
    assert "cache-unknown" in ids(second)
    write = read.replace("if=disk.img of=/dev/null", "if=/dev/zero of=disk.img")
    assert "unflushed-write" in ids(only(f"{dropped}\n{write}"))


COLD = "10485760000 bytes (10 GB, 9.8 GiB) copied, 60.1 s, 174 MB/s\n"
DROP, DD = "echo 3 > /proc/sys/vm/drop_caches", "dd if=/mnt/t of=/dev/null bs=1M count=10000"


@pytest.mark.parametrize(
    ("lines", "cold"),
    [
        (f"# {DROP}\n# ls -l /mnt/t\n# {DD}\n", True),
        (f"# {DROP}; sync; {DD}\n", True),
        (f"# {DROP}\n# cat /mnt/other > /dev/null\n# {DD}\n", True),
        (f'# sudo sh -c "sync; {DROP}" && {DD}\n', True),
        (f"$ {DROP}\n-bash: /proc/sys/vm/drop_caches: Permission denied\n$ {DD}\n", False),
        (f"$ {DROP}\nzsh: permission denied: /proc/sys/vm/drop_caches\n$ {DD}\n", False),
        (f"$ sysctl vm.drop_caches=3\nsysctl: permission denied on key 'vm.drop_caches'\n$ {DD}\n", False),
        (f"$ echo 3 | sudo tee /proc/sys/vm/drop_caches\nsudo: a password is required\n$ {DD}\n", False),
        (f"$ {DROP}\nbash: denied: drop_caches\n$ sudo sysctl -w vm.drop_caches=3\n$ {DD}\n", True),
        (f"# {DROP}\n# cat /mnt/t > /dev/null\n# {DD}\n", False),
        (f"# {DROP}; md5sum /mnt/t; {DD}\n", False),
        (f"# {DROP}\n# cp /mnt/* /srv\n# {DD}\n", False),
        (f"# {DROP}\n# tar cf /dev/null /mnt\n# {DD}\n", False),
        (f"# {DROP}\n# {DD} 2>/dev/null\n# {DD}\n", False),
    ],
)
def test_a_page_cache_counts_as_dropped_only_if_nothing_filled_it_again(lines: str, *, cold: bool) -> None:
    assert ("cache-unknown" not in ids(only(lines + COLD))) == cold


@pytest.mark.parametrize("records", ["", "10000+0 records in\n10000+0 records out\n"])
@pytest.mark.parametrize(
    ("lines", "cold"),
    [
        (f"# {DROP}\n# for i in 1 2 3; do {DD}; done\n", [True, False, False]),
        (f"# {DROP}; for i in 1 2 3; do {DD}; done\n", [True, False, False]),
        (f"# for i in 1 2 3; do {DROP}; {DD}; done\n", [True, True, True]),
        (f"# for i in 1 2; do ls; done; {DROP}; for i in 1 2 3; do {DD}; done\n", [True, False, False]),
    ],
)
def test_a_page_cache_that_was_dropped_once_serves_the_later_passes(lines: str, cold: list[bool], records: str) -> None:
    assert ["cache-unknown" not in ids(one) for one in outputs(lines + (records + COLD) * 3)] == cold


def test_a_block_size_that_a_long_copy_does_not_state_is_no_finding() -> None:
    one = only("4294967296 bytes (4.3 GB, 4.0 GiB) copied, 21.5 s, 200 MB/s\n")
    assert "small-blocks" not in ids(one)
    assert {"block_size", "count"}.isdisjoint(one.found.output.stated)


FULL = """$ dd if={source} of={target} bs=1M {operands}oflag=direct
{error}2901+0 records in
2900+0 records out
3040870400 bytes (3.0 GB, 2.8 GiB) copied, 9.1 s, 334 MB/s
"""


@pytest.mark.parametrize("path", ["dd", "/usr/bin/dd"])
@pytest.mark.parametrize("words", ["error writing ‘/mnt/a’: No space left on device", "/mnt/a: Input/output error"])
def test_an_error_that_ended_dd_is_a_finding_at_its_own_result(path: str, words: str) -> None:
    error = f"{path}: {words}\n"
    before, failed = outputs(
        FULL.format(source="/dev/zero", target="/mnt/b", operands="", error="")
        + FULL.format(source="/dev/zero", target="/mnt/a", operands="", error=error)
    )
    assert "errors-in-output" not in ids(before)
    assert "errors-in-output" in ids(failed)
    assert only(error + FULL.partition("{error}")[2]).verdict.trust is Trust.DOUBTFUL


def test_dd_that_copied_fewer_blocks_than_its_endless_source_has_ended_early() -> None:
    zeros, file = (
        only(FULL.format(source=source, target="/mnt/a", operands="count=10240 ", error=""))
        for source in ("/dev/zero", "/mnt/source")
    )
    assert "copied-in-part" in ids(zeros)
    assert "copied-in-part" not in ids(file)  # the source may end there

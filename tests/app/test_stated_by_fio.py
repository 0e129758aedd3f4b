"""What fio's text states of its jobs, and what it leaves open: no finding rests on a default that was not read."""

import json
import re

import pytest

from app.outputs.files import judged_bytes
from app.outputs.judging import JudgedOutput, KnownHost
from suites.facts import Facts, MemoryFacts

MIB = 2**20


def text_of(sizes: str, block: int, rw: str = "randread", *, head: str = "", above: str = "", jobs: int = 1) -> str:
    """Return a text of fio with blocks of `block` bytes: 30 s at 1000 IOPS and 8 ms, with `sizes` in its first line."""
    way = "write" if "write" in rw else "read"
    counts = "0,30000,0,0" if way == "write" else "30000,0,0,0"
    first = f"x: (g=0): rw={rw}, bs={sizes}, ioengine=libaio, iodepth=8\n" if sizes else ""
    rate, total = f"{block * 1000 / MIB:.3f}MiB", f"{block * 30000 / MIB:.1f}MiB"
    return (
        f"{above}{first}{head}fio-3.33\n\nx: (groupid=0, jobs={jobs}): err= 0: pid=1: Sun Nov 29 13:19:48 2026\n"
        f"  {way}: IOPS=1000, BW={rate}/s ({block / 1000:.2f}MB/s)({total}/30000msec)\n"
        "    slat (usec): min=1, max=95, avg= 1.53, stdev= 0.94\n"
        "     lat (usec): min=100, max=9938, avg=8000.00, stdev=33.53\n"
        f"     issued rwts: total={counts} short=0,0,0,0 dropped=0,0,0,0\n\n"
        f"Run status group 0 (all jobs):\n  {way.upper()}: bw={rate}/s, io={total}, run=30000-30000msec\n"
    )


def judged(text: str) -> JudgedOutput:
    """Return the one result in a text."""
    (one,) = outputs(text)
    return one


def outputs(text: str) -> list[JudgedOutput]:
    """Return the results in a text."""
    return list(judged_bytes("fio.txt", text.encode()).outputs)


def findings(one: JudgedOutput) -> set[str]:
    """Return the ids of the findings on a result."""
    return {found.id for found in one.verdict.findings}


def same(size: str) -> str:
    """Return the sizes of the three directions as fio 3 prints them."""
    return ", ".join(f"({way}) {size}-{size}" for way in "RWT")


PRINTED = (
    *((same(size), block) for size, block in (
        ("512B", 512), ("1000B", 1000), ("1024B", 1024), ("1536B", 1536), ("4096B", 4096), ("8192B", 8192),
        ("16.0KiB", 16384), ("32.0KiB", 32768), ("64.0KiB", 65536), ("100KiB", 102400), ("1024KiB", MIB),
        ("4096KiB", 4 * MIB), ("1.5KiB", 1536), ("100.0KiB", 102400), ("15.6KiB", 15974), ("1M", 0), ("16.0kB", 16000),
    )),
    ("4K-4K/4K-4K/4K-4K", 4096),
    ("1M-1M/1M-1M", MIB),
    ("64KB-64KB/64KB-64KB/64KB-64KB", 65536),
    ("4096B-4096B,4096B-4096B,4096B-4096B", 4096),
    ("(R) 16.0KiB-16.0KiB, (W) 4096B-4096B, (T) 4096B-4096B", 16384),
    ("(R) 16.0KiB-16.0KiB, (W) 16.0KiB-16", 16384),
)  # fmt: skip
"""Block sizes as fio 3.33, 2.2 and 2.21 print them, and the bytes of a read; 0 where the line is cut off."""


@pytest.mark.parametrize(("sizes", "block"), PRINTED)
def test_each_size_that_fio_prints_is_the_block_size(sizes: str, block: int) -> None:
    one = judged(text_of(sizes, block or MIB))
    values = one.found.output.stated
    assert (values["block_size"], values.get("block_sizes", "")) == (block or MIB, "")
    assert "rate-against-block" not in findings(one)


@pytest.mark.parametrize(
    ("sizes", "rw", "several"),
    [
        ("(R) 4096B-64.0KiB, (W) 4096B-64.0KiB, (T) 4096B-64.0KiB", "randread", "4096-65536"),
        ("(R) 4096B-4096B, (W) 64.0KiB-64.0KiB, (T) 64.0KiB-64.0KiB", "randrw", "4096,65536"),
        ("(R) 1024B-4096B, (W) 16.0KiB-32.0KiB, (T) 16.0KiB-32.0KiB", "randrw", "1024-4096,16384-32768"),
        ("4K-64K/4K-64K/4K-64K", "write", "4096-65536"),
    ],
)
def test_ranges_of_sizes_and_those_of_each_direction_are_read(sizes: str, rw: str, several: str) -> None:
    one = judged(text_of(sizes, 20000, rw))
    assert one.found.output.stated["block_sizes"] == several
    assert "rate-against-block" not in findings(one)


def test_a_size_that_is_not_that_of_the_figures_is_still_reported() -> None:
    assert "rate-against-block" in findings(judged(text_of(same("16.0KiB"), 4096)))


FIO = "fio --name=x --filename=/dev/sdb --direct=1 --rw=randread --ioengine=libaio"


@pytest.mark.parametrize("word", ["$bs", "${bs}k", "${bs:-4k}", "$(cat bs)", "{}", "%b", "?k"])
def test_an_option_whose_value_is_not_written_states_none(word: str) -> None:
    text = text_of("", 65536).partition("\n\n")[2]
    for line in (f"{FIO} --bs={word} --iodepth=8", f"{FIO} --bs {word} --iodepth=$depth"):
        one = judged(f"$ {line}\n{text}")
        values = one.found.output.stated
        assert (values["block_size"], values["iodepth"], values["direct"]) == (65536, 8, True)
        assert not {"rate-against-block", "more-in-flight-than-asked"} & findings(one)


@pytest.mark.parametrize("jobs", [1, 8, 16])
def test_the_depth_of_each_job_is_its_part_of_what_is_in_flight(jobs: int) -> None:
    text = re.sub(r"^.*?(?=x: \(groupid)", "", text_of("", 4096, jobs=jobs), flags=re.DOTALL)
    one = judged(text)
    values = one.found.output.stated
    assert (values["numjobs"], values["iodepth"]) == (jobs, max(1, 8 // jobs))
    assert not {"depth-without-async-engine", "more-in-flight-than-asked"} & findings(one)


DD = "for i in 4k 1M; do dd if=/dev/zero of=/mnt/t bs=$i count=1000 oflag=direct 2>&1 | tail -1; done\n"


def test_the_block_size_of_dd_in_a_loop_is_that_of_its_figures() -> None:
    found = outputs(
        f"{DD}4096000 bytes (4.1 MB, 3.9 MiB) copied, 8.1 s, 506 kB/s\n"
        "1048576000 bytes (1.0 GB, 1000 MiB) copied, 20.1 s, 52.2 MB/s\n"
    )
    assert [one.found.output.stated["block_size"] for one in found] == [4096, MIB]


JOB_FILE = (
    "[global]\nioengine=libaio\ndirect=1 ; as on the host\n\n"
    "# the test\n[{name}]\nrw={rw}\nbs=4k\niodepth={depth}\nsize=4g\n"
)


@pytest.mark.parametrize(
    "between", ["$ fio a.fio\n", "And here is the result:\n\n    ann@db1:~$ fio --output-format=normal a.fio\n"]
)
def test_the_job_file_above_an_output_states_its_options(between: str) -> None:
    file = JOB_FILE.format(name="x", rw="randread", depth=8)
    whole = judged_bytes("fio.txt", f"$ cat a.fio\n{file}{between}{text_of(same('4096B'), 4096)}".encode())
    (one,) = whole.outputs
    assert (one.found.output.stated["direct"], one.found.output.stated["size"]) == (True, 4 * 2**30)
    assert (one.deciding, whole.left_over) == ((), 0)


@pytest.mark.parametrize("other", [{"name": "y"}, {"rw": "read"}, {"depth": "16"}])
def test_the_job_file_of_another_output_states_nothing(other: dict[str, str]) -> None:
    file = JOB_FILE.format(**{"name": "x", "rw": "randread", "depth": "8"} | other)
    one = judged(f"{file}$ fio a.fio\n{text_of(same('4096B'), 4096)}")
    assert "direct" in one.found.output.unstated


def test_a_variable_in_a_job_file_states_nothing() -> None:
    file = (
        JOB_FILE.format(name="x", rw="randread", depth=8)
        .replace("direct=1", "direct=${DIRECT}")
        .replace("=4k", "=${BS}")
    )
    one = judged(f"{file}$ fio a.fio\n{text_of(same('64.0KiB'), 65536)}")
    assert one.found.output.stated["block_size"] == 65536
    assert "direct" in one.found.output.unstated


def test_a_line_that_starts_a_job_file_states_no_default_of_its_options() -> None:
    one = judged(f"$ fio --numjobs=1 a.fio\n{text_of(same('16.0KiB'), 16384)}")
    assert "direct" in one.found.output.unstated


SUMMARY = (
    "Run status group 0 (all jobs):\n"
    "   READ: bw=51.1MiB/s (53.6MB/s), 51.1MiB/s-51.1MiB/s (53.6MB/s-53.6MB/s), io=1533MiB, run=30003-30003msec\n"
    "  WRITE: bw=18.9MiB/s (19.9MB/s), 18.9MiB/s-18.9MiB/s (19.9MB/s-19.9MB/s), io=567MiB, run=30003-30003msec\n"
)


@pytest.mark.parametrize("text", [SUMMARY, text_of(same("4096B"), 4096, "randwrite").partition("\n\n")[2]])
def test_a_part_of_an_output_has_no_finding_by_a_default(text: str) -> None:
    host = KnownHost(Facts(host="db1", read_at="", memory=MemoryFacts(total=8 * 2**30)))
    for one in judged_bytes("fio.txt", text.encode(), host).outputs:
        words = " ".join(f"{found.title}: {found.measured}" for found in one.verdict.findings)
        assert not re.search("iodepth|numjobs|rand|psync|of files|without direct", words), words


@pytest.mark.parametrize("rw", ["randread", "read"])
def test_libaio_is_not_said_to_be_without_direct_io_where_that_is_not_stated(rw: str) -> None:
    assert "depth-without-async-engine" not in findings(judged(text_of(same("4096B"), 4096, rw)))


def test_the_size_of_files_that_no_option_states_is_not_known() -> None:
    host = KnownHost(Facts(host="db1", read_at="", memory=MemoryFacts(total=8 * 2**30)))
    for size, known in (("", False), ("--size=1g", True)):
        text = f"$ fio --name=x --rw=randread --bs=4k {size}\n{text_of(same('4096B'), 4096)}"
        (one,) = judged_bytes("fio.txt", text.encode(), host).outputs
        assert any("1 GiB of files" in found.measured for found in one.verdict.findings) is known


def document(options: dict[str, str] | None, *, jobs: float = 2) -> str:
    """Return a document of fio: reads of 4 KiB and writes of 64 KiB for 30 s by `jobs` that are counted as one."""
    ways = {
        name: {
            "io_bytes": 30_000 * block, "bw_bytes": 1000 * block, "bw": 1000 * block // 1024, "iops": 1000.0,
            "runtime": 30_000, "total_ios": 30_000,
            "lat_ns": {"min": 1000, "max": 2_000_000, "mean": 950_000.0, "N": 30_000},
        }
        for name, block in (("read", 4096), ("write", 65536))
    }  # fmt: skip
    job = {"jobname": "a", "groupid": 0, "error": 0, "elapsed": 31, "job_runtime": round(jobs * 30_000), **ways}
    return json.dumps(
        {"fio version": "fio-3.33", "jobs": [{**job, **({} if options is None else {"job options": options})}]}
    )


@pytest.mark.parametrize(
    "options", [None, {"name": "b", "rw": "randread", "bs": "4k"}, {"rw": "randwrite", "bs": "64k"}]
)
def test_a_document_does_not_contradict_the_options_of_one_of_several_jobs_or_defaults(
    options: dict[str, str] | None,
) -> None:
    one = judged(document(options))
    values = one.found.output.stated
    assert (values["block_sizes"], values["numjobs"]) == ("4096,65536", 2)
    assert not {"rate-against-block", "more-in-flight-than-asked", "one-io-in-flight"} & findings(one)


def test_jobs_of_a_group_that_ended_at_different_times_are_counted_and_named() -> None:
    """One of 30 s and one of 10 s; fio divides by the longest."""
    one = judged(document({"rw": "randread", "bs": "4k"}, jobs=4 / 3))
    assert one.found.output.stated["numjobs"] == 2
    assert any("ended earlier" in note for note in one.found.output.parsed.notes)
    assert not any("ended earlier" in note for note in judged(document(None)).found.output.parsed.notes)


def test_a_document_of_one_job_still_contradicts_its_options() -> None:
    one = judged(document({"name": "a", "rw": "randrw", "bs": "4k"}, jobs=1))
    assert {"rate-against-block", "more-in-flight-than-asked"} <= findings(one)


def test_jobs_that_are_counted_as_one_have_the_options_that_all_have() -> None:
    first = f"y: (g=0): rw=randread, bs={same('64.0KiB')}, ioengine=libaio, iodepth=8\n"
    for above, depth in (("", 8), (first, 8), (first.replace("iodepth=8", "iodepth=1"), 4)):
        one = judged(text_of(same("4096B"), 16384 if above else 4096, above=above, jobs=2))
        values = one.found.output.stated
        assert (values["block_size"], values["iodepth"], values["rw"]) == (16384 if above else 4096, depth, "randread")
        assert not {"rate-against-block", "more-in-flight-than-asked"} & findings(one)

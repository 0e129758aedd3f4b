"""Results of fio in one text: what belongs to each of them."""

import pytest

from app.outputs.files import judged_bytes
from app.outputs.recognition import recognise
from suites.identities import CONTRADICTION

HEAD = "{job}: (groupid={group}, jobs=1): err= 0: pid={group}: Sun May  3 20:22:23 2020\n"
WRONG = "  read: IOPS=512, BW=64.0MiB/s (67.1MB/s)(128MiB/2000msec)\n"
RIGHT = "  read: IOPS=185, BW=92.7MiB/s (97.2MB/s)(128MiB/1381msec)\n"
REST = (
    "   iops        : min=  128, max=  {most}, avg=128.00, stdev= 0.00, samples=1\n     issued rwts: total=256,0,0,0\n"
)


@pytest.mark.parametrize("names", [("seq", "seq"), ("first", "second")])
def test_a_contradiction_is_noted_at_its_own_result(names: tuple[str, str]) -> None:
    first, second = (HEAD.format(job=name, group=at) for at, name in enumerate(names, 5))

    found = recognise(first + WRONG + REST.format(most=128) + second + RIGHT + REST.format(most=185)).found

    noted = [[note for note in one.output.parsed.notes if note.startswith(CONTRADICTION)] for one in found]
    assert [bool(notes) for notes in noted] == [True, False]


@pytest.mark.parametrize(
    ("option", "name", "value"),
    [
        ("--rate=4000k", "rate", 4096000),
        ("--rate=4000k,4000k", "rate", 4096000),
        ("--rate_iops=1000,1000", "rate_iops_both", 1000),
        ("--rate_iops=1000", "rate_iops", 1000),
        ("--thinktime=5ms", "pause", 0.005),
    ],
)
def test_limits_on_the_command_line_are_those_of_the_job(option: str, name: str, value: float) -> None:
    head = "{}: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1\n"
    text = f"$ fio --direct=1 --name=a --bs=4k {option} --name=b --bs=4k\n" + head.format("a") + head.format("b")
    results = "".join(HEAD.format(job=job, group=0) + RIGHT + REST.format(most=185) for job in "ab")

    first, second = recognise(text + results).found

    assert first.output.stated[name] == value
    assert not second.output.stated.get(name)


def test_the_verify_phase_of_a_write_is_no_part_of_its_figures() -> None:
    command = "$ fio --name=v --rw=write --bs=64k --direct=1 --ioengine=psync --verify=crc32c\n"
    write = "  write: IOPS=48, BW=3084KiB/s (3158kB/s)(16.0MiB/5313msec); 0 zone resets\n"
    read = "  read: IOPS=7314, BW=457MiB/s (479MB/s)(16.0MiB/35msec)\n"
    head = "v: (g=0): rw=write, bs=(R) 64.0KiB-64.0KiB, (W) 64.0KiB-64.0KiB, ioengine=psync, iodepth=1\n"

    (one,) = recognise(command + head + HEAD.format(job="v", group=0) + read + write).found

    assert {dict(figure.labels).get("operation") for figure in one.output.parsed.figures} == {"write"}
    assert any("verify phase" in note for note in one.output.parsed.notes)


def test_percentiles_of_clones_are_named_as_left_out_and_those_of_one_job_are_read() -> None:
    clone = (
        "s: (groupid=0, jobs=1): err= 0: pid={pid}: Sun Nov 29 19:46:49 2026\n"
        "  read: IOPS=11.9k, BW=46.7MiB/s (48.9MB/s)(93.4MiB/2001msec)\n"
        "    clat (usec): min=19, max=19343, avg=83.25, stdev=292.52\n"
        "     lat (usec): min=19, max=19343, avg=83.30, stdev=292.52\n"
        "    lat percentiles (usec):\n"
        "     | 50.000th=[   67], 99.000th=[  149], 99.999th=[19268]\n"
        "     issued rwts: total=23911,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
    )
    end = "\nRun status group 0 (all jobs):\n   READ: bw=46.7MiB/s (48.9MB/s), io=93.4MiB (98.0MB), run=2001-2001msec\n"
    (alone,) = judged_bytes("paste", (clone.format(pid=1) + end).encode()).outputs
    found = {one.metric.name: one.value for one in alone.found.output.parsed.figures}
    assert (found["total_latency_p50"], found["total_latency_p99"]) == (67_000, 149_000)
    assert "latency_p99" not in found
    (cloned,) = judged_bytes("paste", (clone.format(pid=1) + clone.format(pid=2) + end).encode()).outputs
    named = ["Percentiles of clones" in " ".join(one.found.output.parsed.notes) for one in (alone, cloned)]
    assert named == [False, True]

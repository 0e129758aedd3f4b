"""A command line of the user's own is read as the suite that does the same would have it."""

import pytest

from suites.base import Recognised
from suites.command.recognition import recognised
from suites.parameters import Parameter
from suites.registry import suite


def parameters(suite_id: str) -> tuple[Parameter, ...]:
    return suite(suite_id).parameters


def read(text: str, *, shell: bool = False) -> tuple[Recognised, ...]:
    return recognised(text, shell=shell, parameters=parameters)


def one(text: str, *, shell: bool = False) -> Recognised:
    (found,) = read(text, shell=shell)
    return found


@pytest.mark.parametrize(
    ("line", "suite_id", "given"),
    [
        (
            "dd if=/dev/zero of=/srv/x bs=1M count=1024",
            "dd",
            {"input": "/dev/zero", "directory": "/srv", "block_size": 2**20, "count": 1024, "flush": "none"},
        ),
        (
            "sudo /bin/dd if=/dev/urandom of=/srv/x bs=1MB count=5 conv=fdatasync",
            "dd",
            {"block_size": 10**6, "flush": "fdatasync"},
        ),
        (
            "dd if=/srv/big of=/dev/null bs=4k count=9 iflag=direct",
            "dd",
            {"input": "file", "directory": "/srv", "read": "direct"},
        ),
        ("dd if=/dev/zero of=/x bs=1M count=9 oflag=direct,nonblock", "dd", {"flush": "direct"}),
        (
            "fio --name=a --rw=randread --iodepth=32 --size=1g --directory=/srv --direct=1 --runtime=60 --time_based",
            "fio-job",
            {"job": "[job]\nrw=randread\niodepth=32\nsize=1g\ndirect=1\nruntime=60\ntime_based", "directory": "/srv"},
        ),
        (
            "fio --name=a --rw=write --filename=/srv/db/file --size=1m",
            "fio-job",
            {"directory": "/srv/db", "job": "[job]\nrw=write\nsize=1m"},
        ),
        ("sysbench cpu run", "sysbench-cpu", {}),
        ("time sysbench --test=cpu --num-threads=4 --max-time=20 run", "sysbench-cpu", {"threads": 4, "time": 20.0}),
        ("sysbench memory --memory-block-size=1M run", "sysbench-memory", {"block_size": 2**20}),
        (
            "sysbench fileio --file-test-mode=rndrw --file-total-size=32G run",
            "sysbench-fileio",
            {"mode": "rndrw", "total_size": 32 * 2**30},
        ),
        (
            "taskset -c 1 iperf3 -c 10.0.0.2 -u -b 100M -t20 -P 2",
            "iperf3",
            {"protocol": "udp", "bitrate": 100.0, "time": 20.0, "streams": 2},
        ),
        ("iperf3 --client=web-2 --reverse", "iperf3", {"address": "web-2", "direction": "receive"}),
        ("A=1 ioping -c 10 -s 4k -D /srv", "ioping", {"count": 10, "cache": "direct", "directory": "/srv"}),
    ],
)
def test_a_line_is_read_as_its_suite_has_it(line: str, suite_id: str, given: dict[str, object]) -> None:
    found = one(line)
    assert found.suite_id == suite_id
    assert {name: found.given.get(name) for name in given} == given
    assert found.whole
    assert found.written == ()


@pytest.mark.parametrize(
    "line",
    [
        "",
        "make -j8",
        "echo dd if=/dev/zero of=/x bs=1M count=5",
        "fio job.fio",
        "fio --name=a job.fio",
        "sysbench cpu help",
        "sysbench oltp_read_only run",
        "iperf3 -s",
        "cp a b",
        "dd 'if=/dev/zero",
    ],
)
def test_what_no_suite_does_is_not_recognised(line: str) -> None:
    assert read(line) == ()


def test_the_commands_of_a_shell_line_are_read_one_by_one() -> None:
    line = "cd /srv && dd if=/dev/zero of=/srv/x bs=1M count=9; sysbench cpu run | tee log"
    found = read(line, shell=True)  # noqa: S604 (nothing is run: it says how the line is read)
    assert [each.suite_id for each in found] == ["dd", "sysbench-cpu"]


def test_without_a_shell_its_signs_are_words() -> None:
    assert [each.suite_id for each in read("sysbench cpu run ; dd if=/dev/zero of=/x bs=1 count=1")] == ["sysbench-cpu"]


@pytest.mark.parametrize(
    ("line", "devices", "written"),
    [
        ("dd if=/dev/zero of=/dev/sdb bs=1M", ("/dev/sdb",), ("/dev/sdb",)),
        ("dd if=/dev/sdb of=/dev/null bs=1M count=100", ("/dev/sdb",), ()),
        ("fio --name=a --rw=randwrite --filename=/dev/nvme1n1", ("/dev/nvme1n1",), ("/dev/nvme1n1",)),
        ("fio --name=a --rw=randread --filename=/dev/nvme1n1", ("/dev/nvme1n1",), ()),
        ("ioping -W -c 5 /dev/sdc", ("/dev/sdc",), ("/dev/sdc",)),
        ("ioping -WWW -c 5 /dev/sdc", ("/dev/sdc",), ("/dev/sdc",)),
        ("fio -filename=/dev/sdc -rw=write -bs 4k -thread -name=a", ("/dev/sdc",), ("/dev/sdc",)),
        ("fio --filename /dev/sdc --rw randrw --name a other.fio", ("/dev/sdc",), ("/dev/sdc",)),
        (
            "fio --name=a --rw=read --filename=/dev/sdc --name=b --rw=write --filename=/dev/sdd",
            ("/dev/sdc", "/dev/sdd"),
            ("/dev/sdd",),
        ),
        ("sudo -u root numactl --cpunodebind=0 dd if=/dev/zero of=/dev/sdc", ("/dev/sdc",), ("/dev/sdc",)),
        ("chrt -f 50 sh -ec 'cd /tmp && dd if=/dev/zero of=/dev/sdc'", ("/dev/sdc",), ("/dev/sdc",)),
        ("dd if=/dev/zero of=//srv/../dev/sdc", ("//srv/../dev/sdc",), ("//srv/../dev/sdc",)),
        ("shred -n 1 /dev/sdc", ("/dev/sdc",), ("/dev/sdc",)),
        ("sudo mkfs.ext4 -F /dev/sdc", ("/dev/sdc",), ("/dev/sdc",)),
        ("wipefs -a /dev/sdc", ("/dev/sdc",), ("/dev/sdc",)),
        ("cp image /dev/sdc", ("/dev/sdc",), ("/dev/sdc",)),
    ],
)
def test_raw_devices_are_seen_and_what_is_written(
    line: str, devices: tuple[str, ...], written: tuple[str, ...]
) -> None:
    found = one(line)
    assert found.devices == devices
    assert found.written == written


@pytest.mark.parametrize(
    "line",
    [
        "cat image > /dev/sdc",
        "cat image >/dev/sdc 2>/dev/null",
        "cat image | sudo tee /dev/sdc",
        "for disk in 1; do dd if=/dev/zero of=/dev/sdc; done",
        "time (dd if=/dev/zero of=/dev/sdc count=1; sync)",
        "true\ndd if=/dev/zero of=/dev/sdc",
        "bash -c \"sh -c 'dd if=/dev/zero of=/dev/sdc'\"",
    ],
)
def test_a_shell_line_writes_to_a_device_in_many_ways(line: str) -> None:
    found = read(line, shell=True)  # noqa: S604 (nothing is run: it says how the line is read)
    assert [device for each in found for device in each.written] == ["/dev/sdc"]


@pytest.mark.parametrize(
    "line",
    [
        "wipefs /dev/sdc",
        "badblocks -sv /dev/sdc",
        "cp /dev/sdc image",
        "cat image > /dev/null 2>&1",
        "make | tee /dev/stderr",
        "cat image >> /srv/dev/sdc",
        "fdisk -l /dev/sdc",
    ],
)
def test_what_only_looks_or_writes_elsewhere_writes_to_no_device(line: str) -> None:
    assert [each for each in read(line, shell=True) if each.written] == []  # noqa: S604 (nothing is run)


@pytest.mark.parametrize(
    ("line", "endless"),
    [
        ("dd if=/dev/zero of=/srv/x bs=1M", "until the disk is full"),
        ("dd if=/dev/zero of=/dev/null", "until it is stopped"),
        ("dd if=/srv/x of=/dev/null", ""),
        ("cd /srv && ioping .", "until it is stopped"),
        ("ioping -w 5 /srv", ""),
        ("dd if=/dev/zero bs=1M | head -c 1G > x", ""),
        ("ioping /srv & sleep 5; kill $!", ""),
        ("timeout 5 ioping /srv", ""),
        ("sysbench fileio --time=0 run", "until it is stopped"),
        ("sysbench memory --time=0 run", ""),
        ("iperf3 -c h -t0 -n 1G", ""),
    ],
)
def test_a_line_without_end_is_told_from_one_that_something_ends(line: str, endless: str) -> None:
    assert read(line, shell=True)[0].endless == endless  # noqa: S604 (nothing is run)


def test_several_jobs_of_fio_stand_in_one_file() -> None:
    line = "fio --bs=4k --directory=/srv --size=1g --name=r --rw=randread --name=w --rw=randwrite --iodepth 8"
    job = "[global]\nbs=4k\nsize=1g\n[job1]\nrw=randread\n[job2]\nrw=randwrite\niodepth=8"
    assert one(line).given == {"directory": "/srv", "job": job}


@pytest.mark.parametrize("line", ["dd if=/dev/zero of=/srv/x bs=1M", "dd if=/dev/zero of=/dev/null bs=1M count=5"])
def test_a_copy_of_which_too_little_is_said_is_not_judged(line: str) -> None:
    assert not one(line).whole


def test_a_value_that_the_suite_does_not_take_is_left_at_its_default() -> None:
    assert "threads" not in one("sysbench cpu --threads=many run").given
    assert "bitrate" not in one("iperf3 -c h -b fast").given


def test_a_line_without_end_is_read_to_an_end() -> None:
    assert read("dd " + "x " * 100_000) == (one("dd x"),)

"""What fooled people who typed a line of their own is told of such a line, too."""

import pytest

from app.checks.before import check_plan
from app.plans.plan import Plan, Repetition, make_step
from suites.vocab import Finding, Severity
from tests.app.test_false_warnings import server
from tests.messages import messages

MESSAGES = messages("app-checks", "test_command_checks")

GOOD_FIO = (
    "fio --name=a --rw=randread --bs=4k --iodepth=32 --ioengine=libaio --direct=1 --size=4g --directory=/srv "
    "--runtime=60 --time_based"
)
FACTS = {"web-1": server()}


def found(command: str, *, shell: bool = False) -> dict[str, Finding]:
    plan = Plan("p", ("web-1",), (make_step("command", {"command": command, "shell": shell}, name="mine"),), "Why?")
    return {finding.id: finding for finding in check_plan(plan, FACTS).findings}


def grave(command: str, *, shell: bool = False) -> set[str]:
    return {name for name, finding in found(command, shell=shell).items() if finding.severity is not Severity.INFO}


@pytest.mark.parametrize(
    ("command", "reported"),
    [
        ("dd if=/dev/zero of=/srv/x bs=1M count=1024", {"unflushed-write", "page-cache"}),
        ("dd if=/dev/urandom of=/srv/x bs=1M count=9000 oflag=direct", {"random-source"}),
        ("sysbench cpu run", {"sysbench-cpu-defaults"}),
        ("sysbench memory run", {"sysbench-memory-block"}),
        ("sysbench fileio --file-total-size=32G --file-test-mode=rndrd run", {"page-cache"}),
        ("fio --name=a --rw=randread --size=1m --directory=/srv", {"page-cache", "short-runtime"}),
        ("fio --name=a --rw=write --zero_buffers --direct=1 --size=20g --directory=/srv", {"repeated-data"}),
        ("fio --name=a --rw=read --invalidate=0 --size=1g --directory=/srv", {"cache-kept", "page-cache"}),
        ("iperf3 -c 127.0.0.1 -u", {"same-host-peer", "udp-default-rate"}),
        ("dd if=/dev/zero of=/dev/sdb bs=1M", {"command-writes-device"}),
        ("nice -n 19 dd if=/dev/zero of=/srv/x bs=1M count=1024", {"unflushed-write", "page-cache"}),
        ("sh -c 'dd if=/dev/zero of=/srv/x bs=1M count=1024'", {"unflushed-write", "page-cache"}),
        (
            "fio -name=a -directory /srv -rw=randread -ioengine=psync -iodepth 32 -size 1m -thread",
            {"page-cache", "short-runtime", "depth-without-async-engine"},
        ),
        ("fio --size=1m --directory=/srv --name=a --rw=read --name=b --rw=randread", {"page-cache", "short-runtime"}),
        ("dd if=/dev/zero of=/srv/x bs=1M", {"command-endless"}),
        ("sysbench cpu --time=0 run", {"command-endless"}),
        ("iperf3 -c 10.0.0.2 -t 0", {"command-endless"}),
        ("ioping /srv", {"command-endless"}),
        ("iperf3 -c 10.0.0.2 -uR", {"udp-default-rate"}),
    ],
)
def test_a_line_that_fools_people_is_warned_of(command: str, reported: set[str]) -> None:
    assert reported <= grave(command)


@pytest.mark.parametrize(
    "command",
    [
        "dd if=/dev/zero of=/srv/x bs=1M count=9000 oflag=direct",
        "sysbench cpu --threads=8 --cpu-max-prime=20000 --time=30 run",
        GOOD_FIO,
        "make -j8",
        f"sudo -u bench nice -n 5 {GOOD_FIO}",
        GOOD_FIO.replace("--", "-"),
        "timeout 60 dd if=/dev/zero of=/dev/null bs=1M",
        "sysbench cpu --threads=8 --cpu-max-prime=20000 --time=0 --events=100000 run",
        "cp /srv/image /srv/copy",
    ],
)
def test_its_clean_twin_draws_no_warning(command: str) -> None:
    assert grave(command) == set()


def test_what_is_flushed_after_it_is_flushed() -> None:
    line = "time (dd if=/dev/zero of=/srv/x bs=1M count=20480; sync)"
    assert "unflushed-write" not in grave(line, shell=True)  # noqa: S604 (nothing is run)
    assert "unflushed-write" in grave(line.replace("sync", "true"), shell=True)  # noqa: S604 (nothing is run)


def test_nobody_says_that_a_file_of_the_users_own_was_just_written() -> None:
    assert "read-after-write" not in found("dd if=/srv/old of=/dev/null bs=1M count=1024")


@pytest.mark.parametrize("line", ["command", "prepare", "before", "clean_up"])
def test_no_line_of_a_step_writes_to_a_device(line: str) -> None:
    values = {"command": "make -j8", line: "nice -n 19 dd if=/dev/zero of=/dev/sdb bs=1M count=1"}
    plan = Plan("p", ("web-1",), (make_step("command", values, name="mine"),), "Why?")
    (reported,) = [each for each in check_plan(plan, FACTS).findings if each.id == "command-writes-device"]
    assert reported.severity is Severity.ERROR
    assert reported.measured == ("It" if line == "command" else f"Its {line}") + " writes to /dev/sdb."


def test_nobody_edits_a_line_of_the_users_own() -> None:
    finding = found("dd if=/dev/zero of=/srv/x bs=1M count=1024")["unflushed-write"]
    assert finding.measured.startswith(MESSAGES["read_as_dd_1_gib_are_written"])
    assert (finding.changes, finding.install, finding.step) == ({}, None, "mine")


def lines(command: str, prepare: str = "", before: str = "", trials: int = 6) -> set[str]:
    given = {"command": command, "prepare": prepare, "before": before, "shell": True}
    step = make_step("command", given, name="mine")
    plan = Plan("p", ("web-1",), (step,), "Why?", repetition=Repetition(trials=trials))
    own = {"command-reads-cached", "command-hdparm"}
    return {finding.id for finding in check_plan(plan, FACTS).findings if finding.id in own}


@pytest.mark.parametrize(
    ("command", "prepare", "before"),
    [
        ("dd if=/srv/x of=/dev/null bs=1M", "dd if=/dev/zero of=/srv/x bs=1M count=100", ""),
        ("dd if=/srv/x of=/dev/null bs=1M", "", "head -c 1G /dev/urandom >/srv/x"),
        ("cat /srv/x >/dev/null", "cp /home/ann/a /srv/x", ""),
        ("cp /srv/set/a /srv/b", "cp -r /home/ann/set /srv/set", ""),
        ("dd if=/dev/zero of=/srv/x bs=1M count=9; md5sum /srv/x", "", ""),
        ("sha256sum </srv/x", "echo a | tee /srv/x", ""),
        ("cp /srv/a /srv/b", "", ""),
        ("cp /srv/a /srv/b", "echo 3 >/proc/sys/vm/drop_caches", ""),
    ],
)
def test_reads_of_what_is_in_the_page_cache(command: str, prepare: str, before: str) -> None:
    assert lines(command, prepare, before) == {"command-reads-cached"}


@pytest.mark.parametrize(
    ("command", "prepare", "before", "trials"),
    [
        ("dd if=/srv/x of=/dev/null bs=1M iflag=direct", "dd if=/dev/zero of=/srv/x bs=1M count=100", "", 6),
        ("dd if=/srv/x of=/dev/null bs=1M", "dd if=/dev/zero of=/srv/x bs=1M count=100 oflag=direct", "", 6),
        ("cat /srv/x >/dev/null", "cp /home/ann/a /srv/x", "sync; echo 3 >/proc/sys/vm/drop_caches", 6),
        ("cp /srv/a /srv/b", "", "echo 3 >/proc/sys/vm/drop_caches", 6),
        ("cp /srv/a /srv/b", "", "", 1),
        ("./shop --bench", "cp /home/ann/shop ./shop", "", 6),
        ("make -j8 -C /home/ann/shop check", "", "", 6),
        ("gzip -k /srv/x", "", "", 6),
        ("cat /proc/cpuinfo", "", "", 6),
        ("hdparm -I /dev/sda", "", "", 6),
    ],
)
def test_reads_past_it_are_not_shown(command: str, prepare: str, before: str, trials: int) -> None:
    assert lines(command, prepare, before, trials) == set()


@pytest.mark.parametrize("command", ["hdparm -t /dev/sda", "hdparm -tT /dev/sda", "sudo hdparm -T /dev/sda"])
def test_hdparm_is_no_benchmark(command: str) -> None:
    assert lines(command) == {"command-hdparm"}

"""The suite that runs a job file: its command, its estimate, and what is known to fool people about such a file."""

import json
import shlex
from dataclasses import replace

import pytest

from suites.base import Context, complete_values, directories_of, tuned_values
from suites.checks import CheckOutcome
from suites.errors import ParameterError
from suites.fio_job.suite import FioJob
from suites.outputs import ParsedTrial, parse_whole
from suites.parameters import MAXIMUM_TEXT
from suites.vocab import Severity
from tests.disk_host import MIB, disk_host, measured, outcomes, tuned_step
from tests.messages import messages

MESSAGES = messages("suites", "test_fio_job")

JOB = FioJob()
GOOD = """[global]
size=1g
direct=1
ioengine=libaio
iodepth=16
runtime=30
ramp_time=5
time_based
[random]
rw=randread
numjobs=$ncpus
[sequence]
stonewall
rw=read
bs=1m
"""


def line(job: str, environment: str = "") -> str:
    (command,) = JOB.commands(complete_values(JOB, {"job": job, "environment": environment}), Context(disk_host()))
    return shlex.join(command.argv)


def test_it_is_run_as_it_is_with_nothing_but_a_report_that_can_be_read() -> None:
    (command,) = JOB.commands(complete_values(JOB, {"job": GOOD}), Context())
    assert line(GOOD) == "fio --thread=1 --lat_percentiles=1 job.fio --output-format=json+ --status-interval=1"
    assert [(file.name, file.text) for file in command.files] == [("job.fio", GOOD)]
    assert line(GOOD, "A=1 B=2").startswith("env A=1 B=2 fio ")


@pytest.mark.parametrize(
    "job",
    ["[job]\nrw=write\nfilename=/dev/sda\n", "[/dev/sda]\nrw=write\n", "[job]\nrw=write\nfilename=${X}\n", "nonsense"],
)
def test_what_may_write_to_a_device_may_not_write_at_all(job: str) -> None:
    assert "--readonly" in line(job)
    assert "--readonly" not in line("[job]\nrw=write\nsize=1m\n")


def test_the_estimate_adds_up_what_stonewalls_part() -> None:
    def estimate(job: str) -> tuple[float | None, int | None, int]:
        found = JOB.estimate(complete_values(JOB, {"job": job}), Context(disk_host()))
        return found.duration, found.written, found.space

    assert estimate(GOOD)[:2] == (70.0, 0)
    assert estimate(GOOD.replace("stonewall\n", ""))[0] == 35.0
    assert estimate(GOOD.replace("numjobs=$ncpus", "numjobs=2"))[2] == 3 * 1024 * MIB
    assert estimate("[a]\nrw=write\nsize=1m\n") == (None, None, MIB)
    assert estimate("nonsense") == (None, None, 0)


def test_it_is_tuned_to_the_directory_with_the_most_room_alone() -> None:
    assert tuned_values(JOB, Context(disk_host())) == {
        "directory": "/srv",
        "job": "",
        "environment": "",
        "existing_files": "keep",
    }


def test_a_good_file_raises_nothing() -> None:
    assert outcomes(tuned_step(JOB, job=GOOD)) == {}


def test_the_checks_of_fio_are_asked_of_every_section() -> None:
    buffered = tuned_step(JOB, job=GOOD.replace("direct=1", "direct=0"))
    assert measured(buffered, "page-cache").startswith("[random]: ")
    assert measured(buffered, "page-cache").endswith("Also: [sequence].")
    assert measured(tuned_step(JOB, job=GOOD.replace("libaio", "psync")), "depth-without-async-engine").startswith(
        MESSAGES["random_iodepth_16_with_psync"]
    )
    (shown,) = [outcome for name, outcome in outcomes(buffered).items() if name == "page-cache"]
    assert isinstance(shown, CheckOutcome)
    assert shown.changes == {}


@pytest.mark.parametrize(
    ("job", "check", "shown"),
    [
        ("", "job-file-unreadable", "no section"),
        ("[a]\nsize=${SIZE}\n", "job-file-variable", "[a] uses ${SIZE}."),
        ("[a]\nsize=1m\nioengine=http\nhttp_s3_key = abc\n", "job-file-secret", "job sets http_s3_key."),
        ("[a]\nsize=1m\nrw=write\nfilename=/dev/sdb\n", "job-file-writes-device", "[a] writes to /dev/sdb"),
        ("[a]\nsize=1m\nread_iolog=trace\n", "job-file-writes-device", "[a] replays another file's I/O"),
        ("[a]\nsize=1m\nrw=write\nfilename=/etc/motd\n", "job-file-writes-outside", "[a] writes to /etc/motd."),
        ("[a]\nsize=1m\nexec_prerun=reboot\n", "job-file-runs-programs", "[a] runs “reboot”."),
        ("[a]\nrw=read\n", "job-file-without-size", "[a] has no size."),
        ("[a]\nsize=1m\nopendir=/srv\n", "job-file-unjudged", "[a] has opendir, which works on every file"),
        ("[a]\nsize=1m\nioengine=rbd\n", "job-file-unjudged", "[a] has ioengine=rbd"),
        ("[a]\nsize=1m\nnosuch=1\n", "job-file-unjudged", "[a] has nosuch, unknown to Benchwright"),
        ("[a]\nsize=1m\nrw=read\nrw=write\n", "job-file-unjudged", "[a] sets rw more than once"),
        ("[a;]\nsize=1m\n", "job-file-unreadable", "is not a section"),
        ("[a b]\nsize=1m\nexec_prerun=x\n", "job-file-unjudged", "its name would be part of their shell"),
        ("[a]\nsize=1m\nexec_prerun=dd of=$1 'x\n", "job-file-unjudged", "unmatched quotation mark"),
        ("[a]\nsize=1m\nioengine=exec\nprogram=x\narguments=-y\n", "job-file-runs-programs", "[a] runs “x -y”."),
        ("[a]\nsize=1m\nrw=read\nunlink=1\nfilename=/srv/x\n", "job-file-writes-outside", "writes to /srv/x."),
        ("[a]\nsize=1m\nrw=read\nwrite_bw_log=/srv/x\n", "job-file-writes-outside", "writes to /srv/x_bw*"),
    ],
)
def test_what_is_special_to_job_files(job: str, check: str, shown: str) -> None:
    step = tuned_step(JOB, job=job)
    assert shown in measured(step, check)
    level = next(known.severity for known in JOB.checks if known.id == check)
    blocking = {"job-file-unreadable", "job-file-variable", "job-file-writes-device", "job-file-unjudged"}
    assert (level is Severity.ERROR) == (check in blocking)


READ = "[global]\nsize=1m\nrw=randread\n"


@pytest.mark.parametrize(
    ("sections", "named"),
    [
        ("[a]\n[b]\ndirectory=/data\n[c]\ndirectory=/srv\n", "/data, /srv"),
        ("[a]\n[b]\ndirectory=/data\n[c]\ndirectory=/data\nunlink=1\n", ""),
        ("[a]\nfilename=/srv/database\n", ""),
        ("[a]\n", ""),
    ],
)
def test_files_that_a_read_makes_outside_stay_unless_fio_removes_them(sections: str, named: str) -> None:
    found = outcomes(tuned_step(JOB, job=READ + sections))
    assert ("job-file-leaves-files" in found) == bool(named)
    if named:
        assert measured(tuned_step(JOB, job=READ + sections), "job-file-leaves-files").endswith(f" in {named} first.")


@pytest.mark.parametrize(("option", "reported"), [("", True), ("randrepeat=0\n", False), ("randrepeat=1\n", True)])
def test_sections_that_go_to_the_same_blocks_each_time_are_told(option: str, *, reported: bool) -> None:
    evidence = replace(tuned_step(JOB, job=f"[a]\nrw=randread\n{option}"), trials=2)
    assert ("same-blocks-again" in outcomes(evidence)) == reported


def test_the_directories_of_its_sections_are_looked_at_too() -> None:
    job = "[a]\nsize=1m\n[b]\ndirectory=/data:/mnt/\\:odd\n[c]\ndirectory=below\n[d]\ndirectory=/data\n"
    values = complete_values(JOB, {"job": job, "directory": "/srv"})
    assert directories_of(JOB, values) == ("/srv", "/data", "/mnt/:odd")
    assert directories_of(JOB, {**values, "job": "nonsense"}) == ("/srv",)


def test_many_sections_are_counted_not_listed() -> None:
    job = "".join(f"[s{number}]\nrw=read\n" for number in range(8))
    assert measured(tuned_step(JOB, job=job), "job-file-without-size").endswith(MESSAGES["s4_has_no_size_3_more"])


def test_the_text_may_have_many_lines_and_no_control_characters() -> None:
    assert complete_values(JOB, {"job": "[a]\r\nrw=read\r\n"})["job"] == "[a]\nrw=read\n"
    for bad in ("[a]\x1b[2J", "x" * (MAXIMUM_TEXT + 1)):
        with pytest.raises(ParameterError, match="job"):
            complete_values(JOB, {"job": bad})


CHECKED = "[checked]\nrw=write\nverify=crc32c\nsize=8m\n[plain]\nstonewall\nrw=read\nsize=8m\n"


def document() -> str:
    def counted(ios: int) -> dict[str, float]:
        return {"io_bytes": 65536 * ios, "bw_bytes": 65536 * ios, "iops": ios, "runtime": 1000, "total_ios": ios}

    checked = {"rw": "write", "verify": "crc32c"}
    jobs = [
        {"jobname": "checked", "groupid": 0, "job options": checked, "read": counted(200), "write": counted(100)},
        {"jobname": "plain", "groupid": 1, "job options": {"rw": "read"}, "read": counted(300)},
    ]
    return json.dumps({"fio version": "fio-3.33", "global options": {"bs": "64k"}, "jobs": jobs})


def test_reads_that_verify_a_job_are_no_figure_of_a_run_as_of_an_import() -> None:
    suite = FioJob()
    run = parse_whole(suite.parser(complete_values(suite, {"job": CHECKED})), document().encode())
    fio_json = next(one for one in suite.output_formats if one.title == "fio JSON")
    imported = [one.parsed for one in fio_json.read(document(), None)]

    def iops(trial: ParsedTrial) -> list[float]:
        return [one.value for one in trial.figures if one.metric.name == "iops"]

    assert iops(run) == [100.0, 300.0]
    assert [iops(one) for one in imported] == [[100.0], [300.0]]
    assert [len(one.notes) for one in imported] == [1, 0]
    assert run.notes == imported[0].notes

"""Steps of fio as job files: what is shared stands once, points follow each other, and reading it gives the step."""

from suites.base import Context, Suite, complete_values
from suites.fio.suite import Fio, job_file_of
from suites.fio_job.file import read_job_file
from suites.fio_job.section_values import section_values
from suites.fio_job.suite import FioJob
from suites.fio_sweep.suite import FioSweep
from tests.messages import messages

MESSAGES = messages("suites", "test_fio_export")

CONTEXT = Context()


def written(suite: Suite, **given: object) -> str:
    return job_file_of(suite.commands(complete_values(suite, given), CONTEXT))


def test_a_step_is_its_layout_and_behind_a_stonewall_what_is_measured() -> None:
    assert written(Fio(), rw="randread", size="64 MiB", runtime=30, direct=True, ioengine="libaio", iodepth=8) == (
        """; Written by Benchwright. Run it with:
; fio --output-format=json+ --status-interval=1 FILE
[global]
numjobs=1
direct=1
size=64m
thread=1
group_reporting
filename_format=benchwright.$jobnum.$filenum

[layout]
rw=write
bs=1m
end_fsync=1

[benchwright]
stonewall
rw=randread
bs=4k
iodepth=8
ioengine=libaio
runtime=30
time_based
"""
    )


def test_what_is_written_asks_for_what_the_step_asks_for() -> None:
    given = {"rw": "randrw", "rwmixread": 30, "numjobs": 2, "runtime": 5, "ramp_time": 1, "fsync": 8, "direct": True}
    values = complete_values(Fio(), given)
    measured = read_job_file(Fio().job_file(values, CONTEXT))[-1]
    read = section_values(measured, "/srv")
    assert {name: read[name] for name in given} == {name: values[name] for name in given}


def test_a_sweep_is_a_section_for_each_point() -> None:
    sections = read_job_file(written(FioSweep(), depths="1, 8", job_counts="2", rw="randread"))
    assert [section.name for section in sections] == [
        "layout",
        MESSAGES["bs_4k_numjobs_2_iodepth_1"],
        MESSAGES["bs_4k_numjobs_2_iodepth_8"],
    ]
    assert ["stonewall" in section.options for section in sections] == [False, True, True]
    assert {section.options["filename_format"] for section in sections} == {"benchwright.$jobnum"}


def test_a_device_has_no_layout_and_is_read_only_on_the_command_line() -> None:
    text = written(Fio(), device="/dev/sdz", rw="read")
    assert text.splitlines()[1] == "; fio --readonly --output-format=json+ --status-interval=1 FILE"
    (section,) = read_job_file(text)
    assert section.options["filename"] == "/dev/sdz"
    assert "readonly" not in section.options


def test_a_job_file_is_itself() -> None:
    values = complete_values(FioJob(), {"job": "[a]\nrw=read\n"})
    assert FioJob().job_file(values, CONTEXT) == "[a]\nrw=read\n"

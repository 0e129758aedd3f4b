"""Job files: read as fio reads them, expanded as it expands them, and what each section asks for."""

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.facts import CpuFacts, Facts, MemoryFacts
from suites.fio_job.file import JobFileError, Section, effective_sections, read_environment, read_job_file
from suites.fio_job.section_values import fio_seconds, fio_size, may_write_device, raw_devices, section_values
from suites.fio_job.targets import names_of, targets_of

FILE = """; a comment
[global]
directory=${WHERE}   # trailing
size=4*$mb_memory
time_based
readwrite=randread

[one two]
blocksize=8k
runtime=1m

[global]
numjobs=$ncpus
[three]
stonewall
rw=randrw:4
rwmixwrite=30
"""
FACTS = Facts(host="h", read_at="now", cpu=CpuFacts(threads=8), memory=MemoryFacts(total=2 * 2**30))


def section(**options: str) -> Section:
    return Section("job", options)


def test_global_options_rule_the_sections_after_them() -> None:
    one, three = effective_sections(FILE, {"WHERE": "/data"}, FACTS)
    assert dict(one.options) == {
        "directory": "/data", "size": "8192", "time_based": "1", "rw": "randread", "bs": "8k", "runtime": "1m",
    }  # fmt: skip
    assert one.name == "one two"
    assert (three.options["numjobs"], three.options["stonewall"], three.options["rw"]) == ("8", "1", "randrw:4")
    assert "bs" not in three.options


def test_the_page_size_is_the_hosts() -> None:
    text = "[j]\nbs=4*$pagesize\nsize=$pagesize"
    reported = replace(FACTS, memory=replace(FACTS.memory, page_size=16384))
    assert dict(effective_sections(text, {}, reported)[0].options) == {"bs": "65536", "size": "16384"}
    assert effective_sections(text, {}, FACTS)[0].options["size"] == "$pagesize"


def test_what_is_not_known_stays_as_it_is_written_or_is_missed() -> None:
    one, three = effective_sections(FILE)
    assert one.options["size"] == "4*$mb_memory"
    assert three.options["numjobs"] == "$ncpus"
    assert one.missing == three.missing == ("WHERE",)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "no section"),
        ("[global]\nrw=read\n", "no section"),
        ("rw=read\n[job]\n", "Line 1 is outside any section"),
        ("[job\nrw=read\n", "Line 1 is not a section"),
        ("[job]\n=4\n", "Line 2 is not an option"),
        ("[job]\ninclude other.fio\n", "Line 2 includes"),
        ("[job]\nincludes=1\n", "Line 2 includes"),
        ("[job]\nsize=${X\n", "unterminated"),
        ("[job]\nfilename=x$ncpusy\n", "keyword in a path"),
        ("[job]\nrw=read\x0cy\n", "control character"),
        ("[job]\nfilename=" + "x" * 5000, "longer than"),
        ("[job]\n" * 3000, "3000 lines"),
    ],
)
def test_what_is_no_job_file_is_refused_with_its_line(text: str, shown: str) -> None:
    with pytest.raises(JobFileError, match=shown):
        read_job_file(text)


@pytest.mark.parametrize("word", ["LD_PRELOAD=/x.so", "PATH=/x", "A=${B}", "A=/dev/x;y", "A=x#y", "A=$ncpus"])
def test_a_variable_that_changes_what_runs_or_is_read_is_refused(word: str) -> None:
    with pytest.raises(JobFileError):
        read_environment(word)


def test_lines_end_where_fio_ends_them() -> None:
    """What str.splitlines takes for an end of a line is a part of it: of a comment, a name or a value."""
    for sign in "\v\f\x1c\x1d\x1e\x85\u2028\u2029":
        (job,) = read_job_file(f"[job]\nrw=write\n# a comment{sign}rw=read\n")
        assert job.options == {"rw": "write"}


def test_files_of_all_sections_that_fio_calls_global_add_up() -> None:
    (job,) = read_job_file(
        "[global]\nfilename=a\n[globalish]\nfilename=b\ndirectory=/d\n[job]\nrw=write\nfilename=c:e\\:f\n"
    )
    assert names_of(job) == ("a", "/d/b", "/d/c", "/d/e:f")


def test_a_name_of_global_names_no_log_of_a_section() -> None:
    """As fio 3.33 does: the name in the brackets wins over one of [global], one of the section over both."""
    text = "[global]\nname=/srv/other\nioengine=exec\nprogram=/bin/true\n[/srv/named]\n[x]\nname=/srv/own\n"
    found = {target.path for target in targets_of(read_job_file(text))}
    assert {"/srv/named.stdout", "/srv/own.stderr"} <= found
    assert not any("other" in path for path in found)


def test_the_environment() -> None:
    assert read_environment(" A=1  B=/x=y ") == {"A": "1", "B": "/x=y"}
    with pytest.raises(JobFileError, match="sets no variable"):
        read_environment("A=1 oops")


@pytest.mark.parametrize(
    ("text", "size"),
    [("4k", 4096), ("8kB", 8192), ("8Ki", 8192), ("8KiB", 8000), ("1MiB", 10**6), ("1g", 2**30), ("512", 512),
     ("50%", None), ("", None), ("$mb", None)],
)  # fmt: skip
def test_sizes_as_fio_has_them(text: str, size: int | None) -> None:
    assert fio_size(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"), [("30", 30), ("2s", 2), ("500ms", 0.5), ("1m", 60), ("2h", 7200), ("1d", 86400), ("x", None)]
)
def test_times_as_fio_has_them(text: str, seconds: float | None) -> None:
    assert fio_seconds(text) == seconds


def test_a_section_in_the_terms_of_fios_suite() -> None:
    _, three = effective_sections(FILE, {"WHERE": "/data"}, FACTS)
    values = section_values(three, "/srv")
    assert (values["rw"], values["rwmixread"], values["numjobs"], values["directory"]) == ("randrw", 70, 8, "/data")
    plain = section_values(section(buffered="0", bs="4k, 64kb", iodepth="32,8", loops="3"), "/srv")
    assert (plain["direct"], plain["block_sizes"], plain["iodepth"], plain["loops"]) == (True, "4k,64k", 32, 3)
    assert plain["directory"] == "/srv"


@pytest.mark.parametrize(
    "options",
    [
        {"filename": "/dev/sda"},
        {"filename": "a:/dev/disk/by-id/x"},
        {"filename": "../../../dev/sda"},
        {"filename": "sda", "directory": "/dev"},
        {"filename": "sda", "directory": "/dev/"},
        {"filename_format": "/dev/sd$jobnum"},
    ],
)
def test_a_section_that_may_write_a_device_is_suspected(options: dict[str, str]) -> None:
    assert may_write_device((Section("job", {"rw": "write", **options}),))
    assert may_write_device((Section("job", {"rw": "randtrim", **options}),))
    assert not may_write_device((Section("job", {"rw": "randread", **options}),))


def test_a_section_named_like_a_device_works_on_it() -> None:
    assert may_write_device((Section("/dev/sdb", {"rw": "write"}),))
    assert not may_write_device((Section("/dev/sdb", {"rw": "write", "filename": "mine"}),))
    assert raw_devices(section(filename="/dev/shm/x")) == ()
    assert raw_devices(section(filename="/srv/device/x")) == ()


def test_a_job_by_another_name_or_a_replay_is_suspected() -> None:
    assert not may_write_device((Section("one", {"rw": "write", "name": "/dev/sdb"}),))  # it names logs, no files
    assert may_write_device((Section("one", {"rw": "read", "read_iolog": "trace"}),))
    assert may_write_device((Section("one", {"replay_redirect": "/dev/sdb"}),))


def test_what_cannot_be_told_for_want_of_a_variable_may_not_write() -> None:
    (job,) = effective_sections("[job]\nrw=write\nfilename=${DEVICE}\n")
    assert may_write_device((job,))
    (job,) = effective_sections("[job]\nrw=write\nfilename=${DEVICE}\n", {"DEVICE": "mine"})
    assert not may_write_device((job,))


@given(st.text(max_size=300), st.text(max_size=60))
def test_any_text_at_all_is_read_or_refused(text: str, name: str) -> None:
    with suppress(JobFileError):
        for found in effective_sections(f"[{name}]\n{text}", {}, FACTS):
            section_values(found, "/srv")
            raw_devices(found)

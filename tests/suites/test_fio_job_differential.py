"""Job files that nobody thought of: read as fio itself reads them, and opening nothing that was not foretold."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from suites.facts import CpuFacts, Facts, MemoryFacts
from suites.fio_job.file import (
    ALIASES,
    ENGINES,
    KNOWN,
    REFUSED,
    JobFileError,
    Section,
    effective_sections,
    read_job_file,
)
from suites.fio_job.targets import targets_of
from suites.targets import Match, Target, reasons
from tests.processes import processes_with

FIO = shutil.which("fio") or ""
pytestmark = pytest.mark.skipif(not FIO, reason="needs fio")

ENVIRONMENT = {"A": "mine", "EMPTY": "", "SIZE": "3"}
PAGES = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
FACTS = Facts(
    host="h", read_at="now", cpu=CpuFacts(threads=os.sysconf("SC_NPROCESSORS_CONF")), memory=MemoryFacts(total=PAGES)
)

BLANK = st.sampled_from(["", " ", "\t", "  \t", "\v", "\f", "\u00a0", "\u0085", "\u2028", "\u3000"])
NAMES = st.sampled_from(["job", "a b", "global", "globalish", " x ", "/tmp/y", "-", "[z", "\u2028", "j;k", "j#k"])
VALUES = {
    "rw": ["read", "write", "randrw:8", "readwrite"],
    "readwrite": ["randread"],
    "filename": [
        "x",
        "/srv/x:y",
        "a\\:b",
        "${A}",
        "/de${EMPTY}v/x",
        "${0}z",
        "x # y",
        "x;y",
        "${A",
        "\u0085x",
        "$jobnum",
    ],
    "directory": ["/tmp", "/tmp:/var/tmp", "${A}"],
    "size": ["1m", "$ncpus", "4*$mb_memory", "${SIZE}m", "$ncpus*${SIZE}", "50%", "2 m"],
    "bs": ["4k", " 8k", "4k,8k"],
    "blocksize": ["16k"],
    "write_bw_log": ["log", "/srv/log"],
    "iomem": ["malloc", "mmap:/srv/m"],
    "nr_files": ["2"],
    "description": ["any thing", "include", "\u2028filename=/dev/x", "$ncpusx"],
    "unlink": ["0", "1"],
    "nosuchoption": ["1"],
}
OPTIONS = st.sampled_from([(name, value) for name, values in VALUES.items() for value in values])
LINES = st.one_of(
    st.builds(lambda a, b, c, o, d: f"{a}{o[0]}{b}={c}{o[1]}{d}", BLANK, BLANK, BLANK, OPTIONS, BLANK),
    st.builds(lambda a, b, o: f"{a}{o[0]}={o[1]}{b}", BLANK, st.sampled_from(["", " # c", ";c", "\r"]), OPTIONS),
    st.builds(lambda a, name, b: f"{a}[{name}]{b}", BLANK, NAMES, BLANK),
    st.builds(lambda a, b, o: f"# a comment{a}{o[0]}={o[1]}{b}", BLANK, BLANK, OPTIONS),
    st.sampled_from(["", "time_based", "stonewall", "include more.fio", "includes", "write_bw_log", "${A}=x"]),
)
FILES = st.builds(lambda lines: "\n".join(["[first]", *lines, "[last]", "rw=read", ""]), st.lists(LINES, max_size=12))


def as_fio_reads(text: str, folder: Path) -> tuple[list[str], set[tuple[str, str]]] | None:
    """Return the sections and options that fio finds in a job file; None where it takes none."""
    file = folder / "job.fio"
    file.write_bytes(text.encode())
    environment = {"PATH": os.environ["PATH"], **ENVIRONMENT}
    done = subprocess.run([FIO, "--showcmd", str(file)], capture_output=True, env=environment, check=False, cwd=folder)
    if done.returncode or b"dropped" in done.stderr:
        return None
    words = re.split(r"(?:^|(?<= ))--", done.stdout.decode(errors="surrogateescape").removeprefix("fio ").rstrip("\n"))
    options = [word.rstrip(" ").partition("=")[::2] for word in words if word.strip(" ")]
    names = [value for name, value in options if name == "name"]
    given = {(name, _unquoted(name, value.strip(" \t\v\f\r\n")) or "1") for name, value in options}
    return names, {option for option in given if option[0] != "name"}


def _unquoted(name: str, value: str) -> str:
    """Return a value as it was given: fio quotes descriptions, with the blanks before them."""
    return value[1:-1].strip(" \t") if name == "description" else value


def as_we_read(sections: tuple[Section, ...]) -> tuple[list[str], set[tuple[str, str]]]:
    options = {option for section in sections for body in section.bodies for option in body}
    return [section.name for section in sections], options


def compare(text: str) -> None:
    try:
        ours = as_we_read(effective_sections(text, ENVIRONMENT, FACTS))
    except JobFileError:
        return  # nothing runs
    with tempfile.TemporaryDirectory() as folder:
        theirs = as_fio_reads(text, Path(folder))
    if theirs is not None:
        assert ([name.strip() for name in ours[0]], ours[1]) == ([name.strip() for name in theirs[0]], theirs[1])


@pytest.mark.slow
@given(FILES)
def test_what_we_read_is_what_fio_reads(text: str) -> None:
    compare(text)


@pytest.mark.slow
@given(FILES)
def test_what_we_read_is_what_fio_reads_at_length(text: str) -> None:
    compare(text)


PLAIN = st.fixed_dictionaries(
    {"rw": st.sampled_from(["read", "randwrite", "randrw"]), "bs": st.sampled_from(["4k", "64k"])},
    optional={
        "direct": st.just("1"),
        "iodepth": st.sampled_from(["1", "32"]),
        "numjobs": st.sampled_from(["1", "$ncpus"]),
        "directory": st.just("/var/tmp"),
        "ioengine": st.sampled_from(["libaio", "psync"]),
        "runtime": st.sampled_from(["30", "1m"]),
        "size": st.sampled_from(["1g", "128M"]),
    },
)


@pytest.mark.slow
@given(PLAIN, PLAIN)
def test_an_ordinary_job_file_is_accepted_by_both(shared: Mapping[str, str], own: Mapping[str, str]) -> None:
    lines = ["[global]", *(f"{name}={value}" for name, value in shared.items())]
    text = "\n".join([*lines, "", "# mine", "[job]", *(f"{name} = {value}" for name, value in own.items()), ""])
    text = text.replace(" = ", "=")
    with tempfile.TemporaryDirectory() as folder:
        assert as_fio_reads(text, Path(folder)) is not None
    sections = effective_sections(text, {}, FACTS)
    assert reasons(targets_of(sections)) == ()


def test_every_option_of_the_installed_fio_is_known() -> None:
    """An option that is in none of the lists is refused; those of fio's documentation must be in one."""
    shown = subprocess.run([FIO, "--cmdhelp=all"], capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"^([a-z0-9_-]+) *:", shown, re.MULTILINE))
    assert len(names) > 100
    assert names - KNOWN - REFUSED.keys() == set()
    assert ALIASES.keys() & KNOWN == set()
    for engine in ENGINES - {"linuxaio"}:
        listed = subprocess.run([FIO, f"--enghelp={engine}"], capture_output=True, text=True, check=False).stdout
        assert set(re.findall(r"^([a-z0-9_-]+) *:", listed, re.MULTILINE)) <= KNOWN, engine


# What fio opens, as the kernel sees it

CALLS = "open,openat,creat,truncate,unlink,unlinkat,rename,renameat,renameat2,link,symlink,mknod"
_CALL = re.compile(r'(\w+)\((?:AT_FDCWD, )?"((?:[^"\\]|\\.)*)"(?:, ([A-Z_|0-9]+))?.*\) = (-?\d+)')
OUT = {
    "rw": st.sampled_from(["read", "write", "randrw", "randread", "trim"]),
    "filename": st.sampled_from(["{out}/f", "{out}/f:{out}/g", "mine", "a:{out}/b"]),
    "directory": st.sampled_from(["{out}", "{out}:{out}/sub", "."]),
    "filename_format": st.sampled_from(["{out}/n.$jobnum.$filenum", "$jobname-$FileNum", "{out}/fixed"]),
    "ioengine": st.sampled_from(["psync", "libaio", "mmap", "null", "filecreate", "filedelete", "ftruncate", "exec"]),
    "size": st.sampled_from(["16k", "32k"]),
    "filesize": st.sampled_from(["8k-64k", "16k"]),
    "nrfiles": st.sampled_from(["1", "3"]),
    "numjobs": st.sampled_from(["1", "2"]),
    "unlink": st.just("1"),
    "create_on_open": st.just("1"),
    "overwrite": st.just("1"),
    "fallocate": st.sampled_from(["none", "posix", "truncate"]),
    "write_bw_log": st.sampled_from(["{out}/l", "1"]),
    "write_lat_log": st.just("{out}/l"),
    "write_iops_log": st.just("{out}/l"),
    "write_hist_log": st.just("{out}/h"),
    "per_job_logs": st.just("0"),
    "log_compression": st.just("4k"),
    "log_store_compressed": st.just("1"),
    "log_hist_msec": st.just("10"),
    "write_iolog": st.just("{out}/io"),
    "mem": st.sampled_from(["mmap:{out}/m", "mmapshared:{out}/m", "malloc"]),
    "name": st.just("{out}/other"),
    "exec_prerun": st.just("true"),
    "verify": st.sampled_from(["crc32c", "md5"]),
    "verify_dump": st.just("1"),
    "program": st.just("/bin/true"),
    "thread": st.just("1"),
}
BODY = st.fixed_dictionaries({}, optional=OUT)
JOBS = st.builds(
    lambda shared, own, name: (shared, own, name), BODY, BODY, st.sampled_from(["j", "{out}/named", "a b"])
)


ENDLESS = 20.0
"""Seconds after which a fio will not end: version 3.33 hangs on some jobs of its engine exec, and outlives strace."""


def opened_by_fio(text: str, folder: Path) -> set[str]:
    """Return every path outside its working directory that a fio of `text` writes, creates or removes."""
    work = folder / "work"
    work.mkdir()
    (work / "job.fio").write_text(text)
    words = ["strace", "-f", "-qq", "-s", "4096", "-e", f"trace={CALLS}", "-o", str(folder / "trace"), FIO, "job.fio"]
    environment = {**os.environ, "TRACED": str(folder)}
    with contextlib.suppress(subprocess.TimeoutExpired):  # what fio opened until then counts
        subprocess.run(words, cwd=work, env=environment, capture_output=True, check=False, timeout=ENDLESS)
    for pid in processes_with(f"TRACED={folder}"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    found = set()
    for line in (folder / "trace").read_text(errors="replace").splitlines():
        call = _CALL.search(line)
        if call is None:
            continue
        name, path, flags, _ = call.groups()
        writes = not name.startswith("open") or re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC)", flags or "")
        if writes and path.startswith(str(folder / "out")):
            found.add(os.path.normpath(path))
    return found


def foretold(path: str, targets: tuple[Target, ...]) -> bool:
    for target in targets:
        whole = os.path.normpath(target.path) + ("/" if target.path.endswith("/") else "")
        if path == whole or (target.match is Match.PREFIX and path.startswith(whole)):
            return True
        rest = path.removeprefix(whole) if target.match is Match.NUMBERED and path.startswith(whole) else "no"
        if re.fullmatch(r"[0-9.]*(?:log(?:\.fz)?)?", rest):
            return True
    return False


def trace(job: tuple[Mapping[str, str], Mapping[str, str], str]) -> None:
    shared, own, name = job
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "out" / "sub").mkdir(parents=True)
        out = str(folder / "out")
        lines = ["[global]", *(f"{key}={value}" for key, value in shared.items()), f"[{name}]"]
        lines += [f"{key}={value}" for key, value in own.items()]
        text = "\n".join([*lines, "bs=4k", "loops=1", *([] if "size" in own else ["size=16k"]), ""]).replace(
            "{out}", out
        )
        targets = targets_of(read_job_file(text))
        if reasons(targets):
            return  # nothing runs
        unexpected = {path for path in opened_by_fio(text, folder) if not foretold(path, targets)}
        assert unexpected == set(), text


HANGS = (
    {"rw": "read"},
    {
        "filename": "mine", "filename_format": "{out}/fixed", "overwrite": "1", "ioengine": "exec",
        "program": "/bin/true", "mem": "mmap:{out}/m", "nrfiles": "1", "filesize": "8k-64k", "create_on_open": "1",
        "write_iops_log": "{out}/l", "write_hist_log": "{out}/h", "write_bw_log": "{out}/l", "log_compression": "4k",
        "thread": "1",
    },
    "j",
)  # fmt: skip
"""A job that fio 3.33 never ends."""

needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")


@needs_strace
@settings(max_examples=8)
@given(JOBS)
def test_fio_opens_only_predicted_files(job: tuple[Mapping[str, str], Mapping[str, str], str]) -> None:
    trace(job)


@pytest.mark.slow
@needs_strace
@given(JOBS)
@example(HANGS)
def test_fio_opens_nothing_that_was_not_foretold_at_length(
    job: tuple[Mapping[str, str], Mapping[str, str], str],
) -> None:
    trace(job)

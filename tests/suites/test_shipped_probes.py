"""The probes that are shipped compiled: what they are, that they run, and that the sources give the same bytes."""

import hashlib
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

import resources
from remote.telemetry.telemetry_ticks import Tick, TickReader
from suites.base import Context, complete_values
from suites.facts import Facts
from suites.memory_blocks import MemoryBlocks
from suites.probe import ARCHITECTURES
from suites.stream.output import StreamParser
from tests.messages import messages
from tests.suites.host_facts import host
from tests.suites.test_probe_sources import SHORT, SOURCES

MESSAGES = messages("suites", "test_shipped_probes")

ROOT = Path(resources.__file__).parent.parent
SHIPPED = Path(resources.__file__).parent / "probes" / "bin"
PROGRAMS = sorted(f"{architecture}/{name}" for architecture in ARCHITECTURES for name in SOURCES)

OTHERS = sorted(f"{architecture}/{name}" for architecture in ARCHITECTURES for name in ("device_cgroup", "telemetry"))
"""What is shipped beside the probes: tests/lab/test_device_cgroup.py and tests/remote/test_tree_counters.py run it."""

ELF = {"x86_64": 62, "aarch64": 183}
"""e_machine (elf.h)."""

PT_DYNAMIC, PT_INTERP = 2, 3


def sums() -> dict[str, str]:
    lines = (SHIPPED / "SHA256SUMS").read_text().splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def digest_of(name: str) -> str:
    return hashlib.sha256((SHIPPED / name).read_bytes()).hexdigest()


def words_for(name: str) -> list[str]:
    """Return the command that runs the program here, in an emulator where it needs one; skip where there is none."""
    architecture = name.partition("/")[0]
    if architecture == platform.machine():
        return [str(SHIPPED / name)]
    emulator = shutil.which(f"qemu-{architecture}-static") or shutil.which(f"qemu-{architecture}")
    if emulator is None:
        pytest.skip(f"no emulator for {architecture} is installed (qemu-user-static)")
    return [emulator, str(SHIPPED / name)]


def test_every_probe_is_shipped_for_every_architecture_and_named_by_its_digest() -> None:
    found = sorted(str(path.relative_to(SHIPPED)) for path in SHIPPED.glob("*/*"))
    assert found == sorted(PROGRAMS + OTHERS)
    programs = {name: digest for name, digest in sums().items() if name.split("/")[0] in ARCHITECTURES}
    assert programs == {name: digest_of(name) for name in PROGRAMS + OTHERS}
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*")) < 2**20


def test_the_programs_were_made_from_the_sources_as_they_are() -> None:
    """After a change of a source or of the recipe, `make probes` compiles them anew."""
    sources = [*SHIPPED.parent.glob("*.[ch]"), *SHIPPED.parent.glob("shipped/*")]
    found = {str(path.relative_to(SHIPPED.parent)): path for path in sources} | {".make/probes": ROOT / ".make/probes"}
    made_from = {name: digest for name, digest in sums().items() if name.split("/")[0] not in ARCHITECTURES}
    assert made_from == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in found.items()}


def test_the_licences_of_what_is_linked_in_are_beside_them() -> None:
    assert MESSAGES["musl_as_a_whole_is_licensed"] in ((SHIPPED / "LICENSE.musl").read_text())
    assert "The MIT License" in (SHIPPED / "LICENSE.zig").read_text()


@pytest.mark.parametrize("name", PROGRAMS + OTHERS)
def test_it_is_static_and_of_its_architecture(name: str) -> None:
    program = (SHIPPED / name).read_bytes()
    assert program[:6] == b"\x7fELF\x02\x01"  # 64 bits, little-endian
    machine, start, size, count = struct.unpack_from("<18xH12xQ14xHH", program)
    assert machine == ELF[name.partition("/")[0]]
    kinds = {struct.unpack_from("<I", program, start + number * size)[0] for number in range(count)}
    assert not kinds & {PT_DYNAMIC, PT_INTERP}
    assert str(ROOT).encode() not in program  # nothing of the computer that built it
    assert b"/tmp/" not in program


@pytest.mark.quick(5)
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_runs_and_says_the_digest_of_its_own_file(name: str) -> None:
    probe = name.partition("/")[2]
    done = subprocess.run([*words_for(name), *SHORT[probe]], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("done\n")
    head = done.stdout.splitlines()[:5]
    assert re.fullmatch(rf"# benchwright-{probe} \d+", head[0])
    assert head[1] == "# compiler zig cc 0.13.0, clang 18.1.6"
    assert head[2] == MESSAGES["options_std_gnu11_o3_pthread"]
    assert head[3] == f"# sha256 {digest_of(name)}"
    assert re.fullmatch(r"# level (x86-64(-v[34])?|armv8-a)", head[4])


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_probe_refuses_words_that_are_none(name: str) -> None:
    for words in ([], ["/nowhere"], ["/tmp", "7:0"], ["/tmp", "7"], ["/tmp", "7:0x"], ["/tmp", "7:0", "1"]):
        done = subprocess.run([*words_for(name), *words], capture_output=True, check=False, timeout=60)
        assert done.returncode in {1, 2}
        assert done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("length", [0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 128, 4095])
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_the_digest_is_right_for_files_of_any_length(length: int, tmp_path: Path) -> None:
    """A program is made longer byte by byte: what follows an ELF file does not matter to it."""
    source = tmp_path / "clock"
    options = ["-std=gnu11", "-O1", "-pthread", "-Wall", "-Wextra", "-Werror", '-DLEVEL="x"']
    clock = SHIPPED.parent / "clock.c"
    subprocess.run(["gcc", *options, "-o", source, clock], check=True)
    program = source.read_bytes()
    source.write_bytes(program + bytes(-len(program) % 64) + b"x" * length)
    source.chmod(0o700)
    shown = subprocess.run([source], capture_output=True, text=True, check=True).stdout
    assert f"# sha256 {hashlib.sha256(source.read_bytes()).hexdigest()}\n" in shown


def test_the_result_names_the_shipped_probe_by_its_digest() -> None:
    parser = StreamParser()
    words = [*words_for(f"{platform.machine()}/stream"), *SHORT["stream"]]
    parser.feed(subprocess.run(words, capture_output=True, check=True).stdout)
    version = parser.finish(0).tool_version
    digest = digest_of(f"{platform.machine()}/stream")
    assert version is not None
    assert version.endswith(f"zig cc 0.13.0, clang 18.1.6, -std=gnu11 -O3 -pthread -static, musl, shipped, "
                            f"sha256 {digest[:16]}")  # fmt: skip


@pytest.mark.parametrize("forged", ["0" * 63, "Z" * 64, "../../etc"])
def test_a_digest_that_is_none_is_not_repeated(forged: str) -> None:
    parser = StreamParser()
    parser.feed(f"# benchwright-stream 1\n# compiler gcc 12\n# options -O3\n# sha256 {forged}\n".encode())
    assert parser.finish(0).tool_version == "1, gcc 12, -O3"


def test_blocks_measures_the_c_library_of_the_host_where_it_can() -> None:
    suite = MemoryBlocks()
    values = complete_values(suite, {})

    def files(facts: Facts) -> list[str]:
        return [file.resource for command in suite.commands(values, Context(facts)) for file in command.files]

    bare, with_compiler = host(architecture="x86_64"), host(architecture="x86_64", gcc="gcc 12.2.0")
    assert files(bare) == ["probes/bin/x86_64/blocks"]
    assert suite.programs(values, bare) == ()
    assert files(with_compiler) == ["probes/blocks.c", "probes/probe.h"]


def test_the_arrays_of_stream_have_huge_pages_where_the_kernel_gives_them() -> None:
    mode = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if platform.machine() not in ARCHITECTURES or not mode.exists() or "[never]" in mode.read_text():
        pytest.skip("this kernel gives no huge pages")
    words = [str(SHIPPED / platform.machine() / "stream"), "--elements", "8000000", "--times", "100", "--threads", "1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        next(line for line in running.stdout if line.startswith("live "))
        found = Path(f"/proc/{running.pid}/smaps_rollup").read_text()
        running.kill()
    kib = re.search(r"^AnonHugePages: +(\d+) kB$", found, re.MULTILINE)
    assert kib is not None
    assert int(kib[1]) * 1024 > 0.8 * 3 * 8 * 8_000_000


@pytest.mark.slow
@pytest.mark.parametrize("architecture", sorted(ARCHITECTURES))
def test_the_telemetry_of_each_architecture_counts_a_tree(architecture: str, tmp_path: Path) -> None:
    words = words_for(f"{architecture}/telemetry")
    copy, lease = tmp_path / "telemetry", tmp_path / "lease"
    shutil.copy(words[-1], copy)  # it removes its file
    lease.mkdir()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True) as leader:
        started = Path(f"/proc/{leader.pid}/stat").read_text().rpartition(")")[2].split()[19]
        (lease / f"job={leader.pid}-{started}-boot").touch()
        arguments = [*words[:-1], str(copy), "mark", "0.2", str(lease), "", "2", "--"]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            reader, until = TickReader("mark"), time.monotonic() + 60
            ticks: list[Tick] = []
            try:
                while len(ticks) < 10 and time.monotonic() < until:
                    ticks += reader.feed(os.read(running.stdout.fileno(), 65536))
            finally:
                running.kill()
                leader.kill()
    assert reader.program
    assert len(ticks) >= 5
    first, last = (tick.tree for tick in (ticks[1], ticks[-1]))
    assert first is not None
    assert last is not None
    grown = last.counters["user"] - first.counters["user"]
    assert grown == pytest.approx(100 * (ticks[-1].uptime - ticks[1].uptime), rel=0.7)  # the computer may be busy
    assert {"read", "written", "wait", "busiest"} <= set(last.counters)
    assert (lease / "touched").exists()


@pytest.mark.slow
def test_the_sources_give_the_same_bytes(tmp_path: Path) -> None:
    """What `make probes` does, into another directory: with the compiler that its digest names, fetched anew."""
    done = subprocess.run([ROOT / ".make" / "probes", tmp_path / "bin"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "bin" / "SHA256SUMS").read_text() == (SHIPPED / "SHA256SUMS").read_text()

"""What is really mounted and stacked here is seen in the facts, and warned of; its plain twin is not."""

import contextlib
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.checks.before import evaluate
from app.checks.storage import STEP_CHECKS
from remote.local import LocalSession
from remote.probe import read_facts
from suites.base import Context, StepEvidence, complete_values
from suites.facts import Facts
from suites.fio.output import FioParser
from suites.fio.parameters import flushes
from suites.registry import suite
from suites.vocab import Finding
from tests.loop_devices import MIB, MakeLoop, make_loop, run

__all__ = ["make_loop"]

SIZE = 64 * MIB


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    point = tmp_path / "mounted"
    point.mkdir()
    yield point
    subprocess.run(["umount", point], capture_output=True, check=False)


@contextlib.contextmanager
def zram() -> Iterator[str]:
    control = Path("/sys/class/zram-control/hot_add")
    try:
        number = control.read_text().strip()
    except OSError:
        pytest.skip("this kernel has no zram")
    try:
        Path(f"/sys/block/zram{number}/disksize").write_text(str(SIZE))
        yield f"/dev/zram{number}"
    finally:
        subprocess.run(["umount", f"/dev/zram{number}"], capture_output=True, check=False)
        remove_zram(control.parent / "hot_remove", number)


def remove_zram(control: Path, number: str) -> None:
    """Remove a zram device, which whoever looks at new devices may have open for a moment."""
    for remaining in reversed(range(50)):
        try:
            control.write_text(number)
        except OSError:
            if not remaining:
                raise
            time.sleep(0.1)
        else:
            return


def facts_of(*paths: Path | str) -> Facts:
    with contextlib.closing(LocalSession()) as session:
        return read_facts(session, [str(path) for path in paths])


def raised(point: Path, suite_id: str = "fio", **given: object) -> dict[str, Finding]:
    chosen = suite(suite_id)
    values = complete_values(chosen, {"directory": str(point), "size": 16 * MIB, **given})
    step = StepEvidence("step", chosen, values, Context(facts_of(point)), "web-1")
    return {each.id: each for each in evaluate(STEP_CHECKS, step) if isinstance(each, Finding)}


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("options", "words", "rw"),
    [
        ("sync", "is mounted with sync.", "randwrite"),
        ("nobarrier", "is mounted with nobarrier.", "randwrite"),
        ("data=journal", "is mounted with data=journal.", "randread"),
        ("sync", "", "randread"),
        ("noatime", "", "randwrite"),
    ],
)
def test_mount_options(make_loop: MakeLoop, mounted: Path, options: str, words: str, rw: str) -> None:
    device = make_loop("disk.img", SIZE)
    run("mkfs.ext4", "-q", device)
    run("mount", "-o", options, device, mounted)
    found = raised(mounted, rw=rw)
    assert ("mount-options" in found) is bool(words)
    if words:
        assert words in found["mount-options"].measured
    assert "file-backed-disk" in found


def test_direct_io_does_not_bypass_the_page_cache_with_data_journal(make_loop: MakeLoop, mounted: Path) -> None:
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    device = make_loop("disk.img", SIZE)
    run("mkfs.ext4", "-q", device)
    read = {}
    for options in ("data=ordered", "data=journal"):
        run("mount", "-o", options, device, mounted)
        job = ["fio", "--name=a", "--size=8m", f"--directory={mounted}", "--direct=1", "--bs=64k", "--thread=1"]
        run(*job, "--rw=write", "--end_fsync=1")
        before = sectors_read(device)
        run(*job, "--rw=read", "--loops=4", "--invalidate=0")
        read[options] = 512 * (sectors_read(device) - before)
        run("umount", mounted)
    assert read["data=ordered"] >= 4 * 8 * MIB
    assert read["data=journal"] < 8 * MIB


def sectors_read(device: str) -> int:
    return int(Path(f"/sys/block/{Path(device).name}/stat").read_text().split()[2])


def sectors_written(device: str) -> int:
    return int(Path(f"/sys/block/{Path(device).name}/stat").read_text().split()[6])


@pytest.mark.slow
@pytest.mark.parametrize(("every", "flushed"), [(100_000, False), (16, True)])
def test_a_rare_fsync_flushes_little_of_what_is_written(
    make_loop: MakeLoop, mounted: Path, every: int, *, flushed: bool
) -> None:
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    device = make_loop("disk.img", SIZE)
    run("mkfs.ext4", "-q", device)
    run("mount", device, mounted)
    size = 16 * MIB
    job = ["fio", "--name=a", f"--size={size}", f"--directory={mounted}", "--thread=1", "--bs=4k", "--rw=randwrite"]
    before = sectors_written(device)
    out = run(*job, f"--fsync={every}", "--runtime=2", "--time_based", "--output-format=json")
    found = json.loads(out[out.index("{") :])["jobs"][0]
    written, syncs = found["write"]["io_bytes"], found["sync"]["total_ios"]
    assert (syncs * size > written) is flushed, (syncs, written)
    if flushed:
        assert 512 * (sectors_written(device) - before) > 0.9 * written
    values = {**complete_values(suite("fio"), {"rw": "randwrite", "size": size, "runtime": 2.0, "fsync": every})}
    assert flushes(values) is flushed


def test_trim_of_a_file_really_yields_no_figure(tmp_path: Path) -> None:
    words = ["--rw=randtrim"]
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    argv = ["fio", "--name=a", "--size=4m", f"--directory={tmp_path}", "--thread=1", "--output-format=json+", *words]
    done = subprocess.run(argv, capture_output=True, check=False)
    parser = FioParser()
    list(parser.feed(done.stdout))
    list(parser.feed(done.stderr, "stderr"))
    assert not parser.finish(done.returncode).complete
    job = suite("fio-job")
    text = "\n".join(["[a]", "size=4m", *(word.removeprefix("--") for word in words)])
    step = StepEvidence("step", job, complete_values(job, {"job": text}), Context(), "web-1")
    assert "trim-on-file" in {each.id for each in evaluate(job.checks, step) if isinstance(each, Finding)}


def test_a_loop_device_over_memory_is_named(make_loop: MakeLoop, mounted: Path, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    run("mount", "-t", "tmpfs", "tmpfs", memory)
    try:
        device = make_loop("memory/disk.img", SIZE)
        run("mkfs.ext4", "-q", device)
        run("mount", device, mounted)
        found = raised(mounted)["file-backed-disk"]
        assert "over a file on tmpfs." in found.measured
        assert "is that of memory" in found.why
        run("umount", mounted)
        run("losetup", "--detach", device)
    finally:
        subprocess.run(["umount", memory], capture_output=True, check=False)


def test_a_file_system_on_zram_is_no_disk(mounted: Path) -> None:
    with zram() as device:
        run("mkfs.ext4", "-q", device)
        run("mount", device, mounted)
        assert "zram: compressed memory." in raised(mounted)["substitute-device"].measured
    assert "substitute-device" not in raised(Path("/var/tmp"))


def test_a_fuse_file_system_is_no_plain_disk(mounted: Path, tmp_path: Path) -> None:
    if not Path("/dev/fuse").exists():
        pytest.skip("this kernel has no FUSE")
    if shutil.which("fuse2fs") is None:
        pytest.skip("fuse2fs is not installed")
    image = tmp_path / "disk.img"
    with image.open("wb") as file:
        file.truncate(SIZE)
    run("mkfs.ext4", "-q", image)
    run("fuse2fs", "-o", "fakeroot", image, mounted)
    found = raised(mounted)["not-a-disk"]
    assert "a FUSE file system." in found.measured
    assert "user space" in found.why


@pytest.mark.slow
def test_an_existing_file_needs_no_space(make_loop: MakeLoop, mounted: Path) -> None:
    device = make_loop("disk.img", SIZE)
    run("mkfs.ext4", "-q", device)
    run("mount", device, mounted)
    laid_out, job = mounted / "laid-out", suite("fio-job")
    text = f"[a]\nrw=randread\ndirect=1\nsize=32m\nfilename={laid_out}\n"
    values = complete_values(job, {"directory": str(mounted), "job": text})

    def space() -> list[str]:
        step = StepEvidence("step", job, values, Context(facts_of(mounted, *job.more_directories(values))), "web-1")
        found = [each for each in evaluate(STEP_CHECKS, step) if isinstance(each, Finding)]
        return [each.id for each in found if each.id == "no-space"]

    (mounted / "other").write_bytes(bytes(SIZE // 2))
    assert space() == ["no-space"]
    (mounted / "other").rename(laid_out)
    assert space() == []
    (mounted / "hole").touch()
    laid_out.unlink()
    (mounted / "filled").write_bytes(bytes(SIZE // 2))
    with laid_out.open("wb") as sparse:
        sparse.truncate(SIZE // 2)
    assert space() == ["no-space"]  # a sparse file still needs its blocks
    assert replace(facts_of(laid_out), host="h").directories[0].file == 0

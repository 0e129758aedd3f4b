"""Our probes in C: built without a warning, clean under the sanitizers, with the arguments they refuse."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import resources

PROBES = Path(resources.__file__).parent / "probes"
SOURCES = sorted(path.stem for path in PROBES.glob("*.c"))
STRICT = ("-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion")

SHORT: dict[str, tuple[str, ...]] = {
    "blocks": ("--time", "0.02", "--threads", "2", "--memory", "300000", "--blocks", "1,7,65536", "--chase", "100000"),
    "clock": (),
    "compute": ("--time", "0.2", "--interval", "0.1", "--threads", "2"),
    "netblocks": ("--time", "0.02", "--threads", "2", "--blocks", "3000"),
    "stream": ("--elements", "20000", "--times", "3", "--threads", "2"),
}
"""Arguments that let each probe do a little of everything."""

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


def built(name: str, folder: Path, *options: str, compiler: str = "gcc") -> Path:
    """Return the program, built from the sources as the suites build it, with more `options`."""
    program = folder / Path(name).name
    words = [compiler, "-std=gnu11", "-pthread", *options, "-o", str(program), str(PROBES / f"{name}.c")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return program


@pytest.fixture(scope="module")
def plain(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program of the name that is the parameter, built once."""
    return built(request.param, tmp_path_factory.mktemp("plain"), "-O1", '-DBUILD="-O1 and so on"')


def ran(program: Path, *words: str, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=timeout)


def test_every_probe_is_tried_here() -> None:
    assert set(SHORT) == set(SOURCES)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize(
    "options", [("-O3", "-march=native"), ("-O2",), ("-O0", "-march=x86-64-v3")], ids=["native", "plain", "debug"]
)
def test_it_builds_without_a_warning(name: str, options: tuple[str, ...], tmp_path: Path) -> None:
    built(name, tmp_path, *STRICT, *options)


@pytest.mark.parametrize("name", ["device_cgroup", "telemetry"])
def test_what_is_shipped_beside_the_probes_builds_without_a_warning(name: str, tmp_path: Path) -> None:
    built(f"shipped/{name}", tmp_path, *STRICT, "-O2")


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.skipif(shutil.which("aarch64-linux-gnu-gcc") is None, reason="no cross compiler for aarch64 is installed")
def test_it_builds_for_aarch64_without_a_warning(name: str, tmp_path: Path) -> None:
    built(name, tmp_path, *STRICT, "-O3", "-static", compiler="aarch64-linux-gnu-gcc")


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.skipif(
    shutil.which("aarch64-linux-gnu-gcc") is None or shutil.which("qemu-aarch64-static") is None,
    reason="no cross compiler and emulator for aarch64 are installed",
)
def test_it_runs_on_aarch64(name: str, tmp_path: Path) -> None:
    program = built(name, tmp_path, "-O2", "-static", compiler="aarch64-linux-gnu-gcc")
    done = ran(Path(shutil.which("qemu-aarch64-static") or ""), str(program), *SHORT[name])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("done\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_the_sanitizers_find_nothing(name: str, sanitizer: str, tmp_path: Path) -> None:
    done = ran(built(name, tmp_path, "-O1", "-g", f"-fsanitize={sanitizer}"), *SHORT[name])
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("this kernel lays out memory in a way that the sanitizer does not know")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("done\n")


@pytest.mark.quick(2)
@pytest.mark.parametrize("plain", SOURCES, indirect=True)
def test_it_says_what_it_is(plain: Path) -> None:
    done = ran(plain, *SHORT[plain.name])
    head = done.stdout.splitlines()[:3]
    assert re.fullmatch(rf"# benchwright-{plain.name} \d+", head[0])
    assert re.fullmatch(r"# compiler gcc \d+\.\d+.*", head[1])
    assert head[2] == "# options -O1 and so on"


@pytest.mark.parametrize("plain", SOURCES, indirect=True)
@pytest.mark.parametrize(
    "words",
    [
        ("--bogus", "1"),
        ("--threads",),
        ("--threads", "-1"),
        ("--threads", "x"),
        ("--threads", "99999999999999999999"),
        ("--sweep", "sideways"),
    ],
    ids=" ".join,
)
def test_what_it_does_not_understand_it_refuses(plain: Path, words: tuple[str, ...]) -> None:
    done = ran(plain, *words)
    assert done.returncode == 2
    assert re.fullmatch(r"error \S.*\n", done.stderr)
    assert "done" not in done.stdout


def test_an_end_that_the_client_hears_first_breaks_no_flow(tmp_path: Path) -> None:
    """As on a busy host: the server end is held up for a moment after it has said that the test is over."""
    shown = 'tell("end", test, control, &whole_time);'
    source = (PROBES / "netblocks.c").read_text()
    assert shown in source
    (tmp_path / "netblocks.c").write_text(source.replace(shown, f"{shown} sleep_until(now() + 0.05);"))
    program = tmp_path / "netblocks"
    words = ["gcc", "-std=gnu11", "-pthread", "-I", str(PROBES), "-o", str(program), str(tmp_path / "netblocks.c")]
    subprocess.run(words, check=True)
    done = ran(program, *SHORT["netblocks"])
    assert (done.returncode, done.stderr) == (0, "")

"""Figures that presets read of commands, in outputs of several versions of each tool."""

import subprocess
from pathlib import Path

import pytest

from app.plans.presets import filled_preset
from suites.registry import suite
from tests.suites.captured_outputs import figures

OUTPUTS = Path(__file__).parent.parent / "data" / "presets"
TIMED = b"\nbenchwright-timed 1.000 s, status 0, resolution 0.01 s, accepted\n"


@pytest.mark.parametrize(
    ("preset", "step", "output", "expected"),
    [
        ("cpu-applications", "7-Zip", "7-zip-16.02", 2123),
        ("cpu-applications", "7-Zip", "7-zip-25.01", 2826),
        ("cpu-applications", "OpenSSL AES", "openssl-aes-1.1.1w", 4461320.08),
        ("cpu-applications", "OpenSSL AES", "openssl-aes-3.0.19", 4095841.45),
        ("cpu-applications", "OpenSSL AES", "openssl-aes-3.5.9", 9406371.51),
        ("cpu-applications", "OpenSSL RSA", "openssl-rsa2048-1.1.1w", 1664.1),
        ("cpu-applications", "OpenSSL RSA", "openssl-rsa2048-3.0.19", 4004.8),
        ("cpu-applications", "OpenSSL RSA", "openssl-rsa2048-3.5.9", 3703.1),
        ("cpu-applications", "zstd", "zstd-1.4.8", 138.3),
        ("cpu-applications", "zstd", "zstd-1.5.4", 57.2),
        ("cpu-applications", "zstd", "zstd-1.5.7", 41.4),
        ("system-latency", "hackbench", "hackbench-1.5", 0.496),
        ("system-latency", "hackbench", "hackbench-2.4", 0.320),
        ("system-latency", "hackbench", "hackbench-2.6", 0.526),
        ("system-latency", "cyclictest, maximum", "cyclictest-1.5", 4154),
        ("system-latency", "cyclictest, maximum", "cyclictest-2.4", 7270),
        ("system-latency", "cyclictest, maximum", "cyclictest-2.6", 3831),
        ("system-latency", "perf bench", "perf-bench-6.1", 45958),
        ("system-latency", "perf bench", "perf-bench-6.12", 188125),
    ],
)
def test_each_version_gives_its_figure(preset: str, step: str, output: str, expected: float) -> None:
    (found,) = [one for one in filled_preset(preset, ["web-1"], {}).plan.steps if one.name.startswith(step)]
    parser = suite("command").parser(found.values)
    parser.feed((OUTPUTS / f"{output}.stdout").read_bytes() + TIMED)
    (figure,) = [value for name, value in figures(parser.finish(0)).items() if name != "wall_time"]
    assert figure == expected


@pytest.mark.parametrize("version", ["1.5", "2.4", "2.6"])
def test_a_p99_beyond_the_histogram_of_cyclictest_is_none(version: str) -> None:
    """2.5 % and more of the wake-ups of these outputs are beyond it."""
    (found,) = [one for one in filled_preset("system-latency", ["web-1"], {}).plan.steps if one.name.endswith("p99")]
    command = str(found.values["command"]).partition("|")[2]
    output = (OUTPUTS / f"cyclictest-{version}.stdout").read_text()
    printed = subprocess.run(("sh", "-c", command), input=output, capture_output=True, text=True, check=True).stdout
    assert printed == ""

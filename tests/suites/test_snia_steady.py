"""Steady state over rounds, on simulated series: by the window alone, by both criteria, and as the host decides it."""

import math
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import resources
from suites.snia.steady import steady_round, window_of
from tests.host_shells import shell_path

DRIVER = Path(resources.__file__).parent / "steady-rounds.sh"

FAKE = """#!/bin/sh
# Prints what the next round of a simulated drive gives, as fio prints it.
round=$(($(cat count 2>/dev/null || echo 0) + 1))
echo "$round" >count
value=$(sed -n "${round}p" series)
[ -n "$value" ] || exit 3
printf '{\\n  "jobs" : [\\n    {\\n      "read" : {\\n        "io_bytes" : 5,\\n        "iops" : 1.0\\n      },\\n'
printf '      "write" : {\\n        "io_bytes" : 4096,\\n        "bw_bytes" : 77,\\n        "iops" : %s,\\n' "$value"
printf '        "lat_ns" : {\\n          "min" : 1,\\n          "mean" : %s,\\n' "$value"
printf '          "percentile" : {\\n            "mean" : 9\\n          }\\n        },\\n'
printf '        "iops_mean" : 3\\n      },\\n'
printf '      "trim" : {\\n        "iops" : 2.0\\n      }\\n    }\\n  ]\\n}\\n'
"""


def decay(tau: float, rounds: int = 25) -> list[float]:
    """Return a rate that falls from three times its final value to it."""
    return [1000 * (1 + 2 * math.exp(-place / tau)) for place in range(rounds)]


def cliff(at: int, rounds: int = 25) -> list[float]:
    return [3000.0 if place < at else 1000.0 for place in range(rounds)]


SERIES: dict[str, tuple[Sequence[float], int | None, int | None]] = {
    "flat": ([1000.0] * 25, 5, 10),
    "a slow decay": (decay(15), 22, None),
    "a decay": (decay(4), 15, 22),
    "a cliff at round 8": (cliff(7), 5, 17),
    "a ramp": ([1000.0 + 100 * place for place in range(25)], None, None),
    "a range of just 20 %": ([1100.0, 900.0, 1100.0, 900.0, 1000.0] * 5, 5, 10),
    "too few": ([1000.0] * 4, None, None),
    "nine rounds": ([1000.0] * 9, 5, None),
}
"""Simulated series, and the round in which each criterion is met first."""


@pytest.mark.parametrize(("values", "alone", "both"), SERIES.values(), ids=SERIES)
def test_when_the_steady_state_is_declared(values: Sequence[float], alone: int | None, both: int | None) -> None:
    assert steady_round(values, both=False) == alone
    assert steady_round(values, both=True) == both


def test_the_window_alone_is_far_too_high_where_both_are_not() -> None:
    cases = [(decay(15), False), (cliff(7), False), (decay(4), True), (cliff(7), True)]
    found: list[float] = []
    for values, both in cases:
        after = steady_round(values, both=both)
        window = window_of(values[:after])
        assert window is not None
        found.append(window.mean / 1000)
    alone, by_both = found[:2], found[2:]
    assert min(alone) > 1.25
    assert max(by_both) < 1.03


def test_noise_about_a_level_is_steady_by_both_soon() -> None:
    generator = np.random.default_rng(7)
    rounds = [
        steady_round([*map(float, generator.normal(1000, 20, 25))], both=True) for _ in range(200)
    ]  # fmt: skip
    assert sum(found is not None and found <= 12 for found in rounds) > 190


def test_a_window_tells_its_line_and_the_five_before() -> None:
    window = window_of([500.0] * 5 + [100.0, 110.0, 120.0, 130.0, 140.0])
    assert window is not None
    assert (window.mean, window.before, window.step, window.intercept) == pytest.approx((120, 500, 10, 100))
    assert (window.range, window.slope, window.difference) == pytest.approx((40 / 120, 40 / 120, 0.76))
    assert window_of([]) is None
    assert window_of([0.0]) is None


@pytest.fixture(params=["dash", "bash", "busybox"])
def drive(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs the driver under a shell on a simulated drive, whose rounds are `values`."""
    folder = tmp_path / "shell"
    folder.mkdir()
    path = shell_path(request.param, folder)
    shell = Path(shutil.which("sh", path=path) or "sh")
    fake = folder / "fio-of-a-test"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()

    def run(
        values: Sequence[float], until: str, *, figure: str = "iops", most: int = 25, second: str = "true"
    ) -> subprocess.CompletedProcess[str]:
        for left in work.iterdir():
            left.unlink()
        (work / "series").write_text("".join(f"{value:.6f}\n" for value in values))
        words = [str(shell), str(DRIVER), until, str(most), "1", "write", figure, str(fake), second]
        done = subprocess.run(
            words, cwd=work, capture_output=True, text=True, check=False, env={"PATH": path}, timeout=60
        )
        assert {left.name for left in work.iterdir()} <= {"series", "count", "rounds"}
        return done

    return run


def last(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout.rstrip().rpartition("\n")[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flat", "a cliff at round 8", "a range of just 20 %", "nine rounds"])
def test_the_host_decides_as_it_is_judged_here(
    drive: Callable[..., subprocess.CompletedProcess[str]], name: str
) -> None:
    values, alone, both = SERIES[name]
    for until, after in (("pts", alone), ("both", both)):
        done = drive(values, until, most=len(values))
        ended = f"{after}: steady" if after else f"{len(values)}: not steady"
        assert (done.returncode, done.stderr, last(done)) == (0, "", f"benchwright: ended after round {ended}")
        assert f"round 1 of {len(values)}, command 2 of 2, at " in done.stdout
        assert "\n+ true\n" in done.stdout


def test_the_host_reads_the_figure_that_is_asked_for(drive: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    for figure, value in (("iops", "1234.500000"), ("lat_ns", "1234.500000"), ("bw_bytes", "77.000000")):
        done = drive([1234.5], "pts", figure=figure, most=1)
        assert f"benchwright: round 1: {figure} {value}; fewer than five rounds" in done.stdout


def test_enough_is_written_or_the_time_is_up(drive: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    assert last(drive([1.0] * 9, "bytes:12000", most=9)) == "benchwright: ended after round 3: written"
    assert last(drive([1.0] * 9, "bytes:0", most=4)) == "benchwright: ended after round 4: time is up"


def test_what_fails_ends_it_with_its_status(drive: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = drive([1.0, 1.0], "both")
    assert done.returncode == 3
    assert "ended after" not in done.stdout
    done = drive([1.0], "both", second="false")
    assert done.returncode == 1
    done = drive([1.0], "both", figure="nosuch")
    assert (done.returncode, done.stderr) == (65, "benchwright: command 1 reported no nosuch of write\n")

"""Energy counters in telemetry: power of each domain, counters that wrap, and a staged /sys read by both samplers."""

import hashlib
import os
import platform
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from remote.telemetry.telemetry import program
from remote.telemetry.telemetry_growth import GrowthWatch
from remote.telemetry.telemetry_rates import CpuUse, samples
from remote.telemetry.telemetry_ticks import TickReader

MARK = "0123456789abcdef"
PACKAGE, CORE = "/sys/class/powercap/intel-rapl:0", "/sys/class/powercap/intel-rapl:0:0"
RANGE = 262_143_328_850
"""Microjoules at which the counter of a Xeon wraps."""

ZONE = (("domain", "package-0"), ("zone", "intel-rapl:0"))


def powers(*readings: tuple[float, int], most: int = RANGE) -> list[list[float]]:
    """Return the watts of a package from each reading of its counter on."""
    output = f"@@{MARK} energy {PACKAGE}/energy_uj {most} package-0\n"
    for number, (uptime, value) in enumerate(readings):
        output += f"@@{MARK} tick {number} {uptime} \n{PACKAGE}/energy_uj:{value}\n@@{MARK} end\n"
    found = []
    for before, after in pairwise(TickReader(MARK).feed(output.encode())):
        taken = [one for one in samples(before, after, CpuUse()) if one.metric.name == "power"]
        assert all(one.labels == ZONE for one in taken)
        found.append([one.value for one in taken])
    return found


def test_the_power_is_the_growth_of_the_counter_by_the_time() -> None:
    assert powers((1.0, 5_000_000), (3.0, 45_000_000), (4.0, 45_000_000)) == [[20.0], [0.0]]


def test_a_counter_that_wrapped_goes_on() -> None:
    assert powers((1.0, RANGE - 5_000_000), (2.0, 15_000_000)) == [[20.0]]


def test_a_gap_in_which_a_counter_may_wrap_twice_has_no_power() -> None:
    assert powers((1.0, 0), (140.0, 90), (141.0, 50_000_090)) == [[], [50.0]]  # 262 kJ at 2 kW: 131 s


def test_a_counter_that_began_again_at_0_has_no_power_of_the_lost_range() -> None:
    assert powers((1.0, 5_000_000), (2.0, 1_000_000), (3.0, 21_000_000)) == [[], [20.0]]


@pytest.mark.parametrize(
    "line", ["", " 5 package-0", "/energy_uj", "/energy_uj 0 package-0", "/energy_uj x y", "/e 9 a/b"]
)
def test_a_damaged_description_is_no_counter(line: str) -> None:
    output = f"@@{MARK} energy {PACKAGE}{line}\n@@{MARK} tick 0 1.0 \n@@{MARK} end\n"
    assert [dict(tick.energy) for tick in TickReader(MARK).feed(output.encode())] == [{}]


@pytest.mark.parametrize(
    ("described", "at"),
    [
        ("/sys/class/hwmon/hwmon3/power1_average 1000", {"domain": "server", "zone": "hwmon3", "averaged_ms": "1000"}),
        ("/sys/class/hwmon/hwmon3/device/power1_average x", {"domain": "server", "zone": "hwmon3"}),
        ("/sys/class/hwmon/hwmon3/fan1_input 0", None),
    ],
)
def test_a_meter_has_its_power_whenever_it_is_read(described: str, at: dict[str, str] | None) -> None:
    path, _, _ = described.partition(" ")
    output = f"@@{MARK} meter {described}\n@@{MARK} tick 0 1.0 \n{path}:231000000\n@@{MARK} end\n"
    output += f"@@{MARK} tick 1 2.0 \n@@{MARK} end\n"
    found = [list(GrowthWatch().feed(tick, CpuUse())) for tick in TickReader(MARK).feed(output.encode())]
    assert [[(one.value, dict(one.labels)) for one in each] for each in found] == [[(231.0, at)] if at else [], []]


STAGED = f"""
import os, sys, threading, time
from pathlib import Path
from remote.local import LocalSession
from remote.telemetry.telemetry import Telemetry
zones = {{"{PACKAGE}": ("package-0", 30), "{CORE}": ("core", 20), "{PACKAGE}x": ("unreadable", 0)}}
for zone, (name, _) in zones.items():
    Path(zone).mkdir(parents=True)
    Path(zone, "name").write_text(name + "\\n")
    Path(zone, "max_energy_range_uj").write_text("{RANGE}\\n")
    if name != "unreadable":
        Path(zone, "energy_uj").write_text("0" * 18 + "\\n")
meters = {{"hwmon7": ("power_meter", 250_000_000), "hwmon8": ("nvme", 9_000_000)}}
for chip, (name, power) in meters.items():
    Path("/sys/class/hwmon", chip).mkdir(parents=True)
    Path("/sys/class/hwmon", chip, "name").write_text(name + "\\n")
    Path("/sys/class/hwmon", chip, "power1_average").write_text(str(power) + "\\n")
    Path("/sys/class/hwmon", chip, "power1_average_interval").write_text("1000\\n")
def count():
    start = time.monotonic()
    files = [(os.open(zone + "/energy_uj", os.O_WRONLY), watts) for zone, (_, watts) in zones.items() if watts]
    while True:
        for file, watts in files:
            os.pwrite(file, b"%018d" % int((time.monotonic() - start) * watts * 1e6), 0)
        time.sleep(0.002)
threading.Thread(target=count, daemon=True).start()
telemetry = Telemetry.start(LocalSession("testhost"), 0.4, script=sys.argv[1] == "script")
found = [one for _ in range(6) for one in telemetry.read(30.0) if one.metric.name == "power"]
for domain in ("package-0", "core"):
    values = [one.value for one in found if dict(one.labels)["domain"] == domain]
    print(sum(values) / len(values))
print(*[one.value for one in found if dict(one.labels)["domain"] == "server"][:1])
print(telemetry.instrument, len({{one.labels for one in found}}))
telemetry.stop()
"""

SHADOWED = """mount --bind /sys /mnt && mount -t tmpfs none /sys/class || exit 77
for one in /mnt/class/*; do ln -s "$one" /sys/class/; done
rm -f /sys/class/powercap /sys/class/hwmon
exec "$@"
"""
"""Shows a /sys/class of its own, with the host's entries."""


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace needs root")
@pytest.mark.parametrize("instrument", ["program", "script"])
def test_both_samplers_read_a_staged_tree(instrument: str) -> None:
    words = ["unshare", "--mount", "sh", "-c", SHADOWED, "sh", sys.executable, "-c", STAGED, instrument]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode == 77:
        pytest.skip(f"no mounts here: {done.stderr}")
    assert (done.returncode, done.stderr) == (0, "")
    package, core, server, sampled, labels = done.stdout.split()
    assert float(package) == pytest.approx(30, rel=0.05)
    assert float(core) == pytest.approx(20, rel=0.05)
    assert sampled == ("script" if instrument == "script" else hashlib.sha256(program(platform.machine())).hexdigest())
    assert (server, labels) == ("250.0", "3")

"""Programs of the user's commands whose packages are known, so that a missing one is found and can be installed."""

from suites.programs import COMPILER, MAKE, PERL, PYTHON, Program, same_package_name
from suites.sysbench.output import SYSBENCH

_RT_TESTS = {**same_package_name("rt-tests"), "dnf": "realtime-tests"}

_IPUTILS = same_package_name("iputils")

KNOWN_PROGRAMS = (
    Program(
        "7-Zip",
        ("7z",),
        {"apt": "p7zip-full", "dnf": "p7zip-plugins", "zypper": "7zip", "apk": "7zip", "pacman": "7zip"},
        version=("i",),
        version_line=r"7-Zip.* [0-9]+\.[0-9]+",
        supplementary=True,
    ),
    Program("zstd", ("zstd",), same_package_name("zstd")),
    Program("OpenSSL", ("openssl",), same_package_name("openssl"), version=("version",)),
    Program("FFmpeg", ("ffmpeg",), {**same_package_name("ffmpeg"), "dnf": "ffmpeg-free"}, version=("-version",)),
    Program("hackbench", ("hackbench",), _RT_TESTS, version=()),
    Program("cyclictest", ("cyclictest",), _RT_TESTS, version=("--help",), version_line="cyclictest V"),
    Program("perf", ("perf",), {**same_package_name("perf"), "apt": "linux-perf", "ubuntu": "linux-tools-{kernel}"}),
    Program("numactl", ("numactl",), same_package_name("numactl"), version=()),
    Program(
        "tracepath",
        ("tracepath",),
        {**_IPUTILS, "apt": "iputils-tracepath", "apk": "iputils-tracepath"},
        version=("-V",),
    ),
    Program("ping", ("ping",), {**_IPUTILS, "apt": "iputils-ping"}, version=("-V",)),
    SYSBENCH,
    COMPILER,
    MAKE,
    PERL,
    PYTHON,
)

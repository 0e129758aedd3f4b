"""Programs used on a host: how to find each, how it prints its version, and its packages."""

from collections.abc import Mapping
from dataclasses import dataclass, field

PATH = "PATH"
"""In `Program.search`: the directories of the user's PATH."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that must be installed: any one of `names` suffices.

    `packages` are by package manager (apt, dnf, zypper, apk, pacman), several separated by blanks, and by distribution
    where they differ (ubuntu); ``{kernel}`` is replaced by the release of the running kernel. `supplementary` ones are
    only in additional repositories of some distributions, such as EPEL.

    `search` is where to look, the first match first: PATH, or directory patterns separated by blanks (``~/`` is the
    user's home), of which the newest with the file `sign` counts (default: the program itself). If that directory has
    no program of the name, the directory itself is the result.

    `version` are the arguments that print its version (none: not queried), which is the first line that matches
    `version_line`; `engines` those that list its I/O engines. With `timed`, its start-up is timed. A `bundled` program
    comes with the step and is not searched for.
    """

    title: str
    names: tuple[str, ...]
    packages: Mapping[str, str] = field(default_factory=dict, hash=False)
    search: tuple[str, ...] = (PATH,)
    sign: str = ""
    version: tuple[str, ...] = ("--version",)
    version_line: str = r"[0-9]\.[0-9]"
    engines: tuple[str, ...] = ()
    timed: bool = False
    supplementary: bool = False
    bundled: bool = False


def same_package_name(package: str) -> Mapping[str, str]:
    """Return the packages of a program whose package has the same name with every package manager."""
    return dict.fromkeys(("apt", "dnf", "zypper", "apk", "pacman"), package)


def bundled(name: str) -> Program:
    """Return a program that comes with the step that runs it."""
    return Program(name, (name,), bundled=True)


COMPILER = Program(
    "C compiler",
    ("gcc", "cc"),
    {"apt": "gcc libc6-dev", "dnf": "gcc", "zypper": "gcc glibc-devel", "pacman": "gcc", "apk": "gcc musl-dev"},
)
"""With the headers of the C library, which gcc's package only recommends on Debian."""

MAKE = Program("make", ("make",), same_package_name("make"))
PERL = Program("Perl", ("perl",), same_package_name("perl"))
PYTHON = Program("Python", ("python3",), {**same_package_name("python3"), "pacman": "python"})

TASKSET = Program(
    "taskset",
    ("taskset",),
    dict.fromkeys(("apt", "dnf", "zypper", "pacman"), "util-linux") | {"apk": "util-linux-misc"},
)
"""Pins the commands of a duet to the CPUs of their half."""

_SYSTEM_DIRECTORIES = (PATH, "/usr/sbin", "/usr/libexec", "/usr/local/sbin")

POSTGRESQL_SERVER = Program(
    "PostgreSQL server",
    ("postgres",),
    {
        "apt": "postgresql",
        "dnf": "postgresql-server",
        "zypper": "postgresql-server",
        "pacman": "postgresql",
        "apk": "postgresql",
    },
    search=(
        "/usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* /usr/lib/postgresql*/bin",
        *_SYSTEM_DIRECTORIES,
    ),
    sign="initdb",  # clients have a versioned directory, too
)

MARIADB_SERVER = Program(
    "MariaDB server",
    ("mariadbd",),
    {
        "apt": "mariadb-server",
        "dnf": "mariadb-server",
        "zypper": "mariadb",
        "pacman": "mariadb",
        "apk": "mariadb mariadb-client",
    },
    search=_SYSTEM_DIRECTORIES,
)

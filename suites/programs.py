"""The programs that a step needs on its host beside its tool, and the packages that bring them."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Program:
    """A program that must be installed: any one of `names`, as the host's facts have them, is enough.

    `packages` are by package manager (apt, dnf, zypper, apk, pacman), several separated by blanks.
    """

    title: str
    names: tuple[str, ...]
    packages: Mapping[str, str] = field(default_factory=dict, hash=False)


COMPILER = Program(
    "C compiler",
    ("gcc", "cc"),
    {"apt": "gcc libc6-dev", "dnf": "gcc", "zypper": "gcc glibc-devel", "pacman": "gcc", "apk": "gcc musl-dev"},
)
"""With the headers of the C library, which gcc's package only recommends on Debian."""

MAKE = Program("make", ("make",), dict.fromkeys(("apt", "dnf", "zypper", "pacman", "apk"), "make"))
PERL = Program("Perl", ("perl",), dict.fromkeys(("apt", "dnf", "zypper", "pacman", "apk"), "perl"))

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
)

PROGRAMS = (COMPILER, MAKE, PERL, POSTGRESQL_SERVER, MARIADB_SERVER)
"""Every program that a suite may need beside its tool."""

"""How a tool gets onto a host: through its distribution's own package manager, in one exact command."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from suites.base import Suite, complete_values, programs_of
from suites.facts import NOT_READ, Absent, Facts, known
from suites.programs import Program
from suites.registry import SUITES

_MANAGERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "apt": ("debian", "ubuntu", "raspbian", "devuan", "kali"),
        "zypper": ("opensuse", "suse", "opensuse-leap", "opensuse-tumbleweed", "sles", "sled", "sle_hpc"),
        "apk": ("alpine", "wolfi", "postmarketos"),
        "pacman": ("arch", "archarm", "manjaro"),
        "dnf": ("fedora", "rhel", "centos", "rocky", "almalinux", "ol", "amzn"),
    }
)
"""Package managers, and the distributions that use them: ID, or one word of ID_LIKE, in os-release(5)."""

_WITH_YUM = frozenset({("amzn", "2"), ("centos", "7"), ("rhel", "7"), ("ol", "7")})
"""ID and major VERSION_ID of distributions from before dnf."""

_COMMANDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "dnf": ("dnf", "install", "-y"),
        "yum": ("yum", "install", "-y"),
        "zypper": ("zypper", "--non-interactive", "install"),
        "apk": ("apk", "add", "--no-cache"),
        "apt": ("apt-get", "install", "-y", "--no-install-recommends"),
        "pacman": ("pacman", "-S", "--needed", "--noconfirm"),
    }
)
"""None of them asks anything; the package names follow."""

_FIRST: Mapping[str, str] = MappingProxyType(
    {
        "apt": "apt-get update; DEBIAN_FRONTEND=noninteractive",
        "pacman": "ls /var/lib/pacman/sync/*.db >/dev/null 2>&1 || pacman -Sy;",
    }
)
"""What a shell runs before: a fresh image has no lists of packages, and these managers do not fetch them themselves.

Where apt cannot fetch them, those that are there may do. Lists that pacman has stay: a newer one beside packages
that were not upgraded breaks the system."""

_EPEL = "{tool} is in EPEL, which must be enabled first where it is not: dnf install -y epel-release"
_EPEL_OF_RHEL = (
    "{tool} is in EPEL, which must be enabled first where it is not: "
    "dnf install -y https://dl.fedoraproject.org/pub/epel/epel-release-latest-{major}.noarch.rpm"
)
_SPAL = (
    "{tool} is not among the packages of Amazon Linux itself, but in its supplementary ones, which must be enabled "
    "first where they are not: dnf install -y spal-release"
)
_EXTRAS = "{tool} is in EPEL, which must be enabled first where it is not: amazon-linux-extras install -y epel"
_PACKAGE_HUB = "{tool} is in the module PackageHub, which must be enabled first where it is not (SUSEConnect)."
_COMMUNITY = "It is in the community repository, which /etc/apk/repositories must name."
_PARTIAL = "Where the package is not found, the lists are old, and the whole system has to be upgraded: pacman -Syu"


_OF_EVERY_TOOL: Mapping[str, str] = MappingProxyType(
    {"alpine": _COMMUNITY, **dict.fromkeys(_MANAGERS["pacman"], _PARTIAL)}
)
_OF_SYSBENCH: Mapping[str, str] = MappingProxyType(
    {
        "rhel": _EPEL_OF_RHEL,
        **dict.fromkeys(("centos", "rocky", "almalinux", "ol"), _EPEL),
        **dict.fromkeys(("sles", "sled", "sle_hpc"), _PACKAGE_HUB),
    }
)
"""What has to be known before a tool is installed, by the ID of the distribution."""


_SERVERS: Mapping[str, frozenset[str]] = MappingProxyType({"apt": frozenset({"postgresql", "mariadb-server"})})
_SERVER_OF_ITS_OWN = (
    "This package starts a server at once, which stays, takes some memory, and is not what a test of its own server "
    "measures; stop it if it is not wanted."
)


@dataclass(frozen=True, slots=True)
class Installation:
    """How tools get onto a host. `command` is a line for a shell, None where no way is known; `note` what else counts.

    Other users than root run it through sudo.
    """

    command: str | None
    note: str = ""


def installation(suites: Sequence[Suite], facts: Facts) -> Installation:
    """Return how the tools of `suites` get onto the host with these facts, all in one command."""
    return installation_of([tool_of(suite) for suite in suites], facts)


def tool_of(suite: Suite) -> Program:
    """Return the tool of `suite` as a program to be installed."""
    return Program(suite.tool, (suite.tool,), suite.packages)


def installation_of(programs: Sequence[Program], facts: Facts) -> Installation:
    """Return how `programs` get onto the host with these facts, all in one command; each package is a word of it."""
    manager = package_manager(facts)
    if manager is None:
        return Installation(None)
    family = "dnf" if manager == "yum" else manager
    packages = tuple(
        dict.fromkeys(package for program in programs for package in program.packages.get(family, "").split())
    )
    if not packages:
        return Installation(None)
    words = (*_COMMANDS[manager], *packages)
    if manager in _FIRST:
        words = ("sh", "-c", f"{_FIRST[manager]} {shlex.join(words)}")
    sudo = () if known(facts.system.user) == "root" else ("sudo",)
    notes = [_note(program, facts) for program in programs]
    if _SERVERS.get(family, frozenset()).intersection(packages):
        notes.append(_SERVER_OF_ITS_OWN)
    return Installation(shlex.join((*sudo, *words)), " ".join(dict.fromkeys(note for note in notes if note)))


def package_manager(facts: Facts) -> str | None:
    """Return the package manager of the host's distribution, or None where it is not known."""
    name, like = known(facts.system.distribution_id), known(facts.system.distribution_like)
    if (name, _major(facts)) in _WITH_YUM:
        return "yum"
    for word in (name, *(like or "").split()):
        for manager, names in _MANAGERS.items():
            if word in names:
                return manager
    return None


def _major(facts: Facts) -> str:
    return (known(facts.system.distribution_version) or "").partition(".")[0]


def _note(program: Program, facts: Facts) -> str:
    """Return what has to be known before the program can be installed there; empty where nothing."""
    name = known(facts.system.distribution_id) or ""
    if name in _OF_EVERY_TOOL:
        return _OF_EVERY_TOOL[name]
    if "sysbench" not in program.names:  # the others are in the distributions' own repositories
        return ""
    note = _OF_SYSBENCH.get(name, "")
    if name == "amzn":
        note = _EXTRAS if _major(facts) == "2" else _SPAL
    return note.format(tool=program.title, major=_major(facts) or "9")


def has_tool(suite: Suite, facts: Facts) -> bool | None:
    """Return whether the host has the suite's tool; None where nobody looked."""
    return has_program(tool_of(suite), facts)


def has_program(program: Program, facts: Facts) -> bool | None:
    """Return whether the host has the program under any of its names; None where nobody looked."""
    found = [fact for name in program.names for fact in (facts.tool(name).path, facts.tool(name).version)]
    if any(known(fact) is not None for fact in found):
        return True
    nobody = all(isinstance(fact, Absent) and fact.reason == NOT_READ.reason for fact in found)
    return None if nobody else False


def usable_suites(facts: Facts) -> tuple[Suite, ...]:
    """Return the suites that work without anything being installed: the host has all they need, or they bring it."""
    return tuple(suite for suite in SUITES if _works(suite, facts))


def _works(suite: Suite, facts: Facts) -> bool:
    return all(has_program(program, facts) for program in programs_of(suite, complete_values(suite, {}), facts))


def works_without(facts: Facts) -> str:
    """Say which tests work on the host as it is."""
    titles = list(dict.fromkeys(suite.title for suite in usable_suites(facts)))
    if not titles:
        return "Without it, no test works there."
    return f"Without it, these tests work there: {', '.join(titles)}."

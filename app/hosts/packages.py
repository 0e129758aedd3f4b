"""How a tool gets onto a host: through its distribution's own package manager, in one exact command."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from suites.base import BringsTool, Suite, complete_values
from suites.facts import NOT_READ, Absent, Facts, known
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
        "pacman": ("pacman", "-S", "--needed", "--noconfirm"),
    }
)
"""None of them asks anything; the package names follow."""

_APT = "apt-get update; DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends {}"
"""A fresh cloud image has no lists of packages yet. Where they cannot be fetched, what is there may still do."""

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
    manager = package_manager(facts)
    if manager is None:
        return Installation(None)
    family = "dnf" if manager == "yum" else manager
    packages = list(dict.fromkeys(suite.packages[family] for suite in suites if family in suite.packages))
    if not packages:
        return Installation(None)
    words = (*_COMMANDS[manager], *packages) if manager != "apt" else ("sh", "-c", _APT.format(shlex.join(packages)))
    sudo = () if known(facts.system.user) == "root" else ("sudo",)
    notes = (_note(suite, facts) for suite in suites)
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


def _note(suite: Suite, facts: Facts) -> str:
    """Return what has to be known before the suite's tool can be installed there; empty where nothing."""
    name = known(facts.system.distribution_id) or ""
    if name in _OF_EVERY_TOOL:
        return _OF_EVERY_TOOL[name]
    if suite.tool == "pgbench" and package_manager(facts) == "apt":
        return _SERVER_OF_ITS_OWN
    if suite.tool != "sysbench":  # the others are in the distributions' own repositories
        return ""
    note = _OF_SYSBENCH.get(name, "")
    if name == "amzn":
        note = _EXTRAS if _major(facts) == "2" else _SPAL
    return note.format(tool=suite.tool, major=_major(facts) or "9")


def has_tool(suite: Suite, facts: Facts) -> bool | None:
    """Return whether the host has the suite's tool; None where nobody looked."""
    tool = facts.tool(suite.tool)
    if known(tool.path) is not None or known(tool.version) is not None:
        return True
    nobody = all(isinstance(fact, Absent) and fact.reason == NOT_READ.reason for fact in (tool.path, tool.version))
    return None if nobody else False


def usable_suites(facts: Facts) -> tuple[Suite, ...]:
    """Return the suites that work without anything being installed: the host has their tool, or they bring it."""
    return tuple(suite for suite in SUITES if _brings_its_tool(suite) or has_tool(suite, facts))


def _brings_its_tool(suite: Suite) -> bool:
    return isinstance(suite, BringsTool) and not suite.needs_tool(complete_values(suite, {}))


def works_without(facts: Facts) -> str:
    """Say which tests work on the host as it is."""
    titles = list(dict.fromkeys(suite.title for suite in usable_suites(facts)))
    if not titles:
        return "Without it, no test works there."
    return f"Without it, these tests work there: {', '.join(titles)}."

"""Installation of tools on a host with its package manager, in one command that the user confirms."""

import contextlib
import shlex
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.plans.plan import host_label
from app.records import OUTPUT_LIMIT
from remote.errors import RemoteError
from remote.privilege import as_root
from remote.probe import read_facts
from remote.questions import Asker
from remote.session import Session
from suites import registry
from suites.base import Suite, complete_values
from suites.errors import BenchwrightError
from suites.facts import NOT_READ, Facts, known
from suites.line_parser import LineSplitter
from suites.programs import Program

if TYPE_CHECKING:
    from app.store.store import Store

_MANAGERS: Mapping[str, tuple[str, ...]] = {
    "apt": ("debian", "ubuntu", "raspbian", "devuan", "kali"),
    "zypper": ("opensuse", "suse", "opensuse-leap", "opensuse-tumbleweed", "sles", "sled", "sle_hpc"),
    "apk": ("alpine", "wolfi", "postmarketos"),
    "pacman": ("arch", "archarm", "manjaro"),
    "dnf": ("fedora", "rhel", "centos", "rocky", "almalinux", "ol", "amzn"),
}
"""Package managers and their distributions: ID, or one word of ID_LIKE, in os-release(5)."""

_WITH_YUM = frozenset({("amzn", "2"), ("centos", "7"), ("rhel", "7"), ("ol", "7")})
"""ID and major VERSION_ID of distributions older than dnf."""

_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "dnf": ("dnf", "install", "-y"),
    "yum": ("yum", "install", "-y"),
    "zypper": ("zypper", "--non-interactive", "install"),
    "apk": ("apk", "add", "--no-cache"),
    "apt": ("apt-get", "install", "-y", "--no-install-recommends"),
    "pacman": ("pacman", "-S", "--needed", "--noconfirm"),
}
"""Non-interactive install commands, to be followed by package names."""

_FIRST: Mapping[str, str] = {
    "apt": "apt-get update; DEBIAN_FRONTEND=noninteractive",
    "pacman": "ls /var/lib/pacman/sync/*.db >/dev/null 2>&1 || pacman -Sy;",
}
"""Shell commands before the installation: a fresh image has no package lists, and these managers do not fetch them.

If apt-get update fails, the existing lists may do. Existing pacman lists are not updated: an update without an upgrade
of all packages (a partial upgrade) breaks the system."""

_EPEL = "{tool} is in EPEL. If EPEL is not enabled, run: dnf install -y epel-release"
_EPEL_OF_RHEL = (
    "{tool} is in EPEL. If EPEL is not enabled, run: "
    "dnf install -y https://dl.fedoraproject.org/pub/epel/epel-release-latest-{major}.noarch.rpm"
)
_SPAL = (
    "{tool} is in the supplementary packages of Amazon Linux (SPAL). If they are not enabled, run: "
    "dnf install -y spal-release"
)
_EXTRAS = "{tool} is in EPEL. If EPEL is not enabled, run: amazon-linux-extras install -y epel"
_PACKAGE_HUB = "{tool} is in the module PackageHub. If it is not enabled, enable it with SUSEConnect."
_COMMUNITY = "It is in the community repository, which must be listed in /etc/apk/repositories."
_PARTIAL = "If the package is not found, the package lists are out of date. Upgrade the system: pacman -Syu"


_NOTES_FOR_ALL: Mapping[str, str] = {"alpine": _COMMUNITY, **dict.fromkeys(_MANAGERS["pacman"], _PARTIAL)}
_SUPPLEMENTARY: Mapping[str, str] = {
    "rhel": _EPEL_OF_RHEL,
    **dict.fromkeys(("centos", "rocky", "almalinux", "ol"), _EPEL),
    **dict.fromkeys(("sles", "sled", "sle_hpc"), _PACKAGE_HUB),
}
"""Notes on programs outside the distribution's own repositories, by distribution ID."""


_SERVERS: Mapping[str, frozenset[str]] = {"apt": frozenset({"postgresql", "mariadb-server", "redis-server", "nginx"})}
_STARTS_SERVER = (
    "The package starts a server that keeps running and uses memory. Tests with their own server do not use it; stop "
    "it if you do not need it."
)


@dataclass(frozen=True, slots=True)
class Installation:
    """Installation of tools: a shell `command` (with sudo unless root; None if unknown) and a `note`."""

    command: str | None
    note: str = ""


def installation_of(programs: Sequence[Program], facts: Facts) -> Installation:
    """Return the installation of `programs` on the host with these facts, in one command."""
    manager = package_manager(facts)
    if manager is None:
        return Installation(None)
    family = "dnf" if manager == "yum" else manager
    packages = tuple(dict.fromkeys(package for program in programs for package in _packages(program, family, facts)))
    if not packages:
        return Installation(None)
    words = (*_COMMANDS[manager], *packages)
    if manager in _FIRST:
        words = ("sh", "-c", f"{_FIRST[manager]} {shlex.join(words)}")
    sudo = () if known(facts.system.user) == "root" else ("sudo",)
    notes = [_note(program, facts) for program in programs]
    if _SERVERS.get(family, frozenset()).intersection(packages):
        notes.append(_STARTS_SERVER)
    return Installation(shlex.join((*sudo, *words)), " ".join(dict.fromkeys(note for note in notes if note)))


def _packages(program: Program, family: str, facts: Facts) -> list[str]:
    """Return the packages of a program; those of a kernel without a known release are the generic ones."""
    given = program.packages.get("ubuntu" if "ubuntu" in _distributions(facts) else family)
    packages = program.packages.get(family, "") if given is None else given
    return packages.replace("{kernel}", known(facts.system.kernel) or "generic").split()


def _distributions(facts: Facts) -> tuple[str, ...]:
    """Return the distribution of a host and those that it derives from."""
    return known(facts.system.distribution_id) or "", *(known(facts.system.distribution_like) or "").split()


def package_manager(facts: Facts) -> str | None:
    """Return the package manager of the host's distribution, or None if unknown."""
    names = _distributions(facts)
    if (names[0], _major(facts)) in _WITH_YUM:
        return "yum"
    for word in names:
        for manager, distributions in _MANAGERS.items():
            if word in distributions:
                return manager
    return None


def _major(facts: Facts) -> str:
    return (known(facts.system.distribution_version) or "").partition(".")[0]


def _note(program: Program, facts: Facts) -> str:
    """Return the prerequisites of installing the program on the host, as text; empty for none."""
    name = known(facts.system.distribution_id) or ""
    if name in _NOTES_FOR_ALL:
        return _NOTES_FOR_ALL[name]
    if not program.supplementary:
        return ""
    note = _SUPPLEMENTARY.get(name, "")
    if name == "amzn":
        note = _EXTRAS if _major(facts) == "2" else _SPAL
    return note.format(tool=program.title, major=_major(facts) or "9")


def has_program(program: Program, facts: Facts) -> bool | None:
    """Return whether the host has the program under any of its names; None if not checked."""
    found = [fact for name in program.names for fact in (facts.tool(name).path, facts.tool(name).version)]
    if any(known(fact) is not None for fact in found):
        return True
    unread = all(fact == NOT_READ for fact in found)
    return None if unread else False


def usable_suites(facts: Facts) -> tuple[Suite, ...]:
    """Return the suites that need no installation: their programs are on the host or are shipped with them."""
    needed = ((suite, suite.programs(complete_values(suite, {}), facts)) for suite in registry.SUITES)
    return tuple(suite for suite, programs in needed if all(has_program(program, facts) for program in programs))


def works_without(facts: Facts) -> str:
    """Return which tests work on the host without an installation, as text."""
    titles = list(dict.fromkeys(suite.title for suite in usable_suites(facts)))
    return f"Tests that work without it: {', '.join(titles) or 'none'}."


INSTALL_TIME = 900.0
"""Time limit of an installation, in seconds."""


class InstallError(RemoteError):
    """A package manager failed."""


class InstallCommand:
    """One installation command on a host, logged with its output and outcome in the host's log."""

    def __init__(self, session: Session, asker: Asker, store: "Store", command: str, what: str) -> None:
        self._session = session
        self._asker = asker
        self._store = store
        self._command = command
        self._what = what
        self._printed = bytearray()
        self._exit_status: int | None = None

    def lines(self) -> Generator[str]:
        """Run the command and yield its output by line; replace a leading `sudo` by as_root().

        Raise PrivilegeError, or InstallError if the command fails, with the tests that work without it.
        """
        words = shlex.split(self._command)
        number = self._store.begin_action(self._session.host, self._what, self._command)
        reason = "interrupted"
        try:
            session = self._session
            if words[:1] == ["sudo"]:
                session = as_root(session, self._asker, f"install a tool: {self._command}")
                words = words[1:]
            yield from self._run(session, words)
            reason = ""
        except BenchwrightError as error:
            reason = error.message
            raise
        finally:
            self._store.end_action(number, self._exit_status, bytes(self._printed), reason)
        if self._exit_status != 0:
            raise self._failed()

    def _run(self, session: Session, words: list[str]) -> Generator[str]:
        lines = LineSplitter()
        deadline = time.monotonic() + INSTALL_TIME
        with closing(session.open(words)) as channel:
            while not channel.ended:
                if time.monotonic() > deadline:
                    raise InstallError(
                        f"“{self._command}” on {host_label(session.host)} exceeded {INSTALL_TIME:g} s and was closed.",
                        host=session.host,
                    )
                for chunk in channel.read(0.2):
                    self._printed += chunk.data[: OUTPUT_LIMIT - len(self._printed)]
                    yield from lines.feed(chunk.data, chunk.stream)
            yield from lines.rest()
            self._exit_status = channel.exit_status

    def _failed(self) -> InstallError:
        how = (
            "ended without an exit status"
            if self._exit_status is None
            else f"ended with exit status {self._exit_status}"
        )
        without = ""
        with contextlib.suppress(BenchwrightError):  # report the installation's failure, not this one
            without = works_without(read_facts(self._session))
        remedy = f"Read its output; the host needs access to a package repository. {without}"
        return InstallError(
            f"“{self._command}” on {host_label(self._session.host)} {how}.", remedy.strip(), host=self._session.host
        )

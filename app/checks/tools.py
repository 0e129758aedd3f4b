"""The check that a step's tool is installed, with the one command that would install it."""

from suites.base import BringsTool, Suite
from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.facts import NOT_READ, Absent, Facts, known
from suites.vocab import Level

_MANAGERS = {
    "apt": ("debian", "ubuntu", "raspbian", "linuxmint", "pop", "kali", "devuan", "neon", "elementary", "zorin"),
    "dnf": ("fedora", "rhel", "centos", "rocky", "almalinux", "ol", "amzn"),
    "zypper": ("opensuse-leap", "opensuse-tumbleweed", "opensuse", "sles", "sled", "sle_hpc"),
    "apk": ("alpine", "wolfi", "postmarketos"),
    "pacman": ("arch", "archarm", "manjaro", "endeavouros", "cachyos"),
}
"""Package managers, and the ID of /etc/os-release of the distributions that use them."""

_COMMANDS = {
    "apt": "apt-get install -y",
    "dnf": "dnf install -y",
    "zypper": "zypper --non-interactive install",
    "apk": "apk add",
    "pacman": "pacman -S --noconfirm",
}


def install_command(suite: Suite, facts: Facts) -> str | None:
    """Return the command line that installs the suite's tool, or None where the distribution is not known.

    Other users than root go through `sudo -n`, which fails at once instead of asking for a password.
    """
    distribution = known(facts.system.distribution_id)
    manager = next((manager for manager, ids in _MANAGERS.items() if distribution in ids), None)
    if manager is None or manager not in suite.packages:
        return None
    command = f"{_COMMANDS[manager]} {suite.packages[manager]}"
    return command if known(facts.system.user) == "root" else f"sudo -n {command}"


def _tool_missing(evidence: StepEvidence) -> Outcome | CannotTell | None:
    facts, suite = evidence.context.facts, evidence.suite
    if isinstance(suite, BringsTool) and not suite.needs_tool(evidence.values):
        return None
    if facts is None:
        return CannotTell("The host's facts have not been read.")
    tool = facts.tool(suite.tool)
    if known(tool.path) is not None or known(tool.version) is not None:
        return None
    if _never_looked_for(tool.path, tool.version):
        return CannotTell(f"Nobody looked for {suite.tool} on this host.")
    command = install_command(suite, facts)
    package = next(iter(suite.packages.values()), suite.tool)
    return Outcome(
        measured=f"{suite.tool} was not found on {evidence.host}.",
        remedy=f"Install it: {command}" if command else f"Install the package {package} with the host's own tools.",
        install=command,
    )


def _never_looked_for(*facts: str | Absent) -> bool:
    return all(isinstance(fact, Absent) and fact.reason == NOT_READ.reason for fact in facts)


TOOL_MISSING = Check(
    id="tool-missing",
    level=Level.ERROR,
    title="The tool is not installed",
    why="Nothing can be measured without it. Installing it changes the host, so it is done only if you say so.",
    remedy="Install it.",
    source="command -v on the host.",
    evaluate=_tool_missing,
)

"""The check that a step's tool is installed, with the one command that would install it."""

from app.hosts.packages import has_tool, installation, works_without
from suites.base import BringsTool
from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.vocab import Level


def _tool_missing(evidence: StepEvidence) -> Outcome | CannotTell | None:
    facts, suite = evidence.context.facts, evidence.suite
    if isinstance(suite, BringsTool) and not suite.needs_tool(evidence.values):
        return None
    if facts is None:
        return CannotTell("The host's facts have not been read.")
    found = has_tool(suite, facts)
    if found is None:
        return CannotTell(f"Nobody looked for {suite.tool} on this host.")
    if found:
        return None
    way = installation([suite], facts)
    package = next(iter(suite.packages.values()), suite.tool)
    install = (
        f"Install it: {way.command}" if way.command else f"Install the package {package} with the host's own tools."
    )
    return Outcome(
        measured=f"{suite.tool} was not found on {evidence.host}.",
        remedy=" ".join(part for part in (install, way.note, works_without(facts)) if part),
        install=way.command,
    )


TOOL_MISSING = Check(
    id="tool-missing",
    level=Level.ERROR,
    title="The tool is not installed",
    why="Nothing can be measured without it. Installing it changes the host, so it is done only if you say so.",
    remedy="Install it.",
    source="command -v on the host.",
    needs="Whether the host has the tool.",
    evaluate=_tool_missing,
)

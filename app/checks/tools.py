"""The check that a step's tool, and what it needs beside it, is installed, with the command that would install it."""

from app.hosts.packages import has_program, installation_of, works_without
from suites.base import programs_of
from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.programs import Program
from suites.vocab import Level


def _tool_missing(evidence: StepEvidence) -> Outcome | CannotTell | None:
    facts = evidence.context.facts
    needed = programs_of(evidence.suite, evidence.values, facts)
    if not needed:
        return None
    if facts is None:
        return CannotTell("The host's facts have not been read.")
    found = {program.title: has_program(program, facts) for program in needed}
    missing = [program for program in needed if found[program.title] is False]
    if not missing:
        unknown = [title for title, there in found.items() if there is None]
        return CannotTell(f"Not checked on this host: {' and '.join(unknown)}.") if unknown else None
    way = installation_of(missing, facts)
    install = f"Install it: {way.command}" if way.command else _by_hand(missing)
    return Outcome(
        measured=f"{' and '.join(map(_words, missing))} {_WERE[len(missing) > 1]} not found on {evidence.host}.",
        remedy=" ".join(part for part in (install, way.note, works_without(facts)) if part),
        install=way.command,
    )


_WERE = {False: "was", True: "were"}


def _words(program: Program) -> str:
    """Return the program's title, and in brackets what was looked for where that is another word."""
    names = ", ".join(program.names)
    return names if program.names == (program.title,) else f"{program.title} ({names})"


def _by_hand(missing: list[Program]) -> str:
    packages = [next(iter(program.packages.values()), program.title) for program in missing]
    return f"Install the package {' and '.join(packages)} with the host's own tools."


TOOL_MISSING = Check(
    id="tool-missing",
    level=Level.ERROR,
    title="Required program not installed",
    why="Nothing can be measured without it. Installing it changes the host, so it is done only if you say so.",
    remedy="Install it.",
    source="command -v on the host.",
    needs="Whether the host has the tool, and the compiler or server that the step needs.",
    evaluate=_tool_missing,
)

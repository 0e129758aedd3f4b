"""What is known to fool people about our own probes, whatever they measure."""

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.disk import amount
from suites.facts import known
from suites.parameters import Value
from suites.probe.probe import HERE, ON_HOST, PACKAGES, compiler_of
from suites.sysbench.memory_size import available_memory
from suites.thread_checks import FACTS_NOT_READ
from suites.vocab import Level

BUILDABLE = frozenset({"x86_64", "aarch64"})
"""Architectures that this computer can build for, with a cross compiler where it is of the other one."""


def uses_probe(evidence: StepEvidence) -> bool:
    """Whether the step runs our own probe and not a program that the user named."""
    return not evidence.values.get("program")


def _no_compiler(evidence: StepEvidence) -> Outcome | CannotTell | None:
    if not uses_probe(evidence):
        return None
    facts, build = evidence.context.facts, evidence.values["build"]
    if facts is None:
        return FACTS_NOT_READ
    if compiler_of(facts) is not None and build != HERE:
        return None
    architecture = known(facts.system.architecture)
    if build == ON_HOST:
        return Outcome(
            "There is neither gcc nor cc on the host.", changes={"build": HERE} if _buildable(architecture) else {}
        )
    if _buildable(architecture):
        return None
    return Outcome(
        f"The host is {architecture or 'of an unknown architecture'}, and has no compiler.",
        remedy=f"Install a compiler on the host ({PACKAGES['apt']} on Debian).",
    )


def _buildable(architecture: str | None) -> bool:
    return architecture in BUILDABLE


def memory_outcome(
    evidence: StepEvidence, needed: int, what: str, changes: dict[str, Value]
) -> Outcome | CannotTell | None:
    """Return the finding that `needed` bytes do not fit into the host's memory; `changes` would make them fit."""
    facts = evidence.context.facts
    if facts is None:
        return FACTS_NOT_READ
    available = available_memory(facts)
    if available is None:
        return CannotTell("The available memory is not known.")
    if needed <= available:
        return None
    return Outcome(f"{what} {amount(needed)}; {available / 2**30:.3g} GiB are available.", changes=changes)


NO_COMPILER = Check(
    id="probe-no-compiler",
    level=Level.ERROR,
    title="The probe cannot be built",
    why="The probe is a small C program: without a compiler on the host it has to be built on this computer.",
    remedy="Let it be built on this computer, or install a compiler on the host.",
    source="command -v gcc, cc on the host.",
    needs="Whether the host has a compiler; its architecture.",
    evaluate=_no_compiler,
)

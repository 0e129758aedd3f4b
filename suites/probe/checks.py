"""What is known to fool people about our own probes, whatever they measure."""

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.disk import amount
from suites.facts import known
from suites.parameters import Value
from suites.probe.probe import ARCHITECTURES, AUTO, ON_HOST
from suites.sysbench.memory_size import available_memory
from suites.thread_checks import FACTS_NOT_READ
from suites.vocab import Level


def uses_probe(evidence: StepEvidence) -> bool:
    """Whether the step runs our own probe and not a program that the user named."""
    return not evidence.values.get("program")


def _not_built(evidence: StepEvidence) -> Outcome | CannotTell | None:
    build = evidence.values["build"]
    if not uses_probe(evidence) or build in {AUTO, ON_HOST}:
        return None
    facts = evidence.context.facts
    if facts is None:
        return FACTS_NOT_READ
    architecture = known(facts.system.architecture)
    if architecture in ARCHITECTURES:
        return None
    return Outcome(f"The host is {architecture or 'of an unknown architecture'}.", changes={"build": ON_HOST})


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
    title="No probe for this architecture",
    why="Benchwright ships its probes for x86-64 and aarch64, and builds them on this computer for these two alone.",
    remedy="Set build to host.",
    source="uname -m on the host.",
    needs="The host's architecture.",
    evaluate=_not_built,
)

"""Whether fio on this host can do I/O the way it is asked to."""

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.facts import Absent, Facts, known
from suites.parameters import Value
from suites.vocab import Level

FALLBACKS = ("libaio", "psync")
"""What stands in for an engine that is missing, the best first."""

FOR_EVERYBODY = 2
FOR_ALL_BUT_ROOT = 1


def engines_of(facts: Facts | None) -> tuple[str, ...]:
    """Return the engines that fio on the host has; none where that is not known."""
    return () if facts is None else known(facts.tool("fio").engines) or ()


def forbids_io_uring(facts: Facts) -> bool:
    """Whether the host's kernel refuses io_uring to this user."""
    switch, user = known(facts.system.io_uring_disabled), known(facts.system.user)
    return switch == FOR_EVERYBODY or (switch == FOR_ALL_BUT_ROOT and user != "root")


def usable(facts: Facts | None, engine: str) -> bool:
    """Whether nothing is known against `engine` on the host."""
    there = engines_of(facts)
    if facts is not None and engine == "io_uring" and forbids_io_uring(facts):
        return False
    return not there or engine in there


def instead(facts: Facts) -> dict[str, Value]:
    """Return the engine that can stand in, with the depth that it can keep."""
    engine = next((name for name in FALLBACKS if usable(facts, name)), "")
    if not engine:
        return {}
    return {"ioengine": engine} if engine == FALLBACKS[0] else {"ioengine": engine, "iodepth": 1}


def _missing(evidence: StepEvidence) -> Outcome | CannotTell | None:
    engine, facts = str(evidence.values["ioengine"]), evidence.context.facts
    if facts is None:
        return CannotTell("The host's facts have not been read.")
    if engine == "io_uring" and forbids_io_uring(facts):
        return Outcome(
            f"kernel.io_uring_disabled is {known(facts.system.io_uring_disabled)}, for "
            f"{known(facts.system.user) or 'this user'}.",
            remedy="Use libaio; or have the administrator permit io_uring.",
            changes=instead(facts),
        )
    engines = facts.tool("fio").engines
    if isinstance(engines, Absent):
        return CannotTell(f"fio's engines are not known: {engines.reason}.")
    if engine in engines or engine.startswith("external:") or "/" in engine:
        return None
    return Outcome(f"fio on this host has no {engine}; it has {', '.join(engines)}.", changes=instead(facts))


ENGINE_MISSING = Check(
    id="engine-missing",
    level=Level.ERROR,
    title="fio cannot use this engine here",
    why="fio ends at once and measures nothing.",
    remedy="Choose an engine that is there.",
    source="fio --enghelp and kernel.io_uring_disabled, read on the host.",
    needs="The engine; what the server says it has.",
    evaluate=_missing,
)

"""The check that fio on this host supports the step's ioengine."""

from suites.base import StepEvidence
from suites.checks import FACTS_NOT_READ, Check, CheckOutcome, NotChecked
from suites.facts import Absent, Facts, known
from suites.parameters import Value
from suites.vocab import Severity

FALLBACKS = ("libaio", "psync")
"""Substitutes for a missing engine, the best first."""

DISABLED_FOR_ALL = 2
DISABLED_FOR_USERS = 1


def engines_of(facts: Facts | None) -> tuple[str, ...]:
    """Return the engines of fio on the host; none if not known."""
    return () if facts is None else known(facts.tool("fio").engines) or ()


def forbids_io_uring(facts: Facts) -> bool:
    """Whether the host's kernel refuses io_uring to this user."""
    switch, user = known(facts.system.io_uring_disabled), known(facts.system.user)
    return switch == DISABLED_FOR_ALL or (switch == DISABLED_FOR_USERS and user != "root")


def usable(facts: Facts | None, engine: str) -> bool:
    """Whether `engine` is not known to fail on the host."""
    there = engines_of(facts)
    if facts is not None and engine == "io_uring" and forbids_io_uring(facts):
        return False
    return not there or engine in there


def substitute_engine(facts: Facts) -> dict[str, Value]:
    """Return a substitute engine, with the depth that it supports."""
    engine = next((name for name in FALLBACKS if usable(facts, name)), "")
    if not engine:
        return {}
    return {"ioengine": engine} if engine == FALLBACKS[0] else {"ioengine": engine, "iodepth": 1}


def _missing(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    engine, facts = str(evidence.values["ioengine"]), evidence.context.facts
    if facts is None:
        return FACTS_NOT_READ
    if engine == "io_uring" and forbids_io_uring(facts):
        return CheckOutcome(
            f"kernel.io_uring_disabled is {known(facts.system.io_uring_disabled)}, for "
            f"{known(facts.system.user) or 'this user'}.",
            remedy="Use libaio, or ask the administrator to permit io_uring.",
            changes=substitute_engine(facts),
        )
    engines = facts.tool("fio").engines
    if isinstance(engines, Absent):
        return NotChecked(f"fio's engines are not known: {engines.reason}.")
    if engine in engines or engine.startswith("external:") or "/" in engine:
        return None
    return CheckOutcome(
        f"fio on this host has no {engine}; it has {', '.join(engines)}.", changes=substitute_engine(facts)
    )


ENGINE_MISSING = Check(
    id="engine-missing",
    severity=Severity.ERROR,
    blocks=True,
    title="ioengine not available",
    why="fio exits at once and measures nothing.",
    remedy="Choose an available engine.",
    source="fio --enghelp and kernel.io_uring_disabled, read on the host.",
    needs="The engine; the engines of the host's fio.",
    evaluate=_missing,
)


def _idle(evidence: StepEvidence) -> CheckOutcome | None:
    engine = str(evidence.values["ioengine"])
    return CheckOutcome(f"ioengine is {engine}.") if engine in IDLE else None


IDLE = frozenset({"null", "cpuio"})
"""Engines that open no file (fio, FIO_DISKLESSIO and FIO_NOIO)."""

NO_DATA_MOVED = Check(
    id="no-data-moved",
    severity=Severity.ERROR,
    title="ioengine does no I/O",
    why="Each I/O is complete at once: the rate is that of fio itself, not that of a device.",
    remedy="Use libaio, io_uring or psync.",
    source="fio manual, ioengine: null doesn’t transfer any data, just pretends to; axboe/fio#1881.",
    needs="The engine.",
    evaluate=_idle,
)

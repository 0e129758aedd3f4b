"""Validity of a calibration for a run: what the host was then, and its age."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from app.records import Calibration, RunRecord
from suites.facts import Absent, Facts, known

UNWATCHED = "not watched"
"""The end of the name of the step that runs without telemetry."""


def log_spread(values: Sequence[float]) -> float:
    """Return the coefficient of variation of `values` from the variance of their logarithms: √(exp(s²) − 1).

    Raise StatisticsError for fewer than two values, ValueError for one not above zero.
    """
    return math.sqrt(math.expm1(statistics.variance([math.log(value) for value in values])))


DISTURBED = 0.10
"""CoV of the headline metric from which the host was disturbed (check M16): its noise excuses no spread later."""

OLDEST = timedelta(days=90)
"""Age from which a calibration is not used, equal to a baseline's default maximum age."""


_FACTS: Mapping[str, Callable[[Facts], object]] = {
    "kernel": lambda facts: facts.system.kernel,
    "processor": lambda facts: facts.cpu.model,
    "usable CPUs": lambda facts: facts.cpu.usable,
    "CPU quota": lambda facts: facts.cpu.quota,
    "governor": lambda facts: facts.cpu.governor,
    "memory": lambda facts: facts.memory.total,
    "instance type": lambda facts: facts.cloud.instance_type,
    "instance": lambda facts: facts.cloud.instance_id,
    "virtualisation": lambda facts: facts.system.virtualisation,
}


def fingerprint_of(facts: Facts, tool: str) -> dict[str, str]:
    """Return the facts on which a calibration depends, and the version of the suite's tool."""
    found = {name: read(facts) for name, read in _FACTS.items()} | {tool: facts.tool(tool).version}
    return {name: str(value) for name, value in found.items() if not isinstance(value, Absent)}


def changed(calibration: Calibration, facts: Facts | None) -> str:
    """Return what changed on the host since, as text; empty for nothing. Missing facts count as a change."""
    if facts is None:
        return "the host’s facts are unknown"
    names = calibration.fingerprint
    now = {name: read(facts) for name, read in _FACTS.items()}
    now |= {name: facts.tool(name).version for name in names if name not in now}
    for name, before in names.items():
        after = known(now[name])
        if str(after) != before:
            return f"{name} {before} then, {'unknown' if after is None else after} now"
    return ""


def aged(calibration: Calibration, moment: str = "") -> bool:
    """Return whether it is more than OLDEST from `moment` (UTC, ISO 8601; empty: now), before or after."""
    at = datetime.fromisoformat(moment) if moment else datetime.now(UTC)
    return abs(at - datetime.fromisoformat(calibration.made)) > OLDEST


def applying(
    calibrations: Iterable[Calibration], host: str, suite: str, facts: Facts | None, moment: str = ""
) -> Calibration | None:
    """Return the newest of `calibrations` (sorted newest first) of `suite` on `host`; None if it is not valid.

    It is not valid if the host was disturbed, has changed since, or if it is too old.
    """
    for one in calibrations:
        if (one.host, one.suite) == (host, suite):
            valid = one.cov < DISTURBED and not aged(one, moment) and not changed(one, facts)
            return one if valid else None
    return None


def counted_calibration(record: RunRecord, host: str, suite: str) -> Calibration | None:
    """Return the calibration of `suite` on `host` valid at the start of a run; None without one."""
    moment = record.summary.started
    return applying(record.calibrations, host, suite, record.facts_before.get(host), moment)

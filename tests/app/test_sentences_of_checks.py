"""The figures in every sentence of a check fulfil identities, whatever was counted: no part exceeds its whole."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.checks.catalogue import DURING_CHECKS, TRIAL_CHECKS
from app.checks.evidence import RUNNING
from app.verdict.steps import step_verdict
from remote.telemetry import telemetry_metrics
from suites.checks import CheckOutcome
from suites.evidence import DONE, TrialEvidence
from suites.units import Unit
from suites.vocab import Metric
from tests.app.trial_evidence import READ, WRITE, repeated, trial

CHANGES = frozenset({"unsteady-start", "rate-against-block", "clock-fell"})
"""Checks whose per cent are differences, which may exceed 100."""

HEAT = frozenset({"near-heat-limit", "cpu-too-hot"})
"""Checks of a temperature, which may exceed its limit."""

_PER_CENT = re.compile(r"([0-9][0-9.]*) %")
_PART = re.compile(r"([0-9][0-9.]*) of (?:the |requested )?([0-9][0-9.]*) (?:CPUs|trials|segments|I/Os|processors)")
_NEGATIVE = re.compile(r"(?<![A-Za-z0-9])[−-][0-9]|\bnan\b|\binf\b", re.IGNORECASE)


def impossible(check: str, text: str) -> Iterator[str]:
    """Yield what cannot be of the figures in a sentence."""
    if check not in CHANGES | HEAT:
        yield from (f"{one} %" for one in _PER_CENT.findall(text) if float(one) > 100)
    yield from (f"{part} of {whole}" for part, whole in _PART.findall(text) if float(part) > 1.005 * float(whole))
    if check not in CHANGES:
        yield from _NEGATIVE.findall(text)


LABELLED = {"disk": ":vda", "network": ":eth0", "process": ":make", "filesystem": ":vda", "link": ":eth0"}
"""Labels of metrics that have one, by the first word of their names."""


def up_to(most: int) -> st.SearchStrategy[float]:
    """Draw a number from 0 on, with one decimal."""
    return st.integers(0, 10 * most).map(lambda tenths: tenths / 10)


WHOLE = up_to(100) | st.sampled_from([0.0, 0.5, 99.9, 100.0])
"""Shares of the CPU time of one sample, which are parts of it."""

SHARES = up_to(103) | st.sampled_from([0.0, 0.5, 99.9, 100.0])
"""Shares of the time between two samples, whose clocks differ by a little."""

AMOUNTS = st.integers(0, 10**10).map(float) | st.sampled_from([0.0, 1.0, 3.2, 41e6])


def names() -> Iterator[tuple[str, st.SearchStrategy[float]]]:
    """Yield every metric of telemetry as watch() names it, with the values that it may have."""
    known = vars(telemetry_metrics).values()
    found = [one for each in known for one in (each.values() if isinstance(each, dict) else (each,))]
    for metric in (one for one in found if isinstance(one, Metric)):
        plain = metric.name in {"network_segments", "network_retransmits", "network_datagrams_dropped"}
        label = "" if plain else LABELLED.get(metric.name.partition("_")[0], "")
        shares = WHOLE if metric.name.startswith("cpu_") else SHARES
        yield f"{metric.name}{label}", shares if metric.unit is Unit.PERCENT else AMOUNTS


counters = st.fixed_dictionaries({}, optional=dict(names()))
busy = st.fixed_dictionaries({
    **dict.fromkeys(("cpu_user", "cpu_system", "tool_cpu_user", "tool_cpu_system", "other_cpu"), up_to(100)),
    **dict.fromkeys(("cgroup_throttled", "cgroup_throttled_periods", "tool_busiest_thread"), SHARES),
    "tool_waiting": up_to(8),
})  # fmt: skip
"""Counters of the CPU, all of them."""

rates = st.lists(up_to(1000000), min_size=0, max_size=40)


@st.composite
def trials(draw: st.DrawFn) -> TrialEvidence:
    """Return a trial of a tool, with figures and counters that need not agree with each other."""
    seconds = draw(st.sampled_from([1.0, 10.0, 30.0]))
    host = {**draw(counters), **(draw(busy) if draw(st.booleans()) else {})}
    rate, latency = draw(up_to(10000000)), draw(up_to(10000000000))
    kind = draw(st.sampled_from(["read", "write", "buffered", "sysbench-cpu", "iperf3", "command"]))
    if kind in {"read", "write", "buffered"}:
        figures = {
            "iops": rate,
            "bandwidth": draw(up_to(10000000000)),
            "latency_mean": latency,
            "latency_p50": latency / 3,
        }
        given: dict[str, Any] = {"rw": "randwrite" if kind == "write" else "randread", "direct": kind != "buffered",
                 "iodepth": draw(st.sampled_from([1, 32])), "ioengine": "libaio", "runtime": int(seconds)}  # fmt: skip
        return trial("fio", figures, at=WRITE if kind == "write" else READ, host=host, samples=draw(rates),
                     seconds=seconds, **given)  # fmt: skip
    metric = {"sysbench-cpu": "events_per_second", "iperf3": "throughput", "command": "wall_time"}[kind]
    extra: dict[str, Any] = {"threads": draw(st.sampled_from([1, 4, 16]))} if kind == "sysbench-cpu" else {}
    return trial(kind, {metric: rate}, host=host, samples=draw(rates), seconds=seconds, **extra)


@given(trials(), st.sampled_from([DONE, RUNNING]))
def test_no_sentence_of_a_check_has_impossible_figures(one: TrialEvidence, state: str) -> None:
    seen = replace(one, state=state, expected=60.0, figures=one.figures if state == DONE else ())
    for check in (*TRIAL_CHECKS, *DURING_CHECKS):
        outcome = check.evaluate(seen)
        if isinstance(outcome, CheckOutcome):
            assert not list(impossible(check.id, outcome.measured)), (check.id, outcome.measured)


@given(trials(), st.lists(st.integers(1, 10**6).map(float), min_size=1, max_size=8))
def test_no_sentence_of_a_verdict_has_more_trials_than_there_are(one: TrialEvidence, values: list[float]) -> None:
    verdict = step_verdict(repeated(one, values)).verdict
    assert verdict.summary
    for finding in verdict.findings:
        counted = [
            (int(part), int(whole)) for part, whole in re.findall(r"([0-9]+) of ([0-9]+) trials", finding.measured)
        ]
        assert all(part <= whole == len(values) for part, whole in counted), finding.measured

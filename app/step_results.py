"""The result of each step of a run in a line: headline figure, tail latency, verdict and limit."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.checks.limits import limiter_text
from app.comparison.comparability import tool_of
from app.hosts.short_facts import host_text
from app.plans.plan import host_label
from app.records import RunRecord
from app.summary import MetricSummary, headline_metrics, summaries, tail_of
from suites.quantities import figure_text, first_upper, label_text, metric_text
from suites.units import Unit
from suites.verdict import Limiter, Trust, Verdict


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step on a host, as texts.

    `metric` is what is counted, with the tool. `figure` is its headline figure, or “no result”; `interval` its 95 %
    interval, empty without one. `detail` has the bytes per second of large operations and the tail latency, if any.
    `verdict` is None if it was not judged.
    """

    step: str
    host: str
    metric: str
    figure: str
    interval: str
    n: str
    detail: str
    verdict: Verdict | None

    @property
    def trust(self) -> Trust | None:
        """The trust in the result; None without a verdict."""
        return None if self.verdict is None else self.verdict.trust

    @property
    def trust_text(self) -> str:
        """The verdict with its first reason: ``Valid with caveats: CPU steal time``."""
        return "Not judged" if self.verdict is None else first_upper(self.verdict.text)

    @property
    def judgement(self) -> str:
        """Verdict and limit: ``Valid, limited by the device``."""
        return ", ".join(part for part in (self.trust_text, self.limit_text) if part)

    @property
    def limit_text(self) -> str:
        """What limited the result: ``limited by the device``; empty if not identified."""
        return limit_text(self.verdict)


def limit_text(verdict: Verdict | None) -> str:
    """Return what limited a result: ``limited by the device``; empty if not identified."""
    limiter = None if verdict is None else verdict.limited_by
    return "" if limiter in {None, Limiter.UNKNOWN} else f"limited by {limiter_text(limiter)}"


@dataclass(frozen=True, slots=True)
class ResultCard:
    """The results of a run, also as text and as a PNG picture; `ending` as in RunRecord."""

    title: str
    ending: str
    hosts: tuple[str, ...]
    results: tuple[StepResult, ...]
    basis: str
    text: str
    picture: bytes


def step_results(record: RunRecord) -> list[StepResult]:
    """Return the result of each step on each host, in the order of the plan.

    A step with several series of its headline metric, such as a sweep, has a result for each.
    """
    found = summaries(record)
    results = []
    for step in record.plan.steps:
        for host in record.plan.hosts:
            own = [one for one in found if (one.step, one.host) == (step.name, host)]
            names = headline_metrics(step, [one.metric for one in own])
            tail = tail_of(one.metric for one in own)
            heads = [one for one in own if one.metric.name in names and (one.metric != tail or len(names) == 1)]
            verdict = record.verdict_on(step.name, host)
            if not heads:
                results.append(StepResult(step.name, host, "", "no result", "", "0", "", verdict))
            results += [_result(one, own, verdict, tool_of(step)) for one in heads]
    return results


def _result(head: MetricSummary, own: Sequence[MetricSummary], verdict: Verdict | None, tool: str) -> StepResult:
    return StepResult(
        head.step,
        head.host,
        f"{metric_text(head.metric, head.labels)} ({tool})",
        head.value_text,
        head.interval_text,
        head.n_text,
        ", ".join(filter(None, (_bandwidth_text(head, own), _tail_text(head, own)))),
        verdict,
    )


LARGE = 60_000
"""Bytes of an operation from which its rate is quoted in bytes too, as YABS does for 64k; both rates are rounded."""


def _bandwidth_text(head: MetricSummary, own: Sequence[MetricSummary]) -> str:
    """Return the bytes per second beside a rate of large operations: ``530 MB/s``."""
    if head.metric.unit is not Unit.PER_SECOND:
        return ""
    kind = head.metric.kind
    for one in own:
        same = one.labels == head.labels and one.metric.kind is kind and one.metric.unit is Unit.BYTES_PER_SECOND
        if same and one.value >= LARGE * head.value > 0:
            return figure_text(one.metric, one.value)
    return ""


def _tail_text(head: MetricSummary, own: Sequence[MetricSummary]) -> str:
    """Return the tail beside a headline: ``p99 212 µs``; of a total that has none, those of its parts."""
    beside = [one for one in own if one.labels == head.labels]
    if tail_of(one.metric for one in beside) is None:
        beside = [one for one in own if set(one.labels) > set(head.labels)]
    tail = tail_of(one.metric for one in beside)
    tails = [one for one in beside if one.metric == tail]
    if tail is None or tail == head.metric or len(tails) > _MOST_TAILS:
        return ""
    parts = [
        f"{label_text(tuple(label for label in one.labels if label not in head.labels))} {figure_text(tail, one.value)}"
        for one in tails
    ]
    return f"p{tail.percentile:g} {', '.join(map(str.strip, parts))}"


_MOST_TAILS = 3
"""Most parts of a total whose tails are shown: read, write and sync."""


def results_text(record: RunRecord) -> str:
    """Return the results of a run as lines to paste into a ticket."""
    found = step_results(record)
    several = len(record.plan.hosts) > 1
    names = [f"{one.step}, {host_label(one.host)}" if several else one.step for one in found]
    names = [f"{name}: {one.metric}" if one.metric else name for name, one in zip(names, found, strict=True)]
    figures = [f"{one.figure} {one.interval}".strip() for one in found]
    texts = names, figures, [one.detail for one in found]
    wide, tall, broad = (max(map(len, column), default=0) for column in texts)
    lines = [record.title, *host_lines(record), ""]
    if record.ending:
        lines.insert(1, record.ending)
    for name, figure, one in zip(names, figures, found, strict=True):
        lines.append(f"{name:<{wide}}  {figure:>{tall}}  {one.detail:<{broad}}  {one.judgement}".rstrip())
    return "\n".join([*lines, "", basis_text(record)])


def host_lines(record: RunRecord) -> list[str]:
    """Return a line of facts for each host of a run."""
    return [f"{host_label(host)}: {host_text(record.facts_before.get(host))}" for host in record.plan.hosts]


def basis_text(record: RunRecord) -> str:
    """Return what the results rest on: trials, time, run and program."""
    trials = "Quick look: one trial each, no interval. " if record.plan.repetition.is_quick_look else ""
    started = first_upper(record.summary.utc_text)
    return f"{trials}{started} UTC, run {record.summary.id}, Benchwright {record.program_version}."

"""The sentences of a verdict, worded for people who will quote it."""

import statistics
from collections.abc import Sequence

from app.checks.after_matters import latency_text
from app.plans.plan import host_words
from app.wording import figure_text, metric_text
from suites.evidence import StepOutcomeEvidence
from suites.verdict import Limiter, Trust, Verdict
from suites.vocab import Finding

MOST_NAMED = 3
"""Findings that a sentence names; the others are counted."""


def summary_of(step: StepOutcomeEvidence, level: Trust, limiter: Limiter | None, weighing: Sequence[Finding]) -> str:
    """Return the sentence for a step: how far to believe it, what was measured, what limited it, what speaks against
    it."""
    head = f"{level.value.capitalize()}: {_measured(step)}"
    limited = {None: "", Limiter.UNKNOWN: "; what limited it is not known"}
    said = head + limited.get(limiter, f", limited by {limiter_text(limiter)}") + "."
    return f"{said} {_against(weighing)}".strip()


def limiter_text(limiter: Limiter | None) -> str:
    """Return what held a result back as a sentence has it: ``the CPU``; empty for nothing."""
    words = {
        Limiter.CPU: "the CPU",
        Limiter.ONE_THREAD: "a lock or a single thread",
        Limiter.DEVICE: "the device",
        Limiter.QUEUE_DEPTH: "the queue depth",
        Limiter.PROVISIONED: "a provisioned limit",
        Limiter.QUOTA: "a quota",
        Limiter.LINK: "the link",
    }
    return "" if limiter is None else words.get(limiter, limiter.value)


def _measured(step: StepOutcomeEvidence) -> str:
    figure = step.headline
    if figure is None:
        return f"no figure of {step.name} on {host_words(step.host)}"
    values = step.over_trials(figure.metric.name, figure.labels)
    text = f"{metric_text(figure.metric, figure.labels)} {figure_text(figure.metric, statistics.median(values))}"
    latency = latency_text(step)
    count = len(values)
    trials = "one trial, so no spread" if count == 1 else f"median of {count} trials"
    return f"{text}{f' {latency}' if latency else ''} ({trials})"


def _against(weighing: Sequence[Finding]) -> str:
    titles = list(dict.fromkeys(finding.title for finding in weighing))
    if not titles:
        return ""
    more = len(titles) - MOST_NAMED
    listed = ". ".join(titles[:MOST_NAMED])
    return f"{listed}. And {more} more." if more > 0 else f"{listed}."


def summary_of_run(level: Trust, verdicts: Sequence[Verdict]) -> str:
    """Return the sentence for a run: how far to believe it, and how many of its results are how good."""
    counts = [(trust, sum(one.level is trust for one in verdicts)) for trust in Trust]
    found = [(trust, count) for trust, count in counts if count]
    if len(found) == 1:
        return f"{level.value.capitalize()}: {_all_of(len(verdicts))}."
    parts = ", ".join(f"{count} {trust.value}" for trust, count in found)
    worst_ones = [place_text(one) for one in verdicts if one.level is level]
    named = "; ".join(worst_ones[:MOST_NAMED]) + ("; …" if len(worst_ones) > MOST_NAMED else "")
    return f"{level.value.capitalize()}: of {len(verdicts)} results, {parts} ({named})."


def _all_of(results: int) -> str:
    return {1: "the one result", 2: "both results"}.get(results, f"all {results} results")


def place_text(verdict: Verdict) -> str:
    """Return which step on which host a verdict is about; empty for a whole run."""
    if verdict.step is None:
        return ""
    return f"{verdict.step} on {host_words(verdict.host)}" if verdict.host else verdict.step


def verdict_text(verdict: Verdict) -> str:
    """Return the verdict in few words: ``valid with caveats, limited by the device``."""
    if verdict.limited_by is None:
        return verdict.level.value
    if verdict.limited_by is Limiter.UNKNOWN:
        return f"{verdict.level.value}, limit not known"
    return f"{verdict.level.value}, limited by {limiter_text(verdict.limited_by)}"

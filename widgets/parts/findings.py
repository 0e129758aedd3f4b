"""Texts of findings: for a ticket, and of their acknowledgement."""

from collections.abc import Callable, Sequence

from app.checks.issues import WORDS
from app.output import escaped
from suites.vocab import Finding
from widgets.parts.names import step_host_label

Describe = Callable[[Finding], str]
"""Returns what applying a finding would change, such as ``Threads 1 → 8``; empty if unknown."""


def no_description(_finding: Finding) -> str:
    """Return no description."""
    return ""


def as_text(finding: Finding) -> str:
    """Return a finding as lines of text, for a ticket."""
    head = f"{WORDS[finding.severity]}: {finding.title}"
    step_host = step_host_label(finding.step, finding.host)
    lines = [head, step_host, finding.measured, finding.why, finding.remedy, finding.install or "", finding.source]
    return escaped("\n".join(line for line in lines if line), but="\n")


def acknowledged_text(findings: Sequence[Finding], reason: str) -> str:
    """Return the status of acknowledging `findings`, or withdrawing it without a reason."""
    return f"{'Acknowledged' if reason else 'No longer acknowledged'}: {findings[0].title}"

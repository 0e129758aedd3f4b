"""Which findings keep a plan from being started: those after which the runner could not even try. No Qt."""

from app.checks.blocking import blocks
from suites.vocab import Finding
from widgets.parts.names import place_words


def blocker(finding: Finding) -> str:
    """Return in words why `finding` keeps the plan from being started; empty where it only warns."""
    return f"{finding.title} ({place_words(finding.step, finding.host)})." if blocks(finding) else ""

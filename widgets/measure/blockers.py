"""Which findings keep a plan from being started: those after which the runner could not even try. No Qt."""

from app.checks.blocking import BLOCKING
from suites.vocab import Finding, Level
from widgets.parts.names import place_words


def blocker(finding: Finding) -> str:
    """Return in words why `finding` keeps the plan from being started; empty where it only warns."""
    if finding.level is not Level.ERROR or finding.id not in BLOCKING:
        return ""
    return f"{finding.title} ({place_words(finding.step, finding.host)})."

"""What limited a trial: competing hypotheses, each with how far it was used and what speaks against it."""

from app.checks.limits.cpu import QUOTA_BOUND
from app.checks.limits.judge import LIMITED_BY, limiter_text

__all__ = ["LIMITED_BY", "QUOTA_BOUND", "limiter_text"]

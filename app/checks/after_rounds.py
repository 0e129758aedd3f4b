"""Was a test that goes on round by round steady when it ended: judged by the figures it gives of its last rounds."""

from app.wording import figure_text
from suites.checks import Outcome
from suites.evidence import TrialEvidence
from suites.snia.metrics import ROUNDS, STEADY_AFTER, WINDOW_RANGE, WINDOW_SLOPE, WINDOWS_APART
from suites.snia.steady import PTS_RANGE, PTS_SLOPE, WINDOW, WINDOWS_AGREE
from suites.verdict import Trust
from suites.vocab import Level


def by_rounds(trial: TrialEvidence) -> bool:
    """Whether the trial's figures are those of its last rounds, so that its course before says nothing of them."""
    return ROUNDS in trial.suite.metrics


def unsteady_rounds(trial: TrialEvidence) -> Outcome | None:
    """Return in what the last rounds were not steady, by both criteria; None where they were.

    The standard's own criterion is met or it is an error. Where it is met alone, the figure may be that of a slow
    decay: doubtful where two windows differ, a caveat where there were too few rounds for two.
    """
    rounds, apart = trial.value(ROUNDS.name), trial.value(WINDOWS_APART.name)
    shares = (trial.value(WINDOW_RANGE.name), trial.value(WINDOW_SLOPE.name))
    if rounds is None or None in shares:
        return None
    told = _told(trial)
    standard = rounds >= WINDOW and all(
        share is not None and share <= 100 * bound + 1e-6
        for share, bound in zip(shares, (PTS_RANGE, PTS_SLOPE), strict=True)
    )
    if not standard:
        return Outcome(f"After {rounds:.0f} rounds, {told}.", level=Level.ERROR, trust=Trust.DOUBTFUL)
    if apart is None:
        words = f"Steady by the standard's window of {WINDOW} rounds alone: {rounds:.0f} rounds are too few for two."
        return Outcome(f"{words} {told.capitalize()}.", trust=Trust.CAVEATS)
    if apart > 100 * WINDOWS_AGREE + 1e-6:
        level = Level.WARNING if trial.value(STEADY_AFTER.name) else Level.ERROR
        return Outcome(f"After {rounds:.0f} rounds, {told}.", level=level, trust=Trust.DOUBTFUL)
    return None


def _told(trial: TrialEvidence) -> str:
    figures = {figure.metric.name: figure for figure in trial.figures if not figure.labels}
    words = (
        (WINDOW_RANGE, "the last five range over {} of their mean", PTS_RANGE),
        (WINDOW_SLOPE, "change by {}", PTS_SLOPE),
        (WINDOWS_APART, "differ from the five before by {}", WINDOWS_AGREE),
    )
    said = [
        f"{text.format(figure_text(metric, figures[metric.name].value))} (at most {100 * bound:.0f} %)"
        for metric, text, bound in words
        if metric.name in figures
    ]
    return ", ".join(said)

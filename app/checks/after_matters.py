"""Does it matter: what a figure means for the question that was asked."""

import statistics

from app.wording import figure_text, metric_text
from suites.checks import CannotTell, Check, Outcome, OutcomeCheck, When
from suites.evidence import StepOutcomeEvidence
from suites.verdict import Goal, Trust
from suites.vocab import Figure, Level

_LATENCIES = ("latency_mean", "latency_p99")


def _goals(step: StepOutcomeEvidence) -> Outcome | CannotTell | None:
    said, missed, asked = [], False, False
    for goal in step.goals:
        if goal.step not in {None, step.name}:
            continue
        figures = step.done[0].all_of(goal.metric) if step.done else ()
        asked = True
        for figure in figures:
            reached = _reached(step, goal, figure)
            missed = missed or not reached
            said.append(_words(step, goal, figure, reached=reached))
    if not said:
        return CannotTell("No figure was measured that the goal is about.") if asked else None
    return Outcome(" ".join(said), level=Level.WARNING if missed else Level.INFO)


def _middle(step: StepOutcomeEvidence, figure: Figure) -> float:
    return statistics.median(step.over_trials(figure.metric.name, figure.labels))


def _reached(step: StepOutcomeEvidence, goal: Goal, figure: Figure) -> bool:
    middle = _middle(step, figure)
    low, high = goal.at_least, goal.at_most
    return (low is None or middle >= low) and (high is None or middle <= high)


def _words(step: StepOutcomeEvidence, goal: Goal, figure: Figure, *, reached: bool) -> str:
    values = step.over_trials(figure.metric.name, figure.labels)
    bound = goal.at_least if goal.at_least is not None else goal.at_most
    asked = f"{'at least' if goal.at_least is not None else 'at most'} {figure_text(figure.metric, bound or 0.0)}"
    name = metric_text(figure.metric, figure.labels)
    met = sum((goal.at_least is None or value >= goal.at_least) and (goal.at_most is None or value <= goal.at_most)
              for value in values)  # fmt: skip
    found = figure_text(figure.metric, _middle(step, figure))
    return f"{name}: {found}, {asked} asked for: {'met' if reached else 'missed'} ({met} of {len(values)} trials)."


def latency_text(step: StepOutcomeEvidence) -> str:
    """Return the latency that belongs to the leading rate: ``at 310 µs on average, p99 1.2 ms``; empty without one."""
    figure = step.headline
    if figure is None or figure.metric.name != "iops":
        return ""
    found = []
    for name, words in zip(_LATENCIES, ("{} on average", "p99 {}"), strict=True):
        values = step.over_trials(name, figure.labels)
        metric = next((one.metric for one in step.done[0].all_of(name)), None)
        if values and metric is not None:
            found.append(words.format(figure_text(metric, statistics.median(values))))
    return f"at {', '.join(found)}" if found else ""


OF_A_STEP: tuple[OutcomeCheck, ...] = (
    Check(
        id="goal",
        level=Level.INFO,
        title="Measured against the goal",
        why="A figure answers a question only beside what is needed.",
        remedy="Where it is missed, what limited it says what to change.",
        source="The goal that stands in the plan.",
        evaluate=_goals,
        when=When.AFTER,
        needs="a goal in the plan, and its figure",
        trust=Trust.VALID,
    ),
)

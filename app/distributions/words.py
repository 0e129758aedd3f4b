"""What a distribution says beside its charts."""

from app.distributions.distribution import Distribution
from app.wording import figure_text, run_letter


def worst_text(one: Distribution) -> str:
    """Return the worst sample of each side and when it came; empty where there are no samples."""
    found = []
    for number, side in enumerate(one.sides):
        for worst in side.worst[:1]:
            letter = f"{run_letter(number)} " if len(one.sides) > 1 else ""
            value = figure_text(one.metric, worst.value)
            found.append(f"{letter}{value} in trial {worst.number} at {worst.time:.0f} s")
    return f"Worst sample: {'; '.join(found)}." if found else ""

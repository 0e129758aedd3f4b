"""What is to be known of a history, in words."""

from app.history.history import FALSE_ALARMS, History

SHOWN = 40
"""Runs that the table on the terminal lists; --json has all."""


def notes_of(found: History) -> list[str]:
    """Return what is to be known of a history."""
    notes = [f"Left out: {reason}." for reason in found.left_out]
    if not found.found.claimed:
        notes.append(
            f"Neighbouring results hang together ({found.found.hanging:.2f}), so the marks are no evidence of changes."
        )
    return [*notes, f"A change needs p < 0.001, 5 % and four runs on either side; {FALSE_ALARMS}."]

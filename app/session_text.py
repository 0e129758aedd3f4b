"""Session series as text, and as entries of cron and systemd that run due sessions."""

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime

from app.events import PlannedSession
from app.fleet_study import STUDY_INITIAL
from app.plans.consent import needs_person
from app.session_series import MOST_FAILURES, SessionSeries, late_by
from suites.quantities import count_text, duration_text

LATE_FROM = 60.0
"""Seconds from which a session counts as late."""

CHECK_MINUTES = 10
"""Minutes between two checks for due sessions by cron or systemd."""


def session_text(session: PlannedSession, started: str) -> str:
    """Return the place of a run in its series or study: ``Session 2 of 5 of the series s7kqm2, 12 min late``."""
    late = late_by(session, started)
    of = f" of {session.total}" if session.total else ""
    late_text = f", {duration_text(late)} late" if late >= LATE_FROM else ""
    kind = "fleet study" if session.series.startswith(STUDY_INITIAL) else "series"
    return f"Session {session.number}{of} of the {kind} {session.series}{late_text}"


def moment_text(moment: datetime) -> str:
    """Return a time in UTC: ``2026-11-27 08:15 UTC``."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def status_text(series: SessionSeries, now: datetime) -> str:
    """Return what comes next in a series: ``due in 5 h 10 min``, ``due, 2 h late``, ``complete``."""
    if series.over:
        return "complete" if series.done >= series.total else "ended"
    if (run := series.under_way) is not None:
        return f"session {run.number} is {'detached' if run.detached else 'under way'}: {run.run}"
    seconds = series.due_in(now) or 0.0
    when = f"due in {duration_text(seconds)}" if seconds > 0 else "due"
    when += f", {duration_text(-seconds)} late" if seconds <= -LATE_FROM else ""
    return f"{when}; {reason}" if (reason := held_back(series)) else when


def held_back(series: SessionSeries) -> str:
    """Return why the next session starts only by hand; empty if it may start by itself."""
    if reason := needs_person(series.plan):
        return f"start it by hand: {reason}"
    return f"paused after {count_text(MOST_FAILURES, 'failed run')}" if series.paused else ""


def runs_unattended(series: SessionSeries, now: datetime) -> bool:
    """Return whether the next session is due and may start by itself. One that was interrupted is due at once."""
    run = series.under_way
    due = run.detached if run is not None else (seconds := series.due_in(now)) is not None and seconds <= 0
    return not series.over and due and not held_back(series)


def crontab_line(command: Sequence[str]) -> str:
    """Return a line for crontab(5) that runs `command`; there, ``%`` ends the command unless it is escaped."""
    return f"*/{CHECK_MINUTES} * * * * {shlex.join(command)}".replace("%", "\\%")


def systemd_units(command: Sequence[str]) -> str:
    """Return a service and a timer of systemd that run `command`, as two files of the user (systemd.timer(5))."""
    words = " ".join(_quoted(word) for word in command)
    return f"""# ~/.config/systemd/user/benchwright-sessions.service
[Unit]
Description=Run the due sessions of Benchwright

[Service]
Type=oneshot
ExecStart={words}

# ~/.config/systemd/user/benchwright-sessions.timer
[Unit]
Description=Check for due sessions of Benchwright

[Timer]
OnCalendar=*:0/{CHECK_MINUTES}
Persistent=true

[Install]
WantedBy=timers.target

# Enable: systemctl --user daemon-reload && systemctl --user enable --now benchwright-sessions.timer
# Run also while you are not logged in: loginctl enable-linger
"""


def _quoted(word: str) -> str:
    r"""Return a word of ExecStart (systemd.service(5)): quoted, with ``%``, ``$``, ``"`` and ``\`` escaped."""
    for mark, escaped in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
        word = word.replace(mark, escaped)
    return f'"{word}"'

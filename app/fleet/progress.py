"""The time until the end of a study by the rate so far."""

from collections.abc import Iterable
from datetime import datetime

from app.fleet_study import FleetStudy, HostRun
from app.timestamps import seconds_between

FEWEST_ENDED = 3
"""Ended host-runs of a session from which its rate is known."""


def remaining_seconds(study: FleetStudy, host_runs: Iterable[HostRun], now: str) -> float | None:
    """Return the seconds from `now` until the last host-run ends, by the rate of the latest session with a rate.

    None if it is unknown: the study is paused, or too few host-runs have ended. 0 if it is over.
    """
    if study.over:
        return 0.0
    sessions: dict[int, list[HostRun]] = {}
    for one in host_runs:
        sessions.setdefault(one.session, []).append(one)
    rates = [rate for _, runs in sorted(sessions.items()) if (rate := _rate(study, runs)) is not None]
    if study.paused is not None or not rates:
        return None
    end = 0.0
    for _, runs in sorted(sessions.items()):
        if waiting := [one for one in runs if not one.state.over]:
            due = seconds_between(now, min(one.due for one in waiting))
            end = max(end, due) + len(waiting) / rates[-1]
    return end


def _rate(study: FleetStudy, runs: Iterable[HostRun]) -> float | None:
    """Return the host-runs of a session that ended in a second; None if too few were measured."""
    ended = [one.changed for one in runs if one.state.over and one.run]
    start = max(study.created, min(one.due for one in runs))
    if len(ended) < FEWEST_ENDED or (seconds := seconds_between(start, max(ended))) <= 0:
        return None
    return len(ended) / seconds


def ends_text(seconds: float, now: datetime) -> str:
    """Return the local time in `seconds` from `now`, to the minute; with the day if that is another one."""
    end = datetime.fromtimestamp(now.timestamp() + seconds, now.tzinfo)
    return f"{end:%H:%M}" if end.date() == now.date() else f"{end:%Y-%m-%d %H:%M}"

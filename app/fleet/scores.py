"""Scores of the hosts of a group for the search for lemons: their levels and spreads as logarithms, with errors."""

import math
import statistics

from app.comparison.variance import components_of
from app.comparison.verdicts import FEWEST, Level
from app.fleet.distances import HostScore
from app.fleet.study import Group, Sessions, host_centre
from app.spreads import deviation_score


def level_scores(group: Group) -> list[HostScore]:
    """Return the logarithms of the centres of hosts with their squared errors, by the components of the group.

    The error of a mean of k sessions of n trials is s_run^2 / k + s_trial^2 / (k n). That by the host's own noise has
    pi / 2 times the error of means, as medians of normal trials.
    """
    trial, run, _ = (one.variance or 0.0 for one in components_of([[list(own.values()) for own in group.values()]]))
    found = []
    for host, sessions in group.items():
        of_trials = statistics.fmean(1 / len(trials) for trials in sessions.values())
        error = (run + trial * of_trials) / len(sessions)
        found.append(HostScore(host, math.log(host_centre(sessions)), error, _own_error(sessions)))
    return found


def _own_error(sessions: Sessions) -> float:
    """Return the squared error by the spread of all trials, and by that of the sessions from FEWEST of them on."""
    logs = [math.log(value) for trials in sessions.values() for value in trials]
    medians = [math.log(statistics.median(trials)) for trials in sessions.values()]
    units = [logs, medians] if len(medians) >= FEWEST[Level.SESSION] else [logs]
    return math.pi / 2 * max(statistics.variance(own) / len(own) if len(own) > 1 else 0.0 for own in units)


def spread_scores(group: Group) -> list[HostScore]:
    """Return the logarithms of the deviation scores of hosts, of the ratios of trials to the median of their session.

    Hosts without a score, or of zero, are left out.
    """
    found = []
    for host, sessions in group.items():
        ratios = [value / statistics.median(trials) for trials in sessions.values() for value in trials]
        score = deviation_score([ratios])
        if score is not None and score.mean > 0:
            found.append(HostScore(host, math.log(score.mean), score.error / score.mean**2))
    return found

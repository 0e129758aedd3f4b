"""The sessions that the hosts of a study share, by figure."""

from collections.abc import Iterator, Mapping, Sequence

from app.comparison.shared_sessions import FigureName, SharedSessions, shared_sessions
from app.fleet.results import Progress, values_by_figure
from app.fleet.study import session_means
from app.fleet_study import FleetStudy, HostRun


def study_sessions(
    study: FleetStudy, host_runs: Sequence[HostRun], progress: Progress
) -> Mapping[FigureName, SharedSessions]:
    """Return the sessions that the hosts of `host_runs` of a study share, for each figure of `progress` above zero."""
    return dict(_by_name(study, host_runs, progress))


def _by_name(
    study: FleetStudy, host_runs: Sequence[HostRun], progress: Progress
) -> Iterator[tuple[FigureName, SharedSessions]]:
    names = {key[1].name for run in progress.values() for key in run.figures}
    for (step, metric, labels), groups in values_by_figure(study, host_runs, progress, names, []).items():
        hosts = [host for group in groups.values() for host in group.values()]
        if all(value > 0 for host in hosts for trials in host.values() for value in trials):
            yield (step, metric.name, labels), shared_sessions(study.id, map(session_means, hosts))

"""The sessions that all hosts of a study, or of a group of it, share, by figure."""

from collections.abc import Iterator, Mapping, Sequence

from app.comparison.shared_sessions import FigureName, SharedSessions, shared_sessions
from app.fleet.results import Progress, values_by_figure
from app.fleet.study import session_means
from app.fleet_study import FleetStudy, HostRun


def study_sessions(
    study: FleetStudy, host_runs: Sequence[HostRun], progress: Progress, group: str = ""
) -> Mapping[FigureName, SharedSessions]:
    """Return the shared sessions of a study, or of its group `group`, for each figure of `progress` above zero."""
    names = {key[1].name for run in progress.values() for key in run.figures}
    return dict(_by_name(study, host_runs, progress, group, names))


def _by_name(
    study: FleetStudy, host_runs: Sequence[HostRun], progress: Progress, group: str, names: set[str]
) -> Iterator[tuple[FigureName, SharedSessions]]:
    for (step, metric, labels), groups in values_by_figure(study, host_runs, progress, names, []).items():
        hosts = [host for name, own in groups.items() if group in {"", name} for host in own.values()]
        if hosts and all(value > 0 for host in hosts for trials in host.values() for value in trials):
            yield (step, metric.name, labels), shared_sessions(study.id, map(session_means, hosts))

"""Commands of a detached run that may still run on its hosts and that no trial follows: they are ended."""

from collections.abc import Iterator, Mapping
from functools import partial

from app.detached_runs import DetachedRun, StoredJob
from app.events import AttemptEnded, Event, State, Trial
from app.plans.plan import host_label
from app.runs.phase import RunOutcome
from app.runs.run_hosts import RunHosts
from remote.jobs.job import RemoteJob
from remote.session import Session
from suites.base import Purpose
from suites.errors import BenchwrightError


class OrphanError(BenchwrightError):
    """A command of the run that is not followed may still run on a host, so no other command is started."""


def orphans_ended(run: DetachedRun, hosts: RunHosts, outcome: RunOutcome) -> Iterator[Event]:
    """End the commands of the run that may still run and are not followed.

    Raises OrphanError if one may still run and the run is to start others; when stopping, records it as a problem.
    """
    end = partial(end_orphans, run, hosts.sessions | hosts.roots)
    try:
        unknown = yield from hosts.queue.during(end)
    except OrphanError as error:
        if not hosts.control.stopped:
            raise
        outcome.problems.append(str(error))
    else:
        yield from map(AttemptEnded, unknown)


def end_orphans(run: DetachedRun, sessions: Mapping[str, Session]) -> tuple[int, ...]:
    """End every command of the run that may still run, except the followed ones of running trials.

    Return the ids of the trials whose start is not stored: their commands have ended and they will be repeated. A
    command whose start is still in transit to its host is prevented from starting.
    Raises OrphanError if one could not be ended.
    """
    known = {record.trial.id for record in run.record.trials}
    followed = {job.directory for job in _followed(run)}
    rest = [job for job in run.jobs if job.directory not in followed]
    for used in run.workspaces:
        session = sessions.get(used.where)
        if session is None:
            continue
        # A job stored as begun that no longer runs cannot start again; one not stored as begun may start late.
        unknown = {job.directory for job in rest if job.workspace == used.workspace and job.began is None}
        try:
            running = RemoteJob.under_way(session, used.workspace)
            for directory in sorted((running | unknown) - followed):
                RemoteJob.end(session, used.workspace, directory)
        except BenchwrightError as error:
            raise OrphanError(
                f"A command of the run {run.id} may still run on {host_label(used.where)}: {error.message} "
                "No other command was started.",
                f"End it on the host and attach again, or end the run: benchwright attach {run.id} --stop",
            ) from error
    return tuple(sorted({job.trial for job in rest} - known))


def _followed(run: DetachedRun) -> list[StoredJob]:
    """Return the followed commands of the running trials."""
    trials = [record.trial for record in run.record.trials if record.state is State.RUNNING]
    return [job for trial in trials for job in followed_of(run, trial)]


def followed_of(run: DetachedRun, trial: Trial) -> list[StoredJob]:
    """Return the followed commands of a running trial: its servers and its last measuring command."""
    own = [job for job in run.jobs if job.trial == trial.id]
    # Jobs are in planned order: a job planned again replaces the earlier one.
    measuring = [job for job in own if job.purpose is Purpose.MEASURE][-1:]
    servers = {job.number: job for job in own if job.purpose is Purpose.SERVE}
    return [*measuring, *servers.values()]

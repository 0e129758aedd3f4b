"""Finds again what a detached run has on its hosts."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from app.events import FindingRaised, State, Trial
from app.plans.plan import Plan, host_words
from app.records import TrialRecord
from app.runs.left import LeftRun, StoredJob, TrialLeft
from app.runs.place import Place
from app.runs.policies import decided
from app.runs.schedule import Schedule, Turn
from remote.jobs.job import Job
from remote.session import Session
from suites.base import Purpose
from suites.errors import BenchwrightError


def turn_of(plan: Plan, trial: Trial) -> Turn:
    """Return the turn that `trial` had."""
    return Turn(plan.step(trial.step), trial.host, trial.number, trial.warm_up)


def feed(schedule: Schedule, left: LeftRun) -> list[FindingRaised]:
    """Tell `schedule` how the trials went that have ended; return what that finds and is not stored."""
    known = {(finding.id, finding.step, finding.host) for finding in left.record.findings}
    found: list[FindingRaised] = []
    for record in left.record.trials:
        turn = turn_of(left.record.plan, record.trial)
        if record.state is State.DONE:
            seconds = _seconds(record)
            events = decided(schedule.took(turn, record.figures, seconds, seconds))
            found += [event for event in events if isinstance(event, FindingRaised)]
        elif record.state is not State.RUNNING:
            schedule.give_up(turn)
    return [one for one in found if (one.finding.id, one.finding.step, one.finding.host) not in known]


def _seconds(record: TrialRecord) -> float:
    """Return how long a trial took by the workstation's clock, its end being noticed included."""
    if record.ended is None:
        return 0.0
    return (datetime.fromisoformat(record.ended) - datetime.fromisoformat(record.trial.started)).total_seconds()


def restored_places(left: LeftRun, make: Callable[[Turn], Place]) -> Iterator[Place]:
    """Yield the places that may still have directories on hosts. Those where a trial began were prepared."""
    begun = {(record.trial.step, record.trial.host) for record in left.record.trials}
    found: dict[tuple[str, str], Place] = {}
    for used in left.workspaces:
        key = (used.step, used.host)
        if key not in found:
            found[key] = make(Turn(left.record.plan.step(used.step), used.host, 1, warm_up=False))
            found[key].prepared = key in begun
        if used.on_peer:
            found[key].peer_workspace = used.workspace
        else:
            found[key].workspace = used.workspace
    yield from found.values()


def beside(left: LeftRun, trial: Trial) -> set[str]:
    """Return the other hosts on which trials began after `trial`, which is still under way."""
    later = (record.trial for record in left.record.trials if record.trial.id > trial.id)
    return {other.host for other in later if other.clock is not None} - {trial.host}


class OrphanError(BenchwrightError):
    """A command of the run that is not followed may still run on a host: nothing is started beside it."""


def end_orphans(left: LeftRun, sessions: Mapping[str, Session]) -> tuple[int, ...]:
    """End every command of the run that may still run, but for those of the trial under way that are followed.

    Return the ids of the trials of which nothing was told: their commands have ended, and they will be made anew. A
    command whose start is still on its way to its host does not begin any more.
    Raises OrphanError where one could not be ended.
    """
    known = {record.trial.id for record in left.record.trials}
    followed = {job.directory for job in _followed(left)}
    rest = [job for job in left.jobs if job.directory not in followed]
    for used in left.workspaces:
        session = sessions.get(used.where)
        if session is None:
            continue
        # What was told to have begun and runs no more cannot begin again.
        untold = {job.directory for job in rest if job.workspace == used.workspace and job.began is None}
        try:
            running = Job.under_way(session, used.workspace)
            for directory in sorted((running | untold) - followed):
                Job.end(session, used.workspace, directory)
        except BenchwrightError as error:
            raise OrphanError(
                f"A command of the run {left.id} may still run on {host_words(used.where)}: {error.message} "
                "No other command is started meanwhile.",
                f"End it there by hand and attach again, or end the run: benchwright attach {left.id} --stop",
            ) from error
    return tuple(sorted({job.trial for job in rest} - known))


def _followed(left: LeftRun) -> list[StoredJob]:
    """Return the commands of the trials under way that are followed."""
    trials = [record.trial for record in left.record.trials if record.state is State.RUNNING]
    return [job for trial in trials for job in _followed_of(left, trial)]


def _followed_of(left: LeftRun, trial: Trial) -> list[StoredJob]:
    """Return the commands of a trial under way that are followed: its server ends, and what it measured with last."""
    own = [job for job in left.jobs if job.trial == trial.id]
    # In the order in which they were planned: one that was planned again took the place of the one before.
    measuring = [job for job in own if job.purpose is Purpose.MEASURE][-1:]
    servers = {job.number: job for job in own if job.purpose is Purpose.SERVE}
    return [*measuring, *servers.values()]


def find_trial(
    left: LeftRun, trial: Trial, sessions: Mapping[str, Session], output: tuple[tuple[str, bytes], ...]
) -> TrialLeft | None:
    """Return the trial that was under way, with its commands found again on their hosts; None where none was to be."""
    followed = _followed_of(left, trial)
    measuring = next((job for job in followed if job.purpose is Purpose.MEASURE), None)
    if measuring is None:
        return None
    servers = [_found(job, sessions, output, "peer ") for job in followed if job.purpose is Purpose.SERVE]
    return TrialLeft(
        trial=trial,
        output=output,
        number=measuring.number,
        measuring=_found(measuring, sessions, output, ""),
        servers=tuple(server for server in servers if server is not None),
    )


def _found(
    stored: StoredJob, sessions: Mapping[str, Session], output: tuple[tuple[str, bytes], ...], prefix: str
) -> Job | None:
    """Return the job on its host, to be read from where the stored output ends; None where it has not begun."""
    session = sessions[stored.where]
    began = stored.began
    if began is None:
        found = Job.find(session, stored.workspace, stored.directory)
        if found is None:
            Job.end(session, stored.workspace, stored.directory)  # its start may be on its way: another is made
            return None
        began = found.began
    received = {
        stream: sum(len(data) for name, data in output if name == prefix + stream) - stored.before.get(stream, 0)
        for stream in ("stdout", "stderr")
    }
    return Job(session, stored.workspace, stored.directory, began, received=received)

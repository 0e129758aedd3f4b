"""benchwright sessions: list, resume, end and schedule the sessions of plans that repeat over time."""

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any

import click

from app.cli.common import (
    FAILED,
    json_option,
    json_verb,
    pass_workstation,
    plain,
    print_error,
    print_json,
    print_note,
    print_table,
    report_errors,
    verb,
)
from app.cli.library import print_run
from app.cli.progress import busy_options, follow
from app.cli.prompts import TerminalAsker, agrees, with_asker
from app.events import State
from app.json_converter import published
from app.library_location import absolute
from app.paths import store_path
from app.plans.plan import host_label
from app.runs.control import BusyPolicy, Control, HostInUseError
from app.services import Workstation
from app.session_json import series_to_json, sessions_to_json
from app.session_series import SessionSeries
from app.session_text import (
    crontab_line,
    held_back,
    moment_text,
    runs_unattended,
    session_text,
    status_text,
    systemd_units,
)
from app.summary import run_to_json
from remote.questions import Asker, RefusingAsker
from suites.errors import BenchwrightError
from suites.parameters import format_duration
from suites.quantities import duration_text

RECHECK = 30.0
"""Longest sleep in seconds: a clock that was set, or a computer that was suspended, is noticed after it."""

BUSY_RETRY = 300.0
"""Seconds until a session is tried again whose host is in use."""


@click.group(invoke_without_command=True)
@json_option("sessions")
@pass_workstation
@click.pass_context
@report_errors
def sessions(context: click.Context, workstation: Workstation, *, as_json: bool) -> None:
    """List the session series: plans that run several times, with the next session of each."""
    if context.invoked_subcommand is not None:
        return
    found = workstation.session_series()
    if as_json:
        print_json(sessions_to_json(found))
        return
    if not found:
        click.echo(plain("No session series. Make a plan with: benchwright plan new --sessions 5 --every 1d"))
        return
    now = datetime.now(UTC)
    rows = [
        [one.id, one.plan.name, ", ".join(map(host_label, one.plan.hosts)), f"{one.done} of {one.total}",
         format_duration(one.plan.repetition.every), "" if one.due is None else moment_text(one.due),
         status_text(one, now)]
        for one in found
    ]  # fmt: skip
    print_table(["Series", "Name", "Hosts", "Done", "Every", "Next", "State"], rows, right=[3])


def _starts(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a command that starts sessions."""

    @click.option(
        "--destroy",
        multiple=True,
        metavar="SERIAL",
        help="Confirm the loss of all data on the device with this serial number; repeatable.",
    )
    @wraps(command)
    def starting(*arguments: Any, asker: TerminalAsker, destroy: tuple[str, ...], **named: Any) -> None:
        asker.destroy = destroy
        command(*arguments, asker=asker, **named)

    return with_asker(agrees(busy_options(starting)))


@sessions.command("resume")
@click.argument("series", required=False)
@click.option("--now", "at_once", is_flag=True, help="Start the next session now, before it is due.")
@click.option("--no-wait", is_flag=True, help="Run one session and do not wait for the next.")
@_starts
@json_verb("session-run")
def resume(
    workstation: Workstation,
    series: str | None,
    asker: TerminalAsker,
    busy: BusyPolicy,
    *,
    at_once: bool,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Run the rest of the series SERIES (its id or name; default: the only one), each session when it is due.

    An interrupted session is attached first. With --json, one session runs.
    """
    found = workstation.find_series(series) if series is not None else _only(workstation)
    if found.over:
        raise BenchwrightError(f"The series {found.id} is over.", "List the series with: benchwright sessions")
    runner = SeriesRunner(workstation, found.id, asker, busy, quiet=as_json)
    runner.run(wait=not no_wait and not as_json, at_once=at_once)
    if as_json:
        records = [workstation.load(run) for run in runner.runs]
        runs = [run_to_json(one, workstation.within([one.summary.id]), workstation.energy(one)) for one in records]
        print_json(runs[0] if runs else None)
    if runner.failed:
        raise SystemExit(FAILED)


def _only(workstation: Workstation) -> SessionSeries:
    """Return the only series that is not over."""
    found = [one for one in workstation.session_series() if not one.over]
    if len(found) == 1:
        return found[0]
    raise BenchwrightError(
        "Several series are not over." if found else "No series is to be resumed.",
        f"Name one: {', '.join(one.id for one in found)}." if found else "List them with: benchwright sessions",
    )


class SeriesRunner:
    """Runs the sessions of one series in the foreground. `runs` are their ids; `failed`: one did not end as done."""

    def __init__(
        self, workstation: Workstation, series: str, asker: Asker, busy: BusyPolicy, *, quiet: bool = False
    ) -> None:
        """Print the result of each session, unless `quiet`."""
        self._workstation, self._series, self._asker, self._busy = workstation, series, asker, busy
        self._quiet = quiet
        self.runs: list[str] = []
        self.failed = False

    def run(self, *, wait: bool, at_once: bool = False) -> None:
        """Run the sessions that follow, the first `at_once` or when due; without `wait`, one at most."""
        while True:
            series = self._workstation.find_series(self._series)
            if series.over:
                print_note(f"The series {series.id} is over: {series.done} of {series.total} sessions done.")
                return
            if not at_once and not self._is_ready(series, wait=wait):
                return
            at_once = False
            if not self._run_one(series, wait=wait) or not wait:
                return

    def after_first(self, state: State, *, wait: bool) -> None:
        """Run the sessions after the first, which ended in `state`; if that is not done, print what to do."""
        series = self._workstation.find_series(self._series)
        if state is State.DONE and wait:
            self.run(wait=True)
        elif state is State.DONE:
            print_note(f"Session 1 of {series.total} done; {status_text(series, datetime.now(UTC))}. {_leaves(series)}")
        else:
            print_note(f"Session 1 of {series.total} is not done. {_leaves(series)}")

    def _is_ready(self, series: SessionSeries, *, wait: bool) -> bool:
        """Wait until the next session is due; return False if it does not start now."""
        now = datetime.now(UTC)
        if _may_start(series, now):
            return True
        next_one = status_text(series, now) if series.due is None else f"next at {moment_text(series.due)}"
        done = f"Session {series.done} of {series.total} done; {next_one}"
        by_hand = held_back(series)
        if not wait or by_hand:
            print_note(f"{done}{f'; {by_hand}' if by_hand else ''}. {_leaves(series)}")
            return False
        print_note(f"{done}; Ctrl+C leaves the series, “benchwright sessions resume {series.id}” continues it.")
        while not series.over and not _may_start(series, datetime.now(UTC)):
            left = series.due_in(datetime.now(UTC))
            # Not longer: time.sleep() does not count the time for which the computer is suspended.
            if not _slept(RECHECK if left is None else min(left, RECHECK)):
                print_note(f"\n{_leaves(series)}")
                return False
            series = self._workstation.find_series(self._series)
        return True

    def _run_one(self, series: SessionSeries, *, wait: bool) -> bool:
        """Run the next session, or attach it; return whether the series continues."""
        control, attached = Control(self._busy), series.under_way is not None
        events = self._workstation.run_session(self._series, self._asker, control)
        try:
            run_id, state = follow(events, control, quiet=self._quiet, attached=attached)
        except HostInUseError as error:
            if not wait:
                raise
            print_error(f"{error} Next try in {duration_text(BUSY_RETRY)}.")
            return _slept(BUSY_RETRY)
        self.failed = state is not State.DONE
        if state is State.RUNNING:  # detached
            return False
        self.runs.append(run_id)
        if not self._quiet:
            print_run(self._workstation.load(run_id), self._workstation.within([run_id]))
        if control.stopped:
            print_note(_leaves(self._workstation.find_series(self._series)))
        return not control.stopped


def _may_start(series: SessionSeries, now: datetime) -> bool:
    """Return whether the next session is due, or an interrupted one is to be attached."""
    if series.under_way is not None:
        return series.under_way.detached
    seconds = series.due_in(now)
    return seconds is not None and seconds <= 0


def _slept(seconds: float) -> bool:
    """Sleep; return False after Ctrl+C."""
    try:
        time.sleep(seconds)
    except KeyboardInterrupt:
        return False
    return True


def _leaves(series: SessionSeries) -> str:
    """Return how a series that is left now continues."""
    if series.over:
        return f"The series {series.id} is over."
    return f"Continue the series with: benchwright sessions resume {series.id}"


@sessions.command("run-due")
@click.option("--quiet", is_flag=True, help="Print nothing if no session is due.")
@busy_options
@json_verb("session-runs")
def run_due(workstation: Workstation, busy: BusyPolicy, *, quiet: bool, as_json: bool) -> None:
    """Run the next session of each series where it is due, then exit: for cron or a timer.

    Nothing is asked. Series that start by hand only are left out: they overwrite a device, act as root, or failed.
    """
    now = datetime.now(UTC)
    due = [one for one in workstation.session_series() if runs_unattended(one, now)]
    ran, failed = [], False
    for series in due:
        runner = SeriesRunner(workstation, series.id, RefusingAsker(), busy, quiet=True)
        try:
            runner.run(wait=False)
        except BenchwrightError as error:
            print_error(f"{series.plan.name} ({series.id}): {error}")
            failed = True
        ran += [workstation.load(run) for run in runner.runs]
        failed = failed or runner.failed
    if as_json:
        print_json([published(run.summary) for run in ran])
    elif not due and not quiet:
        print_note("No session is due.")
    for run in () if as_json else ran:
        line, session = run.summary, run.summary.session
        where = "" if session is None else session_text(session, line.started)
        click.echo(plain(f"{line.name}: {where}: {line.status_text}, {line.headline}  ({line.id})"))
    if failed:
        raise SystemExit(FAILED)


@sessions.command("stop")
@click.argument("series")
@json_verb("session-series")
def stop(workstation: Workstation, series: str, *, as_json: bool) -> None:
    """End the series SERIES: no session follows. Its runs are kept."""
    ended = workstation.end_series(series)
    if as_json:
        print_json(series_to_json(ended))
        return
    print_note(f"Ended: {ended.id}, {ended.done} of {ended.total} sessions done.")


@sessions.command("schedule")
@click.option("--systemd", is_flag=True, help="Print a user service and timer instead of a crontab line.")
@verb
def schedule(workstation: Workstation, *, systemd: bool) -> None:
    """Print the crontab line that runs due sessions. Nothing is installed: paste it with “crontab -e”."""
    library = absolute(workstation.library_location)
    of_library = () if library == store_path() else ("--store", str(library))
    command = [str(Path(sys.argv[0]).absolute()), *of_library, "sessions", "run-due", "--quiet"]
    click.echo(plain(systemd_units(command) if systemd else crontab_line(command)), nl=not systemd)

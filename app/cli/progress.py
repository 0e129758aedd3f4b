"""Progress of a run on standard error, and its signal handling."""

import select
import shlex
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Protocol

import click

from app.cli.common import plain, print_note
from app.cli.prompts import end_question
from app.events import (
    Activity,
    Event,
    FindingRaised,
    LibraryChanged,
    LinkChanged,
    PolicyDecided,
    Progress,
    RunAttached,
    RunDetached,
    RunEnded,
    RunStarted,
    SampleRead,
    State,
    TrialAttached,
    TrialEnded,
    TrialStarted,
    VerdictReached,
)
from app.library_location import Location
from app.plans.plan import Plan, Policy, host_label
from app.runs.control import DISCONNECT_TIME, BusyPolicy, Control
from app.runs.messages import decision_text, forecast_text, link_text
from app.signals import survives_hang_up
from app.verdict.steps import step_host_text, verdict_text
from suites.quantities import duration_text, figure_text
from suites.verdict import Verdict


def busy_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for a host in use by another measurement to a command, passed as `busy`."""

    @click.option("--wait", is_flag=True, help="Wait until no other measurement uses the host.")
    @click.option("--anyway", is_flag=True, help="Run despite another measurement; the run records it.")
    @wraps(command)
    def with_busy(*arguments: Any, wait: bool, anyway: bool, **named: Any) -> None:
        busy = BusyPolicy.ANYWAY if anyway else BusyPolicy.WAIT if wait else BusyPolicy.REFUSE
        command(*arguments, busy=busy, **named)

    return with_busy


def follow(events: Generator[Event], control: Control, *, quiet: bool, attached: bool = False) -> tuple[str, State]:
    """Consume `events` until the run ends or Ctrl+C, and print progress; return the run's id and state.

    For an `attached` run, events before the attachment are not printed. A detached run has the state RUNNING.
    """
    run_id, state = "", State.FAILED
    printer = _ProgressPrinter(live=sys.stderr.isatty() and not quiet, quiet=quiet)
    silent = attached
    library = _LibraryProblems(control, quiet=quiet)
    with signals_handled(control), closing(events):
        for event in events:
            if isinstance(event, LibraryChanged):
                library.handle(event)
            silent = silent and not isinstance(event, RunAttached)
            if not silent or isinstance(event, RunStarted):
                printer.print(event)
            if isinstance(event, RunStarted):
                run_id = event.run_id
            elif isinstance(event, RunEnded):
                state = event.state
            elif isinstance(event, RunDetached):
                state = State.RUNNING
    return run_id, state


def _decided(event: PolicyDecided) -> str:
    """Return the result of a step on a host so far, and the forecast of trials."""
    result = decision_text(event.metric, event.labels, event.decision)
    forecast = forecast_text(event.decision)
    return f"{event.step} on {host_label(event.host)}: {result}{f'; {forecast}' if forecast else ''}"


class Stoppable(Protocol):
    """What signals act on: a Control, or those of several runs."""

    @property
    def stopped(self) -> bool:
        """Whether the run is to be stopped."""

    def stop(self) -> None:
        """Stop the run."""

    def detach(self) -> None:
        """Detach the run."""

    def remaining(self, seconds: float) -> float:
        """Return the seconds remaining of the first `seconds` after Stop."""


@contextmanager
def signals_handled(control: Stoppable) -> Iterator[None]:
    """Stop the run in order on SIGINT or SIGTERM, and detach it on SIGHUP (the terminal closed).

    A second Ctrl+C prints the remaining time, and interrupts once it is over. An ignored SIGHUP (nohup) stays ignored.
    """

    def stop(_number: int, _frame: object) -> None:
        again = control.stopped
        control.stop()
        seconds = control.remaining(DISCONNECT_TIME)
        if again and not seconds:
            raise KeyboardInterrupt
        text = f"Still stopping: at most {seconds:.0f} s." if again else "Stopping: ending the processes on the host."
        click.echo("\n" + plain(text), err=True)
        end_question()

    def detach(_number: int, _frame: object) -> None:
        control.detach()
        end_question()

    handlers = {signal.SIGINT: stop, signal.SIGTERM: stop}
    if not survives_hang_up():
        handlers[signal.SIGHUP] = detach
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _LibraryProblems:
    """Prompt for another file while the library cannot be written, and the final location of the run."""

    def __init__(self, control: Control, *, quiet: bool) -> None:
        self._control = control
        self._quiet = quiet  # then the progress printer does not print the problem
        self._prompted = ""
        self._first_path: Location | None = None

    def handle(self, event: LibraryChanged) -> None:
        """Prompt once per problem without blocking: the library may become writable again."""
        self._first_path = self._first_path or event.path
        if not event.problem:
            self._prompted = ""
            if event.path != self._first_path:
                print_note(f"Show the run with: benchwright --store {shlex.quote(str(event.path))} show last")
        elif event.problem != self._prompted:
            self._prompted = event.problem
            lines = [event.problem] if self._quiet else []
            if event.on_stop and sys.stdin.isatty():
                lines.append("To continue in another library, type the name of a new file and press Enter.")
            if event.on_stop:
                lines.append(f"Ctrl+C ends the run: {event.on_stop}.")
            if lines:
                print_note(" ".join(lines))
        elif sys.stdin.isatty() and select.select([sys.stdin], [], [], 0)[0]:
            name = sys.stdin.readline(4096).strip()
            if name:
                self._control.save_to(Path(name).expanduser())


CLEARED = "\r\x1b[K"
"""Control sequence: move to the start of the line and clear it."""


class _ProgressPrinter:
    """Printer of run events; on a terminal, the latest sample is updated in place."""

    def __init__(self, *, live: bool, quiet: bool) -> None:
        self._live, self._quiet = live, quiet
        self._sample_shown = False
        self._plan: Plan | None = None
        self._printed_verdicts: set[str] = set()
        self._running: set[int] = set()  # trial ids

    def print(self, event: Event) -> None:
        """Print `event` if it concerns the user."""
        if self._quiet:
            return
        match event:
            case Activity(text=text, command=command):
                self._line(f"{text}: {command}" if command else text)
            case RunStarted(plan=plan):
                self._plan = plan
            case PolicyDecided() if self._plan is not None and self._plan.repetition.policy is not Policy.FIXED:
                self._line(_decided(event))
            case Progress():
                self._line(progress_text(event))
            case SampleRead(sample=sample) if self._live:
                value = figure_text(sample.metric, sample.value)
                latest = f"  {sample.time:6.1f} s  {sample.metric.title} {value}"
                click.echo(CLEARED + plain(latest), nl=False, err=True)
                self._sample_shown = True
            case TrialStarted() | TrialAttached() | TrialEnded():
                self._print_trial(event)
            case FindingRaised(finding=finding, trial=trial) if trial in self._running:
                self._line(f"{finding.severity}: {finding.title}. {finding.measured}")
            case VerdictReached(verdict=verdict) if verdict.step is not None:
                self._print_verdict(verdict)
            case _:
                self._print_run(event)

    def _print_trial(self, event: TrialStarted | TrialAttached | TrialEnded) -> None:
        match event:
            case TrialStarted(trial=trial) | TrialAttached(trial=trial):
                again = ", attached" if isinstance(event, TrialAttached) else ""
                self._running.add(trial.id)
                self._line(f"{trial.step} on {host_label(trial.host)}: {trial.title}{again}")
            case TrialEnded(trial=number, state=state, reason=reason):
                self._running.discard(number)
                if state is not State.DONE:
                    self._line(f"{state}: {reason}")

    def _print_verdict(self, verdict: Verdict) -> None:
        """Print the verdict of a step, once: the end of the run repeats it."""
        text = f"{step_host_text(verdict)}: {verdict_text(verdict)}"
        if text not in self._printed_verdicts:
            self._printed_verdicts.add(text)
            self._line(text)

    def _print_run(self, event: Event) -> None:
        match event:
            case LinkChanged(host=host, detail=detail):
                text = link_text(event, time.monotonic())
                why = f" ({detail})" if detail else ""
                self._line(f"{host_label(host)}: {text}{why}" if text else f"{host_label(host)}: reconnected")
            case RunAttached(age=age):
                self._line(f"attached to a run started {duration_text(age)} ago")
            case RunEnded(state=state, reason=reason):
                self._line(f"{state.text}. {reason}".strip())
            case RunDetached(run_id=run_id):
                self._line(f"detached; resume it with: benchwright attach {run_id}")

    def _line(self, text: str) -> None:
        if self._sample_shown:
            click.echo(CLEARED, nl=False, err=True)
            self._sample_shown = False
        print_note(text)


def progress_text(event: Progress) -> str:
    """Return the progress of a run: ``2 of 6 trials done, about 40 s left``."""
    remaining, total = event.remaining, event.total
    left = "remaining time unknown" if remaining is None else f"about {duration_text(remaining)} left"
    if event.exact and event.done == total:
        left = ""
    of_all = "" if total is None else f" of {total}" if event.exact else f" of about {total}"
    plural = "" if event.done == 1 and total in {None, 1} else "s"
    return f"{event.done}{of_all} trial{plural} done{f', {left}' if left else ''}"

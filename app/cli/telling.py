"""What is happening during a run, on standard error; and how the terminal ends it."""

import select
import shlex
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click

from app.checks.after_words import place_text, verdict_text
from app.cli.asking import end_question
from app.cli.common import plain, say
from app.events import (
    Activity,
    Event,
    FindingRaised,
    LibraryChanged,
    LinkChanged,
    PolicyDecided,
    Progress,
    RunAttached,
    RunEnded,
    RunLeft,
    RunStarted,
    SampleRead,
    State,
    TrialAttached,
    TrialEnded,
    TrialStarted,
    VerdictReached,
)
from app.hosts.link_words import link_text
from app.plans.plan import Plan, Policy, host_words
from app.runs.control import LETTING_GO_TIME, Busy, Control
from app.runs.decision_words import decision_text, forecast_text
from app.signals import survives_hang_up
from app.wording import duration_text, figure_text
from suites.verdict import Verdict


def minds_others(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options for a host that somebody else measures, and a `busy` made of them."""

    @click.option("--wait", is_flag=True, help="Wait while another measurement uses a host.")
    @click.option("--anyway", is_flag=True, help="Run beside another measurement; the run records it.")
    @wraps(command)
    def minding(*arguments: Any, wait: bool, anyway: bool, **named: Any) -> None:
        busy = Busy.ANYWAY if anyway else Busy.WAIT if wait else Busy.REFUSE
        command(*arguments, busy=busy, **named)

    return minding


def follow(events: Generator[Event], control: Control, *, quiet: bool, attached: bool = False) -> tuple[str, State]:
    """Take `events` to their end, or until Ctrl+C, and tell of them; return the run's id and how it ended.

    Of a run that is `attached`, what was before is not told again. One that is let go of has not ended: its state is
    RUNNING.
    """
    run_id, state = "", State.FAILED
    teller = _Teller(live=sys.stderr.isatty() and not quiet, quiet=quiet)
    silent = attached
    library = _Library(control, quiet=quiet)
    with _signals_heeded(control), closing(events):
        for event in events:
            if isinstance(event, LibraryChanged):
                library.heed(event)
            silent = silent and not isinstance(event, RunAttached)
            if not silent or isinstance(event, RunStarted):
                teller.tell(event)
            if isinstance(event, RunStarted):
                run_id = event.run_id
            elif isinstance(event, RunEnded):
                state = event.state
            elif isinstance(event, RunLeft):
                state = State.RUNNING
    return run_id, state


def _decided(event: PolicyDecided) -> str:
    """Return what the trials of a step on a host say so far, and what is still to come."""
    said = decision_text(event.metric, event.labels, event.decision)
    ahead = forecast_text(event.decision)
    return f"{event.step} on {host_words(event.host)}: {said}{f'; {ahead}' if ahead else ''}"


@contextmanager
def _signals_heeded(control: Control) -> Iterator[None]:
    """Let Ctrl+C or a TERM stop the run in order, and a terminal that closes let go of it.

    A further Ctrl+C says how long that may still take, and interrupts once that time is over. A HUP that is ignored, as
    under nohup, stays so.
    """

    def stop(_number: int, _frame: object) -> None:
        again = control.stopped
        control.stop()
        left = control.remaining(LETTING_GO_TIME)
        if again and not left:
            raise KeyboardInterrupt
        said = f"Still stopping: at most {left:.0f} s more." if again else "Stopping: ending the processes on the host."
        click.echo("\n" + plain(said), err=True)
        end_question()

    def leave(_number: int, _frame: object) -> None:
        control.leave()
        end_question()

    handlers = {signal.SIGINT: stop, signal.SIGTERM: stop}
    if not survives_hang_up():
        handlers[signal.SIGHUP] = leave
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Library:
    """Asks for another file while the library takes nothing, and says at last where the run is."""

    def __init__(self, control: Control, *, quiet: bool) -> None:
        self._control = control
        self._quiet = quiet  # so that nobody else says what is wrong
        self._asked = ""
        self._began: Path | None = None

    def heed(self, event: LibraryChanged) -> None:
        """Ask once for every problem, without waiting for the answer: the library may come back meanwhile."""
        self._began = self._began or event.path
        if not event.problem:
            self._asked = ""
            if event.path != self._began:
                say(f"Show the run with: benchwright --store {shlex.quote(str(event.path))} show last")
        elif event.problem != self._asked:
            self._asked = event.problem
            ways = [event.problem] if self._quiet else []
            if event.on_stop and sys.stdin.isatty():
                ways.append("To go on in another library, type the name of a new file and press Enter.")
            if event.on_stop:
                ways.append(f"Ctrl+C ends the run: {event.on_stop}.")
            if ways:
                say(" ".join(ways))
        elif sys.stdin.isatty() and select.select([sys.stdin], [], [], 0)[0]:
            name = sys.stdin.readline(4096).strip()
            if name:
                self._control.save_to(Path(name).expanduser())


CLEARED = "\r\x1b[K"
"""Goes to the beginning of a terminal's line and clears it."""


class _Teller:
    """Says what is happening; on a terminal the newest sample moves in place."""

    def __init__(self, *, live: bool, quiet: bool) -> None:
        self._live, self._quiet = live, quiet
        self._moving = False
        self._plan: Plan | None = None
        self._judged: set[str] = set()
        self._under_way: set[int] = set()  # trials

    def tell(self, event: Event) -> None:
        """Say what `event` means, if anything."""
        if self._quiet:
            return
        match event:
            case Activity(text=text):
                self._line(text)
            case RunStarted(plan=plan):
                self._plan = plan
            case PolicyDecided() if self._plan is not None and self._plan.repetition.policy is not Policy.FIXED:
                self._line(_decided(event))
            case Progress():
                self._line(_progress(event))
            case SampleRead(sample=sample) if self._live:
                said = figure_text(sample.metric, sample.value)
                newest = f"  {sample.time:6.1f} s  {sample.metric.title} {said}"
                click.echo(CLEARED + plain(newest), nl=False, err=True)
                self._moving = True
            case TrialStarted() | TrialAttached() | TrialEnded():
                self._tell_of_trial(event)
            case FindingRaised(finding=finding, trial=trial) if trial in self._under_way:
                self._line(f"{finding.level}: {finding.title}. {finding.measured}")
            case VerdictReached(verdict=verdict) if verdict.step is not None:
                self._tell_of_verdict(verdict)
            case _:
                self._tell_of_run(event)

    def _tell_of_trial(self, event: TrialStarted | TrialAttached | TrialEnded) -> None:
        match event:
            case TrialStarted(trial=trial) | TrialAttached(trial=trial):
                kind = "warm-up" if trial.warm_up else "trial"
                again = ", followed again" if isinstance(event, TrialAttached) else ""
                self._under_way.add(trial.id)
                self._line(f"{trial.step} on {host_words(trial.host)}: {kind} {trial.number}{again}")
            case TrialEnded(trial=number, state=state, reason=reason):
                self._under_way.discard(number)
                if state is not State.DONE:
                    self._line(f"{state}: {reason}")

    def _tell_of_verdict(self, verdict: Verdict) -> None:
        """Say what a step is worth; once, where the run's end finds the same."""
        said = f"{place_text(verdict)}: {verdict_text(verdict)}"
        if said not in self._judged:
            self._judged.add(said)
            self._line(said)

    def _tell_of_run(self, event: Event) -> None:
        match event:
            case LinkChanged(host=host, detail=detail):
                said = link_text(event, time.monotonic())
                why = f" ({detail})" if detail else ""
                self._line(f"{host}: {said}{why}" if said else f"{host}: the connection is back")
            case RunAttached(age=age):
                self._line(f"resuming a run that began {duration_text(age)} ago")
            case RunEnded(state=state, reason=reason):
                self._line(f"{state}. {reason}".strip())
            case RunLeft(run_id=run_id):
                self._line(f"detached; resume it with: benchwright attach {run_id}")

    def _line(self, text: str) -> None:
        if self._moving:
            click.echo(CLEARED, nl=False, err=True)
            self._moving = False
        say(text)


def _progress(event: Progress) -> str:
    remaining, total = event.remaining, event.total
    left = "remaining time not known" if remaining is None else f"about {duration_text(remaining)} left"
    of_all = "" if total is None else f" of {total}" if event.exact else f" of about {total}"
    plural = "" if event.done == 1 and total in {None, 1} else "s"
    return f"{event.done}{of_all} trial{plural} done, {left}"

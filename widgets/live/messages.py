"""Texts of the live view: times, steps, states and outcomes. No Qt."""

from app.checks.goals import goals_text
from app.events import LinkState, State
from app.plans.plan import Policy
from app.plans.presets import advice_after
from app.runs.messages import link_text
from suites.base import Command
from suites.evidence import STOPPED
from suites.facts import Facts, known, virtualisation_of
from suites.quantities import clock_text, count_text, duration_text, quantity
from widgets.live.model import LivePhase, RunModel, StepKey, TrialView
from widgets.parts.names import MARKS, host_label, host_title

_ROUGH_FROM = 10.0
_LATE_FROM = 15.0
"""Seconds within which the end of a run is not late: the last trial and the end of a run vary by that much."""

AWAY = {LinkState.GIVEN_UP: "lost", LinkState.NOT_REACHED: "not reached"}
"""Labels of links over which nothing more is measured."""


def remaining_text(seconds: float | None) -> str:
    """Return the remaining time, rounded to 5 s from 20 s on; how late the run is, once it is by _LATE_FROM."""
    if seconds is None:
        return "remaining time not known"
    if seconds < -_LATE_FROM:
        return f"{duration_text(round(-seconds))} longer than expected"
    if seconds < 1.0:
        return "about to end"
    rough = round(seconds / 5) * 5 if seconds > 2 * _ROUGH_FROM else round(seconds)
    return f"about {duration_text(rough)} left"


def step_host_text(model: RunModel, step_key: StepKey) -> str:
    """Return where a step runs: ``i-0ab1 · c7i.2xlarge › fio randread``."""
    step, host = step_key
    facts = model.facts.get(host)
    kind = None if facts is None else known(facts.cloud.instance_type)
    return f"{host_title(host)}{f' · {kind}' if kind else ''}  ›  {step}"


def trial_text(model: RunModel, view: TrialView) -> str:
    """Return which trial it is: ``trial 2 of 3``, ``trial 4, at most 30``, ``warm-up 1 of 1``."""
    repetition = model.plan.repetition
    if view.trial.profiled:
        return view.trial.title
    if view.trial.warm_up:
        return f"warm-up {view.trial.number} of {repetition.warm_ups}"
    if repetition.policy is Policy.FIXED:
        return f"trial {view.trial.number} of {repetition.trials}"
    most = "" if repetition.policy is Policy.BUDGET else f", at most {repetition.cap}"
    return f"trial {view.trial.number}{most}"


def under_way_text(model: RunModel, view: TrialView | None) -> str:
    """Return the trial under way; after `view`, the latest trial, ``after trial 1 of 2`` and what the run does."""
    if view is not None and view.ended is None:
        return trial_text(model, view)
    after = "" if view is None else f"after {trial_text(model, view)}"
    return " · ".join(filter(None, [after, between_text(model)]))


def between_text(model: RunModel) -> str:
    """Return what the run does between trials; empty if not known."""
    return "stopping" if model.phase is LivePhase.STOPPING else "" if model.measures else model.activity


def trouble_text(model: RunModel, now: float) -> str:
    """Return the state of links in trouble, of hosts still measured; empty if there is none."""
    return _links_text(model, now, given_up=False)


def given_up_text(model: RunModel, now: float) -> str:
    """Return the hosts given up while the others are measured; empty if there are none."""
    return _links_text(model, now, given_up=True)


def _links_text(model: RunModel, now: float, *, given_up: bool) -> str:
    if model.phase.over:
        return ""
    links = {host: link for host, link in model.links.items() if (link.state in AWAY) is given_up}
    return " · ".join(f"{host_label(host)}: {link_text(link, now)}" for host, link in links.items())


def state_text(model: RunModel, now: float) -> str:
    """Return the state of the run at `now`."""
    trouble = trouble_text(model, now)
    if trouble:
        return f"{trouble} · stopping" if model.phase is LivePhase.STOPPING else trouble
    if model.phase is LivePhase.STOPPING:
        host = model.current.trial.host if model.current is not None else model.plan.hosts[0]
        return f"stopping: ending the process group on {host_label(host)}"
    if model.phase in {LivePhase.STARTING, LivePhase.RUNNING}:
        return " · ".join(filter(None, [model.activity or "starting", given_up_text(model, now)]))
    if model.phase is LivePhase.FAILED and not model.run_id:
        return "not started"
    return {
        LivePhase.DONE: "finished",
        LivePhase.PARTIAL: "ended early",
        LivePhase.DETACHED: "detached; attach to continue",
    }.get(model.phase, "failed")


def summary_text(model: RunModel, now: float, step_key: StepKey | None = None) -> str:
    """Return the run in one line for the bar: ``i-0ab1 · fio · trial 2 of 3 · 00:41 of 02:10``.

    Of several trials under way, that of `step_key`, which the page shows.
    """
    elapsed, remaining = model.elapsed(now), model.remaining(now)
    time = clock_text(elapsed)
    if remaining is not None and remaining >= 0:
        time = f"{time} of {clock_text(elapsed + remaining)}"
    elif remaining is None:
        time = f"{time}, {remaining_text(remaining)}"
    time = " · ".join(filter(None, [time, given_up_text(model, now)]))
    view, trouble = model.under_way(step_key), trouble_text(model, now)
    if trouble:
        return trouble if view is None else f"{view.trial.step} · {trouble}"
    if view is None:
        return f"{model.activity or 'starting'} · {time}"
    if model.phase is LivePhase.STOPPING:
        return f"{host_title(view.trial.host)} · {view.trial.step} · stopping"
    return f"{host_title(view.trial.host)} · {view.trial.step} · {under_way_text(model, view)} · {time}"


def step_progress(model: RunModel, step_key: StepKey) -> str:
    """Return the progress of a step on a host: ``2/3``, ``failed``, ``not reached``; with a goal ``4/≥9``."""
    views = [view for view in model.trials_at(step_key) if not view.trial.warm_up]
    done = sum(view.counts for view in views)
    link = model.links.get(step_key[1])
    if link is not None and link.state in AWAY:
        return f"{done} done, {AWAY[link.state]}" if done else AWAY[link.state]
    if any(view.ended is not None and view.ended.state is State.FAILED for view in views):
        return "failed"
    repetition = model.plan.repetition
    if repetition.policy is Policy.FIXED:
        return f"{done}/{repetition.trials}"
    decided = model.decisions.get(step_key, ())
    last = decided[-1].decision if decided else None
    if last is None or not last.more or model.phase.over:
        return f"{done} done"
    sign = "~" if repetition.policy is Policy.BUDGET else "≤" if last.beyond else "≥"
    return f"{done}/{sign}{done + last.more}"


def command_text(commands: tuple[Command, ...]) -> str:
    """Return commands as shell lines; those run on the peer are marked."""
    return "\n".join(f"{command.line}{'   # on the peer' if command.on_peer else ''}" for command in commands)


def facts_text(facts: Facts) -> str:
    """Return the main facts of a host in a few lines, without absent ones."""
    cpu, memory, system, cloud = facts.cpu, facts.memory, facts.system, facts.cloud
    threads, size, swap = known(cpu.threads), known(memory.total), known(memory.swap_total)
    processors = [f"{threads} vCPU" if threads else None, known(cpu.model)]
    sizes = [f"{quantity(size)} memory" if size else None, f"swap {quantity(swap)}" if swap else None]
    lines = [
        [known(cloud.provider), known(cloud.instance_type), known(cloud.region)],
        processors,
        sizes,
        [known(system.distribution), known(system.kernel)],
        [virtualisation_of(facts)],
    ]
    return "\n".join(" · ".join(str(part) for part in line if part) for line in lines if any(line))


STORED = "The run is in the library."


def outcome(model: RunModel) -> tuple[str, str, str]:
    """Return the severity (good, info, warning or error), the message and its details."""
    counted = sum(view.counts for view in model.trials.values())
    wanted = _wanted(model)
    hosts = ", ".join(host_label(host) for host in model.plan.hosts)
    stored = _stored(model, counted, wanted)
    verdict = model.verdicts.get(None)
    keys = model.step_keys()
    badge = len(keys) == 1 and keys[0] in model.verdicts  # it shows the verdict of the only step
    judged = "" if verdict is None or badge else verdict.summary
    if model.phase is LivePhase.DONE:
        message = f"Finished on {hosts}: {count_text(counted, 'trial')}."
        level = "good" if verdict is None else MARKS[verdict.trust]
        goals = goals_text(one for key, one in model.verdicts.items() if key is not None)
        parts = (goals, judged or STORED, _session(model), advice_after(model.plan))
        return level, message, " ".join(filter(None, parts))
    if model.phase is LivePhase.DETACHED:
        message = f"Detached on {hosts}: {_share(counted, wanted)} done."
        running = any(view.ended is None for view in model.trials.values())
        state = "The trial under way continues there." if running else "No trial is under way."
        return "info", message, f"{'All trials ended.' if counted == wanted else state} Attach the run to finish it."
    if model.phase is LivePhase.PARTIAL:
        message = f"Ended early on {hosts}: {_share(counted, wanted)} done."
        rest = [problem for problem in model.problems if not problem.endswith(STOPPED)]
        texts = [STOPPED, judged, stored, *rest]
        if len(rest) == len(model.problems):
            texts = [model.reason or "The run did not finish.", judged, stored]
        return "warning", message, " ".join(filter(None, texts))
    detail = " ".join(filter(None, [model.reason or "Reason unknown.", judged, stored]))
    return "error", f"Failed on {hosts}: {_share(counted, wanted)} done.", detail


def not_started(model: RunModel) -> tuple[str, str, str]:
    """Return the severity, the message and the reason of a run that did not begin."""
    hosts = ", ".join(host_label(host) for host in model.plan.hosts)
    return "warning", f"Not started on {hosts}.", f"{model.reason} Nothing was measured or stored."


def _session(model: RunModel) -> str:
    """Return the place of the run in its series, and whether another session follows."""
    if (session := model.session) is None:
        return ""
    more = " The next one is offered when it is due." if session.number < session.total else ""
    return f"Session {session.number} of {session.total}.{more}"


def _wanted(model: RunModel) -> int | None:
    """Return the planned number of trials; None if the repetition policy decides during the run."""
    repetition = model.plan.repetition
    return repetition.trials * len(model.step_keys()) if repetition.policy is Policy.FIXED else None


def _share(counted: int, wanted: int | None) -> str:
    return count_text(counted, "trial") if wanted is None else f"{counted} of {count_text(wanted, 'trial')}"


def _stored(model: RunModel, counted: int, wanted: int | None) -> str:
    if not model.run_id:
        return "Nothing was measured or stored."
    if not model.stored:
        return ""  # the reason describes the state of the library
    if counted == wanted:
        return "All trials are in the library."
    if counted:
        return "Finished trials are in the library; the others do not count."
    remedy = " Remove the cause and run again." if model.phase is LivePhase.FAILED else ""
    if all(view.never_began for view in model.trials.values()):
        return f"No trial began.{remedy}"
    return f"No trial counts; the data received is in the library.{remedy}"

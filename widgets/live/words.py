"""Times, places and facts in the words of the live view. No Qt."""

from app.events import State
from app.hosts.link_words import LinkState, link_text
from app.plans.plan import Policy
from app.wording import bytes_text, duration_text, share_text
from suites.base import Command
from suites.facts import Facts, known
from widgets.live.model import Phase, Place, RunModel, TrialView
from widgets.parts.names import host_title, host_words

_ROUGH_FROM = 10.0

AWAY = {LinkState.GIVEN_UP: "lost", LinkState.NOT_REACHED: "not reached"}
"""Links over which nothing more is measured, in a word or two."""


def clock_text(seconds: float) -> str:
    """Return a duration as a stopwatch shows it: ``00:41``, ``1:02:03``."""
    minutes, second = divmod(int(max(seconds, 0.0)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute:02d}:{second:02d}"


def remaining_text(seconds: float | None) -> str:
    """Return what is known of the time left, and no more."""
    if seconds is None:
        return "remaining time not known"
    if seconds < -1.0:
        return f"{duration_text(round(-seconds))} longer than expected"
    if seconds < 1.0:
        return "about to end"
    rough = round(seconds / 5) * 5 if seconds > 2 * _ROUGH_FROM else round(seconds)
    return f"about {duration_text(rough)} left"


def host_text(host: str) -> str:
    """Return how a host is called in a sentence."""
    return host_words(host)


def place_text(model: RunModel, place: Place) -> str:
    """Return where a step runs: ``i-0ab1 · c7i.2xlarge › fio randread``."""
    step, host = place
    facts = model.facts.get(host)
    kind = None if facts is None else known(facts.cloud.instance_type)
    return f"{host_title(host)}{f' · {kind}' if kind else ''}  ›  {step}"


def trial_text(model: RunModel, view: TrialView) -> str:
    """Return which trial it is: ``trial 2 of 3``, ``trial 4, at most 30``, ``warm-up 1 of 1``."""
    repetition = model.plan.repetition
    if view.trial.warm_up:
        return f"warm-up {view.trial.number} of {repetition.warm_ups}"
    if repetition.policy is Policy.FIXED:
        return f"trial {view.trial.number} of {repetition.trials}"
    most = "" if repetition.policy is Policy.BUDGET else f", at most {repetition.cap}"
    return f"trial {view.trial.number}{most}"


def trouble_text(model: RunModel, now: float) -> str:
    """Return how the way to hosts stands that is not as it should be; empty where all is well."""
    return _links_text(model, now, given_up=False)


def given_up_text(model: RunModel, now: float) -> str:
    """Return the hosts that are sought no more while the others are measured; empty where there are none."""
    return _links_text(model, now, given_up=True)


def _links_text(model: RunModel, now: float, *, given_up: bool) -> str:
    if model.phase.over:
        return ""
    links = {host: link for host, link in model.links.items() if (link.state in AWAY) is given_up}
    return " · ".join(f"{host_text(host)}: {link_text(link, now)}" for host, link in links.items())


def state_text(model: RunModel, now: float) -> str:
    """Return how the run stands at `now`, in a few words."""
    trouble = trouble_text(model, now)
    if trouble:
        return f"{trouble} · stopping" if model.phase is Phase.STOPPING else trouble
    if model.phase is Phase.STOPPING:
        host = model.current.trial.host if model.current is not None else model.plan.hosts[0]
        return f"stopping: ending the process group on {host_text(host)}"
    if model.phase in {Phase.STARTING, Phase.RUNNING}:
        return " · ".join(filter(None, [model.activity or "starting", given_up_text(model, now)]))
    return {
        Phase.DONE: "finished",
        Phase.PARTIAL: "ended early",
        Phase.LEFT: "detached; attach to go on",
    }.get(model.phase, "failed")


def summary_text(model: RunModel, now: float) -> str:
    """Return the run in one line for the bar: ``i-0ab1 · fio · trial 2 of 3 · 00:41 of 02:10``."""
    elapsed, remaining = model.elapsed(now), model.remaining(now)
    time = clock_text(elapsed)
    if remaining is not None and remaining >= 0:
        time = f"{time} of {clock_text(elapsed + remaining)}"
    elif remaining is None:
        time = f"{time}, remaining time not known"
    time = " · ".join(filter(None, [time, given_up_text(model, now)]))
    view, trouble = model.current, trouble_text(model, now)
    if trouble:
        return trouble if view is None else f"{view.trial.step} · {trouble}"
    if view is None:
        return f"{model.activity or 'starting'} · {time}"
    if model.phase is Phase.STOPPING:
        return f"{host_title(view.trial.host)} · {view.trial.step} · stopping"
    return f"{host_title(view.trial.host)} · {view.trial.step} · {trial_text(model, view)} · {time}"


def place_progress(model: RunModel, place: Place) -> str:
    """Return how far a step on a host is: ``2/3``, ``failed``, ``not reached``; where the trials decide ``4/~9``."""
    views = [view for view in model.trials_at(place) if not view.trial.warm_up]
    if any(view.ended is not None and view.ended.state is State.FAILED for view in views):
        return "failed"
    done = sum(view.counts for view in views)
    link = model.links.get(place[1])
    if link is not None and link.state in AWAY:
        return f"{done} done, {AWAY[link.state]}" if done else AWAY[link.state]
    repetition = model.plan.repetition
    if repetition.policy is Policy.FIXED:
        return f"{done}/{repetition.trials}"
    decided = model.decisions.get(place, ())
    more = decided[-1].decision.more if decided else None
    return f"{done}/~{done + more}" if more and not model.phase.over else f"{done} done"


def command_text(commands: tuple[Command, ...]) -> str:
    """Return commands as lines for a shell; those of the other end are marked."""
    return "\n".join(f"{command.line}{'   # on the peer' if command.on_peer else ''}" for command in commands)


def facts_text(facts: Facts) -> str:
    """Return a host in a few lines: what somebody asks first. What is absent is left to the full list."""
    cpu, memory, system, cloud = facts.cpu, facts.memory, facts.system, facts.cloud
    threads, size, swap = known(cpu.threads), known(memory.total), known(memory.swap_total)
    processors = [f"{threads} vCPU" if threads else None, known(cpu.model)]
    sizes = [f"{bytes_text(size)} memory" if size else None, f"swap {bytes_text(swap)}" if swap else None]
    lines = [
        [known(cloud.provider), known(cloud.instance_type), known(cloud.region)],
        processors,
        sizes,
        [known(system.distribution), known(system.kernel)],
        [known(system.virtualisation)],
    ]
    return "\n".join(" · ".join(str(part) for part in line if part) for line in lines if any(line))


def cost_text(model: RunModel) -> str:
    """Return what watching took on each host, where it is known."""
    parts = [f"{share_text(cost)} of one core on {host_text(host)}" for host, cost in model.telemetry_cost.items()]
    return f"Watching the host took {', '.join(parts)}." if parts else ""

"""How a run ended, in words: what happened, to which host, what was kept, what to do next. No Qt."""

import re

from app.plans.plan import Policy
from widgets.live.model import Phase, RunModel
from widgets.live.words import host_text
from widgets.parts.trust_marks import MARKS


def outcome(model: RunModel) -> tuple[str, str, str]:
    """Return the level (good, info, warning or error), what happened, and what it means."""
    counted = sum(view.counts for view in model.trials.values())
    wanted = _wanted(model)
    hosts = ", ".join(host_text(host) for host in model.plan.hosts)
    kept = _kept(model, counted, wanted)
    if model.phase is Phase.DONE:
        verdict = model.verdicts.get(None)
        said = f"Finished on {hosts}: {_trials(counted)}."
        if verdict is None:
            return "good", said, "Everything is in the library."
        return MARKS[verdict.level], said, verdict.summary
    if model.phase is Phase.LEFT:
        left = f"Detached on {hosts}: {_share(counted, wanted)} done."
        return "info", left, "The trial under way continues there; the trials after it wait until the run is attached."
    if model.phase is Phase.PARTIAL:
        said = f"Ended early on {hosts}: {_share(counted, wanted)} done."
        rest = _without_stop(model)
        if rest == model.reason:
            return "warning", said, f"{rest or 'The run did not finish.'} {kept}".strip()
        return "warning", said, " ".join(filter(None, ["Stopped by you.", kept, rest]))
    reason = model.reason or "The reason is not known."
    return "error", f"Failed on {hosts}: {_share(counted, wanted)} done.", f"{reason} {kept}".strip()


def _without_stop(model: RunModel) -> str:
    """Return why the run ended besides that the user stopped it, such as what may still run on a host."""
    steps = "|".join(re.escape(step.name) for step in model.plan.steps)
    return re.sub(rf"(({steps}): )?Stopped by you[^.]*\.\s*", "", model.reason).strip()


def _wanted(model: RunModel) -> int | None:
    """Return how many trials there were to be, None where that depended on what they showed."""
    repetition = model.plan.repetition
    return repetition.trials * len(model.places()) if repetition.policy is Policy.FIXED else None


def _share(counted: int, wanted: int | None) -> str:
    return _trials(counted) if wanted is None else f"{counted} of {_trials(wanted)}"


def _kept(model: RunModel, counted: int, wanted: int | None) -> str:
    if not model.run_id:
        return "Nothing was measured, so nothing is kept."
    if not model.stored:
        return ""  # the reason says what is known of it
    if counted == wanted:
        return "What was measured is in the library."
    if counted:
        return "Finished trials are in the library; the others do not count."
    remedy = " Mend the cause and run again." if model.phase is Phase.FAILED else ""
    return f"No trial counts; what arrived is in the library.{remedy}"


def _trials(count: int) -> str:
    return f"{count} trial{'' if count == 1 else 's'}"

"""Which runs a word means: one run, several joined by commas, or of each only a host or a step."""

from collections.abc import Callable
from dataclasses import replace

from app.comparing.comparison import CompareError
from app.records import RunRecord, RunSummary
from suites.errors import BenchwrightError

Load = Callable[[str], RunRecord]


def choose(load: Load, word: str) -> tuple[RunRecord, ...]:
    """Return the runs that `word` means: ``RUN``, ``RUN,RUN``, each with ``@HOST`` or ``:STEP`` behind it.

    What is a run as a whole is taken as one, whatever its name holds. Raises what `load` raises for the first part
    that is no run, and CompareError where a run has no such host or step.
    """
    pieces = [piece.strip() for piece in word.split(",") if piece.strip()]
    if len(pieces) > 1:
        whole = _tried(load, word)
        return (whole,) if whole is not None else tuple(_part(load, piece) for piece in pieces)
    return (_part(load, word),)


def _part(load: Load, word: str) -> RunRecord:
    """Return a run, or the part of it that ``@HOST`` and ``:STEP`` leave."""
    marked = max(word.rfind("@"), word.rfind(":"))
    if marked <= 0:
        return load(word)
    whole = _tried(load, word)
    if whole is not None:
        return whole
    record, name = _part(load, word[:marked]), word[marked + 1 :]
    return only_host(record, name) if word[marked] == "@" else only_step(record, name)


def _tried(load: Load, word: str) -> RunRecord | None:
    try:
        return load(word)
    except BenchwrightError:  # it is no run; its parts may be, and if they are not, they say so
        return None


def only_host(record: RunRecord, host: str) -> RunRecord:
    """Return what `record` says of `host` alone."""
    if host not in record.plan.hosts:
        raise CompareError(
            f"The run {record.summary.id} has no host “{host[:60]}”.", f"It has {', '.join(record.plan.hosts)}."
        )
    trials = tuple(trial for trial in record.trials if trial.trial.host == host)
    summary = replace(record.summary, hosts=(host,))
    return replace(record, summary=summary, plan=replace(record.plan, hosts=(host,)), trials=trials)


def only_step(record: RunRecord, step: str) -> RunRecord:
    """Return what `record` says of the step `step` alone."""
    steps = tuple(one for one in record.plan.steps if one.name == step)
    if not steps:
        names = ", ".join(one.name for one in record.plan.steps)
        raise CompareError(f"The run {record.summary.id} has no step “{step[:60]}”.", f"It has {names}.")
    trials = tuple(trial for trial in record.trials if trial.trial.step == step)
    summary = replace(record.summary, steps=(step,), suites=(steps[0].suite_id,))
    return replace(record, summary=summary, plan=replace(record.plan, steps=steps), trials=trials)


def parts_side_by_side(run: RunSummary) -> tuple[str, ...]:
    """Return the words for the parts of one run that can stand beside each other: its hosts, else its steps of one
    suite. Nothing where it has one part, or where their names cannot be told from the marks."""
    mark, names = ("@", run.hosts) if len(run.hosts) > 1 else (":", run.steps)
    alike = mark == "@" or len(run.suites) == 1
    if not alike or len(names) < 2 or any(set(name) & set("@:,") for name in names):
        return ()
    return tuple(f"{run.id}{mark}{name}" for name in names)

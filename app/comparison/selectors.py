"""Selectors of runs: a run, several joined by commas, and the part of a run on one host or of one step."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from app.comparison.comparison import CompareError
from app.plans.plan import Order
from app.records import RunRecord, RunSummary
from suites.errors import BenchwrightError
from suites.verdict import Verdict, least_trusted
from suites.vocab import Finding

Load = Callable[[str], RunRecord]


def choose(load: Load, word: str) -> tuple[RunRecord, ...]:
    """Return the runs of a selector: ``RUN`` or ``RUN,RUN``, each with an optional ``@HOST`` or ``:STEP``.

    If the whole selector names a run, or a part of one, its marks and commas are part of the name. Raises the error of
    `load` for the first part that is not a run, and CompareError if a run does not have the host or step.
    """
    return tuple(_part(load, piece) for piece in pieces_of(load, word))


def pieces_of(load: Load, word: str) -> tuple[str, ...]:
    """Return the selectors that `word` joins by commas; `word` itself where it names a run."""
    pieces = tuple(piece.strip() for piece in word.split(",") if piece.strip())
    return pieces if len(pieces) > 1 and not _is_one(load, word) else (word,)


def _is_one(load: Load, word: str) -> bool:
    """Return whether `word`, commas included, is a run or the part of a run."""
    if run_or_none(load, word) is not None:
        return True
    cut = word.index(",")
    if not any(mark in word[:cut] for mark in "@:"):
        return False
    try:
        record, marks = run_and_marks(load, word)
    except BenchwrightError:
        return False
    known = {*record.plan.hosts, *(step.name for step in record.plan.steps)}
    return all(name in known for _, name in marks)


def _part(load: Load, word: str) -> RunRecord:
    """Return a run, restricted to its ``@HOST`` and ``:STEP``."""
    record, marks = run_and_marks(load, word)
    for mark, name in marks:
        record = only_host(record, name) if mark == "@" else only_step(record, name)
    return record


def run_and_marks(load: Load, word: str) -> tuple[RunRecord, tuple[tuple[str, str], ...]]:
    """Return the run of a selector and its marks, each ``@`` with a host or ``:`` with a step.

    The longest beginning of `word` that names a run is the run; the names of its steps may have marks themselves.
    """
    begins = [len(word), *(at for at in range(len(word) - 1, 0, -1) if word[at] in "@:")]
    for end in begins:
        record = run_or_none(load, word[:end])
        if record is not None:
            return record, tuple(_marks(record, word[end:]))
    return load(word[: begins[-1]]), ()  # raises the error


def selector_of(record: RunRecord, renamed: Callable[[str], str] = str) -> str:
    """Return the selector of a run, or of the chosen part of it, with hosts and steps by their new names."""
    summary = record.summary
    hosts = "".join(f"@{renamed(host)}" for host in summary.chosen_hosts)
    return f"{summary.id}{hosts}{''.join(f':{renamed(step)}' for step in summary.chosen_steps)}"


def _marks(record: RunRecord, text: str) -> Iterator[tuple[str, str]]:
    while text:
        names = record.plan.hosts if text[0] == "@" else [step.name for step in record.plan.steps]
        known = [name for name in names if text[1:] == name or text[1:].startswith((f"{name}@", f"{name}:"))]
        name = max(known, key=len) if known else re.split("[@:]", text[1:])[0]
        yield text[0], name
        text = text[1 + len(name) :]


def run_or_none(load: Load, word: str) -> RunRecord | None:
    """Return the run that `word` names as a whole; None if it names none."""
    try:
        return load(word)
    except BenchwrightError:  # the caller tries its parts, which raise in turn
        return None


def only_host(record: RunRecord, host: str) -> RunRecord:
    """Return `record` restricted to one host."""
    if host not in record.plan.hosts:
        raise CompareError(
            f"Run {record.summary.id} has no host “{host[:60]}”.", f"Its hosts: {', '.join(record.plan.hosts)}."
        )
    others = {*record.plan.hosts} - {host}  # a finding on a peer stays
    kept = replace(
        record,
        plan=replace(record.plan, hosts=(host,)),
        trials=tuple(trial for trial in record.trials if trial.trial.host == host),
        verdicts=tuple(one for one in record.verdicts if one.host == host),
    )
    summary = replace(record.summary, hosts=(host,), chosen_hosts=(host,))
    return _part_of(kept, summary, lambda finding: finding.host not in others)


def only_step(record: RunRecord, step: str) -> RunRecord:
    """Return `record` restricted to one step."""
    steps = tuple(one for one in record.plan.steps if one.name == step)
    if not steps:
        names = ", ".join(one.name for one in record.plan.steps)
        raise CompareError(f"Run {record.summary.id} has no step “{step[:60]}”.", f"Its steps: {names}.")
    kept = replace(
        record,
        plan=replace(record.plan, steps=steps),
        trials=tuple(trial for trial in record.trials if trial.trial.step == step),
        verdicts=tuple(one for one in record.verdicts if one.step == step),
    )
    summary = replace(record.summary, steps=(step,), suites=(steps[0].suite_id,), chosen_steps=(step,))
    return _part_of(kept, summary, lambda finding: finding.step in {None, step})


def _part_of(kept: RunRecord, summary: RunSummary, concerns: Callable[[Finding], bool]) -> RunRecord:
    """Return a part of a run with its `summary`, judged by its verdicts, and the findings that concern it."""
    raised = [one for one in kept.raised if concerns(one.finding)]
    return replace(kept, summary=_judged(summary, kept.verdicts)).with_raised(raised)


def _judged(summary: RunSummary, verdicts: Sequence[Verdict]) -> RunSummary:
    """Return the summary of a part of a run with trust and limit from the verdicts on its steps."""
    limits = {verdict.limited_by for verdict in verdicts}
    limit = limits.pop() if len(limits) == 1 else None
    found = least_trusted(verdicts)
    trust = "" if found is None else found.trust.value
    return replace(summary, trust=trust, limited_by="" if limit is None else limit.value)


def parts_side_by_side(run: RunSummary) -> tuple[str, ...]:
    """Return selectors for the comparable parts of one run: its hosts, else its steps of one suite.

    Empty with a single part, or if a name contains one of the marks ``@:,``.
    """
    mark, names = ("@", run.hosts) if len(run.hosts) > 1 else (":", run.steps)
    identity = mark == "@" or len(run.suites) == 1
    if not identity or len(names) < 2 or any(set(name) & set("@:,") for name in names):
        return ()
    return tuple(f"{run.id}{mark}{name}" for name in names)


def duet_sides(record: RunRecord) -> tuple[str, ...]:
    """Return the selectors of both steps of a duet, or of several joined ones; empty for every other run."""
    duets = all(run.plan.order is Order.DUET for run in record.parts or (record,))
    if not duets or not all(record.trials_of(step.name) for step in record.plan.steps):
        return ()
    return tuple(",".join(f"{run}:{step.name}" for run in record.summary.ids) for step in record.plan.steps)

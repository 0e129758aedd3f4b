"""What is told of the stories of fooled people, staged for real, and of their clean twins: the confusion matrix."""

from functools import partial

from app.cli.common import print_table
from tests.lab.pitfalls import CASES, Case, Seen, excused, false_alarms, missed, run
from tests.lab.staging import Stage
from tests.perf.outcome import Met, Outcome
from tests.perf.stage import on_a_stage

HEAD = ["Case", "Has to be told", "Missed", "False alarms", "Limited by", "Others here"]


def outcomes() -> list[Outcome]:
    """Stage every case, print what was told of each, and return the sums."""
    found = {case.name: on_a_stage(partial(_run, case), case.tools) for case in CASES}
    print_table(HEAD, [_row(case, found[case.name]) for case in CASES])
    done = [(case, seen) for case in CASES if isinstance(seen := found[case.name], Seen)]
    lost = [what for case, seen in done for what in missed(case, seen)]
    asked = sum(_asked(case, seen) for case, seen in done)
    alarms = [what for case, seen in done for what in false_alarms(case, seen)]
    twins = sum(case.clean for case, _ in done)
    right = _line("what has to be told of staged stories", f"{asked - len(lost)} of {asked}", "none missed", lost)
    false = _line(f"false alarms on {len(done)} cases, {twins} of them clean", f"{len(alarms)}", "none", alarms)
    hidden = [case.name for case, seen in done if excused(case, seen)]
    shown = Outcome("limits that others here hid", f"{len(hidden)}", ", ".join(hidden) or "–", "none", _quiet(hidden))
    return [right, false, shown, *_not_staged(found)]


def _quiet(hidden: list[str]) -> Met:
    return Met.UNDECIDED if hidden else Met.MET


def _run(case: Case, stage: Stage) -> Seen:
    return run(stage, case)


def _asked(case: Case, seen: Seen) -> int:
    return len(case.finds) + (case.limiter is not None and not excused(case, seen))


def _line(what: str, figure: str, aim: str, against: list[str]) -> Outcome:
    return Outcome(what, figure, ", ".join(sorted(set(against))) or "–", aim, Met.MISSED if against else Met.MET)


def _row(case: Case, seen: Seen | str) -> list[str]:
    reported = ", ".join((*case.finds, *([f"limit: {case.limiter}"] if case.limiter else []))) or "nothing"
    if isinstance(seen, str):
        return [case.name, reported, f"not staged, because {seen}", "", "", ""]
    lists = [", ".join(found) or "–" for found in (missed(case, seen), false_alarms(case, seen))]
    return [case.name, reported, *lists, seen.limiter or "–", "yes" if seen.disturbed else "no"]


def _not_staged(found: dict[str, Seen | str]) -> list[Outcome]:
    reasons = {name: why for name, why in found.items() if isinstance(why, str)}
    return [Outcome(f"not staged: {name}", "–", why, "staged", Met.UNDECIDED) for name, why in reasons.items()]

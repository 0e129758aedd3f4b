"""benchwright gate on fleet studies: each group of a study against the same group of another."""

from collections.abc import Sequence
from dataclasses import replace

from app.cli.common import print_note
from app.comparison.criteria import ComparisonCriteria
from app.comparison.gate import GateError, GateResult, answers_of_groups, check_same_suite, parse_conditions, result_of
from app.comparison.shared_sessions import SidesSessions
from app.fleet_study import PREFIX, FleetStudy, HostRunState
from app.services import Workstation
from suites.quantities import count_text


def of_studies(
    workstation: Workstation, against: str, texts: Sequence[str], stored: Sequence[str]
) -> GateResult | None:
    """Return the outcome of a study against another, group by group; None unless both selectors are of studies.

    Each session of the study is a run of the gate, so that a regression fails if two sessions show it.
    """
    if len(stored) != 1:
        return None
    new, old = (workstation.sessions_of_groups(word) for word in (stored[0], against))
    if not new or not old:
        return None
    study, baseline = (_study(workstation, word) for word in (stored[0], against))
    if study.id == baseline.id:
        return None
    check_same_suite(study.plan.plan, baseline.plan.plan, against)
    common = [group for group in new if group in old]
    if not common:
        groups = f"{study.id}: {', '.join(new)[:200]}; {baseline.id}: {', '.join(old)[:200]}."
        raise GateError("No group is measured in both studies.", groups)
    _note_left_out(study, [group for group in {**old, **new} if group not in common])
    for note in workstation.moment_notes([against, *stored]):
        print_note(note)
    conditions = parse_conditions(texts, study.plan.plan.steps)
    tested = frozenset(one.metric for one in conditions)
    criteria = {
        group: ComparisonCriteria(tested=tested, shared=_shared_sessions(workstation, (baseline, study), group))
        for group in common
    }
    answers, names = [], []
    for session in sorted({session for group in common for session in new[group]}):
        compared = {
            group: workstation.compare([",".join(old[group].values()), new[group][session]], criteria[group])
            for group in common
            if session in new[group]
        }
        names.append(f"{PREFIX}{study.id} session {session}")
        answers.append(answers_of_groups(conditions, compared, names[-1]))
    return result_of(answers, names, against)


def _shared_sessions(workstation: Workstation, studies: Sequence[FleetStudy], group: str) -> SidesSessions:
    """Return the sessions that the hosts of a group share: all of the baseline, and one of the other study."""
    old, new = (workstation.shared_sessions(f"{PREFIX}{study.id}:{group}") for study in studies)
    return old, {name: replace(found, count=1) for name, found in new.items()}


def _study(workstation: Workstation, word: str) -> FleetStudy:
    return workstation.fleet_study(word.removeprefix(PREFIX).partition(":")[0])


def _note_left_out(study: FleetStudy, groups: Sequence[str]) -> None:
    missing = sum(count for state, count in study.counts.items() if state is not HostRunState.DONE)
    if missing:
        print_note(f"{count_text(missing, 'host-run')} of {study.id} without a result: left out.")
    if groups:
        print_note(f"Groups of one study only: {', '.join(groups)[:200]}: left out.")

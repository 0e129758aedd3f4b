"""benchwright gate on fleet studies: each group of a study against the same group of another."""

from collections.abc import Sequence

from app.cli.common import print_note
from app.comparison.criteria import ComparisonCriteria
from app.comparison.gate import GateResult, answers_of_groups
from app.comparison.gate_conditions import GateError, check_same_suite, parse_conditions
from app.fleet_study import PREFIX, FleetStudy, HostRunState
from app.services import Workstation
from suites.quantities import count_text


def of_studies(
    workstation: Workstation, against: str, texts: Sequence[str], stored: Sequence[str]
) -> GateResult | None:
    """Return the outcome of a study against another, group by group; None unless both selectors are of studies.

    A group is compared as a whole, with the error of the moments that its hosts share.
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
    one_group = any(":" in word.removeprefix(PREFIX) for word in (stored[0], against))
    _note_left_out(study, [] if one_group else [group for group in {**old, **new} if group not in common])
    conditions = parse_conditions(texts, study.plan.plan.steps)
    criteria = ComparisonCriteria(tested=frozenset(one.metric for one in conditions), together=True)
    compared = {
        group: workstation.compare([",".join(side[group].values()) for side in (old, new)], criteria)
        for group in common
    }
    name = f"{PREFIX}{study.id}"
    return GateResult(answers_of_groups(conditions, compared, name), (name,), against)


def _study(workstation: Workstation, word: str) -> FleetStudy:
    return workstation.fleet_study(word.removeprefix(PREFIX).partition(":")[0])


def _note_left_out(study: FleetStudy, groups: Sequence[str]) -> None:
    missing = sum(count for state, count in study.counts.items() if state is not HostRunState.DONE)
    if missing:
        print_note(f"{count_text(missing, 'host-run')} of {study.id} without a result: left out.")
    if groups:
        print_note(f"Groups of one study only: {', '.join(groups)[:200]}: left out.")

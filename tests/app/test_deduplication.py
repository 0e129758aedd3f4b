"""What was found several times is told once; what differs in anything else stays apart."""

from dataclasses import replace

from app.plans.plan_remarks import Acknowledged, reason_of
from app.verdict.listing import SHAPES, current_findings, without_repetitions
from suites.verdict import Trust, Verdict
from suites.vocab import Finding, Severity
from tests.messages import messages

MESSAGES = messages("app", "test_deduplication")

FIRST = Finding(
    "other-process",
    Severity.WARNING,
    "Another process was at work",
    "make took 40 % of a processor.",
    "Why.",
    "Do.",
    "proc(5)",
)


def test_what_differs_only_in_its_figure_is_told_once_with_its_number() -> None:
    others = [FIRST, _with("cc took 20 % of a processor."), _with("cc took 30 % of a processor.")]
    assert without_repetitions(current_findings(others)) == others[-1:]
    (reported,) = without_repetitions(others)
    assert reported.measured == MESSAGES["make_took_40_of_a_processor"]


def test_what_was_measured_alike_or_stands_alone_stays_as_it_is() -> None:
    assert without_repetitions([FIRST, FIRST]) == [FIRST]
    assert without_repetitions([]) == []


def test_other_steps_and_levels_stay_apart_and_in_their_order() -> None:
    one = replace(FIRST, id="rate-dips")
    separate = [replace(one, step="fio"), replace(one, severity=Severity.ERROR), one]
    assert without_repetitions(separate) == separate


def test_a_prediction_is_replaced_by_the_outcome_it_predicts() -> None:
    planned = replace(FIRST, id="short-runtime", step="fio", host="web-1")
    measured = replace(planned, id="too-brief")
    elsewhere = replace(measured, host="web-2")
    assert current_findings([planned, measured]) == (measured,)
    assert current_findings([planned, elsewhere]) == (planned, elsewhere)
    assert current_findings([planned]) == (planned,)
    before = replace(FIRST, id="host-busy", host="web-1")
    during = replace(FIRST, step="fio", host="web-1")
    assert current_findings([before, during]) == (during,)
    assert current_findings([before, replace(during, host="web-2")])[0] == before


def test_the_last_finding_of_a_check_on_a_step_and_host_counts() -> None:
    live = replace(_with("They had 2.4 % of the CPU time."), step="fio", host="web-1")
    other = replace(live, step="stream")
    end = replace(live, measured="They had 48 % of the CPU time.", severity=Severity.ERROR)
    assert current_findings([live, other, end]) == (other, end)
    assert current_findings([end, other, live]) == (other, live)


def test_each_event_of_a_run_is_kept() -> None:
    lost = [replace(FIRST, id="connection-lost", host="web-1", measured=f"No data for {each} s.") for each in (3, 9)]
    assert current_findings(lost) == tuple(lost)


def test_the_shape_in_the_verdict_replaces_those_on_the_way() -> None:
    bucket, way, dips = (
        replace(FIRST, id=each, step="fio", host="web-1") for each in ("token-bucket", "still-on-its-way", "rate-dips")
    )
    raised = [bucket, replace(bucket, host="web-2"), way, dips]
    assert {one.id for one in raised} <= SHAPES
    verdict = Verdict(Trust.CAVEATS, None, "", (way, dips), "fio", "web-1")
    assert current_findings(raised, [verdict]) == tuple(raised[1:])
    assert current_findings(raised, [replace(verdict, findings=())]) == tuple(raised)


def test_a_cause_at_the_host_is_listed_once_for_all_steps() -> None:
    first, second, third = (replace(FIRST, step=each, host="web-1") for each in ("fio", "stream", "ioping"))
    (one,) = without_repetitions([first, second, third])
    assert one == replace(first, measured=f"{FIRST.measured} Also in stream, ioping.")
    dips = [replace(each, id="rate-dips") for each in (first, second)]
    assert without_repetitions(dips) == dips
    accepted = (Acknowledged("other-process", "known", "stream"),)
    shown = without_repetitions([first, second, third], lambda each: reason_of(accepted, each))
    assert [each.step for each in shown] == ["fio", "stream"]


def _with(measured: str) -> Finding:
    return replace(FIRST, measured=measured)


def test_the_limit_of_each_step_is_one_row() -> None:
    first, second = (replace(FIRST, id="limited-by", step=each, host="web-1") for each in ("fio", "stream"))
    again = replace(first, measured="Limited by the device.")
    listed = current_findings([first, second, again])
    assert without_repetitions(listed) == [second, again]


def test_of_a_check_on_the_way_the_verdict_has_the_one_that_counts() -> None:
    severe = replace(FIRST, id="other-process", step="fio", host="web-1", severity=Severity.WARNING)
    later = replace(severe, measured="less", severity=Severity.INFO)
    verdict = Verdict(Trust.CAVEATS, None, "", (severe,), "fio", "web-1")
    assert current_findings([severe, later], [verdict]) == (severe,)
    assert current_findings([severe, later], [replace(verdict, findings=())]) == (later,)

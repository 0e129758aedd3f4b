"""Issues: one line for the same finding of several steps, counts, ages, and what a new reading makes of them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from app.checks.issues import HostReading, Issue, IssueHistory, counts_text, issues_of
from app.cli.plans import print_findings
from app.plans.plan_remarks import Acknowledged
from suites.vocab import Finding, Severity
from tests.messages import messages

MESSAGES = messages("app-checks", "test_issues")

BUSY = Finding("host-busy", Severity.WARNING, "Host is busy", "97 %.", "Why.", "Stop it.", "source", host="web-1")
SHORT = Finding(
    "short-runtime", Severity.WARNING, "Runtime too short", "4 s.", "Why.", "Set it.", "source", "fio", "web-1",
    {"runtime": 30},
)  # fmt: skip
NOTE = replace(SHORT, id="few-trials", severity=Severity.INFO, title="Few", step=None, host=None, changes={})
ERROR = replace(NOTE, id="tool-missing", severity=Severity.ERROR, title="fio is missing", host="web-2")
LOAD = frozenset({"host-busy", "disk-in-use"})


def titles(issues: Sequence[Issue]) -> list[str]:
    return [issue.first.title for issue in issues]


def reading(at: float, *findings: Finding, host: str = "web-1") -> HostReading:
    return HostReading(host, at, findings, LOAD)


def test_the_same_finding_of_several_steps_and_hosts_is_one_issue_with_every_figure() -> None:
    other = replace(SHORT, step="sysbench", measured="3 s.", changes={"time": 30})
    (one,) = issues_of([SHORT, other, other])
    assert one.scope == "web-1 · 2 steps"
    assert one.evidence == ("web-1 · fio: 4 s.", "web-1 · sysbench: 3 s. (2 times)")
    assert one.fixable == (SHORT, other, other)
    assert issues_of([BUSY, replace(BUSY, host="web-2")])[0].scope == "2 hosts"
    assert len(issues_of([ERROR, replace(ERROR, host="web-1", install="apt-get install fio")])) == 2
    assert issues_of([BUSY])[0].evidence == ("97 %.",)


def test_the_most_severe_is_first_and_acknowledged_ones_are_last_and_counted_apart() -> None:
    issues = issues_of([NOTE, BUSY, SHORT, ERROR], lambda found: "seen" if found is BUSY else "")
    assert titles(issues) == ["fio is missing", "Runtime too short", "Few", "Host is busy"]
    assert counts_text(issues) == MESSAGES["counts"]
    assert counts_text(()) == ""
    assert not issues[-1].fixable


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "just now"), (2.0, "2 s ago"), (720.0, "12 min ago"), (-5.0, "just now")]
)
def test_an_age_is_short(seconds: float, text: str) -> None:
    assert Issue((BUSY,), at=1000.0).age(1000.0 + seconds) == text
    assert Issue((BUSY,), at=0.0, gone=1000.0).age(1000.0 + seconds) == f"gone {text}"
    assert Issue((BUSY,)).age(1000.0) == ""


def test_an_age_is_that_of_the_facts_or_of_the_first_sight() -> None:
    history, trial = IssueHistory(), replace(BUSY, id="other-process", title="Another process", step="fio")
    history.show([BUSY, trial, SHORT, NOTE], {"web-1": 90.0}, 100.0)
    history.show([BUSY, trial, SHORT, NOTE], {"web-1": 90.0}, 110.0)
    assert {one.first.id: one.at for one in history.issues()} == {
        "host-busy": 90.0, "other-process": 100.0, "short-runtime": None, "few-trials": None,
    }  # fmt: skip
    history.show([replace(trial, measured="40 %.")], {}, 120.0)
    assert history.issues()[0].at == 120.0
    history.show([BUSY, trial])
    assert {one.at for one in history.issues()} == {None}, "a stored run has no ages"


def test_a_reading_renews_the_figure_then_shows_what_is_gone() -> None:
    history = IssueHistory()
    history.show([BUSY, SHORT], {"web-1": 90.0}, 100.0)
    history.take(reading(104.0, replace(BUSY, measured="40 %.")))
    busy, short = history.issues()
    assert (busy.first.measured, busy.at, short.gone) == ("40 %.", 104.0, None)
    history.take(reading(108.0))
    assert titles(history.issues()) == ["Runtime too short", "Host is busy"]
    assert history.issues()[1].gone == 108.0
    history.take(reading(112.0))
    assert history.issues()[1].gone == 108.0, "it is gone since then"
    history.take(reading(116.0, BUSY))
    assert history.issues()[0].gone is None, "it is back"


def test_a_reading_of_another_host_or_without_evidence_changes_nothing() -> None:
    history = IssueHistory()
    history.show([BUSY], {"web-1": 90.0}, 100.0)
    history.take(reading(104.0, host="web-2"))
    history.take(replace(reading(104.0), skipped=frozenset({("host-busy", None)})))
    assert history.issues()[0].gone is None


def test_what_is_gone_is_dropped_with_the_next_change_and_a_reading_outlives_old_facts() -> None:
    history = IssueHistory()
    history.show([BUSY, SHORT], {"web-1": 90.0}, 100.0)
    history.take(reading(104.0))
    history.show([BUSY, NOTE], {"web-1": 90.0}, 110.0)
    assert titles(history.issues()) == ["Few"], "its facts are older than the reading"
    history.show([BUSY, NOTE], {"web-1": 120.0}, 121.0)
    assert titles(history.issues()) == ["Host is busy", "Few"], "the facts were read again"


def test_a_remedied_finding_of_a_plan_is_shown_as_gone_once() -> None:
    history = IssueHistory()
    history.show([BUSY, SHORT], {}, 100.0, keep_gone=True)
    history.show([BUSY], {}, 103.0, keep_gone=True)
    assert [one.gone for one in history.issues()] == [None, 103.0]
    history.show([BUSY, NOTE], {}, 105.0, keep_gone=True)
    assert titles(history.issues()) == ["Host is busy", "Few"]
    history.clear()
    assert history.issues() == ()


def test_the_command_line_prints_the_same_counts_and_one_row_for_an_issue(capsys: pytest.CaptureFixture[str]) -> None:
    print_findings([BUSY, replace(BUSY, host="web-2", measured="40 %."), NOTE], (Acknowledged("few-trials", "seen"),))
    counts, head, *rows = capsys.readouterr().out.splitlines()
    assert counts == MESSAGES["printed"]
    assert "Finding" in head
    assert sum("host-busy" in row for row in rows) == 1
    printed = " ".join(" ".join(rows).split())
    assert ("web-1: 97 %." in printed, "web-2: 40 %." in printed, "Acknowledged: seen" in printed) == (True, True, True)

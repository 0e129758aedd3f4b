"""The ticket text: what was measured, what limited it, what was excluded and how to reproduce it, on one screen."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.checks.limits.hypothesis import Hypothesis
from app.events import FindingRaised
from app.services import Workstation
from app.sharing.ticket import MOST_FINDINGS, ticket_text
from suites.evidence import TrialEvidence
from suites.verdict import Limiter, Trust
from suites.vocab import Finding, Severity
from tests.app.test_redaction import CANARY, planted
from tests.messages import messages
from tests.program import BAD_INPUT, DONE, FAILED, benchwright
from tests.widgets.library_runs import STEADY, Made, record

MESSAGES = messages("app", "test_ticket")
RUN = "20260101-000000-0002"
LINES = 60
"""Lines of a screen."""


@pytest.fixture
def workstation(tmp_path: Path) -> Iterator[Workstation]:
    made = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    made_run = Made(RUN, iops=(1000.0, 1010.0, 1005.0), cpu=(8000.0, 8010.0), samples=10, trust=Trust.CAVEATS)
    record(made, replace(made_run, host="db-7|x", name="volume_check"))
    yield made
    made.close()


def test_it_has_results_limit_exclusions_and_the_commands(workstation: Workstation) -> None:
    text = workstation.ticket_text(RUN)
    assert len(text.splitlines()) <= LINES
    assert "### Volume\\_check" in text
    row = next(line for line in text.splitlines() if line.startswith("| disk random read"))
    assert "db-7\\|x" in row
    assert all(part in row for part in ("IOPS", "± ", "| 3 |", "limited by the device"))
    assert any(line.startswith("- **Checked, not found**") and "db-7" in line for line in text.splitlines())
    assert "**Not checked**" in text
    block = re.search(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert block is not None
    ran = [trial.trial.commands[0] for trial in workstation.load(RUN).trials]
    lines = [line for line in block[1].splitlines() if not line.startswith("#")]
    assert [tuple(shlex.split(line)) for line in lines] == list(dict.fromkeys(command.argv for command in ran))
    assert "fio-3.33" in block[1]


def test_not_the_limit_is_what_explains_no_trial(workstation: Workstation, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(trial: TrialEvidence) -> tuple[Hypothesis, ...]:
        return (
            Hypothesis(Limiter.CPU, trial.number / 10, f"the test used {trial.number} of 10 CPUs", ""),
            Hypothesis(Limiter.TOOL, 0.3 if trial.number == 3 else 0.95, "a worker used most of a CPU", ""),
            Hypothesis(Limiter.LOSS, 1.0, "0.01 % were sent again", "", ("few segments were sent again",)),
            Hypothesis(Limiter.LINK, None, "", ""),
            Hypothesis(Limiter.DEVICE, 0.1, "vda was 10 % busy", ""),  # the verdict’s limit
        )

    monkeypatch.setattr("app.checks.limits.judge.hypotheses_of", found)
    lines = workstation.ticket_text(RUN).splitlines()
    found_lines = [line.removeprefix("- ") for line in lines if line.startswith("- **Not ") and "limit**: disk" in line]
    assert found_lines == [MESSAGES["not_the_limit"], MESSAGES["not_shown"]]


def test_findings_name_their_step_and_those_left_out_are_counted(workstation: Workstation) -> None:
    run = workstation.load(RUN)
    steps = [step.name for step in run.plan.steps]
    made = [
        FindingRaised(Finding(f"c{at}", Severity.WARNING, f"title {at}", f"seen {at}.", "", "", "", step, "db-7|x"))
        for at, step in enumerate([*steps, None, *[None] * MOST_FINDINGS])
    ]  # fmt: skip
    lines = ticket_text(run.with_raised(made), {}, {}).splitlines()
    assert f"- **Title 0**: {steps[0]}, db-7\\|x: seen 0." in lines
    after = lines[lines.index("- **Title 3**: db-7\\|x: seen 3.") + 1]
    assert after == f"- And {len(made) - MOST_FINDINGS} more findings."
    verdict = next(one for one in run.verdicts if one.step == steps[0])
    doubted = replace(run.with_raised(made), verdicts=(replace(verdict, findings=(made[-1].finding,)),))
    first = next(line for line in ticket_text(doubted, {}, {}).splitlines() if line.startswith("- **Title"))
    assert first.startswith(f"- **Title {len(made) - 1}**")


def test_no_canary_is_in_a_ticket(tmp_path: Path) -> None:
    made = Workstation(tmp_path / "c.sqlite3", tmp_path / "hosts.toml")
    planted(made)
    assert CANARY.search(made.ticket_text("last").encode())
    text = made.redacted_ticket("last")
    made.close()
    assert not CANARY.search(text.encode())
    assert "host-A" in text
    shown = benchwright("--store", made.library_path, "export", "last", "--ticket", tmp_path / "t.md")
    assert shown.status == DONE, shown.err
    assert (tmp_path / "t.md").read_text() == text
    printed = benchwright("--store", made.library_path, "export", "last", "--ticket", "-", "--csv", tmp_path / "c.csv")
    assert printed.out == text
    assert "c.csv" in printed.err
    plain = benchwright("--store", made.library_path, "export", "last", "--no-redact", "--ticket", tmp_path / "p.md")
    assert plain.status == DONE, plain.err
    assert CANARY.search((tmp_path / "p.md").read_bytes())


@pytest.mark.parametrize("words", [["--csv", "-"], ["--ticket", "-", "--markdown", "-"], ["--ticket", "-", "--json"]])
def test_one_text_is_printed(workstation: Workstation, words: list[str]) -> None:
    refused = benchwright("--store", workstation.library_path, "export", RUN, *words)
    assert refused.status in {FAILED, BAD_INPUT}
    assert "--ticket" in refused.err


def test_a_ticket_is_of_one_run(workstation: Workstation, tmp_path: Path) -> None:
    words = ("--store", workstation.library_path, "export", RUN, "last", "--ticket", tmp_path / "t.md")
    assert benchwright(*words).status in {FAILED, BAD_INPUT}


def measured(workstation: Workstation, number: int, host: str, factor: float, **more: Any) -> str:
    run_id = f"20260103-000000-00{number:02d}"
    iops = tuple(factor * value for value in STEADY)
    record(workstation, Made(run_id, iops=iops, host=host, samples=5, **{"trust": Trust.VALID, **more}))
    return run_id


def standing_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("- Rank", "- Against"))]


@pytest.mark.slow
def test_it_has_the_rank_among_hosts_and_the_change_against_a_baseline(tmp_path: Path) -> None:
    made = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    base = measured(made, 1, "zqhost-e", 1.25)
    made.pin(base, "zqmain")
    measured(made, 2, "zqhost-a", 2.0)
    measured(made, 3, "zqhost-b", 1.0)
    measured(made, 4, "zqhost-c", 0.5)
    measured(made, 5, "zqhost-d", 9.0, trust=Trust.DOUBTFUL)  # what is in doubt has no rank
    measured(made, 6, "zqhost-f", 9.0, block_size=65536)  # nor what was measured otherwise
    mine = measured(made, 7, "zqhost-e", 1.0)
    plain = standing_lines(made.ticket_text(mine, made.standings(mine)))
    redacted = made.redacted_ticket(mine)
    doubted = standing_lines(made.redacted_ticket("20260103-000000-0005"))
    made.close()
    assert plain == [MESSAGES["rank"], MESSAGES["baseline"]]
    assert standing_lines(redacted) == plain
    assert not any(line.startswith("- Rank") for line in doubted)
    assert not CANARY.search(redacted.encode())
    shown = benchwright("--store", made.library_path, "export", mine, "--ticket", tmp_path / "t.md")
    assert shown.status == DONE, shown.err
    assert standing_lines((tmp_path / "t.md").read_text()) == plain


def test_a_run_alone_has_no_rank(workstation: Workstation) -> None:
    assert not workstation.standings(RUN)

"""Two real tools are asked the same of this computer's disk, interleaved, and what comes of it is explained."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.crosscheck.agreement import AgreementOutcome
from app.crosscheck.report import agreement_line
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.runs.control import BusyPolicy, Control
from app.services import Workstation
from remote.questions import RefusingAsker


@pytest.mark.slow
def test_dd_checks_fio_and_the_depth_that_dd_has_not_explains_the_difference(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite3"
    workstation = Workstation(store, tmp_path / "hosts.toml")
    given = {
        "directory": str(tmp_path), "rw": "write", "block_size": "64 KiB", "size": "32 MiB", "direct": "yes",
        "ioengine": "libaio", "iodepth": 16,
    }  # fmt: skip
    plan = Plan("disk", (LOCAL,), (make_step("fio", given, name="write"),), repetition=Repetition(1))
    list(workstation.run(plan, RefusingAsker(), Control(BusyPolicy.ANYWAY)))
    proposed = workstation.cross_check("last", other="dd")
    assert any(line.startswith("iodepth 16") for line in proposed.lost)
    list(workstation.run(proposed.plan, RefusingAsker(), Control(BusyPolicy.ANYWAY)))
    (found,) = workstation.agreements("last")
    assert (found.ours.suite, found.theirs.suite, found.ours.n, found.theirs.n) == ("fio", "dd", 6, 6)
    record = workstation.load("last")
    assert record.plan.question.endswith("Do fio and dd agree?")
    assert len({trial.trial.step for trial in record.trials[:2]}) == 2  # interleaved
    if found.outcome is AgreementOutcome.DIFFER and found.ratio is not None and found.ratio.value < 1:
        assert "in-flight" in [one.id for one in found.explained]
    workstation.close()
    shown_text = CliRunner().invoke(benchwright, ["--store", str(store), "agree", "last", "--json"])
    assert shown_text.exit_code == 0
    assert json.loads(shown_text.stdout)["agreements"][0]["theirs"]["suite"] == "dd"
    shown = CliRunner().invoke(benchwright, ["--store", str(store), "show", "last"])
    assert agreement_line(found) in " ".join(shown.stdout.split())

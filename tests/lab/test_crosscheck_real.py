"""Two real tools are asked the same of this computer's disk, interleaved, and what comes of it is explained."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.crosscheck.report import agreement_line
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.runs.control import BusyPolicy, Control
from app.services import Workstation
from remote.questions import RefusingAsker


@pytest.mark.slow
def test_sysbench_checks_fio_with_as_many_requests_in_flight(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite3"
    workstation = Workstation(store, tmp_path / "hosts.toml")
    given = {
        "directory": str(tmp_path), "rw": "randread", "block_size": "4 KiB", "size": "32 MiB", "direct": "yes",
        "ioengine": "libaio", "iodepth": 8, "numjobs": 2, "runtime": "2 s",
    }  # fmt: skip
    plan = Plan("disk", (LOCAL,), (make_step("fio", given, name="read"),), repetition=Repetition(1))
    list(workstation.run(plan, RefusingAsker(), Control(BusyPolicy.ANYWAY)))
    assert [one.id for one in workstation.cross_check("last", other="ioping").different] == ["in-flight"]
    proposed = workstation.cross_check("last")
    assert proposed.plan.steps[1].values["threads"] == 16
    list(workstation.run(proposed.plan, RefusingAsker(), Control(BusyPolicy.ANYWAY)))
    (rate, *_rest) = workstation.agreements("last")
    assert (rate.ours.suite, rate.theirs.suite, rate.ours.n, rate.theirs.n) == ("fio", "sysbench-fileio", 6, 6)
    record = workstation.load("last")
    assert len({trial.trial.step for trial in record.trials[:2]}) == 2  # interleaved
    assert rate.ratio is not None
    assert 1 / 3 < rate.ratio.value < 3  # one request in flight against 16 gave 1/8
    workstation.close()
    shown_text = CliRunner().invoke(benchwright, ["--store", str(store), "agree", "last", "--json"])
    assert shown_text.exit_code == 0
    assert json.loads(shown_text.stdout)["agreements"][0]["theirs"]["suite"] == "sysbench-fileio"
    shown = CliRunner().invoke(benchwright, ["--store", str(store), "show", "last"])
    assert agreement_line(rate) in " ".join(shown.stdout.split())

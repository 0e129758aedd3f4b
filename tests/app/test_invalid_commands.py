"""An invalid run competes in no command, and a doubtful one is marked in all of them."""

import csv
import io
import json
import math
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.events import Event, FactsRead, Moment, RunEnded, RunStarted, State, TrialEnded, TrialStarted, VerdictReached
from app.plans.plan import Policy, Repetition
from app.plans.plan_file import write_plan
from app.store.store import Store
from suites.outputs import ParsedTrial
from suites.verdict import Trust
from suites.vocab import Figure
from tests.app.run_events import IOPS, READ, STEP, facts, plan, trial, trial_events
from tests.app.stores import record
from tests.app.test_invalid_results import BASE, verdict


def _events(run: str, host: str, factor: float, trust: Trust, *, stored: bool) -> Iterator[Event]:
    """Yield a run whose evidence leads to `trust`: an error in the output is doubtful, a trial without work invalid."""
    yield RunStarted(run, plan(hosts=(host,), trials=len(BASE)), "2026-11-20T14:15:30+00:00")
    yield FactsRead(host, Moment.BEFORE, facts(host))
    for number, value in enumerate(BASE, 1):
        yield TrialStarted(one := trial(number, host=host), 2.0)
        notes = ("fio: I/O error on /dev/sdx",) if trust is Trust.DOUBTFUL else ()
        yield TrialEnded(one.id, State.DONE, 0, ParsedTrial((Figure(IOPS, factor * value, READ),), (), notes), "")
    if trust is Trust.INVALID:
        for number in range(7, 10):
            yield from trial_events(trial(number, host=host), ())
    yield FactsRead(host, Moment.AFTER, facts(host))
    if stored:
        yield VerdictReached(verdict(trust, host))
        yield VerdictReached(replace(verdict(trust, host), step=None, host=None))
    yield RunEnded(run, State.DONE, "")


@pytest.fixture(params=[True, pytest.param(False, marks=pytest.mark.slow)], ids=["stored", "computed"])
def command_line(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., str]:
    """Return the command line over a good, a doubtful and an invalid run, the last of which is the fastest."""
    library = Store(tmp_path / "library" / "runs.sqlite3")
    runs = (("good", "web-1", 1.0, Trust.VALID), ("weak", "web-2", 2.0, Trust.DOUBTFUL))
    for run, host, factor, trust in (*runs, ("wrong", "web-3", 9.0, Trust.INVALID)):
        record(library, run, _events(run, host, factor, trust, stored=request.param))
    library.close()

    def run_words(*words: str, status: int = 0) -> str:
        ran = CliRunner().invoke(benchwright, ["--store", str(tmp_path / "library" / "runs.sqlite3"), *words])
        assert ran.exit_code == status, ran.output
        return ran.output

    return run_words


@pytest.mark.parametrize("runs", [("good", "wrong"), ("wrong", "good"), ("weak", "wrong"), ("good", "wrong@web-3")])
def test_no_comparison_of_the_command_line_takes_an_invalid_run(
    command_line: Callable[..., str], runs: tuple[str, ...]
) -> None:
    assert "not comparable" in command_line("compare", *runs)
    for entry in json.loads(command_line("compare", *runs, "--json")):
        assert (entry["verdict"].split(":")[0], entry["ratio"]) == ("not comparable", None)
        assert "invalid" in {entry["trust"], entry["baseline"]["trust"]}


def test_a_doubtful_run_carries_its_mark_in_every_output(command_line: Callable[..., str], tmp_path: Path) -> None:
    assert "(doubtful)" in command_line("compare", "good", "weak")
    (entry,) = json.loads(command_line("compare", "good", "weak", "--json"))
    assert (entry["trust"], entry["baseline"]["trust"] in {"valid", "valid with caveats"}) == ("doubtful", True)
    shown = command_line("compare", "good", "wrong", "weak", "--distribution", "iops")
    assert [mark in shown for mark in ("6 trials (doubtful)", "6 trials (invalid)")] == [True, True]
    (shape,) = json.loads(command_line("compare", "good", "wrong", "weak", "--distribution", "iops", "--json"))[
        "distributions"
    ]
    assert [side["trust"] for side in shape["sides"][1:]] == ["invalid", "doubtful"]
    assert [bool(side["shift"]) for side in shape["sides"]] == [False, False, True]
    assert "doubtful" in command_line("history", "web-2", "--metric", "iops")
    (point,) = json.loads(command_line("history", "web-2", "--metric", "iops", "--json"))["points"]
    assert point["trust"] == "doubtful"
    command_line("export", "weak", "wrong", "--csv", str(tmp_path / "out.csv"))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text())))
    assert {(row["run"], row["trust"].split(":")[0]) for row in rows} == {("weak", "doubtful"), ("wrong", "invalid")}
    assert {one["trust"] for one in json.loads(command_line("show", "weak", "--json"))["metrics"]} == {"doubtful"}


def test_the_fastest_run_does_not_win_where_it_is_invalid(command_line: Callable[..., str], tmp_path: Path) -> None:
    words = ("best", "good", "weak", "wrong", "--metric", "iops")
    shown = command_line(*words)
    assert shown.index("web-2") < shown.index("web-1")
    assert "doubtful" in shown
    found = json.loads(command_line(*words, "--json"))
    assert (found["candidates"][0]["name"], found["candidates"][0]["trust"]) == ("web-2", "doubtful")
    assert "web-3" not in {one["name"] for one in found["candidates"]}
    command_line(*words, "--csv", str(tmp_path / "best.csv"))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "best.csv").read_text())))
    assert (rows[0]["trust"], len(rows)) == ("doubtful", 2)
    assert not json.loads(command_line("history", "web-3", "--metric", "iops", "--json"))["points"]


def pasted(output: str) -> list[str]:
    """Return the words of the command line that a message quotes."""
    (line,) = re.findall("“benchwright ([^”]*)”", " ".join(output.split()))
    return shlex.split(line)


def test_an_invalid_run_is_no_baseline_unless_it_is_accepted(command_line: Callable[..., str]) -> None:
    refused = command_line("baseline", "pin", "wrong", "odd", status=2)
    assert "on web-3 of" in " ".join(refused.split())
    assert pasted(refused)[-4:] == ["pin", "--accept-invalid", "wrong", "odd"]
    both = pasted(command_line("baseline", "pin", "good,wrong@web-3", "a b", status=2))
    assert both[-4:] == ["pin", "--accept-invalid", "good,wrong@web-3", "a b"]
    assert not [one for one in json.loads(command_line("baseline", "list", "--json")) if not one["built_in"]]
    command_line("baseline", "pin", "wrong", "odd", "--accept-invalid")
    command_line("baseline", "pin", "weak", "doubt")
    command_line("baseline", "pin", "good,weak", "both")
    listed = {one["name"]: one["trust"] for one in json.loads(command_line("baseline", "list", "--json"))}
    assert (listed["odd"], listed["doubt"], listed["both"]) == ("invalid", "doubtful", "doubtful")
    assert "invalid" in command_line("baseline", "show", "odd")
    assert "not comparable" in command_line("compare", "baseline:odd", "good")
    assert "doubtful" in command_line("compare", "baseline:doubt", "good")


@pytest.mark.slow
def test_a_margin_of_zero_is_zero_and_not_the_default(command_line: Callable[..., str]) -> None:
    for margin in ("0", "-0", "5"):
        (entry,) = json.loads(command_line("compare", "good", "weak", "--margin", margin, "--json"))
        assert (entry["margin"], math.copysign(1, entry["margin"])) == (float(margin) / 100, 1.0)
        ranked = json.loads(command_line("best", "good", "weak", "--metric", "iops", "--margin", margin, "--json"))
        assert ranked["margin"] == float(margin) / 100


def test_a_plan_that_waits_for_a_verdict_on_an_invalid_baseline_is_refused_before_it_runs(
    command_line: Callable[..., str], tmp_path: Path
) -> None:
    command_line("baseline", "pin", "wrong", "odd", "--accept-invalid")
    whole = replace(STEP, values=STEP.whole_values())
    for name, words in (("odd", "invalid"), ("none such", "none such")):
        repetition = Repetition(policy=Policy.UNTIL_VERDICT, baseline=name)
        write_plan(replace(plan(whole, hosts=("local",)), repetition=repetition), tmp_path / "plan.toml")
        assert words in " ".join(command_line("check", str(tmp_path / "plan.toml"), status=2).split())

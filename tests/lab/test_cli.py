"""The command line from the first host to the report, over a real sshd and on this computer, with the real tools."""

import csv
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import resources
from suites.registry import SUITES
from suites.units import Unit
from tests.lab_sshd import LabHost
from tests.messages import messages
from tests.processes import processes_with
from tests.program import BAD_INPUT, DONE, FAILED, Ran, benchwright, interrupted

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("lab", "test_cli")

PAGE = (Path(resources.__file__).parent / "help" / "formats.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"\w+", PAGE))
"""Every word of the page about formats: what is printed has to be named there. Fields may be added, never go."""

FINDING = {"id", "level", "title", "measured", "why", "remedy", "source", "step"}
METRIC = {"name", "value", "unit", "better", "labels"}
RUN = {
    "format", "id", "name", "question", "hosts", "steps", "suites", "state", "started", "ended", "trials", "headline",
    "baseline", "reason", "program_version", "plan_hash", "plan", "facts_before", "facts_after", "metrics", "findings",
    "telemetry_cost", "clock_offset", "left", "changes", "verdict", "verdicts", "trust", "limited_by",
}  # fmt: skip
TRIAL = {
    "id", "host", "step", "number", "warm_up", "state", "started", "ended", "exit_status", "tool_version", "commands",
    "metrics", "notes", "reason",
}  # fmt: skip
COMPARED = {
    "metric", "unit", "better", "ratio", "low", "high", "n", "margin", "verdict", "reason", "step", "host", "labels",
    "run", "value", "baseline",
}  # fmt: skip
LISTED = {
    "id", "name", "question", "hosts", "steps", "suites", "state", "started", "ended", "trials", "headline", "baseline",
    "left", "trust", "limited_by",
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in a folder of the test's own, and see that no tool outlives the test."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert processes_with(f"HOME={Path.home()}") == []


@pytest.fixture
def lab(lab_host: LabHost) -> LabHost:
    lab_host.add_to_home()
    return lab_host


def made_plan(*words: str, name: str = "plan.toml", trials: int = 1) -> Path:
    """Write a plan without asking the host for its facts."""
    ran = benchwright("plan", "new", "--defaults", "--trials", str(trials), "--output", name, *words)
    assert ran.status == DONE, ran.err
    return Path(name)


def has(document: Any, fields: set[str]) -> bool:
    """Whether a document has `fields`, and no other that is not documented."""
    return fields <= set(document) <= NAMED


def cpu_plan(*words: str, seconds: int = 1, name: str = "cpu.toml", trials: int = 1) -> Path:
    return made_plan("--suite", "sysbench-cpu", "--set", f"time={seconds}", *words, name=name, trials=trials)


def done(ran: Ran) -> Ran:
    assert ran.status == DONE, ran.err
    return ran


def test_a_host_is_added_trusted_tried_and_removed(lab_host: LabHost) -> None:
    added = ("--address", "127.0.0.1", "--port", str(lab_host.port), "--user", lab_host.user)
    done(benchwright("hosts", "add", "web", *added, "--identity-file", str(lab_host.keys.client)))
    listed = {host["name"]: host for host in done(benchwright("hosts", "--json")).json}
    assert listed["local"]["origin"] == "this computer"
    assert set(listed["web"]) == {"name", "origin", "host_name", "port", "user", "identity_file", "jump", "resolved"}
    assert listed["web"]["port"] == lab_host.port

    unknown = benchwright("hosts", "test", "web")
    assert unknown.status == FAILED
    assert lab_host.fingerprint in unknown.err
    assert "--fingerprint" in unknown.err
    wrong = benchwright("hosts", "test", "web", "--fingerprint", "SHA256:" + "A" * 43, "--json")
    assert (wrong.status, wrong.json["outcome"]) == (FAILED, "host key not accepted")
    right = benchwright("hosts", "test", "web", "--fingerprint", lab_host.fingerprint, "--json")
    assert (right.status, right.json["outcome"]) == (DONE, "connected")
    assert set(right.json) == {"host", "outcome", "message", "remedy", "seconds"}
    assert "Connected to web" in done(benchwright("hosts", "test", "web")).out

    done(benchwright("hosts", "remove", "web"))
    assert "web" not in benchwright("hosts").out


def test_each_way_a_host_is_not_reached_is_told_apart(lab: LabHost) -> None:
    lab.restart(host_key=lab.keys.other_host)
    changed = benchwright("hosts", "test", "lab", "--json", "--fingerprint", lab.fingerprint)
    assert (changed.status, changed.json["outcome"]) == (FAILED, "host key changed")
    lab.restart(host_key=lab.keys.host)
    lab.refuse_everybody()
    refused = benchwright("facts", "lab")
    assert (refused.status, refused.out) == (FAILED, "")
    assert "lab" in refused.err
    lab.stop()
    down = benchwright("quick", "lab")
    assert (down.status, down.out) == (FAILED, "")
    assert "refused" in down.err


def test_facts_are_a_document_that_check_reads_back(lab: LabHost) -> None:
    facts = done(benchwright("facts", "lab", "--json"))
    assert facts.json["format"] == "benchwright-facts/1"
    assert facts.json["host"] == "lab"
    for group in ("system", "cloud", "cpu", "memory", "measured"):
        for fact in facts.json[group].values():
            assert isinstance(fact, list) or set(fact) in ({"value", "unit"}, {"absent"})
    for group in ("block_devices", "file_systems", "directories", "interfaces", "tools"):
        assert isinstance(facts.json[group], list)
    assert "fio" in {tool["name"] for tool in facts.json["tools"]}
    Path("facts.json").write_text(facts.out)
    lab.stop()

    plan = made_plan("--suite", "fio", "--host", "lab", "--set", "direct=no")
    checked = done(benchwright("check", plan, "--facts", "facts.json", "--json")).json
    assert has(checked, {"format", "findings", "cannot_tell"})
    assert checked["format"] == "benchwright-findings/1"
    for finding in checked["findings"]:
        assert has(finding, FINDING)
        assert finding["level"] in {"error", "warning", "info"}
    assert "page-cache" in {finding["id"] for finding in checked["findings"]}
    for unsure in checked["cannot_tell"]:
        assert has(unsure, {"id", "because", "step"})
    assert "page-cache" in done(benchwright("check", plan, "--facts", "facts.json")).out
    tuned = done(benchwright("plan", "new", "--suite", "fio", "--host", "lab", "--facts", "facts.json")).out
    assert "direct = true" in tuned
    assert "direct = false" in plan.read_text()


@pytest.mark.usefixtures("lab")
def test_facts_for_people_have_a_value_or_a_reason() -> None:
    shown = done(benchwright("facts", "lab", "--directory", "/nowhere")).out
    assert re.search(r"^System · Kernel +\d", shown, re.MULTILINE)
    assert "absent (" in shown
    assert "/nowhere" in shown


def test_every_setting_of_a_step_counts() -> None:
    plan = made_plan("--suite", "dd", "--set", "directory=/srv", "--set", "count=7")
    shown = done(benchwright("plan", "show", plan)).out
    assert "of=benchwright.dat" in shown
    assert "count=7" in shown
    assert 'directory = "/srv"' in plan.read_text()


def test_a_plan_is_made_shown_and_changed() -> None:
    plan = made_plan("--suite", "sysbench-cpu", "--suite", "dd", "--set", "sysbench-cpu.threads=2", "--peer", "web")
    assert "threads = 2 # 1 to " in plan.read_text()
    shown = done(benchwright("plan", "show", plan)).out
    assert "sysbench cpu --cpu-max-prime=10000 --threads=2" in shown
    as_json = done(benchwright("plan", "show", plan, "--json")).json
    assert as_json["format"] == "benchwright-plan/1"
    assert [step["suite"] for step in as_json["steps"]] == ["sysbench-cpu", "dd"]
    again = done(benchwright("plan", "new", "--defaults", "--suite", "sysbench-cpu", "--json"))
    assert again.json["steps"][0]["values"]["threads"] == 1


def test_every_suite_is_planned_tuned_to_this_computer() -> None:
    suites = [suite.id for suite in SUITES]
    done(
        benchwright("plan", "new", *(word for suite in suites for word in ("--suite", suite)), "--output", "plan.toml")
    )
    shown = done(benchwright("plan", "show", "plan.toml")).out
    for suite in suites:
        assert f"# {suite} on this computer: " in shown


@pytest.mark.usefixtures("lab")
def test_from_a_run_to_the_report(folder: Path) -> None:
    disk = folder / "disk"
    disk.mkdir()
    values = {"directory": disk, "size": "16 MiB", "runtime": "1 s", "rw": "randread"}
    settings = [word for name, value in values.items() for word in ("--set", f"fio.{name}={value}")]
    suites = ("--suite", "sysbench-cpu", "--suite", "fio", "--set", "sysbench-cpu.events=100", "--host", "lab")
    plan = made_plan(*suites, *settings, trials=2)

    first = done(benchwright("run", plan))
    assert "measuring fio on lab" in first.err
    assert "Events per second" in first.out
    assert "$ sysbench cpu" in first.out
    second = done(benchwright("run", plan, "--json"))
    assert second.err == ""
    run = second.json
    _is_a_run(run)
    assert len(run["trials"]) == 4
    assert {trial["exit_status"] for trial in run["trials"]} == {0}
    assert run["hosts"] == ["lab"]

    one, two = (entry["id"] for entry in reversed(done(benchwright("list", "--json")).json))
    assert two == run["id"]
    assert benchwright("show", two, "--json").json == run
    assert "warm-up" not in done(benchwright("show", "last", "--trials")).out
    _compared(one, two)
    _exported(two, folder)
    _pinned(one)
    done(benchwright("delete", two, "--for-good", "--yes"))
    assert benchwright("show", two).status == BAD_INPUT
    assert list(disk.iterdir()) == []


def _is_a_run(run: dict[str, Any]) -> None:
    assert has(run, RUN)
    assert (run["format"], run["state"]) == ("benchwright-run/1", "done")
    for metric in run["metrics"]:
        assert has(metric, METRIC | {"step", "host", "n", "minimum", "maximum", "cov"})
        assert metric["unit"] in set(Unit)
    for trial in run["trials"]:
        assert has(trial, TRIAL)
        assert all(has(metric, METRIC) for metric in trial["metrics"])
    assert all(has(finding, FINDING) for finding in run["findings"])
    assert set(run["facts_before"]) == set(run["facts_after"]) == set(run["hosts"])


def _compared(one: str, two: str) -> None:
    rows = done(benchwright("compare", one, two, "--json")).json
    assert rows
    for row in rows:
        assert has(row, COMPARED)
        assert row["run"] == two
        assert row["ratio"] is not None or row["reason"]
    table = done(benchwright("compare", one, two)).out
    assert f"A  {one}" in table
    assert f"B  {two}" in table
    assert "Events per second ↑" in table


def _exported(run: str, folder: Path) -> None:
    written = done(benchwright("export", run, "--csv", "run.csv", "--png", "run.png", "--json")).json
    assert written == {"files": ["run.csv", "run-samples.csv", "run.png"]}
    for name in ("run.csv", "run-samples.csv"):
        with (folder / name).open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert rows
        for row in rows:
            float(row["value"])
            assert row["unit"] in set(Unit)
    from PIL import Image

    with Image.open(folder / "run.png") as picture:
        picture.load()
        assert picture.format == "PNG"
        assert picture.width >= 1200


def _pinned(run: str) -> None:
    done(benchwright("baseline", "pin", run, "before the change"))
    listed = {entry["id"]: entry for entry in benchwright("list", "--json").json}
    assert all(has(entry, LISTED) for entry in listed.values())
    assert listed[run]["baseline"] == "before the change"
    assert benchwright("show", "before the change", "--json").json["id"] == run
    done(benchwright("baseline", "unpin", "before the change"))
    assert benchwright("show", "before the change").status == BAD_INPUT


@pytest.mark.slow
def test_a_library_of_its_own_is_named_by_path(folder: Path) -> None:
    plan = cpu_plan()
    done(benchwright("--store", "own.sqlite3", "run", plan))
    assert len(done(benchwright("--store", "own.sqlite3", "list", "--json")).json) == 1
    assert done(benchwright("list", "--json")).json == []
    assert (folder / "own.sqlite3").exists()


@pytest.mark.usefixtures("lab")
def test_ctrl_c_keeps_what_was_measured() -> None:
    plan = cpu_plan("--host", "lab", seconds=60)
    ran = interrupted("run", plan, when=lambda line: line.startswith("sysbench-cpu on lab: trial 1"))
    assert ran.status == FAILED
    assert "Stopping" in ran.err
    assert "Stopped by you" in ran.out
    stored = done(benchwright("show", "last", "--json")).json
    assert stored["state"] == "partial"
    assert [trial["state"] for trial in stored["trials"]] == ["partial"]
    assert stored["trials"][0]["commands"]


def test_a_measurement_that_fails_is_kept_and_said(lab: LabHost) -> None:
    lab.stop()
    down = benchwright("run", cpu_plan("--host", "lab"))
    assert down.status == FAILED
    assert "lab" in down.out
    assert "No findings" not in down.out
    plan = made_plan("--suite", "dd", "--set", "directory=/proc", "--set", "count=1", name="dd.toml")
    refused = benchwright("run", plan, "--json")
    assert (refused.status, refused.json["state"]) == (FAILED, "failed")
    assert "/proc" in refused.json["trials"][0]["reason"]
    assert [entry["state"] for entry in benchwright("list", "--json").json] == ["failed", "failed"]


def test_an_unknown_key_without_a_terminal_is_refused_and_shown(lab_host: LabHost) -> None:
    lab_host.add_to_home(trusted=False)
    plan = cpu_plan("--host", "lab")
    refused = benchwright("run", plan)
    assert refused.status == FAILED
    assert lab_host.fingerprint in refused.err
    done(benchwright("run", plan, "--fingerprint", lab_host.fingerprint))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_named() -> None:
    plan = cpu_plan()
    plan.chmod(0)
    refused = benchwright("run", plan)
    assert refused.status == BAD_INPUT
    assert "Permission denied" in refused.err


@pytest.mark.slow
def test_without_a_display_the_quick_benchmark_runs() -> None:
    ran = interrupted(when=lambda line: "measuring" in line)
    assert ran.err.startswith(MESSAGES["there_is_no_display"])
    assert ran.status == FAILED
    assert "Stopped by you" in ran.out


@pytest.mark.slow
def test_the_quick_benchmark_leaves_a_report(folder: Path) -> None:
    """Seven tests of six seconds, one trial each."""
    ran = done(benchwright("quick", XDG_DOCUMENTS_DIR=str(folder)))
    files = [Path(line.removeprefix("Wrote ")) for line in ran.out.splitlines() if line.startswith("Wrote ")]
    assert [path.suffix for path in files] == [".png", ".png", ".csv", ".csv"]
    assert all(path.stat().st_size for path in files)
    assert "disk randwrite 4k" in ran.out
    assert "IOPS" in ran.out

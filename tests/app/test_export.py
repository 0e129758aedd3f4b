"""What is exported can be read by other programs, says its units, and runs nothing in a spreadsheet."""

import csv
import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.events import Event, RunStarted, State, TelemetryRead, TrialEnded, TrialStarted
from app.export import export_csv, export_hyperfine
from app.output import WriteError, write_whole
from app.plans.plan import make_step
from app.results import METRICS, SAMPLES
from app.store.store import Store
from app.summary import run_to_json
from app.verdict.stored import energy_of_run
from remote.telemetry.telemetry_metrics import POWER
from suites.base import Command, Purpose
from suites.command.parameters import WALL_TIME
from suites.errors import BenchwrightError
from suites.outputs import ParsedTrial
from suites.vocab import Figure, Sample, labels
from tests.app import run_events
from tests.app.run_events import IOPS, P99, READ

RUN = "20261120-141530-k3f9"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def exported(tmp_path: Path, events: Any) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    store = Store(tmp_path / "runs.sqlite3")
    with store.recorder(RUN) as recorder:
        for event in events:
            recorder.record(event)
    paths = export_csv([(store.load(RUN), store.samples(RUN), store.telemetry(RUN))], tmp_path / "out" / "report.csv")
    assert paths == [tmp_path / "out" / "report.csv", tmp_path / "out" / "report-samples.csv"]
    return rows(paths[0]), rows(paths[1])


def test_the_summary_has_a_row_for_all_trials_and_for_each(tmp_path: Path) -> None:
    summary, _ = exported(tmp_path, run_events.run_events(RUN, (1000.0, 1100.0, 1200.0)))
    assert list(summary[0]) == list(METRICS)
    assert [(row["trial"], row["metric"]) for row in summary] == [
        (trial, metric) for trial in ("all", "1", "2", "3") for metric in ("iops", "latency_p99")
    ]
    whole = summary[0]
    assert (whole["value"], whole["unit"], whole["better"], whole["labels"]) == (
        "1096.961310486524",
        "1/s",
        "higher",
        "operation=read",
    )
    assert (whole["n"], whole["median"], whole["minimum"], whole["maximum"]) == ("3", "1100.0", "1000.0", "1200.0")
    assert float(whole["cov"]) == pytest.approx(100 / 1100)
    assert (whole["run"], whole["started"], whole["host"], whole["step"], whole["suite"]) == (
        RUN, "2026-11-20T14:15:30+00:00", "web-1", "random read", "fio",
    )  # fmt: skip
    assert whole["command"] == "fio '--name=random read' --rw=randread --bs=4096"
    assert (whole["tool_version"], whole["findings"]) == ("fio-3.33", "page-cache")
    one = summary[2]
    assert (one["value"], one["n"], one["median"], one["state"], one["warm_up"]) == ("1000.0", "", "", "done", "False")


def test_samples_are_tidy(tmp_path: Path) -> None:
    _, samples = exported(tmp_path, run_events.run_events(RUN, (1000.0, 1100.0)))
    assert list(samples[0]) == list(SAMPLES)
    test = [row for row in samples if row["kind"] == "test"]
    assert [(row["trial"], row["time_s"], row["value"], row["warm_up"]) for row in test][:2] == [
        ("1", "0.0", "1000.0", "True"), ("1", "1.0", "1001.0", "False"),
    ]  # fmt: skip
    assert len(test) == 10
    watched = [row for row in samples if row["kind"] == "telemetry"]
    assert [(row["host"], row["step"], row["trial"], row["time_s"], row["metric"], row["unit"]) for row in watched] == [
        ("web-1", "", "", "1000.0", "cpu_busy", "%"), ("web-1", "", "", "2000.0", "cpu_busy", "%"),
    ]  # fmt: skip


def test_a_trial_that_failed_stays_visible_and_does_not_count(tmp_path: Path) -> None:
    events = [
        RunStarted(RUN, run_events.plan(trials=2), "2026"),
        *run_events.trial_events(run_events.trial(1), [Figure(IOPS, 10.0)]),
        *run_events.trial_events(run_events.trial(2), [Figure(IOPS, 99.0)], state=State.FAILED),
    ]
    summary, _ = exported(tmp_path, events)
    assert [(row["trial"], row["value"], row["state"]) for row in summary] == [
        ("all", "10.0", ""), ("1", "10.0", "done"), ("2", "99.0", "failed"),
    ]  # fmt: skip


@pytest.mark.parametrize("hostile", ["=1+1", "+cmd", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_hosts_words_are_no_formula(tmp_path: Path, hostile: str) -> None:
    one = replace(run_events.trial(1), tool_version=hostile, commands=(Command((hostile, "x")),))
    summary, _ = exported(
        tmp_path,
        [
            RunStarted(RUN, run_events.plan(name=hostile), "2026"),
            *run_events.trial_events(one, [Figure(IOPS, -5.0, (("operation", "-5"),))]),
        ],
    )
    assert summary[0]["plan"] == summary[0]["tool_version"] == "'" + hostile.replace("\r", r"\r")
    assert summary[0]["value"] == "-5.0"
    for row in summary:
        assert not any(cell[:1] in set("=+@\t\r") for cell in row.values())


def test_a_number_in_words_stays_a_number(tmp_path: Path) -> None:
    summary, _ = exported(
        tmp_path,
        [
            RunStarted(RUN, run_events.plan(name="-5.5e3"), "2026"),
            *run_events.trial_events(run_events.trial(1), [Figure(IOPS, 1.0)]),
        ],
    )
    assert summary[0]["plan"] == "-5.5e3"


def test_only_measuring_commands_stand_in_the_summary(tmp_path: Path) -> None:
    commands = (Command(("truncate", "file"), Purpose.PREPARE), Command(("dd", "if=a")), Command(("dd", "if=b")))
    one = replace(run_events.trial(1), commands=commands)
    summary, _ = exported(
        tmp_path, [RunStarted(RUN, run_events.plan(), "2026"), *run_events.trial_events(one, [Figure(IOPS, 1.0, READ)])]
    )
    assert summary[0]["command"] == "dd if=a && dd if=b"


def test_a_run_without_figures_gives_a_head_alone(tmp_path: Path) -> None:
    assert exported(tmp_path, [RunStarted(RUN, run_events.plan(), "2026")]) == ([], [])


@pytest.mark.parametrize(
    ("zone", "domain", "columns"),
    [
        ("intel-rapl:0", "package-0", [("package-0", "20.0", "0.02"), ("package-0", "20.0", "0.02")]),
        ("hwmon3", "server", [("server", "20.0", "0.02"), ("server", "20.0", "0.02")]),
        ("intel-rapl:0:0", "core", [("", "", "")] * 2),
    ],
)
def test_the_headline_rate_has_its_energy(
    tmp_path: Path, zone: str, domain: str, columns: list[tuple[str, str, str]]
) -> None:
    at = labels(zone=zone, domain=domain)
    watts = tuple(Sample(1000.0 + second, POWER, 20.0, at) for second in range(15))
    ended = ParsedTrial((Figure(IOPS, 1000.0, READ), Figure(P99, 5.0, READ)))
    events = [
        RunStarted(RUN, run_events.plan(), "2026"),
        TrialStarted(run_events.trial(1), 10.0),
        TelemetryRead("web-1", watts),
        TrialEnded(1, State.DONE, 0, ended, ended_clock=1010.0),
    ]
    summary, _ = exported(tmp_path, events)
    found = [(row["power_of"], row["watts"], row["joules_per_operation"]) for row in summary]
    assert found[::2] == columns
    assert set(found[1::2]) == {("", "", "")}  # the latency
    store = Store(tmp_path / "runs.sqlite3")
    used = energy_of_run(store.load(RUN), store.samples(RUN), store.telemetry(RUN))
    rate, latency = run_to_json(store.load(RUN), energy=used)["metrics"]
    assert (rate.get("joules_per_operation", ""), rate.get("power_of", "")) == (
        float(columns[0][2] or 0) or "",
        columns[0][0],
    )
    assert "watts" not in latency


# Writing files


def test_a_file_is_replaced_as_a_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    path.write_text("old")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["report.csv"]  # noqa: PTH208 (names alone)


def test_permissions_follow_the_users_mask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        assert stat.S_IMODE(write_whole(tmp_path / "a", b"").stat().st_mode) == 0o640
    finally:
        os.umask(before)


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.csv"
    path.write_text("old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.output.os.fsync", full)
    with pytest.raises(WriteError, match=r"report\.csv cannot be written: no space left on device"):
        write_whole(path, b"new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_library_is_not_replaced_by_a_report(tmp_path: Path) -> None:
    exported(tmp_path, run_events.run_events(RUN, (1000.0,)))
    path = tmp_path / "runs.sqlite3"
    before = path.read_bytes()
    with pytest.raises(WriteError, match=r"runs\.sqlite3 is a database: it is not replaced\. Choose another path\."):
        write_whole(path, b"new")
    assert path.read_bytes() == before


def test_a_pipe_or_folder_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((tmp_path / "pipe", "device or pipe"), (tmp_path, "folder")):
        with pytest.raises(WriteError, match=f"is a {kind}: it is not replaced"):
            write_whole(path, b"new")
    assert (tmp_path / "pipe").is_fifo()


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match=r"cannot be written: (not a directory|file exists)"):
        write_whole(tmp_path / "file" / "report.csv", b"")


def hyperfine(tmp_path: Path, hosts: tuple[str, ...], *figures: Figure, runs: int = 1) -> list[dict[str, Any]]:
    """Return the results exported of trials with `figures` each, the third failed."""
    step = make_step("command", {"command": "make -j{n}", "scan": "n=1,4"})
    events: list[Event] = [RunStarted(RUN, run_events.plan(step, hosts=hosts), "2026")]
    for number, host in enumerate(hosts * 3):
        one = run_events.trial(number, host=host, step="command")
        shifted = [replace(figure, value=figure.value + number) for figure in figures]
        failed = number >= 2 * len(hosts)
        events += run_events.trial_events(one, shifted, state=State.FAILED if failed else State.DONE)
    store = Store(tmp_path / "runs.sqlite3")
    with store.recorder(RUN) as recorder:
        for event in events:
            recorder.record(event)
    written = export_hyperfine([store.load(RUN)] * runs, tmp_path / "hyperfine.json")
    return json.loads(written.read_text())["results"]


def test_timed_commands_are_exported_as_hyperfine_does(tmp_path: Path) -> None:
    one, four = (Figure(WALL_TIME, value, (("n", n),)) for value, n in ((4.0, "1"), (1.0, "4")))
    first, second = hyperfine(tmp_path, ("web-1",), one, four)
    assert first == {
        "command": "make -j1", "mean": 4.5, "stddev": pytest.approx(0.5**0.5), "median": 4.5, "min": 4.0, "max": 5.0,
        "times": [4.0, 5.0], "parameters": {"n": "1"},
    }  # fmt: skip
    assert (second["command"], second["times"]) == ("make -j4", [1.0, 2.0])


def test_commands_of_several_hosts_and_runs_are_told_apart(tmp_path: Path) -> None:
    found = hyperfine(tmp_path, ("a", "b"), Figure(WALL_TIME, 1.0, (("n", "1"),)), runs=2)
    assert [each["command"] for each in found] == [f"make -j1 ({RUN}, {host})" for host in ("a", "b")] * 2


def test_a_run_without_timed_commands_has_nothing_for_hyperfine(tmp_path: Path) -> None:
    with pytest.raises(BenchwrightError, match="No trial of these runs timed a command"):
        hyperfine(tmp_path, ("web-1",), Figure(IOPS, 1.0))

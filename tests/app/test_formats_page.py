"""The page about formats names what the code prints, and nothing else."""

import re
from dataclasses import fields
from pathlib import Path

import resources
from app.baselines.baselines import baseline_to_json, built_in
from app.calibration.report import noise_to_json
from app.calibration.sessions import SessionNoise
from app.crosscheck.agreement import AgreementOutcome
from app.crosscheck.proposal import propose
from app.crosscheck.report import agreement_to_json, proposal_to_json
from app.events import State
from app.formats import calibration_to_json
from app.history import HistoryQuery, history_of, history_to_json
from app.hosts.hosts import ConnectReport, HostEntry
from app.library_rows import LibraryRow, row_to_json
from app.margins import DEFAULTS
from app.ranking.candidates import Price, RankingCriteria
from app.ranking.ranking import rank
from app.ranking.report import ranking_to_json
from app.records import HistoryRow, RunSummary
from app.sample_size.designs import Effort, SampleSizeRequest
from app.sample_size.pilot import PilotQuery, pilot_of
from app.sample_size.report import sample_size, sample_size_to_json
from remote.errors import ConnectOutcome
from suites.units import Unit
from tests.app.run_events import IOPS, READ, STEP, plan, run_record
from tests.app.test_calibration import calibration
from tests.app.test_crosscheck import FIO, OTHERWISE, a_run, of_disk, only

PAGE = (Path(resources.__file__).parent / "help" / "formats.md").read_text(encoding="utf-8")


def _section(title: str) -> str:
    return PAGE.partition(f"## {title}")[2].partition("\n## ")[0]


def _words(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


def test_the_units_are_all_there_and_no_others() -> None:
    assert _words(_section("Units").partition("MB/s is")[0]) - {"unit"} == set(Unit)


def test_the_fields_of_the_lists_are_named() -> None:
    listed = _words(_section("benchwright list --json"))
    run = RunSummary("id", "name", "", ("web",), ("read",), State.DONE, "", None, 1)
    row = row_to_json(LibraryRow(run, metric=IOPS, value=1.0))
    figure = row["headline_metric"]
    assert isinstance(figure, dict)
    assert {*row, *figure} | {field.name for field in fields(HostEntry)} | {"resolved"} == listed


def test_the_fields_of_a_calibration_are_named() -> None:
    found = calibration_to_json(calibration())
    (noise,) = noise_to_json([SessionNoise(IOPS, READ, 3, 30, 0.01, 0.01)], DEFAULTS)
    section = set(re.findall(r"[a-z_]+", _section("benchwright calibrate HOST --json")))
    inside = (
        found["instrument"],
        found["noise"][0],
        noise,
        noise["design"],
        {"sessions": 1, "ratio": 1, "low": 1, "high": 1},
    )
    assert set(found).union(*inside) <= section


def test_the_fields_of_a_sample_size_are_named() -> None:
    pilot = pilot_of(
        [[run_record(f"a{day}", (1000.0 + day, 1010.0, 1005.0)) for day in range(3)]], PilotQuery(), DEFAULTS
    )
    request = SampleSizeRequest(0.05, 0.05, Effort(1.0, price=Price(0.34, "USD")))
    found = sample_size_to_json(sample_size(pilot, request))
    design = found["designs"][0]
    inside = found["components"][0], found["effort"], found["effort"]["price"], design, design["shares"]
    section = set(re.findall(r"[a-z_]+", _section("benchwright sample-size RUNS --json")))
    assert set(found).union(*inside) <= section


def test_the_fields_of_second_opinions_are_named() -> None:
    section = set(re.findall(r"[a-z-]+", _section("benchwright second-opinion RUN --json")))
    rules = {name for name, *_ in OTHERWISE} | {"threads", "way-of-working"}
    proposal, found = proposal_to_json(propose(a_run(FIO))), agreement_to_json(only(of_disk(1.0)))
    assert {name.replace("_of", "") for name in (*proposal, *found, *found["ours"], *proposal["carried"][0])} <= section
    assert rules <= section
    assert set(" ".join(AgreementOutcome).split()) <= section


def test_every_outcome_of_a_connection_is_named() -> None:
    section = _section("benchwright hosts test HOST --json").replace("\n", " ")
    assert {field.name for field in fields(ConnectReport)} <= set(re.findall(r"[a-z]+", section))
    assert set(ConnectOutcome) <= _words(section)


def test_the_fields_of_baselines_rankings_and_histories_are_named() -> None:
    baseline = baseline_to_json(built_in()[0], whole=True)
    section = _section("benchwright baseline list --json, benchwright baseline show NAME --json")
    assert set(baseline) <= set(re.findall(r"[a-z_]+", section))
    ranking = ranking_to_json(
        rank(["a", "b"], [[run_record("a", BASE)], [run_record("b", BASE)]], RankingCriteria({"iops": 1.0}))
    )
    for found, title in ((ranking, "benchwright best RUN … --metric NAME --json"),):
        assert set(found) | set(found["candidates"][0]) <= _words(_section(title)) | {"metrics"}
    rows = [
        HistoryRow(f"r{number}", "2026", "p", "web-1", STEP.name, None, IOPS, (), value) for number, value in _LEVELS
    ]
    history = history_to_json(
        history_of(HistoryQuery(("web-1",), "iops"), rows, {"p": plan()}, lambda _run, _hosts: ())
    )
    named = _words(_section("benchwright history HOST --metric NAME --json"))
    assert set(history) | set(history["points"][0]) | set(history["changes"][0]) <= named


BASE = (1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0)
_LEVELS = list(enumerate((*BASE, *(1.2 * value for value in BASE))))

"""benchwright fleet report and fleet results --csv: the report of a stored study and the table of its trials."""

import base64
import csv
import json
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import html5lib
import pytest
from click.testing import Result

from app.fleet.results import results_of
from app.fleet_study import FleetStudy, HostRunState
from app.margins import Margins
from app.services import Workstation
from app.sharing.fleet_sections import ReportedStudy, fleet_sections
from app.sharing.html_report import html_report
from tests.app.fleet.measured_studies import measured_study
from tests.app.fleet.studies import fleet_plan, numbered
from tests.printed_json import errors
from tests.widgets.fleet_studies import BROKEN, SLOW

Call = Callable[..., Result]


@pytest.fixture(name="call")
def call_of_fleet(call: Call) -> Call:
    """Return a call of a verb of fleet on a library with a study of 36 hosts."""
    return partial(call, "fleet")


def test_a_report_has_strips_lemons_tickets_and_every_run(call: Call, tmp_path: Path) -> None:
    page, text, pdf = (tmp_path / f"study.{kind}" for kind in ("html", "md", "pdf"))
    found = call("report", "--html", str(page), "--markdown", str(text), "--pdf", str(pdf), "--json")
    written = json.loads(found.stdout)
    assert not errors("files", written)
    assert [Path(name) for name in written["files"]] == [page, text, pdf]
    assert pdf.read_bytes().startswith(b"%PDF")
    shown = text.read_text()
    assert f"Ticket for {SLOW}" in shown
    assert re.search(rf"^\| {BROKEN} \| m7g \| 1 \| failed ", shown, re.MULTILINE)
    runs = set(re.findall(r"\b\d{8}-\d{6}-[0-9a-z]{4}\b", shown))
    assert len(runs) > 36
    elements = list(html5lib.parse(page.read_text(), namespaceHTMLElements=False).iter())
    pictures = [one.attrib["src"].partition(",") for one in elements if one.tag == "img"]
    assert len(pictures) == 2  # the groups, and the group with the lemon
    assert all(base64.b64decode(data).startswith(b"\x89PNG") for _, _, data in pictures)
    assert not [one for one in elements if one.tag in {"script", "link", "a"}]


def test_a_report_needs_a_file(call: Call) -> None:
    assert call("report").exit_code == 2


def test_changes_since_a_study_are_in_the_report_and_the_results(call: Call, tmp_path: Path) -> None:
    with closing(Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")) as workstation:
        (before,) = workstation.fleet_studies()
        newer = measured_study(workstation, 3, {("c7i", 1): 0.5, ("c7i", 2): 0.5})
    text, since = tmp_path / "study.md", ("--since", before.id)
    assert call("report", newer.id, "--markdown", str(text), *since).exit_code == 0
    assert f"Changes since {before.id}" in text.read_text()
    shown = call("results", newer.id, *since).stdout
    assert f"Changes since {before.id}" in shown
    content = json.loads(call("results", newer.id, *since, "--json").stdout)
    assert not errors("fleet-results", content)
    changes = content["changes"]
    assert changes["since"] == before.id
    assert changes["lines"]
    assert all(line in shown for line in changes["lines"])
    (group,) = (one for one in changes["every"] if one["group"] == "c7i" and not one["host"])
    assert group["ratio"] == pytest.approx(0.485, abs=0.02)
    assert json.loads(call("results", newer.id, "--json").stdout)["changes"] is None


def test_changes_of_a_metric_are_those_of_the_report(call: Call, tmp_path: Path) -> None:
    with closing(Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")) as workstation:
        older = measured_study(workstation, 3, {})
        newer = measured_study(workstation, 4, {})
    options = (newer.id, "--since", older.id, "--metric", "latency_p99")
    changes = json.loads(call("results", *options, "--json").stdout)["changes"]
    assert {one["metric"] for one in changes["every"]} == {"iops", "latency_p99"}
    assert call("results", older.id, "--since", newer.id).exit_code == 2
    call("report", *options, "--markdown", str(tmp_path / "study.md"))
    assert "latency" in (tmp_path / "study.md").read_text().lower()


@pytest.mark.parametrize("earlier", ["nosuch", "last"])
def test_changes_need_another_study(call: Call, tmp_path: Path, earlier: str) -> None:
    assert call("results", "--since", earlier).exit_code == 2
    assert call("report", "--markdown", str(tmp_path / "x.md"), "--since", earlier).exit_code == 2
    assert not (tmp_path / "x.md").exists()


def test_an_unknown_metric_is_refused_with_the_known_ones(call: Call, tmp_path: Path) -> None:
    for words in (("results",), ("report", "--markdown", str(tmp_path / "x.md"))):
        found = call(*words, "--metric", "latency_p99", "--metric", "nosuch")
        assert found.exit_code == 2
        assert "no result of nosuch" in found.stderr
        assert "latency_p99" in found.stderr
    assert call("results", "--metric", "latency_p99").exit_code == 0


def test_two_outputs_are_two_files_and_none_is_standard_output(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    same, roundabout = tmp_path / "same", tmp_path / "folder" / ".." / "same"
    for words in (
        ("report", "--html", str(same), "--markdown", str(roundabout)),
        ("results", "--csv", str(same), "--png", str(same)),
        ("report", "--markdown", "-"),
        ("results", "--csv", "-"),
    ):
        found = call(*words)
        assert found.exit_code == 2
        assert "Traceback" not in found.stderr
    assert not same.exists()
    assert not Path("-").exists()


def test_every_trial_is_a_row_with_its_host_session_and_run(call: Call, tmp_path: Path) -> None:
    table = tmp_path / "trials.csv"
    assert call("results", "--csv", str(table)).exit_code == 0
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    content = json.loads(call("results", "--json").stdout)["metrics"][0]["values"]
    count = sum(len(values) for group in content.values() for host in group.values() for values in host.values())
    assert len(rows) == count
    slow = [row for row in rows if row["host"] == SLOW and row["session"] == "1"]
    assert [float(row["value"]) for row in slow] == content["c7i"][SLOW]["1"]
    assert {(row["type"], row["zone"], row["price"], row["currency"]) for row in slow} == {
        ("c7i.2xlarge", "eu-1a", "0.36", "USD")
    }
    assert len({row["run"] for row in slow}) == 1
    assert [row["trial"] for row in slow] == ["1", "2"]


def test_names_of_hosts_and_reasons_are_escaped() -> None:
    plan = fleet_plan([replace(one, group="<b>x") for one in numbered(1)])
    study = FleetStudy("f1", "<script>", plan, "2026-01-01T00:00:00+00:00")
    runs = [replace(one, state=HostRunState.FAILED, reason="<script>alert(1)</script>") for one in plan.host_runs()]
    sections = fleet_sections(ReportedStudy(results_of(study, runs, {}, Margins()), runs))
    page = html_report((), {}, b"", redacted=False, title=study.name, sections=sections).decode()
    assert "<script>" not in page
    assert "<b>" not in page

"""A suite of a real tool is one file and one line of the registry: the tool is found, missed, run, drawn and told."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.checks.before import check_plan
from app.checks.catalogue import blocks
from app.cli.main import benchwright
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.questions import RefusingAsker
from app.services import Workstation
from remote.local import LocalSession
from remote.probe import read_facts
from suites import registry
from suites.facts import Absent, Facts
from tests.host_shells import Prefixed
from tests.messages import messages
from tests.openssl_suite import SIZES, THROUGHPUT, OpensslSpeed
from tests.suites.captured_outputs import capture
from tests.widgets.measure_stage import PATIENCE, made_page, settle, type_into, with_tests
from widgets.help_page import text_of
from widgets.live.live_page import LivePage

MESSAGES = messages("widgets", "test_new_suite")

Keep = Callable[[QWidget], QWidget]

pytestmark = pytest.mark.usefixtures("suite")


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    monkeypatch.setattr(registry, "SUITES", (*registry.SUITES, OpensslSpeed()))


def without_openssl(folder: Path) -> Facts:
    """Return this computer's facts as they are with a PATH that has everything but openssl, and Debian's packages."""
    for directory in ("/usr/bin", "/bin"):
        for program in Path(directory).iterdir():
            if program.name != "openssl" and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    session = Prefixed(["env", f"PATH={folder}"])
    facts = read_facts(session)
    session.close()
    return replace(facts, host=LOCAL, system=replace(facts.system, distribution_id="debian", user="root"))


def test_the_tool_is_found_on_a_host_with_its_version() -> None:
    session = LocalSession()
    tool = read_facts(session).tool("openssl")
    session.close()
    assert tool.path == shutil.which("openssl")
    assert str(tool.version).startswith("OpenSSL ")


def test_a_missing_tool_blocks_before_the_run_and_names_its_package(tmp_path: Path) -> None:
    facts = without_openssl(tmp_path)
    assert facts.tool("openssl").path == Absent("not installed")
    report = check_plan(Plan("Ciphers", (LOCAL,), (make_step("openssl-speed", {}),)), {LOCAL: facts})
    (finding,) = (finding for finding in report.findings if finding.id == "tool-missing")
    assert blocks(finding)
    assert str(finding.install).endswith("--no-install-recommends openssl'")


def test_a_captured_output_is_read() -> None:
    parsed = capture("openssl/3.0.19/aes_256_gcm").parse(OpensslSpeed().parser({}))
    blocks_of = [dict(figure.labels)["block"] for figure in parsed.figures]
    assert blocks_of == [f"{size} B" for size in SIZES]
    assert [figure.value for figure in parsed.figures][::5] == [7633.03, 739816.37]
    assert [round(sample.time, 2) for sample in parsed.samples] == [1.01, 2.01, 3.01, 4.03, 5.04, 6.08]
    assert [sample.value for sample in parsed.samples] == pytest.approx([f.value for f in parsed.figures], rel=1e-3)


def test_the_help_has_its_row_and_its_check() -> None:
    row = "| openssl-speed | OpenSSL 3.0.19 run for real | every block size | on one thread |"
    assert row in text_of("suites").partition("## Memory")[0].splitlines()
    assert "openssl-brief" in text_of("checks")


def test_the_wizard_offers_tunes_and_warns(qtbot: QtBot, tmp_path: Path) -> None:
    page = made_page(qtbot, tmp_path)
    with_tests(qtbot, page, "openssl-speed")
    page.forward()
    assert page.draft.steps[0].form.text("seconds") == "5"
    assert page.parameters.row("seconds").why == MESSAGES["five_are_more_than_three"]
    type_into(qtbot, page.parameters.row("seconds"), "1")
    settle(qtbot, page)
    assert page.parameters.command.text().endswith(MESSAGES["openssl_speed_elapsed"])
    assert page.assessment is not None
    assert "openssl-brief" in [finding.id for finding in page.assessment.findings]


@pytest.mark.slow
@pytest.mark.usefixtures("idle")
def test_a_run_is_drawn_and_kept(qtbot: QtBot, keep: Keep, workstation: Workstation) -> None:
    page = LivePage(workstation, RefusingAsker())
    keep(page)
    step = make_step("openssl-speed", {"seconds": 1, "bytes": 8192})
    plan = Plan("Ciphers", (LOCAL,), (step,), repetition=Repetition(trials=1))
    with qtbot.waitSignal(page.run_finished, timeout=PATIENCE):
        page.start_run(plan)
    assert page.view is not None
    lines = [
        line for plot in page.view.plots.plots.values() for key, line in plot.lines.items() if "cipher" in str(key)
    ]
    assert [len(line.buffer.values()) for line in lines] == [1]
    assert THROUGHPUT.title in page.view.bar.figure.note.text().partition(" · ")[0]


BRIEF = ("--set", "seconds=1", "--set", "bytes=8192", "--trials", "1")


def show_message(*words: str | Path) -> str:
    """Give Benchwright's command line `words`; return what it printed."""
    done = CliRunner().invoke(benchwright, [*map(str, words)])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.slow
def test_the_command_line_does_the_same(tmp_path: Path) -> None:
    plan, store = tmp_path / "ciphers.toml", ("--store", tmp_path / "runs.sqlite3")
    show_message("plan", "new", "--suite", "openssl-speed", "--defaults", *BRIEF, "-o", plan)
    assert "-seconds 1 " in show_message("plan", "show", plan)
    show_message(*store, "run", plan)
    shown = json.loads(show_message(*store, "show", "last", "--json"))
    assert "openssl-brief" in [finding["id"] for finding in shown["findings"]]
    reported = {(metric["name"], *metric["labels"].values()) for metric in shown["metrics"]}
    assert reported == {(THROUGHPUT.name, "8192 B")}
    show_message(*store, "export", "last", "--csv", tmp_path / "figures.csv", "--png", tmp_path / "figures.png")
    table = next(tmp_path.glob("*.csv")).read_text()
    assert THROUGHPUT.name in table
    assert ",OpenSSL 3." in table or ",OpenSSL 1." in table
    assert (tmp_path / "figures.png").read_bytes().startswith(b"\x89PNG")

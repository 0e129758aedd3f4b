"""A report of several runs compares them as the verb compare does, in HTML and in Markdown."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from app.comparison.verdicts import verdict_text
from app.services import Workstation
from suites.verdict import Trust
from tests.app.test_html_report import parsed
from tests.app.test_redaction import CANARY, RUN, planted
from tests.program import DONE, benchwright
from tests.widgets.library_runs import STEADY, Made, record

BEFORE = Made("20260101-000000-0011", cpu=STEADY, samples=60, trust=Trust.CAVEATS, host="web-1")
AFTER = replace(BEFORE, run_id="20260102-000000-0012", iops=tuple(0.8 * value for value in STEADY), cpu=())
HOSTILE = replace(
    AFTER, run_id="20260103-000000-0013", host="<b>|`h`@octocat",
    name="x | y `z` <img src=x onerror=1> [a](http://e.example) @octocat #1 GH-2 www.e.example &amp; **b** \x1b[31m",
)  # fmt: skip
LINKED = re.compile(r"(?<![\w/])@\w|(?<![\w&])#\d|\bGH-\d|://\w|\bwww\.\w", re.IGNORECASE)
"""What GitHub would link in plain text."""


@pytest.fixture
def workstation(tmp_path: Path) -> Iterator[Workstation]:
    made = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    record(made, BEFORE, AFTER, HOSTILE)
    yield made
    made.close()


def test_html_has_the_comparison_as_compare_shows_it(workstation: Workstation, tmp_path: Path) -> None:
    runs = [BEFORE.run_id, AFTER.run_id]
    path = workstation.export_html(runs, tmp_path / "r.html")
    tree = parsed(path)
    rows = [["".join(cell.itertext()) for cell in row.iter("td")] for row in tree.iter("tr")]  # type: ignore[attr-defined]
    comparison = workstation.compare(runs)
    tested = next(row for row in comparison.rows if row.tested)
    against = tested.against[0]
    side = next(row for row in rows if len(row) == 8 and row[1] == "B")
    assert f"{against.ratio:.3g}" in side[5]
    assert against.low is not None
    assert f"{against.low:.2f}" in side[6]
    assert side[7] == verdict_text(against.verdict, comparison.margin_in(tested))
    assert path.stat().st_size < 2**20
    assert [run.id for run in workstation.runs_to_import(path)] == [AFTER.run_id, BEFORE.run_id]


def test_plots_beside_each_other_have_the_same_axes(workstation: Workstation, tmp_path: Path) -> None:
    tree = parsed(workstation.export_html([BEFORE.run_id, AFTER.run_id], tmp_path / "r.html"))
    beside = [one for one in tree.iter("div") if one.attrib.get("class") == "beside"]  # type: ignore[attr-defined]
    assert beside
    for group in beside:
        plots = [one for one in group.iter() if str(one.tag).endswith("svg")]
        assert len(plots) == 2
        ticks = [[text.text for text in plot.iter() if str(text.tag).endswith("text")] for plot in plots]
        assert ticks[0] == ticks[1]


def test_one_run_has_no_comparison(workstation: Workstation, tmp_path: Path) -> None:
    assert "Comparison of" not in workstation.export_html([BEFORE.run_id], tmp_path / "r.html").read_text()


@pytest.mark.parametrize("runs", [(BEFORE.run_id,), (BEFORE.run_id, HOSTILE.run_id)], ids=["run", "comparison"])
def test_markdown_has_all_parts_and_nothing_hostile(
    workstation: Workstation, tmp_path: Path, runs: tuple[str, ...]
) -> None:
    text = workstation.export_markdown(runs, tmp_path / "r.md").read_text()
    for part in ("Findings", "Commands", "Hosts", "Method"):
        assert f"### {part}\n" in text
    assert ("## Comparison of 2 runs" in text) is (len(runs) > 1)
    assert "```sh\n# disk random read: fio-3.33\nfio " in text
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = [token for block in markdown.parse(text) for token in (block, *(block.children or ()))]
    html = {token.content.strip() for token in tokens if token.type in {"html_inline", "html_block"}}
    assert html <= {"<details><summary>All facts</summary>", "</details>"}
    assert not [
        token for token in tokens if token.type in {"link_open", "image", "strong_open", "em_open"} and len(runs) > 2
    ]
    assert not any(token.type in {"link_open", "image", "code_inline"} for token in tokens)
    shown = [token.content for token in tokens if token.type == "text"]
    assert not [words for words in shown if LINKED.search(words)]
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f]", text)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
    if len(runs) > 1:
        assert "octocat" in text
        assert "<img" not in markdown.render(text)


def test_a_redacted_comparison_has_no_canary(tmp_path: Path) -> None:
    made = Workstation(tmp_path / "c.sqlite3", tmp_path / "hosts.toml")
    planted(made)
    record(made, BEFORE)
    made.close()
    html, markdown = tmp_path / "r.html", tmp_path / "r.md"
    words = ("--store", made.library_path, "export", RUN, BEFORE.run_id, "--html", html, "--markdown", markdown)
    ran = benchwright(*words)
    assert ran.status == DONE, ran.err
    for path in (html, markdown):
        assert "Comparison of 2 runs" in path.read_text()
        assert not CANARY.search(re.sub(rb"base64,[A-Za-z0-9+/=]+", b"", path.read_bytes()))
